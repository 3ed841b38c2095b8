//! A fabric in blocks: sets of switches that several threads simulate side by side, with the results of one thread.
//!
//! A block is a fabric in which only its own switches act. Links are the only thing that blocks share: a packet that
//! crosses a cut link, and a credit that comes back, is *mail* ([`post`]). It has an effect some ticks later at the
//! earliest, the [`Lookahead`]: a link delays packets and credits, and so do the stages of a switch. Until then its block
//! can be simulated without it.
//!
//! The first block, the *lead*, also has all NICs, and calls the workload: whatever a workload does at once, such as
//! answering a message in the tick of its arrival, stays within one block. The lead goes ahead. The others follow in
//! *steps* ([`crew`], [`gate`]): while they simulate the ticks that the lead has passed, it simulates the next ones, up to
//! half the lookahead. So no block ever simulates a tick after the end of the run, which only the workload knows. Before
//! samples, looks for deadlocks and the end, all blocks stop behind the same tick.
//!
//! Within a tick no part affects another, so the order of mail cannot matter. Senders of cut links learn of credits
//! later than others, though in time; they may look for credits more often, which only the number of events shows.
//!
//! A fabric of any kind, in one block or several, is a [`Model`] for the engine.
//!
//! [`cut`] says which block has which switch, and which fabrics cannot be cut. [`run`](super::run) says how far the lead
//! may go. `docs/evidence/performance.md` has the measurements.

mod crew;
pub(super) mod cut;
mod gate;
pub(super) mod post;
mod team;

use self::crew::{Crew, SharedState, with_lead};
pub(super) use self::crew::{locked, with_lead_mut};
use self::cut::Cut;
use self::post::Post;
pub(super) use self::team::Team;
use super::counters::Counters;
use super::deadlock::{Deadlock, dead_cycle};
use super::kernel::{self, SwitchModel};
use super::outages::DownLink;
use super::progress::{Progress, RunEnd};
use super::run::{self, Driven};
use super::samplers::Samplers;
use crate::series::Sample;
use crate::spec::Tick;
use crate::stats::{FabricStats, LinkEnd, LinkStats};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The fewest ticks between a cause in one block and its effect in another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookahead {
    /// Where a NIC and its switch are in different blocks: from the switch to the NIC.
    pub to_nics: Tick,
    /// From a switch to another.
    pub to_switches: Tick,
}

impl Lookahead {
    /// From any block of a fabric that is cut so to the lead.
    fn to_lead(self, cut: &Cut) -> Tick {
        if cut.cuts_nics() {
            self.to_nics.min(self.to_switches)
        } else {
            self.to_switches
        }
    }
}

/// A fabric of either kind of switch, in any variant. Its methods have no type parameters, so the crates that use
/// [`super::Engine`] compile none of them again.
pub(super) trait Model {
    /// Threads that simulate the fabric.
    fn threads(&self) -> usize;

    /// Moves the fabric from tick to tick until the run ends.
    fn drive(
        &mut self,
        at: &mut run::Position,
        driven: &mut dyn Driven,
        samplers: Samplers<'_>,
    ) -> RunEnd;

    /// The progress of the run.
    fn progress(&self) -> Progress;

    /// A cycle of packets that can never move, if there is one.
    fn find_cycle(&mut self) -> Option<Deadlock>;

    /// The links that are down for good, with packets that wait for them.
    fn links_down(&self) -> Vec<DownLink>;

    /// Counts anew from the next tick on.
    fn restart_statistics(&mut self);

    /// The counters of the NICs.
    fn counters(&self) -> &Counters;

    /// All that has been counted up to the end of the present tick.
    fn stats(&self) -> FabricStats;
}

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").finish_non_exhaustive()
    }
}

/// A fabric in one block or several.
#[derive(Debug)]
pub(super) struct Blocks<M: SwitchModel> {
    lead: Box<M>,
    others: Option<Box<Others<M>>>,
}

/// The blocks beside the lead.
#[derive(Debug)]
struct Others<M: SwitchModel> {
    cut: Arc<Cut>,
    blocks: Vec<Mutex<M>>,
    lookahead: Lookahead,
    /// Threads beside the lead's.
    threads: usize,
    drive: Drive<M>,
}

/// Moves the blocks from tick to tick. The models that a probe watches have none: they cannot go to other threads.
type Drive<M> = fn(&mut Blocks<M>, &mut run::Position, &mut dyn Driven, Samplers<'_>) -> RunEnd;

impl<M: SwitchModel> Blocks<M> {
    /// All in one block.
    pub(super) fn one(model: M) -> Self {
        Self {
            lead: Box::new(model),
            others: None,
        }
    }

    /// `blocks`, whole fabrics so far, become the blocks of `cut`. `threads` threads simulate them.
    pub(super) fn new(mut blocks: Vec<M>, cut: Cut, lookahead: Lookahead, threads: usize) -> Self
    where
        M: Send,
        M::Arrival: Send,
        M::Credits: Send,
    {
        let cut = Arc::new(cut);
        for (number, block) in blocks.iter_mut().enumerate() {
            block.become_block(Post::new(&cut, number));
        }
        let lead = blocks.remove(cut::LEAD);
        Self {
            lead: Box::new(lead),
            others: Some(Box::new(Others {
                blocks: blocks.into_iter().map(Mutex::new).collect(),
                cut,
                lookahead,
                threads: threads.saturating_sub(1),
                drive: Self::drive_in_threads,
            })),
        }
    }

    fn drive_in_threads(
        &mut self,
        at: &mut run::Position,
        driven: &mut dyn Driven,
        samplers: Samplers<'_>,
    ) -> RunEnd
    where
        M: Send,
        M::Arrival: Send,
        M::Credits: Send,
    {
        let Some(others) = &self.others else {
            return run::drive(&mut *self.lead, None, at, driven, samplers);
        };
        let shared = SharedState::new(&others.blocks, others.threads);
        std::thread::scope(|scope| {
            let crew = Crew::new(&shared, at.earliest);
            for thread in 0..shared.threads() {
                let shared = &shared;
                scope.spawn(move || shared.work(thread));
            }
            let team = Team {
                crew,
                to_lead: others.lookahead.to_lead(&others.cut),
                beside: others.lookahead.to_switches,
                cut: &others.cut,
            };
            run::drive(&mut *self.lead, Some(team), at, driven, samplers)
        })
    }

    // Functions without closures collect the blocks: the compiler makes one of each for a variant, not one for each closure.

    /// All blocks, the lead first. No thread may be at work.
    fn with_all<T>(&mut self, act: impl FnOnce(&mut [&mut M]) -> T) -> T {
        act(&mut self.all_mut())
    }

    fn all_mut(&mut self) -> Vec<&mut M> {
        let mut all = vec![&mut *self.lead];
        if let Some(others) = self.others.as_deref_mut() {
            all.extend(others.blocks.iter_mut().map(|block| {
                let block = block.get_mut();
                block.unwrap_or_else(std::sync::PoisonError::into_inner)
            }));
        }
        all
    }

    /// The same, to be read.
    fn read_all<T>(&self, read: impl FnOnce(&[&M], Option<&Cut>) -> T) -> T {
        let others = self.others.as_deref();
        let guards = others.map_or_else(Vec::new, |others| locked(&others.blocks));
        let all = with_lead(&*self.lead, &guards);
        read(&all, others.map(|others| &*others.cut))
    }
}

impl<M: SwitchModel> Model for Blocks<M> {
    fn threads(&self) -> usize {
        let others = self.others.as_ref();
        1 + others.map_or(0, |others| others.threads.min(others.blocks.len()))
    }

    fn drive(
        &mut self,
        at: &mut run::Position,
        driven: &mut dyn Driven,
        samplers: Samplers<'_>,
    ) -> RunEnd {
        match &self.others {
            None => run::drive(&mut *self.lead, None, at, driven, samplers),
            Some(others) => (others.drive)(self, at, driven, samplers),
        }
    }

    fn progress(&self) -> Progress {
        self.read_all(|all, _| Progress {
            flit_hops: (all.iter())
                .map(|block| block.kernel().observers.counters.counts.flit_hops)
                .sum(),
            ..run::progress(&*self.lead, None)
        })
    }

    fn find_cycle(&mut self) -> Option<Deadlock> {
        let cut = self.others.as_ref().map(|others| Arc::clone(&others.cut));
        self.with_all(|all| find_cycle(all, cut.as_deref(), false))
    }

    fn links_down(&self) -> Vec<DownLink> {
        self.read_all(|all, _| links_down(all))
    }

    fn restart_statistics(&mut self) {
        self.with_all(|all| {
            let not_started = not_started(&read(all));
            all.iter_mut()
                .for_each(|block| block.restart_statistics(&not_started));
        });
    }

    fn counters(&self) -> &Counters {
        &self.lead.kernel().observers.counters
    }

    fn stats(&self) -> FabricStats {
        self.read_all(stats)
    }
}

/// The same blocks, to be read.
pub(super) fn read<'a, M>(all: &'a [&'a mut M]) -> Vec<&'a M> {
    all.iter().map(|block| &**block).collect()
}

/// The packets of all blocks that were granted and that no link has started yet.
fn not_started<M: SwitchModel>(all: &[&M]) -> M::NotStarted {
    let mut not_started = M::NotStarted::default();
    for block in all {
        block.not_started(&mut not_started);
    }
    not_started
}

/// The block of the sending end of a link.
fn block_of(cut: &Cut, from: LinkEnd) -> usize {
    match from {
        LinkEnd::Nic(_) => cut::LEAD,
        LinkEnd::Port { switch, .. } => cut.of_switch(switch),
    }
}

/// The counters of the links of all blocks.
pub(super) fn links<M: SwitchModel>(all: &[&M], cut: Option<&Cut>) -> Vec<LinkStats> {
    let not_started = not_started(all);
    let mut links = all[0].links(&not_started);
    if let Some(cut) = cut {
        for (block, model) in all.iter().enumerate().skip(1) {
            take_links(&mut links, model.links(&not_started), cut, block);
        }
    }
    links
}

/// Puts the links of block `block` among the `links` of all.
fn take_links(links: &mut [LinkStats], own: Vec<LinkStats>, cut: &Cut, block: usize) {
    for (link, own) in links.iter_mut().zip(own) {
        if block_of(cut, own.from) == block {
            *link = own;
        }
    }
}

/// All that all blocks have counted.
fn stats<M: SwitchModel>(all: &[&M], cut: Option<&Cut>) -> FabricStats {
    let not_started = not_started(all);
    let mut stats = all[0].stats(&not_started);
    let Some(cut) = cut else { return stats };
    for (block, model) in all.iter().enumerate().skip(1) {
        let own = model.stats(&not_started);
        // Packets are created, injected and delivered by the lead alone.
        stats.flit_hops += own.flit_hops;
        stats.host_flit_hops += own.host_flit_hops;
        stats.events += own.events;
        if let (Some(all), Some(own)) = (&mut stats.congestion, own.congestion) {
            all.marked += own.marked;
        }
        take_links(&mut stats.links, own.links, cut, block);
        stats.turns.extend(own.turns);
    }
    stats.turns.sort_by_key(|turn| (turn.input, turn.out_port));
    stats
}

/// The observables of all blocks at the end of `tick`.
pub(super) fn sample<M: SwitchModel>(all: &mut [&mut M], tick: Tick) -> Sample {
    let mut samples = all.iter_mut().map(|block| kernel::sample(*block, tick));
    let mut sample = samples.next().unwrap_or_default();
    for own in samples {
        sample.port_vls.extend(own.port_vls);
        if let (Some(all), Some(own)) = (&mut sample.power, own.power) {
            all.switch_links += own.switch_links;
            all.nic_links += own.nic_links;
        }
    }
    sample.port_vls.sort();
    sample
}

/// The links of all blocks that are down for good, with packets that wait for them.
pub(super) fn links_down<M: SwitchModel>(all: &[&M]) -> Vec<DownLink> {
    let links = all
        .iter()
        .flat_map(|block| block.kernel().links_that_stay_down());
    DownLink::in_order(links)
}

/// A cycle of packets that can never move, if there is one, over all blocks. No mail may be under way. `at_rest`: no
/// event is left.
pub(super) fn find_cycle<M: SwitchModel>(
    all: &mut [&mut M],
    cut: Option<&Cut>,
    at_rest: bool,
) -> Option<Deadlock> {
    let Some(cut) = cut else {
        return all[0].find_cycle(at_rest);
    };
    let mut held = M::Held::default();
    for block in &*all {
        block.held(&mut held);
    }
    let mut waiting = BTreeMap::new();
    for block in &mut *all {
        block.waiting(&held, at_rest, &mut waiting);
    }
    dead_cycle(waiting, |queue| {
        all[cut.of_switch(all[0].switch_of(queue))].describe(queue)
    })
}

/// Sets the clock of all blocks to `tick`. No event may come later.
pub(super) fn stand_at<M: SwitchModel>(all: &mut [&mut M], tick: Tick) {
    for block in all {
        block.kernel_mut().now = tick;
    }
}

/// Sets the clock of all blocks to the end of `tick`, if it is not there yet.
pub(super) fn advance_to<M: SwitchModel>(all: &mut [&mut M], tick: Tick) {
    for block in all {
        block.kernel_mut().advance_to(tick);
    }
}
