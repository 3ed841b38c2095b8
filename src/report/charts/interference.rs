//! How much each job of an interference study slows each other one down.

use super::bars::Grid;
use super::slowdown::{self, slowdowns};
use super::subject::Subject;
use super::title::{setting, titled};
use crate::figure::{Cell, Chart, Figure, Matrix};
use crate::report::source::{Source, studies};

pub(super) const SUBJECT: Subject = Subject {
    name: "interference",
    heading: slowdown::HEADING,
    needs: (
        "interference, which needs a study with [interference]",
        "flitwise study STUDY.toml",
    ),
    has_axes: false,
    draw: |sources, _| Ok(figures(sources)),
};

/// The axes of the job that is slowed down, and of the job beside it.
const AXES: [&str; 2] = ["job", "beside"];

fn figures(sources: &[Source]) -> Vec<Figure> {
    let grids = studies(sources).map(slowdowns);
    grids.filter_map(|grid| of_grid(&grid)).flatten().collect()
}

/// The cells of a figure, by the settings on the other axes.
type Panel = (Vec<usize>, Vec<Cell>);

/// A figure for each combination of settings on the other axes; `None` without the axes of jobs.
fn of_grid(grid: &Grid) -> Option<Vec<Figure>> {
    let [job, beside] = AXES.map(|name| grid.axes.iter().position(|axis| axis.0 == name));
    let (job, beside) = (job?, beside?);
    let mut names = grid.axes[job].1.clone();
    for name in &grid.axes[beside].1 {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let mut panels: Vec<Panel> = Vec::new();
    for labels in grid.values.keys() {
        let place = |name: &String| names.iter().position(|known| known == name);
        let mean = grid.estimate(labels, 1.0);
        let (Some(row), Some(column), Some(mean)) =
            (place(&labels[job]), place(&labels[beside]), mean)
        else {
            continue;
        };
        let cell = Cell {
            row,
            column,
            value: mean.mean,
            half: mean.half,
        };
        let settings = others(grid, labels);
        match panels.iter_mut().find(|panel| panel.0 == settings) {
            Some(panel) => panel.1.push(cell),
            None => panels.push((settings, vec![cell])),
        }
    }
    panels.sort_by(|a, b| a.0.cmp(&b.0));
    Some(
        panels
            .into_iter()
            .map(|panel| figure(grid, &names, panel))
            .collect(),
    )
}

/// The axes that vary, other than the two of jobs.
fn other_axes(grid: &Grid) -> impl Iterator<Item = usize> + '_ {
    let is_other = |at: &usize| {
        let (name, labels) = &grid.axes[*at];
        !AXES.contains(&name.as_str()) && labels.len() > 1
    };
    (0..grid.axes.len()).filter(is_other)
}

/// The settings of `labels` on the other axes, by their numbers.
fn others(grid: &Grid, labels: &[String]) -> Vec<usize> {
    let number = |at: usize| {
        let known = grid.axes[at].1.iter();
        known.take_while(|label| **label != labels[at]).count()
    };
    other_axes(grid).map(number).collect()
}

fn figure(grid: &Grid, names: &[String], (settings, cells): Panel) -> Figure {
    let axes = other_axes(grid).zip(settings);
    let settings = axes.filter_map(|(at, number)| {
        let (axis, labels) = &grid.axes[at];
        Some(setting(axis, labels.get(number)?))
    });
    let labels: Vec<String> = [grid.label.clone()].into_iter().chain(settings).collect();
    let of = grid
        .seeds()
        .map_or_else(String::new, |seeds| format!(" over {seeds}"));
    Figure {
        title: titled("Interference between jobs", &labels.join(", ")),
        note: format!(
            "Slowdown of the job of the row beside the job of the column, mean{of}.{}",
            grid.incomplete
        ),
        chart: Chart::Matrix(Matrix {
            measure: "slowdown".to_owned(),
            rows: "slowed down".to_owned(),
            columns: "beside".to_owned(),
            names: names.to_vec(),
            cells,
            linear: true,
            written: true,
        }),
    }
}
