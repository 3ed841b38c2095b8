//! Jobs that start after others have ended.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::Workload;
use flitwise::replay::critical_path::LegKind;
use flitwise::replay::{JobSpec, Repeat, Replay};
use proptest::prelude::*;

/// A job that computes and sends one message, on NICs of its own.
fn one(number: usize, compute: u64, repeat: u32) -> JobSpec<'static> {
    let ranks = vec![
        vec![send(compute * TICK_PS, 0, 1, 80)],
        vec![marker(received(0), 0)],
    ];
    let first = 2 * number as u32;
    JobSpec {
        name: number.to_string(),
        nics: [first, first + 1].map(NicId::new).to_vec(),
        repeat: Repeat::Times(repeat),
        ..job(ranks)
    }
}

/// Computation, repetitions, earliest start, and whether it comes after each earlier one.
type Drawn = (u64, u32, u64, Vec<bool>);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (
        0..300_u64,
        1..3_u32,
        0..500_u64,
        prop::collection::vec(any::<bool>(), 6),
    );
    prop::collection::vec(one, 1..7)
}

proptest! {
    /// On an ideal fabric a job takes as long as alone, so the times follow from the definition.
    #[test]
    fn a_job_starts_when_the_last_of_the_jobs_before_it_has_ended(drawn in drawn()) {
        let mut ends: Vec<u64> = Vec::new();
        let mut starts = Vec::new();
        for (number, (compute, repeat, start, before)) in drawn.iter().enumerate() {
            let awaited = ends.iter().zip(before).filter(|(_, comes)| **comes);
            let start = awaited.map(|(&end, _)| end).fold(start * TICK_PS, u64::max);
            let (alone, _) = run(|| one(number, *compute, 1));
            starts.push(start);
            ends.push(start + u64::from(*repeat) * alone);
        }
        let jobs = drawn.iter().enumerate().map(|(number, (compute, repeat, start, before))| JobSpec {
            start_ps: start * TICK_PS,
            after: (0..number as u32).filter(|&other| before[other as usize]).collect(),
            ..one(number, *compute, *repeat)
        });
        for backwards in [false, true] {
            let mut replay = replay(jobs.clone().collect());
            play(&mut replay, backwards);
            prop_assert!(replay.finished());
            let outcomes = replay.outcomes();
            let found: Vec<_> = outcomes.iter().map(|job| (job.start_ps.unwrap(), job.end_ps)).collect();
            let expected: Vec<_> = starts.iter().copied().zip(ends.iter().copied()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_job_behind_one_that_stalls_does_not_start() {
    let stalled = job(vec![vec![marker(received(0), 0)], vec![]]);
    let behind = JobSpec {
        after: vec![0],
        ..one(1, 5, 1)
    };
    let mut replay = replay(vec![stalled, behind]);
    play(&mut replay, false);
    assert!(!replay.finished() && !replay.stall_report().is_empty());
    let outcomes = replay.outcomes();
    assert_eq!(outcomes[1].start_ps, None);
    assert_eq!((outcomes[1].complete, outcomes[1].messages), (false, 0));
}

#[test]
fn the_critical_path_of_a_follower_begins_at_its_start() {
    let follower = JobSpec {
        after: vec![0],
        ..one(1, 40, 1)
    };
    let mut replay = replay(vec![one(0, 70, 1), follower]);
    replay.keep_causes();
    play(&mut replay, false);
    let outcome = &replay.outcomes()[1];
    let path = replay.critical_path(1);
    assert_eq!(path[0].kind, LegKind::Start);
    assert_eq!(Some(path[0].to_ps), outcome.start_ps);
    assert_eq!(path.last().map(|leg| leg.to_ps), Some(outcome.end_ps));
}

#[test]
fn only_earlier_jobs_that_end_can_be_waited_for() {
    let wrong = |after, repeat| {
        let first = JobSpec {
            repeat,
            ..one(0, 5, 1)
        };
        let second = JobSpec {
            after: vec![after],
            ..one(1, 5, 1)
        };
        Replay::new(spec(vec![first, second]))
            .err()
            .map(|e| e.to_string())
    };
    assert_eq!(wrong(0, Repeat::Times(1)), None);
    for refused in [
        wrong(1, Repeat::Times(1)),
        wrong(2, Repeat::Times(1)),
        wrong(0, Repeat::UntilOthersEnd),
    ] {
        assert!(refused.is_some_and(|why| why.starts_with("job '1' comes after job number ")));
    }
}
