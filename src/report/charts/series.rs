//! Time series: bandwidth of flows, waiting data, control levels of sources.

use super::titled;
use crate::figure::Figure;
use crate::figure::tables::Key;
use crate::report::source::{RunSource, Series};
use crate::results::series::{Colours, Labels, Samples, Sampling, SeriesFigure, unnamed_port};
use crate::wiring::End;
use std::io;

/// Most lines of a figure: more cannot be told apart in a page.
const LINES: usize = 6;

/// The samples of a run: all its series have the same.
fn sampling(run: &RunSource) -> Sampling {
    let end_ps = run.series.iter().map(|series| series.end_ps).max();
    let end_ps = end_ps.unwrap_or(0) as f64;
    let samples = (end_ps / run.interval_ps.max(1) as f64).round().max(1.0);
    Sampling {
        // Not the whole picoseconds of the run: rounding would add up.
        interval_ps: (end_ps / samples).max(1.0),
        samples: samples as u64,
    }
}

struct Read<'a> {
    series: &'a Series,
    interval_ps: f64,
}

impl Samples for Read<'_> {
    fn each(&mut self, see: &mut dyn FnMut(Key, u64, f64)) -> io::Result<()> {
        for (key, samples) in &self.series.samples {
            for sample in samples {
                let number = (sample.ps as f64 / self.interval_ps).round() as u64;
                see(*key, number.saturating_sub(1), sample.value);
            }
        }
        Ok(())
    }
}

impl RunSource {
    /// The name of an end of a link, if its operators have one.
    fn name_of(&self, end: End) -> Option<&str> {
        let sent = self.links.iter().find(|link| link.from == end)?;
        Some(sent.names[0].as_str()).filter(|name| *name != end.name())
    }
}

impl Labels for RunSource {
    fn nic(&self, nic: u32) -> String {
        let name = self.name_of(End::Nic(nic));
        name.map_or_else(|| format!("NIC {nic}"), str::to_owned)
    }

    fn port(&self, switch: u32, port: u32) -> String {
        let name = self.name_of(End::Switch(switch, port));
        name.map_or_else(|| unnamed_port(switch, port), str::to_owned)
    }

    fn behind(&self, switch: u32, port: u32) -> Option<String> {
        let from = End::Switch(switch, port);
        let link = self.links.iter().find(|link| link.from == from)?;
        Some(match link.to {
            End::Nic(nic) => self.nic(nic),
            End::Switch(switch, port) => {
                let name = self.port(switch, port);
                let switch = name
                    .rsplit_once(" port ")
                    .map(|(switch, _)| switch.to_owned());
                switch.unwrap_or(name)
            }
        })
    }

    fn level(&self, sl: u32) -> Option<&str> {
        let level = self
            .levels
            .get(sl as usize)
            .filter(|_| self.levels.len() > 1);
        level.map(String::as_str)
    }
}

pub(super) fn figures(run: &RunSource) -> Vec<Figure> {
    let sampling = sampling(run);
    let mut colours = Colours::default();
    let filled = run
        .series
        .iter()
        .filter(|series| !series.samples.is_empty());
    let figure = |series: &Series| {
        let request = SeriesFigure {
            kind: series.kind,
            sampling,
            lines: LINES,
            labels: run,
        };
        let mut samples = Read {
            series,
            interval_ps: sampling.interval_ps,
        };
        // Samples in memory can be read.
        let mut figure = request.figure(&mut samples, &mut colours).ok()?;
        figure.title = titled(&figure.title, &run.label);
        Some(figure)
    };
    filled.filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::SeriesKind;
    use crate::figure::Chart;
    use crate::report::source::Sample;

    const NS: u64 = 1000;

    /// The points of a series with samples that end at these nanoseconds, of `samples` of 10 ns.
    fn of(kind: SeriesKind, ends: &[(u64, f64)], samples: u64) -> Vec<(f64, f64)> {
        let sample = |&(ns, value): &(u64, f64)| Sample { ps: ns * NS, value };
        let run = RunSource {
            series: vec![Series {
                kind,
                samples: [([0; 3], ends.iter().map(sample).collect())].into(),
                end_ps: samples * 10 * NS,
            }],
            interval_ps: 10 * NS,
            ..RunSource::default()
        };
        let Chart::Curves(curves) = &figures(&run)[0].chart else {
            panic!("no curves");
        };
        let points = curves.panels[0].lines[0].points.iter();
        points.map(|point| (point.x, point.y)).collect()
    }

    #[test]
    fn a_sample_is_drawn_in_the_middle_of_its_interval() {
        let points = of(SeriesKind::Flows, &[(10, 3.0), (30, 2.0)], 3);
        assert_eq!(points, [(5.0, 3.0), (15.0, 0.0), (25.0, 2.0)]);
    }

    /// 1199 samples are 399 points of three and one of two. A flow of one sample in three has a third of its bandwidth.
    #[test]
    fn points_are_means_over_all_their_samples() {
        let ends: Vec<(u64, f64)> = (0..400).map(|at| (30 * at + 10, 6.0)).collect();
        let points = of(SeriesKind::Flows, &ends, 1199);
        assert_eq!(points.len(), 400);
        assert!(points[..399].iter().all(|(_, y)| *y == 2.0), "{points:?}");
        assert_eq!(points[399].1, 3.0);
    }

    #[test]
    fn a_source_begins_where_it_first_sent() {
        let points = of(SeriesKind::Sources, &[(20, 0.0), (30, 4.0)], 3);
        assert_eq!(points, [(15.0, 0.0), (25.0, 4.0)]);
    }
}
