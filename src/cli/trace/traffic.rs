//! What the ranks of a trace of another format than VEF send to each other and compute.

use flitwise::replay::mpi::Call;
use flitwise::replay::program::{Action as Does, Program, RankId, StreamId};
use flitwise_formats::Error;
use flitwise_formats::goal::{Schedule, Task};
use flitwise_formats::limits::MAX_PAIRS;
use flitwise_formats::ti::{Action, Trace};
use flitwise_formats::vef::Pair;
use std::collections::HashMap;

/// Messages from point to point, and computation.
#[derive(Default)]
pub(super) struct Traffic {
    pub ranks: u32,
    pub messages: u64,
    pub bytes: u64,
    pub self_messages: u64,
    /// By size: entry 0 counts empty messages, entry i messages of 2^(i − 1) ≤ bytes < 2^i.
    pub sizes: Vec<u64>,
    /// Most bytes first.
    pub pairs: Vec<Pair>,
    /// Messages and bytes of the pairs beyond a number.
    pub other_pairs: (u64, u64),
    /// Computation of each rank, in the unit of the format: nanoseconds, or flops.
    pub computation: Vec<f64>,
}

/// Messages and bytes by pair.
type Pairs = HashMap<(u32, u32), (u64, u64)>;

impl Traffic {
    fn new(ranks: u32) -> Self {
        Self {
            ranks,
            sizes: vec![0; 65],
            computation: vec![0.0; ranks as usize],
            ..Self::default()
        }
    }

    pub fn of_schedule(schedule: &Schedule) -> Result<Self, Error> {
        let mut traffic = Self::new(schedule.ranks());
        let mut pairs = Pairs::new();
        for rank in 0..schedule.ranks() {
            let mut block = schedule.rank(rank)?;
            for index in 0..block.len() {
                match block.node(index)?.op.task {
                    Task::Send { bytes, to, .. } => traffic.add(&mut pairs, rank, to, bytes),
                    Task::Calc { time } => traffic.computation[rank as usize] += time as f64,
                    Task::Recv { .. } => {}
                }
            }
        }
        traffic.sort(pairs);
        Ok(traffic)
    }

    pub fn of_actions(trace: &Trace) -> Result<Self, Error> {
        let mut traffic = Self::new(trace.ranks());
        let mut pairs = Pairs::new();
        for rank in 0..trace.ranks() {
            let mut actions = trace.rank(rank)?;
            while let Some((_, action)) = actions.next_action()? {
                match action {
                    Action::Send { to, elements, .. } => {
                        traffic.add(&mut pairs, rank, to, elements.bytes());
                    }
                    Action::SendRecv { to, send, .. } => {
                        traffic.add(&mut pairs, rank, to, send.bytes());
                    }
                    Action::Compute { flops } => traffic.computation[rank as usize] += flops,
                    _ => {}
                }
            }
        }
        traffic.sort(pairs);
        Ok(traffic)
    }

    /// Of a trace of calls; computation in nanoseconds.
    pub fn of_program(program: &mut dyn Program) -> anyhow::Result<Self> {
        let mut traffic = Self::new(program.ranks());
        let mut pairs = Pairs::new();
        for rank in RankId::all(program.ranks()) {
            while let Some(op) = program.next(rank, StreamId::new(0))? {
                traffic.computation[rank.index()] += op.compute_ps as f64 / 1000.0;
                if let Does::Mpi(call) = &op.action
                    && let Call::Send { to, bytes, .. } = &**call
                {
                    traffic.add(&mut pairs, rank.get(), to.get(), *bytes);
                }
            }
        }
        traffic.sort(pairs);
        Ok(traffic)
    }

    fn add(&mut self, pairs: &mut Pairs, src: u32, dst: u32, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.self_messages += u64::from(src == dst);
        self.sizes[(u64::BITS - bytes.leading_zeros()) as usize] += 1;
        let known = pairs.len() < MAX_PAIRS || pairs.contains_key(&(src, dst));
        let (messages, sum) = match known {
            true => pairs.entry((src, dst)).or_default(),
            false => &mut self.other_pairs,
        };
        *messages += 1;
        *sum = sum.saturating_add(bytes);
    }

    fn sort(&mut self, pairs: Pairs) {
        let pair = |((src, dst), (messages, bytes))| Pair {
            src,
            dst,
            messages,
            bytes,
        };
        self.pairs = pairs.into_iter().map(pair).collect();
        let key = |p: &Pair| (std::cmp::Reverse(p.bytes), p.src, p.dst);
        self.pairs.sort_unstable_by_key(key);
    }

    /// Least, mean and most computation of a rank.
    pub fn span(&self) -> [f64; 3] {
        let all = || self.computation.iter().copied();
        let sum: f64 = all().sum();
        let least = all().fold(f64::INFINITY, f64::min);
        [
            least,
            sum / f64::from(self.ranks.max(1)),
            all().fold(0.0, f64::max),
        ]
    }

    /// How much longer the busiest rank computes than the mean.
    pub fn imbalance(&self) -> f64 {
        match self.span() {
            [_, mean, most] if mean > 0.0 => most / mean - 1.0,
            _ => 0.0,
        }
    }
}
