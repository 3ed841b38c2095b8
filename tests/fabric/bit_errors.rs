//! Bit errors of links (`docs/model/fabric.md` §10): the engine against the oracles on random fabrics, and against closed
//! forms.

use crate::common::infiniband::{static_pool, voq_fabric, voq_of, with_hierarchical_switches};
use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband::{self, tree_fabric};
use crate::common::random_outages::bit_errors;
use crate::common::random_traffic;
use crate::common::script::{Cue, Script, message};
use crate::compare::compare_sampled;
use crate::engine_vs_oracle_ib::compare;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{BitErrors, FabricSpec, Tick};
use flitwise::fabric::stats::{FabricStats, LinkEnd};
use flitwise::fabric::topology::Topology;
use flitwise::random::{Purpose, Stream};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn random_bit_errors_agree(
        drawn in prop_oneof![3 => random_infiniband::fabric(), 1 => tree_fabric()],
        events in bit_errors(),
        traffic in random_infiniband::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let mut spec = drawn;
        events.put(&mut spec);
        let script = random_infiniband::script(&spec, &traffic);
        compare(&spec, &script, interval)?;
    }

    #[test]
    fn random_bit_errors_of_hierarchical_switches_agree(
        spec in prop_oneof![
            random::fabric(Kind::Any),
            random::controlled_fabric(Kind::Any),
            random::choosing_tree(Kind::Any),
            random::table_fabric(Kind::Sound),
        ],
        events in bit_errors(),
        traffic in random_traffic::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let mut spec = spec;
        events.put(&mut spec);
        let script = random_traffic::script(&spec, &traffic);
        compare_sampled(&spec, &script, interval)?;
    }
}

/// A fabric of hierarchical and one of `voq` switches. Flits have 64 bytes, links to NICs a latency of 3, others of 5.
fn both(topology: Topology) -> [FabricSpec; 2] {
    let mut spec = voq_fabric(topology);
    voq_of(&mut spec).buffers.input = static_pool(2, 64);
    [with_hierarchical_switches(spec.clone()), spec]
}

/// Two switches with two NICs each.
fn pairs() -> [FabricSpec; 2] {
    both(Topology::cube(&[2], false, 2, 1, None).unwrap())
}

/// Gives `spec` bits that are wrong with this probability.
fn with_errors(spec: &FabricSpec, probability: f64, seed: u64) -> FabricSpec {
    let rate = (probability * 2f64.powi(64)) as u64;
    FabricSpec {
        bit_errors: Some(BitErrors { rate, seed }),
        ..spec.clone()
    }
}

/// Ticks that a failed try costs: two flits of a block and the latency, twice.
const AT_NICS: Tick = 2 * (2 + 3);
const BETWEEN: Tick = 2 * (2 + 5);

/// Runs `script`; returns the ticks of deliveries by token, and the counts.
fn run(spec: &FabricSpec, script: &Script) -> (Vec<Tick>, FabricStats) {
    let (mut script, mut engine) = (script.clone(), Engine::new(spec).unwrap());
    assert_eq!(engine.run(&mut script), RunEnd::Drained);
    let mut told = script.told().delivered;
    told.sort_unstable_by_key(|&(_, token)| token);
    (
        told.into_iter().map(|(tick, _)| tick).collect(),
        engine.stats(),
    )
}

/// The failed tries of a link are the words of its stream that are too small.
#[test]
fn a_failed_try_costs_a_round_trip() {
    const FLITS: u64 = 4;
    for spec in pairs() {
        let script = Script::new([(Cue::At(1000), message(0, 0, 2, 0, FLITS * 64))]);
        let (undisturbed, _) = run(&spec, &script);
        let mut seen = 0;
        for seed in 0..40 {
            let wrong: f64 = 1.0 - 0.8f64.powf(1.0 / (8 * 64 * FLITS) as f64);
            let failed = |component| {
                let mut stream = Stream::new(seed, Purpose::BitErrors, component);
                let tries = std::iter::from_fn(|| Some(stream.bits()));
                let below = 0.2 * 2f64.powi(64);
                tries.take_while(|&word| (word as f64) < below).count() as u64
            };
            let radix = u64::from(spec.topology.radix());
            // NIC 0, port 2 of switch 0 to switch 1, port 0 of switch 1 to NIC 2.
            let [first, between, last] = [[0, 1], [2, 0], [radix, 0]].map(failed);
            let (delivered, stats) = run(&with_errors(&spec, wrong, seed), &script);
            let late = (first + last) * AT_NICS + between * BETWEEN;
            assert_eq!(delivered, [undisturbed[0] + late], "seed {seed}");
            let counted = stats.links.iter().map(|link| link.retries.unwrap());
            assert_eq!(counted.sum::<u64>(), first + between + last);
            let longer = stats.links.iter().map(|link| link.longer_ticks);
            assert_eq!(longer.sum::<u64>(), late);
            seen += first.min(1) + between.min(1) + last.min(1);
        }
        assert!((5..50).contains(&seen), "{seen} of 120 links had errors");
    }
}

/// Three NICs send to a fourth, whose link is always busy. A packet takes it for n ticks, and for d ticks more with each of
/// the p/(1−p) tries that fail on average.
#[test]
fn the_throughput_of_a_link_falls_by_the_expected_factor() {
    const PACKETS: u64 = 4000;
    const FLITS: u64 = 4;
    for spec in both(Topology::single(4).unwrap()) {
        let lines = (0..PACKETS).map(|i| {
            let src = 1 + (i % 3) as u32;
            (Cue::At(0), message(i, src, 0, 0, FLITS * 64))
        });
        let script = Script::new(lines);
        let span = |delivered: &[Tick]| {
            (delivered.iter().max().unwrap() - delivered.iter().min().unwrap()) as f64
        };
        let (undisturbed, _) = run(&spec, &script);
        assert_eq!(span(&undisturbed), ((PACKETS - 1) * FLITS) as f64);
        for p in [0.02, 0.1, 0.25f64] {
            let wrong = 1.0 - (1.0 - p).powf(1.0 / (8 * 64 * FLITS) as f64);
            let (delivered, stats) = run(&with_errors(&spec, wrong, 7), &script);
            let factor = span(&delivered) / span(&undisturbed);
            let tries = p / (1.0 - p);
            let expected = 1.0 + tries * AT_NICS as f64 / FLITS as f64;
            // The tries that fail of a packet have the variance p/(1−p)²; four standard deviations.
            let deviation = p.sqrt() / (1.0 - p) * AT_NICS as f64 / FLITS as f64;
            let margin = 4.0 * deviation / (PACKETS as f64).sqrt();
            assert!(
                (factor - expected).abs() < margin,
                "p {p}: {factor}, not {expected} ± {margin}"
            );
            let last = stats
                .links
                .iter()
                .find(|link| link.to == LinkEnd::Nic(NicId::new(0)));
            let last = last.unwrap();
            let counted = last.retries.unwrap();
            let ticks = counted * AT_NICS;
            assert_eq!(last.longer_ticks, ticks);
            let busy = last.busy_ticks(&spec);
            assert!(
                (busy - (PACKETS * FLITS + ticks) as f64).abs() < 1e-6,
                "{busy}"
            );
        }
    }
}

/// No try fails: the streams are there, and change nothing.
#[test]
fn errors_that_never_happen_change_nothing() {
    for spec in pairs() {
        let lines = (0..200u64).map(|i| {
            let (src, dst) = ((i % 4) as u32, ((i + 1 + i / 4 % 3) % 4) as u32);
            (Cue::At(i * 7), message(i, src, dst, (i % 2) as u8, 300))
        });
        let script = Script::new(lines);
        let (without, _) = run(&spec, &script);
        let rare = FabricSpec {
            bit_errors: Some(BitErrors { rate: 1, seed: 3 }),
            ..spec.clone()
        };
        let (with, stats) = run(&rare, &script);
        assert_eq!(with, without);
        assert!(stats.links.iter().all(|link| link.retries == Some(0)));
    }
}
