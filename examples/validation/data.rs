//! Means over the seeds.

use crate::fabric::Fabric;
use crate::grid::{Allocator, Packets, Scheduler, Setting, Trunks, named, split_packets, tenths};
use crate::runs;
use anyhow::{Context, Result, ensure};
use flitwise::results::interval_95;
use std::path::Path;

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    pub setting: Setting,
    /// In flits/cycle/NIC; NaN after a deadlock, as everything else.
    pub accepted: f64,
    pub levels: Vec<Level>,
}

/// A service level of a run.
#[derive(Debug, Clone)]
pub struct Level {
    /// Part of all flits delivered, in percent.
    pub share: f64,
    /// Latencies in ns; NaN if nothing was delivered.
    pub end_to_end: f64,
    pub network: f64,
}

/// A reading of both texts: a column of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    pub allocator: Allocator,
    /// Packets of SBT and RR. DTable has the packets of Table 9 in every reading.
    pub packets: Packets,
}

impl Reading {
    /// The reading that was chosen.
    pub const CHOSEN: Self = Self {
        allocator: Allocator::Rounds,
        packets: Packets::Small,
    };
}

/// The settings that a row adds to a reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    None,
    /// DTable has the packets of the other schedulers.
    EqualPackets,
    /// A round has two iterations; only for allocators in rounds.
    TwoIterations,
}

/// The run of a fabric that a row judges, in any reading.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub fabric: Fabric,
    pub scheduler: Scheduler,
    pub trunks: Trunks,
    pub load: f64,
    pub change: Change,
}

impl Asked {
    /// A fabric at full load.
    pub fn full(fabric: Fabric, scheduler: Scheduler) -> Self {
        Self {
            fabric,
            scheduler,
            trunks: fabric.trunks(),
            load: fabric.full_load(),
            change: Change::None,
        }
    }

    /// A fabric at each load in steps of 0.1 up to 1.
    pub fn curve(fabric: Fabric, scheduler: Scheduler) -> Vec<Self> {
        let full = Self::full(fabric, scheduler);
        tenths().map(|load| Self { load, ..full }).collect()
    }

    /// Returns the setting of that run in a reading, if the reading has it.
    fn setting(self, reading: Reading) -> Option<Setting> {
        let allocator = match (self.change, reading.allocator) {
            (Change::TwoIterations, Allocator::Rounds) => Allocator::TwoIterations,
            (Change::TwoIterations, _) => return None,
            (_, allocator) => allocator,
        };
        let packets = match (reading.packets, self.fabric) {
            (_, Fabric::Uniform | Fabric::Neighbour) | (Packets::Table9, _) => Packets::Table9,
            (Packets::Small, _) if self.change == Change::EqualPackets => Packets::Small,
            (Packets::Small, _) => split_packets(self.scheduler),
        };
        Some(Setting {
            fabric: self.fabric,
            allocator,
            packets,
            scheduler: self.scheduler,
            trunks: self.trunks,
            load: self.load,
        })
    }

    /// Whether it is measured past saturation, or at the last load before a fabric's links are full.
    pub fn is_full(self) -> bool {
        self.load >= self.fabric.full_load()
    }
}

/// All runs.
#[derive(Debug, Default)]
pub struct Data {
    pub runs: Vec<Run>,
}

/// The runs of one measurement in one reading.
#[derive(Debug)]
pub struct Cell<'a>(Vec<&'a Run>);

impl Data {
    /// Reads the results of all fabrics.
    pub fn read(results: &Path) -> Result<Self> {
        let mut data = Self::default();
        for fabric in Fabric::ALL {
            let csv = runs::path(results, fabric);
            for row in runs::old_rows(&csv)? {
                let run = run(fabric, &row).with_context(|| format!("{}: {row}", csv.display()))?;
                data.runs.push(run);
            }
        }
        Ok(data)
    }

    /// The measurement in a reading; `None` without runs.
    pub fn cell(&self, reading: Reading, asked: Asked) -> Option<Cell<'_>> {
        let setting = asked.setting(reading)?;
        let runs = self.runs.iter().filter(|run| run.setting == setting);
        let runs: Vec<&Run> = runs.collect();
        (!runs.is_empty()).then_some(Cell(runs))
    }

    /// Returns the least load, from the measurement's on, at which its setting came to a deadlock. A measurement before
    /// saturation says nothing about higher loads.
    pub fn deadlock(&self, reading: Reading, asked: Asked) -> Option<f64> {
        let setting = asked.setting(reading)?;
        let runs = self.runs.iter().filter(|run| {
            let load = run.setting.load;
            let is_asked = load == setting.load || asked.is_full() && load > setting.load;
            is_asked && run.setting == Setting { load, ..setting } && run.accepted.is_nan()
        });
        runs.map(|run| run.setting.load).reduce(f64::min)
    }
}

fn run(fabric: Fabric, row: &str) -> Result<Run> {
    let cells: Vec<&str> = row.split(',').collect();
    let before = runs::HEADER.split(',').count();
    ensure!(cells.len() > before, "too few cells");
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    let levels = cells[before..].chunks_exact(3).map(|of| Level {
        share: 100.0 * number(of[0]),
        end_to_end: number(of[1]),
        network: number(of[2]),
    });
    let levels: Vec<Level> = levels.collect();
    let expected = match fabric {
        Fabric::Uniform | Fabric::Neighbour => 1,
        _ => 5,
    };
    ensure!(levels.len() == expected, "{} service levels", levels.len());
    let setting = Setting {
        fabric,
        allocator: named(cells[0])?,
        packets: named(cells[1])?,
        scheduler: named(cells[2])?,
        trunks: named(cells[3])?,
        load: cells[4].parse()?,
    };
    Ok(Run {
        setting,
        accepted: number(cells[8]),
        levels,
    })
}

/// A mean over seeds.
#[derive(Debug, Clone, Copy)]
pub struct Mean {
    pub mean: f64,
    /// Half the width of the 95 % interval; `None` with one seed.
    pub half_width: Option<f64>,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        match interval_95(values) {
            Some(of) => Self {
                mean: of.mean,
                half_width: Some(of.half_width),
            },
            None => Self {
                mean: values.iter().sum::<f64>() / values.len() as f64,
                half_width: None,
            },
        }
    }

    /// As a cell of a table.
    pub fn text(self, digits: usize) -> String {
        let Self { mean, half_width } = self;
        match half_width {
            Some(half_width) => format!("{mean:.digits$} ± {half_width:.digits$}"),
            None => format!("{mean:.digits$}"),
        }
    }
}

impl Cell<'_> {
    /// Number of seeds.
    pub fn seeds(&self) -> usize {
        self.0.len()
    }

    /// Its setting; all runs have the same one.
    pub fn setting(&self) -> Setting {
        self.0[0].setting
    }

    /// Whether the fabric keeps up: it accepts what is offered within 1 %, and no run came to a deadlock.
    pub fn is_carried(&self) -> bool {
        self.accepted().mean >= 0.99 * self.setting().load
    }

    /// Accepted load in flits/cycle/NIC.
    pub fn accepted(&self) -> Mean {
        self.mean(|run| run.accepted)
    }

    /// Share of a service level in percent.
    pub fn share(&self, level: usize) -> Mean {
        self.mean(|run| run.levels[level].share)
    }

    /// End-to-end latency of a service level in ns.
    pub fn end_to_end(&self, level: usize) -> Mean {
        self.mean(|run| run.levels[level].end_to_end)
    }

    /// Network latency of the first service level in ns.
    pub fn network(&self) -> Mean {
        self.mean(|run| run.levels[0].network)
    }

    fn mean(&self, of: impl Fn(&Run) -> f64) -> Mean {
        Mean::of(&self.0.iter().map(|run| of(run)).collect::<Vec<_>>())
    }
}
