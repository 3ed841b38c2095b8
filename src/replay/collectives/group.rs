//! Positions in a communicator: distances, binomial trees, powers of two.

/// A communicator of `n` members seen from `root`: the member at relative
/// position 0 is the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Members, at least 1.
    pub n: u32,
    /// Member at relative position 0.
    pub root: u32,
    /// Members of each part of a hierarchical operation, consecutive ones; divides `n`.
    pub within: u32,
}

/// A step round a ring: the neighbours, and the blocks that go to the one and come from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingStep {
    /// Position of the neighbour that a block goes to.
    pub to: u32,
    /// Position of the other one.
    pub from: u32,
    /// The block that goes.
    pub sent: u32,
    /// The block that comes.
    pub received: u32,
}

impl Group {
    /// A communicator that is one part.
    #[must_use]
    pub fn new(n: u32, root: u32) -> Self {
        Self { n, root, within: n }
    }

    /// The same in parts of the largest divisor of `n` up to `most`.
    #[must_use]
    pub fn in_parts(self, most: u32) -> Self {
        let divides = |part: &u32| self.n.is_multiple_of(*part);
        let within = (1..=most.clamp(1, self.n)).rev().find(divides);
        Self {
            within: within.unwrap_or(1),
            ..self
        }
    }

    /// Step `k` of n − 1 of a reduce-scatter round a ring; position p ends with block p.
    #[must_use]
    pub fn scatter_step(&self, position: u32, k: u32) -> RingStep {
        self.ring_step(position, self.before(position, k + 1))
    }

    /// Step `k` of n − 1 of a gather to all round a ring; position p begins with block p.
    #[must_use]
    pub fn gather_step(&self, position: u32, k: u32) -> RingStep {
        self.ring_step(position, self.before(position, k))
    }

    fn ring_step(&self, position: u32, sent: u32) -> RingStep {
        RingStep {
            to: self.after(position, 1),
            from: self.before(position, 1),
            sent,
            received: self.before(sent, 1),
        }
    }

    /// Member at relative position `rel`.
    #[must_use]
    pub fn member(&self, rel: u32) -> u32 {
        self.after(self.root, rel)
    }

    /// Relative position of `member`.
    #[must_use]
    pub fn relative(&self, member: u32) -> u32 {
        self.before(member, self.root)
    }

    /// Position `distance` after `position`, wrapping round; `distance ≤ n`.
    #[must_use]
    pub fn after(&self, position: u32, distance: u32) -> u32 {
        let n = u64::from(self.n);
        ((u64::from(position) + u64::from(distance)) % n) as u32
    }

    /// Position `distance` before `position`, wrapping round; `distance ≤ n`.
    #[must_use]
    pub fn before(&self, position: u32, distance: u32) -> u32 {
        self.after(position, self.n - distance)
    }

    /// Parent of relative position `rel` in the binomial tree: its lowest set
    /// bit cleared. `None` for the root.
    #[must_use]
    pub fn parent(&self, rel: u32) -> Option<u32> {
        (rel != 0).then(|| rel & (rel - 1))
    }

    /// Children of relative position `rel` in the binomial tree, smallest
    /// subtree first.
    pub fn children(&self, rel: u32) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let bits = if rel == 0 {
            ceil_log2(self.n)
        } else {
            rel.trailing_zeros()
        };
        let n = self.n;
        (0..bits)
            .map(move |bit| u64::from(rel) + (1_u64 << bit))
            .filter(move |&child| child < u64::from(n))
            .map(|child| child as u32)
    }

    /// Members of the binomial subtree at `rel`: the positions from `rel` on.
    #[must_use]
    pub fn subtree(&self, rel: u32) -> u32 {
        if rel == 0 {
            self.n
        } else {
            (1 << rel.trailing_zeros()).min(self.n - rel)
        }
    }
}

/// ⌈log₂ n⌉, 0 for 0 and 1.
#[must_use]
pub fn ceil_log2(n: u32) -> u32 {
    match n {
        0 | 1 => 0,
        _ => (n - 1).ilog2() + 1,
    }
}

/// Reduces the members to a power of two: the first 2·(n − 2^k) members pair up,
/// and the odd member of each pair hands its data to the even one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// Largest power of two up to n.
    pub size: u32,
    /// Pairs.
    pairs: u32,
}

/// The part of a member in one round of a folded exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Sends its data to its partner at this position and stays out of the exchange.
    HandIn(u32),
    /// Receives the data of the partner at this position.
    TakeIn(u32),
    /// Takes part in a round among a power of two.
    Exchange {
        /// Rank in the power of two.
        rank: u32,
        /// Number of the round, from 0.
        i: u32,
    },
    /// Sends the result to its partner at this position.
    Return(u32),
    /// Receives the result from its partner at this position.
    GetBack(u32),
    /// Nothing.
    Idle,
}

/// Part of a member in a [`Fold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Stays out; the member at this position represents it.
    Out(u32),
    /// Takes part.
    In {
        /// Rank among the participants, below [`Fold::size`].
        rank: u32,
        /// Position of the member that it represents.
        partner: Option<u32>,
    },
}

impl Fold {
    /// Folds `n ≥ 1` positions.
    #[must_use]
    pub fn new(n: u32) -> Self {
        let size = 1 << n.ilog2();
        Self {
            size,
            pairs: n - size,
        }
    }

    /// Number of bits of a rank.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.size.ilog2()
    }

    /// Role of `position`.
    #[must_use]
    pub fn role(&self, position: u32) -> Role {
        if position / 2 >= self.pairs {
            let rank = position - self.pairs;
            let partner = None;
            Role::In { rank, partner }
        } else if position.is_multiple_of(2) {
            let partner = Some(position + 1);
            let rank = position / 2;
            Role::In { rank, partner }
        } else {
            Role::Out(position - 1)
        }
    }

    /// The part of the member at `position` in round `k`. An exchange of `rounds` rounds
    /// has one more round before, in which the other members send their data, and one
    /// after, in which they receive the result.
    #[must_use]
    pub fn turn(&self, position: u32, k: u32, rounds: u32) -> Turn {
        let last = rounds + 1;
        match self.role(position) {
            Role::Out(server) if k == 0 => Turn::HandIn(server),
            Role::Out(server) if k == last => Turn::GetBack(server),
            Role::Out(_) => Turn::Idle,
            Role::In { partner, .. } if k == 0 => partner.map_or(Turn::Idle, Turn::TakeIn),
            Role::In { partner, .. } if k == last => partner.map_or(Turn::Idle, Turn::Return),
            Role::In { rank, .. } => Turn::Exchange { rank, i: k - 1 },
        }
    }

    /// Position of the member with `rank`; for [`Fold::size`] the number of positions.
    #[must_use]
    pub fn position(&self, rank: u32) -> u32 {
        if rank < self.pairs {
            rank * 2
        } else {
            rank + self.pairs
        }
    }
}
