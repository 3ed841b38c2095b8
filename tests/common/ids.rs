//! Ids by their numbers.

use flitwise::fabric::ids::{NicId, NicPair, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::Hop;

/// A port of a switch.
pub fn port_of(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

/// Sender and receiver.
pub fn pair(src: u32, dst: u32) -> NicPair {
    NicPair {
        src: NicId::new(src),
        dst: NicId::new(dst),
    }
}

/// The hop from `in_port` to `out_port` of `switch`.
pub fn hop(switch: u32, in_port: u32, out_port: u32) -> Hop {
    Hop {
        switch: SwitchId::new(switch),
        in_port: PortId::new(in_port),
        out_port: PortId::new(out_port),
    }
}
