//! Arbiters over VLs (section 6).

use flitwise_fabric::spec::voq::{HIGH_LIMIT_BYTES, VL_WEIGHT_BYTES, VlArb, VlWeight};

/// The state of one arbiter.
#[derive(Debug, Clone)]
pub enum Arbiter {
    /// One packet per VL in turn.
    RoundRobin {
        /// VL that is looked at first.
        pointer: usize,
    },
    /// The arbitration tables of InfiniBand.
    Tables {
        /// High-priority table.
        high: Table,
        /// Low-priority table.
        low: Table,
        /// Limit of High Priority.
        high_limit: u8,
        /// Bytes that the high table may still send.
        budget: i64,
    },
}

/// One arbitration table.
#[derive(Debug, Clone)]
pub struct Table {
    entries: Vec<VlWeight>,
    position: usize,
    rest: i64,
}

/// A VL picked, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// The VL.
    pub vl: usize,
    /// Entry of the table, with its weight anew or with the rest of it.
    entry: usize,
    anew: bool,
    high: bool,
}

impl Arbiter {
    /// The arbiter as configured, before its first pick.
    #[must_use]
    pub fn new(config: &VlArb) -> Self {
        let table = |entries: &[VlWeight]| Table {
            entries: entries.to_vec(),
            position: 0,
            rest: entries.first().map_or(0, |entry| entry.weight.into()),
        };
        match config {
            VlArb::RoundRobin => Self::RoundRobin { pointer: 0 },
            VlArb::Tables {
                high,
                low,
                high_limit,
            } => Self::Tables {
                high: table(high),
                low: table(low),
                high_limit: *high_limit,
                budget: full_budget(*high_limit),
            },
        }
    }

    /// The VL that is next among the candidates, if there is one.
    #[must_use]
    pub fn pick(&self, candidates: &[bool]) -> Option<Pick> {
        match self {
            Self::RoundRobin { pointer } => {
                let vls = candidates.len();
                let vl = (0..vls)
                    .map(|step| (pointer + step) % vls)
                    .find(|&vl| candidates[vl])?;
                Some(Pick {
                    vl,
                    entry: 0,
                    anew: false,
                    high: false,
                })
            }
            Self::Tables {
                high, low, budget, ..
            } => {
                let (above, below) = (high.find(candidates), low.find(candidates));
                let in_budget = *budget > 0;
                match (above, below) {
                    (Some((vl, entry, anew)), below) if in_budget || below.is_none() => {
                        Some(Pick {
                            vl,
                            entry,
                            anew,
                            high: true,
                        })
                    }
                    (_, Some((vl, entry, anew))) => Some(Pick {
                        vl,
                        entry,
                        anew,
                        high: false,
                    }),
                    _ => None,
                }
            }
        }
    }

    /// The packet picked, of `bytes` bytes, is granted.
    pub fn grant(&mut self, pick: Pick, vls: usize, bytes: u64) {
        match self {
            Self::RoundRobin { pointer } => *pointer = (pick.vl + 1) % vls,
            Self::Tables {
                high,
                low,
                high_limit,
                budget,
            } => {
                let table = if pick.high { high } else { low };
                if pick.anew {
                    table.position = pick.entry;
                    table.rest = table.entries[pick.entry].weight.into();
                }
                table.rest -= bytes.div_ceil(VL_WEIGHT_BYTES.into()) as i64;
                if !pick.high || *budget <= 0 {
                    *budget = full_budget(*high_limit);
                }
                if pick.high && *high_limit < u8::MAX {
                    *budget -= bytes as i64;
                }
            }
        }
    }
}

fn full_budget(high_limit: u8) -> i64 {
    (i64::from(high_limit) * i64::from(HIGH_LIMIT_BYTES)).max(1)
}

impl Table {
    /// VL and entry of the next packet; true if the entry begins anew.
    fn find(&self, candidates: &[bool]) -> Option<(usize, usize, bool)> {
        let entry = self.entries.get(self.position)?;
        let vl = usize::from(entry.vl);
        if candidates[vl] && self.rest > 0 {
            return Some((vl, self.position, false));
        }
        let count = self.entries.len();
        (1..=count)
            .map(|step| (self.position + step) % count)
            .find(|&at| {
                let entry = self.entries[at];
                entry.weight > 0 && candidates[usize::from(entry.vl)]
            })
            .map(|at| (usize::from(self.entries[at].vl), at, true))
    }
}
