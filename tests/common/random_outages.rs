//! Random outages of links, and changes of the forwarding tables, in the time of short traffic.

use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{FabricSpec, Outage, TableChange};
use flitwise::fabric::topology::Peer;
use flitwise::oblivious::{Failure, RoutingEngine};
use proptest::collection::vec;
use proptest::prelude::*;

/// Outages before they fit a fabric.
#[derive(Debug, Clone)]
pub struct RawOutages {
    /// A cable, the first tick, and the length; `None`: it stays down.
    outages: Vec<(u32, u64, Option<u64>)>,
    /// Ticks of the changes of the tables, and what they are drawn from.
    changes: Vec<(u64, u64)>,
}

/// Outages for any fabric, and changes for one with forwarding tables.
pub fn outages() -> BoxedStrategy<RawOutages> {
    let length = prop_oneof![
        3 => (1u64..200).prop_map(Some),
        3 => (200u64..3000).prop_map(Some),
        1 => (3000u64..40_000).prop_map(Some),
        1 => Just(None),
    ];
    let from = prop_oneof![1 => Just(0u64), 4 => 0u64..800, 2 => 800u64..4000];
    let outages = vec((any::<u32>(), from, length), 1..8);
    let changes = vec((0u64..2500, any::<u64>()), 0..4);
    (outages, changes)
        .prop_map(|(outages, changes)| RawOutages { outages, changes })
        .boxed()
}

impl RawOutages {
    /// Gives `spec` the outages, and the changes if it has tables.
    pub fn put(&self, spec: &mut FabricSpec) {
        let topology = &spec.topology;
        let ports = topology.switch_ids().flat_map(|switch: SwitchId| {
            let ports = topology.port_ids();
            ports.map(move |port: PortId| SwitchPort::new(switch, port))
        });
        let has_cable = |at: &SwitchPort| topology.peer(at.switch, at.port) != Peer::None;
        let cables: Vec<SwitchPort> = ports.filter(has_cable).collect();
        let outage = |&(cable, from, length): &(u32, u64, Option<u64>)| Outage {
            at: cables[cable as usize % cables.len()],
            from,
            until: length.map(|length| from + length),
        };
        let outages = self.outages.iter().map(outage).collect();
        if spec.routing.forwarding.is_some() {
            let mut changes = self.changes.clone();
            changes.sort_unstable();
            changes.dedup_by_key(|(from, _)| *from);
            spec.routing.changes = changes
                .into_iter()
                .map(|(from, seed)| change(spec, from, seed))
                .collect();
        }
        spec.outages = outages;
    }
}

/// Tables around as many random failures as leave every pair a route.
fn change(spec: &FabricSpec, from: u64, seed: u64) -> TableChange {
    let routed = (0..=(seed % 4) as u32).rev().find_map(|links| {
        let failure = (links > 0).then_some(Failure::RandomLinks(links));
        let engine = RoutingEngine::UpDown;
        engine
            .tables_of(&spec.topology, failure.as_slice(), seed)
            .ok()
    });
    let routed = routed.unwrap();
    TableChange {
        from,
        tables: routed.tables,
        failed: routed.failed,
    }
}
