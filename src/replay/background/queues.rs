//! The application queues that flows feed, and the messages that wait in them until the fabric
//! asks. [`hand_over`](super::hand_over) decides when messages are handed over.
//!
//! A queue does not list messages of flows. A source with one destination stores its next
//! message and keeps it until the fabric takes it. A source that draws a destination for
//! every message feeds many queues, and continues whether the fabric empties them or not. A
//! [`Drawn`] stands for its messages in one queue: their number, and a copy of the source at the
//! first of them. The copy draws again to find the next one.

use super::turns::{Held, Turn};
use super::{Flow, Source};
use crate::background::Target;
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::{AppQueue, Queueing};
use hashbrown::HashMap;
use std::ops::{Index, IndexMut, Range};

/// An application queue.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    /// The sources that feed only this queue.
    pub sources: Range<u32>,
    /// The fabric has a message of this queue.
    pub busy: bool,
    /// The queue is on the agenda, at or before the tick of the next message of `sources`.
    pub on_agenda: bool,
    /// Messages of jobs that wait.
    pub held: Held,
    /// The flow served last, since the queue was empty; only used where flows take turns.
    pub last: Turn,
    /// Waiting messages of sources that draw destinations. One entry per source, and one more per gap.
    pub drawn: Vec<Drawn>,
    /// Only used with a queue per destination.
    key: Key,
}

impl Queue {
    fn of(key: Key) -> Self {
        Self {
            sources: 0..0,
            busy: false,
            on_agenda: false,
            held: Held::default(),
            last: Turn::BEFORE_FIRST,
            drawn: Vec::new(),
            key,
        }
    }
}

/// Waiting messages of one source to one destination.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// Number of messages, at least 1.
    pub count: u64,
    /// The source as it was at the first of them, with the destination drawn.
    pub source: Source,
    /// Index of the source itself.
    index: u32,
    /// A gap has been skipped since: the copy does not draw what the source has drawn after it.
    is_closed: bool,
}

/// SL, NIC and destination in one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key(u64);

/// Bits for the number of a NIC. A fabric has at most 2^22 ports.
const NIC_BITS: u32 = 29;

impl Key {
    #[inline]
    fn new(sl: u8, nic: NicId, dst: NicId) -> Self {
        let (nic, dst) = (nic.get(), dst.get());
        debug_assert!(nic.max(dst) >> NIC_BITS == 0);
        Self(u64::from(sl) << (2 * NIC_BITS) | u64::from(nic) << NIC_BITS | u64::from(dst))
    }

    /// Its place in a table of all queues.
    #[inline]
    fn place(self, nics: u32) -> usize {
        let mask = (1 << NIC_BITS) - 1;
        let [sl, nic] = [2 * NIC_BITS, NIC_BITS].map(|shift| (self.0 >> shift & mask) as usize);
        let nics = nics as usize;
        (sl * nics + nic) * nics + self.destination().index()
    }

    #[inline]
    fn destination(self) -> NicId {
        NicId::new((self.0 & ((1 << NIC_BITS) - 1)) as u32)
    }
}

/// Most entries of a table of all possible queues.
const MAX_TABLE: usize = 1 << 18;
/// No queue.
const NONE: u32 = u32::MAX;

/// The number of each queue, by its key.
#[derive(Debug, Clone)]
enum Places {
    /// A small fabric: a queue or [`NONE`], per (SL · NICs + NIC) · NICs + destination.
    Table {
        nics: u32,
        queues: Vec<u32>,
    },
    Map(HashMap<Key, u32>),
}

impl Places {
    fn new(levels: usize, nics: u32) -> Self {
        let all = (nics as usize)
            .checked_pow(2)
            .and_then(|pairs| pairs.checked_mul(levels));
        match all {
            Some(all) if all <= MAX_TABLE => Self::Table {
                nics,
                queues: vec![NONE; all],
            },
            _ => Self::Map(HashMap::new()),
        }
    }

    #[inline]
    fn get(&self, key: Key) -> Option<u32> {
        match self {
            Self::Table { nics, queues } => {
                let queue = queues.get(key.place(*nics)).copied()?;
                (queue != NONE).then_some(queue)
            }
            Self::Map(queues) => queues.get(&key).copied(),
        }
    }

    /// Sets the number of a queue; [`NONE`] removes it.
    #[inline]
    fn set(&mut self, key: Key, queue: u32) {
        match self {
            Self::Table { nics, queues } => queues[key.place(*nics)] = queue,
            Self::Map(queues) => Self::set_in_map(queues, key, queue),
        }
    }

    #[inline(never)]
    fn set_in_map(queues: &mut HashMap<Key, u32>, key: Key, queue: u32) {
        if queue == NONE {
            queues.remove(&key);
        } else {
            queues.insert(key, queue);
        }
    }
}

/// All application queues that flows feed, and where flows take turns, all that jobs feed.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    list: Vec<Queue>,
    /// Number of queues that exist all the time. They come first in `list`; the others are
    /// temporary.
    permanent: u32,
    nics: u32,
    lookup: Lookup,
}

/// Finds a queue in the list.
#[derive(Debug, Clone)]
enum Lookup {
    /// With a queue per SL: the queue of NIC 0 for each SL that has queues. The queues of the
    /// other NICs follow it.
    Levels(Vec<Option<u32>>),
    /// With a queue per queue pair.
    Pairs {
        places: Places,
        /// Temporary queues that are not in use.
        free: Vec<u32>,
        /// By SL × NICs + NIC: true if a queue to any destination may be needed, since a source there
        /// draws destinations or flows take turns. Empty if none is.
        draws: Vec<bool>,
    },
}

impl Queues {
    /// The queues that `sources` feed. Sorts the sources by queue, then by flow. Sources that
    /// draw destinations for many queues come last. `shared`: service levels on which jobs take
    /// turns, whether a flow feeds them or not.
    pub(super) fn new(
        queueing: Queueing,
        flows: &[Flow],
        shared: &[u8],
        nics: u32,
        sources: &mut [Source],
    ) -> Self {
        match queueing {
            Queueing::PerLevel => Self::per_level(flows, shared, nics, sources),
            Queueing::PerPair => Self::per_pair(flows, shared, nics, sources),
        }
    }

    fn per_level(flows: &[Flow], shared: &[u8], nics: u32, sources: &mut [Source]) -> Self {
        let mut first_queue = vec![None; levels(flows, shared)];
        let mut queues = 0;
        for sl in flows
            .iter()
            .map(|flow| flow.sl)
            .chain(shared.iter().copied())
        {
            first_queue[usize::from(sl)].get_or_insert_with(|| {
                queues += nics;
                queues - nics
            });
        }
        let queue_of = |source: &Source| {
            let sl = usize::from(flows[source.flow as usize].sl);
            first_queue[sl].map_or(0, |first| first + source.nic.get())
        };
        sources.sort_by_key(|source| (queue_of(source), source.flow));
        let mut list = vec![Queue::of(Key::default()); queues as usize];
        for (at, source) in (0..).zip(&*sources) {
            list[queue_of(source) as usize].add_source(at);
        }
        Self {
            list,
            permanent: queues,
            nics,
            lookup: Lookup::Levels(first_queue),
        }
    }

    fn per_pair(flows: &[Flow], shared: &[u8], nics: u32, sources: &mut [Source]) -> Self {
        let levels = levels(flows, shared);
        let mut draws = vec![false; levels * nics as usize];
        for &sl in shared {
            let first = usize::from(sl) * nics as usize;
            draws[first..first + nics as usize].fill(true);
        }
        let key_of = |source: &Source| match source.target {
            Target::Nic(dst) => Some(Key::new(flows[source.flow as usize].sl, source.nic, dst)),
            Target::Uniform { .. } => None,
        };
        sources.sort_by_key(|source| {
            let key = key_of(source);
            (key.is_none(), key, source.flow)
        });
        let mut list = Vec::<Queue>::new();
        let mut places = Places::new(levels, nics);
        for (at, source) in (0..).zip(&*sources) {
            let Some(key) = key_of(source) else {
                let sl = usize::from(flows[source.flow as usize].sl);
                draws[sl * nics as usize + source.nic.index()] = true;
                continue;
            };
            let queue = places.get(key).unwrap_or_else(|| {
                let queue = list.len() as u32;
                places.set(key, queue);
                list.push(Queue::of(key));
                queue
            });
            list[queue as usize].add_source(at);
        }
        if !draws.contains(&true) {
            draws.clear();
        }
        Self {
            permanent: list.len() as u32,
            list,
            nics,
            lookup: Lookup::Pairs {
                places,
                free: Vec::new(),
                draws,
            },
        }
    }

    /// Number of permanent queues, which come first.
    #[inline]
    pub(super) fn permanent(&self) -> u32 {
        self.permanent
    }

    /// Whether there are sources that draw destinations for many queues.
    #[inline]
    pub(super) fn has_drawing_sources(&self) -> bool {
        matches!(&self.lookup, Lookup::Pairs { draws, .. } if !draws.is_empty())
    }

    /// True with a queue per queue pair.
    pub(super) fn are_of_pairs(&self) -> bool {
        matches!(self.lookup, Lookup::Pairs { .. })
    }

    /// Lets the messages that wait and were drawn be created `ticks` later, as the sources pass over
    /// what comes after them.
    pub(super) fn delay_drawn(&mut self, ticks: Tick) {
        for drawn in self.list.iter_mut().flat_map(|queue| &mut queue.drawn) {
            drawn.is_closed = true;
            let next = &mut drawn.source.next.tick;
            *next = next.saturating_add(ticks);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.list.iter()
    }

    /// Number of `queue`, if a flow feeds it and it exists.
    #[inline]
    pub(super) fn find(&self, queue: AppQueue) -> Option<u32> {
        if !self.is_of_flows(queue) {
            return None;
        }
        match &self.lookup {
            Lookup::Levels(first_queue) => {
                let first = first_queue.get(usize::from(queue.sl)).copied().flatten()?;
                Some(first + queue.nic.get())
            }
            Lookup::Pairs { places, .. } => places.get(Key::new(queue.sl, queue.nic, queue.dst?)),
        }
    }

    /// Whether flows may feed the queue: no flow sends to or from an aggregation node.
    fn is_of_flows(&self, queue: AppQueue) -> bool {
        let to = queue.dst.filter(|_| self.are_of_pairs());
        let ends = [Some(queue.nic), to].into_iter().flatten();
        ends.map(NicId::get).all(|nic| nic < self.nics)
    }

    /// Number of the queue of messages from `nic` to `dst` on `sl`, which is created if it does
    /// not exist. `None` if no flow can put a message there.
    #[inline]
    pub(super) fn get(&mut self, nic: NicId, sl: u8, dst: NicId) -> Option<u32> {
        let wanted = AppQueue {
            nic,
            sl,
            dst: Some(dst),
        };
        if let Some(queue) = self.find(wanted) {
            return Some(queue);
        }
        if !self.is_of_flows(wanted) {
            return None;
        }
        let Lookup::Pairs {
            places,
            free,
            draws,
        } = &mut self.lookup
        else {
            return None;
        };
        let at = usize::from(sl) * self.nics as usize + nic.index();
        if !draws.get(at).copied().unwrap_or(false) {
            return None;
        }
        let queue = free.pop().unwrap_or_else(|| {
            self.list.push(Queue::of(Key::default()));
            self.list.len() as u32 - 1
        });
        let key = Key::new(sl, nic, dst);
        self.list[queue as usize].key = key;
        places.set(key, queue);
        Some(queue)
    }

    /// Removes `queue` if it is temporary. Neither the fabric nor the queue may have a message
    /// of it.
    #[inline]
    pub(super) fn release(&mut self, queue: u32) {
        if queue >= self.permanent
            && let Lookup::Pairs { places, free, .. } = &mut self.lookup
        {
            places.set(self.list[queue as usize].key, NONE);
            free.push(queue);
        }
    }
}

impl Index<u32> for Queues {
    type Output = Queue;

    #[inline]
    fn index(&self, queue: u32) -> &Queue {
        &self.list[queue as usize]
    }
}

impl IndexMut<u32> for Queues {
    #[inline]
    fn index_mut(&mut self, queue: u32) -> &mut Queue {
        &mut self.list[queue as usize]
    }
}

/// Number of service levels up to the last one that has a flow or is shared.
fn levels(flows: &[Flow], shared: &[u8]) -> usize {
    let used = flows.iter().map(|flow| flow.sl);
    let last = used.chain(shared.iter().copied()).max();
    last.map_or(0, |sl| usize::from(sl) + 1)
}

impl Queue {
    /// Destination of its messages. Only with a queue per destination.
    #[inline]
    pub(super) fn destination(&self) -> NicId {
        self.key.destination()
    }

    /// Whether the fabric has no message of this queue, none was drawn for it, and no source
    /// feeds only this queue.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        !self.busy && self.drawn.is_empty() && self.sources.is_empty()
    }

    /// Whether nothing waits in this queue, and no source feeds only this queue.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.drawn.is_empty() && self.sources.is_empty() && self.held.is_empty()
    }

    /// Adds source number `at`, which follows the sources added before.
    fn add_source(&mut self, at: u32) {
        if self.sources.start == self.sources.end {
            self.sources = at..at;
        }
        self.sources.end = at + 1;
    }

    /// Adds the next message of source number `index`, which has drawn this queue for it.
    #[inline]
    pub(super) fn add_drawn(&mut self, index: u32, source: &Source) {
        let is_open = |drawn: &&mut Drawn| drawn.index == index && !drawn.is_closed;
        if let Some(drawn) = self.drawn.iter_mut().find(is_open) {
            drawn.count += 1;
            return;
        }
        // Most queues have one entry, and there may be many queues.
        self.drawn.reserve_exact(1);
        self.drawn.push(Drawn {
            count: 1,
            source: source.clone(),
            index,
            is_closed: false,
        });
    }

    /// Index of the entry of `drawn` whose message was created first, with the tick of creation
    /// and the flow. In the same tick the first flow comes first.
    #[inline]
    pub(super) fn first_drawn(&self) -> Option<(usize, (Tick, u32))> {
        let entries = self.drawn.iter().enumerate();
        let first = entries.min_by_key(|(_, drawn)| (drawn.source.next.tick, drawn.index));
        first.map(|(at, Drawn { source, .. })| (at, (source.next.tick, source.flow)))
    }

    /// Removes the first message of entry `at`.
    #[inline]
    pub(super) fn advance_drawn(&mut self, at: usize, nics: u32, flow: &Flow) {
        let dst = self.key.destination();
        let drawn = &mut self.drawn[at];
        drawn.count -= 1;
        if drawn.count == 0 {
            self.drawn.remove(at);
        } else {
            drawn.source.seek(dst, nics, flow);
        }
    }
}
