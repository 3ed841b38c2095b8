//! The arbiters over VLs of switch outputs and adapters (`docs/model-infiniband.md` §6).

use crate::fabric::engine::bits::first_from;
use crate::fabric::infiniband::{HIGH_LIMIT_BYTES, VL_WEIGHT_BYTES, VlArb, VlWeight};

/// The arbiters of all ports of a kind.
#[derive(Debug)]
pub(super) enum Arbiters {
    /// The VL after the one that was served last, of each port.
    RoundRobin {
        next: Vec<u8>,
    },
    Tables(Box<Tables>),
}

/// Arbiters with tables.
#[derive(Debug)]
pub(super) struct Tables {
    /// High- and low-priority entries.
    entries: [Vec<VlWeight>; 2],
    /// VLs with an entry that has weight.
    served: [u32; 2],
    /// Bytes that high-priority packets may send in a row; `None`: any number.
    full_budget: i64,
    unlimited: bool,
    ports: Vec<TablePort>,
}

/// State of one port.
#[derive(Debug, Clone, Copy)]
struct TablePort {
    position: [u8; 2],
    /// Weight left of the entry at the position.
    rest: [i32; 2],
    budget: i64,
}

/// A VL picked, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pick {
    pub vl: u8,
    /// 0: high-priority table, 1: low.
    table: u8,
    entry: u8,
    /// The entry begins with its whole weight.
    anew: bool,
}

const HIGH: usize = 0;
const LOW: usize = 1;

impl Arbiters {
    pub(super) fn new(config: &VlArb, ports: usize) -> Self {
        let VlArb::Tables {
            high,
            low,
            high_limit,
        } = config
        else {
            return Self::RoundRobin {
                next: vec![0; ports],
            };
        };
        let first = |table: &[VlWeight]| table.first().map_or(0, |entry| entry.weight.into());
        let served = |table: &[VlWeight]| {
            let with_weight = table.iter().filter(|entry| entry.weight > 0);
            with_weight.fold(0, |vls, entry| vls | 1 << entry.vl)
        };
        let full_budget = (i64::from(*high_limit) * i64::from(HIGH_LIMIT_BYTES)).max(1);
        Self::Tables(Box::new(Tables {
            served: [served(high), served(low)],
            full_budget,
            unlimited: *high_limit == u8::MAX,
            ports: vec![
                TablePort {
                    position: [0, 0],
                    rest: [first(high), first(low)],
                    budget: full_budget,
                };
                ports
            ],
            entries: [high.clone(), low.clone()],
        }))
    }

    /// The next VL of `port` among `candidates`, of which there is one at least.
    #[inline]
    pub(super) fn pick(&self, port: usize, candidates: u32) -> Pick {
        match self {
            Self::RoundRobin { next } => Pick {
                vl: first_from(candidates.into(), next[port]) as u8,
                ..Pick::default()
            },
            Self::Tables(tables) => tables.pick(port, candidates),
        }
    }

    /// The packet picked, of `bytes` bytes, is granted.
    #[inline]
    pub(super) fn grant(&mut self, port: usize, pick: Pick, bytes: u64) {
        match self {
            Self::RoundRobin { next } => next[port] = pick.vl + 1,
            Self::Tables(tables) => tables.grant(port, pick, bytes),
        }
    }
}

impl Tables {
    fn pick(&self, port: usize, candidates: u32) -> Pick {
        let state = &self.ports[port];
        let [high, low] = self.served.map(|vls| vls & candidates);
        // Every VL in use has an entry with weight: one of the tables has a candidate.
        let table = if high != 0 && (state.budget > 0 || low == 0) {
            HIGH
        } else {
            LOW
        };
        let (entries, at) = (&self.entries[table], usize::from(state.position[table]));
        let pick = |entry: usize, anew| Pick {
            vl: entries[entry].vl,
            table: table as u8,
            entry: entry as u8,
            anew,
        };
        let is_candidate = |entry: &VlWeight| candidates & 1 << entry.vl != 0;
        if state.rest[table] > 0 && is_candidate(&entries[at]) {
            return pick(at, false);
        }
        let count = entries.len();
        let entry = (1..=count)
            .map(|step| (at + step) % count)
            .find(|&entry| entries[entry].weight > 0 && is_candidate(&entries[entry]));
        pick(entry.unwrap_or(at), true)
    }

    fn grant(&mut self, port: usize, pick: Pick, bytes: u64) {
        let table = usize::from(pick.table);
        let state = &mut self.ports[port];
        if pick.anew {
            state.position[table] = pick.entry;
            state.rest[table] = self.entries[table][usize::from(pick.entry)].weight.into();
        }
        // A packet has at most 2^15 flits of at most 2^32 bytes.
        let units = bytes.div_ceil(VL_WEIGHT_BYTES.into());
        state.rest[table] =
            i32::try_from(units).map_or(i32::MIN, |units| state.rest[table].saturating_sub(units));
        if table == LOW || state.budget <= 0 {
            state.budget = self.full_budget;
        }
        if table == HIGH && !self.unlimited {
            state.budget = state.budget.saturating_sub_unsigned(bytes);
        }
    }
}
