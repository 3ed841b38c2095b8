//! The time that computation takes.

use super::harness::*;
use flitwise::replay::program::{After, Op};
use flitwise::replay::{ComputeModel, JobSpec, Replay, ReplaySpec};
use flitwise::units::{Ratio, TickLength};

/// Times in picoseconds between the sends of `rank`, each after the recorded computation, three times as slow.
fn computed(model: &ComputeModel, ranks: u32, rank: u32, recorded: &[u64]) -> Vec<u64> {
    let last = ranks - 1;
    let of = |_| -> Vec<Op> {
        let sends = (0..).zip(recorded);
        sends.map(|(id, &ps)| send(ps, id, last, 0)).collect()
    };
    let job = JobSpec {
        compute: model.clone(),
        compute_scale: Ratio::whole(3),
        ..job((0..last).map(of).chain([vec![]]).collect())
    };
    let mut replay = Replay::new(ReplaySpec {
        tick: TickLength::whole(1),
        ..spec(vec![job])
    })
    .unwrap();
    let log = play(&mut replay, false);
    let sent = log.iter().filter(|(_, message)| message.src.get() == rank);
    let mut before = 0;
    sent.map(|&(ps, _)| ps - std::mem::replace(&mut before, ps))
        .collect()
}

#[test]
fn a_cap_comes_before_the_scale_and_factors_go_round() {
    let model = ComputeModel {
        cap_ps: Some(100),
        factors: [1, 2].map(Ratio::whole).to_vec(),
        ..ComputeModel::default()
    };
    let times = |rank| computed(&model, 5, rank, &[50, 101, u64::MAX]);
    assert_eq!(times(0), [150, 300, 300]);
    assert_eq!(times(1), [300, 600, 600]);
    assert_eq!(times(2), times(0));
    assert_eq!(times(3), times(1));
}

#[test]
fn noise_stays_in_its_bounds_around_the_same_mean() {
    let model = ComputeModel {
        noise: Ratio::new(1, 10).unwrap(),
        ..ComputeModel::default()
    };
    let mut recorded = vec![1000; 4000];
    recorded.push(0);
    // Other ranks draw from streams of their own.
    let mut drawn = computed(&model, 3, 1, &recorded);
    assert_eq!(drawn, computed(&model, 5, 1, &recorded));
    assert_ne!(drawn, computed(&model, 3, 0, &recorded));
    assert_eq!(drawn.pop(), Some(0));
    let ends = [drawn.iter().min(), drawn.iter().max()];
    assert_eq!(ends, [Some(&2700), Some(&3300)]);
    let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
    assert!((mean - 3000.0).abs() < 12.0, "{mean}");
}

#[test]
fn computation_is_scaled_exactly() {
    let (end, _) = run(|| JobSpec {
        compute_scale: Ratio::new(1, 3).unwrap(),
        ..job(vec![vec![
            marker(After::Previous, 3_000),
            marker(After::Previous, 10),
        ]])
    });
    assert_eq!(end, 1_003);
}
