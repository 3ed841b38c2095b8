//! Compares the order of flows that take turns with a literal transcription of its definition.

use super::flows::{flow, run, sender};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::Tick;
use flitwise::fabric::workload::Message;
use flitwise::fabric::workload::Queueing;
use flitwise::replay::background::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Jobs with messages to send: how many each, by tick.
type Jobs = Vec<(Tick, u32)>;

/// NIC 0 sends to NIC 1 on service level 3.
fn of_job(job: u32, created: Tick) -> Message {
    Message::new(NicId::new(0), NicId::new(1), 3, 8, created).with_token(job.into())
}

/// The flows of a queue in their order, each with its messages in theirs: jobs first.
struct Naive {
    flows: Vec<VecDeque<Message>>,
    last: Option<usize>,
    has_one: bool,
}

impl Naive {
    fn new(jobs: &Jobs, background: &[BackgroundFlow], until: Tick) -> Self {
        let number = 1 + jobs.iter().map(|&(_, job)| job).max().unwrap_or(0);
        let of = |job| jobs.iter().filter(move |&&(_, other)| other == job);
        let job_messages = |job| of(job).map(|&(tick, _)| of_job(job, tick)).collect();
        let mut flows: Vec<VecDeque<Message>> = (0..number).map(job_messages).collect();
        let all = run(background, 2, until);
        for flow in 0..background.len() as u64 {
            let is_of_flow =
                |message: &&Message| (BACKGROUND_TOKEN - message.token) / MAX_SIZES as u64 == flow;
            let own = all.iter().filter(|m| m.src.get() == 0 && m.sl == 3);
            flows.push(own.filter(is_of_flow).copied().collect());
        }
        Self {
            flows,
            last: None,
            has_one: false,
        }
    }

    /// The fabric has no message of the queue and takes the next one.
    fn take(&mut self, now: Tick) -> Option<Message> {
        let waits = |flow: &usize| self.flows[*flow].front().is_some_and(|m| m.created <= now);
        let behind = self.last.map_or(0, |last| last + 1);
        let mut in_turn = (behind..self.flows.len()).chain(0..behind);
        self.last = in_turn.find(waits);
        self.has_one = self.last.is_some();
        self.flows[self.last?].pop_front()
    }
}

/// Flows on a fabric of two NICs, on which jobs send on these service levels.
fn taking_turns(flows: &[BackgroundFlow], queueing: Queueing, levels: &[u8]) -> Background {
    Background::with(flows, 2, 1, queueing, NicQueueing::PerFlow, levels).unwrap()
}

fn background_of(kind: u8) -> Vec<BackgroundFlow> {
    let fixed = BackgroundFlow {
        senders: vec![sender(0, 1)],
        ..flow(3, 4, (1, 3), 2)
    };
    let bernoulli = BackgroundFlow {
        injection: Injection::Bernoulli,
        start: 40,
        ..flow(3, 2, (1, 2), 2)
    };
    let elsewhere = flow(2, 4, (1, 3), 2);
    match kind {
        0 => vec![],
        1 => vec![fixed],
        2 => vec![elsewhere, flow(3, 3, (1, 4), 2)],
        _ => vec![fixed.clone(), bernoulli, elsewhere, fixed],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Both kinds of queueing: with two NICs a NIC has one destination.
    #[test]
    fn flows_take_turns(
        mut jobs in proptest::collection::vec((0_u64..150, 0_u32..3), 0..40),
        kind in 0_u8..4,
        takes in proptest::collection::vec(0_usize..4, 200),
    ) {
        jobs.sort_unstable();
        let flows = background_of(kind);
        for queueing in [Queueing::PerLevel, Queueing::PerPair] {
            let mut naive = Naive::new(&jobs, &flows, takes.len() as Tick);
            let mut background =
                taking_turns(&flows, queueing, &[3, 3, 1]);
            let queue = queueing.queue_of(&of_job(0, 0));
            for (now, &times) in (0..).zip(&takes) {
                let mut out = Vec::new();
                for &(_, job) in jobs.iter().filter(|&&(tick, _)| tick == now) {
                    background.admit(job, of_job(job, now), &mut out);
                }
                background.act(now, &mut out);
                out.retain(|message| queueing.queue_of(message) == queue);
                let first = if naive.has_one { None } else { naive.take(now) };
                prop_assert_eq!(out, first.into_iter().collect::<Vec<_>>());
                for _ in 0..times {
                    if naive.has_one {
                        prop_assert_eq!(background.replenish(now, queue), naive.take(now));
                    }
                }
            }
        }
    }
}

/// However far a background flow is behind.
#[test]
fn a_job_waits_for_one_message_of_each_other_flow() {
    for queueing in [Queueing::PerLevel, Queueing::PerPair] {
        let flows = [flow(3, 4, (1, 2), 2), flow(3, 4, (1, 2), 2)];
        let mut background = taking_turns(&flows, queueing, &[3]);
        let (mut out, queue) = (Vec::new(), queueing.queue_of(&of_job(0, 0)));
        (0..10_000).for_each(|now| background.act(now, &mut out));
        assert!(background.replenish(9_999, queue).is_some());
        for _ in 0..10 {
            background.admit(0, of_job(0, 10_000), &mut out);
        }
        let mut next = || background.replenish(10_000, queue).unwrap();
        let is_of_job: Vec<bool> = (0..30).map(|_| next().token == 0).collect();
        for (at, turn) in is_of_job.chunks(3).enumerate() {
            assert_eq!(turn.iter().filter(|&&job| job).count(), 1, "{at}");
        }
    }
}
