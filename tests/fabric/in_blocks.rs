//! A fabric in blocks gives what it gives in one: every comparison with an oracle also runs the fabric in random blocks.

use crate::common::infiniband::{control, voq_fabric};
use crate::common::script::{Cue, Script, jam, message};
use crate::common::specs::{jamming_ring, opa_gen1};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::series::{Sample, Sampling};
use flitwise::fabric::spec::hierarchical::Scheduler;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::FabricStats;
use flitwise::fabric::topology::Topology;
use proptest::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

/// The outcome of a run: its end, its script with all that was told, and its samples.
type Outcome<'a> = (&'a RunEnd, &'a Script, &'a [Sample]);

/// Runs `script` on the fabric in blocks that follow from the script, and compares all that is told with the run in one
/// block.
pub fn compare(
    spec: &FabricSpec,
    script: &Script,
    interval: Option<Tick>,
    whole: &Engine,
    expected: Outcome<'_>,
) -> Result<(), TestCaseError> {
    let mut hasher = DefaultHasher::new();
    for (token, (src, dst, sl)) in script.messages() {
        (token, src, dst, sl).hash(&mut hasher);
    }
    let seed = hasher.finish();
    let blocks = [2, 3, 7][(seed % 3) as usize];
    // The tests share the cores, so that two threads mostly wait for each other.
    let threads = if (seed / 3).is_multiple_of(8) { 2 } else { 1 };
    let of_switch = random_cut(spec, blocks, seed);
    let Ok(cut) = Engine::cut(spec, &of_switch, threads) else {
        return Ok(());
    };
    compare_cut(cut, script, interval, whole, expected).map_err(|problem| {
        TestCaseError::fail(format!(
            "{threads} threads, blocks {of_switch:?}: {problem}"
        ))
    })
}

/// A block for each switch, of `blocks`, drawn from `seed`.
fn random_cut(spec: &FabricSpec, blocks: u16, seed: u64) -> Vec<u16> {
    let mut state = seed;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(blocks)) as u16
    };
    (0..spec.topology.switches()).map(|_| draw()).collect()
}

/// Runs `script`; returns all that is told.
fn run(
    engine: &mut Engine,
    script: &Script,
    interval: Option<Tick>,
) -> (RunEnd, Script, Vec<Sample>) {
    let (mut script, mut samples) = (script.clone(), Vec::new());
    let take = &mut |sample: &Sample| samples.push(sample.clone());
    let sampling = interval.map(|interval| Sampling { interval, take });
    let go_on = &mut |_: &_, _: &_| ControlFlow::Continue(());
    let end = engine.run_sampled(&mut script, go_on, sampling);
    (end, script, samples)
}

fn compare_cut(
    mut engine: Engine,
    script: &Script,
    interval: Option<Tick>,
    whole: &Engine,
    (expected_end, expected, expected_samples): Outcome<'_>,
) -> Result<(), TestCaseError> {
    let (end, script, samples) = run(&mut engine, script, interval);
    let (told, expected_told) = (script.told(), expected.told());
    let pairs = told.packets.iter().zip(&expected_told.packets);
    let first = pairs
        .filter(|(cut, whole)| cut != whole)
        .min_by_key(|(cut, whole)| cut.injected.min(whole.injected));
    prop_assert_eq!(
        first,
        None,
        "the first packet that differs: (in blocks, whole)"
    );
    prop_assert_eq!(told, expected_told);
    prop_assert_eq!(&end, expected_end);
    prop_assert_eq!(samples, expected_samples);
    let (stats, expected) = (engine.stats(), whole.stats());
    let expected = FabricStats {
        // A sender may look for credits more often.
        events: stats.events,
        ..expected
    };
    prop_assert_eq!(stats, expected);
    Ok(())
}

/// Compares the fabric in one block with many cuts.
fn compare_cuts(spec: &FabricSpec, script: &Script, interval: Option<Tick>) {
    let mut whole = Engine::new(spec).unwrap();
    let (end, told, samples) = run(&mut whole, script, interval);
    for blocks in [2, 3, 7] {
        for threads in [1, 2, 3] {
            let of_switch = random_cut(spec, blocks, u64::from(blocks));
            let cut = Engine::cut(spec, &of_switch, threads).unwrap();
            compare_cut(cut, script, interval, &whole, (&end, &told, &samples)).unwrap();
        }
    }
    for threads in [2, 3] {
        let cut = Engine::with_threads(spec, threads).unwrap();
        assert_eq!(cut.threads(), threads);
        compare_cut(cut, script, interval, &whole, (&end, &told, &samples)).unwrap();
    }
}

/// Every NIC sends some messages, and each delivery is answered.
fn exchange(nics: u32, levels: u8) -> Script {
    let lines = (0..u64::from(nics) * 6).map(|token| {
        let src = (token * 7 % u64::from(nics)) as u32;
        let dst = (src + 1 + (token * 5 % u64::from(nics - 1)) as u32) % nics;
        let sl = (token % u64::from(levels)) as u8;
        let sent = message(token, src, dst, sl, 300 * (token % 9));
        (Cue::At(token * 13), sent)
    });
    let answers = (0..u64::from(nics)).map(|token| {
        let src = (token * 3 % u64::from(nics)) as u32;
        let answer = message(1000 + token, src, (src + 5) % nics, 0, 5000);
        (Cue::Delivered(token), answer)
    });
    Script::new(lines.chain(answers))
}

#[test]
fn hierarchical_fabrics_agree() {
    let tree = Topology::k_ary_n_tree(4, 2, Some(16)).unwrap();
    let torus = Topology::cube(&[4, 4], true, 1, 1, None).unwrap();
    compare_cuts(
        &opa_gen1(tree, Scheduler::RrVl),
        &exchange(16, 5),
        Some(500),
    );
    compare_cuts(&opa_gen1(torus, Scheduler::RrVl), &exchange(16, 5), Some(7));
}

#[test]
fn infiniband_fabrics_agree() {
    let mesh = Topology::cube(&[4, 4], false, 1, 1, None).unwrap();
    let mut spec = voq_fabric(mesh);
    compare_cuts(&spec, &exchange(16, 1), Some(300));
    spec.congestion_control = Some(Box::new(control(15, 2, 1000)));
    compare_cuts(&spec, &exchange(16, 1), Some(300));
}

#[test]
fn deadlocks_agree() {
    compare_cuts(&jamming_ring(), &jam(), None);
}
