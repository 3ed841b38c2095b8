//! Messages about figures that the sources cannot have: what the sources are, and the kinds that fit them; and about
//! choices that a figure does not have.

use super::choice::Choice;
use super::{FigureKind, figures, figures_with};
use crate::config::nearest;
use crate::report::ReportError;
use crate::report::source::{RunSource, Source, StudyRow, StudySource};
use flitwise_base::quote::cut;

/// Refuses choices that a figure of this kind does not have.
pub(super) fn check(choice: &Choice, kind: FigureKind) -> Result<(), ReportError> {
    let refused = |option: &str, what: &str, kinds: &str| {
        let kind = kind.name();
        Err(ReportError(format!(
            "{option}: a figure of --kind {kind} has no {what} to choose; this option fits --kind {kinds}"
        )))
    };
    for (option, is_chosen) in [
        ("--x", choice.x.is_some()),
        ("--series", choice.series.is_some()),
        ("--only", !choice.only.is_empty()),
    ] {
        if is_chosen && !kind.subject().has_axes {
            let with_axes = FigureKind::ALL.map(FigureKind::subject);
            let with_axes = with_axes.iter().filter(|subject| subject.has_axes);
            let names: Vec<&str> = with_axes.map(|subject| subject.name).collect();
            return refused(option, "axes", &names.join(", "));
        }
    }
    if choice.metric.is_some() && kind != FigureKind::Differences {
        return refused("--metric", "metric", FigureKind::Differences.name());
    }
    Ok(())
}

/// The input of a kind, and the command that writes it, with the experiment where it is known.
pub(in crate::report) fn needs(kind: FigureKind, sources: &[Source]) -> (&'static str, String) {
    let (what, command) = kind.subject().needs;
    let commands = sources.iter().filter_map(|source| match source {
        Source::Run(run) => run.command.as_deref(),
        Source::Congestion(analysis) => analysis.command.as_deref(),
        Source::Study(_) => None,
    });
    let file = commands
        .filter_map(|typed| typed.split(' ').nth(2))
        .find(|word| word.ends_with(".toml"));
    (
        what,
        command.replace("EXP.toml", file.unwrap_or("EXP.toml")),
    )
}

/// Explains why there is no figure of a kind.
pub(in crate::report) fn missing(kind: FigureKind, sources: &[Source]) -> String {
    let has = if sources.len() == 1 { "has" } else { "have" };
    let (what, command) = kind.subject().needs;
    let fitting = fitting(sources);
    format!(
        "{} {has} no {what}: `{command}`; {fitting}",
        described(sources)
    )
}

/// Explains which of several sources have no part in the figures of a kind.
pub(in crate::report) fn left_out(
    kind: FigureKind,
    sources: &[Source],
    choice: &Choice,
) -> Vec<String> {
    let (what, command) = kind.subject().needs;
    let what = what.split(": ").next().unwrap_or(what);
    let one = |source: &Source| {
        let alone = std::slice::from_ref(source);
        let lacks = figures_with(kind, alone, choice).is_ok_and(|figures| figures.is_empty());
        let text = || {
            let source = described(alone);
            format!("{source} is left out, because it has no {what}: `{command}`")
        };
        lacks.then(text)
    };
    match sources {
        [_] => Vec::new(),
        _ => sources.iter().filter_map(one).collect(),
    }
}

/// Explains that no kind has this name.
pub(in crate::report) fn unknown(name: &str, sources: &[Source]) -> String {
    let names = FigureKind::ALL.map(FigureKind::name);
    let meant = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`? Of"),
        None => "of".to_owned(),
    };
    let (name, what, fitting) = (cut(name), described(sources), fitting(sources));
    format!("--kind: no figure is called `{name}`; {meant} {what} {fitting}")
}

/// `there is --kind slowdown, time`.
fn fitting(sources: &[Source]) -> String {
    let fits = |kind: &FigureKind| !figures(*kind, sources).is_empty();
    let names: Vec<&str> = FigureKind::ALL
        .into_iter()
        .filter(fits)
        .map(FigureKind::name)
        .collect();
    if names.is_empty() {
        "there is no figure of any kind".to_owned()
    } else {
        format!("there is --kind {}", names.join(", "))
    }
}

/// `DIR` (a study of jobs), one after the other.
fn described(sources: &[Source]) -> String {
    let one = |source: &Source| {
        let what = match source {
            Source::Run(run) => of_run(run),
            Source::Study(study) => of_study(study),
            Source::Congestion(_) => "a static analysis".to_owned(),
        };
        format!("`{}` ({what})", source.dir().display())
    };
    let all: Vec<String> = sources.iter().map(one).collect();
    all.join(", ")
}

fn of_run(run: &RunSource) -> String {
    let has_jobs = run.result["jobs"]
        .as_array()
        .is_some_and(|jobs| !jobs.is_empty());
    let what = if has_jobs {
        "a run with jobs"
    } else {
        "a run with loads"
    };
    match run.result["status"].as_str() {
        None | Some("complete") => what.to_owned(),
        Some(status) => format!("{what}, {}", cut(status)),
    }
}

fn of_study(study: &StudySource) -> String {
    let complete = |row: &&StudyRow| row.cells["status"] == "complete";
    let (all, complete) = (study.rows.len(), study.rows.iter().filter(complete).count());
    let has = |column: &str| study.rows.iter().any(|row| row.cells.get(column).is_some());
    let what = if has("bandwidth") {
        "a study of static analyses"
    } else if study.rows.iter().any(|row| row.load.is_some()) {
        "a study with loads"
    } else {
        "a study of jobs"
    };
    if all == 0 {
        format!("{what} without a run")
    } else if complete == 0 {
        format!("{what}, none of its {all} runs is complete")
    } else {
        what.to_owned()
    }
}
