//! Hands messages over to the fabric, in phase 3 of a tick. The fabric gets the first message of every
//! queue when the source creates it, and the next one whenever the queue in the fabric is empty.
//! [`queues`](super::queues) stores the waiting messages.

use super::Background;
use super::turns::{NicQueueing, Turn};
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::{AppQueue, Message};

impl Background {
    /// Takes `message` of job number `job`. It goes to `out` if the fabric has no message of its queue,
    /// and waits in the queue otherwise.
    #[inline]
    pub fn admit(&mut self, job: u32, message: Message, out: &mut Vec<Message>) {
        let Some(queue) = self.queues.get(message.src, message.sl, message.dst) else {
            out.push(message);
            return;
        };
        let turn = match self.nic_queueing {
            NicQueueing::Fifo => Turn::of_job(0),
            NicQueueing::PerFlow => Turn::of_job(job),
        };
        let queue = &mut self.queues[queue];
        if std::mem::replace(&mut queue.busy, true) {
            queue.held.push(turn, message);
        } else {
            queue.last = turn;
            out.push(message);
        }
    }

    /// Hands over the first message of every queue in which one is created by tick `now` and
    /// of which the fabric has none. Further messages come by [`Background::replenish`].
    pub fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        let is_on_time = self.next_tick() >= now;
        let mut due = std::mem::take(&mut self.due);
        self.agenda.take(now, &mut due);
        let permanent = self.queues.permanent();
        if due.len() > 1 && self.queues.has_drawing_sources() {
            // Puts the sources into the order of their flows.
            due.sort_unstable();
        }
        let queues = due.partition_point(|&item| item < permanent);
        for &queue in &due[..queues] {
            self.queues[queue].on_agenda = false;
        }
        for &item in &due[queues..] {
            self.draw_destinations(item - permanent, now, is_on_time, out);
        }
        due.truncate(queues);
        if !self.drawn_queues.is_empty() {
            due.append(&mut self.drawn_queues);
        }
        for &queue in &due {
            if self.queues[queue].busy {
                continue;
            }
            match self.next_message(queue, now) {
                Some(message) => {
                    self.queues[queue].busy = true;
                    out.push(message);
                }
                None => self.put_on_agenda(queue),
            }
        }
        due.clear();
        self.due = due;
    }

    /// Advances source number `at`, which feeds many queues, over its messages up to tick
    /// `now`. Each message goes to `out` if no other can come before it, and waits in its queue
    /// otherwise. `is_on_time`: no message of an earlier tick was due.
    fn draw_destinations(&mut self, at: u32, now: Tick, is_on_time: bool, out: &mut Vec<Message>) {
        let source = &mut self.sources[at as usize];
        let flow = &mut self.flows[source.flow as usize];
        while source.next.tick <= now && source.next.tick < Tick::MAX {
            let dst = source.draw_target(self.nics);
            flow.count(source.size);
            if let Some(queue) = self.queues.get(source.nic, flow.sl, dst) {
                let state = &mut self.queues[queue];
                let in_order = self.nic_queueing == NicQueueing::Fifo;
                if in_order && is_on_time && state.is_unused() {
                    // A message of a job or of an earlier flow would be in the queue by now.
                    state.busy = true;
                    let message = source.message(flow, dst);
                    self.handed += 1;
                    self.handed_bytes = self.handed_bytes.saturating_add(message.bytes);
                    out.push(message);
                } else {
                    state.add_drawn(at, source);
                    if !state.busy {
                        self.drawn_queues.push(queue);
                    }
                }
            }
            source.advance(flow);
        }
        if source.next.tick < Tick::MAX {
            let item = self.queues.permanent() + at;
            self.agenda.insert(item, source.next.tick);
        }
    }

    /// The next message of `queue`, of which the fabric has none left; `None` if no message was
    /// created by tick `now`. In a FIFO, among messages created in the same tick, messages of jobs
    /// come first, and messages of flows follow in the order of the flows.
    pub fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let queue = self.queues.find(queue)?;
        let state = &mut self.queues[queue];
        if state.is_empty() {
            state.busy = false;
            state.last = Turn::BEFORE_FIRST;
            self.queues.release(queue);
            return None;
        }
        let message = self.next_message(queue, now);
        if message.is_none() {
            let state = &mut self.queues[queue];
            state.busy = false;
            state.last = Turn::BEFORE_FIRST;
            self.put_on_agenda(queue);
            self.queues.release(queue);
        }
        message
    }

    /// Takes the next message of `queue` if it was created by tick `now`.
    fn next_message(&mut self, queue: u32, now: Tick) -> Option<Message> {
        if self.nic_queueing == NicQueueing::PerFlow {
            return self.message_in_turn(queue, now);
        }
        let state = &mut self.queues[queue];
        let own = state
            .sources
            .clone()
            .min_by_key(|&source| self.sources[source as usize].next.tick);
        // In the same tick the order of the flows decides.
        let first_own = own.map(|source| {
            let source = &self.sources[source as usize];
            (source.next.tick, source.flow)
        });
        let drawn = if state.drawn.is_empty() {
            None
        } else {
            state
                .first_drawn()
                .filter(|&(_, first)| first_own.is_none_or(|own| first < own))
        };
        let first = drawn.map(|(_, first)| first).or(first_own);
        let tick = first.map_or(Tick::MAX, |(tick, _)| tick);
        // Messages of jobs come first, also in the same tick.
        if state.held.front().is_some_and(|held| held.created <= tick) {
            return state.held.pop();
        }
        if tick > now || tick == Tick::MAX {
            return None;
        }
        match drawn {
            Some((at, _)) => Some(self.take_drawn(queue, at)),
            None => Some(self.take_own(own?)),
        }
    }

    /// Hands over the next message of source number `source`, which feeds only one queue.
    #[inline]
    pub(super) fn take_own(&mut self, source: u32) -> Message {
        let source = &mut self.sources[source as usize];
        let flow = &mut self.flows[source.flow as usize];
        let dst = source.draw_target(self.nics);
        let message = source.message(flow, dst);
        flow.count(source.size);
        source.advance(flow);
        self.count_handed(&message);
        message
    }

    /// Hands over the first message of entry `at` of those drawn for `queue`.
    #[inline]
    pub(super) fn take_drawn(&mut self, queue: u32, at: usize) -> Message {
        let state = &mut self.queues[queue];
        let source = &state.drawn[at].source;
        let flow = &self.flows[source.flow as usize];
        let message = source.message(flow, state.destination());
        state.advance_drawn(at, self.nics, flow);
        self.count_handed(&message);
        message
    }

    #[inline]
    fn count_handed(&mut self, message: &Message) {
        self.handed += 1;
        self.handed_bytes = self.handed_bytes.saturating_add(message.bytes);
    }

    /// Puts `queue`, of which the fabric has no message, on the agenda at the tick of the next
    /// message of its own sources.
    pub(super) fn put_on_agenda(&mut self, queue: u32) {
        let state = &mut self.queues[queue];
        let sources = &self.sources[state.sources.start as usize..state.sources.end as usize];
        let next = sources.iter().map(|source| source.next.tick).min();
        if let Some(tick) = next.filter(|&tick| tick < Tick::MAX && !state.on_agenda) {
            state.on_agenda = true;
            self.agenda.insert(queue, tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BackgroundFlow, Injection, MessageSize, Rate, Sender, Target};
    use super::*;
    use flitwise_fabric::ids::NicId;
    use flitwise_fabric::workload::Queueing;

    /// A fabric that has taken the first message of each queue, at tick 20,000.
    fn behind(target: impl Fn(NicId) -> Target) -> (Background, Vec<AppQueue>) {
        let sender = |nic| Sender {
            nic,
            target: target(nic),
        };
        let flow = BackgroundFlow {
            sl: 0,
            sizes: vec![MessageSize {
                bytes: 32,
                units: 4,
                weight: 1,
            }],
            rate: Rate { units: 1, ticks: 4 },
            injection: Injection::Cbr,
            start: 0,
            stop: Tick::MAX,
            senders: NicId::all(8).skip(1).map(sender).collect(),
        };
        let mut background = Background::new(&[flow], 8, 1, Queueing::PerPair).unwrap();
        let mut taken = Vec::new();
        (0..20_000).for_each(|now| background.act(now, &mut taken));
        let queues = taken.iter().map(|m| Queueing::PerPair.queue_of(m));
        (background, queues.collect())
    }

    /// The number of entries stored for waiting messages.
    fn kept(background: &Background) -> usize {
        let queues = background.queues.iter();
        queues
            .map(|queue| queue.drawn.len() + queue.held.len())
            .sum()
    }

    #[test]
    fn a_backlog_takes_no_memory() {
        let (fixed, taken) = behind(|_| Target::Nic(NicId::new(0)));
        assert_eq!(taken.len(), 7);
        assert_eq!(fixed.waiting(19_999), 7 * 1_249);
        assert_eq!(kept(&fixed), 0);
        let (mut uniform, taken) = behind(|_| Target::Uniform { planes: 1 });
        assert_eq!(taken.len(), 7 * 7);
        assert_eq!(uniform.waiting(19_999), 7 * 1_250 - 7 * 7);
        assert_eq!(kept(&uniform), 7 * 7);
        for queue in taken {
            while uniform.replenish(19_999, queue).is_some() {}
        }
        assert_eq!(kept(&uniform), 0);
    }
}
