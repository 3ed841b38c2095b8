//! The oracle on random fabrics: it checks its own invariants as it goes, and
//! what cannot deadlock delivers everything.

use crate::common::random::{Kind, classes, config, controlled_fabric, fabric};
use crate::common::random_traffic::{script, traffic};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::spec::hierarchical::Scheduler;
use flitwise::fabric::topology::Shape;
use flitwise_oracles::hierarchical::{self as oracle, RunEnd};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const TICKS: u64 = 2_000_000;

proptest! {
    #![proptest_config(config(75))]

    #[test]
    fn a_sound_fabric_delivers_everything(spec in fabric(Kind::Sound), traffic in traffic()) {
        let mut script = script(&spec, &traffic);
        let messages = script.messages_left();
        let run = oracle::run(&spec, &mut script, TICKS);
        prop_assert_eq!(run.end, RunEnd::Drained);
        prop_assert_eq!(run.messages, messages as u64);
        prop_assert_eq!(run.flits_injected, run.flits_delivered);
        prop_assert_eq!(script.delivered.len(), messages);
        prop_assert_eq!(&script.packets, &run.reports);
        // With everything delivered, every flit took two host links.
        prop_assert_eq!(run.host_flit_hops, 2 * run.flits_injected);
    }

    #[test]
    fn any_fabric_keeps_the_invariants(spec in fabric(Kind::Any), traffic in traffic()) {
        let mut script = script(&spec, &traffic);
        let run = oracle::run(&spec, &mut script, TICKS);
        prop_assert!(run.end != RunEnd::OutOfTicks);
    }
}

/// Random congestion control does something: in many of the runs that hold the engine to
/// the oracle, packets are marked and sources slowed down.
#[test]
fn random_congestion_control_acts() {
    let mut runner = TestRunner::deterministic();
    let (mut marked, mut slowed, mut with_scarce_credits) = (0, 0, 0);
    for _ in 0..100 {
        let spec = controlled_fabric(Kind::Sound).new_tree(&mut runner);
        let spec = spec.unwrap().current();
        let traffic = traffic().new_tree(&mut runner).unwrap().current();
        let run = oracle::run(&spec, &mut script(&spec, &traffic), TICKS);
        assert_eq!(run.end, RunEnd::Drained);
        marked += u32::from(run.congestion.marked > 0);
        slowed += u32::from(run.congestion.level_sum > 0);
        let cnp_waits = |link: &oracle::LinkCounts| {
            matches!(link.from, oracle::End::Nic(_)) && !link.waited.is_empty()
        };
        let waits = run.links.iter().any(cnp_waits);
        with_scarce_credits += u32::from(waits && run.congestion.notifications_sent > 0);
    }
    assert!(marked >= 20, "packets are marked in {marked} of 100 runs");
    assert!(
        slowed >= 10,
        "sources are slowed down in {slowed} of 100 runs"
    );
    assert!(
        with_scarce_credits >= 5,
        "{with_scarce_credits} of 100 runs"
    );
}

/// What the random fabrics must not leave out.
type Corner = (&'static str, fn(&FabricSpec) -> bool);

const CORNERS: &[Corner] = &[
    ("a single NIC", |f| f.topology.nics() == 1),
    ("fewer NICs than ports for them on a cube", |f| {
        matches!(f.topology.shape(), Shape::Cube(cube)
            if f.topology.nics() < f.topology.switches() * cube.lattice.concentration)
    }),
    ("a ring of 6", |f| {
        matches!(f.topology.shape(), Shape::Cube(cube)
            if cube.wraps() && cube.lattice.dimensions.contains(&6))
    }),
    ("a dragonfly with two VL classes", |f| {
        matches!(f.topology.shape(), Shape::Dragonfly(_)) && f.needs_classes()
    }),
    (
        "several links between two groups",
        |f| matches!(f.topology.shape(), Shape::Dragonfly(fly) if fly.global.per_pair() > 1),
    ),
    ("32 VLs", |f| f.qos.vls == 32),
    ("more than 64 queues in a central buffer", |f| {
        // About half the neighbours are reached by the ports of each parity.
        u32::from(f.qos.vls) * classes(&f.topology) > 128
    }),
    ("SCs of one SL on one VL", |f| {
        (0..f.qos.service_levels.len()).any(|sl| {
            let vls: Vec<u8> = f.qos.vls_of(sl).collect();
            (1..vls.len()).any(|i| vls[..i].contains(&vls[i]))
        })
    }),
    ("more than two SCs", |f| {
        f.qos.service_levels.iter().any(|sl| sl.scs.len() > 2)
    }),
    ("flits above 64 bytes", |f| f.units.flit_bytes > 64),
    ("flits that are no power of two", |f| {
        !f.units.flit_bytes.is_power_of_two()
    }),
    ("fast crossbars", |f| {
        f.hierarchical().unwrap().timing.mport_speedup > 4
            && f.hierarchical().unwrap().timing.central_speedup > 4
    }),
    (
        "an SBT weight of 0",
        |f| matches!(&f.hierarchical().unwrap().scheduler, Scheduler::Sbt { weights } if weights.contains(&0)),
    ),
];

#[test]
fn random_fabrics_reach_the_corners() {
    let mut runner = TestRunner::deterministic();
    for kind in [Kind::Sound, Kind::Any] {
        let strategy = fabric(kind);
        let fabrics: Vec<FabricSpec> = (0..300)
            .map(|_| strategy.new_tree(&mut runner).unwrap().current())
            .collect();
        for (name, is_there) in CORNERS {
            let count = fabrics.iter().filter(|f| is_there(f)).count();
            assert!(count > 0, "no {kind:?} fabric of 300 has {name}");
        }
    }
}
