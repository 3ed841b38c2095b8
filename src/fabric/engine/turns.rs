//! Counters of the turns of switches, from an in-port to an out-port: the packets that take them, and
//! how long they wait in input buffers.

use super::ids::{InputId, OutputId};
use crate::prefetch::prefetch;
use crate::spec::Tick;
use crate::stats::TurnStats;

/// The counters of a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TurnCounts {
    /// Flits of the packets granted.
    pub flits: u64,
    /// Ticks that these packets waited for a grant, summed over the packets.
    pub waited: u64,
}

impl TurnCounts {
    /// Counts a packet that is granted after `waited` ticks.
    #[inline(always)]
    pub(super) fn granted(&mut self, flits: u32, waited: Tick) {
        self.flits += u64::from(flits);
        self.waited += waited;
    }
}

/// The counts of all turns of all switches.
#[derive(Debug)]
pub(super) struct Turns {
    radix: u32,
    /// Per in-port · radix + out-port.
    counts: Vec<TurnCounts>,
}

impl Turns {
    /// Nothing has passed yet, in a fabric with `ports` switch ports, `radix` of them at each switch.
    pub(super) fn new(ports: usize, radix: u32) -> Self {
        Self {
            radix,
            counts: vec![TurnCounts::default(); ports * radix as usize],
        }
    }

    /// The counts from `input` to `output` of the same switch.
    #[inline(always)]
    pub(super) fn at(&mut self, input: InputId, output: OutputId) -> &mut TurnCounts {
        let at = self.index(input, output);
        &mut self.counts[at]
    }

    /// Prefetches the counts from `input` to `output` of the same switch.
    #[inline(always)]
    pub(super) fn prefetch(&self, input: InputId, output: OutputId) {
        prefetch(&self.counts, self.index(input, output));
    }

    #[inline(always)]
    fn index(&self, input: InputId, output: OutputId) -> usize {
        (input.get() * self.radix + output.get() % self.radix) as usize
    }

    /// Counts anew.
    pub(super) fn restart(&mut self) {
        self.counts.fill(TurnCounts::default());
    }

    /// The turns that packets passed, by in-port, then by out-port.
    pub(super) fn stats(&self) -> Vec<TurnStats> {
        let radix = self.radix.max(1);
        let inputs = InputId::all(self.counts.len() as u32 / radix);
        let rows = inputs.zip(self.counts.chunks_exact(radix as usize));
        let turns = rows.flat_map(|(input, row)| {
            let row = (0..).zip(row);
            row.map(move |(out_port, counts)| (input, out_port, *counts))
        });
        turns
            .filter_map(|(input, out_port, counts)| {
                TurnStats::of(input.at(radix), out_port, counts.flits, counts.waited)
            })
            .collect()
    }
}
