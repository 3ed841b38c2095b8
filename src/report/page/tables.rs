//! Tables beside the figures.

use super::section::Table;
use crate::figure::{Bars, Chart, Curves, Estimate, Figure, Matrix, Spans, Stacks};
use crate::report::charts::hottest;
use crate::report::source::{Distribution, LinkUse, RunSource};
use crate::units::{number, percent};

/// Most rows of a table of links, culprits or pairs.
pub(super) const ROWS: usize = 10;

/// The numbers of a figure.
pub(super) fn of_figure(figure: &Figure) -> Option<Table> {
    let (head, rows) = match &figure.chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Stacks(stacks) => of_stacks(stacks),
        Chart::Curves(curves) if curves.marks => of_curves(curves),
        Chart::Matrix(matrix) if matrix.written => of_whole_matrix(matrix),
        Chart::Matrix(matrix) => of_matrix(matrix),
        Chart::Spans(spans) => of_spans(spans),
        Chart::Curves(_) | Chart::Network(_) | Chart::Column(_) => return None,
    };
    Some(Table {
        caption: figure.title.clone(),
        head,
        rows,
    })
}

type Content = (Vec<String>, Vec<Vec<String>>);

pub(super) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn of_bars(bars: &Bars) -> Content {
    let mut head = vec!["".to_owned()];
    let several = bars.series.len() > 1;
    if several {
        head.extend(bars.series.iter().cloned());
    } else {
        head.push(bars.axis.label());
    }
    let mut rows = Vec::new();
    for panel in &bars.panels {
        for group in &panel.groups {
            let names = [panel.name.as_str(), group.name.as_str()];
            let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
            let mut row = vec![names.join(", ")];
            row.extend(group.bars.iter().map(|bar| match bar {
                Some(bar) if bars.signed => difference(*bar),
                Some(bar) => with_interval(bar.mean, bar.half),
                None => "–".to_owned(),
            }));
            rows.push(row);
        }
    }
    (head, rows)
}

/// `1.50 ± 0.12`: two significant digits of the interval, and as many decimals of the mean. Or the mean alone.
fn with_interval(mean: f64, half: Option<f64>) -> String {
    let Some(half) = half else {
        return number(mean);
    };
    let text = number(mean);
    let decimals = (1.0 - half.log10().floor()).max(0.0);
    if decimals > MOST_DECIMALS || text.contains('e') {
        return format!("{text} ± {}", number(half));
    }
    let decimals = decimals as usize;
    format!("{mean:.decimals$} ± {half:.decimals$}")
}

/// Narrower intervals, such as 0, are written by themselves.
const MOST_DECIMALS: f64 = 9.0;

/// `+1.5 ± 0.12`, in brackets if the interval contains 0, as in the tables of a study.
pub(super) fn difference(of: Estimate) -> String {
    let sign = if of.mean > 0.0 { "+" } else { "" };
    let text = format!("{sign}{}", with_interval(of.mean, of.half));
    if of.is_tie() {
        format!("({text})")
    } else {
        text
    }
}

fn of_stacks(stacks: &Stacks) -> Content {
    let mut head = vec![stacks.axis.label()];
    head.extend(stacks.parts.iter().cloned());
    let row = |stack: &crate::figure::Stack| {
        let mut row = vec![stack.name.clone()];
        row.extend(stack.parts.iter().map(|part| number(*part)));
        row
    };
    (head, stacks.stacks.iter().map(row).collect())
}

fn of_curves(curves: &Curves) -> Content {
    let head = vec![String::new(), curves.x.label(), curves.y.label()];
    let mut rows = Vec::new();
    for panel in &curves.panels {
        for line in &panel.lines {
            let series = curves.series.get(line.series).map_or("", String::as_str);
            for point in &line.points {
                let mark = if point.hollow { " (saturated)" } else { "" };
                rows.push(vec![
                    format!("{series}, {}", panel.name),
                    number(point.x),
                    with_interval(point.y, point.half) + mark,
                ]);
            }
        }
    }
    (head, rows)
}

fn of_matrix(matrix: &Matrix) -> Content {
    let mut cells: Vec<_> = matrix.cells.iter().collect();
    cells.sort_by(|a, b| b.value.total_cmp(&a.value));
    let name = |at: usize| matrix.names.get(at).cloned().unwrap_or_default();
    let rows = cells.iter().take(ROWS);
    let rows = rows.map(|c| {
        vec![
            format!("{} → {}", name(c.row), name(c.column)),
            number(c.value),
        ]
    });
    (texts(&["most, from → to", &matrix.measure]), rows.collect())
}

/// All cells, in their rows and columns.
fn of_whole_matrix(matrix: &Matrix) -> Content {
    let mut head = vec![format!("{}, {}", matrix.rows, matrix.columns)];
    head.extend(matrix.names.iter().cloned());
    let empty = vec!["–".to_owned(); matrix.names.len()];
    let mut rows: Vec<Vec<String>> = (matrix.names.iter())
        .map(|name| [std::slice::from_ref(name), &empty[..]].concat())
        .collect();
    for cell in &matrix.cells {
        let row = rows.get_mut(cell.row);
        if let Some(place) = row.and_then(|row| row.get_mut(cell.column + 1)) {
            *place = with_interval(cell.value, cell.half);
        }
    }
    (head, rows)
}

fn of_spans(spans: &Spans) -> Content {
    let mut head = vec![format!("{}, part of its time in %", spans.of)];
    head.extend(spans.names.iter().cloned());
    let row = |row: &crate::figure::Row| {
        let all: f64 = row.times.iter().sum();
        let mut cells = vec![row.name.clone()];
        cells.extend((0..spans.names.len()).map(|does| {
            let time = row.times.get(does).copied().unwrap_or(0.0);
            format!("{:.1}", 100.0 * time / all.max(f64::MIN_POSITIVE))
        }));
        cells
    };
    (head, spans.rows.iter().map(row).collect())
}

/// The most used links, numbered as in the drawing, and the links that hold up packets.
pub(super) fn links(run: &RunSource) -> Vec<Table> {
    let row = |(number, link): (usize, &&LinkUse)| {
        vec![
            format!("{number}: {} → {}", link.names[0], link.names[1]),
            percent(link.used),
            percent(link.held_up),
        ]
    };
    let table = |caption: String, links: &[&LinkUse]| Table {
        caption,
        head: texts(&["link", "in use", "part of all waits that it causes"]),
        rows: (1..).zip(links).map(row).collect(),
    };
    let mut waits: Vec<&LinkUse> = run.links.iter().filter(|link| link.held_up > 0.0).collect();
    waits.sort_by(|a, b| b.held_up.total_cmp(&a.held_up));
    waits.truncate(ROWS);
    let busy = hottest(run, ROWS);
    let label = &run.label;
    let busy = (!busy.is_empty()).then(|| table(format!("Most used links: {label}"), &busy));
    let holding = format!("Links that hold up packets: {label}");
    let holding = (!waits.is_empty()).then(|| table(holding, &waits));
    busy.into_iter().chain(holding).collect()
}

/// Counts and quantiles, to the end of a bucket.
pub(super) fn latencies(run: &RunSource) -> Option<Table> {
    let row = |one: &Distribution| {
        let all: u64 = one.buckets.iter().map(|bucket| bucket.2).sum();
        let quantile = |part: f64| {
            let mut sum = 0;
            let found = one.buckets.iter().find(|bucket| {
                sum += bucket.2;
                sum as f64 >= part * all as f64
            });
            found.map_or_else(String::new, |bucket| number(bucket.1))
        };
        let mut row = vec![
            format!("{}, {}", one.of, one.kind.replace('_', " ")),
            all.to_string(),
        ];
        row.extend([0.5, 0.9, 0.99, 0.999].map(quantile));
        row
    };
    let rows: Vec<Vec<String>> = run.latencies.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: format!("Latencies in ns, at most: {}", run.label),
        head: texts(&["of", "count", "50 %", "90 %", "99 %", "99.9 %"]),
        rows,
    })
}
