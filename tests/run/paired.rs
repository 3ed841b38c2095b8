//! Paired differences in figures and pages.

use flitwise::figure::Chart;
use flitwise::report::{Kind, figures, open, page};
use flitwise::study;
use serde_json::json;

/// The values differ much between the seeds, and by exactly 10 % and -20 % within each: paired, nothing of the former is left.
#[test]
fn a_study_shows_differences_that_are_paired_by_seed() {
    let times = [("a", 1.0), ("b", 1.1), ("c", 0.8)];
    let mut rows = Vec::new();
    for (seed, scale) in [(1, 1e6), (2, 3e6), (3, 9e6)] {
        for (point, (scheme, factor)) in times.iter().enumerate() {
            let time = f64::round(scale * factor) as u64;
            rows.push(json!({
                "run": rows.len(), "point": point, "scheme": scheme, "seed": seed, "load": null,
                "status": "complete", "execution_time_ps": time,
            }));
        }
    }
    // A seed without its reference has no partner.
    rows.push(json!({
        "run": rows.len(), "point": 1, "scheme": "b", "seed": 4, "load": null, "status": "complete",
        "execution_time_ps": 1,
    }));
    let settings = times.map(|(label, _)| json!({ "label": label, "sets": [] }));
    let axis =
        json!({ "name": "scheme", "column": "scheme", "reference": "a", "settings": settings });
    let document = json!({ "schema": study::SCHEMA, "name": "paired", "axes": [axis] });
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let dir = tempfile::tempdir().unwrap();
    let document = document.to_string();
    std::fs::write(dir.path().join("study.json"), document).unwrap();
    std::fs::write(dir.path().join("runs.jsonl"), lines).unwrap();
    let sources = open(&[dir.path().to_owned()], &[]).unwrap();
    let found = figures(Kind::Differences, &sources).unwrap();
    let [figure] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(figure.title, "Execution time against scheme = a: paired");
    let Chart::Bars(bars) = &figure.chart else {
        panic!("no bars");
    };
    assert_eq!(bars.axis.unit, "%");
    let groups = &bars.panels[0].groups;
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
    for (group, percent) in groups.iter().zip([10.0, -20.0]) {
        let bar = group.bars[0].as_ref().unwrap();
        assert!((bar.mean - percent).abs() < 1e-9, "{bar:?}");
        assert!(bar.half.unwrap() < 1e-9, "{bar:?}");
    }
    assert!(
        page(&sources, None)
            .unwrap()
            .contains("-title\">Paired differences</h2>")
    );
}
