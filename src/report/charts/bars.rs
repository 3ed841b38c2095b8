//! Slowdowns, execution times, energy and more: a bar for each point of a study, or for each job of a run.

use super::choice::Choice;
use super::measures::{Measure, Unit};
use super::title::{setting, titled};
use crate::figure::{Axis, BarGroup, BarPanel, Bars, Chart, Estimate, Figure};
use crate::report::ReportError;
use crate::report::source::{LOAD, RunSource, Source, StudySource, runs, studies};
use crate::study::Mean;
use crate::units::time_unit;
use flitwise_base::quote::cut;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The bars of some measures.
pub(super) fn figures(
    measures: &[Measure],
    sources: &[Source],
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    let mut figures = Vec::new();
    for measure in measures {
        figures.extend(of_measure(sources, *measure, choice)?);
    }
    Ok(figures)
}

/// Values by the labels on the axes.
pub(super) struct Grid {
    pub label: String,
    /// Names of the axes, and their labels in order.
    pub axes: Vec<(String, Vec<String>)>,
    pub values: BTreeMap<Vec<String>, Vec<f64>>,
    /// The number of runs, also of those that did not complete.
    pub runs: BTreeMap<Vec<String>, usize>,
    /// The runs that did not complete, in words.
    pub incomplete: String,
    /// An axis that lacks a setting of the study, and the place of that setting.
    pub left_out: Option<(usize, usize)>,
}

fn of_measure(
    sources: &[Source],
    measure: Measure,
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    let studies: Vec<&StudySource> = studies(sources)
        .filter(|study| measure.of.has(study))
        .collect();
    let same_axes = studies.windows(2).all(|pair| pair[0].axes == pair[1].axes);
    let mut grids: Vec<Grid> = if same_axes && studies.len() > 1 {
        // Overlaid: the study is one more axis.
        vec![grid(&studies, measure, true)]
    } else {
        studies
            .iter()
            .map(|study| grid(&[study], measure, false))
            .collect()
    };
    let runs: Vec<&RunSource> = runs(sources).collect();
    grids.push(of_runs(&runs, measure, sources.len()));
    let filled = grids.into_iter().filter(|grid| !grid.values.is_empty());
    let drawn = filled.map(|grid| {
        let mut drawn = figure(&grid, measure, choice)?;
        if let Some((axis, [only])) = grid.axes.last().map(|(axis, all)| (axis, &all[..])) {
            name_single(&mut drawn, axis, only);
        }
        Ok(drawn)
    });
    drawn.collect()
}

/// Names a bar that no axis names after its setting.
pub(super) fn name_single(figure: &mut Figure, axis: &str, setting: &str) {
    let Chart::Bars(bars) = &mut figure.chart else {
        return;
    };
    if !bars.groups.is_empty() {
        return;
    }
    bars.groups = axis.to_owned();
    let groups = bars.panels.iter_mut().flat_map(|panel| &mut panel.groups);
    for group in groups {
        group.name = setting.to_owned();
    }
}

/// The values of studies; `overlaid`: the study is an axis.
pub(super) fn grid(studies: &[&StudySource], measure: Measure, overlaid: bool) -> Grid {
    let mut names: Vec<String> = studies
        .first()
        .map_or_else(Vec::new, |study| study.axes.clone());
    let several_loads = studies
        .iter()
        .any(|study| study.has_points_of_several_loads());
    if several_loads {
        names.push(LOAD.to_owned());
    }
    if overlaid {
        names.push("study".to_owned());
    }
    let mut grid = Grid {
        label: if overlaid {
            String::new()
        } else {
            studies[0].label.clone()
        },
        axes: names.into_iter().map(|name| (name, Vec::new())).collect(),
        values: BTreeMap::new(),
        runs: BTreeMap::new(),
        incomplete: incomplete(studies),
        left_out: None,
    };
    for study in studies {
        for row in &study.rows {
            let mut labels = row.labels.clone();
            if several_loads {
                labels.push(row.load.clone().unwrap_or_default());
            }
            if overlaid {
                labels.push(study.label.clone());
            }
            // A run that did not complete keeps its place.
            grid.know(&labels);
            *grid.runs.entry(labels.clone()).or_default() += 1;
            if let Some(value) = row.number(measure.column) {
                grid.values.entry(labels).or_default().push(value);
            }
        }
    }
    grid.sort(studies);
    grid
}

/// The values of the jobs that ended. A single run among several sources has its name in the title.
fn of_runs(runs: &[&RunSource], measure: Measure, sources: usize) -> Grid {
    let axes = ["run", "job"].map(|name| (name.to_owned(), Vec::new()));
    let mut grid = Grid {
        label: match runs {
            [only] if sources > 1 => only.label.clone(),
            _ => String::new(),
        },
        axes: axes.to_vec(),
        values: BTreeMap::new(),
        runs: BTreeMap::new(),
        incomplete: String::new(),
        left_out: None,
    };
    let mut others = Vec::new();
    for run in runs {
        let jobs = run.result["jobs"].as_array().map_or(&[][..], Vec::as_slice);
        let status = run.result["status"].as_str().unwrap_or("complete");
        if status != "complete" && !jobs.is_empty() {
            others.push(format!("{} ({})", run.label, cut(status)));
            continue;
        }
        for job in jobs {
            // The time of others is the time until the run was stopped, or until the other jobs ended.
            if job["complete"] == false {
                let name = job["name"].as_str().unwrap_or_default();
                others.push(format!("{name} of {} (did not end)", run.label));
                continue;
            }
            if let (Some(value), Some(name)) = (job[measure.field].as_f64(), job["name"].as_str()) {
                let labels = vec![run.label.clone(), name.to_owned()];
                grid.know(&labels);
                grid.values.insert(labels, vec![value]);
            }
        }
    }
    if !others.is_empty() {
        grid.incomplete = format!(" Without {}.", others.join(", "));
    }
    grid
}

/// A label that is a number, or a load such as `1/3`.
fn number(label: &str) -> Option<f64> {
    match label.split_once('/') {
        Some((over, under)) => Some(over.parse::<f64>().ok()? / under.parse::<f64>().ok()?),
        None => label.parse().ok(),
    }
}

/// The roles of the axes in the figure.
struct Roles {
    groups: Option<usize>,
    series: Option<usize>,
    panels: Vec<usize>,
}

impl Grid {
    pub fn know(&mut self, labels: &[String]) {
        for ((_, known), label) in self.axes.iter_mut().zip(labels) {
            if !known.contains(label) {
                known.push(label.clone());
            }
        }
    }

    /// Puts the labels of each axis in the order that `studies` have, whatever points are there. Numbers that ascend in each
    /// study ascend in several, and loads ascend.
    pub fn sort(&mut self, studies: &[&StudySource]) {
        let [first, ..] = studies else {
            return;
        };
        let with_loads = studies.iter().any(|one| one.has_points_of_several_loads());
        let axes = first.axes.len() + usize::from(with_loads);
        for (at, (_, labels)) in self.axes.iter_mut().enumerate().take(axes) {
            let orders = studies.iter().map(|study| study.settings(at));
            let orders: Vec<Vec<&str>> = orders.map(Iterator::collect).collect();
            let known = orders.concat();
            labels.sort_by_key(|label| known.iter().position(|one| one == label));
            let ascends = |order: &Vec<&str>| order.is_sorted_by_key(|label| number(label));
            if orders.iter().all(ascends) && labels.iter().all(|label| number(label).is_some()) {
                labels.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal));
            }
        }
    }

    /// The last axis of numbers, or the last one, goes from left to right. The last of the others has a colour for each
    /// label. The remaining axes make panels. Axes with one label are ignored. A choice comes first.
    fn roles(&self, choice: &Choice) -> Result<Roles, ReportError> {
        let varies = |at: &usize| self.axes[*at].1.len() > 1;
        let names: Vec<&str> = self.axes.iter().map(|(name, _)| name.as_str()).collect();
        let x = Choice::place("--x", choice.x.as_ref(), &names)?;
        let series = Choice::place("--series", choice.series.as_ref(), &names)?;
        if let (Some(at), true) = (x, x == series) {
            return Err(ReportError(format!(
                "--series: axis {} already goes from left to right; choose another one",
                names[at]
            )));
        }
        let mut left: Vec<usize> = (0..self.axes.len())
            .filter(|at| varies(at) && x != Some(*at) && series != Some(*at))
            .collect();
        let numbers = |at: &usize| self.axes[*at].1.iter().all(|l| l.parse::<f64>().is_ok());
        let groups = x.or_else(|| {
            let last = left.iter().rposition(numbers);
            let last = last.or_else(|| left.len().checked_sub(1));
            last.map(|at| left.remove(at))
        });
        let series = series.or_else(|| left.pop());
        Ok(Roles {
            groups,
            series,
            panels: left,
        })
    }

    /// All means are above 0, and the largest is more than [`ORDERS`] times the smallest.
    fn spans_orders(&self) -> bool {
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let (least, most) = (self.values.values().map(mean))
            .fold((f64::MAX, 0.0_f64), |(a, b), mean| {
                (a.min(mean), b.max(mean))
            });
        least > 0.0 && most > ORDERS * least
    }

    /// The seeds of a point, in words.
    pub fn seeds(&self) -> Option<String> {
        seeds(self.values.values().map(Vec::len))
    }

    pub fn estimate(&self, labels: &[String], factor: f64) -> Option<Estimate> {
        let values: Vec<f64> = self
            .values
            .get(labels)?
            .iter()
            .map(|v| v * factor)
            .collect();
        let runs = self.runs.get(labels).copied().unwrap_or_default();
        let Mean { mean, ci95: half } = Mean::of(&values, runs)?;
        Some(Estimate { mean, half })
    }
}

/// `Without 2 of 9 runs, which did not complete.` and nothing if all did.
pub(super) fn incomplete(studies: &[&StudySource]) -> String {
    let counts = studies.iter().map(|study| study.incomplete_and_all());
    let (incomplete, all) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    match incomplete {
        0 => String::new(),
        _ => format!(" Without {incomplete} of {all} runs, which did not complete."),
    }
}

/// `5 seeds` or `3 to 5 seeds`, from the number of each point; `None` of single values.
pub(super) fn seeds(counts: impl Iterator<Item = usize> + Clone) -> Option<String> {
    match (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0)) {
        (_, 0 | 1) => None,
        (a, b) if a == b => Some(format!("{a} seeds")),
        (a, b) => Some(format!("{a} to {b} seeds")),
    }
}

/// A grid as it is cut into panels, groups and series.
struct Cut<'a> {
    grid: &'a Grid,
    roles: Roles,
    /// The ratio of the unit of the figure to the unit of the values.
    factor: f64,
}

/// The setting of an axis.
type Setting = (usize, String);

impl Cut<'_> {
    /// The settings of an axis; without one a single place.
    fn settings(&self, axis: Option<usize>) -> Vec<Option<Setting>> {
        let Some(axis) = axis else {
            return vec![None];
        };
        let labels = self.grid.axes[axis].1.iter();
        labels.map(|label| Some((axis, label.clone()))).collect()
    }

    /// Every combination of the settings of the axes that make panels.
    fn panels(&self) -> Vec<Vec<Setting>> {
        let mut panels: Vec<Vec<Setting>> = vec![Vec::new()];
        for &axis in &self.roles.panels {
            let further = panels.iter().flat_map(|panel| {
                let settings = self.settings(Some(axis)).into_iter().flatten();
                settings.map(|setting| [&panel[..], &[setting]].concat())
            });
            panels = further.collect();
        }
        panels
    }

    /// The mean at these settings; axes with a single label are ignored.
    fn bar<'s>(&self, settings: impl Iterator<Item = &'s Setting>) -> Option<Estimate> {
        let axes = self.grid.axes.iter();
        let mut key: Vec<String> = axes
            .map(|(_, labels)| labels.first().cloned().unwrap_or_default())
            .collect();
        for (axis, label) in settings {
            key[*axis].clone_from(label);
        }
        self.grid.estimate(&key, self.factor)
    }

    fn panel(&self, panel: &[Setting]) -> BarPanel {
        let name =
            |group: &Option<Setting>| group.as_ref().map_or("", |(_, label)| label).to_owned();
        let series = self.settings(self.roles.series);
        let group = |group: &Option<Setting>| BarGroup {
            name: name(group),
            bars: series
                .iter()
                .map(|one| self.bar(panel.iter().chain(group).chain(one)))
                .collect(),
        };
        let labels = panel
            .iter()
            .map(|(axis, label)| setting(&self.grid.axes[*axis].0, label));
        let labels: Vec<String> = labels.collect();
        BarPanel {
            name: labels.join(", "),
            groups: self.settings(self.roles.groups).iter().map(group).collect(),
        }
    }
}

/// Values that differ by more than this factor have a logarithmic axis: else the small ones cannot be compared.
const ORDERS: f64 = 30.0;

pub(super) fn figure(
    grid: &Grid,
    measure: Measure,
    choice: &Choice,
) -> Result<Figure, ReportError> {
    let most = grid
        .values
        .values()
        .flatten()
        .fold(0.0, |a: f64, b| a.max(*b));
    let (factor, unit) = match measure.unit {
        Unit::Factor => (1.0, "factor"),
        Unit::Picoseconds => time_unit(most),
        Unit::Nanoseconds => {
            let (factor, unit) = time_unit(1000.0 * most);
            (1000.0 * factor, unit)
        }
        Unit::As(unit) => (1.0, unit),
        Unit::Share => (100.0, "%"),
    };
    let cut = Cut {
        grid,
        roles: grid.roles(choice)?,
        factor,
    };
    let groups = cut.roles.groups.map(|at| grid.axes[at].0.clone());
    let left_out = grid
        .left_out
        .filter(|(axis, _)| cut.roles.series == Some(*axis));
    let series = cut.settings(cut.roles.series).into_iter();
    let panels = cut.panels();
    let panels = panels.iter().map(|panel| cut.panel(panel));
    let bars = Bars {
        axis: Axis::new(measure.axis, unit),
        base: measure.base,
        signed: measure.signed,
        log: measure.base == 0.0 && !measure.signed && grid.spans_orders(),
        groups: groups.unwrap_or_default(),
        series: series
            .map(|one| one.map_or_else(String::new, |(_, label)| label))
            .collect(),
        left_out: left_out.map(|(_, place)| place),
        panels: panels
            .filter(|panel| panel.groups.iter().any(known))
            .collect(),
    };
    Ok(Figure {
        title: titled(measure.title, &grid.label),
        note: note(grid, &cut.roles, bars.log),
        chart: Chart::Bars(bars),
    })
}

fn known(group: &BarGroup) -> bool {
    group.bars.iter().any(Option::is_some)
}

fn note(grid: &Grid, roles: &Roles, log: bool) -> String {
    let mut note = match grid.seeds() {
        None => String::new(),
        Some(seeds) => format!("Means of {seeds} with 95 % intervals."),
    };
    if let Some(series) = roles.series {
        let name = &grid.axes[series].0;
        note += &format!(" Colours: {name}.");
    }
    note += &grid.incomplete;
    if log {
        note += " Logarithmic axis.";
    }
    note.trim().to_owned()
}
