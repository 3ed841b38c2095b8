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
}

/// Reading of the switch's allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Allocator {
    Pipelined,
    Rounds,
    Serial,
}

/// Reading of the packets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Packets {
    /// Those of Table 9, by service level. OpaSim's router has one service level.
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

/// A measurement, which is repeated for every seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub part: Part,
    pub fabric: Fabric,
    pub allocator: Allocator,
    pub packets: Packets,
    pub scheduler: Scheduler,
    pub trunks: Trunks,
    pub load: f64,
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

impl Point {
    /// The columns that say what was run, but for the seed.
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
        let mut sets = vec![
            format!("fabric.allocator={}", name(self.allocator)),
            format!("qos.scheduler={}", name(self.scheduler)),
            format!("measure.loads=[{}]", self.load),
        ];
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

/// All points, those of a seed in the order in which they are run.
pub fn all() -> Vec<Point> {
    let mut points = Vec::new();
    for allocator in [Allocator::Rounds, Allocator::Pipelined, Allocator::Serial] {
        points.extend(router(allocator));
        for fabric in Fabric::HIPERION {
            points.extend(full(fabric, allocator));
        }
    }
    for fabric in Fabric::HIPERION {
        points.extend(curves(fabric));
        points.extend(by_destination(fabric));
        points.push(Point {
            packets: Packets::Small,
            ..point(fabric, Scheduler::DTable, Part::Control)
        });
    }
    points
}

fn tenths() -> impl Iterator<Item = f64> {
    (1..=10).map(|tenth| f64::from(tenth) / 10.0)
}

/// OpaSim's router: the curve of uniform traffic, and neighbours at full load.
fn router(allocator: Allocator) -> Vec<Point> {
    let of = |fabric, part, load| Point {
        part,
        fabric,
        allocator,
        packets: Packets::Table9,
        scheduler: Scheduler::RrVl,
        trunks: Trunks::Destination,
        load,
    };
    let uniform = tenths().map(|load| of(Fabric::Uniform, Part::Full, load));
    let neighbour = of(Fabric::Neighbour, Part::Full, 1.0);
    uniform.chain([neighbour]).collect()
}

fn point(fabric: Fabric, scheduler: Scheduler, part: Part) -> Point {
    Point {
        part,
        fabric,
        allocator: Allocator::Rounds,
        packets: split_packets(scheduler),
        scheduler,
        trunks: if fabric.has_trunks() {
            Trunks::RoundRobin
        } else {
            Trunks::Destination
        },
        load: fabric.full_load(),
    }
}

const SCHEDULERS: [Scheduler; 3] = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];

fn full(fabric: Fabric, allocator: Allocator) -> Vec<Point> {
    let mut points = Vec::new();
    for scheduler in SCHEDULERS {
        for packets in [Packets::Table9, Packets::Small] {
            // DTable has the packets of Table 9 in both readings.
            if scheduler == Scheduler::DTable && packets == Packets::Small {
                continue;
            }
            points.push(Point {
                allocator,
                packets,
                ..point(fabric, scheduler, Part::Full)
            });
        }
    }
    points
}

fn curves(fabric: Fabric) -> Vec<Point> {
    let of = |scheduler| {
        tenths().map(move |load| Point {
            load,
            ..point(fabric, scheduler, Part::Curves)
        })
    };
    SCHEDULERS.into_iter().flat_map(of).collect()
}

fn by_destination(fabric: Fabric) -> Vec<Point> {
    let of = |scheduler| Point {
        trunks: Trunks::Destination,
        load: 0.8,
        ..point(fabric, scheduler, Part::Trunks)
    };
    if fabric.has_trunks() {
        SCHEDULERS.map(of).to_vec()
    } else {
        Vec::new()
    }
}
