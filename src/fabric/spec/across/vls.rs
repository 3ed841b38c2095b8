//! VLs and their classes: the answers that need the whole fabric.

use crate::ids::{NicId, PortId};
use crate::spec::vls::{Channel, Hop, LegAt, VlPolicy};
use crate::spec::{FabricSpec, QueueingScheme, SchemeKind};
use crate::topology::{Peer, Shape};

impl FabricSpec {
    /// Whether the routing needs SCs of every service level in more than one VL class: on rings
    /// and dragonflies, and for paths of several legs, unless SL-to-VL tables decide the VLs.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn needs_classes(&self) -> bool {
        self.classes() > 1
    }

    /// Number of VL classes: 1 if SL-to-VL tables decide the VLs. Otherwise each leg of a path has as many as the topology
    /// needs.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn classes(&self) -> u8 {
        match self.qos.vl_policy.tables() {
            Some(_) => 1,
            None => self.routing.paths.classes(self.classes_of_leg()),
        }
    }

    /// Number of VL classes of each leg of a path, which the topology decides; 1 if forwarding tables take the place of
    /// its routing, for the classes follow that. The first leg has the lowest classes: see [`Paths::first_class`](super::Paths::first_class).
    #[must_use]
    pub(crate) fn classes_of_leg(&self) -> u8 {
        match self.routing.forwarding {
            Some(_) => 1,
            None if self.has_escape_behind_global() => 2,
            None => self.topology.vl_classes(),
        }
    }

    /// The VL classes before and after a switch that a packet can have: on later legs of its path it has no class of an
    /// earlier one.
    pub(crate) fn class_turns(&self) -> impl Iterator<Item = (u8, u8)> {
        let (classes, of_leg) = (self.classes(), self.classes_of_leg().max(1));
        let pairs =
            (0..classes).flat_map(move |before| (0..classes).map(move |after| (before, after)));
        pairs.filter(move |(before, after)| before / of_leg <= after / of_leg)
    }

    /// Service channel of a packet of `sl` for NIC `dst` in VL class `class`, and its VL, if the
    /// destination decides the queue. `None` if the service level has no SC, or the SC no VL. A service
    /// level with too few SCs uses the last for several classes.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn channel(&self, sl: usize, class: u8, dst: NicId) -> Option<Channel> {
        let queues = self.qos.queues(sl, self.classes());
        self.channel_of_queue(sl, class, self.topology.on_plane(dst).index() % queues)
    }

    /// As [`channel`](Self::channel), for the packets that this queue of the VL class is for.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn channel_of_queue(&self, sl: usize, class: u8, queue: usize) -> Option<Channel> {
        let queues = self.qos.queues(sl, self.classes());
        self.channel_at(sl, usize::from(class) * queues + queue)
    }

    /// The SC at a position in the list of service level `sl`, or the last one, and its VL.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn channel_at(&self, sl: usize, position: usize) -> Option<Channel> {
        let scs = &self.qos.service_levels[sl].scs;
        let &sc = scs.get(position).or_else(|| scs.last())?;
        let vl = self.qos.sc2vl.get(usize::from(sc)).copied().flatten()?;
        Some(Channel { sc, vl })
    }

    /// The queueing scheme, if one other than DBBM decides: DBBM's queue follows from the
    /// destination alone, as where a service level has several SCs in a class.
    #[must_use]
    pub(crate) fn queueing_by_more(&self) -> Option<&QueueingScheme> {
        self.queueing_scheme()
            .filter(|queueing| queueing.kind != SchemeKind::Dbbm)
    }

    /// Channel on which a packet of `sl` for NIC `dst` leaves NIC `nic`; `None` if it has none.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn channel_at_nic(&self, nic: NicId, dst: NicId, sl: usize) -> Option<Channel> {
        if let Some(queueing) = self.queueing_by_more() {
            let switch = self.topology.attachment(nic).switch;
            let queue = if queueing.is_local() {
                self.queue_at(queueing, switch, dst, 0)
            } else {
                self.queue_of_pair(queueing, nic, dst)
            };
            return self.channel_at(sl, queueing.position(0, queue));
        }
        match &self.qos.vl_policy {
            VlPolicy::SlToVl(tables) => of_table(sl, tables.at_hca(nic, sl as u8)),
            VlPolicy::ServiceChannels | VlPolicy::Queueing(_) => self.channel(sl, 0, dst),
        }
    }

    /// Channel behind `hop`, and VL class there, of a packet of `sl` for NIC `dst` on the leg `leg` of its path that had the
    /// channel `before` and whose VL class was `class`, a class of that leg; `None` if it has no channel.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn channel_behind(
        &self,
        hop: Hop,
        sl: usize,
        dst: NicId,
        leg: LegAt,
        (before, class): (Channel, u8),
    ) -> Option<(Channel, u8)> {
        let class = self.class_behind(hop, leg, class);
        if let Some(queueing) = self.queueing_by_more() {
            let queue = self.queue_behind(queueing, hop, (sl, dst), before, class)?;
            let channel = self.channel_at(sl, queueing.position(class, queue));
            return Some((channel?, class));
        }
        let channel = match &self.qos.vl_policy {
            VlPolicy::SlToVl(tables) => of_table(sl, tables.at_switch(hop, sl as u8)),
            VlPolicy::ServiceChannels | VlPolicy::Queueing(_) => self.channel(sl, class, dst),
        };
        Some((channel?, class))
    }

    /// VL class behind `hop` of a packet on the leg `leg` whose VL class was `class`.
    fn class_behind(&self, hop: Hop, leg: LegAt, class: u8) -> u8 {
        let Hop {
            switch,
            in_port,
            out_port,
        } = hop;
        if self.classes() == 1 {
            return 0;
        }
        if self.has_escape_behind_global() {
            return match self.topology.peer(switch, out_port) {
                Peer::Nic(_) => class,
                _ => u8::from(self.is_global(in_port) && !self.is_global(out_port)),
            };
        }
        let first = self.first_class(leg.number);
        let class = class.saturating_sub(first);
        first
            + if leg.begins {
                self.topology.first_class_behind(switch, out_port)
            } else {
                (self.topology).class_behind(switch, in_port, out_port, class)
            }
    }

    /// Whether `port` is a global port of a dragonfly.
    pub(crate) fn is_global(&self, port: PortId) -> bool {
        matches!(self.topology.shape(), Shape::Dragonfly(fly) if fly.is_global(port))
    }

    /// Queue in VL class `class` of a packet of `sl` for `dst` behind `hop`, if it had the channel `before`.
    fn queue_behind(
        &self,
        queueing: &QueueingScheme,
        hop: Hop,
        (sl, dst): (usize, NicId),
        before: Channel,
        class: u8,
    ) -> Option<u8> {
        let next = match self.topology.peer(hop.switch, hop.out_port) {
            Peer::Switch { switch, .. } if queueing.is_local() => Some(switch),
            Peer::Switch { .. } | Peer::Nic(_) | Peer::None => None,
        };
        if let Some(next) = next {
            return Some(self.queue_at(queueing, next, dst, class));
        }
        let mut scs = self.qos.service_levels[sl].scs.iter();
        let (_, queue) = queueing.at(scs.position(|&sc| sc == before.sc)?);
        Some(queue % queueing.queues_of(class).max(1))
    }
}

fn of_table(sl: usize, vl: Option<u8>) -> Option<Channel> {
    Some(Channel {
        sc: sl as u8,
        vl: vl?,
    })
}
