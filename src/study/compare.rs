//! Compares two studies, run by run.

use super::aggregate::Mean;
use super::base::base_experiments;
use super::draw::Pairing;
use super::metrics::{Measure, Metrics};
use super::tables::{difference_text, with_interval};
use super::write::{STUDY_FILE, STUDY_RESULT_FILE};
use crate::config::Study;
use crate::results::{differences, write_table};
use anyhow::{Context, bail};
use flitwise_base::quote::cut;
use flitwise_formats::source::read_regular_text;
use hashbrown::{HashMap, HashSet};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A study that was read back.
struct Read {
    /// Columns of its axes.
    axes: Vec<String>,
    /// Rows with numbers.
    rows: Vec<Value>,
    /// The others.
    incomplete: Vec<Value>,
}

fn read(dir: &Path) -> anyhow::Result<Read> {
    let text = |name: &str| {
        let path = dir.join(name);
        read_regular_text(&path).with_context(|| {
            let path = path.display();
            format!("cannot read `{path}`; name the directory of a study")
        })
    };
    let broken = || {
        format!(
            "`{}` has damaged tables; run the study again",
            dir.display()
        )
    };
    let study: Value = serde_json::from_str(&text(STUDY_RESULT_FILE)?).with_context(broken)?;
    let axes = study["axes"].as_array().cloned().unwrap_or_default();
    let axes = axes.iter().filter_map(|axis| axis["column"].as_str());
    let lines = text("runs.jsonl")?;
    let rows = lines.lines().map(serde_json::from_str::<Value>);
    let rows: Vec<Value> = rows.collect::<Result<_, _>>().with_context(broken)?;
    let (rows, incomplete) = rows.into_iter().partition(is_complete);
    Ok(Read {
        axes: axes.map(str::to_owned).collect(),
        rows,
        incomplete,
    })
}

fn is_complete(row: &Value) -> bool {
    row["status"] == "complete"
}

/// An axis with several values in the runs of `one` that `another` does not have, and these values: a run
/// of `another` would be paired with several of `one`.
fn unshared(one: &Read, another: &Read) -> Option<(String, String)> {
    let own = one.axes.iter().filter(|axis| !another.axes.contains(axis));
    own.filter_map(|axis| {
        let values = one.rows.iter().filter_map(|row| row[axis].as_str());
        let values: BTreeSet<&str> = values.collect();
        let all: Vec<&str> = values.into_iter().collect();
        (all.len() > 1).then(|| (axis.clone(), all.join(", ")))
    })
    .next()
}

/// The runs of two studies with equal values on the axes that both have.
struct Group {
    labels: Vec<String>,
    pairs: Vec<(Value, Value)>,
    /// The number of pairs, also where a run failed.
    all: usize,
}

/// The paired differences of the study in `other` from the study in `dir`: of runs with the same seed and the same
/// values on all axes that both studies have.
///
/// # Errors
/// If a directory has no study, one study varies something for which the other has no axis, or nothing can be paired.
pub fn compare(dir: &Path, other: &Path) -> anyhow::Result<String> {
    let (before, after) = (read(dir)?, read(other)?);
    refuse_unshared([(&before, dir), (&after, other)])?;
    let shared = before.axes.iter().filter(|axis| after.axes.contains(axis));
    let shared: Vec<&str> = shared.map(String::as_str).collect();
    let groups = paired(&before, &after, &shared);
    if groups.is_empty() {
        bail!(
            "`{}` and `{}` have no complete runs with the same seed and the same values on their axes",
            dir.display(),
            other.display()
        );
    }
    let loads = groups
        .iter()
        .any(|group| group.pairs.iter().any(|(row, _)| !row["load"].is_null()));
    let mut header: Vec<String> = shared.iter().map(|axis| (*axis).to_owned()).collect();
    if loads || header.is_empty() {
        header.push("load".to_owned());
    }
    header.push("pairs".to_owned());
    let metrics = metrics_of(&before, &after, dir, other)?;
    let shown = metrics.shown(loads);
    let main = shown.precise;
    header.extend([
        format!("{}, first", main.title),
        format!("{}, second", main.title),
    ]);
    // This includes loads: a slowdown that does not exist is `-`.
    let others: Vec<&Measure> = (metrics.shown.differences.iter().copied())
        .filter(|measure| measure.column != metrics.shown.precise.column)
        .filter(|measure| !measure.optional || has(&before, measure.column))
        .collect();
    header.push("difference (%)".to_owned());
    header.extend(
        others
            .iter()
            .map(|measure| measure.difference.title.to_owned()),
    );
    let mut rows = vec![header];
    let with_load = loads || shared.is_empty();
    rows.extend(
        groups
            .iter()
            .map(|group| group.row(with_load, main, &others)),
    );
    let mut text = format!(
        "{} (second) against {} (first), {}\n",
        other.display(),
        dir.display(),
        pairing(&groups).words()
    );
    // Writing to a String succeeds.
    let _ = write_table(&mut text, &rows);
    for (one, other, dir) in [(&before, &after, dir), (&after, &before, other)] {
        text += &unpaired_text(dir, &unpaired(&one.rows, &other.rows, &shared), &shared);
    }
    Ok(text + &bases_text(dir, other))
}

/// Lines about the keys in which the base experiments differ; empty if they do not differ, or a directory has no readable
/// study.toml.
fn bases_text(dir: &Path, other: &Path) -> String {
    let [Ok(one), Ok(another)] = [dir, other].map(|dir| Study::load(&dir.join(STUDY_FILE))) else {
        return String::new();
    };
    let experiments = match base_experiments(&one, &another) {
        Ok(experiments) => experiments,
        Err(e) => return format!("\nthe base experiments cannot be compared: {e}\n"),
    };
    let all = differences(&experiments[0], &experiments[1]);
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\nthe base experiments differ in\n".to_owned();
    for difference in all.iter().take(KEYS_NAMED) {
        let [first, second] = difference.brief();
        let key = cut(&difference.key);
        text += &format!("  {key}: {first} (first), {second} (second)\n");
    }
    let more = all.len().saturating_sub(KEYS_NAMED);
    if more > 0 {
        text += &format!("  and {more} keys more\n");
    }
    text
}

/// The parts of their draws that the runs of all pairs share.
fn pairing(groups: &[Group]) -> Pairing {
    let mut pairing = Pairing::default();
    for (row, other) in groups.iter().flat_map(|group| &group.pairs) {
        let draw = |row: &Value| row["draw"].as_str().unwrap_or_default().to_owned();
        pairing.see(&draw(row), &draw(other));
    }
    pairing
}

/// Points that a message names.
const POINTS_NAMED: usize = 10;
/// Keys that a message names.
const KEYS_NAMED: usize = 10;

/// The seeds of a point that only one study has, by the labels of the point and its load.
type Unpaired = Vec<((Vec<String>, Option<String>), Vec<u64>)>;

/// The complete runs of `rows` without a partner in `others`, in their order.
fn unpaired(rows: &[Value], others: &[Value], axes: &[&str]) -> Unpaired {
    let known: HashSet<_> = others.iter().map(|row| key(row, axes)).collect();
    let mut left: Unpaired = Vec::new();
    for row in rows.iter().filter(|row| !known.contains(&key(row, axes))) {
        let (labels, _, seed) = key(row, axes);
        let point = (labels, row["load"].as_str().map(str::to_owned));
        let seed = seed.unwrap_or(0);
        match left.iter_mut().find(|(known, _)| *known == point) {
            Some((_, seeds)) => seeds.push(seed),
            None => left.push((point, vec![seed])),
        }
    }
    left
}

/// Lines about the runs that only the study in `dir` has; empty without any.
fn unpaired_text(dir: &Path, left: &Unpaired, axes: &[&str]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let mut text = format!("\nonly `{}` has complete runs of\n", dir.display());
    for ((labels, load), seeds) in left.iter().take(POINTS_NAMED) {
        let settings = axes.iter().zip(labels);
        let settings = settings.map(|(axis, label)| format!("{axis} = {}", cut(label)));
        let load = load.iter().map(|load| format!("load = {}", cut(load)));
        let seeds = std::iter::once(seeds_text(seeds));
        let words: Vec<String> = settings.chain(load).chain(seeds).collect();
        text += &format!("  {}\n", words.join(", "));
    }
    let more = left.len().saturating_sub(POINTS_NAMED);
    if more > 0 {
        text += &format!("  and {more} points more\n");
    }
    text
}

/// `seed 3`, `seeds 1 to 4, 7`.
fn seeds_text(seeds: &[u64]) -> String {
    let mut sorted = seeds.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for seed in sorted {
        match ranges.last_mut() {
            Some([_, last]) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => ranges.push([seed; 2]),
        }
    }
    let more = ranges.len().saturating_sub(POINTS_NAMED);
    let shown = ranges.iter().take(POINTS_NAMED).map(|[first, last]| {
        if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        }
    });
    let shown: Vec<String> = shown.collect();
    let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
    let more = match more {
        0 => String::new(),
        _ => " and more".to_owned(),
    };
    format!("{noun} {}{more}", shown.join(", "))
}

impl Group {
    /// A row of the table, with the load if the table has one: both means and the difference of `main`, and only the
    /// differences of the others.
    fn row(&self, with_load: bool, main: &Measure, others: &[&Measure]) -> Vec<String> {
        let of = |column: &str, value: &dyn Fn(f64, f64) -> f64| {
            let pairs = self.pairs.iter();
            let values =
                pairs.filter_map(|(a, b)| Some(value(a[column].as_f64()?, b[column].as_f64()?)));
            let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
            Mean::of(&values, self.all)
        };
        let mut row = self.labels.clone();
        if with_load {
            let load = (self.pairs.first()).and_then(|(row, _)| row["load"].as_str());
            row.push(load.unwrap_or("-").to_owned());
        }
        row.push(self.pairs.len().to_string());
        let (column, factor, decimals) = (main.column, main.factor, main.decimals);
        row.push(with_interval(of(column, &|a, _| a * factor), decimals));
        row.push(with_interval(of(column, &|_, b| b * factor), decimals));
        for measure in std::iter::once(main).chain(others.iter().copied()) {
            let difference = |a: f64, b: f64| measure.difference.of(b, a);
            row.push(difference_text(of(measure.column, &difference)));
        }
        row
    }
}

/// Refuses studies if one has several runs for which the other has no axis.
fn refuse_unshared([one, other]: [(&Read, &Path); 2]) -> anyhow::Result<()> {
    for ((study, dir), (another, that_dir)) in [(one, other), (other, one)] {
        if let Some((axis, values)) = unshared(study, another) {
            bail!(
                "`{}` has runs with {axis} = {values}, and `{}` has no axis of that name; compare studies with \
                 the same axes",
                dir.display(),
                that_dir.display()
            );
        }
    }
    Ok(())
}

/// Whether a run has a number in this column.
fn has(study: &Read, column: &str) -> bool {
    study.rows.iter().any(|row| row[column].is_number())
}

/// The metrics of both studies, which must be of the same kind.
fn metrics_of(
    before: &Read,
    after: &Read,
    dir: &Path,
    other: &Path,
) -> anyhow::Result<&'static Metrics> {
    let metrics = Metrics::of_columns(|column| has(before, column));
    if metrics != Metrics::of_columns(|column| has(after, column)) {
        bail!(
            "one of `{}` and `{}` has simulated runs and the other one static analyses; compare studies of the same kind",
            dir.display(),
            other.display()
        );
    }
    Ok(metrics)
}

/// The settings of a run on the axes, its load and its seed: what two runs of a pair have in common.
fn key(row: &Value, axes: &[&str]) -> (Vec<String>, String, Option<u64>) {
    let label = |axis: &&str| row[*axis].as_str().unwrap_or_default().to_owned();
    let labels = axes.iter().map(label).collect();
    (labels, row["load"].to_string(), row["seed"].as_u64())
}

/// Pairs in the order of the first study.
fn paired(before: &Read, after: &Read, axes: &[&str]) -> Vec<Group> {
    let others = after.rows.iter().chain(&after.incomplete);
    let others: HashMap<_, &Value> = others.map(|row| (key(row, axes), row)).collect();
    let mut groups: Vec<(String, Group)> = Vec::new();
    for row in before.rows.iter().chain(&before.incomplete) {
        let Some(&other) = others.get(&key(row, axes)) else {
            continue;
        };
        let (labels, load, _) = key(row, axes);
        let same = |(of_load, group): &(String, Group)| *of_load == load && group.labels == labels;
        let at = groups.iter().position(same).unwrap_or(groups.len());
        if at == groups.len() {
            let (pairs, all) = (Vec::new(), 0);
            groups.push((load, Group { labels, pairs, all }));
        }
        let group = &mut groups[at].1;
        group.all += 1;
        if is_complete(row) && is_complete(other) {
            group.pairs.push((row.clone(), other.clone()));
        }
    }
    let groups = groups.into_iter().map(|(_, group)| group);
    groups.filter(|group| !group.pairs.is_empty()).collect()
}
