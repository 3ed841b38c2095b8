//! Deficit table: entries of (SL, weight) in an order that bounds the latency
//! of each SL (Hiperion §3.3, Algorithm 2).

use super::Head;
use crate::fabric::engine::bits::from_on;
use crate::fabric::engine::records::Records;
use crate::fabric::spec::{DTABLE_UNIT_BYTES, DTableEntry};

#[derive(Debug)]
pub(in crate::fabric::engine) struct DTable {
    entries: Vec<DTableEntry>,
    /// Entries from a position to the next one of an SL, `[position * sls + sl]`;
    /// as many as there are entries if the SL has none.
    distance: Vec<u32>,
    sls: usize,
    flit_bytes: u32,
    /// State of each output, one record of `4 + 2 * sls` words: accumulated weight
    /// of the SL in turn in units of 64 bytes, position after the last entry used,
    /// last SL, a spare; then per SL the deficit and the VL after the one served
    /// last. In one piece, so that a decision touches one or two cache lines.
    state: Records,
}

const ACCUMULATED: usize = 0;
const POSITION: usize = 1;
const LAST_SL: usize = 2;
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

    #[inline]
    pub(super) fn prefetch(&self, output: usize) {
        self.state.prefetch(output);
    }

    pub(super) fn pick(
        &mut self,
        output: usize,
        candidates: u32,
        head: impl Fn(usize) -> Head,
        was_idle: bool,
    ) -> usize {
        // Mostly there is one candidate.
        let first = candidates.trailing_zeros() as usize;
        let (lone, first_sl) = (candidates.is_power_of_two(), head(first).sl);
        let mut active = 1u32 << first_sl;
        let mut rest = candidates & (candidates - 1);
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            active |= 1 << head(vl).sl;
        }
        // The VL of an active SL whose turn it is.
        let vl_of = |sl: usize, next: u32| {
            if lone {
                return first;
            }
            let ahead = from_on(candidates, next as u8);
            let mut rest = ahead;
            loop {
                if rest == 0 {
                    rest = candidates & !ahead;
                }
                let vl = rest.trailing_zeros() as usize;
                if usize::from(head(vl).sl) == sl {
                    return vl;
                }
                rest &= rest - 1;
            }
        };
        let state = self.state.get_mut(output);
        let deficit = |sl: usize| PER_SL + 2 * sl;
        let next_vl = |sl: usize| PER_SL + 2 * sl + 1;
        let size = |vl: usize| {
            (u64::from(head(vl).flits) * u64::from(self.flit_bytes))
                .div_ceil(u64::from(DTABLE_UNIT_BYTES)) as u32
        };
        let mut sl = state[LAST_SL] as usize;
        if was_idle {
            // Every tick with a free link and no active SL clears the last SL
            // (Algorithm 2, lines 10-13); once is as good as many times.
            state[ACCUMULATED] = 0;
            state[deficit(sl)] = 0;
        }
        let mut goes_on = None;
        if active >> sl & 1 == 0 {
            state[ACCUMULATED] = 0;
            state[deficit(sl)] = 0;
        } else {
            let vl = vl_of(sl, state[next_vl(sl)]);
            if size(vl) > state[ACCUMULATED] {
                state[deficit(sl)] = state[ACCUMULATED];
            } else {
                goes_on = Some(vl);
            }
        }
        let vl = goes_on.unwrap_or_else(|| {
            let distances = &self.distance[state[POSITION] as usize * self.sls..];
            let mut next = usize::from(first_sl);
            let mut ahead = distances[next];
            let mut rest = active & !(1 << first_sl);
            while rest != 0 {
                let candidate = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                (ahead, next) = (ahead, next).min((distances[candidate], candidate));
            }
            let n = self.entries.len() as u32;
            let wrap = |position: u32| {
                if position >= n {
                    position - n
                } else {
                    position
                }
            };
            let entry = wrap(state[POSITION] + ahead);
            sl = next;
            state[POSITION] = wrap(entry + 1);
            state[LAST_SL] = sl as u32;
            state[ACCUMULATED] = state[deficit(sl)] + self.entries[entry as usize].weight;
            vl_of(sl, state[next_vl(sl)])
        });
        state[ACCUMULATED] = state[ACCUMULATED].saturating_sub(size(vl));
        state[next_vl(sl)] = vl as u32 + 1;
        vl
    }
}
