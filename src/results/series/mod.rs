//! Time series as files and figures (`docs/result.md`, "Time series").
//!
//! Each run appends its rows to a [`spool`] of its own. In the end the spools of all runs
//! become one [table](super::data_table) per series, in the order of the runs, and the experiment's spools
//! become its [`figure`]s. So memory is bounded, and the files do not depend on which runs
//! ran side by side.

mod colours;
#[cfg(feature = "plots")]
mod draw;
mod figure;
mod power;
mod spool;

use crate::config::experiment::{Series, SeriesKind};
use crate::config::{About, Experiment, Plan};
use crate::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::fabric::series::Sample;
use crate::fabric::topology::Names;
use crate::results::data_table::{self, Cell, Column, ColumnKind, Table};
use crate::results::missing::missing_for;
use crate::results::titled;
use crate::run::{Recorder, Recording, Run, RunResult};
use anyhow::{Context, anyhow};
use colours::Colours;
use flitwise_formats::sink::Sink;
use spool::{NONE, Row, Spool};
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
    tables: Vec<Box<dyn Table>>,
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
            let tables = data_table::open(dir, kind.name(), series.format, &columns)?;
            let drawn = series.figure_lines > 0;
            let figure = drawn
                .then(|| Sink::create(&dir.join(format!("{}.svg", kind.name()))))
                .transpose()?;
            let shared = drawn && kind == SeriesKind::Flows;
            let shares = shared
                .then(|| Sink::create(&dir.join(SHARES)))
                .transpose()?;
            Ok(Output {
                tables,
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

    /// Writes the tables of all runs and the figures of the experiment; of several loads the
    /// last is drawn.
    ///
    /// # Errors
    /// If something could not be written, now or during the run.
    pub fn finish(mut self, result: &RunResult) -> anyhow::Result<()> {
        let mut colours = Colours::default();
        for (index, output) in std::mem::take(&mut self.outputs).into_iter().enumerate() {
            self.write(index, output, result, &mut colours)
                .with_context(|| format!("cannot write the series in `{}`", self.dir.display()))?;
        }
        Ok(())
    }

    fn write(
        &self,
        index: usize,
        mut output: Output,
        result: &RunResult,
        colours: &mut Colours,
    ) -> anyhow::Result<()> {
        let main = self.main();
        for run in &self.runs {
            let mut recorded = run.recorded();
            let Some(recorded) = recorded.as_mut() else {
                continue;
            };
            if let Some(e) = recorded.error.take() {
                return Err(anyhow!(e).context("recording ended before the run"));
            }
            let samples = recorded.ticks / self.series.interval;
            let Some((kind, spool)) = recorded.spools.get_mut(index) else {
                continue;
            };
            let label = run.label();
            for row in spool.rows()? {
                let row = row?;
                for table in &mut output.tables {
                    run.with_cells(&label, *kind, self.series.interval, &row, |cells| {
                        table.row(cells)
                    })?;
                }
            }
            if let Some(sink) = output.figure.take_if(|_| run.run == main) {
                let request = figure::Request {
                    kind: *kind,
                    experiment: run.experiment,
                    links: &result.main.stats.links,
                    load: run.load.filter(|_| self.runs.len() > 1),
                    interval: self.series.interval,
                    lines: self.series.figure_lines as usize,
                    samples,
                };
                let (mut figure, mut shares) = figure::figures(&request, spool, colours)?;
                for figure in std::iter::once(&mut figure).chain(&mut shares) {
                    figure.title = titled(self.about, &figure.title);
                }
                finish_figure(sink, &figure)?;
                if let (Some(sink), Some(shares)) = (output.shares.take(), shares) {
                    finish_figure(sink, &shares)?;
                }
            }
        }
        output.tables.into_iter().try_for_each(Table::finish)
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

#[cfg(feature = "plots")]
fn finish_figure(mut sink: Sink, figure: &figure::Figure) -> anyhow::Result<()> {
    use std::io::Write;
    let svg = draw::svg(figure).map_err(|e| anyhow!("cannot draw: {e}"))?;
    sink.write_all(svg.as_bytes())?;
    Ok(sink.finish()?)
}

/// Draws nothing: [`SeriesFiles::open`] has refused figures.
#[cfg(not(feature = "plots"))]
fn finish_figure(_: Sink, _: &figure::Figure) -> anyhow::Result<()> {
    Ok(())
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
            Run::Unloaded => "unloaded".to_owned(),
            Run::Ideal => "ideal".to_owned(),
        }
    }

    /// Calls `write` with the row as cells, in the order of [`columns`].
    fn with_cells<T>(
        &self,
        label: &str,
        kind: SeriesKind,
        interval: u64,
        row: &Row,
        write: impl FnOnce(&[Cell<'_>]) -> T,
    ) -> T {
        let units = self.experiment.fabric.units;
        let ps = |ticks: u64| units.tick.ps(ticks);
        let levels = &self.experiment.fabric.qos.service_levels;
        let sl = |sl: u32| Cell::Text(levels.get(sl as usize).map_or("", |level| &level.name));
        let [run, load] = [Cell::Text(label), self.load.map_or(Cell::Empty, Cell::Real)];
        let time = Cell::Integer(ps(row.ticks));
        let id = |id: u32| Cell::Integer(id.into());
        let ([a, b, c], [x, y]) = (row.key, row.values);
        let names = self.experiment.fabric.topology.names();
        let nic = |id| names.map(|names| names.nic_label(NicId::new(id)));
        match kind {
            SeriesKind::Flows => {
                let rate = Cell::Real(gbit_per_s(x, ps(interval)));
                let mut cells = vec![run, load, time, id(a), id(b), sl(c), Cell::Integer(x), rate];
                cells.extend([nic(a), nic(b)].into_iter().flatten().map(Cell::Text));
                write(&cells)
            }
            SeriesKind::PortVls => {
                let bytes = x.saturating_mul(units.flit_bytes.into());
                let [flits, bytes, marked] = [x, bytes, y].map(Cell::Integer);
                let at = SwitchPort::new(SwitchId::new(a), PortId::new(b));
                let name = names.map(|names| names.port_label(at));
                let mut cells = vec![run, load, time, id(a), id(b), id(c), flits, bytes, marked];
                cells.extend(name.iter().map(|name| Cell::Text(name)));
                write(&cells)
            }
            SeriesKind::Sources => {
                let to = match c {
                    NONE => Cell::Empty,
                    nic => id(nic),
                };
                let [level, delay] = [x, ps(y)].map(Cell::Integer);
                let mut cells = vec![run, load, time, id(a), sl(b), to, level, delay];
                cells.extend(nic(a).map(Cell::Text));
                write(&cells)
            }
            SeriesKind::Power => {
                let (links, state) = (power::LINKS[a as usize & 1], power::STATES[b as usize & 3]);
                let mean = x as f64 / interval as f64;
                let watts = mean * power::watts(self.experiment, b);
                let [links, state] = [links, state].map(Cell::Text);
                let [mean, watts] = [mean, watts].map(Cell::Real);
                write(&[run, load, time, links, state, mean, watts])
            }
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

/// Gb/s of `bytes` in `ps`: an integer divided once, so that every machine prints the same
/// digits.
fn gbit_per_s(bytes: u64, ps: u64) -> f64 {
    (u128::from(bytes) * 8000) as f64 / ps.max(1) as f64
}

/// The columns of a series; `docs/result.md` describes them.
fn columns(kind: SeriesKind, names: Option<&Names>) -> Vec<Column<'static>> {
    let column = |kind: ColumnKind, optional: bool| {
        move |name: &'static str| Column {
            name,
            kind,
            optional,
        }
    };
    let text = column(ColumnKind::Text, false);
    let integer = column(ColumnKind::Integer, false);
    let real = column(ColumnKind::Real, false);
    let mut columns = vec![
        text("run"),
        column(ColumnKind::Real, true)("load"),
        integer("time_ps"),
    ];
    columns.extend(match kind {
        SeriesKind::Flows => vec![
            integer("from_nic"),
            integer("to_nic"),
            text("sl"),
            integer("bytes"),
            real("gbit_per_s"),
        ],
        SeriesKind::PortVls => [
            "switch",
            "port",
            "vl",
            "waiting_flits",
            "waiting_bytes",
            "marked",
        ]
        .map(integer)
        .to_vec(),
        SeriesKind::Sources => vec![
            integer("nic"),
            text("sl"),
            column(ColumnKind::Integer, true)("to_nic"),
            integer("control_level"),
            integer("delay_ps"),
        ],
        SeriesKind::Power => vec![
            text("links"),
            text("state"),
            real("mean_links"),
            real("watts"),
        ],
    });
    if names.is_some() {
        columns.extend(match kind {
            SeriesKind::Flows => vec![text("from_name"), text("to_name")],
            SeriesKind::PortVls => vec![text("port_name")],
            SeriesKind::Sources => vec![text("nic_name")],
            SeriesKind::Power => Vec::new(),
        });
    }
    columns
}
