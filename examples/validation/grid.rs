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
            points.extend(SCHEDULERS.map(|scheduler| {
                let trunks = Trunks::Destination;
                let chosen = chosen(fabric, scheduler);
                let load = 0.8;
                (
                    Part::Trunks,
                    Setting {
                        trunks,
                        load,
                        ..chosen
                    },
                )
            }));
        }
        let packets = Packets::Small;
        let chosen = chosen(fabric, Scheduler::DTable);
        points.push((Part::Control, Setting { packets, ..chosen }));
    }
    let point = |(part, setting)| Point { part, setting };
    points.into_iter().map(point).collect()
}

const SCHEDULERS: [Scheduler; 3] = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];

fn tenths() -> impl Iterator<Item = f64> {
    (1..=10).map(|tenth| f64::from(tenth) / 10.0)
}

/// OpaSim's router: the curve of uniform traffic, and neighbours at full load.
fn router(allocator: Allocator) -> Vec<Setting> {
    let of = |fabric, load| Setting {
        allocator,
        packets: Packets::Table9,
        load,
        ..chosen(fabric, Scheduler::RrVl)
    };
    let uniform = tenths().map(|load| of(Fabric::Uniform, load));
    uniform.chain([of(Fabric::Neighbour, 1.0)]).collect()
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
