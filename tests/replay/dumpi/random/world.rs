//! A program in the making: what its ranks record, and the operations that it stands for.

use super::super::write::{File, Head, Value, function};
use flitwise::replay::mpi::{Call, CommId, Communicator, RequestId};
use flitwise::replay::program::{Action, After, Op, Place, RankId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `MPI_COMM_WORLD`.
pub const WORLD: usize = 0;

/// A communicator; numbers of ranks are those of the job.
#[derive(Debug, Clone)]
pub struct Comm {
    pub members: Vec<usize>,
    /// The other side.
    pub others: Option<Vec<usize>>,
    pub dims: Option<Vec<i64>>,
    /// By rank, the number that it has there.
    pub handles: BTreeMap<usize, i64>,
    pub freed: bool,
}

/// A rank in the making.
pub struct Rank {
    pub file: File,
    pub expected: Vec<Op>,
    /// Nanoseconds of its clock.
    now: u64,
    /// Computation since the last operation, in nanoseconds.
    computed: u64,
    /// Its last call was a poll that found nothing.
    polled: bool,
    next_request: u64,
    /// Numbers for requests, communicators, groups and datatypes that are free.
    pub free_requests: Vec<i64>,
    pub free_comms: Vec<i64>,
    pub free_types: Vec<i64>,
    next: [i64; 4],
}

pub struct World {
    pub ranks: Vec<Rank>,
    pub comms: Vec<Comm>,
    pub features: Vec<&'static str>,
    /// All calls, for messages.
    pub log: Vec<String>,
}

impl World {
    pub fn new(ranks: usize) -> Self {
        let members: Vec<usize> = (0..ranks).collect();
        let handles = members.iter().map(|&rank| (rank, 2)).collect();
        let world = Comm {
            members,
            others: None,
            dims: None,
            handles,
            freed: false,
        };
        let rank = |_| Rank {
            file: File::default(),
            expected: Vec::new(),
            now: 0,
            computed: 0,
            polled: false,
            next_request: 0,
            free_requests: Vec::new(),
            free_comms: Vec::new(),
            free_types: Vec::new(),
            next: [2, 4, 3, 29],
        };
        let mut made = Self {
            ranks: (0..ranks).map(rank).collect(),
            comms: vec![world],
            features: Vec::new(),
            log: Vec::new(),
        };
        for rank in 0..ranks {
            made.call(rank, 0, "MPI_Init", &[Value::List(Vec::new())]);
            made.call(rank, 5, "MPI_Comm_size", &[2.into(), (ranks as i64).into()]);
        }
        made
    }

    pub fn end(&mut self) {
        for rank in 0..self.ranks.len() {
            self.call(rank, 77, "MPI_Finalize", &[]);
            self.expect(rank, Action::Marker);
        }
    }

    pub fn feature(&mut self, there: bool, feature: &'static str) {
        if there {
            self.features.push(feature);
        }
    }

    /// A rank computes for so many nanoseconds and calls a function.
    pub fn call(&mut self, rank: usize, compute: u64, name: &'static str, values: &[Value]) {
        self.poll_or_call(rank, compute, name, values, false);
    }

    /// The same of a poll that finds nothing.
    pub fn poll(&mut self, rank: usize, compute: u64, name: &'static str, values: &[Value]) {
        self.feature(true, "failed poll");
        self.poll_or_call(rank, compute, name, values, true);
    }

    fn poll_or_call(
        &mut self,
        rank: usize,
        compute: u64,
        name: &'static str,
        values: &[Value],
        fails: bool,
    ) {
        self.log
            .push(format!("{rank}: {compute} ns, {name} {values:?}"));
        self.feature(true, name);
        let one = &mut self.ranks[rank];
        let first = one.file.body.is_empty();
        let start = one.now + compute;
        let stop = start + 1300;
        one.now = stop;
        let is_poll = name.starts_with("MPI_Test") || name == "MPI_Iprobe";
        let of_loop = one.polled && is_poll && compute <= 4000;
        if !first && !of_loop {
            one.computed += compute;
        }
        one.polled = fails;
        let time = |ns: u64| ((ns / 1_000_000_000) as u16, (ns % 1_000_000_000) as u32);
        let span = [time(start), time(stop)];
        let head = Head {
            cpu: [(0, 1), (0, 1)],
            wall: span,
            ..Head::default()
        };
        one.file.record(function(name), head, values);
    }

    /// What the last call of a rank stands for.
    pub fn expect(&mut self, rank: usize, action: Action) {
        let one = &mut self.ranks[rank];
        one.expected.push(Op {
            after: After::Previous,
            compute_ps: std::mem::take(&mut one.computed) * 1000,
            action,
            label: None,
            place: Place::line(1),
        });
    }

    pub fn expect_call(&mut self, rank: usize, call: Call) {
        self.expect(rank, Action::Mpi(Box::new(call)));
    }

    /// A request of the expected operations.
    pub fn id(&mut self, rank: usize) -> RequestId {
        let one = &mut self.ranks[rank];
        one.next_request += 1;
        RequestId(one.next_request)
    }

    fn number(&mut self, rank: usize, kind: usize) -> i64 {
        let one = &mut self.ranks[rank];
        let free = match kind {
            0 => one.free_requests.pop(),
            1 => one.free_comms.pop(),
            3 => one.free_types.pop(),
            _ => None,
        };
        let again = free.is_some();
        let number = free.unwrap_or_else(|| {
            one.next[kind] += 1;
            one.next[kind] - 1
        });
        self.feature(
            again && kind == 1,
            "number of a communicator that comes again",
        );
        self.feature(again && kind == 3, "datatype whose number comes again");
        number
    }

    /// A number for a request, a communicator, a group or a datatype.
    pub fn request(&mut self, rank: usize) -> i64 {
        self.number(rank, 0)
    }

    pub fn comm_number(&mut self, rank: usize) -> i64 {
        self.number(rank, 1)
    }

    pub fn group(&mut self, rank: usize) -> i64 {
        self.number(rank, 2)
    }

    pub fn datatype(&mut self, rank: usize) -> i64 {
        self.number(rank, 3)
    }

    /// The communicator of expected operations, as a rank is in it.
    pub fn communicator(&self, comm: usize, rank: usize) -> Arc<Communicator> {
        let of = &self.comms[comm];
        let side = match &of.others {
            Some(others) if others.contains(&rank) => others,
            _ => &of.members,
        };
        Arc::new(Communicator {
            id: CommId::new(comm as u32),
            members: side.iter().map(|&rank| RankId::new(rank as u32)).collect(),
        })
    }

    /// What a rank calls a communicator.
    pub fn handle(&self, comm: usize, rank: usize) -> i64 {
        self.comms[comm].handles[&rank]
    }
}

pub fn rank_id(rank: usize) -> RankId {
    RankId::new(rank as u32)
}
