//! Points of which some runs failed: in figures, on the page and in comparisons few others have no interval.

use crate::report::{directory, sources_of};
use flitwise::figure::{Chart, Estimate, Figure};
use flitwise::report::{FigureKind, figures, page};
use flitwise::study;
use serde_json::json;
use std::path::Path;

/// A study of two rates with four seeds, of which `failed` have no numbers at the second rate.
fn write_study(dir: &Path, failed: &[u64], loads: &[&str]) {
    let settings = ["0.1", "0.9"].map(|label| json!({ "label": label }));
    let axis =
        json!({ "name": "rate", "column": "rate", "reference": "0.1", "settings": settings });
    let document = json!({ "schema": study::SCHEMA, "name": "s", "axes": [axis] }).to_string();
    let mut rows = String::new();
    for (run, (rate, seed)) in (1..).zip(
        ["0.1", "0.9"]
            .into_iter()
            .flat_map(|r| (1..=4).map(move |s| (r, s))),
    ) {
        for load in loads {
            let mut row = json!({
                "run": run, "point": if rate == "0.1" { 1 } else { 2 }, "rate": rate, "seed": seed,
                "load": Some(load).filter(|load| !load.is_empty()), "status": "saturated",
            });
            if rate == "0.1" || !failed.contains(&seed) {
                row["status"] = json!("complete");
                row["execution_time_ps"] = json!(1000 * run + seed * seed);
                for column in [
                    "latency_mean_ns",
                    "throughput_gbit_per_s_per_nic",
                    "offered_gbit_per_s_per_nic",
                ] {
                    row[column] = json!(run as f64 + (seed * seed) as f64);
                }
            }
            rows += &format!("{row}\n");
        }
    }
    directory(dir, &[("study.json", &document), ("runs.jsonl", &rows)]);
}

/// The half intervals of the bars or the points of a figure.
fn halves(figure: &Figure) -> Vec<Option<f64>> {
    match &figure.chart {
        Chart::Bars(bars) => {
            let groups = bars.panels.iter().flat_map(|panel| &panel.groups);
            let bars = groups.flat_map(|group| &group.bars).flatten();
            bars.map(|bar: &Estimate| bar.half).collect()
        }
        Chart::Curves(curves) => {
            let lines = curves.panels.iter().flat_map(|panel| &panel.lines);
            lines
                .flat_map(|line| &line.points)
                .map(|point| point.half)
                .collect()
        }
        _ => panic!("neither bars nor curves"),
    }
}

#[test]
fn few_runs_beside_failed_ones_have_no_interval_in_figures_and_comparisons() {
    let dir = tempfile::tempdir().unwrap();
    for (failed, has_interval) in [(&[2, 4][..], false), (&[2], true)] {
        for loads in [&[""][..], &["0.2", "0.5"]] {
            let place = dir.path().join(format!("{}-{}", failed.len(), loads.len()));
            write_study(&place, failed, loads);
            let sources = sources_of(std::slice::from_ref(&place));
            let (kind, points) = match loads.len() {
                1 => (FigureKind::Time, 2),
                _ => (FigureKind::Throughput, 4),
            };
            let note = format!(
                "Without {} of 8 runs, which did not complete.",
                failed.len()
            );
            for (kind, expected) in [(kind, points), (FigureKind::Differences, points / 2)] {
                let drawn = &figures(kind, &sources).unwrap()[0];
                let halves = halves(drawn);
                assert_eq!(halves.len(), expected, "{}", drawn.title);
                assert_eq!(
                    halves.last().unwrap().is_some(),
                    has_interval,
                    "{}",
                    drawn.title
                );
                assert!(drawn.note.contains(&note), "{}", drawn.note);
            }
            assert!(page(&sources, None).unwrap().contains(&note));
            let whole = dir.path().join(format!("whole-{}", loads.len()));
            write_study(&whole, &[], loads);
            let text = study::compare(&whole, &place).unwrap();
            let last = text.lines().find(|line| line.starts_with("0.9")).unwrap();
            assert_eq!(last.contains('±'), has_interval, "{text}");
            let first = text.lines().find(|line| line.starts_with("0.1")).unwrap();
            assert!(first.contains('±'), "{text}");
        }
    }
}

#[test]
fn a_figure_of_complete_runs_names_no_others() {
    let dir = tempfile::tempdir().unwrap();
    write_study(dir.path(), &[], &[""]);
    let drawn = &figures(FigureKind::Time, &sources_of(&[dir.path().to_owned()])).unwrap()[0];
    assert!(!drawn.note.contains("Without"), "{}", drawn.note);
    assert!(halves(drawn).iter().all(Option::is_some));
}
