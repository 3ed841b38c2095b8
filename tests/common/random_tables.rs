//! Random SL-to-VL tables and forwarding tables.

use super::random::Kind;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{ForwardingTables, Hop, Qos, Routing, SlToVl, VlPolicy};
use flitwise::fabric::topology::{Peer, Shape, Topology};
use flitwise::oblivious::{Failure, RoutingEngine};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Tables before they fit a fabric.
#[derive(Debug, Clone)]
pub struct RawTables {
    sl2vl: Option<RawSlToVl>,
    /// What the forwarding tables are drawn from.
    forwarding: Option<u64>,
}

#[derive(Debug, Clone)]
struct RawSlToVl {
    default: Vec<u8>,
    nics: Vec<(u32, Vec<u8>)>,
    /// Switch, in-port and out-port, counted among those that have a link.
    ports: Vec<([u32; 3], Vec<u8>)>,
}

/// Tables of one kind or both.
pub fn tables() -> BoxedStrategy<RawTables> {
    let table = || vec(any::<u8>(), 1..=12);
    let sl2vl = (
        table(),
        vec((any::<u32>(), table()), 0..4),
        vec((any::<[u32; 3]>(), table()), 0..16),
    );
    let sl2vl = sl2vl.prop_map(|(default, nics, ports)| RawSlToVl {
        default,
        nics,
        ports,
    });
    let forwarding = || option::of(any::<u64>());
    prop_oneof![
        3 => (sl2vl.prop_map(Some), forwarding()),
        1 => (Just(None), any::<u64>().prop_map(Some)),
    ]
    .prop_map(|(sl2vl, forwarding)| RawTables { sl2vl, forwarding })
    .boxed()
}

impl RawTables {
    /// None at all.
    pub const NONE: Self = Self {
        sl2vl: None,
        forwarding: None,
    };

    /// Forwarding tables alone, if there is a seed.
    pub fn only_forwarding(seed: Option<u64>) -> Self {
        Self {
            sl2vl: None,
            forwarding: seed,
        }
    }

    /// True if there are neither.
    pub fn is_none(&self) -> bool {
        self.sl2vl.is_none() && self.forwarding.is_none()
    }

    /// Lets SL-to-VL tables decide the VLs, of which there are at most `vls`. A sound fabric with
    /// rings keeps its service channels.
    pub fn put_sl2vl(&self, kind: Kind, topology: &Topology, vls: u8, qos: &mut Qos) {
        let rings = topology.vl_classes() > 1;
        let Some(raw) = self.sl2vl.as_ref().filter(|_| kind == Kind::Any || !rings) else {
            return;
        };
        let levels = qos.service_levels.len();
        let table = |raw: &Vec<u8>| -> Vec<u8> {
            let vls = raw.iter().cycle().map(|vl| vl % vls);
            vls.take(levels).collect()
        };
        let nics = raw.nics.iter();
        let port = |&([switch, from, to], ref raw): &([u32; 3], Vec<u8>)| {
            let switch = SwitchId::new(switch % topology.switches());
            let linked = |&port: &PortId| topology.peer(switch, port) != Peer::None;
            let linked: Vec<PortId> = topology.port_ids().filter(linked).collect();
            let pick = |raw: u32| linked.get(raw as usize % linked.len().max(1)).copied();
            let hop = Hop {
                switch,
                in_port: pick(from)?,
                out_port: pick(to)?,
            };
            Some((hop, table(raw)))
        };
        let tables = SlToVl {
            default: table(&raw.default),
            hcas: nics
                .map(|(nic, raw)| (NicId::new(nic % topology.nics()), table(raw)))
                .collect(),
            ports: raw
                .ports
                .iter()
                .filter_map(port)
                .collect::<BTreeMap<_, _>>(),
        };
        // A service channel each, in name only.
        let mut scs = (0u8..32).filter(|&sc| sc != 15);
        qos.sc2vl = [None; 32];
        for (level, &vl) in qos.service_levels.iter_mut().zip(&tables.default) {
            level.scs = scs.by_ref().take(1).collect();
            qos.sc2vl[usize::from(level.scs[0])] = Some(vl);
        }
        qos.vls = 1 + tables.all().flatten().max().unwrap();
        qos.vl_policy = VlPolicy::SlToVl(tables);
    }

    /// Gives `routing` forwarding tables: random ones, on sound fabrics only where no routes form a ring, or those of a
    /// routing around failed links, on sound fabrics up*/down*.
    pub fn put_forwarding(&self, kind: Kind, topology: &Topology, routing: &mut Routing) {
        let Some(seed) = self.forwarding else { return };
        let no_rings = matches!(topology.shape(), Shape::Single(_) | Shape::Graph(_));
        if seed % 2 == 0 && (kind == Kind::Any || no_rings) {
            routing.forwarding = Some(random_forwarding(topology, seed));
            return;
        }
        let engines = [
            RoutingEngine::UpDown,
            RoutingEngine::MinHop,
            RoutingEngine::Dfsssp,
        ];
        let engine = match kind {
            Kind::Sound => RoutingEngine::UpDown,
            Kind::Any => engines[(seed / 2 % 3) as usize],
        };
        // As many failures as leave every pair a route.
        let routed = (0..=(seed / 8 % 4) as u32).rev().find_map(|links| {
            let failure = (links > 0).then_some(Failure::RandomLinks(links));
            engine.tables_of(topology, failure.as_slice(), seed).ok()
        });
        let routed = routed.unwrap();
        (routing.forwarding, routing.failed) = (Some(routed.tables), routed.failed);
    }
}

/// All packets for a NIC go along a random tree.
fn random_forwarding(topology: &Topology, seed: u64) -> ForwardingTables {
    let mut ports = vec![Vec::new(); topology.switches() as usize];
    for nic in topology.nic_ids() {
        for (row, port) in ports.iter_mut().zip(random_tree(topology, nic, seed)) {
            row.push(port);
        }
    }
    ForwardingTables {
        ports,
        engine: None,
    }
}

/// A port of each switch such that all lead to `nic`: one switch after the other hangs itself on
/// those that are there, in random order.
fn random_tree(topology: &Topology, nic: NicId, seed: u64) -> Vec<PortId> {
    let mut state = seed ^ u64::from(nic.get()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let SwitchPort { switch, port } = topology.attachment(nic);
    let mut ports = BTreeMap::from([(switch, port)]);
    loop {
        let mut open = Vec::new();
        for switch in topology
            .switch_ids()
            .filter(|switch| !ports.contains_key(switch))
        {
            for port in topology.port_ids() {
                match topology.peer(switch, port) {
                    Peer::Switch { switch: next, .. } if ports.contains_key(&next) => {
                        open.push((switch, port));
                    }
                    _ => {}
                }
            }
        }
        if open.is_empty() {
            break;
        }
        let (switch, port) = open[below(open.len())];
        ports.insert(switch, port);
    }
    ports.into_values().collect()
}
