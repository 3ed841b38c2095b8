//! Several jobs, background traffic, and replays that fail.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::Workload;
use flitwise::replay::background::BACKGROUND_TOKEN;
use flitwise::replay::program::{After, CollectiveKind, Event, Label, Op, Place};
use flitwise::replay::{JobSpec, Replay, ReplaySpec, SendCompletion};

fn ping(compute_ps: u64) -> Vec<Vec<Op>> {
    vec![
        vec![send(compute_ps, 0, 1, 80)],
        vec![marker(received(0), 0)],
    ]
}

#[test]
fn two_jobs_do_not_know_each_other() {
    // The same ids in both; the second job starts later, on other NICs and SL.
    let second = || JobSpec {
        name: String::from("second"),
        start_ps: 42_000,
        nics: [8, 9].map(NicId::new).to_vec(),
        sl: 3,
        ..job(ping(0))
    };
    let mut replay = replay(vec![job(ping(0)), second()]);
    let log = play(&mut replay, false);
    let outcomes = replay.outcomes();
    assert_eq!(outcomes[1].name, "second");
    for outcome in &outcomes {
        assert!(outcome.complete);
        assert_eq!(outcome.execution_ps, 110 * TICK_PS);
    }
    let sent: Vec<_> = log.iter().map(|&(t, m)| (t, m.src.get(), m.sl)).collect();
    assert_eq!(sent, [(0, 0, 0), (42, 8, 3)]);
}

#[test]
fn equal_times_go_by_job() {
    let second = JobSpec {
        nics: [2, 3].map(NicId::new).to_vec(),
        ..job(ping(5_000))
    };
    let first = JobSpec {
        nics: [4, 5].map(NicId::new).to_vec(),
        ..job(ping(5_000))
    };
    let mut replay = replay(vec![first, second]);
    let log = play(&mut replay, false);
    let sources: Vec<u32> = log.iter().map(|(_, m)| m.src.get()).collect();
    assert_eq!(sources, [4, 2]);
}

fn with_background(jobs: Vec<JobSpec<'static>>, background_until: Option<u64>) -> Replay<'static> {
    Replay::new(ReplaySpec {
        nics: 8,
        background: vec![background_flow(5)],
        background_until,
        ..spec(jobs)
    })
    .unwrap()
}

#[test]
fn background_ends_with_the_last_job_and_comes_after_jobs_in_a_tick() {
    let mut replay = with_background(vec![job(ping(50_000))], None);
    let log = play(&mut replay, false);
    assert!(replay.finished());
    let (jobs, background): (Vec<_>, Vec<_>) =
        log.iter().partition(|(_, m)| m.token != BACKGROUND_TOKEN);
    assert_eq!(jobs.len(), 1);
    // 8 NICs × 160 ticks / 20 ticks per message; none in the last tick.
    assert!((56..=64).contains(&background.len()));
    assert!(background.iter().all(|&&(tick, _)| tick < 160));
    assert_eq!(
        replay.progress().background_messages,
        background.len() as u64
    );
    let in_tick_50: Vec<bool> = log
        .iter()
        .filter(|(tick, _)| *tick == 50)
        .map(|(_, m)| m.token == BACKGROUND_TOKEN)
        .collect();
    assert!(in_tick_50.is_sorted());
}

#[test]
fn background_alone_ends_at_once_or_when_told() {
    let mut replay = with_background(vec![], None);
    assert!(replay.finished());
    assert_eq!(replay.next_tick(), None);
    // Up to and including the tick; then it continues as if it had not stopped.
    let mut replay = with_background(vec![], Some(999));
    let mut log = play(&mut replay, false);
    assert!(replay.finished());
    assert_eq!(log.len(), 8 * 50);
    assert_eq!(replay.background(999)[0].messages, 8 * 50);
    replay.go_on_until(1_337);
    assert!(!replay.finished());
    log.extend(play(&mut replay, false));
    let mut whole = with_background(vec![], Some(1_337));
    assert_eq!(log, play(&mut whole, false));
}

fn stalled(ranks: Vec<Vec<Op>>) -> Vec<String> {
    let mut replay = replay(vec![job(ranks)]);
    play(&mut replay, false);
    assert!(!replay.finished() && replay.error().is_none());
    assert_eq!(replay.next_tick(), None);
    assert!(!replay.outcomes()[0].complete);
    replay.stall_report()
}

#[test]
fn stalls_say_who_waits_for_what() {
    let barrier = collective(4, &[0, 1, 2], CollectiveKind::Barrier);
    let line = |line, mut op: Op| {
        op.place = Place::line(line);
        op
    };
    let report = stalled(vec![
        vec![line(17, marker(received(9), 0))],
        vec![
            line(18, enter(0, &barrier)),
            line(21, marker(completed(4), 0)),
        ],
        vec![line(
            22,
            marker(After::Event(Event::Started(Label::new(77).unwrap())), 0),
        )],
    ]);
    let expected = [
        "job 'test': rank 1 waits in collective 4 for rank 0, which has not entered it (line 18)",
        "job 'test': rank 0 waits for message 9, which no rank has sent (line 17)",
        "job 'test': rank 1 waits for collective 4, which 2 of 3 members have not entered (line 21)",
        "job 'test': rank 2 waits for the start of its operation 77 (line 22)",
    ];
    assert_eq!(report, expected);
}

#[test]
fn long_stall_reports_are_cut() {
    let report = stalled((0..30).map(|_| vec![marker(received(0), 0)]).collect());
    assert_eq!(report.len(), 21);
    assert_eq!(report[20], "and 10 more");
}

#[test]
fn a_send_that_cannot_end_is_reported() {
    let mut replay = replay(vec![JobSpec {
        send_completion: SendCompletion::Injected,
        ..job(ping(0))
    }]);
    // A fabric that swallows messages.
    replay.act(0, &mut Vec::new());
    let report = replay.stall_report();
    let expected = [
        "job 'test': rank 0 waits for the end of its send of message 0 to rank 1 (line 1)",
        "job 'test': rank 1 waits for message 0, which was sent but did not reach it (line 1)",
        "messages on their way: 1",
    ];
    assert_eq!(report, expected);
}

fn error(ranks: Vec<Vec<Op>>) -> String {
    let mut replay = replay(vec![job(ranks)]);
    play(&mut replay, false);
    assert!(replay.finished());
    format!("{:#}", replay.take_error().unwrap())
}

#[test]
fn broken_traces_end_the_run_with_their_line() {
    let line = |line, mut op: Op| {
        op.place = Place::line(line);
        op
    };
    assert_eq!(
        error(vec![vec![line(666, marker(After::Previous, 0))]]),
        "job 'test', rank 0: line 666: broken"
    );
    assert_eq!(
        error(vec![vec![line(8, send(0, 5, 1, 0))]]),
        "job 'test', rank 0, line 8: message 5 goes to rank 1, but the trace has ranks 0 to 0"
    );
    let late = vec![
        marker(After::Previous, 5),
        line(3, marker(After::Previous, u64::MAX)),
    ];
    assert_eq!(
        error(vec![late]),
        "job 'test', rank 0, line 3: the simulated time passes 2^64 ps (213 days)"
    );
    let huge = error(vec![vec![line(4, send(0, u64::MAX, 0, u64::MAX))]]);
    assert!(huge.contains("line 4: the simulated time"), "{huge}");
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    let refused = |job: JobSpec<'static>| {
        let spec = ReplaySpec {
            nics: 4,
            ..spec(vec![job])
        };
        Replay::new(spec).err().unwrap().to_string()
    };
    let short = refused(JobSpec {
        nics: vec![NicId::new(0)],
        ..job(ping(0))
    });
    assert!(
        short.contains("1 ranks are placed, but the trace has 2"),
        "{short}"
    );
    let outside = refused(JobSpec {
        nics: [0, 4].map(NicId::new).to_vec(),
        ..job(ping(0))
    });
    assert!(outside.contains("NIC 4"), "{outside}");
}

#[test]
fn lost_messages_are_named_in_every_phase() {
    let bcast = collective(0, &[0, 1], CollectiveKind::Bcast { root: 0, bytes: 8 });
    let lost = |ranks: Vec<Vec<Op>>, send_completion| {
        let mut replay = replay(vec![JobSpec {
            send_completion,
            ..job(ranks)
        }]);
        while let Some(tick) = replay.next_tick() {
            replay.act(tick, &mut Vec::new());
        }
        replay.stall_report()
    };
    let ranks = vec![vec![enter(0, &bcast)], vec![]];
    let lines = lost(ranks, SendCompletion::Injected);
    let expected = [
        "job 'test': rank 0 waits in collective 0 for the end of its sends (line 1)",
        "messages on their way: 1",
    ];
    assert_eq!(lines, expected);
    // No rank waits for this message.
    let lines = lost(vec![vec![send(0, 0, 1, 8)], vec![]], SendCompletion::Handed);
    assert_eq!(lines, ["messages on their way: 1"]);
}

#[test]
fn tokens_are_used_again_after_the_last_report() {
    let sends = (0..4).map(|id| send(0, id, 1, 80)).collect();
    let mut replay = replay(vec![JobSpec {
        send_completion: SendCompletion::Injected,
        ..job(vec![sends, vec![]])
    }]);
    let tokens = |replay: &mut Replay<'_>, now| {
        let mut out = Vec::new();
        replay.act(now, &mut out);
        out.iter().map(|message| message.token).collect::<Vec<_>>()
    };
    assert_eq!(tokens(&mut replay, 0), [0]);
    replay.injected(10, 0);
    assert_eq!(tokens(&mut replay, 10), [1]);
    replay.delivered(20, 0);
    replay.injected(20, 1);
    assert_eq!(tokens(&mut replay, 20), [0]);
    // The two reports may come in either order; one that is not due changes nothing.
    for token in [0, 0, 77] {
        replay.delivered(30, token);
    }
    assert_eq!(tokens(&mut replay, 30), [0; 0]);
    assert_eq!(replay.progress().messages_delivered, 2);
    let report = replay.stall_report();
    assert_eq!(report.last().unwrap(), "messages on their way: 2");
    replay.injected(40, 0);
    assert_eq!(tokens(&mut replay, 40), [0]);
    for token in [0, 1] {
        replay.delivered(50, token);
    }
    replay.injected(50, 0);
    assert_eq!(tokens(&mut replay, 50), [0; 0]);
    assert!(replay.finished() && replay.outcomes()[0].complete);
}
