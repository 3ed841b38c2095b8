//! Which packets a NIC answers with ACKs and CNPs, and which of these carry a BECN
//! (`docs/model/infiniband.md` §10).

use crate::ids::NicId;
use crate::spec::{FabricSpec, Notification};
use crate::switch::Acks;

/// A data packet whose tail has arrived.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Received {
    pub src: NicId,
    pub sl: u8,
    /// A switch has marked it.
    pub fecn: bool,
    /// Last packet of its message.
    pub last: bool,
}

/// The answers to a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Answers {
    /// An ACK; true if it carries a BECN.
    pub ack: Option<bool>,
    /// A CNP of this length in bytes on the wire.
    pub cnp_bytes: Option<u32>,
}

/// The rules by which NICs answer, and their state for later answers.
#[derive(Debug)]
pub(in crate::engine) struct Answering {
    acks: Acks,
    notification: Option<Notification>,
    /// Per NIC: flows, as (source, SL), whose next ACK carries a BECN.
    congested: Vec<Vec<(NicId, u8)>>,
}

impl Answering {
    pub(in crate::engine) fn new(spec: &FabricSpec) -> Self {
        let control = spec.congestion_control.as_deref();
        Self {
            acks: spec.switch.kind().acks(),
            notification: control.map(|control| control.notification),
            congested: vec![Vec::new(); spec.topology.endpoints() as usize],
        }
    }

    /// The answers of `nic` to a packet that it received.
    #[inline]
    pub(in crate::engine) fn answers(&mut self, nic: NicId, packet: Received) -> Answers {
        let must_notify = packet.fecn;
        let flow = (packet.src, packet.sl);
        let congested = &mut self.congested[nic.index()];
        if must_notify && self.notification == Some(Notification::Ack) && !congested.contains(&flow)
        {
            congested.push(flow);
        }
        let acknowledged = match self.acks {
            Acks::None => false,
            Acks::PerMessage => packet.last,
            Acks::PerPacket => true,
        };
        let at_once = must_notify && self.notification == Some(Notification::AckNow);
        let ack = (acknowledged || at_once).then(|| {
            let remembered = congested.iter().position(|&known| known == flow);
            if let Some(at) = remembered {
                congested.swap_remove(at);
            }
            at_once || remembered.is_some()
        });
        let cnp_bytes = match self.notification {
            Some(Notification::Cnp { bytes }) if must_notify => Some(bytes),
            _ => None,
        };
        Answers { ack, cnp_bytes }
    }
}
