//! Counts of congestions.

use std::collections::BTreeMap;

/// Congestions below this are counted by index.
const DENSE: u64 = 1 << 12;

/// The number of connections with each congestion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    low: Vec<u64>,
    high: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts a value several times.
    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        if value >= DENSE {
            *self.high.entry(value).or_default() += count;
            return;
        }
        let at = value as usize;
        if self.low.len() <= at {
            self.low.resize(at + 1, 0);
        }
        self.low[at] += count;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        for (value, count) in other.iter() {
            self.add_many(value, count);
        }
    }

    /// The values that were counted, ascending, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let low = (0..).zip(self.low.iter().copied());
        let high = self.high.iter().map(|(&value, &count)| (value, count));
        low.chain(high).filter(|&(_, count)| count > 0)
    }

    /// The same without 0, the value of ranks that send to themselves and of pairs without a route.
    pub fn of_connections(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.iter().filter(|&(value, _)| value > 0)
    }

    /// Number of values above 0.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.of_connections().map(|(_, count)| count).sum()
    }

    /// Largest value; 0 if there is none.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.iter().last().map_or(0, |(value, _)| value)
    }

    /// Mean share of the bandwidth if a connection of congestion W gets 1/W of it (ORCS's linear model), over all
    /// values above 0; 0 if there is none.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        let connections = self.connections();
        if connections == 0 {
            return 0.0;
        }
        let values = self.iter().filter(|&(value, _)| value > 0);
        let sum: f64 = values
            .map(|(value, count)| count as f64 / value as f64)
            .sum();
        sum / connections as f64
    }
}
