//! Time series as files and figures (`docs/reference/result.md`, "Time series").
//!
//! Each run appends its rows to a [`spool`] of its own. In the end the spools of all runs become one
//! [table](crate::figure::tables) per series, in the order of the runs, and the experiment's spools become its
//! [`figure`]s. So memory is bounded, and the files do not depend on which runs were simulated side by side.

mod colours;
mod figure;
mod labels;
mod power;
mod rows;
mod shares;

pub(crate) use colours::Colours;
pub(crate) use figure::{Samples, Sampling, SeriesFigure};
#[cfg(feature = "report")]
pub(crate) use labels::{Labels, unnamed_port};
#[cfg(feature = "report")]
pub(crate) use power::{LINKS, STATES};

use crate::config::experiment::{Series, SeriesKind};
use crate::config::{About, Experiment, Plan};
use crate::fabric::ids::NicId;
use crate::fabric::series::Sample;
use crate::figure::tables::{Key, MissingFeature, NONE, Row, Spool, TableFiles};
use crate::figure::{Figure, Theme};
use crate::results::figure::{WIDTH, titled};
use crate::run::{Recorder, Recording, Run, RunResult};
use anyhow::{Context, anyhow};
use flitwise_formats::sink::Sink;
use labels::FabricLabels;
use rows::{columns, value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The figure of several flows that share a NIC.
pub(super) const SHARES: &str = "shares.svg";

/// The files of the time series of a plan. Unfinished files disappear.
pub struct SeriesFiles<'a> {
    series: &'a Series,
    about: &'a About,
    dir: PathBuf,
    /// In the order of `series.record`.
    outputs: Vec<Output>,
    /// In the order of the rows.
    runs: Vec<RunFiles<'a>>,
}

/// The files of one series.
struct Output {
    table: TableFiles,
    figure: Option<Sink>,
    /// For flows: how several of them share a NIC.
    shares: Option<Sink>,
}

/// The recording of one run.
struct RunFiles<'a> {
    run: Run,
    experiment: &'a Experiment,
    /// The load of a run without a job.
    load: Option<f64>,
    recorded: Mutex<Option<Recorded>>,
}

struct Recorded {
    /// In the order of `series.record`.
    spools: Vec<(SeriesKind, Spool)>,
    /// Ticks from the start to the last sample.
    ticks: u64,
    /// The error that ended the recording.
    error: Option<std::io::Error>,
}

impl<'a> SeriesFiles<'a> {
    /// Opens the files of `series` in the existing directory `dir`.
    ///
    /// # Errors
    /// If one cannot be written; a [`MissingFeature`](crate::results::MissingFeature) if `series` asks
    /// for Parquet files or figures, and this build lacks the feature that writes them.
    pub fn open(dir: &Path, plan: &'a Plan, series: &'a Series) -> anyhow::Result<Self> {
        let (parquet, plots) = (cfg!(feature = "parquet"), cfg!(feature = "plots"));
        if let Some(missing) = missing_for(series, parquet, plots) {
            return Err(missing.into());
        }
        let outputs = series.record.iter().map(|&kind| {
            let columns = columns(kind, plan.experiment.fabric.topology.names());
            let table = TableFiles::create(dir, kind.name(), series.format, &columns)?;
            let drawn = series.figure_lines > 0;
            let figure = drawn
                .then(|| Sink::create(&dir.join(format!("{}.svg", kind.name()))))
                .transpose()?;
            let shared = drawn && kind == SeriesKind::Flows;
            let shares = shared
                .then(|| Sink::create(&dir.join(SHARES)))
                .transpose()?;
            Ok(Output {
                table,
                figure,
                shares,
            })
        });
        let run = |run, experiment, load| RunFiles {
            run,
            experiment,
            load,
            recorded: Mutex::new(None),
        };
        let main = &plan.experiment;
        let runs = match &main.measure {
            Some(measure) => (measure.loads.iter().enumerate())
                .map(|(i, load)| run(Run::Load(i), main, Some(load.to_f64())))
                .collect(),
            None => {
                let baselines = plan.baselines.iter().enumerate();
                let baselines = baselines.filter(|_| series.baselines);
                let baselines = baselines.map(|(i, b)| run(Run::Baseline(i), &b.experiment, None));
                std::iter::once(run(Run::Experiment, main, None))
                    .chain(baselines)
                    .collect()
            }
        };
        Ok(Self {
            series,
            about: &plan.about,
            dir: dir.to_owned(),
            outputs: outputs.collect::<anyhow::Result<_>>()?,
            runs,
        })
    }

    /// Writes the tables of all runs and the figures of the experiment. Of several loads the last is drawn.
    ///
    /// # Errors
    /// If something could not be written, now or during the run.
    pub fn finish(mut self, result: &RunResult) -> anyhow::Result<()> {
        let outputs = std::mem::take(&mut self.outputs);
        self.write(outputs, result)
            .with_context(|| format!("cannot write the series in `{}`", self.dir.display()))
    }

    fn write(&self, outputs: Vec<Output>, result: &RunResult) -> anyhow::Result<()> {
        let mut colours = Colours::default();
        let mut shares = Vec::new();
        for (index, output) in outputs.into_iter().enumerate() {
            self.write_table(index, output.table)?;
            shares.extend(output.shares.map(|sink| (index, sink)));
            let Some(sink) = output.figure else { continue };
            self.draw(index, sink, result, |figure, samples| {
                figure.figure(samples, &mut colours).map(Some)
            })?;
        }
        // Flows that no other figure shows take the colours that are left.
        for (index, sink) in shares {
            self.draw(index, sink, result, |figure, samples| {
                figure.shares(samples, &mut colours)
            })?;
        }
        Ok(())
    }

    fn write_table(&self, index: usize, mut table: TableFiles) -> anyhow::Result<()> {
        let interval = self.series.interval;
        for run in &self.runs {
            let mut recorded = run.recorded();
            let Some(recorded) = recorded.as_mut() else {
                continue;
            };
            if let Some(e) = recorded.error.take() {
                return Err(anyhow!(e).context("recording ended before the run"));
            }
            let Some((kind, spool)) = recorded.spools.get_mut(index) else {
                continue;
            };
            let label = run.label();
            for row in spool.rows()? {
                run.with_cells(&label, *kind, interval, &row?, |cells| table.row(cells))?;
            }
        }
        table.finish()
    }

    /// Draws a series of the experiment. Without a figure, the file is not written.
    fn draw(
        &self,
        index: usize,
        mut sink: Sink,
        result: &RunResult,
        figure: impl FnOnce(&SeriesFigure<'_>, &mut dyn Samples) -> std::io::Result<Option<Figure>>,
    ) -> anyhow::Result<()> {
        let main = self.main();
        let Some(run) = self.runs.iter().find(|files| files.run == main) else {
            return Ok(());
        };
        let mut recorded = run.recorded();
        let Some(recorded) = recorded.as_mut() else {
            return Ok(());
        };
        let samples = recorded.ticks / self.series.interval;
        let Some((kind, spool)) = recorded.spools.get_mut(index) else {
            return Ok(());
        };
        let ticks = samples.saturating_mul(self.series.interval);
        let end_ps = run.experiment.fabric.units.tick.ps(ticks);
        let request = SeriesFigure {
            kind: *kind,
            sampling: Sampling {
                interval_ps: end_ps as f64 / samples.max(1) as f64,
                samples,
            },
            lines: self.series.figure_lines as usize,
            labels: &FabricLabels {
                experiment: run.experiment,
                links: &result.main.stats.links,
            },
        };
        let mut recording = Spooled {
            kind: *kind,
            experiment: run.experiment,
            interval: self.series.interval,
            spool,
        };
        let Some(mut figure) = figure(&request, &mut recording)? else {
            return Ok(());
        };
        if let Some(load) = run.load.filter(|_| self.runs.len() > 1) {
            figure.title += &format!(", load {load}");
        }
        figure.title = titled(self.about, &figure.title);
        let svg = figure.draw(WIDTH, Theme::File);
        sink.write_all(svg.as_bytes())?;
        Ok(sink.finish()?)
    }

    /// The run to draw: the experiment, or the last load that was begun.
    fn main(&self) -> Run {
        let mut begun = self.runs.iter().filter(|run| run.recorded().is_some());
        let last = begun.by_ref().filter(|run| matches!(run.run, Run::Load(_)));
        last.last().map_or(Run::Experiment, |run| run.run)
    }

    fn begin_run(&self, index: usize) -> std::io::Result<Recorded> {
        let spool = |&kind: &SeriesKind| {
            let name = format!("{}-{index}.spool", kind.name());
            Ok((kind, Spool::create(&self.dir.join(name))?))
        };
        Ok(Recorded {
            spools: self
                .series
                .record
                .iter()
                .map(spool)
                .collect::<Result<_, std::io::Error>>()?,
            ticks: 0,
            error: None,
        })
    }
}

/// The samples of a run in their spool.
struct Spooled<'a> {
    kind: SeriesKind,
    experiment: &'a Experiment,
    interval: u64,
    spool: &'a mut Spool,
}

impl Samples for Spooled<'_> {
    fn each(&mut self, see: &mut dyn FnMut(Key, u64, f64)) -> std::io::Result<()> {
        for row in self.spool.rows()? {
            let row = row?;
            let sample = (row.ticks / self.interval).saturating_sub(1);
            let value = value(self.kind, self.experiment, self.interval, row.values[0]);
            see(row.key, sample, value);
        }
        Ok(())
    }
}

/// The feature that `series` needs and a build lacks. `parquet` and `plots`: whether the build has these features.
fn missing_for(series: &Series, parquet: bool, plots: bool) -> Option<MissingFeature> {
    if !parquet && series.format.has_parquet() {
        return Some(MissingFeature::SERIES_PARQUET);
    }
    (!plots && series.figure_lines > 0).then_some(MissingFeature::SERIES_FIGURES)
}

impl Recorder for SeriesFiles<'_> {
    fn begin(&self, run: Run) -> Option<Recording<'_>> {
        let index = self.runs.iter().position(|files| files.run == run)?;
        let files = &self.runs[index];
        *files.recorded() = Some(self.begin_run(index).unwrap_or_else(|e| Recorded {
            spools: Vec::new(),
            ticks: 0,
            error: Some(e),
        }));
        let end = End(files);
        Some(Recording {
            interval: self.series.interval,
            take: Box::new(move |sample| end.take(sample)),
        })
    }
}

impl RunFiles<'_> {
    fn recorded(&self) -> MutexGuard<'_, Option<Recorded>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text in the column `run`.
    fn label(&self) -> String {
        match self.run {
            Run::Experiment | Run::Load(_) => "experiment".to_owned(),
            Run::Baseline(i) => format!("baseline-{}", i + 1),
            Run::AlwaysUp => "always-up".to_owned(),
            Run::Unloaded => "unloaded".to_owned(),
            Run::Ideal => "ideal".to_owned(),
        }
    }
}

/// Records a run, and closes its spools when it is dropped.
struct End<'a, 'b>(&'a RunFiles<'b>);

impl End<'_, '_> {
    fn take(&self, sample: &Sample) {
        if let Some(recorded) = self.0.recorded().as_mut() {
            recorded.take(sample);
        }
    }
}

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        if let Some(recorded) = self.0.recorded().as_mut() {
            for (_, spool) in &mut recorded.spools {
                if let Err(e) = spool.close() {
                    recorded.error.get_or_insert(e);
                }
            }
        }
    }
}

impl Recorded {
    fn take(&mut self, sample: &Sample) {
        self.ticks = sample.tick.saturating_add(1);
        if self.error.is_none() {
            self.error = self.push(self.ticks, sample).err();
        }
    }

    fn push(&mut self, ticks: u64, seen: &Sample) -> std::io::Result<()> {
        for (kind, spool) in &mut self.spools {
            let mut push = |key, values| spool.push(&Row { ticks, key, values });
            match kind {
                SeriesKind::Flows => (seen.flows.iter()).try_for_each(|f| {
                    push([f.src.get(), f.dst.get(), f.sl.into()], [f.bytes, 0])
                })?,
                SeriesKind::PortVls => (seen.port_vls.iter()).try_for_each(|p| {
                    push(
                        [p.switch.get(), p.port.get(), p.vl.into()],
                        [p.flits, p.marked],
                    )
                })?,
                SeriesKind::Sources => seen.sources.iter().try_for_each(|s| {
                    let to = s.dst.map_or(NONE, NicId::get);
                    push([s.nic.get(), s.sl.into(), to], [s.level.into(), s.delay])
                })?,
                SeriesKind::Power => (power::rows(seen))
                    .try_for_each(|(links, state, ticks)| push([links, state, 0], [ticks, 0]))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::TableFormat;

    #[test]
    fn errors_name_the_feature_and_what_to_do_without_it() {
        let series = |format, figure_lines| Series {
            interval: 1,
            record: Vec::new(),
            format,
            baselines: false,
            figure_lines,
        };
        let (csv, both) = (TableFormat::Csv, TableFormat::Both);
        let cases = [
            (series(csv, 0), false, false, None),
            (series(both, 8), true, true, None),
            (
                series(both, 8),
                false,
                true,
                Some(MissingFeature::SERIES_PARQUET),
            ),
            (
                series(csv, 8),
                true,
                false,
                Some(MissingFeature::SERIES_FIGURES),
            ),
        ];
        for (series, parquet, plots, expected) in cases {
            assert_eq!(missing_for(&series, parquet, plots), expected, "{series:?}");
        }
        assert_eq!(
            MissingFeature::SERIES_PARQUET.to_string(),
            "series.format: this build writes no Parquet files, for it lacks the feature `parquet`; \
             build it with `--features parquet`, or set series.format = \"csv\""
        );
    }
}
