//! Compares sources that pass over a gap with the list of all that they would create.

use super::backlog::{Drain, by_queue, mixture};
use super::flows::{flow, run, sender};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::Tick;
use flitwise::fabric::workload::Queueing;
use flitwise::fabric::workload::{AppQueue, Message};
use flitwise::replay::background::*;
use proptest::prelude::*;

type ByQueue = Vec<(AppQueue, Vec<Message>)>;

/// Number of messages of all queues.
fn count(all: &ByQueue, counts: impl Fn(&Message) -> bool) -> u64 {
    let messages = all.iter().flat_map(|(_, messages)| messages);
    messages.filter(|m| counts(m)).count() as u64
}

/// Messages of all flows created by tick `now`.
fn created(background: &Background, now: Tick) -> u64 {
    let outcomes = background.outcomes(now);
    outcomes.iter().map(|flow| flow.messages).sum()
}

/// The messages of each queue that remain if the `ticks` ticks after `now` are not simulated.
/// Messages that wait at that time, as the fabric has not `taken` them, are created as many ticks later.
fn without_gap(all: &ByQueue, taken: &ByQueue, now: Tick, ticks: Tick) -> ByQueue {
    let of_queue = |(queue, messages): &(AppQueue, Vec<Message>)| {
        let taken = taken.iter().find(|(other, _)| other == queue);
        let taken = taken.map_or(0, |(_, taken)| taken.len());
        let moved = messages.iter().enumerate().filter_map(|(at, m)| {
            let created = match m.created {
                early if early <= now && at >= taken => early + ticks,
                early if early > now && early <= now + ticks => return None,
                other => other,
            };
            let mut moved = *m;
            moved.created = created;
            Some(moved)
        });
        (*queue, moved.collect())
    };
    all.iter().map(of_queue).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Beside a fabric that takes some messages at once and leaves others waiting, each queue gives
    /// what the list says, over two gaps in a row.
    #[test]
    fn sources_pass_over_gaps(
        before in 1_u64..900,
        gaps in (1_u64..700, 1_u64..5000),
        between in 1_u64..300,
        (which, times) in (any::<u32>(), 0_usize..4),
    ) {
        let flows = mixture();
        let end = before + gaps.0 + between + gaps.1 + 800;
        for queueing in [Queueing::PerLevel, Queueing::PerPair] {
            let mut list = by_queue(&run(&flows, 5, end + 1), queueing);
            let mut drain = Drain::new(&flows, 5, queueing);
            let wanted = |queue: AppQueue| {
                let dst = queue.dst.map_or(0, NicId::get);
                which >> ((queue.nic.get() + 5 * dst) % 32) & 1 == 1
            };
            let mut now = 0;
            for (ticks, gap) in [(before, gaps.0), (between, gaps.1)] {
                now += ticks;
                drain.act(now);
                // The messages that waited over the first gap have left before the second.
                drain.replenish(now, usize::MAX, |_| now > before);
                drain.replenish(now, times, wanted);
                let taken = by_queue(&drain.taken, queueing);
                let remaining = without_gap(&list, &taken, now, gap);
                let created_before = created(&drain.background, now);
                prop_assert_eq!(
                    drain.background.pass_over(now, gap),
                    count(&list, |_| true) - count(&remaining, |_| true)
                );
                list = remaining;
                now += gap;
                prop_assert_eq!(created(&drain.background, now), created_before);
                prop_assert!(drain.background.next_tick() > now);
            }
            now = end;
            drain.act(now);
            list.retain(|(_, messages)| !messages.is_empty());
            let by_now = count(&list, |m| m.created <= now);
            prop_assert_eq!(created(&drain.background, now), by_now);
            drain.replenish(now, usize::MAX, |_| true);
            prop_assert_eq!(drain.background.waiting(now), 0);
            prop_assert_eq!(by_queue(&drain.taken, queueing), list);
        }
    }
}

/// A flow of one size to one NIC at constant rate takes no drawing, however long the gap is.
#[test]
fn a_long_gap_takes_no_time() {
    let fixed = BackgroundFlow {
        senders: vec![sender(0, 1)],
        ..flow(0, 3, (3, 10), 2)
    };
    let mut background = Background::new(&[fixed], 2, 1, Queueing::PerLevel).unwrap();
    let first = background.next_tick();
    let mut out = Vec::new();
    background.act(first, &mut out);
    let queue = Queueing::PerLevel.queue_of(&out[0]);
    assert_eq!(background.replenish(first, queue), None);
    // A message every 10 ticks.
    assert_eq!(background.pass_over(first, 1 << 50), (1 << 50) / 10);
    assert_eq!(background.next_tick(), first + ((1 << 50) / 10 + 1) * 10);
}

/// A message that waits when its flow stops in the gap is still handed over, and nothing after it.
#[test]
fn what_waits_outlasts_the_end_of_its_flow() {
    for queueing in [Queueing::PerLevel, Queueing::PerPair] {
        let ends = BackgroundFlow {
            stop: 120,
            ..flow(0, 4, (1, 5), 3)
        };
        let whole = run(std::slice::from_ref(&ends), 3, 5_000).len() as u64;
        let mut drain = Drain::new(&[ends], 3, queueing);
        drain.act(100);
        let all = created(&drain.background, 100);
        assert!(drain.background.waiting(100) > 3);
        // Three sources with a message every 20 ticks.
        assert!((2..=3).contains(&(whole - all)));
        assert_eq!(drain.background.pass_over(100, 500), whole - all);
        drain.replenish(600, usize::MAX, |_| true);
        assert_eq!(drain.taken.len() as u64, all);
        assert_eq!(drain.background.next_tick(), Tick::MAX);
        assert_eq!(drain.background.waiting(5_000), 0);
    }
}
