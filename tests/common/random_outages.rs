//! Random outages and degradations of links, and changes of the forwarding tables, in the time of short traffic.

use flitwise::fabric::engine::Engine;
use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{BitErrors, Degradation, FabricSpec, Outage, TableChange};
use flitwise::fabric::topology::Peer;
use flitwise::oblivious::{Failure, RoutingEngine};
use flitwise::units::Ratio;
use proptest::collection::vec;
use proptest::prelude::*;

/// Outages before they fit a fabric.
#[derive(Debug, Clone, Default)]
pub struct RawOutages {
    /// A cable, the first tick, and the length; `None`: it stays down.
    outages: Vec<(u32, u64, Option<u64>)>,
    /// The same of degradations, and their eighths of the cable's rate.
    degraded: Vec<(u32, u64, Option<u64>, u64)>,
    /// How many times rarer bit errors are than they may be at most, and their seed.
    errors: Option<(u64, u64)>,
    /// Ticks of the changes of the tables, and what they are drawn from.
    changes: Vec<(u64, u64)>,
}

/// The first tick of an event.
fn from() -> BoxedStrategy<u64> {
    prop_oneof![1 => Just(0u64), 4 => 0u64..800, 2 => 800u64..4000].boxed()
}

/// How long it lasts; `None`: for good.
fn length() -> BoxedStrategy<Option<u64>> {
    prop_oneof![
        3 => (1u64..200).prop_map(Some),
        3 => (200u64..3000).prop_map(Some),
        1 => (3000u64..40_000).prop_map(Some),
        1 => Just(None),
    ]
    .boxed()
}

/// Outages for any fabric, and changes for one with forwarding tables.
pub fn outages() -> BoxedStrategy<RawOutages> {
    let (from, length) = (from(), length());
    let outages = vec((any::<u32>(), from, length), 1..8);
    let changes = vec((0u64..2500, any::<u64>()), 0..4);
    (outages, changes)
        .prop_map(|(outages, changes)| RawOutages {
            outages,
            changes,
            ..RawOutages::default()
        })
        .boxed()
}

/// Degradations for any fabric, with outages or without.
pub fn degraded() -> BoxedStrategy<RawOutages> {
    let (from, length) = (from(), length());
    let eighths = prop_oneof![Just(2u64), Just(4), Just(1), 3u64..=8];
    let degraded = vec((any::<u32>(), from, length, eighths), 1..10);
    let outages = prop_oneof![Just(None), outages().prop_map(Some)];
    (degraded, outages)
        .prop_map(|(degraded, outages)| RawOutages {
            degraded,
            ..outages.unwrap_or_default()
        })
        .boxed()
}

/// Bit errors for any fabric, with the events that it may have or without.
pub fn bit_errors() -> BoxedStrategy<RawOutages> {
    let rarer = prop_oneof![Just(1u64), 2u64..10, 10u64..1000];
    let events = prop_oneof![Just(None), degraded().prop_map(Some)];
    (rarer, any::<u64>(), events)
        .prop_map(|(rarer, seed, events)| RawOutages {
            errors: Some((rarer, seed)),
            ..events.unwrap_or_default()
        })
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
        let degradation = |&(cable, from, length, eighths): &(u32, u64, Option<u64>, u64)| {
            let at = cables[cable as usize % cables.len()];
            let part = Ratio::new(eighths, 8)?;
            Some(Degradation {
                at,
                from,
                until: length.map(|length| from + length),
                rate: spec.link_rate(at.switch, at.port).checked_mul(part)?,
            })
        };
        let most = (0..spec.qos.service_levels.len())
            .map(|sl| spec.max_flits(sl))
            .max();
        let bits = u64::from(most.unwrap_or(1)) * u64::from(spec.units.flit_bytes) * 8;
        let errors = self.errors.map(|(rarer, seed)| BitErrors {
            rate: (1 << 63) / bits / rarer,
            seed,
        });
        let degraded = self.degraded.iter().filter_map(degradation).collect();
        spec.outages = outages;
        spec.bit_errors = errors;
        spec.degraded = degraded;
        // The engine has a limit of different rates.
        while Engine::new(spec).is_err() && spec.degraded.pop().is_some() {}
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
