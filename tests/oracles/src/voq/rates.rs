//! Rates of links and of the crossbar in flits per tick (section 1).

use crate::wiring::{End, Wiring};
use flitwise_base::units::Ratio;
use flitwise_fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise_fabric::spec::Voq;

/// Rate of the link at a port: the rate named for either end, or the rate of its kind of link.
pub fn link_rate(voq: &Voq, wiring: &Wiring, (switch, port): (usize, usize)) -> Ratio {
    let named = |switch: usize, port: usize| {
        let (switch, port) = (SwitchId::new(switch as u32), PortId::new(port as u32));
        let rate = voq.links.exceptions.get(&SwitchPort::new(switch, port));
        rate.copied()
    };
    let near = named(switch, port);
    match wiring.ports[switch][port] {
        Some(End::Port { switch, port }) => {
            near.or(named(switch, port)).unwrap_or(voq.links.switch)
        }
        Some(End::Nic(_)) | None => near.unwrap_or(voq.links.nic),
    }
}

/// Rate of the crossbar: a multiple of the rate of the fastest link.
pub fn crossbar_rate(voq: &Voq) -> Ratio {
    let named = voq.links.exceptions.values().copied();
    let all = named.chain([voq.links.nic, voq.links.switch]);
    let fastest = all.max().expect("there are two kinds of links");
    let speedup = u64::from(voq.crossbar_speedup);
    Ratio::new(fastest.num() * speedup, fastest.den()).expect("a ratio")
}
