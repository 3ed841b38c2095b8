//! Which hosts take part, and which rank runs where (ORCS, section 4).

use super::graph::{Graph, HostId};
use flitwise_base::random::{Purpose, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Which hosts of the network take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subset {
    /// Drawn at random, once for all runs, as ORCS does.
    Random,
    /// Drawn at random before every run.
    RandomEachRun,
    /// The first in a breadth-first search: few leaf switches.
    LinearBfs,
    /// The first of the network.
    First,
    /// These, in this order.
    #[serde(skip)]
    Listed(Vec<HostId>),
}

/// How ranks get their hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Which hosts take part.
    pub subset: Subset,
    /// Number of ranks.
    pub ranks: u32,
    /// The hosts are put in a random order before every run; otherwise rank r is on the r-th host, of drawn hosts in the
    /// order of the network.
    pub shuffle: bool,
}

impl Mapping {
    /// Whether `graph` has the hosts.
    ///
    /// # Errors
    /// If it has fewer, or a list does.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        let (have, what) = match &self.subset {
            Subset::Listed(hosts) => (hosts.len(), "the list names"),
            _ => (graph.hosts().len(), "the network has"),
        };
        match self.ranks as usize {
            0 => Err("a pattern needs at least one rank".into()),
            ranks if ranks > have => Err(format!("{ranks} ranks, but {what} {have} hosts")),
            _ => Ok(()),
        }
    }

    /// The hosts that all runs draw from.
    #[must_use]
    pub fn pool(&self, graph: &Graph, seed: u64) -> Vec<HostId> {
        let all = || graph.host_ids();
        let mut pool: Vec<HostId> = match &self.subset {
            Subset::Random => {
                let mut pool: Vec<_> = all().collect();
                Stream::new(seed, Purpose::Hosts, [u64::MAX, 0]).shuffle(&mut pool);
                pool
            }
            Subset::RandomEachRun => return all().collect(),
            Subset::LinearBfs => breadth_first(graph),
            Subset::First => all().collect(),
            Subset::Listed(hosts) => hosts.clone(),
        };
        pool.truncate(self.ranks as usize);
        self.restore(&mut pool);
        pool
    }

    /// Writes the host of every rank in `run` to `hosts`. `pool` is what [`Mapping::pool`] gave for the seed.
    pub fn draw(&self, pool: &[HostId], seed: u64, run: u64, hosts: &mut Vec<HostId>) {
        hosts.clear();
        hosts.extend_from_slice(pool);
        if self.shuffle || self.subset == Subset::RandomEachRun {
            Stream::new(seed, Purpose::Hosts, [run, 1]).shuffle(hosts);
        }
        hosts.truncate(self.ranks as usize);
        self.restore(hosts);
    }

    /// Puts drawn hosts in the order of the network, unless ranks are shuffled: the draw decides which hosts take part,
    /// not which rank each has.
    fn restore(&self, hosts: &mut [HostId]) {
        if self.is_drawn() && !self.shuffle {
            hosts.sort_unstable();
        }
    }

    /// Whether a draw decides which hosts take part.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        matches!(self.subset, Subset::Random | Subset::RandomEachRun)
    }
}

/// All hosts as a breadth-first search finds them from the first node; of parts that are not connected to it, from the
/// first node of each.
fn breadth_first(graph: &Graph) -> Vec<HostId> {
    let mut found = Vec::with_capacity(graph.hosts().len());
    let mut seen = vec![false; graph.nodes().len()];
    let mut queue = VecDeque::new();
    for begin in graph.node_ids() {
        if std::mem::replace(&mut seen[begin.index()], true) {
            continue;
        }
        queue.push_back(begin);
        while let Some(node) = queue.pop_front() {
            found.extend(graph.host_at(node));
            for edge in graph.edges_of(node) {
                let to = graph.edge(edge).to;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    queue.push_back(to);
                }
            }
        }
    }
    found
}
