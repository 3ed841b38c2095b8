//! Deficit table: entries of (SL, weight) in an order that bounds the latency
//! of each SL (Hiperion §3.3, Algorithm 2).

use super::Head;
use crate::engine::bits::from_on;
use crate::engine::hierarchical::records::Records;
use crate::spec::hierarchical::{DTABLE_UNIT_BYTES, DTableEntry};

#[derive(Debug)]
pub(in crate::engine) struct DTable {
    entries: Vec<DTableEntry>,
    /// Number of entries from a position to the next entry of an SL, at
    /// `[position * sls + sl]`; the number of all entries if the SL has none.
    distance: Vec<u32>,
    sls: usize,
    flit_bytes: u32,
    /// State of each output, a record of `4 + 2 * sls` words. They are the accumulated weight
    /// of the last SL in units of 64 bytes, the position after the last entry used, the
    /// last SL, and a spare word. Then follow, per SL, the deficit in units of 64 bytes
    /// and the VL pointer. A decision touches one or two cache lines.
    state: Records,
}

const ACCUMULATED: usize = 0;
const POSITION: usize = 1;
const LAST_SL: usize = 2;
/// Index of the first word of an SL.
const PER_SL: usize = 4;

impl DTable {
    pub(super) fn new(
        outputs: usize,
        sls: usize,
        entries: &[DTableEntry],
        flit_bytes: u32,
    ) -> Self {
        let n = entries.len();
        let mut distance = vec![n as u32; n * sls];
        for position in 0..n {
            for (ahead, at) in (position..n).chain(0..position).enumerate() {
                let slot = &mut distance[position * sls + usize::from(entries[at].sl)];
                *slot = (*slot).min(ahead as u32);
            }
        }
        Self {
            entries: entries.to_vec(),
            distance,
            sls,
            flit_bytes,
            state: Records::new(outputs, PER_SL + 2 * sls),
        }
    }

    /// Prefetches the state of an output.
    #[inline]
    pub(super) fn prefetch(&self, output: usize) {
        self.state.prefetch(output);
    }

    /// See [`Schedulers::pick`](super::Schedulers::pick).
    #[inline]
    pub(super) fn pick(
        &mut self,
        output: usize,
        candidates: u32,
        head: impl Fn(usize) -> Head,
        was_idle: bool,
    ) -> usize {
        let first = candidates.trailing_zeros() as usize;
        let Head { sl, flits } = head(first);
        let sl = usize::from(sl);
        if candidates.is_power_of_two() {
            // The usual case: there is no choice, but the state still changes.
            let only = (first, self.size(flits));
            return self.advance(
                output,
                was_idle,
                |this, _| (this == sl).then_some(only),
                |_| (sl, only),
            );
        }
        self.pick_among(output, candidates, head, was_idle)
    }

    /// [`DTable::pick`] among several candidates.
    fn pick_among(
        &mut self,
        output: usize,
        candidates: u32,
        head: impl Fn(usize) -> Head,
        was_idle: bool,
    ) -> usize {
        let (flit_bytes, sls) = (self.flit_bytes, self.sls);
        // The packet of an SL: VL and size of the head of its first candidate VL at or
        // after `next`.
        let packet_of = |sl: usize, next: u32| {
            let ahead = from_on(candidates, next as u8);
            for mut vls in [ahead, candidates & !ahead] {
                while vls != 0 {
                    let vl = vls.trailing_zeros() as usize;
                    vls &= vls - 1;
                    let packet = head(vl);
                    if usize::from(packet.sl) == sl {
                        return Some((vl, units(packet.flits, flit_bytes)));
                    }
                }
            }
            None
        };
        self.advance(output, was_idle, packet_of, |turn: Turn<'_>| {
            let mut best = (u32::MAX, (0, (0, 0)));
            for sl in 0..sls {
                let ahead = turn.distances[sl];
                if ahead < best.0
                    && let Some(packet) = packet_of(sl, turn.state[next_vl(sl)])
                {
                    best = (ahead, (sl, packet));
                }
            }
            best.1
        })
    }

    /// Algorithm 2 for one packet. `packet_of` returns the VL of the packet of an SL and its
    /// size in units of 64 bytes, or `None` if the SL is not active. `nearest` returns the
    /// active SL whose entry comes first, with VL and size of its packet.
    #[inline]
    fn advance(
        &mut self,
        output: usize,
        was_idle: bool,
        packet_of: impl Fn(usize, u32) -> Option<(usize, u32)>,
        nearest: impl Fn(Turn<'_>) -> (usize, (usize, u32)),
    ) -> usize {
        let state = self.state.get_mut(output);
        let last = state[LAST_SL] as usize;
        if was_idle {
            // Every tick with a free link and no active SL clears the state of the last SL
            // (lines 10-13). Clearing it once has the same effect.
            state[ACCUMULATED] = 0;
            state[deficit(last)] = 0;
        }
        let same_sl = match packet_of(last, state[next_vl(last)]) {
            None => {
                state[ACCUMULATED] = 0;
                state[deficit(last)] = 0;
                None
            }
            Some((_, size)) if size > state[ACCUMULATED] => {
                state[deficit(last)] = state[ACCUMULATED];
                None
            }
            packet => packet,
        };
        let (sl, (vl, size)) = match same_sl {
            Some(packet) => (last, packet),
            None => {
                let position = state[POSITION];
                let distances = &self.distance[position as usize * self.sls..];
                let (sl, packet) = nearest(Turn { state, distances });
                let n = self.entries.len() as u32;
                let wrap = |position: u32| {
                    if position >= n {
                        position - n
                    } else {
                        position
                    }
                };
                let entry = wrap(position + distances[sl]);
                state[POSITION] = wrap(entry + 1);
                state[LAST_SL] = sl as u32;
                state[ACCUMULATED] = state[deficit(sl)] + self.entries[entry as usize].weight;
                (sl, packet)
            }
        };
        state[ACCUMULATED] = state[ACCUMULATED].saturating_sub(size);
        state[next_vl(sl)] = vl as u32 + 1;
        vl
    }

    /// Size of a packet of `flits` in units of 64 bytes.
    #[inline]
    fn size(&self, flits: u32) -> u32 {
        units(flits, self.flit_bytes)
    }
}

/// The state from which the next SL follows.
struct Turn<'a> {
    state: &'a [u32],
    /// Number of entries from the position to the next entry of each SL.
    distances: &'a [u32],
}

/// Size of a packet of `flits` in units of 64 bytes, rounded up.
#[inline]
fn units(flits: u32, flit_bytes: u32) -> u32 {
    (u64::from(flits) * u64::from(flit_bytes)).div_ceil(u64::from(DTABLE_UNIT_BYTES)) as u32
}

/// Index of the deficit of an SL in the record of an output.
#[inline]
fn deficit(sl: usize) -> usize {
    PER_SL + 2 * sl
}

/// Index of the VL pointer of an SL in the record of an output.
#[inline]
fn next_vl(sl: usize) -> usize {
    PER_SL + 2 * sl + 1
}
