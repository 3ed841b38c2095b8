//! A cut through a gap between the messages of jobs (`docs/model/gap-skip.md`): sources pass over the
//! messages of the ticks that are not simulated.

use super::source::{Flow, Source, Then};
use super::{Background, Target};
use flitwise_fabric::spec::Tick;

impl Background {
    /// Passes over the messages created in the `ticks` ticks after tick `now`, after
    /// [`Background::act`] of that tick. Messages that wait stay, and are from then on created that
    /// many ticks later; nothing may have waited since before an earlier cut. Returns the number of
    /// messages passed over.
    pub fn pass_over(&mut self, now: Tick, ticks: Tick) -> u64 {
        let mut passed = 0;
        for source in &mut self.sources {
            let flow = &self.flows[source.flow as usize];
            passed += source.pass_over_gap(now, ticks, self.nics, flow);
        }
        self.queues.delay_drawn(ticks);
        self.renew_agenda(now.saturating_add(ticks).saturating_add(1));
        passed
    }

    /// Puts everything on the agenda anew, from tick `begin` on.
    fn renew_agenda(&mut self, begin: Tick) {
        self.agenda.restart(begin);
        let permanent = self.queues.permanent();
        for queue in 0..permanent {
            let state = &mut self.queues[queue];
            // One that the fabric has a message of comes back when it is empty.
            if std::mem::take(&mut state.on_agenda) && !state.busy {
                self.put_on_agenda(queue);
            }
        }
        if self.queues.are_of_pairs() {
            for (at, source) in (0..).zip(&self.sources) {
                if matches!(source.target, Target::Uniform { .. }) && source.next.tick < Tick::MAX {
                    self.agenda.insert(permanent + at, source.next.tick);
                }
            }
        }
    }
}

impl Source {
    /// See [`Background::pass_over`].
    fn pass_over_gap(&mut self, now: Tick, ticks: Tick, nics: u32, flow: &Flow) -> u64 {
        let last = now.saturating_add(ticks);
        if self.next.tick > now {
            return self.pass_over_until(last, nics, flow);
        }
        debug_assert!(self.then.is_none(), "a message has waited over two gaps");
        let (mut ahead, mut waiting) = (self.clone(), 0);
        while ahead.next.tick <= now {
            ahead.draw_target(nics);
            ahead.advance(flow);
            waiting += 1;
        }
        let passed = ahead.pass_over_until(last, nics, flow);
        self.next.tick = self.next.tick.saturating_add(ticks);
        self.then = Some(Box::new(Then {
            waiting,
            size: ahead.size,
            next: ahead.next,
            stream: ahead.stream,
        }));
        passed
    }

    /// Advances to the first message after tick `last`. Returns how many it passes over.
    fn pass_over_until(&mut self, last: Tick, nics: u32, flow: &Flow) -> u64 {
        if self.next.tick > last {
            return 0;
        }
        if let Target::Nic(_) = self.target
            && let Some((messages, next)) = flow.process.skip(self.next, last, flow.stop)
        {
            self.next = flow.until_stop(next);
            return messages;
        }
        let mut passed = 0;
        while self.next.tick <= last && self.next.tick < Tick::MAX {
            self.draw_target(nics);
            self.advance(flow);
            passed += 1;
        }
        passed
    }

    /// [`Source::advance`] while messages wait that have waited over a gap.
    #[cold]
    pub(super) fn advance_waiting(&mut self, flow: &Flow) {
        let Some(mut then) = self.then.take() else {
            return;
        };
        then.waiting -= 1;
        if then.waiting == 0 {
            (self.size, self.next, self.stream) = (then.size, then.next, then.stream);
            return;
        }
        // It was created before the flow stopped, though the gap may have put it after that.
        self.step(flow);
        self.then = Some(then);
    }
}
