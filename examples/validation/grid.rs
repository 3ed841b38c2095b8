//! The runs that the verdicts need.

use crate::fabric::Fabric;
use clap::ValueEnum;

/// A part of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Each fabric at full load, under each allocator, scheduler and reading of the packets.
    Full,
    /// The same with the preset's choice of a trunk's link, in the chosen reading.
    Trunks,
    /// Loads in steps of 0.1, in the chosen reading.
    Curves,
    /// DTable with packets of 128 B, too: what the scheduler alone changes.
    Control,
    /// OpaSim's router with two iterations of a round.
    Iterations,
}

/// Reading of the switch's allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Allocator {
    Pipelined,
    Rounds,
    /// In rounds of two iterations.
    #[value(name = "rounds-2")]
    TwoIterations,
    Serial,
}

/// Reading of the packets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Packets {
    /// The packets of Table 9, by service level; OpaSim's router, with one service level, has one size.
    #[value(name = "table-9")]
    Table9,
    /// 128 B in every service level.
    #[value(name = "128B")]
    Small,
}

/// Scheduler of the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    #[value(name = "dtable")]
    DTable,
    Sbt,
    Rr,
    RrVl,
}

/// Choice among the links of a trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Trunks {
    /// By destination, as the preset has it.
    Destination,
    RoundRobin,
}

/// The setting of a run without its seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub fabric: Fabric,
    pub allocator: Allocator,
    pub packets: Packets,
    pub scheduler: Scheduler,
    pub trunks: Trunks,
    pub load: f64,
}

/// A measurement, which is repeated for every seed.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub part: Part,
    pub setting: Setting,
}

/// Name of a value in settings and results.
pub fn name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The value with this name, as [`name`] gives it.
pub fn named<T: ValueEnum>(name: &str) -> anyhow::Result<T> {
    T::from_str(name, false).map_err(anyhow::Error::msg)
}

impl Setting {
    /// The columns of the results that say so.
    pub fn key(&self) -> String {
        let Self {
            allocator,
            packets,
            scheduler,
            trunks,
            load,
            ..
        } = *self;
        let names = [
            name(allocator),
            name(packets),
            name(scheduler),
            name(trunks),
        ];
        format!("{},{load}", names.join(","))
    }

    /// The overrides of the fabric's experiment, without the seed.
    pub fn settings(&self) -> Vec<String> {
        let (allocator, iterations) = match self.allocator {
            Allocator::TwoIterations => (Allocator::Rounds, Some(2)),
            allocator => (allocator, None),
        };
        let mut sets = vec![
            format!("fabric.allocator={}", name(allocator)),
            format!("qos.scheduler={}", name(self.scheduler)),
            format!("measure.loads=[{}]", self.load),
        ];
        sets.extend(iterations.map(|of: u32| format!("fabric.allocator_iterations={of}")));
        if self.packets == Packets::Small {
            sets.push("qos.mtu=128B".to_owned());
        }
        if self.fabric.has_trunks() {
            sets.push(format!("fabric.trunk_selection={}", name(self.trunks)));
        }
        sets
    }
}

/// Packets of a scheduler in the reading that gives 128 B to SBT and RR (section 3.3.1).
pub fn split_packets(scheduler: Scheduler) -> Packets {
    match scheduler {
        Scheduler::DTable => Packets::Table9,
        _ => Packets::Small,
    }
}

/// All points, in the order in which a seed takes them.
pub fn all() -> Vec<Point> {
    let mut points = Vec::new();
    for allocator in [Allocator::Rounds, Allocator::Pipelined, Allocator::Serial] {
        let mut settings = router(allocator);
        settings.extend(Fabric::HIPERION.iter().flat_map(|&of| full(of, allocator)));
        points.extend(settings.into_iter().map(|of| (Part::Full, of)));
    }
    for fabric in Fabric::HIPERION {
        points.extend(SCHEDULERS.into_iter().flat_map(|scheduler| {
            tenths().map(move |load| {
                let chosen = chosen(fabric, scheduler);
                (Part::Curves, Setting { load, ..chosen })
            })
        }));
        if fabric.has_trunks() {
            let by_destination = |(scheduler, load)| Setting {
                trunks: Trunks::Destination,
                load,
                ..chosen(fabric, scheduler)
            };
            let mut settings = SCHEDULERS.map(|of| by_destination((of, 0.8))).to_vec();
            settings.push(by_destination((Scheduler::DTable, 0.9)));
            points.extend(settings.into_iter().map(|of| (Part::Trunks, of)));
        }
        let packets = Packets::Small;
        let chosen = chosen(fabric, Scheduler::DTable);
        points.push((Part::Control, Setting { packets, ..chosen }));
    }
    let router = chosen(Fabric::Uniform, Scheduler::RrVl);
    let twice = Setting {
        allocator: Allocator::TwoIterations,
        packets: Packets::Table9,
        ..router
    };
    points.push((Part::Iterations, twice));
    let point = |(part, setting)| Point { part, setting };
    points.into_iter().map(point).collect()
}

const SCHEDULERS: [Scheduler; 3] = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];

/// Loads from 0.1 to 1.
pub fn tenths() -> impl Iterator<Item = f64> {
    (1..=10).map(|tenth| f64::from(tenth) / 10.0)
}

/// OpaSim's router: the curves of uniform traffic and of neighbours.
fn router(allocator: Allocator) -> Vec<Setting> {
    let of = |fabric, load| Setting {
        allocator,
        packets: Packets::Table9,
        load,
        ..chosen(fabric, Scheduler::RrVl)
    };
    let router = [Fabric::Uniform, Fabric::Neighbour];
    let curve = |fabric| tenths().map(move |load| of(fabric, load));
    router.into_iter().flat_map(curve).collect()
}

/// A fabric at full load in the chosen reading.
fn chosen(fabric: Fabric, scheduler: Scheduler) -> Setting {
    Setting {
        fabric,
        allocator: Allocator::Rounds,
        packets: split_packets(scheduler),
        scheduler,
        trunks: fabric.trunks(),
        load: fabric.full_load(),
    }
}

/// A fabric at full load under each scheduler. DTable has the packets of Table 9 in both readings.
fn full(fabric: Fabric, allocator: Allocator) -> Vec<Setting> {
    let of = |scheduler| {
        let packets = [Packets::Table9, split_packets(scheduler)];
        packets.map(|packets| Setting {
            allocator,
            packets,
            ..chosen(fabric, scheduler)
        })
    };
    let mut settings: Vec<Setting> = SCHEDULERS.into_iter().flat_map(of).collect();
    settings.dedup();
    settings
}
