//! Output schedulers (`docs/model/fabric.md` §8): which VL's head goes next.

use super::packet::Packet;
use super::switch_of;
use flitwise_fabric::spec::FabricSpec;
use flitwise_fabric::spec::hierarchical::{DTABLE_UNIT_BYTES, DTableEntry, Scheduler as Kind};

/// A VL whose head is ready and has quota at the other end.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub vl: usize,
    /// Service level of the head.
    pub sl: usize,
    /// Size of the head in units of 64 bytes, rounded up.
    pub units: u32,
}

impl Candidate {
    pub fn new(vl: usize, head: &Packet, spec: &FabricSpec) -> Self {
        let bytes = head.flits * spec.units.flit_bytes;
        Self {
            vl,
            sl: usize::from(head.sl),
            units: bytes.div_ceil(DTABLE_UNIT_BYTES),
        }
    }
}

/// State of one scheduler.
#[derive(Debug, Clone)]
pub enum Scheduler {
    RrVl { vls: usize, pointer: usize },
    Sbt(Sbt),
    DTable(DTable),
}

impl Scheduler {
    pub fn new(spec: &FabricSpec) -> Self {
        let vls = usize::from(spec.qos.vls);
        let levels = spec.qos.service_levels.len();
        match &switch_of(spec).scheduler {
            Kind::RrVl => Self::RrVl { vls, pointer: 0 },
            Kind::Sbt { weights } => Self::Sbt(Sbt::new(vls, weights)),
            Kind::DTable { entries } => Self::DTable(DTable::new(vls, levels, entries)),
        }
    }

    /// The VL to send from, if any. To be asked in every tick in which the
    /// link is free: DTable forgets a deficit even when nothing can be sent.
    pub fn select(&mut self, candidates: &[Candidate]) -> Option<usize> {
        match self {
            Self::RrVl { vls, pointer } => {
                let chosen = from_pointer(*vls, *pointer, candidates).next()?;
                *pointer = (chosen.vl + 1) % *vls;
                Some(chosen.vl)
            }
            Self::Sbt(sbt) => sbt.select(candidates),
            Self::DTable(table) => table.select(candidates),
        }
    }
}

/// The candidates in the order of a scan of all VLs that starts at `pointer`.
fn from_pointer(
    vls: usize,
    pointer: usize,
    candidates: &[Candidate],
) -> impl Iterator<Item = Candidate> {
    (0..vls)
        .map(move |step| (pointer + step) % vls)
        .filter_map(|vl| candidates.iter().find(|c| c.vl == vl).copied())
}

/// Simple Bandwidth Table (Hiperion, Algorithm 1).
#[derive(Debug, Clone)]
pub struct Sbt {
    vls: usize,
    /// The VL selected last, at which the scan starts: an SL keeps the link
    /// until its weight is spent.
    last: usize,
    full: Vec<u32>,
    left: Vec<u32>,
}

impl Sbt {
    fn new(vls: usize, weights: &[u32]) -> Self {
        Self {
            vls,
            last: 0,
            full: weights.to_vec(),
            left: weights.to_vec(),
        }
    }

    fn select(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let mut scan = from_pointer(self.vls, self.last, candidates);
        let chosen = scan.find(|c| self.left[c.sl] > 0);
        let vl = if let Some(Candidate { vl, sl, .. }) = chosen {
            self.left[sl] -= 1;
            if self.left.iter().all(|&weight| weight == 0) {
                self.left.clone_from(&self.full);
            }
            vl
        } else {
            from_pointer(self.vls, self.last, candidates).last()?.vl
        };
        self.last = vl;
        Some(vl)
    }
}

/// Deficit table (Hiperion, Algorithm 2).
#[derive(Debug, Clone)]
pub struct DTable {
    vls: usize,
    entries: Vec<DTableEntry>,
    /// The entry at which the next search starts.
    position: usize,
    last_sl: usize,
    accumulated: u32,
    deficit: Vec<u32>,
    vl_pointer: Vec<usize>,
}

impl DTable {
    fn new(vls: usize, sls: usize, entries: &[DTableEntry]) -> Self {
        Self {
            vls,
            entries: entries.to_vec(),
            position: 0,
            last_sl: 0,
            accumulated: 0,
            deficit: vec![0; sls],
            vl_pointer: vec![0; sls],
        }
    }

    /// The packet that `sl` would send, if it is active.
    fn packet_of(&self, sl: usize, candidates: &[Candidate]) -> Option<Candidate> {
        from_pointer(self.vls, self.vl_pointer[sl], candidates).find(|c| c.sl == sl)
    }

    fn select(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let goes_on = match self.packet_of(self.last_sl, candidates) {
            None => {
                self.accumulated = 0;
                self.deficit[self.last_sl] = 0;
                false
            }
            Some(packet) if packet.units > self.accumulated => {
                self.deficit[self.last_sl] = self.accumulated;
                false
            }
            Some(_) => true,
        };
        if candidates.is_empty() {
            // No entry is of an active SL.
            return None;
        }
        if !goes_on {
            let turn = self.entries.len();
            let found = (0..turn)
                .map(|step| (self.position + step) % turn)
                .find(|&at| {
                    self.packet_of(usize::from(self.entries[at].sl), candidates)
                        .is_some()
                })?;
            let entry = self.entries[found];
            self.position = (found + 1) % turn;
            self.last_sl = usize::from(entry.sl);
            self.accumulated = self.deficit[self.last_sl] + entry.weight;
        }
        let sl = self.last_sl;
        let packet = self.packet_of(sl, candidates).expect("the SL is active");
        assert!(
            packet.units <= self.accumulated,
            "an entry covers the largest packet of its SL"
        );
        self.accumulated -= packet.units;
        self.vl_pointer[sl] = (packet.vl + 1) % self.vls;
        Some(packet.vl)
    }
}
