//! The names of several results in figures, and the choices of axes and metrics.

use crate::report::{directory, result, sources_of, study_of, study_rows, write_run};
use flitwise::figure::Chart;
use flitwise::report::{Choice, Kind, Source, figures, figures_with};
use flitwise::study;
use serde_json::json;

/// The titles of the figures of a kind.
fn titles(kind: Kind, sources: &[Source]) -> Vec<String> {
    let figures = figures(kind, sources).unwrap();
    figures.into_iter().map(|figure| figure.title).collect()
}

#[test]
fn each_of_several_results_is_named_in_figures() {
    let dir = tempfile::tempdir().unwrap();
    let [run, other] = ["run", "other"].map(|name| dir.path().join(name));
    write_run(&run, &result());
    write_run(&other, &result());
    // Alone, a run needs no name; two runs share a figure, which names both.
    let alone = sources_of(std::slice::from_ref(&run));
    assert_eq!(titles(Kind::Time, &alone), ["Execution time"]);
    let both = figures(Kind::Time, &sources_of(&[run.clone(), other])).unwrap();
    let Chart::Bars(bars) = &both[0].chart else {
        panic!("no bars");
    };
    assert_eq!(bars.series, ["run", "other"]);
    // Beside a study each has a figure of its own, with its name.
    let mut mixed = sources_of(&[run]);
    mixed.extend(study_of(&study_rows(&["0.4"])));
    mixed[0].set_label("here".to_owned());
    assert_eq!(titles(Kind::Time, &mixed), ["Execution time: here"]);
}

#[test]
fn axes_and_metrics_are_chosen_or_refused_with_what_there_is() {
    let sources = study_of(&study_rows(&["0.4"]));
    let drawn = |x: Option<&str>, series: Option<&str>| {
        let choice = Choice {
            x: x.map(str::to_owned),
            series: series.map(str::to_owned),
            metric: None,
        };
        figures_with(Kind::Throughput, &sources, &choice)
    };
    let chosen = drawn(Some("topology"), Some("policy")).unwrap();
    let Chart::Bars(bars) = &chosen[0].chart else {
        panic!("no bars");
    };
    assert_eq!(bars.groups, "topology");
    let names: Vec<&str> = bars
        .panels
        .iter()
        .map(|panel| panel.name.as_str())
        .collect();
    assert_eq!(names, ["1q", "dbbm"]);
    let refused = drawn(Some("radix"), None).unwrap_err().to_string();
    assert!(
        refused.contains("`radix`; its axes are topology, "),
        "{refused}"
    );
}

#[test]
fn differences_say_what_their_runs_share() {
    let rows = |draws: [&str; 2]| {
        let row = |point: u64, label: &str, draw: &str| {
            json!({ "run": point, "point": point, "nodes": label, "seed": 1, "status": "complete",
                    "execution_time_ps": 1000 * point, "draw": draw })
            .to_string()
        };
        let [one, two] = draws;
        format!("{}\n{}\n", row(1, "4", one), row(2, "8", two))
    };
    let note = |draws: [&str; 2]| {
        let dir = tempfile::tempdir().unwrap();
        let document = json!({
            "schema": study::SCHEMA, "name": "s",
            "axes": [{ "name": "nodes", "column": "nodes", "reference": "4",
                       "settings": [{ "label": "4" }, { "label": "8" }] }],
        });
        let files = [
            ("study.json", document.to_string()),
            ("runs.jsonl", rows(draws)),
        ];
        directory(
            dir.path(),
            &files.each_ref().map(|(name, text)| (*name, text.as_str())),
        );
        let sources = sources_of(&[dir.path().to_owned()]);
        figures(Kind::Differences, &sources).unwrap()[0]
            .note
            .clone()
    };
    let same = note(["placement=1", "placement=1"]);
    assert!(same.starts_with("Differences, paired by seed."), "{same}");
    let other = note(["placement=1", "placement=2"]);
    assert!(
        other.starts_with("Differences, same seed, other placement."),
        "{other}"
    );
}
