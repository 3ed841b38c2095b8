//! Nodes: consecutive NICs with a fabric of their own between their ranks, and the NICs by which messages between
//! nodes travel (`docs/model/replay.md`, "Nodes").

mod graph;

pub use graph::NodeGraph;

use super::job::{IntraNode, copy_ps};
use flitwise_fabric::ids::NicId;
use hashbrown::HashMap;
use thiserror::Error;

/// The nodes of a fabric, all alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// NICs of a node; at least 1.
    pub nics: u32,
    /// Places for ranks at each of them; at least 1.
    pub places_per_nic: u32,
    /// Planes of the fabric, of which NIC x is on plane x mod planes; they divide `nics`.
    pub planes: u32,
    /// The NICs of messages between nodes.
    pub choice: NicChoice,
    /// The links between ranks; `None`: every two ranks have their own.
    pub graph: Option<NodeGraph>,
}

impl Default for NodeSpec {
    /// Every NIC is a node.
    fn default() -> Self {
        Self {
            nics: 1,
            places_per_nic: 1,
            planes: 1,
            choice: NicChoice::ByRank,
            graph: None,
        }
    }
}

/// The NICs of a message between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicChoice {
    /// The NICs of the two ranks.
    ByRank,
    /// Drawn by a hash of the ranks and the number of the message.
    Hash,
    /// All NICs of the two nodes for a message above this size, else the NICs of the ranks.
    Stripe {
        /// Largest message that is not divided.
        above_bytes: u64,
    },
}

/// Nodes that cannot be, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// A link with one end, or listed before.
    #[error(
        "link [{a}, {b}] is listed twice or leads nowhere; list two different ends, each pair once"
    )]
    Link {
        /// An end.
        a: u32,
        /// The other.
        b: u32,
    },
    /// Places without a route.
    #[error("no links lead from place {from} to place {to}; add a link")]
    Apart {
        /// A place.
        from: u32,
        /// Another.
        to: u32,
    },
    /// Too many places and switches.
    #[error("{vertices} places and switches are too many; a node has at most 256")]
    TooLarge {
        /// Their number.
        vertices: u32,
    },
    /// The last node would be incomplete.
    #[error(
        "{nics} NICs cannot be divided into nodes of {each}; take a fabric with a multiple of {each}"
    )]
    Incomplete {
        /// NICs of the fabric.
        nics: u32,
        /// NICs of a node.
        each: u32,
    },
    /// Planes that a node has no equal share of.
    #[error(
        "{each} NICs of a node cannot be divided among {planes} planes; take a multiple of {planes}"
    )]
    Planes {
        /// NICs of a node.
        each: u32,
        /// Planes.
        planes: u32,
    },
}

impl NodeSpec {
    /// Checks the nodes for a fabric of `nics` NICs.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn check(&self, nics: u32) -> Result<(), NodeError> {
        let (each, planes) = (self.nics, self.planes);
        if planes == 0 || !each.is_multiple_of(planes) {
            return Err(NodeError::Planes { each, planes });
        }
        if each == 0 || !nics.is_multiple_of(each) {
            return Err(NodeError::Incomplete { nics, each });
        }
        Ok(())
    }

    /// The node of a NIC.
    #[must_use]
    pub fn of(&self, nic: NicId) -> u32 {
        nic.get() / self.nics
    }
}

/// A place of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub nic: NicId,
    /// The number of the place at the NIC.
    pub at_nic: u32,
}

impl Seat {
    /// The first place at a NIC.
    pub(super) fn first_of(nic: NicId) -> Self {
        Self { nic, at_nic: 0 }
    }
}

/// A message between the NICs of two ranks in different nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between {
    pub from: NicId,
    pub to: NicId,
    /// The ranks and the number of the message, which a hash is of.
    pub hashed: [u64; 3],
    pub bytes: u64,
    /// How many NICs behind its own the sender names one; 0 names none.
    pub named: u8,
}

/// The parts of a message that crosses the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// NIC that sends the first part. Part i has the i-th NICs from the first ones on.
    pub src: NicId,
    /// NIC that receives the first part.
    pub dst: NicId,
    /// Payload of all parts in bytes.
    pub bytes: u64,
    /// Number of parts; at least 1.
    pub count: u32,
}

impl Parts {
    /// Each part: its two NICs, and its payload in bytes. Parts are as equal as possible, the first ones longer.
    pub fn each(self) -> impl Iterator<Item = (NicId, NicId, u64)> {
        let count = u64::from(self.count.max(1));
        (0..self.count).map(move |number| {
            let [src, dst] = [self.src, self.dst].map(|nic| NicId::new(nic.get() + number));
            let longer = u64::from(number) < self.bytes % count;
            (src, dst, self.bytes / count + u64::from(longer))
        })
    }
}

/// The journey of a message between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Journey {
    pub parts: Parts,
    /// The NIC where it arrives is on another plane than the receiver's.
    pub last_step: bool,
}

/// When a message inside a node has left its sender and arrived, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    pub left_ps: u64,
    pub arrived_ps: u64,
}

/// The nodes during a replay.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    spec: NodeSpec,
    /// By node and directed link: the time at which it has served all messages so far.
    free_ps: HashMap<(u32, u32), u64>,
}

impl Nodes {
    pub(super) fn new(spec: NodeSpec) -> Self {
        Self {
            spec,
            free_ps: HashMap::new(),
        }
    }

    /// Whether every NIC is a node.
    pub(super) fn are_nics(&self) -> bool {
        self.spec.nics == 1
    }

    /// Whether two NICs are of one node.
    #[inline]
    pub(super) fn share(&self, a: NicId, b: NicId) -> bool {
        a == b || self.spec.nics > 1 && self.spec.of(a) == self.spec.of(b)
    }

    /// The seats of ranks on these NICs: the ranks of a NIC take its places in turn.
    pub(super) fn seats(&self, nics: Vec<NicId>) -> Vec<Seat> {
        let mut taken: HashMap<NicId, u32> = HashMap::new();
        let seat = |nic| {
            let next = taken.entry(nic).or_default();
            let at_nic = *next % self.spec.places_per_nic;
            *next = at_nic + 1;
            Seat { nic, at_nic }
        };
        nics.into_iter().map(seat).collect()
    }

    /// The number of a seat in its node.
    fn place(&self, seat: Seat) -> u32 {
        seat.nic.get() % self.spec.nics * self.spec.places_per_nic + seat.at_nic
    }

    /// Carries a message inside a node from `now` on; `None` if it takes longer than can be expressed. `pair`: the link of
    /// two ranks without a graph, or in one place.
    pub(super) fn carry(
        &mut self,
        [from, to]: [Seat; 2],
        bytes: u64,
        pair: &IntraNode,
        now: u64,
    ) -> Option<Carried> {
        let route = match &self.spec.graph {
            Some(graph) if from != to => graph.route(self.place(from), self.place(to)),
            _ => {
                let left_ps = now.checked_add(pair.copy_ps(bytes)?)?;
                return Some(Carried {
                    left_ps,
                    arrived_ps: left_ps.checked_add(pair.latency_ps)?,
                });
            }
        };
        let graph = self.spec.graph.as_ref()?;
        let copy = copy_ps(bytes, graph.bytes_per_s)?;
        let (mut begins, mut left_ps) = (now, None);
        for &link in route {
            let free = self
                .free_ps
                .entry((self.spec.of(from.nic), link))
                .or_default();
            let served = begins.max(*free).checked_add(copy)?;
            *free = served;
            left_ps = left_ps.or(Some(served));
            begins = (served - copy).checked_add(graph.latency_ps)?;
        }
        Some(Carried {
            left_ps: left_ps?,
            arrived_ps: begins.checked_add(copy)?,
        })
    }

    /// The journey that a message makes.
    pub(super) fn journey(&self, message: &Between) -> Journey {
        let Between {
            from, to, bytes, ..
        } = *message;
        let (nics, planes) = (self.spec.nics, self.spec.planes);
        let nic = |of: NicId, index: u32| NicId::new(of.get() / nics * nics + index);
        let own = from.get() % nics;
        let by = |index, count| Journey {
            parts: Parts {
                src: nic(from, index),
                dst: nic(to, index),
                bytes,
                count,
            },
            last_step: false,
        };
        match self.spec.choice {
            _ if message.named > 0 => by((own + u32::from(message.named)) % nics, 1),
            NicChoice::Hash => by(hash(message.hashed, nics), 1),
            NicChoice::Stripe { above_bytes } if bytes > above_bytes => {
                let count = u64::from(nics).min(bytes);
                by(0, count as u32)
            }
            NicChoice::ByRank | NicChoice::Stripe { .. } => {
                let last_step = from.get() % planes != to.get() % planes;
                let mut journey = by(own, 1);
                if !last_step {
                    journey.parts.dst = to;
                }
                Journey {
                    last_step,
                    ..journey
                }
            }
        }
    }
}

/// A number below `below` by Fibonacci hashing (Knuth, volume 3, 6.4).
fn hash([from, to, number]: [u64; 3], below: u32) -> u32 {
    let key = from
        .wrapping_mul(31)
        .wrapping_add(to)
        .wrapping_mul(31)
        .wrapping_add(number);
    let high = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((high * u64::from(below)) >> 32) as u32
}
