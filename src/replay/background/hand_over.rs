//! What the fabric gets when: the first message of every queue, and the next one whenever it
//! has none of that queue any more.

use super::Background;
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message};

impl Background {
    /// A job sends `message`: to `out` if it is the next of its queue, else it is kept back.
    #[inline]
    pub fn admit(&mut self, message: Message, out: &mut Vec<Message>) {
        let Some(queue) = self.queues.get(message.src, message.sl, message.dst) else {
            out.push(message);
            return;
        };
        let queue = &mut self.queues[queue];
        if std::mem::replace(&mut queue.busy, true) {
            queue.held.push_back(message);
        } else {
            out.push(message);
        }
    }

    /// Hands over the first message of every queue in which one is due by tick `now`. The
    /// others are for [`Background::replenish`].
    pub fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        let in_time = self.next_tick() >= now;
        let mut due = std::mem::take(&mut self.due);
        self.agenda.take(now, &mut due);
        let lasting = self.queues.lasting();
        if self.queues.come_and_go() {
            // Sources in the order of their flows.
            due.sort_unstable();
        }
        let queues = due.partition_point(|&item| item < lasting);
        for &queue in &due[..queues] {
            self.queues[queue].noted = false;
        }
        for &item in &due[queues..] {
            self.draw_destinations(item - lasting, (now, in_time), out);
        }
        due.truncate(queues);
        due.append(&mut self.reached);
        for queue in due.drain(..) {
            if self.queues[queue].busy {
                continue;
            }
            match self.next_message(queue, now) {
                Some(message) => {
                    self.queues[queue].busy = true;
                    out.push(message);
                }
                None => self.note(queue),
            }
        }
        self.due = due;
    }

    /// A source that feeds many queues passes its messages up to tick `now`: each waits in
    /// its queue, or goes to `out` if nothing can come before it; `in_time`: no message of an
    /// earlier tick was due.
    fn draw_destinations(&mut self, at: u32, (now, in_time): (Tick, bool), out: &mut Vec<Message>) {
        let source = &mut self.sources[at as usize];
        let flow = &mut self.flows[source.flow as usize];
        while source.next.tick <= now && source.next.tick < Tick::MAX {
            let dst = source.draw_target(self.nics);
            flow.count(source.size);
            if let Some(queue) = self.queues.get(source.nic, flow.sl, dst) {
                let queue_state = &mut self.queues[queue];
                if in_time && queue_state.is_unused() {
                    // Those of jobs and of earlier flows would have been here.
                    queue_state.busy = true;
                    let message = source.message(flow, dst);
                    self.handed += 1;
                    self.handed_bytes = self.handed_bytes.saturating_add(message.bytes);
                    out.push(message);
                } else {
                    queue_state.add_drawn(at, source);
                    if !queue_state.busy {
                        self.reached.push(queue);
                    }
                }
            }
            source.advance(flow);
        }
        if source.next.tick < Tick::MAX {
            let item = self.queues.lasting() + at;
            self.agenda.insert(item, source.next.tick);
        }
    }

    /// The fabric has no message of `queue` any more: the next one, if it was created by
    /// `now`. In a tick, those of jobs come before those of flows, and these in the order of
    /// the flows.
    pub fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let queue = self.queues.find(queue)?;
        let message = self.next_message(queue, now);
        if message.is_none() {
            self.queues[queue].busy = false;
            self.note(queue);
            self.queues.release(queue);
        }
        message
    }

    /// Takes the next message of `queue` if it was created by `now`.
    fn next_message(&mut self, queue: u32, now: Tick) -> Option<Message> {
        let state = &mut self.queues[queue];
        let own = state
            .sources
            .clone()
            .min_by_key(|&source| self.sources[source as usize].next.tick);
        let own = own.map(|source| &mut self.sources[source as usize]);
        // With equal ticks the order of the flows decides.
        let of_own = own.as_ref().map(|source| (source.next.tick, source.flow));
        let drawn = match state.drawn.is_empty() {
            true => None,
            false => state
                .first_drawn()
                .filter(|&(_, first)| of_own.is_none_or(|own| first < own)),
        };
        let first = drawn.map(|(_, first)| first).or(of_own);
        let tick = first.map_or(Tick::MAX, |(tick, _)| tick);
        // Those of jobs first, in the tick as well.
        if state.held.front().is_some_and(|held| held.created <= tick) {
            return state.held.pop_front();
        }
        if tick > now || tick == Tick::MAX {
            return None;
        }
        let message = if let Some((at, (_, flow))) = drawn {
            let flow = &self.flows[flow as usize];
            let message = state.drawn[at].source.message(flow, state.destination());
            state.advance_drawn(at, self.nics, flow);
            message
        } else {
            let source = own?;
            let flow = &mut self.flows[source.flow as usize];
            let dst = source.draw_target(self.nics);
            let message = source.message(flow, dst);
            flow.count(source.size);
            source.advance(flow);
            message
        };
        self.handed += 1;
        self.handed_bytes = self.handed_bytes.saturating_add(message.bytes);
        Some(message)
    }

    /// Notes when `queue`, of which the fabric has nothing, gets its next message.
    pub(super) fn note(&mut self, queue: u32) {
        let state = &mut self.queues[queue];
        let sources = &self.sources[state.sources.start as usize..state.sources.end as usize];
        let next = sources.iter().map(|source| source.next.tick).min();
        if let Some(tick) = next.filter(|&tick| tick < Tick::MAX && !state.noted) {
            state.noted = true;
            self.agenda.insert(queue, tick);
        }
    }
}
