//! Jobs that run more than once.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::Workload;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::program::{After, CollectiveKind, Op};
use flitwise::replay::{JobSpec, Repeat, Replay, ReplaySpec, SendCompletion};

/// 80 bytes after `compute_ps`; they take 110 ticks. The receiver then computes `after_ps`.
fn ping(compute_ps: u64, after_ps: u64) -> Vec<Vec<Op>> {
    vec![
        vec![send(compute_ps, 0, 1, 80)],
        vec![marker(received(0), after_ps)],
    ]
}

/// Plays `jobs` with the reports in both orders; returns the outcomes and the ticks of
/// the messages.
fn outcomes(make: impl Fn() -> Vec<JobSpec<'static>>) -> (Vec<JobOutcome>, Vec<u64>) {
    let once = |backwards| {
        let mut replay = replay(make());
        let log = play(&mut replay, backwards);
        assert!(replay.error().is_none(), "{:?}", replay.error());
        assert!(replay.finished(), "{:#?}", replay.stall_report());
        let ticks: Vec<u64> = log.iter().map(|(tick, _)| *tick).collect();
        (replay.outcomes(), ticks)
    };
    let forwards = once(false);
    assert_eq!(forwards, once(true));
    forwards
}

#[test]
fn a_repetition_begins_with_the_end_of_the_one_before() {
    let (jobs, sent) = outcomes(|| {
        vec![JobSpec {
            start_ps: 42_000,
            repeat: Repeat::Times(3),
            ..job(ping(5_000, 7))
        }]
    });
    // Sent at 47 000, arrived at 157 000, ended at 157 007. Then sent at 162 007, so in
    // tick 163, ended at 273 007; then at 278 007, so in tick 279, ended at 389 007.
    assert_eq!(sent, [47, 163, 279]);
    let job = &jobs[0];
    assert!(job.complete && !job.endless);
    assert_eq!(job.repetitions_ps, [115_007, 116_000, 116_000]);
    assert_eq!(job.end_ps, 389_007);
    assert_eq!(job.execution_ps, 347_007 / 3);
    let mean = (5_000 + 7) / 2;
    assert_eq!((job.compute_ps, job.network_ps), (mean, 115_669 - mean));
    assert_eq!((job.messages, job.point_to_point_bytes), (3, 240));
}

#[test]
fn a_job_repeats_until_the_others_end() {
    let others = |compute_ps| {
        outcomes(move || {
            let endless = JobSpec {
                nics: [2, 3].map(NicId::new).to_vec(),
                repeat: Repeat::UntilOthersEnd,
                ..job(ping(0, 0))
            };
            vec![endless, job(ping(compute_ps, 0))]
        })
    };
    // The other ends in tick 410; repetitions take 110 ticks each.
    let (jobs, sent) = others(300_000);
    assert_eq!(sent, [0, 110, 220, 300, 330]);
    assert!(jobs[0].complete && jobs[0].endless);
    assert_eq!(jobs[0].repetitions_ps, [110_000; 3]);
    assert_eq!(jobs[0].execution_ps, 110_000);
    assert_eq!(jobs[0].messages, 4);
    assert_eq!(jobs[1].end_ps, 410_000);
    // A repetition that ends in the same tick as the other jobs counts.
    let (jobs, _) = others(220_000);
    assert_eq!(jobs[1].end_ps, 330_000);
    assert_eq!(jobs[0].repetitions_ps, [110_000; 3]);
    // Too short for one: no execution time, but no stall either.
    let (jobs, _) = outcomes(|| {
        let endless = JobSpec {
            nics: [2, 3].map(NicId::new).to_vec(),
            start_ps: 50_000,
            repeat: Repeat::UntilOthersEnd,
            ..job(ping(0, 0))
        };
        vec![endless, job(ping(0, 0))]
    });
    assert!(!jobs[0].complete && jobs[0].repetitions_ps.is_empty());
    assert_eq!(jobs[0].execution_ps, 0);
}

#[test]
fn a_burst_is_whole_though_the_other_job_ends_in_its_tick() {
    let sends = |rank: u64| {
        let ids = rank * 50_000..(rank + 1) * 50_000;
        ids.map(|id| send(0, id, 2, 1)).collect()
    };
    let burst = JobSpec {
        nics: [2, 3, 4].map(NicId::new).to_vec(),
        repeat: Repeat::UntilOthersEnd,
        ..job(vec![sends(0), sends(1), vec![]])
    };
    let mut replay = replay(vec![job(vec![vec![marker(After::Previous, 0)]]), burst]);
    let mut all = Vec::new();
    replay.act(0, &mut all);
    assert!(replay.has_more() && !replay.finished());
    while replay.has_more() {
        replay.act(0, &mut all);
    }
    assert!(replay.finished() && all.len() == 100_000);
}

#[test]
fn ids_collectives_and_sends_begin_anew_in_every_mode() {
    let modes = [
        SendCompletion::Handed,
        SendCompletion::Injected,
        SendCompletion::Rendezvous {
            eager_threshold_bytes: 0,
        },
    ];
    for send_completion in modes {
        // Two ranks on a NIC and two elsewhere.
        let make = |repeat| {
            let all: Vec<u32> = (0..4).collect();
            let kind = CollectiveKind::Allreduce { bytes: 800 };
            let sum = collective(0, &all, kind);
            let ranks = (0..4_u32).map(|rank| {
                let to = (rank + 1) % 4;
                vec![
                    send(10 * u64::from(rank), rank.into(), to, 80),
                    enter(0, &sum),
                    marker(received(u64::from((rank + 3) % 4)), 0),
                    marker(After::Previous, 0),
                    marker(completed(0), 0),
                ]
            });
            JobSpec {
                nics: [0, 0, 1, 2].map(NicId::new).to_vec(),
                repeat,
                send_completion,
                ..job(ranks.collect())
            }
        };
        let (once, sent) = outcomes(|| vec![make(Repeat::Times(1))]);
        let (thrice, sent_thrice) = outcomes(|| vec![make(Repeat::Times(3))]);
        assert_eq!(thrice[0].repetitions_ps.len(), 3);
        assert_eq!(thrice[0].repetitions_ps[0], once[0].execution_ps);
        assert_eq!(sent_thrice.len(), 3 * sent.len());
        assert_eq!(thrice[0].collectives, 3);
        let sum: u64 = thrice[0].repetitions_ps.iter().sum();
        assert_eq!(thrice[0].end_ps, sum);
    }
}

#[test]
fn jobs_that_cannot_repeat_are_refused() {
    let endless = || JobSpec {
        repeat: Repeat::UntilOthersEnd,
        ..job(vec![vec![marker(After::Previous, 0)]])
    };
    let error = Replay::new(spec(vec![endless(), endless()])).err().unwrap();
    assert!(error.to_string().contains("every job repeats"), "{error}");
    let never = JobSpec {
        repeat: Repeat::Times(0),
        ..endless()
    };
    let error = Replay::new(spec(vec![never])).err().unwrap();
    assert!(error.to_string().contains("repeat is 0"), "{error}");
    // Nothing to do, three times.
    let thrice = || JobSpec {
        repeat: Repeat::Times(3),
        ..endless()
    };
    let (outcome, _) = outcomes(|| vec![thrice()]);
    assert_eq!(outcome[0].repetitions_ps, [0, 0, 0]);
    // Nothing to do, endlessly.
    let mut replay = replay(vec![job(ping(0, 0)), endless()]);
    play(&mut replay, false);
    let error = replay.error().unwrap().to_string();
    assert!(error.contains("'test' takes no time"), "{error}");
}

/// Neither a repeating job nor background traffic keeps a run going whose jobs are stuck.
#[test]
fn a_stall_beside_what_goes_on_for_ever_is_found() {
    let stuck = || job(vec![vec![marker(received(9), 0)]]);
    let endless = JobSpec {
        name: String::from("endless"),
        repeat: Repeat::UntilOthersEnd,
        ..job(ping(0, 0))
    };
    let flow = background_flow(0);
    let ends = JobSpec {
        name: String::from("ends"),
        nics: [4, 5].map(NicId::new).to_vec(),
        ..job(ping(50_000, 0))
    };
    let mut replay = Replay::new(ReplaySpec {
        nics: 8,
        background: vec![flow],
        ..spec(vec![endless, stuck(), ends])
    })
    .unwrap();
    let log = play(&mut replay, false);
    assert!(!replay.finished() && replay.error().is_none());
    assert_eq!(replay.next_tick(), None);
    // The job that can continue completes.
    assert!(log.iter().all(|&(tick, _)| tick <= 160));
    assert!(replay.outcomes()[2].complete);
    assert_eq!(
        replay.stall_report(),
        ["job 'test': rank 0 waits for message 9, which no rank has sent (line 1)"]
    );
}
