//! The next hops of a fabric: looked up in forwarding tables, or computed by the topology
//! ([`Topology::candidates`]).

mod source;

pub(super) use self::source::{Cursor, SourceHops};

use super::ids::{NicId, PortId, SwitchId};
use super::prefetch::prefetch;
use super::spec::{FabricSpec, ForwardingTables, RingTie, Tick};
use super::topology::Topology;

/// Largest next-hop table that is stored; beyond it hops are computed.
const MAX_TABLE: u64 = 1 << 26;

/// Next hops of all (switch, destination) pairs.
#[derive(Debug)]
pub(super) struct Router {
    first: Hops,
    /// Those that take over, each from its tick on.
    later: Vec<(Tick, Hops)>,
    /// Routes of single pairs; `None` if there are none.
    by_source: Option<SourceHops>,
}

/// Next hops as long as they do not change.
#[derive(Debug)]
enum Hops {
    /// First candidate, `[switch * nics + dst]`; aggregation nodes count among the NICs.
    Table { ports: Vec<u8>, nics: usize },
    Computed {
        topology: Box<Topology>,
        tie: RingTie,
    },
}

impl Router {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let changes = spec.routing.changes.iter();
        Self {
            first: Hops::new(spec),
            later: changes
                .map(|change| (change.from, Hops::of_tables(&change.tables, &spec.topology)))
                .collect(),
            by_source: SourceHops::new(spec),
        }
    }

    /// The routes of single pairs, if there are any.
    #[inline]
    pub(super) fn by_source(&self) -> Option<&SourceHops> {
        self.by_source.as_ref()
    }

    /// Whether next hops change with time.
    pub(super) fn changes(&self) -> bool {
        !self.later.is_empty()
    }

    /// Prefetches the data that [`Router::first_port`] will look up.
    #[inline]
    pub(super) fn prefetch(&self, switch: SwitchId, dst: NicId) {
        if let Hops::Table { ports, nics } = &self.first {
            prefetch(ports, switch.index() * nics + dst.index());
        }
    }

    /// First candidate, within the switch, of the next hop, before any change.
    #[inline]
    pub(super) fn first_port(&self, switch: SwitchId, dst: NicId) -> PortId {
        self.first.first_port(switch, dst)
    }

    /// As [`Router::first_port`], of a header that is routed in tick `now`.
    pub(super) fn first_port_at(&self, now: Tick, switch: SwitchId, dst: NicId) -> PortId {
        let began = self.later.partition_point(|&(from, _)| from <= now);
        let hops = self.later[..began].last().map(|(_, hops)| hops);
        hops.unwrap_or(&self.first).first_port(switch, dst)
    }
}

impl Hops {
    fn of_tables(tables: &ForwardingTables, topology: &Topology) -> Self {
        // Tables name NICs alone.
        let nodes = topology.endpoint_ids().skip(topology.nics() as usize);
        let of_switch = |(switch, row): (SwitchId, &Vec<PortId>)| {
            let to_node = |node| first_port(topology, RingTie::Positive, switch, node);
            let ports = row.iter().copied().chain(nodes.clone().map(to_node));
            // Switches have at most 120 ports, so a port fits into a byte.
            ports.map(|port| port.get() as u8).collect::<Vec<u8>>()
        };
        let rows = topology.switch_ids().zip(&tables.ports);
        Self::Table {
            ports: rows.flat_map(of_switch).collect(),
            nics: topology.endpoints() as usize,
        }
    }

    fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let (tie, nics) = (spec.routing.ring_tie, topology.endpoints() as usize);
        if let Some(tables) = &spec.routing.forwarding {
            return Self::of_tables(tables, topology);
        }
        let pairs = u64::from(topology.switches()) * u64::from(topology.endpoints());
        if pairs > MAX_TABLE || topology.radix() > u32::from(u8::MAX) {
            return Self::Computed {
                topology: Box::new(topology.clone()),
                tie,
            };
        }
        let mut ports = Vec::with_capacity(pairs as usize);
        for switch in topology.switch_ids() {
            for dst in topology.endpoint_ids() {
                ports.push(first_port(topology, tie, switch, dst).get() as u8);
            }
        }
        Self::Table { ports, nics }
    }

    #[inline]
    fn first_port(&self, switch: SwitchId, dst: NicId) -> PortId {
        match self {
            Self::Table { ports, nics } => {
                PortId::new(ports[switch.index() * nics + dst.index()].into())
            }
            Self::Computed { topology, tie } => first_port(topology, *tie, switch, dst),
        }
    }
}

/// The first candidate. Every topology has one, for it is connected.
fn first_port(topology: &Topology, tie: RingTie, switch: SwitchId, dst: NicId) -> PortId {
    let candidates = topology.candidates(tie, switch, dst);
    candidates.first().unwrap_or_default()
}
