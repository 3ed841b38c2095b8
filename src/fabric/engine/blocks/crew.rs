//! The blocks beside the lead, and the threads that simulate them.

use super::gate::{Apart, Gate};
use super::post::Exchange;
use crate::engine::kernel::{self, SwitchModel};
use crate::prefetch::{Lines, prefetch_all};
use crate::spec::Tick;
use crate::workload::{Message, Workload};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The workload of a block without NICs.
struct NoMessages;

impl Workload for NoMessages {
    fn next_tick(&mut self) -> Option<Tick> {
        None
    }

    fn act(&mut self, _: Tick, _: &mut Vec<Message>) {}

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        false
    }
}

/// The state that the threads of a run share.
pub(super) struct SharedState<'a, M: SwitchModel> {
    /// The blocks from the second on.
    blocks: &'a [Mutex<M>],
    pub(super) exchange: Exchange<M::Arrival, M::Credits>,
    gate: Gate,
    /// Threads beside the lead's.
    threads: usize,
    /// The blocks are to be simulated to before this tick.
    until: AtomicU64,
    is_over: AtomicBool,
    /// By block.
    ends: Vec<Apart<StepEnd>>,
}

/// The report of a block to the lead at the end of a step.
#[derive(Debug, Default)]
struct StepEnd {
    /// The last step that it has ended.
    step: AtomicU64,
    /// The first tick in which it may act.
    next: AtomicU64,
    /// The first tick in which mail that it sent in the step has an effect.
    sent: AtomicU64,
    /// Flits that crossed its links between switches.
    flit_hops: AtomicU64,
    /// It has more packets than can be numbered.
    is_full: AtomicBool,
}

/// Tells the others if a thread panics.
struct Alarm<'a>(&'a Gate);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_down();
        }
    }
}

impl<'a, M: SwitchModel> SharedState<'a, M> {
    /// `threads` threads beside the lead's will simulate `blocks`; with none, the lead's does.
    pub(super) fn new(blocks: &'a [Mutex<M>], threads: usize) -> Self {
        Self {
            blocks,
            exchange: Exchange::new(blocks.len() + 1),
            gate: Gate::default(),
            threads: threads.min(blocks.len()),
            until: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            ends: blocks.iter().map(|_| Apart::default()).collect(),
        }
    }

    /// Number of threads beside the lead's.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Waits until all blocks have ended `step`.
    fn wait_for(&self, step: u64) {
        let ended = self.ends.iter().map(|Apart(end)| &end.step);
        self.gate.wait_for(ended, step);
    }

    /// Works as thread number `thread`, until all is over.
    pub(super) fn work(&self, thread: usize) {
        let _alarm = Alarm(&self.gate);
        let mut due = Vec::new();
        for step in 1.. {
            self.gate.pass(step);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            for block in (thread..self.blocks.len()).step_by(self.threads) {
                self.simulate(block, step, &mut due);
                self.gate.arrive(&self.ends[block].0.step, step);
            }
        }
    }

    /// Simulates a block in `step`.
    fn simulate(&self, number: usize, step: u64, due: &mut Vec<u32>) {
        let block = &mut *lock(&self.blocks[number]);
        receive(block, &self.exchange, step - 1, number + 1);
        let until = self.until.load(Ordering::Relaxed);
        while let Some(next) = kernel::next_event(block).filter(|&next| next < until) {
            kernel::tick(block, next, due, &mut NoMessages);
        }
        block.kernel_mut().advance_to(until.saturating_sub(1));
        let Apart(end) = &self.ends[number];
        let next = kernel::next_event(block).unwrap_or(Tick::MAX);
        end.next.store(next, Ordering::Relaxed);
        let sent = (block.post_mut()).map_or(Tick::MAX, |post| self.exchange.hand_over(step, post));
        end.sent.store(sent, Ordering::Relaxed);
        let hops = block.kernel().observers.counters.counts.flit_hops;
        end.flit_hops.store(hops, Ordering::Relaxed);
        end.is_full.store(kernel::is_full(block), Ordering::Relaxed);
    }
}

/// `block` number `number` takes the mail that the others sent in `step`.
pub(super) fn receive<M: SwitchModel>(
    block: &mut M,
    exchange: &Exchange<M::Arrival, M::Credits>,
    step: u64,
    number: usize,
) {
    exchange.take(step, number, |mail| {
        take_all(&mut mail.arrivals, |packet| block.receive(packet));
        take_all(&mut mail.credits, |credits| block.take_back(credits));
    });
}

/// Items of mail that are prefetched: another core wrote them, so each costs as long as some events.
const AHEAD: usize = 8;

/// Passes all items to `take`.
fn take_all<T>(items: &mut Vec<T>, mut take: impl FnMut(T)) {
    for at in 0..AHEAD.min(items.len()) {
        prefetch_all(items, at);
    }
    let lines = Lines::of(items);
    for (at, item) in items.drain(..).enumerate() {
        lines.prefetch(at + AHEAD);
        take(item);
    }
}

/// The thread that has no use for a block any more may have panicked; then the run ends anyway.
pub(in crate::engine) fn lock<M>(block: &Mutex<M>) -> MutexGuard<'_, M> {
    block.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `blocks`, whose threads do not work.
pub(in crate::engine) fn locked<M>(blocks: &[Mutex<M>]) -> Vec<MutexGuard<'_, M>> {
    blocks.iter().map(lock).collect()
}

/// The block of the lead, and the others.
pub(super) fn with_lead<'a, M>(lead: &'a M, others: &'a [MutexGuard<'_, M>]) -> Vec<&'a M> {
    let mut all = vec![lead];
    all.extend(others.iter().map(|block| &**block));
    all
}

/// The same, to be changed.
pub(in crate::engine) fn with_lead_mut<'a, M>(
    lead: &'a mut M,
    others: &'a mut [MutexGuard<'_, M>],
) -> Vec<&'a mut M> {
    let mut all = vec![lead];
    all.extend(others.iter_mut().map(|block| &mut **block));
    all
}

/// The lead's view of the crew: it opens one step after the other.
pub(in crate::engine) struct Crew<'s, 'a, M: SwitchModel> {
    shared: &'s SharedState<'a, M>,
    /// The last step that was opened.
    step: u64,
    /// All before this tick will be simulated at the end of the step.
    reached: Tick,
    /// The crew is at work.
    works: bool,
    /// Between steps: the first tick in which a block may act, or mail under way may have an effect.
    next: Tick,
    /// Mail to the blocks is under way.
    mail: bool,
    /// The lead has yet to read the mail of the last step.
    unread: bool,
}

impl<'s, 'a, M: SwitchModel> Crew<'s, 'a, M> {
    /// All blocks have been simulated to before tick `reached`.
    pub(super) fn new(shared: &'s SharedState<'a, M>, reached: Tick) -> Self {
        let next = shared.blocks.iter().map(|block| {
            let block = lock(block);
            kernel::next_event(&*block).unwrap_or(Tick::MAX)
        });
        Self {
            next: next.min().unwrap_or(Tick::MAX),
            shared,
            step: 0,
            reached,
            works: false,
            mail: false,
            unread: false,
        }
    }

    /// The first tick in which a block may act.
    pub(in crate::engine) fn next(&self) -> Tick {
        self.next
    }

    /// Whether all blocks have been simulated to before tick `tick`, and no mail is under way.
    pub(in crate::engine) fn is_synchronised(&self, tick: Tick) -> bool {
        !self.works && !self.mail && self.reached >= tick
    }

    /// Opens a step: the blocks simulate to before tick `until`.
    pub(in crate::engine) fn begin(&mut self, until: Tick) {
        debug_assert!(!self.works, "one step at a time");
        self.step += 1;
        self.reached = self.reached.max(until);
        self.works = true;
        self.shared.until.store(until, Ordering::Relaxed);
        if self.shared.threads > 0 {
            self.shared.gate.open(self.step);
        }
    }

    /// The end of a step: hands over the mail of the lead, and waits for the blocks. If no step is open, it opens one
    /// for that mail, if there is any. Then [`Crew::read`] must follow, perhaps when the next step has begun.
    pub(in crate::engine) fn end(&mut self, lead: &mut M) {
        if !self.works {
            if lead.post_mut().is_none_or(|post| post.is_empty()) {
                return;
            }
            self.begin(self.reached);
        }
        self.works = false;
        self.unread = true;
        let (shared, step) = (self.shared, self.step);
        let sent = match lead.post_mut() {
            Some(post) => shared.exchange.hand_over(step, post),
            None => Tick::MAX,
        };
        if shared.threads > 0 {
            shared.wait_for(step);
        } else {
            let mut due = Vec::new();
            for block in 0..shared.blocks.len() {
                shared.simulate(block, step, &mut due);
            }
        }
        let least = |of: fn(&StepEnd) -> &AtomicU64| {
            let numbers = shared
                .ends
                .iter()
                .map(|Apart(end)| of(end).load(Ordering::Relaxed));
            numbers.min().unwrap_or(Tick::MAX)
        };
        let sent = least(|end| &end.sent).min(sent);
        self.next = least(|end| &end.next).min(sent);
        self.mail = sent != Tick::MAX;
    }

    /// The lead, which has reached tick `earliest`, takes the mail of the last step that has ended.
    pub(in crate::engine) fn read(&mut self, lead: &mut M, earliest: Tick) {
        if std::mem::take(&mut self.unread) {
            lead.kernel_mut().advance_to(earliest.saturating_sub(1));
            let step = self.step - u64::from(self.works);
            receive(lead, &self.shared.exchange, step, super::cut::LEAD);
        }
    }

    /// Whether no block has an event, and no mail is under way.
    pub(in crate::engine) fn is_idle(&self) -> bool {
        !self.works && !self.mail && !self.unread && self.next == Tick::MAX
    }

    /// Passes over the ticks before `tick`, in which the blocks have nothing to do.
    pub(in crate::engine) fn skip_to(&mut self, tick: Tick) {
        debug_assert!(!self.works && !self.mail && tick <= self.next);
        self.reached = self.reached.max(tick);
    }

    /// Whether mail to the blocks is under way.
    pub(in crate::engine) fn has_mail(&self) -> bool {
        self.mail
    }

    /// Whether a block has more packets than can be numbered.
    pub(in crate::engine) fn is_full(&self) -> bool {
        let mut ends = self.shared.ends.iter();
        ends.any(|Apart(end)| end.is_full.load(Ordering::Relaxed))
    }

    /// Flits that crossed links between switches, in all blocks of the crew.
    pub(in crate::engine) fn flit_hops(&self) -> u64 {
        let ends = self.shared.ends.iter();
        ends.map(|Apart(end)| end.flit_hops.load(Ordering::Relaxed))
            .sum()
    }

    /// The blocks, between two steps.
    pub(in crate::engine) fn blocks(&self) -> &'a [Mutex<M>] {
        debug_assert!(!self.works, "the blocks are at work");
        self.shared.blocks
    }
}

impl<M: SwitchModel> Drop for Crew<'_, '_, M> {
    /// Lets the threads end.
    fn drop(&mut self) {
        if self.works && self.shared.threads > 0 && !std::thread::panicking() {
            self.shared.wait_for(self.step);
        }
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.shared.gate.open(self.step + 1);
    }
}
