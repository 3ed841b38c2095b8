//! The load that patterns put on every edge over all levels and runs (`get_cable_cong`).

use super::graph::EdgeId;

/// How a level counts for its cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CableCounts {
    /// Not at all.
    #[default]
    None,
    /// By the load of the edge, once per level, as the report has it.
    PerLevel,
    /// As the program counts: it adds up the loads so far after every pair. So the k-th of m pairs counts m − k + 1
    /// times.
    AsOrcs,
}

/// Load of an edge over all levels and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CableLoad {
    /// Sum over levels and runs.
    pub sum: u64,
    /// Largest load in a level.
    pub peak: u64,
    /// Run and level of the first such level.
    pub peak_at: (u64, u32),
}

impl CableLoad {
    /// Adds `load` of a level on the edge.
    #[inline]
    pub(super) fn add(&mut self, load: u64, at: (u64, u32)) {
        if load > self.peak || (load == self.peak && at < self.peak_at) {
            (self.peak, self.peak_at) = (load, at);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        if other.peak > 0 {
            self.add(other.peak, other.peak_at);
        }
    }
}

/// The loads of all edges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cables {
    /// By edge; empty if they were not counted.
    pub loads: Vec<CableLoad>,
}

impl Cables {
    pub(super) fn merge(&mut self, other: &Self) {
        if self.loads.is_empty() {
            self.loads.clone_from(&other.loads);
            return;
        }
        for (own, other) in self.loads.iter_mut().zip(&other.loads) {
            own.merge(other);
        }
    }

    /// Largest sum of an edge.
    #[must_use]
    pub fn largest_sum(&self) -> u64 {
        self.loads.iter().map(|load| load.sum).max().unwrap_or(0)
    }

    /// The edges with a load, the fullest first; of equal ones the first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(EdgeId, CableLoad)> {
        let all = EdgeId::all(self.loads.len() as u32).zip(self.loads.iter().copied());
        let mut used: Vec<_> = all.filter(|(_, load)| load.peak > 0).collect();
        used.sort_by(|a, b| {
            (b.1.sum, b.1.peak)
                .cmp(&(a.1.sum, a.1.peak))
                .then(a.0.cmp(&b.0))
        });
        used
    }
}
