//! Gaps that are skipped, on an ideal fabric: jobs take the same time with and without.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::Workload;
use flitwise::replay::background::BACKGROUND_TOKEN;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::program::{CollectiveKind, Op};
use flitwise::replay::{GapsSkipped, JobSpec, Repeat, Replay, ReplaySpec, SendCompletion};

fn beside_background(jobs: Vec<JobSpec<'static>>, gap_skip: Option<u64>) -> Replay<'static> {
    Replay::new(ReplaySpec {
        nics: 8,
        background: vec![background_flow(5)],
        gap_skip,
        ..spec(jobs)
    })
    .unwrap()
}

/// Plays jobs with gaps skipped except for `gap_skip` ticks, and asserts that their outcomes equal the outcomes
/// of the whole run. Returns the skipped gaps, and the ticks of the fabric in which jobs sent.
fn skipping(
    jobs: impl Fn() -> Vec<JobSpec<'static>>,
    gap_skip: u64,
) -> (Vec<JobOutcome>, GapsSkipped, Vec<u64>) {
    let mut whole = beside_background(jobs(), None);
    let all = play(&mut whole, false);
    assert_eq!(whole.gaps_skipped(), None);
    let mut replay = beside_background(jobs(), Some(gap_skip));
    let log = play(&mut replay, false);
    assert_eq!(replay.finished(), whole.finished());
    assert_eq!(replay.stall_report(), whole.stall_report());
    assert_eq!(replay.outcomes(), whole.outcomes());
    let skipped = replay.gaps_skipped().unwrap();
    let background = |log: &[(u64, flitwise::fabric::workload::Message)]| {
        let of_flow = log.iter().filter(|(_, m)| m.token == BACKGROUND_TOKEN);
        of_flow.count() as u64
    };
    // Nothing waits here, so a message is either sent or skipped.
    assert_eq!(background(&all), background(&log) + skipped.messages);
    let of_jobs = log.iter().filter(|(_, m)| m.token != BACKGROUND_TOKEN);
    let ticks = of_jobs.map(|&(tick, _)| tick).collect();
    (replay.outcomes(), skipped, ticks)
}

/// Rank 0 computes for a microsecond and sends; rank 1 then computes twice as long and answers.
fn ping_pong() -> Vec<Vec<Op>> {
    let answer = Op {
        after: received(0),
        ..send(2_000_000, 1, 0, 80)
    };
    vec![
        vec![send(1_000_000, 0, 1, 80), marker(received(1), 3_000_000)],
        vec![answer],
    ]
}

#[test]
fn what_is_skipped_is_what_the_definition_says() {
    let (outcomes, skipped, sent) = skipping(|| vec![job(ping_pong())], 100);
    // Messages take 110 ticks: they are created in ticks 1000 and 3110, and the job ends in 6220.
    assert_eq!(outcomes[0].execution_ps, 6_220 * TICK_PS);
    assert_eq!(skipped.gaps, 3);
    // From the end of ticks 0, 1110 and 3220 to 101 ticks before the next event.
    assert_eq!(skipped.ticks, 899 + 1_899 + 2_899);
    assert_eq!(sent, [1_000 - 899, 3_110 - 899 - 1_899]);
    // 8 NICs send a message every 20 ticks.
    assert!(skipped.messages.abs_diff(skipped.ticks * 8 / 20) <= 3 * 8);
}

#[test]
fn short_gaps_are_simulated() {
    // The gaps have 1000, 2000 and 3000 ticks; 1.25 times as many are too many.
    let skipped = |gap_skip| skipping(|| vec![job(ping_pong())], gap_skip).1;
    assert_eq!(skipped(900).gaps, 2);
    assert_eq!(skipped(799).gaps, 3);
    assert_eq!(skipped(800).gaps, 2);
    assert_eq!(skipped(2_400), GapsSkipped::default());
    assert_eq!(skipped(u64::MAX), GapsSkipped::default());
}

#[test]
fn a_gap_is_one_of_all_jobs() {
    let second = |start_ps, repeat| JobSpec {
        start_ps,
        repeat,
        nics: [2, 3].map(NicId::new).to_vec(),
        ..job(ping_pong())
    };
    // The second job's messages are created in ticks 1500 and 3610; it ends in 6720.
    let jobs = || vec![job(ping_pong()), second(500_000, Repeat::Times(1))];
    let (_, skipped, sent) = skipping(jobs, 100);
    // 0 to 1000, 1110 to 1500, 1610 to 3110, 3220 to 3610, 3720 to 6720.
    assert_eq!(skipped.ticks, 899 + 289 + 1_399 + 289 + 2_899);
    assert_eq!(sent.len(), 4);
    let jobs = || vec![job(ping_pong()), second(0, Repeat::UntilOthersEnd)];
    assert_eq!(skipping(jobs, 100).1.gaps, 3);
    let jobs = || vec![second(77_000, Repeat::Times(5))];
    assert_eq!(skipping(jobs, 100).1.gaps, 11);
}

#[test]
fn messages_inside_a_node_come_and_go_within_a_gap() {
    let on_one = |ranks: Vec<Vec<Op>>, send_completion| JobSpec {
        nics: [0, 0, 1].map(NicId::new).to_vec(),
        send_completion,
        ..job(ranks)
    };
    // Rank 1 shares the node of rank 0; rank 2 hears from it in the end.
    let ranks = || {
        let mut ranks = ping_pong();
        ranks[1].push(send(1_000_000, 2, 2, 80));
        ranks.push(vec![marker(received(2), 0)]);
        ranks
    };
    for completion in [SendCompletion::Handed, SendCompletion::Injected] {
        let (_, skipped, sent) = skipping(|| vec![on_one(ranks(), completion)], 100);
        // From tick 0 to the last message, and to the end of rank 0.
        assert_eq!((skipped.gaps, sent.len()), (2, 1));
    }
}

#[test]
fn collectives_and_stalls_are_as_without() {
    let barrier = collective(4, &[0, 1, 2], CollectiveKind::Barrier);
    let ranks = || {
        let enter = |ps| vec![enter(ps, &barrier), marker(completed(4), 500_000)];
        vec![enter(1_000_000), enter(3_000_000), enter(2_000_000)]
    };
    assert!(skipping(|| vec![job(ranks())], 50).1.gaps >= 3);
    let stalls = || vec![marker(received(9), 0)];
    let jobs = || vec![job([ping_pong(), vec![stalls()]].concat())];
    let (outcomes, skipped, _) = skipping(jobs, 100);
    assert!(!outcomes[0].complete);
    assert_eq!(skipped.gaps, 3);
}

#[test]
fn nothing_is_skipped_without_background() {
    let mut replay = Replay::new(ReplaySpec {
        nics: 8,
        gap_skip: Some(100),
        ..spec(vec![job(ping_pong())])
    })
    .unwrap();
    let sent: Vec<u64> = play(&mut replay, false)
        .iter()
        .map(|&(tick, _)| tick)
        .collect();
    assert_eq!(sent, [1_000, 3_110]);
    assert_eq!(replay.gaps_skipped(), None);
}
