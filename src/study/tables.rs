//! The tables of a study for people: as text, Markdown and LaTeX.

use super::aggregate::{Difference, Group, Mean, Means, differences, groups};
use super::draw::Pairing;
use super::grid::Grid;
use super::interaction::{Interaction, Over, interactions};
use super::job_tables;
use super::metrics::Measure;
use super::until::Studied;
use crate::results::write_table;
use crate::units;
use flitwise_base::quote::cut;
use std::fmt::Write;

/// The beginning of the titles of times and slowdowns, where runs have several jobs.
const LAST_JOB: &str = "last job: ";

/// Reasons of failed runs that are listed.
const REASONS: usize = 10;

/// A table with its title.
pub(super) struct Sheet {
    pub title: String,
    /// The first row is the header.
    pub rows: Vec<Vec<String>>,
    /// Columns of words, from the left; the others hold numbers.
    pub words: usize,
}

/// `1.0624 ± 0.0012`.
pub(super) fn with_interval(mean: Option<Mean>, decimals: usize) -> String {
    match mean {
        None => "-".to_owned(),
        Some(Mean { mean, ci95: None }) => format!("{mean:.decimals$}"),
        Some(Mean {
            mean,
            ci95: Some(ci),
        }) => format!("{mean:.decimals$} ± {ci:.decimals$}"),
    }
}

/// `+1.20 ± 0.31`, in brackets if the interval contains 0.
pub(super) fn difference_text(mean: Option<Mean>) -> String {
    let Some(Mean { mean, ci95 }) = mean else {
        return "-".to_owned();
    };
    // A value that rounds to zero has no sign.
    let text = match format!("{mean:+.2}") {
        zero if zero[1..] == *"0.00" => "0.00".to_owned(),
        text => text,
    };
    match ci95 {
        None => text,
        Some(ci) if mean.abs() <= ci => format!("({text} ± {ci:.2})"),
        Some(ci) => format!("{text} ± {ci:.2}"),
    }
}

/// The axes with more than one setting.
pub(super) fn varying(grid: &Grid) -> Vec<usize> {
    let axes = grid.study.axes.iter().enumerate();
    let many = axes.filter(|(_, axis)| axis.settings.len() > 1);
    many.map(|(at, _)| at).collect()
}

fn sheets(studied: &Studied) -> Vec<Sheet> {
    let (grid, metrics) = (&studied.grid, studied.metrics);
    let groups = groups(&studied.rows, metrics);
    let loads = groups.iter().any(|group| group.load.is_some());
    let shown = metrics.shown(loads);
    let there = |measure: &Measure| {
        let mut means = groups.iter().filter_map(|group| group.means.get(measure));
        means.any(|mean| !measure.optional || mean.mean != 0.0)
    };
    let main = shown.matrix.iter().find(|measure| there(measure));
    let main = main.or(shown.matrix.last());
    let told = |measures: &[&'static Measure]| -> Vec<&'static Measure> {
        let told = |measure: &&Measure| !measure.optional || there(measure);
        measures.iter().copied().filter(told).collect()
    };
    let of_jobs = job_tables::sheets(grid, &studied.rows, &groups);
    let last = if of_jobs.is_empty() { "" } else { LAST_JOB };
    let mut sheets = vec![all_points(grid, &groups, &told(shown.points), loads, last)];
    sheets.extend(of_jobs);
    sheets.extend(main.and_then(|main| matrix(grid, &groups, main, last)));
    let all = differences(grid, &groups, metrics);
    for axis in varying(grid) {
        let of_axis = all.iter().filter(|difference| difference.axis == axis);
        let of_axis: Vec<&Difference<'_>> = of_axis.collect();
        if !of_axis.is_empty() {
            let measures = told(shown.differences);
            sheets.push(self::of_axis(
                grid,
                &of_axis,
                axis,
                (&measures, last),
                loads,
            ));
        }
    }
    let all = interactions(grid, &groups, metrics);
    if let Some((axis, over)) = asked_change(grid, &groups) {
        let changes = all
            .iter()
            .filter(|change| change.axis == axis && change.over == over);
        let changes: Vec<&Interaction<'_>> = changes.collect();
        if !changes.is_empty() {
            let names = [Over::Axis(axis), over].map(|one| one.names(grid, &groups));
            let measures = told(shown.differences);
            sheets.push(of_changes(grid, &changes, names, (&measures, last), loads));
        }
    }
    sheets
}

/// The compared axis, and the axis over which its differences change, if exactly two vary: an axis of words is compared over
/// an axis of numbers, of two axes of the same type the first over the second.
fn asked_change(grid: &Grid, groups: &[Group<'_>]) -> Option<(usize, Over)> {
    let [first, second] = super::interaction::varying(grid, groups)[..] else {
        return None;
    };
    let (compared, over) = if first.is_numeric(grid) && !second.is_numeric(grid) {
        (second, first)
    } else {
        (first, second)
    };
    match compared {
        Over::Axis(axis) => Some((axis, over)),
        Over::Loads => None,
    }
}

/// The labels of a point on some axes.
pub(super) fn labels(grid: &Grid, point: usize, axes: &[usize]) -> Vec<String> {
    let label = |&axis: &usize| grid.label(point, axis).to_owned();
    axes.iter().map(label).collect()
}

pub(super) fn axis_names(grid: &Grid, axes: &[usize]) -> Vec<String> {
    let name = |&axis: &usize| grid.study.axes[axis].name.clone();
    axes.iter().map(name).collect()
}

/// A row for each point.
fn all_points(
    grid: &Grid,
    groups: &[Group<'_>],
    shown: &[&Measure],
    loads: bool,
    last: &str,
) -> Sheet {
    let axes = varying(grid);
    let mut header = axis_names(grid, &axes);
    header.extend(loads.then(|| "load".to_owned()));
    let words = header.len();
    header.push("runs".to_owned());
    let titles = shown.iter();
    header.extend(titles.map(|measure| measure.of_jobs(last) + measure.title));
    let mut rows = vec![header];
    for group in groups {
        let mut row = labels(grid, group.point, &axes);
        row.extend(group.load.map(str::to_owned));
        row.push(counted(group));
        row.extend(shown.iter().map(|measure| mean_of(group, measure)));
        rows.push(row);
    }
    Sheet {
        title: "Means over the seeds ± 95 % confidence".to_owned(),
        rows,
        words: words.max(1),
    }
}

/// The number of runs of a group, and how many of them failed.
fn counted(group: &Group<'_>) -> String {
    match group.failed() {
        0 => group.rows.len().to_string(),
        failed => format!("{} ({failed} failed)", group.rows.len()),
    }
}

fn mean_of(group: &Group<'_>, measure: &Measure) -> String {
    with_interval(group.means.get(measure), measure.decimals)
}

/// Rows of all axes but the last one, which has the columns. `None` with fewer than two axes.
fn matrix(grid: &Grid, groups: &[Group<'_>], measure: &Measure, whose: &str) -> Option<Sheet> {
    let axes = varying(grid);
    let (&last, others) = axes.split_last().filter(|(_, others)| !others.is_empty())?;
    let across = &grid.study.axes[last];
    let mut rows = vec![axis_names(grid, others)];
    let heads = across.settings.iter().map(|setting| setting.label.clone());
    rows[0].extend(heads);
    let mut of_row: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
    for group in groups {
        let choice = &grid.points[group.point].choice;
        let key: Vec<usize> = others.iter().map(|&axis| choice[axis]).collect();
        let cell = mean_of(group, measure);
        if of_row.last().is_none_or(|(other, _)| *other != key) {
            of_row.push((key, vec!["-".to_owned(); across.settings.len()]));
            rows.push(labels(grid, group.point, others));
        }
        if let Some((_, cells)) = of_row.last_mut() {
            cells[choice[last]] = cell;
        }
    }
    for (row, (_, cells)) in rows.iter_mut().skip(1).zip(of_row) {
        row.extend(cells);
    }
    Some(Sheet {
        title: format!(
            "{}, by {}",
            capital(&(measure.of_jobs(whose) + measure.title)),
            across.name
        ),
        rows,
        words: others.len(),
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// The means of a group over some pairs or seeds.
type Line<'a> = (&'a Group<'a>, usize, &'a Means);

/// A row for each line; `head`: the columns of the counts and of the means.
fn of_lines<'a>(
    grid: &Grid,
    lines: impl Iterator<Item = Line<'a>>,
    (count, head): (&str, impl Fn(&Measure) -> String),
    measures: &[&Measure],
    loads: bool,
) -> Sheet {
    let axes = varying(grid);
    let mut header = axis_names(grid, &axes);
    header.extend(loads.then(|| "load".to_owned()));
    let words = header.len();
    header.push(count.to_owned());
    header.extend(measures.iter().map(|measure| head(measure)));
    let row = |(group, count, means): Line<'_>| {
        let mut row = labels(grid, group.point, &axes);
        row.extend(group.load.map(str::to_owned));
        row.push(count.to_string());
        row.extend(
            measures
                .iter()
                .map(|measure| difference_text(means.get(measure))),
        );
        row
    };
    Sheet {
        title: String::new(),
        rows: std::iter::once(header).chain(lines.map(row)).collect(),
        words,
    }
}

/// The paired differences of an axis.
fn of_axis(
    grid: &Grid,
    differences: &[&Difference<'_>],
    axis: usize,
    (measures, last): (&[&Measure], &str),
    loads: bool,
) -> Sheet {
    let head = ("pairs", |measure: &Measure| {
        measure.of_jobs(last) + measure.difference.title
    });
    let lines = differences
        .iter()
        .map(|one| (one.group, one.pairs, &one.means));
    let study = &grid.study.axes[axis];
    let reference = &study.settings[study.reference].label;
    let pairs = pairing_words(differences.iter().map(|difference| &difference.pairing));
    Sheet {
        title: format!("Differences from {} = {reference}, {pairs}", study.name),
        ..of_lines(grid, lines, head, measures, loads)
    }
}

fn pairing_words<'a>(pairings: impl Iterator<Item = &'a Pairing>) -> String {
    let mut all = Pairing::default();
    pairings.for_each(|pairing| all.see_all(pairing));
    all.words()
}

/// The changes of the differences of one axis over another. `names`: the name and the reference of both.
fn of_changes(
    grid: &Grid,
    changes: &[&Interaction<'_>],
    names: [[&str; 2]; 2],
    (measures, last): (&[&Measure], &str),
    loads: bool,
) -> Sheet {
    let head = ("seeds", |measure: &Measure| {
        measure.of_jobs(last) + &measure.difference.title_of_differences()
    });
    let lines = changes.iter().map(|one| (one.group, one.seeds, &one.means));
    let [[axis, reference], [over, before]] = names;
    let words_of_pairs = pairing_words(changes.iter().map(|change| &change.pairing));
    Sheet {
        title: format!(
            "Change of the differences from {axis} = {reference} against {over} = {before}, {words_of_pairs}"
        ),
        ..of_lines(grid, lines, head, measures, loads)
    }
}

/// The lines above the tables.
fn head(studied: &Studied) -> String {
    let study = &studied.grid.study;
    let mut text = format!("{}\n", cut(&study.name));
    if let Some(description) = &study.description {
        text += &format!("{}\n", description.trim());
    }
    let (points, runs) = (studied.grid.points.len(), studied.runs);
    let [points, runs] =
        [(points, "point"), (runs, "run")].map(|(n, one)| units::counted(n as u64, one));
    text += &format!("{points}, {runs}");
    match studied.missing {
        0 => {}
        missing => text += &format!(", {missing} of them not done yet"),
    }
    match studied.failed() {
        0 => {}
        failed => text += &format!(", {failed} failed"),
    }
    text.push('\n');
    text
}

/// Why runs failed, each reason once, which jobs did not finish, and which points are not precise enough.
fn reasons(studied: &Studied) -> Vec<String> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for row in studied.rows.iter().filter(|row| !row.reason.is_empty()) {
        if seen.iter().all(|(reason, _)| *reason != row.reason) {
            let name = studied.grid.name(row.point);
            let place = if name.is_empty() {
                format!("seed {}", row.seed)
            } else {
                format!("{name}, seed {}", row.seed)
            };
            seen.push((&row.reason, place));
        }
    }
    let lines = seen.iter().take(REASONS);
    let lines = lines.map(|(reason, place)| format!("failed ({place}): {reason}"));
    let more = seen.len().saturating_sub(REASONS);
    let more = (more > 0).then(|| format!("and {more} more reasons, each in the row of its run"));
    let unfinished = job_tables::unfinished(&studied.rows).into_iter();
    let others = unfinished.chain(studied.missed_precision());
    lines.chain(more).chain(others).collect()
}

/// All tables as a text.
#[must_use]
pub fn summary_text(studied: &Studied) -> String {
    let mut text = head(studied);
    for reason in reasons(studied) {
        text += &format!("{reason}\n");
    }
    for sheet in sheets(studied) {
        if sheet.rows.len() > 1 {
            text += &format!("\n{}\n", cut(&sheet.title));
            let mut table = String::new();
            // Writing to a String succeeds.
            let _ = write_table(&mut table, &sheet.rows);
            text += table.trim_start_matches('\n');
        }
    }
    text
}

/// All tables in Markdown.
pub(super) fn markdown(studied: &Studied) -> String {
    let mut text = String::from("# ");
    let head = head(studied);
    let lines: Vec<String> = head.lines().map(cell_in_markdown).collect();
    text += &(lines.join("\n") + "\n").replacen('\n', "\n\n", 1);
    for reason in reasons(studied) {
        text += &format!("\n{}\n", cell_in_markdown(&reason));
    }
    for sheet in sheets(studied) {
        text += &format!("\n## {}\n\n", cell_in_markdown(&sheet.title));
        for (at, row) in sheet.rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell_in_markdown(cell)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
            if at == 0 {
                let rule = |column| if column < sheet.words { "---" } else { "---:" };
                let rules: Vec<&str> = (0..row.len()).map(rule).collect();
                text += &format!("| {} |\n", rules.join(" | "));
            }
        }
    }
    text
}

/// A text of input in Markdown: cut, on one line, and without a character that marks anything up.
fn cell_in_markdown(cell: &str) -> String {
    let mut text = String::new();
    for c in cut(cell).to_string().chars() {
        match c {
            '<' => text.push_str("&lt;"),
            '\\' | '|' | '`' | '*' | '[' | ']' => text.extend(['\\', c]),
            _ => text.push(c),
        }
    }
    text
}

/// All tables in LaTeX, for the package `booktabs`.
pub(super) fn latex(studied: &Studied) -> String {
    let mut text = String::from("% \\usepackage{booktabs}\n");
    for sheet in sheets(studied) {
        let columns = sheet.rows.first().map_or(0, Vec::len);
        let words = sheet.words.min(columns);
        let alignment = "l".repeat(words) + &"r".repeat(columns - words);
        let _ = writeln!(text, "\n\\begin{{table}}\n\\centering");
        let _ = writeln!(text, "\\caption{{{}}}", in_latex(&sheet.title));
        let _ = writeln!(text, "\\begin{{tabular}}{{{alignment}}}\n\\toprule");
        for (at, row) in sheet.rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| in_latex(cell)).collect();
            let _ = writeln!(text, "{} \\\\", cells.join(" & "));
            if at == 0 {
                let _ = writeln!(text, "\\midrule");
            }
        }
        let _ = writeln!(text, "\\bottomrule\n\\end{{tabular}}\n\\end{{table}}");
    }
    text
}

fn in_latex(cell: &str) -> String {
    let mut text = String::new();
    for c in cut(cell).to_string().chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                text.push('\\');
                text.push(c);
            }
            '\\' => text.push_str("\\textbackslash{}"),
            '~' => text.push_str("\\textasciitilde{}"),
            '^' => text.push_str("\\textasciicircum{}"),
            '±' => text.push_str("$\\pm$"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped() {
        assert_eq!(in_latex("a_b & 5 % ± 1"), "a\\_b \\& 5 \\% $\\pm$ 1");
        assert_eq!(cell_in_markdown("a|b"), "a\\|b");
    }

    #[test]
    fn ties_are_in_brackets() {
        let of = |mean, ci95| difference_text(Some(Mean { mean, ci95 }));
        assert_eq!(of(1.0, Some(2.0)), "(+1.00 ± 2.00)");
        assert_eq!(of(-3.0, Some(2.0)), "-3.00 ± 2.00");
        assert_eq!(of(3.0, None), "+3.00");
        assert_eq!(with_interval(None, 2), "-");
    }
}
