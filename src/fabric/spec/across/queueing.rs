//! Queueing schemes: the answers that need the whole fabric.

use crate::ids::{NicId, PortId, SwitchId};
use crate::spec::FabricSpec;
use crate::spec::queueing::{Along, Detail, Mix, QueueingScheme, SchemeKind, band};
use crate::topology::{Dragonfly, Peer, Shape};

impl FabricSpec {
    /// The queueing scheme, if one decides the VLs.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queueing_scheme(&self) -> Option<&QueueingScheme> {
        self.qos.vl_policy.queueing()
    }

    /// Whether packets are in VL class 1 on the local links behind global links of a dragonfly, and
    /// in class 0 elsewhere, in place of the classes of the topology.
    #[must_use]
    pub(crate) fn has_escape_behind_global(&self) -> bool {
        let scheme = self.queueing_scheme().map(|queueing| queueing.kind);
        matches!(scheme, Some(SchemeKind::H2lq(_)))
    }

    /// Queue, below the number of queues of its class, of a packet from `src` to `dst` by a path-constant
    /// scheme; 0 by a local one.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queue_of_pair(&self, queueing: &QueueingScheme, src: NicId, dst: NicId) -> u8 {
        let (queues, nics) = (u32::from(queueing.queues.max(1)), self.topology.nics());
        let group = |nic| band(nic, queueing.queues, nics);
        let home = |nic| self.topology.attachment(nic).switch;
        let queue = match queueing.kind {
            SchemeKind::Dbbm | SchemeKind::Voqnet => dst.get() % queues,
            SchemeKind::Bbq => group(dst),
            SchemeKind::Flow2sl(Mix::Sum) => (group(src) + group(dst)) % queues,
            SchemeKind::Flow2sl(Mix::Difference) => (group(dst) + queues - group(src)) % queues,
            SchemeKind::Vftree if home(src) == home(dst) => 0,
            SchemeKind::Vftree => {
                let up_ports = self.topology.family().up_ports(home(src)).count();
                dst.get() / up_ports.max(1) % queues
            }
            SchemeKind::OneQueue
            | SchemeKind::Voqsw
            | SchemeKind::Obqa
            | SchemeKind::Iodet(_)
            | SchemeKind::H2lq(_)
            | SchemeKind::Sf2lq => 0,
        };
        queue as u8
    }

    /// Queue in VL class `class`, below the number of its queues, of a packet for `dst` that `switch` stores, by a
    /// local scheme. 0 if the switch has no route to `dst`, and by a path-constant scheme.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queue_at(
        &self,
        queueing: &QueueingScheme,
        switch: SwitchId,
        dst: NicId,
        class: u8,
    ) -> u8 {
        let queues = u32::from(queueing.queues_of(class).max(1));
        let home = self.topology.attachment(dst).switch;
        let out_port = || self.preferred(switch, dst);
        let queue = match (queueing.kind, self.topology.shape()) {
            (SchemeKind::Voqsw | SchemeKind::Obqa, _) => out_port().map_or(0, |port| port.get()),
            (SchemeKind::Iodet(along), _) => out_port().map_or(0, |port| {
                let dimension = self.dimension_towards(switch, port);
                match along {
                    Along::Dimension => dimension,
                    Along::Coordinate => {
                        let last = self.topology.dimensions().saturating_sub(1);
                        self.topology.coordinate(home, dimension.min(last))
                    }
                }
            }),
            (SchemeKind::H2lq(Detail::Plain), _) => dst.get(),
            (SchemeKind::H2lq(Detail::Hierarchical), Shape::Dragonfly(fly)) => {
                hierarchical_queue(fly, switch, home, class)
            }
            (SchemeKind::Sf2lq, _) => home.get(),
            _ => 0,
        };
        (queue % queues) as u8
    }

    /// The dimension along which `port` of `switch` leads; towards a NIC the number of dimensions.
    fn dimension_towards(&self, switch: SwitchId, port: PortId) -> u32 {
        let dimension = match self.topology.peer(switch, port) {
            Peer::Nic(_) => None,
            Peer::Switch { .. } | Peer::None => self.topology.family().dimension(switch, port),
        };
        dimension.map_or_else(|| self.topology.dimensions(), u32::from)
    }
}

/// H2LQ's queue of a packet for a NIC of switch `home` that `switch` stores, not yet modulo the number of
/// queues.
fn hierarchical_queue(fly: &Dragonfly, switch: SwitchId, home: SwitchId, class: u8) -> u32 {
    let group = |switch: SwitchId| switch.get() / fly.a();
    if class == 0 && group(switch) != group(home) {
        group(home)
    } else {
        home.get() % fly.a()
    }
}
