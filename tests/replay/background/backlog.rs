//! Messages that the fabric cannot take yet keep their ticks and their order.

use super::flows::{flow, run, sender};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::Tick;
use flitwise::fabric::workload::Queueing;
use flitwise::fabric::workload::{AppQueue, Message};
use flitwise::replay::background::*;
use proptest::prelude::*;

/// A fabric that takes a few messages of some queues at a time.
pub struct Drain {
    pub background: Background,
    queueing: Queueing,
    pub taken: Vec<Message>,
    /// Queues of which the fabric has a message.
    busy: Vec<AppQueue>,
}

impl Drain {
    pub fn new(flows: &[BackgroundFlow], nics: u32, queueing: Queueing) -> Self {
        Self {
            background: Background::new(flows, nics, 1, queueing).unwrap(),
            queueing,
            taken: Vec::new(),
            busy: Vec::new(),
        }
    }

    pub fn act(&mut self, now: Tick) {
        let before = self.taken.len();
        self.background.act(now, &mut self.taken);
        let new = self.taken[before..].iter();
        self.busy.extend(new.map(|m| self.queueing.queue_of(m)));
    }

    /// Takes up to `times` further messages of every busy queue for which `wanted` is true.
    pub fn replenish(&mut self, now: Tick, times: usize, wanted: impl Fn(AppQueue) -> bool) {
        for queue in std::mem::take(&mut self.busy) {
            let times = if wanted(queue) { times } else { 0 };
            let next = (0..times).map_while(|_| self.background.replenish(now, queue));
            let next: Vec<Message> = next.collect();
            if next.len() == times {
                self.busy.push(queue);
            }
            self.taken.extend(next);
        }
    }
}

pub fn by_queue(list: &[Message], queueing: Queueing) -> Vec<(AppQueue, Vec<Message>)> {
    let mut queues: Vec<(AppQueue, Vec<Message>)> = Vec::new();
    for message in list {
        let queue = queueing.queue_of(message);
        match queues.iter_mut().find(|(other, _)| *other == queue) {
            Some((_, messages)) => messages.push(*message),
            None => queues.push((queue, vec![*message])),
        }
    }
    queues.sort_by_key(|(queue, _)| (queue.nic, queue.sl, queue.dst));
    queues
}

/// Flows of all kinds on shared service levels.
pub fn mixture() -> Vec<BackgroundFlow> {
    let bernoulli = BackgroundFlow {
        injection: Injection::Bernoulli,
        ..flow(1, 3, (1, 7), 5)
    };
    let fixed = BackgroundFlow {
        senders: vec![sender(0, 3), sender(4, 3), sender(2, 1)],
        ..flow(0, 2, (1, 6), 5)
    };
    let sizes = [(1, 3), (9, 1)].map(|(units, weight)| MessageSize {
        bytes: units * 8,
        units,
        weight,
    });
    let mixed = BackgroundFlow {
        sizes: sizes.to_vec(),
        stop: 1_500,
        ..flow(1, 3, (1, 4), 5)
    };
    let ends = [flow(0, 4, (1, 9), 5), flow(0, 6, (1, 5), 5)];
    ends.into_iter().chain([bernoulli, fixed, mixed]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whenever the fabric takes messages, and how many: each queue gives the same messages
    /// with the same ticks in the same order.
    #[test]
    fn a_backlog_keeps_messages_and_order(
        steps in proptest::collection::vec((1_u64..200, 0_usize..6, any::<u32>()), 5..20),
    ) {
        let flows = mixture();
        let end: Tick = steps.iter().map(|step| step.0).sum();
        for queueing in [Queueing::PerLevel, Queueing::PerPair] {
            let at_once = run(&flows, 5, end + 1);
            let mut drain = Drain::new(&flows, 5, queueing);
            let mut now = 0;
            for &(ticks, times, which) in &steps {
                now += ticks;
                drain.act(now);
                let created = drain.background.outcomes(now);
                let messages: u64 = created.iter().map(|flow| flow.messages).sum();
                let before = at_once.iter().filter(|m| m.created <= now).count() as u64;
                prop_assert_eq!(messages, before);
                let waiting = drain.background.waiting(now);
                prop_assert_eq!(before, waiting + drain.background.messages());
                let wanted = |queue: AppQueue| {
                    let dst = queue.dst.map_or(0, NicId::get);
                    which >> ((queue.nic.get() + 5 * dst) % 32) & 1 == 1
                };
                drain.replenish(now, times, wanted);
            }
            drain.act(now);
            drain.replenish(now, usize::MAX, |_| true);
            prop_assert_eq!(drain.background.waiting(now), 0);
            let expected = by_queue(&at_once, queueing);
            prop_assert_eq!(by_queue(&drain.taken, queueing), expected);
        }
    }
}
