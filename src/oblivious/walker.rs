//! The routes of a level and their common edges: every route is looked up once, and cables are counted by index.

use super::graph::{EdgeId, HostId};
use super::network::Network;
use super::pattern::{Level, Pair};
use flitwise_base::stop::{Stop, StopEvery, Stopped};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which of several addresses of a host (LMC) a pair uses.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PathChoice {
    /// Always the first, like programs that do not know of LMC.
    #[default]
    First,
    /// Source modulo number of paths.
    BySource,
    /// (Source + destination) modulo number of paths.
    ByPair,
}

impl PathChoice {
    /// The path of a pair among `paths`.
    #[inline]
    #[must_use]
    pub fn of(self, src: HostId, dst: HostId, paths: u32) -> u32 {
        match self {
            Self::First => 0,
            Self::BySource => src.get() % paths,
            Self::ByPair => src.get().wrapping_add(dst.get()) % paths,
        }
    }

    /// Whether it has a choice among `paths`.
    ///
    /// # Errors
    /// If it chooses among one.
    pub fn check(self, paths: u32) -> Result<(), String> {
        if self == Self::First || paths > 1 {
            return Ok(());
        }
        Err(
            "chooses among several addresses of a host (LMC), but each host has one; leave it out"
                .to_owned(),
        )
    }

    /// The paths among `paths` that pairs can use.
    #[must_use]
    pub fn used(self, paths: u32) -> Range<u32> {
        match self {
            Self::First => 0..1,
            Self::BySource | Self::ByPair => 0..paths,
        }
    }
}

/// Levels of more pairs are walked twice rather than kept.
const MOST_KEPT: usize = 1 << 21;
/// Pairs between two looks at the token that stops the work: some milliseconds.
pub(super) const PAIRS_AT_A_TIME: u32 = 1 << 12;

/// Counts routes over the edges of a network, level by level.
#[derive(Debug)]
pub struct Walker<'a> {
    network: &'a Network,
    choice: PathChoice,
    /// Edges of the routes that are kept, one after the other.
    routes: Vec<EdgeId>,
    /// End of the route of every pair in `routes`.
    ends: Vec<u32>,
    /// Whether `routes` has the routes of the level that was counted last.
    kept: bool,
    load: Vec<u64>,
    lost: u64,
    stop: StopEvery<'a>,
}

/// The load that a pair of a level meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experience<'r> {
    /// Number of the pair in its level.
    pub at: usize,
    /// Largest load of an edge of its route: pairs, or bytes in levels with weights. 0 for a rank that sends to itself
    /// and for a pair without a route.
    pub congestion: u64,
    /// Its route.
    pub route: &'r [EdgeId],
}

impl<'a> Walker<'a> {
    /// A walker without a load.
    #[must_use]
    pub fn new(network: &'a Network, choice: PathChoice) -> Self {
        Self {
            network,
            choice,
            routes: Vec::new(),
            ends: Vec::new(),
            kept: true,
            load: vec![0; network.graph.edges().len()],
            lost: 0,
            stop: Stop::never().every(PAIRS_AT_A_TIME),
        }
    }

    /// The same walker, which `stop` ends within a level.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop<'a>) -> Self {
        self.stop = stop.every(PAIRS_AT_A_TIME);
        self
    }

    /// Counts the routes of `level`, whose ranks run on `hosts`, and of no other level.
    ///
    /// # Errors
    /// If it is stopped.
    pub fn count(&mut self, level: &Level, hosts: &[HostId]) -> Result<(), Stopped> {
        self.forget();
        self.kept = level.pairs.len() <= MOST_KEPT;
        for (at, &pair) in level.pairs.iter().enumerate() {
            self.stop.check()?;
            let begin = if self.kept { self.routes.len() } else { 0 };
            self.routes.truncate(begin);
            if !self.walk(pair, hosts) {
                self.lost += 1;
            }
            let weight = level.weights.get(at).copied().unwrap_or(1);
            for edge in &self.routes[begin..] {
                let load = &mut self.load[edge.index()];
                *load = load.saturating_add(weight);
            }
            if self.kept {
                self.ends.push(self.routes.len() as u32);
            }
        }
        Ok(())
    }

    /// Calls `see` with the experience of every pair of the level, which must be the one that was counted.
    ///
    /// # Errors
    /// If it is stopped.
    pub fn each(
        &mut self,
        level: &Level,
        hosts: &[HostId],
        mut see: impl FnMut(Experience<'_>),
    ) -> Result<(), Stopped> {
        let mut begin = 0;
        for (at, &pair) in level.pairs.iter().enumerate() {
            self.stop.check()?;
            let end = match self.ends.get(at) {
                Some(&end) => end as usize,
                None => {
                    self.routes.clear();
                    self.walk(pair, hosts);
                    begin = 0;
                    self.routes.len()
                }
            };
            let route = &self.routes[begin..end];
            let loads = route.iter().map(|edge| self.load[edge.index()]);
            let congestion = loads.max().unwrap_or(0);
            see(Experience {
                at,
                congestion,
                route,
            });
            begin = end;
        }
        Ok(())
    }

    /// Load of every edge from the level that was counted last.
    #[must_use]
    pub fn load(&self) -> &[u64] {
        &self.load
    }

    /// Pairs without a route so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn forget(&mut self) {
        if self.kept {
            for edge in &self.routes {
                self.load[edge.index()] = 0;
            }
        } else {
            self.load.fill(0);
        }
        self.routes.clear();
        self.ends.clear();
    }

    /// Appends the route of a pair; false if it has none.
    #[inline]
    fn walk(&mut self, pair: Pair, hosts: &[HostId]) -> bool {
        let [src, dst] = [pair.from, pair.to].map(|rank| hosts[rank as usize]);
        let path = self.choice.of(src, dst, self.network.tables.paths());
        self.network.route(src, dst, path, &mut self.routes).is_ok()
    }
}
