//! A run as a timeline (`docs/reference/timeline.md`): the activities of every rank, the messages, and the use of the links.
//!
//! `tracker` turns what is observed of a run into events in the order of time. `perfetto`, `paje` and `slices` write
//! each event at once, so memory is bounded by the activities and messages at one time. `overview` keeps a bounded
//! summary of the activities of the ranks, for reports.

mod output;
mod overview;
mod paje;
#[cfg(feature = "perfetto")]
mod perfetto;
mod slices;
mod tracker;

#[cfg(not(feature = "perfetto"))]
use super::MissingFeature;
use super::link_ends::link_end_named;
use super::table::extension;
use crate::config::Experiment;
use crate::fabric::ids::NicId;
use crate::fabric::spec::Tick;
use crate::fabric::stats::LinkStats;
use crate::replay::program::RankId;
use crate::replay::{Doing, MatchedBy, Observer, Sent, StreamOf};
use crate::run::Timeline;
use anyhow::anyhow;
use flitwise_formats::sink::Sink;
use output::Output;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tracker::Tracker;

/// The format of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineFormat {
    /// Track events of Perfetto (`.pftrace`, `.perfetto-trace`).
    Perfetto,
    /// Pajé (`.paje`, `.trace`).
    Paje,
    /// The activities of the ranks as rows (`.csv`).
    Csv,
}

impl TimelineFormat {
    /// The format that the name of a file asks for, without its last extension if that is `.gz` or `.zst`.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        match extension(path).0.as_str() {
            "pftrace" | "perfetto-trace" => Some(Self::Perfetto),
            "paje" | "trace" => Some(Self::Paje),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// The file of the timeline of an experiment. Unfinished, it disappears.
pub struct TimelineFile<'a> {
    experiment: &'a Experiment,
    path: PathBuf,
    interval: Option<Tick>,
    seen: Mutex<Seen>,
}

struct Seen {
    tracker: Tracker,
    /// `None` after an error.
    output: Option<Box<dyn Output>>,
    error: Option<anyhow::Error>,
    /// By link, in the order of the counters.
    links: Vec<Link>,
    /// First tick that the next counters cover.
    since: Tick,
}

/// The state of a link.
#[derive(Clone, Copy, Default)]
struct Link {
    units: u64,
    /// Units on the low lanes.
    low: u64,
    /// Ticks that packets took longer than usual.
    longer: u64,
    /// Ticks of packets that began and that have not been shown yet.
    carried: f64,
    /// The part that was shown last.
    shown: f64,
    /// Ticks for which it was up, and the part of the time that was shown last.
    up: Tick,
    shown_up: f64,
}

impl<'a> TimelineFile<'a> {
    /// Begins a timeline. Links are sampled every `interval` ticks.
    ///
    /// # Errors
    /// If the file cannot be created; a [`MissingFeature`](crate::results::MissingFeature) if this build cannot write the format.
    pub fn create(
        path: &Path,
        format: TimelineFormat,
        experiment: &'a Experiment,
        interval: Option<Tick>,
    ) -> anyhow::Result<Self> {
        let output: Box<dyn Output> = match format {
            TimelineFormat::Paje => Box::new(paje::Paje::new(Sink::create(path)?)?),
            TimelineFormat::Csv => {
                let named = experiment.fabric.topology.names().is_some();
                Box::new(slices::Slices::new(Sink::create(path)?, named)?)
            }
            #[cfg(feature = "perfetto")]
            TimelineFormat::Perfetto => Box::new(perfetto::Perfetto::new(Sink::create(path)?)?),
            #[cfg(not(feature = "perfetto"))]
            TimelineFormat::Perfetto => return Err(MissingFeature::PERFETTO.into()),
        };
        let interval = interval.filter(|_| format != TimelineFormat::Csv);
        Ok(Self {
            experiment,
            path: path.to_owned(),
            interval: interval.map(|ticks| ticks.max(1)),
            seen: Mutex::new(Seen {
                tracker: Tracker::default(),
                output: Some(output),
                error: None,
                links: Vec::new(),
                since: 0,
            }),
        })
    }

    /// Also writes the activities that take most of the time of the ranks, in a bounded number of rows, into `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn with_overview(self, path: &Path) -> anyhow::Result<Self> {
        let second = Box::new(overview::Overview::new(Sink::create(path)?)?);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = seen.output.take() {
            seen.output = Some(Box::new(overview::Both { first, second }));
        }
        drop(seen);
        Ok(self)
    }

    /// Completes the file of a run that has ended.
    ///
    /// # Errors
    /// If something could not be written, now or during the run.
    pub fn finish(self) -> anyhow::Result<()> {
        let seen = self.seen.into_inner();
        let Seen {
            mut tracker,
            output,
            error,
            since,
            ..
        } = seen.unwrap_or_else(PoisonError::into_inner);
        let write = || {
            if let Some(error) = error {
                return Err(error);
            }
            let mut output = output.ok_or_else(|| anyhow!("nothing was written"))?;
            let end = self.experiment.fabric.units.tick.ps(since);
            let end = tracker.end(end, output.as_mut())?;
            output.finish(end)
        };
        write().map_err(|e| e.context(format!("cannot write `{}`", self.path.display())))
    }

    /// Lets `write` pass on what was observed. An error ends the timeline, not the run.
    fn see(&self, write: impl FnOnce(&mut Tracker, &mut dyn Output) -> anyhow::Result<()>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen {
            tracker,
            output,
            error,
            ..
        } = &mut *seen;
        if let Some(open) = output
            && let Err(e) = write(tracker, open.as_mut())
        {
            *error = Some(e);
            *output = None;
        }
    }

    /// The parts of the time up to the end of `tick` for which links were used, or up, if they differ from the parts
    /// before.
    fn parts(&self, seen: &mut Seen, tick: Tick, links: &[LinkStats]) -> Vec<(usize, f64)> {
        let fabric = &self.experiment.fabric;
        let ticks = (tick + 1).saturating_sub(seen.since).max(1) as f64;
        let mut changed = Vec::new();
        // Links with power states appear a second time, behind all links, with the time for which they were up.
        let with_states = seen.links.iter_mut().zip(links);
        let with_states = with_states.filter_map(|(link, stats)| Some((link, stats.states?.up)));
        for (at, (link, up)) in with_states.enumerate() {
            let part = (up.saturating_sub(link.up) as f64 / ticks).min(1.0);
            link.up = up;
            if part.to_bits() != link.shown_up.to_bits() {
                link.shown_up = part;
                changed.push((links.len() + at, part));
            }
        }
        for (at, (link, stats)) in seen.links.iter_mut().zip(links).enumerate() {
            let units = stats.units.saturating_sub(link.units);
            link.units = stats.units;
            let low_bytes = stats.states.map_or(0, |states| states.low_bytes);
            let low = low_bytes.saturating_sub(link.low);
            link.low = low_bytes;
            let longer = stats.longer_ticks.saturating_sub(link.longer) as f64;
            link.longer = stats.longer_ticks;
            if units == 0 && link.carried == 0.0 && link.shown == 0.0 {
                continue;
            }
            // All of a packet counts in the tick in which it starts.
            let port = fabric.topology.port_at(stats.from);
            let busy = link.carried + fabric.busy_ticks(port, units, low) + longer;
            let part = (busy / ticks).min(1.0);
            link.carried = (busy - ticks).max(0.0);
            if part.to_bits() != link.shown.to_bits() {
                link.shown = part;
                changed.push((at, part));
            }
        }
        changed
    }
}

impl Observer for TimelineFile<'_> {
    fn job(&self, job: u32, name: &str, nics: &[NicId]) {
        let names = self.experiment.fabric.topology.names();
        self.see(|tracker, output| tracker.job(job, name, nics, names, output));
    }

    fn stream(&self, ps: u64, stream: StreamOf, doing: Doing) {
        self.see(|tracker, output| tracker.stream(ps, stream, doing, output));
    }

    fn region(&self, ps: u64, stream: StreamOf, name: Option<&str>) {
        self.see(|tracker, output| tracker.region(ps, stream, name, output));
    }

    fn waited_for(&self, ps: u64, stream: StreamOf, peer: RankId) {
        self.see(|tracker, output| tracker.waited_for(ps, stream, peer, output));
    }

    fn sent(&self, ps: u64, slot: u32, message: Sent) {
        self.see(|tracker, output| tracker.sent(ps, slot, message, output));
    }

    fn delivered(&self, ps: u64, slot: u32) {
        self.see(|tracker, output| tracker.delivered(ps, slot, output));
    }

    fn follows_messages(&self) -> bool {
        false
    }

    fn injected(&self, _: u64, _: u32) {}

    fn matched(&self, _: u64, _: u32, _: MatchedBy) {}
}

impl Timeline for TimelineFile<'_> {
    fn interval(&self) -> Option<Tick> {
        self.interval
    }

    fn links(&self, tick: Tick, links: &[LinkStats]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen_now = &mut *seen;
        if tick < seen_now.since {
            return;
        }
        let units = self.experiment.fabric.units.tick;
        let span = [units.ps(seen_now.since), units.ps(tick + 1)];
        let first = seen_now.links.is_empty();
        let parts = match self.interval {
            None => Vec::new(),
            Some(_) => {
                seen_now.links.resize(links.len(), Link::default());
                self.parts(seen_now, tick, links)
            }
        };
        seen_now.since = tick + 1;
        drop(seen);
        self.see(|tracker, output| {
            if first && self.interval.is_some() {
                let topology = &self.experiment.fabric.topology;
                let end = |end| link_end_named(topology, end);
                let name = |link: &LinkStats| format!("{} -> {}", end(link.from), end(link.to));
                for link in links {
                    output.link(&name(link))?;
                }
                for link in links.iter().filter(|link| link.states.is_some()) {
                    output.link(&format!("{}, up", name(link)))?;
                }
            }
            // Events of this tick may be reported in the next.
            tracker.links(units.ps(tick), span, parts, output)
        });
    }
}
