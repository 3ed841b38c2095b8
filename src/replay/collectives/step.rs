//! The steps that an algorithm tells a member to take, and how an algorithm emits them.

use super::alltoall;
use super::blocks::Blocks;

/// One step of a member; the steps are carried out in order. Members are
/// positions in the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Sends a message and continues at once.
    Send {
        /// Receiving member.
        to: u32,
        /// Payload.
        bytes: u64,
        /// Tells apart the messages between the same two members.
        tag: u32,
    },
    /// Continues when the message has arrived.
    Recv {
        /// Sending member.
        from: u32,
        /// Tag of the message.
        tag: u32,
    },
    /// Combines a received vector with the member's own.
    Compute {
        /// Length of the vector.
        bytes: u64,
    },
    /// Waits, in a switch, while it combines what it received.
    Pause {
        /// Picoseconds.
        ps: u64,
    },
}

/// The data of a message. Replay needs only its size; the tests follow the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Blocks `first, first + 1, …`, `count` of them, wrapping round.
    Blocks {
        /// First block.
        first: u64,
        /// Number of blocks.
        count: u64,
    },
    /// Blocks that this member sends in this round of Bruck's all-to-all.
    Bruck {
        /// Member that sends them.
        sender: u32,
        /// Round.
        round: u32,
    },
    /// The contributions of the sender's group so far, in a scan.
    Partial,
    /// No data; says only that its sender got this far.
    Token,
}

/// Takes the steps of a round.
pub trait Sink {
    /// See [`Step::Send`].
    fn send(&mut self, to: u32, bytes: u64, tag: u32, part: Part);

    /// See [`Step::Recv`].
    fn recv(&mut self, from: u32, tag: u32, part: Part);

    /// See [`Step::Recv`]; the data that arrive are combined with the member's own.
    fn combine(&mut self, from: u32, bytes: u64, tag: u32, part: Part);

    /// See [`Step::Recv`]; a switch combines the data that arrive with others.
    fn aggregate(&mut self, from: u32, tag: u32, part: Part);

    /// See [`Step::Pause`].
    fn pause(&mut self, ps: u64);

    /// See [`Step::Recv`]; the [`Part::Partial`] that arrives is combined with the member's
    /// own and with its prefix, or becomes the prefix if that was `empty`.
    fn prefix(&mut self, from: u32, bytes: u64, tag: u32, empty: bool);
}

impl Sink for Vec<Step> {
    fn send(&mut self, to: u32, bytes: u64, tag: u32, _: Part) {
        self.push(Step::Send { to, bytes, tag });
    }

    fn recv(&mut self, from: u32, tag: u32, _: Part) {
        self.push(Step::Recv { from, tag });
    }

    fn combine(&mut self, from: u32, bytes: u64, tag: u32, _: Part) {
        self.push(Step::Recv { from, tag });
        self.push(Step::Compute { bytes });
    }

    fn aggregate(&mut self, from: u32, tag: u32, _: Part) {
        self.push(Step::Recv { from, tag });
    }

    fn pause(&mut self, ps: u64) {
        self.push(Step::Pause { ps });
    }

    fn prefix(&mut self, from: u32, bytes: u64, tag: u32, empty: bool) {
        self.combine(from, bytes, tag, Part::Partial);
        if !empty {
            self.push(Step::Compute { bytes });
        }
    }
}

/// Writes one round of one member. Sender and receiver leave out messages without
/// data: as in MPI libraries, both know the sizes.
pub struct Round<'a> {
    sink: &'a mut dyn Sink,
    blocks: &'a Blocks,
}

impl<'a> Round<'a> {
    /// Writes to `sink`, taking sizes from `blocks`.
    pub fn new(sink: &'a mut dyn Sink, blocks: &'a Blocks) -> Self {
        Self { sink, blocks }
    }

    /// Parts of the vector, if it is cut into some.
    pub fn parts(&self) -> u64 {
        match self.blocks {
            Blocks::Even { parts, .. } => *parts,
            _ => 0,
        }
    }

    fn part(&self, first: u64, count: u64) -> Option<(u64, Part)> {
        let bytes = self.blocks.bytes(first, count);
        (bytes > 0).then_some((bytes, Part::Blocks { first, count }))
    }

    /// Sends `count` blocks from `first` on.
    pub fn send(&mut self, to: u32, first: u64, count: u64, tag: u32) {
        if let Some((bytes, part)) = self.part(first, count) {
            self.sink.send(to, bytes, tag, part);
        }
    }

    /// Receives `count` blocks from `first` on.
    pub fn recv(&mut self, from: u32, first: u64, count: u64, tag: u32) {
        if let Some((_, part)) = self.part(first, count) {
            self.sink.recv(from, tag, part);
        }
    }

    /// Receives `count` blocks from `first` on and combines them with its own.
    pub fn combine(&mut self, from: u32, first: u64, count: u64, tag: u32) {
        if let Some((bytes, part)) = self.part(first, count) {
            self.sink.combine(from, bytes, tag, part);
        }
    }

    /// Receives a block that a switch combines with others.
    pub fn aggregate(&mut self, from: u32, block: u64, tag: u32) {
        if let Some((_, part)) = self.part(block, 1) {
            self.sink.aggregate(from, tag, part);
        }
    }

    /// Combines in a switch for `ps` picoseconds.
    pub fn pause(&mut self, ps: u64) {
        self.sink.pause(ps);
    }

    fn bruck(&self, sender: u32, round: u32) -> Option<(u64, Part)> {
        let blocks = alltoall::bruck(self.blocks.rows(), sender, round);
        let bytes = blocks.map(|block| self.blocks.bytes(block, 1)).sum();
        (bytes > 0).then_some((bytes, Part::Bruck { sender, round }))
    }

    /// Sends the blocks of `me` in round `k` of Bruck's all-to-all.
    pub fn send_bruck(&mut self, to: u32, me: u32, k: u32) {
        if let Some((bytes, part)) = self.bruck(me, k) {
            self.sink.send(to, bytes, k, part);
        }
    }

    /// Receives the blocks of `from` in round `k` of Bruck's all-to-all.
    pub fn recv_bruck(&mut self, from: u32, k: u32) {
        if let Some((_, part)) = self.bruck(from, k) {
            self.sink.recv(from, k, part);
        }
    }

    /// Sends the partial result of a scan.
    pub fn send_partial(&mut self, to: u32, tag: u32) {
        if let Some((bytes, _)) = self.part(0, 1) {
            self.sink.send(to, bytes, tag, Part::Partial);
        }
    }

    /// Receives a partial result from above.
    pub fn combine_partial(&mut self, from: u32, tag: u32) {
        if let Some((bytes, _)) = self.part(0, 1) {
            self.sink.combine(from, bytes, tag, Part::Partial);
        }
    }

    /// Receives a partial result from below; see [`Sink::prefix`].
    pub fn combine_prefix(&mut self, from: u32, tag: u32, empty: bool) {
        if let Some((bytes, _)) = self.part(0, 1) {
            self.sink.prefix(from, bytes, tag, empty);
        }
    }

    /// Sends an empty message.
    pub fn send_token(&mut self, to: u32, tag: u32) {
        self.sink.send(to, 0, tag, Part::Token);
    }

    /// Receives an empty message.
    pub fn recv_token(&mut self, from: u32, tag: u32) {
        self.sink.recv(from, tag, Part::Token);
    }
}
