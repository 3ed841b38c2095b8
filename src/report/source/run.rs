//! The files of a run, read from its directory.

use super::table::{Row, read_rows, rows};
use super::{command, damaged, document, name_of};
use crate::config::experiment::SeriesKind;
use crate::figure::tables::{Key, NONE};
use crate::report::error::ReportError;
use crate::results::series::{LINKS, STATES};
use crate::results::{
    COMPARISON_FILE, COMPARISON_SCHEMA, EXPERIMENT_FILE, OVERVIEW_FILE, RESULT_FILE, SCHEMA,
};
use crate::wiring::End;
use flitwise_formats::limits::MAX_TASKS;
use flitwise_formats::source::read_regular_text;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run: its documents and tables.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunSource {
    /// Its name in figures.
    pub label: String,
    /// Its directory.
    pub dir: PathBuf,
    /// `result.json`; of a run of a study null.
    pub result: Value,
    /// `experiment.toml`, if it is there.
    pub experiment: Option<String>,
    /// `comparison.json`; null without one.
    pub comparison: Value,
    /// `experiment.fabric.topology` of `result.json`.
    pub topology: Value,
    /// The command that made it.
    pub command: Option<String>,
    /// All directed links.
    pub links: Vec<LinkUse>,
    /// Its links are in a table that reports do not read.
    pub links_elsewhere: bool,
    /// Latencies in buckets.
    pub latencies: Vec<Distribution>,
    /// The messages and bytes that groups of ranks sent to each other.
    pub pairs: Vec<Pair>,
    /// How long groups of ranks waited for each other.
    pub waits: Vec<Pair>,
    /// The activities of ranks, by job and rank.
    pub slices: Vec<Slice>,
    /// Time series.
    pub series: Vec<Series>,
    /// The service levels, in the order of their numbers in series.
    pub levels: Vec<String>,
    /// Time between samples of all series, in picoseconds; 0 without a sample.
    pub interval_ps: u64,
}

/// A directed link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkUse {
    /// Sending end.
    pub from: End,
    /// Receiving end.
    pub to: End,
    /// The names of the ends for people.
    pub names: [String; 2],
    /// Part of the time in use.
    pub used: f64,
    /// Part of all waits that is attributed to it.
    pub held_up: f64,
    /// Time without credits, in nanoseconds.
    pub credit_wait_ns: f64,
}

/// A distribution of latencies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// `job NAME` or `SL NAME`.
    pub of: String,
    /// `end_to_end` or `network`.
    pub kind: String,
    /// Begin and end in nanoseconds, and the observations between.
    pub buckets: Vec<(f64, f64, u64)>,
}

/// The traffic from one group of ranks to another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pair {
    /// The job.
    pub job: String,
    /// First and last rank that sent, or waited.
    pub from: [u64; 2],
    /// First and last rank that received, or was waited for.
    pub to: [u64; 2],
    /// Messages, or waits.
    pub count: u64,
    /// Their bytes, or picoseconds.
    pub amount: u64,
}

/// An activity of ranks in a slice of time. The longest of a slice is the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slice {
    /// The job.
    pub job: String,
    /// First and last rank.
    pub ranks: [u64; 2],
    /// Begin and end.
    pub ps: [u64; 2],
    /// The activity.
    pub doing: String,
    /// Its part of the slice.
    pub part: f64,
}

/// A time series of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its kind.
    pub kind: SeriesKind,
    /// Its samples, by their keys: the parts of the fabric that the table has, by number.
    pub samples: BTreeMap<[u32; 3], Vec<Sample>>,
    /// End of the last sample that is not 0.
    pub end_ps: u64,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When it ends.
    pub ps: u64,
    /// How much.
    pub value: f64,
}

impl RunSource {
    /// Reads a directory.
    ///
    /// # Errors
    /// If a file is damaged or of another version.
    pub(super) fn read(dir: &Path) -> Result<Self, ReportError> {
        let path = dir.join(RESULT_FILE);
        let result = document(&path, SCHEMA)?;
        has_possible_ranks(&path, &result)?;
        let name = result["about"]["name"].as_str();
        let compared = dir.join(COMPARISON_FILE);
        let mut run = Self {
            comparison: if compared.is_file() {
                document(&compared, COMPARISON_SCHEMA)?
            } else {
                Value::Null
            },
            experiment: read_regular_text(&dir.join(EXPERIMENT_FILE)).ok(),
            label: name.map_or_else(|| name_of(dir), str::to_owned),
            dir: dir.to_owned(),
            topology: result["experiment"]["fabric"]["topology"].clone(),
            command: command(dir),
            links: links(&dir.join("links.csv"))?,
            links_elsewhere: dir.join("links.parquet").is_file(),
            latencies: latencies(&dir.join("latencies.csv"))?,
            pairs: pairs(&dir.join("matrix.csv"), MATRIX)?,
            waits: pairs(&dir.join("waits.csv"), WAITS)?,
            slices: slices(&dir.join(OVERVIEW_FILE))?,
            result,
            series: Vec::new(),
            levels: Vec::new(),
            interval_ps: 0,
        };
        let levels = &run.result["experiment"]["fabric"]["qos"]["service_levels"];
        let names = levels.as_object().into_iter().flat_map(Map::keys);
        run.levels = names.cloned().collect();
        let mut interval = Interval::default();
        for kind in SeriesKind::ALL {
            let path = dir.join(format!("{}.csv", kind.name()));
            if path.is_file() {
                let series = series(&path, kind, &mut interval, &mut run.levels)?;
                run.series.push(series);
            }
        }
        run.interval_ps = interval.ps();
        Ok(run)
    }
}

/// The drawings of a job have a row for each of its ranks: their number is checked before.
fn has_possible_ranks(path: &Path, result: &Value) -> Result<(), ReportError> {
    let jobs = result["jobs"].as_array().into_iter().flatten();
    let mut ranks = jobs.filter_map(|job| job["ranks"].as_u64());
    match ranks.find(|&ranks| ranks > u64::from(MAX_TASKS)) {
        None => Ok(()),
        Some(ranks) => {
            let why = format_args!(
                "a job has {ranks} ranks, more than the {MAX_TASKS} that a trace may have"
            );
            Err(damaged(path, why))
        }
    }
}

/// Whether these are the first and the last of some ranks.
fn are_ranks([first, last]: [u64; 2]) -> bool {
    first <= last && last < u64::from(MAX_TASKS)
}

fn links(path: &Path) -> Result<Vec<LinkUse>, ReportError> {
    let columns = [
        "from_nic",
        "from_switch",
        "from_port",
        "to_nic",
        "to_switch",
        "to_port",
        "utilisation",
        "held_up_share",
        "credit_wait_ns",
        "from_name",
        "to_name",
    ];
    read_rows(path, &columns, |row| {
        let end = |at: usize| {
            let nic = row.number(at).map(End::Nic);
            nic.or_else(|| Some(End::Switch(row.number(at + 1)?, row.number(at + 2)?)))
        };
        let (from, to) = (end(0)?, end(3)?);
        let name = |end: End, at: usize| match row.text(at) {
            "" => end.name(),
            name => name.to_owned(),
        };
        Some(LinkUse {
            from,
            to,
            names: [name(from, 9), name(to, 10)],
            used: row.real(6).clamp(0.0, 1.0),
            held_up: row.real(7),
            credit_wait_ns: row.real(8),
        })
    })
}

fn latencies(path: &Path) -> Result<Vec<Distribution>, ReportError> {
    let mut found: Vec<Distribution> = Vec::new();
    let columns = ["of", "kind", "from_ns", "to_ns", "count"];
    rows(path, &columns, |row| {
        let (of, kind) = (row.text(0), row.text(1));
        let bucket = (row.real(2), row.real(3), row.number(4).unwrap_or(0));
        match found.last_mut() {
            Some(last) if last.of == of && last.kind == kind => last.buckets.push(bucket),
            _ => found.push(Distribution {
                of: of.to_owned(),
                kind: kind.to_owned(),
                buckets: vec![bucket],
            }),
        }
    })?;
    Ok(found)
}

/// The columns of `matrix.csv`.
const MATRIX: [&str; 7] = [
    "job",
    "from_rank",
    "from_last_rank",
    "to_rank",
    "to_last_rank",
    "messages",
    "bytes",
];

/// The columns of `waits.csv`.
const WAITS: [&str; 7] = [
    "job",
    "rank",
    "last_rank",
    "waited_for_rank",
    "waited_for_last_rank",
    "waits",
    "waited_ps",
];

fn pairs(path: &Path, columns: [&str; 7]) -> Result<Vec<Pair>, ReportError> {
    read_rows(path, &columns, |row| {
        let number = |at| row.number(at).unwrap_or(0);
        let (from, to) = ([number(1), number(2)], [number(3), number(4)]);
        (are_ranks(from) && are_ranks(to)).then(|| Pair {
            job: row.text(0).to_owned(),
            from,
            to,
            count: number(5),
            amount: number(6),
        })
    })
}

fn slices(path: &Path) -> Result<Vec<Slice>, ReportError> {
    let columns = [
        "job",
        "rank",
        "last_rank",
        "from_ps",
        "to_ps",
        "doing",
        "part",
    ];
    read_rows(path, &columns, |row| {
        let number = |at| row.number(at).unwrap_or(0);
        Some(Slice {
            job: row.text(0).to_owned(),
            ranks: [number(1), number(2)],
            ps: [number(3), number(4)],
            doing: row.text(5).to_owned(),
            part: row.number(6).unwrap_or(1.0),
        })
    })
}

/// The columns of a series that are read: when, how much, and the three parts of its key.
fn series_columns(kind: SeriesKind) -> Vec<&'static str> {
    let [value, a, b, c] = match kind {
        SeriesKind::Flows => ["gbit_per_s", "from_nic", "to_nic", "sl"],
        SeriesKind::PortVls => ["waiting_bytes", "switch", "port", "vl"],
        SeriesKind::Sources => ["control_level", "nic", "sl", "to_nic"],
        SeriesKind::Power => ["mean_links", "links", "state", ""],
    };
    let mut columns = vec!["run", "load", "time_ps", value, a, b, c];
    if kind == SeriesKind::Flows {
        columns.push("bytes");
    }
    columns
}

/// The time between samples, which no file states.
#[derive(Default)]
struct Interval {
    /// The interval of flows: the time in which bytes make their bandwidth.
    of_flows: Option<u64>,
    /// The least time from one row to the next. It is the interval if every sample has a row, as of power states; rows
    /// of empty samples are left out.
    least_gap: Option<u64>,
}

impl Interval {
    fn see_flow(&mut self, bytes: f64, gbit_per_s: f64) {
        if self.of_flows.is_none() && bytes > 0.0 && gbit_per_s > 0.0 {
            self.of_flows = Some((8000.0 * bytes / gbit_per_s).round() as u64);
        }
    }

    fn see_gap(&mut self, ps: u64) {
        self.least_gap = Some(self.least_gap.map_or(ps, |least| least.min(ps)));
    }

    fn ps(&self) -> u64 {
        self.of_flows.or(self.least_gap).unwrap_or(0)
    }
}

/// The key of a sampled row, as recorded series have it. `levels` are the service levels known so far.
fn key_of(kind: SeriesKind, row: &Row<'_>, levels: &mut Vec<String>) -> Key {
    let number = |at| row.number(at).unwrap_or(NONE);
    let one_of = |names: &[&str], at| {
        let place = names.iter().position(|name| *name == row.text(at));
        place.unwrap_or(0) as u32
    };
    let mut level = |at| {
        let name = row.text(at);
        let known = levels.iter().position(|level| level == name);
        known.unwrap_or_else(|| {
            levels.push(name.to_owned());
            levels.len() - 1
        }) as u32
    };
    match kind {
        SeriesKind::Flows => [number(4), number(5), level(6)],
        SeriesKind::PortVls => [number(4), number(5), number(6)],
        SeriesKind::Sources => [number(4), level(5), number(6)],
        SeriesKind::Power => [one_of(&LINKS, 4), one_of(&STATES, 5), 0],
    }
}

/// The series of the experiment; of several loads the last.
fn series(
    path: &Path,
    kind: SeriesKind,
    interval: &mut Interval,
    levels: &mut Vec<String>,
) -> Result<Series, ReportError> {
    let mut found = Series {
        kind,
        samples: BTreeMap::new(),
        end_ps: 0,
    };
    let mut load = String::new();
    rows(path, &series_columns(kind), |row| {
        if row.text(0).starts_with("baseline") {
            return;
        }
        if row.text(1) != load {
            load = row.text(1).to_owned();
            found.samples.clear();
            found.end_ps = 0;
        }
        let ps = row.number(2).unwrap_or(0);
        if ps > found.end_ps {
            interval.see_gap(ps - found.end_ps);
            found.end_ps = ps;
        }
        let value = row.real(3);
        if kind == SeriesKind::Flows {
            interval.see_flow(row.real(7), value);
        }
        let samples = found.samples.entry(key_of(kind, row, levels));
        samples.or_default().push(Sample { ps, value });
    })?;
    Ok(found)
}
