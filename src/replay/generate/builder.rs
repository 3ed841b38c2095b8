//! Turns the actions of ranks into records with the dependencies that a recorder writes.

use std::io;

use flitwise_formats::vef::{Comm, Dep, DepId, Member, Message, Op, Record};

use super::{GenerateError, Spec};

/// Receives the records in the order of the file.
type Take<'a> = &'a mut dyn FnMut(&Record) -> io::Result<()>;

pub(super) struct Builder<'a> {
    pub spec: &'a Spec,
    /// Computation of every rank per iteration, in nanoseconds.
    pub gaps: &'a [u64],
    comms: &'a [Comm],
    take: Take<'a>,
    ranks: Vec<Rank>,
    counts: Counts,
}

/// The contents of a generated trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Point-to-point messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Entries of waits, and ends.
    pub markers: u64,
    /// Collectives.
    pub collectives: u64,
    /// Lines of collectives.
    pub members: u64,
}

/// State of a rank before its next record.
struct Rank {
    dep: u8,
    after: DepId,
    /// Computation since its last record, in nanoseconds.
    gap: u64,
    /// Sum of its computation.
    total: u64,
}

/// Most computation of a rank: 2^64 picoseconds, the limit of a check.
const MAX_TOTAL_NS: u64 = u64::MAX / 1000;

impl<'a> Builder<'a> {
    pub fn new(spec: &'a Spec, gaps: &'a [u64], comms: &'a [Comm], take: Take<'a>) -> Self {
        let rank = || Rank {
            dep: 0,
            after: DepId::None,
            gap: 0,
            total: 0,
        };
        Self {
            spec,
            gaps,
            comms,
            take,
            ranks: (0..spec.ranks).map(|_| rank()).collect(),
            counts: Counts::default(),
        }
    }

    /// `rank` computes.
    pub fn compute(&mut self, rank: u32, ns: u64) -> Result<(), GenerateError> {
        let rank = &mut self.ranks[rank as usize];
        rank.total = rank.total.saturating_add(ns);
        if rank.total > MAX_TOTAL_NS {
            return Err(GenerateError::Spec(
                "the computation of a rank exceeds 2^64 picoseconds (213 days): choose less \
                 computation or fewer iterations"
                    .into(),
            ));
        }
        rank.gap += ns;
        Ok(())
    }

    /// Every rank computes for its entry of `gaps`.
    pub fn compute_all(&mut self) -> Result<(), GenerateError> {
        (0..)
            .zip(self.gaps)
            .try_for_each(|(rank, &ns)| self.compute(rank, ns))
    }

    /// Every rank computes for half 0 or half 1 of its entry of `gaps`.
    pub fn compute_half(&mut self, half: u64) -> Result<(), GenerateError> {
        (0..)
            .zip(self.gaps)
            .try_for_each(|(rank, &ns)| self.compute(rank, ns / 2 + ns % 2 * half))
    }

    /// Id of the next message or marker; they count up by one.
    pub fn next_id(&self) -> u64 {
        self.counts.messages + self.counts.markers
    }

    /// `src` sends; returns the id of the message.
    pub fn send(&mut self, src: u32, dst: u32, size: u64) -> Result<u64, GenerateError> {
        let bytes = self.counts.bytes.checked_add(size);
        self.counts.bytes = bytes.ok_or_else(|| {
            GenerateError::Spec("the messages have 2^64 bytes or more together".into())
        })?;
        let id = self.point(src, dst, size, 4)?;
        self.counts.messages += 1;
        Ok(id)
    }

    /// `rank` waits for a message to it.
    pub fn wait(&mut self, rank: u32, message: u64) -> Result<(), GenerateError> {
        self.point(rank, rank, 0, 0)?;
        self.counts.markers += 1;
        let rank = &mut self.ranks[rank as usize];
        (rank.dep, rank.after) = (2, DepId::Message(message));
        Ok(())
    }

    fn point(&mut self, src: u32, dst: u32, size: u64, bit: u8) -> Result<u64, GenerateError> {
        let id = self.next_id();
        let rank = &mut self.ranks[src as usize];
        let message = Message {
            id,
            src,
            dst,
            size,
            dep: Dep(rank.dep | bit),
            time: std::mem::take(&mut rank.gap),
            after: rank.after,
        };
        (rank.dep, rank.after) = (1, DepId::Message(id));
        (self.take)(&Record::Message(message))?;
        Ok(id)
    }

    /// All members of a communicator enter a collective with the same sizes.
    pub fn collective(
        &mut self,
        comm: u32,
        op: Op,
        send: u64,
        recv: u64,
    ) -> Result<(), GenerateError> {
        self.rooted(comm, op, [send, recv], [send, recv])
    }

    /// All members of a communicator enter a collective with the sizes `others`, the first one with the sizes `root`.
    pub fn rooted(
        &mut self,
        comm: u32,
        op: Op,
        root: [u64; 2],
        others: [u64; 2],
    ) -> Result<(), GenerateError> {
        let id = self.counts.collectives;
        for (at, &task) in self.comms[comm as usize].members.iter().enumerate() {
            let [send, recv] = if at == 0 { root } else { others };
            let rank = &mut self.ranks[task as usize];
            let member = Member {
                id,
                comm,
                op: op as u32,
                task,
                send,
                recv,
                dep: Dep(rank.dep),
                time: std::mem::take(&mut rank.gap),
                after: rank.after,
            };
            (rank.dep, rank.after) = (3, DepId::Collective(id));
            (self.take)(&Record::Member(member))?;
            self.counts.members += 1;
        }
        self.counts.collectives += 1;
        Ok(())
    }

    /// Every rank ends.
    pub fn finish(mut self) -> Result<Counts, GenerateError> {
        for rank in 0..self.ranks.len() as u32 {
            self.point(rank, rank, 0, 0)?;
            self.counts.markers += 1;
        }
        Ok(self.counts)
    }
}
