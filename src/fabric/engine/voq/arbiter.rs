//! VL arbitration: round robin, or the high and low tables of InfiniBand
//! (`docs/model/infiniband.md` §6).
//!
//! A switch output asks its arbiter in phase 5, a NIC's send engine in phase 7 (b): which VL is
//! next among those whose packet in turn has credits. [`Arbiters::pick`] changes nothing. The state
//! moves with [`Arbiters::advance`], once the picked packet has been accepted or fetched.
//! The arbiter does not choose among the in-ports or the queue pairs of a VL.

use crate::engine::bits::first_from;
use crate::spec::voq::{HIGH_LIMIT_BYTES, VL_WEIGHT_BYTES, VlArb, VlWeight};

/// The arbiters of all switch outputs, or of all NICs; a *port* is one of them.
#[derive(Debug)]
pub(super) enum Arbiters {
    /// Per port: the VL after the one that was served last.
    RoundRobin { next: Vec<u8> },
    /// The tables of InfiniBand.
    Tables(Box<Tables>),
}

/// Arbiters with tables. Arrays of two belong to the high and to the low table.
#[derive(Debug)]
pub(super) struct Tables {
    /// Entries, in their order.
    entries: [Vec<VlWeight>; 2],
    /// Bit set of the VLs with an entry of weight > 0.
    listed: [u32; 2],
    /// Bytes that high-priority packets may send in a row, unless `unlimited`.
    full_budget: i64,
    /// High-priority packets use up no budget.
    unlimited: bool,
    /// State per port.
    ports: Vec<TablePort>,
}

/// State of one port.
#[derive(Debug, Clone, Copy)]
struct TablePort {
    /// Index of the entry that was served last.
    position: [u8; 2],
    /// Weight left of that entry, in units of 64 B; negative after a packet that exceeded it.
    rest: [i32; 2],
    /// Bytes that high-priority packets may still send before a low-priority packet gets its
    /// turn.
    budget: i64,
}

/// A VL that an arbiter picked, and by which entry of its tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pick {
    pub vl: u8,
    /// [`HIGH`] or [`LOW`].
    table: u8,
    /// Index of the entry in its table.
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
        let listed = |table: &[VlWeight]| {
            let with_weight = table.iter().filter(|entry| entry.weight > 0);
            with_weight.fold(0, |vls, entry| vls | 1 << entry.vl)
        };
        let full_budget = (i64::from(*high_limit) * i64::from(HIGH_LIMIT_BYTES)).max(1);
        Self::Tables(Box::new(Tables {
            listed: [listed(high), listed(low)],
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

    /// Picks the next VL of `port` among `candidates`, a bit set of VLs that is not empty.
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

    /// The picked packet, of `bytes` bytes, has been accepted or fetched: moves the state of
    /// `port` past it.
    #[inline]
    pub(super) fn advance(&mut self, port: usize, pick: Pick, bytes: u64) {
        match self {
            Self::RoundRobin { next } => next[port] = pick.vl + 1,
            Self::Tables(tables) => tables.advance(port, pick, bytes),
        }
    }
}

impl Tables {
    fn pick(&self, port: usize, candidates: u32) -> Pick {
        let state = &self.ports[port];
        let [high, low] = self.listed.map(|vls| vls & candidates);
        // Every VL in use has an entry of weight > 0, so one of the tables has a candidate.
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

    fn advance(&mut self, port: usize, pick: Pick, bytes: u64) {
        let table = usize::from(pick.table);
        let state = &mut self.ports[port];
        if pick.anew {
            state.position[table] = pick.entry;
            state.rest[table] = self.entries[table][usize::from(pick.entry)].weight.into();
        }
        // The rest saturates: a packet may have more bytes than it can hold.
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
