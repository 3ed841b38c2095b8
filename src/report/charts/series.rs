//! Time series: bandwidth of flows, waiting data, control levels of sources.

use super::subject::{Heading, Subject, each};
use super::title::titled;
use crate::figure::Figure;
use crate::figure::tables::Key;
use crate::report::source::{RunSource, Series};
use crate::results::series::{Colours, Labels, Samples, Sampling, SeriesFigure, unnamed_port};
use crate::wiring::End;
use std::io;

pub(super) const SUBJECT: Subject = Subject {
    name: "cc-series",
    heading: Heading::of_runs("series", "Over time: flows and congestion control"),
    needs: (
        "time series in CSV, which need [series] with the format \"csv\" or \"both\"",
        "flitwise run EXP.toml --set series.interval=10us --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, figures)),
};

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

fn figures(run: &RunSource) -> Vec<Figure> {
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
