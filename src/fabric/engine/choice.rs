//! Which of the candidates for its next hop a packet takes (`docs/model/fabric.md` §7). The destination's
//! own candidate, or the first link of a trunk, comes from `fabric::routing`.
//!
//! `src/fabric/spec/routing.rs` lists the files that a new choice touches.

use super::ids::OutputId;
use crate::ids::{NicId, SwitchId, SwitchPort};
use crate::spec::{FabricSpec, TrunkSelection, UpPorts};
use crate::topology::Peer;

/// The state of the outputs that a choice may depend on.
pub(super) trait Occupancy {
    /// Credits in use in the output buffer of `output`. Numbers of different outputs need only
    /// compare if nothing waits anywhere.
    fn in_buffer(&mut self, output: OutputId) -> u32;
    /// Credits of the packets that were routed to `output` and have not been granted its output
    /// buffer.
    fn waiting(&self, output: OutputId) -> u32;
}

/// The rule by which a packet chooses among the candidates.
#[derive(Debug)]
pub(super) enum Choice {
    /// The router's candidate is the only one.
    Only,
    /// One of the parallel links of a trunk.
    Trunk(Trunks),
    /// The least-queued up-port of a tree.
    UpPort(UpPortRanges),
}

impl Choice {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let routing = &spec.routing;
        if routing.forwarding.is_some() {
            return Self::Only;
        }
        let family = spec.topology.family();
        if family.trunk() > 1 {
            Self::Trunk(Trunks::new(spec))
        } else if routing.up_ports == UpPorts::LeastQueued {
            Self::UpPort(UpPortRanges::new(spec))
        } else {
            Self::Only
        }
    }

    /// Whether the choice depends on other packets, and so on the order of the in-ports.
    #[inline]
    pub(super) fn by_others(&self) -> bool {
        match self {
            Self::Only => false,
            Self::Trunk(trunks) => trunks.selection != TrunkSelection::Destination,
            Self::UpPort(_) => true,
        }
    }

    /// Out-port of a packet for `dst` at `switch`. `first` is the router's candidate.
    #[inline(always)]
    pub(super) fn output(
        &mut self,
        switch: SwitchId,
        first: OutputId,
        dst: NicId,
        mut occupancy: impl Occupancy,
    ) -> OutputId {
        let output = self.foresee(switch, first, dst, &mut occupancy);
        if let Self::Trunk(trunks) = self {
            trunks.advance(first);
        }
        output
    }

    /// The out-port that [`output`](Self::output) would choose.
    #[inline(always)]
    pub(super) fn foresee(
        &self,
        switch: SwitchId,
        first: OutputId,
        dst: NicId,
        occupancy: &mut impl Occupancy,
    ) -> OutputId {
        match self {
            Self::Only => first,
            Self::Trunk(trunks) => trunks.choose(first, dst, occupancy),
            Self::UpPort(ranges) => ranges.choose(switch, first, occupancy),
        }
    }

    /// The out-port that `dst` alone would choose. `first` is the router's candidate.
    pub(super) fn of_destination(&self, first: OutputId, dst: NicId) -> OutputId {
        match self {
            Self::Trunk(trunks) if trunks.has(first) => first.plus(trunks.of_destination(dst)),
            Self::Only | Self::Trunk(_) | Self::UpPort(_) => first,
        }
    }
}

/// The trunks of a fabric.
#[derive(Debug)]
pub(super) struct Trunks {
    /// Parallel links of each trunk.
    links: u32,
    /// Planes of the fabric: the number of a NIC on its plane decides.
    planes: u32,
    /// Ports per switch.
    radix: u32,
    /// Whether a port, numbered within its switch, leads to other switches.
    is_link: Vec<bool>,
    selection: TrunkSelection,
    /// With `TrunkSelection::RoundRobin`: the next link of each trunk, by the trunk's first
    /// output.
    next: Vec<u32>,
}

impl Trunks {
    fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let is_link = |port| {
            let mut switches = topology.switch_ids();
            switches.any(|switch| matches!(topology.peer(switch, port), Peer::Switch { .. }))
        };
        Self {
            links: topology.family().trunk(),
            planes: topology.planes(),
            radix: topology.radix(),
            is_link: topology.port_ids().map(is_link).collect(),
            selection: spec.routing.trunk,
            next: vec![0; (topology.switches() * topology.radix()) as usize],
        }
    }

    /// Whether a trunk begins at `first`.
    #[inline]
    fn has(&self, first: OutputId) -> bool {
        self.is_link[(first.get() % self.radix) as usize]
    }

    /// The link of each trunk that `dst` alone would choose.
    #[inline]
    fn of_destination(&self, dst: NicId) -> u32 {
        dst.get() / self.planes % self.links
    }

    /// A packet takes the trunk with first port `first`.
    #[inline]
    fn advance(&mut self, first: OutputId) {
        if self.selection == TrunkSelection::RoundRobin && self.has(first) {
            let next = &mut self.next[first.index()];
            *next = (*next + 1) % self.links;
        }
    }

    /// The link that a packet for `dst` takes of the trunk with first port `first`.
    #[inline]
    fn choose(&self, first: OutputId, dst: NicId, occupancy: &mut impl Occupancy) -> OutputId {
        if !self.has(first) {
            return first;
        }
        let link = match self.selection {
            TrunkSelection::Destination => self.of_destination(dst),
            TrunkSelection::RoundRobin => self.next[first.index()],
            TrunkSelection::LeastQueued => {
                let links =
                    (0..self.links).map(|link| (occupancy.in_buffer(first.plus(link)), link));
                links.min().map_or(0, |(_, link)| link)
            }
        };
        first.plus(link)
    }
}

/// The up-ports of each switch of a tree, which are consecutive.
#[derive(Debug)]
pub(super) struct UpPortRanges {
    /// Per switch: the first one, and their number.
    of_switch: Vec<(OutputId, u32)>,
}

impl UpPortRanges {
    fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let of_switch = |switch: SwitchId| {
            let ports = topology.family().up_ports(switch);
            let first = ports.first().unwrap_or_default();
            let first = OutputId::of(SwitchPort::new(switch, first), topology.radix());
            (first, ports.count())
        };
        Self {
            of_switch: topology.switch_ids().map(of_switch).collect(),
        }
    }

    /// The least-queued up-port, if the destination's own port `own` is one; a tie goes to the
    /// first one from `own` on, once around.
    #[inline]
    fn choose(&self, switch: SwitchId, own: OutputId, occupancy: &mut impl Occupancy) -> OutputId {
        let (first, count) = self.of_switch[switch.index()];
        let start = own.get().wrapping_sub(first.get());
        if start >= count {
            return own;
        }
        let ports = (start..count).chain(0..start).map(|port| first.plus(port));
        let queue = |port: &OutputId| occupancy.waiting(*port) + occupancy.in_buffer(*port);
        ports.min_by_key(queue).unwrap_or(own)
    }
}
