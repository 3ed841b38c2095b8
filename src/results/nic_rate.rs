//! Loads as rates: converts flits per cycle and NIC to Gb/s and GB/s.

use crate::config::Experiment;
use crate::fabric::spec::FabricSpec;
use crate::units::{Ratio, four_digits};

/// A rate of links in Gb/s.
#[must_use]
pub fn gbit_per_s(fabric: &FabricSpec, flits_per_tick: Ratio) -> f64 {
    let tick = fabric.units.tick.length_ps();
    // Bits per flit × flits per tick / picoseconds per tick, in Gb/s.
    let bits = 8000.0 * f64::from(fabric.units.flit_bytes);
    let flits = flits_per_tick.num() as f64 * tick.den() as f64;
    let ps = flits_per_tick.den() as f64 * tick.num() as f64;
    bits * flits / ps
}

/// The rate of the fastest link, at which it carries one flit per cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NicRate {
    gbit_per_s: f64,
}

impl NicRate {
    /// The rate of the fabric of an experiment.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let fabric = &experiment.fabric;
        Self {
            gbit_per_s: gbit_per_s(fabric, fabric.fastest_link()),
        }
    }

    /// Gb/s of a load in flits per cycle.
    pub(crate) fn gbit_per_s(self, load: f64) -> f64 {
        load * self.gbit_per_s
    }

    /// GB/s of a load in flits per cycle.
    pub(crate) fn gbyte_per_s(self, load: f64) -> f64 {
        load * self.gbit_per_s / 8.0
    }

    /// A load with its unit, as in `"0.5000 flits/cycle/NIC (50.00 Gb/s, 6.250 GB/s)"`.
    pub(crate) fn text(self, load: f64) -> String {
        let [bits, bytes] = [self.gbit_per_s(load), self.gbyte_per_s(load)].map(four_digits);
        format!("{load:.4} flits/cycle/NIC ({bits} Gb/s, {bytes} GB/s)")
    }
}
