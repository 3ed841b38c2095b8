//! The content of the figures: the largest lines of a series, and the shares of the flows to one NIC, with
//! no more points than are visible.

use super::colours::Colours;
use super::power;
use super::rows::gbit_per_s;
use crate::config::Experiment;
use crate::config::experiment::SeriesKind;
use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::stats::{LinkEnd, LinkStats};
use crate::results::data_table::{Key, NONE, Spool};
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
    /// Place in the palette; `None` for what has no name of its own.
    pub colour: Option<usize>,
    /// Time in picoseconds, and value.
    pub points: Vec<(f64, f64)>,
}

/// Sums over the samples of a point.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: u64,
    rows: u64,
}

/// What is drawn of a series.
struct Chosen {
    /// The lines with the largest sums, by key: so the legend has them.
    lines: Vec<Key>,
    /// Number of all lines.
    all: usize,
    /// The flows to the NIC whose shares are drawn.
    shared: Option<Shared>,
}

/// The flows to one NIC.
struct Shared {
    nic: u32,
    /// Those with the most bytes, by key.
    flows: Vec<Key>,
    /// Number of the others, which are one band.
    others: usize,
}

/// Sums per point of what is drawn.
struct Sums {
    lines: BTreeMap<Key, Vec<Sum>>,
    /// Of the other flows to the NIC whose shares are drawn.
    others: Vec<Sum>,
    /// Samples in a point.
    per_point: u64,
}

/// Finds the largest lines, and the NIC that receives most from several flows.
fn choose(request: &Request<'_>, spool: &mut Spool) -> anyhow::Result<Chosen> {
    let mut totals: BTreeMap<Key, u64> = BTreeMap::new();
    for row in spool.rows()? {
        let row = row?;
        let total = totals.entry(row.key).or_default();
        *total = total.saturating_add(row.values[0]);
    }
    let largest = |of: &dyn Fn(&Key) -> bool| {
        let mut keys: Vec<Key> = totals.keys().copied().filter(of).collect();
        keys.sort_by_key(|key| (std::cmp::Reverse(totals[key]), *key));
        keys.truncate(request.lines);
        keys.sort_unstable();
        keys
    };
    let mut received: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    for (&[_, to, _], &bytes) in &totals {
        let (flows, all) = received.entry(to).or_default();
        *flows += 1;
        *all = all.saturating_add(bytes);
    }
    let several = received.iter().filter(|(_, (flows, _))| *flows > 1);
    let most = several.max_by_key(|&(&nic, &(_, bytes))| (bytes, std::cmp::Reverse(nic)));
    let shared = most.filter(|_| request.kind == SeriesKind::Flows);
    Ok(Chosen {
        lines: largest(&|_| true),
        all: totals.len(),
        shared: shared.map(|(&nic, &(flows, _))| {
            let shown = largest(&|key| key[1] == nic);
            Shared {
                nic,
                others: flows - shown.len(),
                flows: shown,
            }
        }),
    })
}

/// Reads the rows once more, to compute the points of what is drawn.
fn sums(request: &Request<'_>, chosen: &Chosen, spool: &mut Spool) -> anyhow::Result<Sums> {
    let per_point = request.samples.div_ceil(POINTS).max(1);
    let points = request.samples.div_ceil(per_point) as usize;
    let none = || vec![Sum::default(); points];
    let shared = chosen.shared.iter().flat_map(|shared| &shared.flows);
    let keys = chosen.lines.iter().chain(shared);
    let mut sums = Sums {
        lines: keys.map(|&key| (key, none())).collect(),
        others: none(),
        per_point,
    };
    let shared = chosen.shared.as_ref();
    for row in spool.rows()? {
        let row = row?;
        let sample = (row.ticks / request.interval).saturating_sub(1);
        let at = (sample / per_point) as usize;
        let is_other =
            shared.is_some_and(|s| s.nic == row.key[1] && s.flows.binary_search(&row.key).is_err());
        let lines = sums.lines.get_mut(&row.key).into_iter();
        for line in lines.chain(is_other.then_some(&mut sums.others)) {
            if let Some(sum) = line.get_mut(at) {
                sum.value = sum.value.saturating_add(row.values[0]);
                sum.rows += 1;
            }
        }
    }
    Ok(sums)
}

/// The lines of a series and, for flows, the [`shares`] of a NIC.
pub(super) fn figures(
    request: &Request<'_>,
    spool: &mut Spool,
    colours: &mut Colours,
) -> anyhow::Result<(Figure, Option<Figure>)> {
    let chosen = choose(request, spool)?;
    let sums = sums(request, &chosen, spool)?;
    let shown = &chosen.lines;
    let colour = request.colours(shown, colours);
    let line = |(&key, colour): (&Key, usize)| Line {
        name: request.name(key),
        colour: Some(colour),
        points: request.points(&sums.lines[&key], sums.per_point),
    };
    let mut lines: Vec<Line> = shown.iter().zip(colour).map(line).collect();
    let values = || lines.iter().flat_map(|line| &line.points);
    let (value, factor) = request.value(values().map(|point| point.1).fold(0.0, f64::max));
    for (_, value) in lines.iter_mut().flat_map(|line| &mut line.points) {
        *value *= factor;
    }
    let figure = Figure {
        stacked: false,
        title: request.title(),
        note: request.note(&request.seen(shown.len(), chosen.all), sums.per_point),
        value: value.to_owned(),
        end_ps: request.ps(request.samples),
        lines,
    };
    let shared = chosen.shared.as_ref();
    Ok((figure, shared.map(|of| shares(request, of, &sums, colours))))
}

/// Shares of the flows to one NIC, of which the smallest are one band if they are many.
fn shares(request: &Request<'_>, of: &Shared, sums: &Sums, colours: &mut Colours) -> Figure {
    let colour = colours.of(&of.flows).into_iter().map(Some);
    let flows = of
        .flows
        .iter()
        .map(|key| (request.name(*key), &sums.lines[key]));
    let others = (of.others > 0).then(|| (others(of.others), &sums.others));
    let bands: Vec<_> = flows.chain(others).zip(colour.chain([None])).collect();
    let at = |band: usize, point: usize| u128::from(bands[band].0.1[point].value);
    let line = |band: usize| {
        let point = |point: usize| {
            let all: u128 = (0..bands.len()).map(|band| at(band, point)).sum();
            let below: u128 = (0..=band).map(|band| at(band, point)).sum();
            let (middle, _) = request.span(point as u64, sums.per_point);
            // Where nothing was received, there is a gap down to 0.
            (middle, 100.0 * below as f64 / all.max(1) as f64)
        };
        Line {
            name: bands[band].0.0.clone(),
            colour: bands[band].1,
            points: (0..sums.others.len()).map(point).collect(),
        }
    };
    let (shown, all) = (of.flows.len(), of.flows.len() + of.others);
    let seen = match of.others {
        0 => format!("all {all} flows to it"),
        _ => format!(
            "{shown} of {all} flows to it: those with the most bytes; the others are one band"
        ),
    };
    let topology = &request.experiment.fabric.topology;
    let to = topology.nic_label(NicId::new(of.nic));
    let title = format!("Shares of what {to} receives");
    Figure {
        stacked: true,
        title: request.with_load(&title),
        note: request.note(&seen, sums.per_point),
        value: "share of the payload (%)".to_owned(),
        end_ps: request.ps(request.samples),
        lines: (0..bands.len()).map(line).collect(),
    }
}

fn others(flows: usize) -> String {
    match flows {
        1 => "1 other flow".to_owned(),
        n => format!("{n} other flows"),
    }
}

impl Request<'_> {
    /// Picoseconds of `samples`.
    fn ps(&self, samples: u64) -> u64 {
        let tick = self.experiment.fabric.units.tick;
        tick.ps(samples.saturating_mul(self.interval))
    }

    fn title(&self) -> String {
        self.with_load(match self.kind {
            SeriesKind::Flows => "Payload delivered per flow",
            SeriesKind::PortVls => "Data waiting per Port VL",
            SeriesKind::Sources => "Control level per source",
            SeriesKind::Power => "Power states of links",
        })
    }

    fn with_load(&self, title: &str) -> String {
        match self.load {
            Some(load) => format!("{title}, load {load}"),
            None => title.to_owned(),
        }
    }

    /// The quantity of the lines in a unit that fits values of up to `high`, and the factor to it from
    /// Gb/s or KiB.
    fn value(&self, high: f64) -> (&'static str, f64) {
        match self.kind {
            SeriesKind::Flows => match high {
                1000.0.. => ("bandwidth (Tb/s)", 1e-3),
                1.0.. => ("bandwidth (Gb/s)", 1.0),
                1e-3.. => ("bandwidth (Mb/s)", 1e3),
                1e-9.. => ("bandwidth (kb/s)", 1e6),
                _ => ("bandwidth (Gb/s)", 1.0),
            },
            SeriesKind::PortVls => match high {
                10_240.0.. => ("waiting (MiB)", 1.0 / 1024.0),
                2.0.. => ("waiting (KiB)", 1.0),
                _ => ("waiting (B)", 1024.0),
            },
            SeriesKind::Sources => ("control level", 1.0),
            SeriesKind::Power => ("links", 1.0),
        }
    }

    /// Colours of the lines `keys`: those of their flows, if they have one.
    fn colours(&self, keys: &[Key], colours: &mut Colours) -> Vec<usize> {
        match self.kind {
            SeriesKind::Flows => colours.of(keys),
            SeriesKind::PortVls | SeriesKind::Power => (0..keys.len()).collect(),
            SeriesKind::Sources => {
                let flows = keys.iter().map(|&[from, sl, to]| [from, to, sl]);
                colours.of(&flows.collect::<Vec<_>>())
            }
        }
    }

    /// How many lines there are.
    fn seen(&self, shown: usize, all: usize) -> String {
        let (what, most) = match self.kind {
            SeriesKind::Flows => ("flows", "most bytes"),
            SeriesKind::PortVls => ("Port VLs", "most data waiting"),
            SeriesKind::Sources => ("sources", "largest sum of control levels"),
            SeriesKind::Power => ("states", "most links"),
        };
        match shown == all {
            true if all == 0 => "nothing was recorded".to_owned(),
            true => format!("all {all} {what} seen"),
            false => format!("{shown} of {all} {what}: those with the {most}"),
        }
    }

    fn note(&self, seen: &str, per_point: u64) -> String {
        let time = human_time(self.ps(per_point)).replace(".000 ", " ");
        match per_point {
            1 => format!("{seen}; a point per {time}"),
            n => format!("{seen}; a point is the mean over {time}, {n} samples"),
        }
    }

    fn name(&self, [a, b, c]: Key) -> String {
        let topology = &self.experiment.fabric.topology;
        let nic = |nic| topology.nic_label(NicId::new(nic));
        let levels = &self.experiment.fabric.qos.service_levels;
        // With one service level its name is redundant.
        let sl = |sl: u32| match levels.get(sl as usize) {
            Some(level) if levels.len() > 1 => format!(" ({})", level.name),
            _ => String::new(),
        };
        match self.kind {
            SeriesKind::Flows => format!("{} -> {}{}", nic(a), nic(b), sl(c)),
            SeriesKind::PortVls => {
                let from = LinkEnd::Port {
                    switch: SwitchId::new(a),
                    port: PortId::new(b),
                };
                let link = self.links.iter().find(|link| link.from == from);
                let to = match link.map(|link| link.to) {
                    Some(LinkEnd::Nic(to)) => format!(" to {}", topology.nic_label(to)),
                    Some(LinkEnd::Port { switch, .. }) => match topology.names() {
                        Some(names) => format!(" to {}", names.switch_label(switch)),
                        None => format!(" to S{switch}"),
                    },
                    None => String::new(),
                };
                let from = match topology.names() {
                    Some(names) => names.end_label(from),
                    None => format!("S{a} port {b}"),
                };
                format!("{from}{to}, VL {c}")
            }
            SeriesKind::Sources if c == NONE => format!("{}{}", nic(a), sl(b)),
            SeriesKind::Sources => format!("{} -> {}{}", nic(a), nic(c), sl(b)),
            SeriesKind::Power => format!(
                "{}: {}",
                power::LINKS[a as usize & 1],
                power::STATES[b as usize & 3]
            ),
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
                SeriesKind::Power => sum.value as f64 / (n * self.interval) as f64,
            };
            Some((middle, value))
        };
        (0..).zip(sums).filter_map(point).collect()
    }
}
