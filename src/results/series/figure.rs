//! The content of a figure: the largest lines of a series, with no more points than are visible.

use super::gbit_per_s;
use super::spool::{Key, NONE, Spool};
use crate::config::Experiment;
use crate::config::experiment::SeriesKind;
use crate::fabric::ids::{PortId, SwitchId};
use crate::fabric::stats::{LinkEnd, LinkStats};
use crate::units::human_time;
use std::collections::BTreeMap;

/// Most points of a line.
const POINTS: u64 = 400;

/// What to draw.
pub(super) struct Request<'a> {
    pub kind: SeriesKind,
    pub experiment: &'a Experiment,
    /// Links of the fabric, which show where switch ports lead.
    pub links: &'a [LinkStats],
    /// The load, if the run is one of several.
    pub load: Option<f64>,
    /// Ticks from one sample to the next.
    pub interval: u64,
    /// Most lines.
    pub lines: usize,
    /// Samples of the run.
    pub samples: u64,
}

/// A figure: lines over time.
#[cfg_attr(not(feature = "plots"), allow(dead_code, reason = "nothing draws it"))]
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// The lines bound areas: each includes the areas of the lines before it.
    pub stacked: bool,
    pub title: String,
    /// What is left out, and how many samples a point covers.
    pub note: String,
    /// The quantity of the lines, with the unit.
    pub value: String,
    /// Length of the time axis in picoseconds.
    pub end_ps: u64,
    pub lines: Vec<Line>,
}

#[cfg_attr(not(feature = "plots"), allow(dead_code, reason = "as above"))]
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub name: String,
    /// Time in picoseconds, and value.
    pub points: Vec<(f64, f64)>,
}

/// Sums over the samples of a point.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: u64,
    rows: u64,
}

/// The largest lines of a series.
struct Largest {
    /// Sums per point, by line.
    sums: BTreeMap<Key, Vec<Sum>>,
    /// Number of all lines of the series.
    all: usize,
    /// Samples in a point.
    per_point: u64,
}

/// Reads the rows twice: to find the largest lines, and to compute their points.
fn largest(request: &Request<'_>, spool: &mut Spool) -> anyhow::Result<Largest> {
    let mut totals: BTreeMap<Key, u64> = BTreeMap::new();
    for row in spool.rows()? {
        let row = row?;
        let total = totals.entry(row.key).or_default();
        *total = total.saturating_add(row.values[0]);
    }
    let mut keys: Vec<Key> = totals.keys().copied().collect();
    keys.sort_by_key(|key| (std::cmp::Reverse(totals[key]), *key));
    keys.truncate(request.lines);

    let per_point = request.samples.div_ceil(POINTS).max(1);
    let points = request.samples.div_ceil(per_point) as usize;
    // The legend sorts the lines by key.
    let mut sums: BTreeMap<Key, Vec<Sum>> = BTreeMap::new();
    sums.extend(keys.iter().map(|&key| (key, vec![Sum::default(); points])));
    for row in spool.rows()? {
        let row = row?;
        let sample = (row.ticks / request.interval).saturating_sub(1);
        let line = sums.get_mut(&row.key);
        if let Some(sum) = line.and_then(|line| line.get_mut((sample / per_point) as usize)) {
            sum.value = sum.value.saturating_add(row.values[0]);
            sum.rows += 1;
        }
    }
    Ok(Largest {
        sums,
        all: totals.len(),
        per_point,
    })
}

/// The lines of a series and, for flows, the [`shares`] of a NIC.
pub(super) fn figures(
    request: &Request<'_>,
    spool: &mut Spool,
) -> anyhow::Result<(Figure, Option<Figure>)> {
    let largest = largest(request, spool)?;
    let Largest {
        sums,
        all,
        per_point,
    } = &largest;
    let line = |(&key, sums): (&Key, &Vec<Sum>)| Line {
        name: request.name(key),
        points: request.points(sums, *per_point),
    };
    let figure = Figure {
        stacked: false,
        title: request.title(),
        note: request.note(sums.len(), *all, *per_point),
        value: request.value().to_owned(),
        end_ps: request.ps(request.samples),
        lines: sums.iter().map(line).collect(),
    };
    let shares = match request.kind {
        SeriesKind::Flows => shares(request, &largest),
        SeriesKind::PortVls | SeriesKind::Sources => None,
    };
    Ok((figure, shares))
}

/// Shares of the flows to one NIC: the NIC that receives most from several of them.
fn shares(request: &Request<'_>, largest: &Largest) -> Option<Figure> {
    let Largest {
        sums, per_point, ..
    } = largest;
    let mut received: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    for (&[_, to, _], sums) in sums {
        let (flows, bytes) = received.entry(to).or_default();
        *flows += 1;
        *bytes = sums
            .iter()
            .fold(*bytes, |all, sum| all.saturating_add(sum.value));
    }
    let several = received.iter().filter(|(_, (flows, _))| *flows > 1);
    let (&nic, _) = several.max_by_key(|&(&nic, &(_, bytes))| (bytes, std::cmp::Reverse(nic)))?;
    let own: Vec<_> = sums.iter().filter(|(key, _)| key[1] == nic).collect();
    let points = own.first().map_or(0, |(_, sums)| sums.len());
    let value = |flow: usize, point: usize| u128::from(own[flow].1[point].value);
    let line = |flow: usize| {
        let point = |at: usize| {
            let all: u128 = (0..own.len()).map(|flow| value(flow, at)).sum();
            let below: u128 = (0..=flow).map(|flow| value(flow, at)).sum();
            let (middle, _) = request.span(at as u64, *per_point);
            (all > 0).then(|| (middle, 100.0 * below as f64 / all as f64))
        };
        Line {
            name: request.name(*own[flow].0),
            points: (0..points).filter_map(point).collect(),
        }
    };
    Some(Figure {
        stacked: true,
        title: format!("Shares of what NIC {nic} receives"),
        note: request.note(sums.len(), largest.all, *per_point),
        value: "share of the payload (%)".to_owned(),
        end_ps: request.ps(request.samples),
        lines: (0..own.len()).map(line).collect(),
    })
}

impl Request<'_> {
    /// Picoseconds of `samples`.
    fn ps(&self, samples: u64) -> u64 {
        let tick = self.experiment.fabric.units.tick;
        tick.ps(samples.saturating_mul(self.interval))
    }

    fn title(&self) -> String {
        let title = match self.kind {
            SeriesKind::Flows => "Payload delivered per flow",
            SeriesKind::PortVls => "Data waiting per Port VL",
            SeriesKind::Sources => "Control level per source",
        };
        match self.load {
            Some(load) => format!("{title}, load {load}"),
            None => title.to_owned(),
        }
    }

    fn value(&self) -> &'static str {
        match self.kind {
            SeriesKind::Flows => "bandwidth (Gb/s)",
            SeriesKind::PortVls => "waiting (KiB)",
            SeriesKind::Sources => "control level",
        }
    }

    fn note(&self, shown: usize, all: usize, per_point: u64) -> String {
        let (what, most) = match self.kind {
            SeriesKind::Flows => ("flows", "most bytes"),
            SeriesKind::PortVls => ("Port VLs", "most data waiting"),
            SeriesKind::Sources => ("sources", "largest sum of control levels"),
        };
        let lines = match shown == all {
            true if all == 0 => return "nothing was recorded".to_owned(),
            true => format!("all {all} {what} seen"),
            false => format!("{shown} of {all} {what}: those with the {most}"),
        };
        let time = human_time(self.ps(per_point));
        match per_point {
            1 => format!("{lines}; a point per {time}"),
            n => format!("{lines}; a point is the mean over {time}, {n} samples"),
        }
    }

    fn name(&self, [a, b, c]: Key) -> String {
        let levels = &self.experiment.fabric.qos.service_levels;
        // With one service level its name is redundant.
        let sl = |sl: u32| match levels.get(sl as usize) {
            Some(level) if levels.len() > 1 => format!(" ({})", level.name),
            _ => String::new(),
        };
        match self.kind {
            SeriesKind::Flows => format!("NIC {a} -> NIC {b}{}", sl(c)),
            SeriesKind::PortVls => {
                let from = LinkEnd::Port {
                    switch: SwitchId::new(a),
                    port: PortId::new(b),
                };
                let link = self.links.iter().find(|link| link.from == from);
                let to = match link.map(|link| link.to) {
                    Some(LinkEnd::Nic(nic)) => format!(" to NIC {nic}"),
                    Some(LinkEnd::Port { switch, .. }) => format!(" to S{switch}"),
                    None => String::new(),
                };
                format!("S{a} port {b}{to}, VL {c}")
            }
            SeriesKind::Sources if c == NONE => format!("NIC {a}{}", sl(b)),
            SeriesKind::Sources => format!("NIC {a} -> NIC {c}{}", sl(b)),
        }
    }

    /// Middle of point `i` in picoseconds, and its samples.
    fn span(&self, i: u64, per_point: u64) -> (f64, u64) {
        let first = i * per_point;
        let n = per_point.min(self.samples - first);
        (self.ps(first) as f64 + self.ps(n) as f64 / 2.0, n)
    }

    /// The mean of each point, at its middle. A flow or Port VL without a row was at 0; a
    /// source without one has not sent yet.
    fn points(&self, sums: &[Sum], per_point: u64) -> Vec<(f64, f64)> {
        let flit_bytes = self.experiment.fabric.units.flit_bytes;
        let point = |(i, sum): (u64, &Sum)| {
            let (middle, n) = self.span(i, per_point);
            let value = match self.kind {
                SeriesKind::Flows => gbit_per_s(sum.value, self.ps(n)),
                SeriesKind::PortVls => {
                    let bytes = u128::from(sum.value) * u128::from(flit_bytes);
                    bytes as f64 / (n * 1024) as f64
                }
                SeriesKind::Sources if sum.rows == 0 => return None,
                SeriesKind::Sources => sum.value as f64 / sum.rows as f64,
            };
            Some((middle, value))
        };
        (0..).zip(sums).filter_map(point).collect()
    }
}
