//! The names of several results in figures, and the choices of axes and metrics.

use crate::report::{directory, result, sources_of, study_of, study_rows, write_run};
use flitwise::figure::{Chart, Figure};
use flitwise::report::{Choice, FigureKind, Source, figures, figures_with, open, page};
use flitwise::study;
use serde_json::{Value, json};

/// The titles of the figures of a kind.
fn titles(kind: FigureKind, sources: &[Source]) -> Vec<String> {
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
    assert_eq!(titles(FigureKind::Time, &alone), ["Execution time"]);
    let both = figures(FigureKind::Time, &sources_of(&[run.clone(), other])).unwrap();
    let Chart::Bars(bars) = &both[0].chart else {
        panic!("no bars");
    };
    assert_eq!(bars.series, ["run", "other"]);
    // Beside a study each has a figure of its own, with its name.
    let mut mixed = sources_of(&[run]);
    mixed.extend(study_of(&study_rows(&["0.4"])));
    mixed[0].set_label("here".to_owned());
    assert_eq!(titles(FigureKind::Time, &mixed), ["Execution time: here"]);
}

/// Their times say when they were stopped, not how long they take.
#[test]
fn runs_and_jobs_that_did_not_end_have_no_bars_and_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ["ended", "deadlock", "part"].map(|name| dir.path().join(name));
    let mut stalled = result();
    stalled["status"] = json!("stalled");
    let mut part = result();
    part["jobs"][1]["complete"] = json!(false);
    for (dir, result) in dirs.iter().zip([result(), stalled, part]) {
        write_run(dir, &result);
    }
    let both = figures(FigureKind::Time, &sources_of(&dirs)).unwrap();
    let Chart::Bars(bars) = &both[0].chart else {
        panic!("no bars");
    };
    assert_eq!(bars.series, ["ended", "part"]);
    let groups = bars.panels.iter().flat_map(|panel| &panel.groups);
    assert_eq!(groups.flat_map(|group| &group.bars).flatten().count(), 3);
    let names = " Without deadlock (stalled), b</script> of part (did not end).";
    assert!(both[0].note.ends_with(names), "{}", both[0].note);
    let alone = figures(FigureKind::Time, &sources_of(&dirs[1..2])).unwrap_err();
    let why = "(a run with jobs, stalled) has no execution times: no run has a job that ended";
    assert!(alone.to_string().contains(why), "{alone}");
}

#[test]
fn loads_are_chosen_as_settings_of_an_axis() {
    let sources = study_of(&study_rows(&["0.4", "0.8"]));
    let drawn = |only: &str| {
        let choice = Choice {
            only: vec![only.to_owned()],
            ..Choice::default()
        };
        figures_with(FigureKind::Throughput, &sources, &choice)
    };
    // At one load there are bars.
    let chosen = drawn("load=0.8").unwrap();
    assert!(matches!(chosen[0].chart, Chart::Bars(_)));
    let refused = drawn("load=0.6").unwrap_err().to_string();
    assert_eq!(
        refused,
        "--only: axis load has no setting `0.6`; its settings are 0.4, 0.8"
    );
}

#[test]
fn axes_and_metrics_are_chosen_or_refused_with_what_there_is() {
    let sources = study_of(&study_rows(&["0.4"]));
    let drawn = |x: Option<&str>, series: Option<&str>| {
        let choice = Choice {
            x: x.map(str::to_owned),
            series: series.map(str::to_owned),
            ..Choice::default()
        };
        figures_with(FigureKind::Throughput, &sources, &choice)
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
    assert_eq!(names, ["scheme 1q", "dbbm"]);
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
        figures(FigureKind::Differences, &sources).unwrap()[0]
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

/// A run with a curve of two loads.
fn run_with_loads() -> Value {
    let level = json!({ "offered_gbit_per_s_per_nic": 1.0, "end_to_end_ns": { "mean": 200.0 } });
    let point = json!({ "service_levels": { "BE": level }, "offered_gbit_per_s_per_nic": 1.0,
                        "accepted_gbit_per_s_per_nic": 1.0 });
    let mut result = result();
    result["curve"] = json!([point, point]);
    result
}

fn chosen(kind: FigureKind, sources: &[Source], series: &str) -> Result<Vec<Figure>, String> {
    let choice = Choice {
        series: Some(series.to_owned()),
        ..Choice::default()
    };
    figures_with(kind, sources, &choice).map_err(|e| e.to_string())
}

#[test]
fn curves_say_their_axis_their_intervals_and_what_colours_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ["one", "two"].map(|name| dir.path().join(name));
    for dir in &dirs {
        write_run(dir, &run_with_loads());
    }
    let runs = sources_of(&dirs);
    let mut loads = study_rows(&["0.4", "0.8"]);
    for row in &mut loads {
        row["latency_mean_ns"] = row["packet_latency_mean_ns"].clone();
        row["offered_gbit_per_s_per_nic"] = json!(1.0);
    }
    let study = study_of(&loads);
    for (kind, is_log) in [(FigureKind::Latency, true), (FigureKind::Throughput, false)] {
        for (sources, intervals) in [(&runs, "within one run"), (&study, "over 2 seeds")] {
            let note = &figures(kind, sources).unwrap()[0].note;
            assert_eq!(note.contains("Logarithmic axis."), is_log, "{note}");
            assert!(note.contains(intervals), "{note}");
        }
        for sources in [&runs, &study] {
            let refused = chosen(kind, sources, "nonsense").unwrap_err();
            assert!(
                refused.contains("no axis `nonsense`; its axes are "),
                "{refused}"
            );
            let refused = chosen(kind, sources, "load").unwrap_err();
            assert!(refused.contains("always go over the `load`"), "{refused}");
        }
        assert!(chosen(kind, &runs, "run").is_ok());
        assert!(chosen(kind, &study, "scheme").is_ok());
    }
}

#[test]
fn all_directories_have_a_label_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ["one", "two"].map(|name| dir.path().join(name));
    for dir in &dirs {
        write_run(dir, &result());
    }
    let refused = open(&dirs, &["here".to_owned()]).unwrap_err().to_string();
    let expected = "--label is given once for 2 directories; give it once for each, in their order";
    assert_eq!(refused, expected);
    let both = open(&dirs, &["here".to_owned(), "there".to_owned()]).unwrap();
    let labels: Vec<&str> = both.iter().map(Source::label).collect();
    assert_eq!(labels, ["here", "there"]);
}

/// No title leans on the name of a job, and no figure or page names a file that comes with the source alone.
#[test]
fn texts_fit_any_job_and_name_no_page_of_the_book() {
    let text = result()
        .to_string()
        .replace("\"name\":\"a\"", "\"name\":\"my was for\"");
    let mut result: Value = serde_json::from_str(&text).unwrap();
    result["curve"] = run_with_loads()["curve"].clone();
    let parts = json!({ "queueing_ps": 1000 });
    result["explanation"] = json!([{
        "job": "my was for", "total_ps": 1000, "parts": parts, "late_partners_ps": 0,
        "ranks": [{ "rank": 0, "parts": parts }],
        "culprits": [{ "from": "job b", "sl": "BK", "ps": 1000 }],
        "links": [{ "from": "nic 0", "to": "nic 1", "queueing_ps": 1000 }],
        "collectives": [{ "name": "collective 3 (bcast)", "parts": parts }],
        "phases": [{ "from_ps": 0, "to_ps": 1000, "parts": parts }],
    }]);
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &result);
    for file in ["matrix.csv", "waits.csv", "ranks.csv"] {
        let path = dir.path().join(file);
        let rows = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, rows.replace("\na,", "\nmy was for,")).unwrap();
    }
    let sources = sources_of(&[dir.path().to_owned()]);
    let mut named = 0;
    for figure in FigureKind::ALL
        .into_iter()
        .flat_map(|kind| figures(kind, &sources))
        .flatten()
    {
        let said = format!("{} {}", figure.title, figure.note);
        assert!(!said.contains("docs/"), "{said}");
        let rest = said.replace("of “my was for”", "");
        assert!(!rest.contains("my was for"), "{said}");
        named += usize::from(rest != said);
    }
    assert_eq!(named, 5);
    let page = page(&sources, None).unwrap();
    assert!(!page.contains("docs/"));
    let captions = page.split("<caption><span>").skip(1);
    let captions: Vec<&str> = captions.filter_map(|rest| rest.split('<').next()).collect();
    let mut of_job = captions
        .iter()
        .filter(|caption| caption.contains("my was for"));
    assert!(
        of_job.all(|caption| caption.contains("of “my was for”")),
        "{captions:?}"
    );
    assert!(captions.len() > 5, "{captions:?}");
}

/// Round robin is kept as SBT with equal weights.
#[test]
fn the_page_names_schedulers_as_the_summary_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut result = result();
    let weights = |weights: [u32; 2]| json!({ "kind": "sbt", "weights": weights });
    for (scheduler, name) in [(weights([20, 20]), "rr"), (weights([20, 40]), "sbt")] {
        result["experiment"]["qos"] = json!({ "scheduler": scheduler });
        write_run(dir.path(), &result);
        let page = page(&sources_of(&[dir.path().to_owned()]), None).unwrap();
        let expected = format!("single, 2 NICs, direct, {name}<");
        assert!(page.contains(&expected), "{name}");
    }
}
