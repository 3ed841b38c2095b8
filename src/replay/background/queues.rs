//! The application queues that flows feed, as far as the fabric does not have them.
//!
//! A queue holds no messages of flows. A source with one destination remembers when it goes
//! on. A source that draws a destination for every message feeds many queues, and goes on
//! whatever they do; what waits in one of them is a [`Drawn`]: how many messages, and a copy of
//! the source as it was at the first of them, which draws again to find the next.

use super::{Flow, Source};
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Queueing};
use crate::replay::background::Target;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

/// An application queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// The sources that feed this queue alone.
    pub sources: Range<u32>,
    /// The fabric has a message of this queue.
    pub busy: bool,
    /// The agenda has an entry, no later than the next message of `sources`.
    pub noted: bool,
    /// Messages of jobs, behind what the fabric has.
    pub held: VecDeque<Message>,
    /// Messages for here of sources that draw destinations; one entry per source.
    pub drawn: Vec<Drawn>,
    /// Where there is a queue per destination.
    key: Key,
}

/// Messages of one source for one destination that wait.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// How many; at least 1.
    pub count: u64,
    /// The source at the first of them, its destination drawn.
    pub source: Source,
    /// Place of the source itself.
    of: u32,
}

/// SL, NIC and destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key(u64);

/// Bits of the number of a NIC; a fabric has at most 2^22 ports.
const NIC_BITS: u32 = 29;

impl Key {
    #[inline]
    fn new(sl: u8, nic: u32, dst: u32) -> Self {
        debug_assert!(nic.max(dst) >> NIC_BITS == 0);
        Self(u64::from(sl) << (2 * NIC_BITS) | u64::from(nic) << NIC_BITS | u64::from(dst))
    }

    #[inline]
    fn destination(self) -> u32 {
        (self.0 & ((1 << NIC_BITS) - 1)) as u32
    }
}

/// All of them.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    list: Vec<Queue>,
    /// So many are there all the time; the others come and go.
    lasting: u32,
    nics: u32,
    names: Names,
}

#[derive(Debug, Clone)]
enum Names {
    /// First queue of each service level that has flows; one queue per NIC.
    Levels(Vec<Option<u32>>),
    Pairs {
        by_key: HashMap<Key, u32>,
        /// Queues not in use, behind the lasting ones.
        free: Vec<u32>,
        /// By SL · NICs + NIC: a source there draws destinations. Empty if none does.
        draws: Vec<bool>,
    },
}

impl Queues {
    /// The queues that `sources` feed, which are brought into their order: by queue, then by
    /// flow, and last those that draw destinations for many queues.
    pub(super) fn new(
        queueing: Queueing,
        flows: &[Flow],
        nics: u32,
        sources: &mut [Source],
    ) -> Self {
        match queueing {
            Queueing::PerLevel => Self::of_levels(flows, nics, sources),
            Queueing::PerPair => Self::of_pairs(flows, nics, sources),
        }
    }

    fn of_levels(flows: &[Flow], nics: u32, sources: &mut [Source]) -> Self {
        let mut first_queue = vec![None; levels(flows)];
        let mut queues = 0;
        for flow in flows {
            first_queue[usize::from(flow.sl)].get_or_insert_with(|| {
                queues += nics;
                queues - nics
            });
        }
        let queue_of = |source: &Source| {
            let sl = usize::from(flows[source.flow as usize].sl);
            first_queue[sl].map_or(0, |first| first + source.nic)
        };
        sources.sort_by_key(|source| (queue_of(source), source.flow));
        let mut list = vec![Queue::default(); queues as usize];
        for (at, source) in (0..).zip(&*sources) {
            list[queue_of(source) as usize].add_source(at);
        }
        Self {
            list,
            lasting: queues,
            nics,
            names: Names::Levels(first_queue),
        }
    }

    fn of_pairs(flows: &[Flow], nics: u32, sources: &mut [Source]) -> Self {
        let mut draws = vec![false; levels(flows) * nics as usize];
        let key_of = |source: &Source| match source.target {
            Target::Nic(dst) => Some(Key::new(flows[source.flow as usize].sl, source.nic, dst)),
            Target::Uniform => None,
        };
        sources.sort_by_key(|source| {
            let key = key_of(source);
            (key.is_none(), key, source.flow)
        });
        let (mut list, mut by_key) = (Vec::<Queue>::new(), HashMap::new());
        for (at, source) in (0..).zip(&*sources) {
            let Some(key) = key_of(source) else {
                let sl = usize::from(flows[source.flow as usize].sl);
                draws[sl * nics as usize + source.nic as usize] = true;
                continue;
            };
            let queue = *by_key.entry(key).or_insert_with(|| {
                list.push(Queue {
                    key,
                    ..Queue::default()
                });
                list.len() as u32 - 1
            });
            list[queue as usize].add_source(at);
        }
        if !draws.contains(&true) {
            draws.clear();
        }
        Self {
            lasting: list.len() as u32,
            list,
            nics,
            names: Names::Pairs {
                by_key,
                free: Vec::new(),
                draws,
            },
        }
    }

    /// Queues that are there all the time: the first ones.
    #[inline]
    pub(super) fn lasting(&self) -> u32 {
        self.lasting
    }

    /// There are sources that draw destinations for many queues.
    #[inline]
    pub(super) fn come_and_go(&self) -> bool {
        matches!(&self.names, Names::Pairs { draws, .. } if !draws.is_empty())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.list.iter()
    }

    /// The queue `name`, if a flow feeds it and it is there.
    #[inline]
    pub(super) fn find(&self, name: AppQueue) -> Option<u32> {
        match &self.names {
            Names::Levels(first_queue) => {
                let first = first_queue.get(usize::from(name.sl)).copied().flatten()?;
                Some(first + name.nic)
            }
            Names::Pairs { by_key, .. } => {
                let key = Key::new(name.sl, name.nic, name.dst?);
                by_key.get(&key).copied()
            }
        }
    }

    /// The queue of messages from `nic` to `dst` on `sl`, made if it is not there; `None` if
    /// no flow can ever put a message there.
    #[inline]
    pub(super) fn get(&mut self, nic: u32, sl: u8, dst: u32) -> Option<u32> {
        let name = AppQueue {
            nic,
            sl,
            dst: Some(dst),
        };
        if let Some(queue) = self.find(name) {
            return Some(queue);
        }
        let Names::Pairs {
            by_key,
            free,
            draws,
        } = &mut self.names
        else {
            return None;
        };
        let at = usize::from(sl) * self.nics as usize + nic as usize;
        if !draws.get(at).copied().unwrap_or(false) {
            return None;
        }
        let queue = free.pop().unwrap_or_else(|| {
            self.list.push(Queue::default());
            self.list.len() as u32 - 1
        });
        let key = Key::new(sl, nic, dst);
        self.list[queue as usize].key = key;
        by_key.insert(key, queue);
        Some(queue)
    }

    /// Neither the fabric nor the queue has a message: it goes, unless it is a lasting one.
    #[inline]
    pub(super) fn release(&mut self, queue: u32) {
        if queue >= self.lasting
            && let Names::Pairs { by_key, free, .. } = &mut self.names
        {
            by_key.remove(&self.list[queue as usize].key);
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

/// Service levels up to the last one that has a flow.
fn levels(flows: &[Flow]) -> usize {
    let levels = flows.iter().map(|flow| usize::from(flow.sl) + 1);
    levels.max().unwrap_or(0)
}

impl Queue {
    /// Where its messages go, if there is a queue per destination.
    #[inline]
    pub(super) fn destination(&self) -> u32 {
        self.key.destination()
    }

    /// No message waits, and no source feeds this queue alone.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        !self.busy && self.drawn.is_empty() && self.sources.is_empty()
    }

    fn add_source(&mut self, at: u32) {
        if self.sources.start == self.sources.end {
            self.sources = at..at;
        }
        self.sources.end = at + 1;
    }

    /// Source number `of` has drawn this queue for the message it is at.
    #[inline]
    pub(super) fn add_drawn(&mut self, of: u32, source: &Source) {
        if let Some(drawn) = self.drawn.iter_mut().find(|drawn| drawn.of == of) {
            drawn.count += 1;
            return;
        }
        // Mostly there is one, and there may be many queues.
        self.drawn.reserve_exact(1);
        self.drawn.push(Drawn {
            count: 1,
            source: source.clone(),
            of,
        });
    }

    /// The entry of `drawn` whose message was created first, with that tick and its flow; the
    /// flows in their order.
    #[inline]
    pub(super) fn first_drawn(&self) -> Option<(usize, (Tick, u32))> {
        let entries = self.drawn.iter().enumerate();
        let first = entries.min_by_key(|(_, drawn)| (drawn.source.next.tick, drawn.of));
        first.map(|(at, Drawn { source, .. })| (at, (source.next.tick, source.flow)))
    }

    /// The first message of entry `at` was taken.
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
