//! Paired differences in figures and pages, their interactions, and comparisons of two runs.

use super::report::{directory, result, sources_of, write_run};
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

/// A change has no table the other way round: words are compared over numbers.
#[test]
fn a_page_has_a_table_for_each_two_axes_of_a_study() {
    let axis = |name: &str| json!({ "name": name, "column": name });
    let axes = [axis("rate"), axis("scheme")];
    let document = json!({ "schema": study::SCHEMA, "name": "two", "axes": axes }).to_string();
    let row = json!({ "run": 1, "point": 1, "rate": "0", "scheme": "rr", "status": "complete" });
    let changes = "point,rate,scheme,load,axis,reference,over_axis,over_reference,seeds_count,same_draw,\
                   execution_time_percentage_points_mean,execution_time_percentage_points_ci95\n\
                   4,0.3,sbt,,rate,0,scheme,rr,3,1,-8.5,0.82\n\
                   4,0.3,sbt,,scheme,rr,rate,0,3,1,-8.25,0.82\n";
    let dir = tempfile::tempdir().unwrap();
    directory(
        dir.path(),
        &[
            ("study.json", &document),
            ("runs.jsonl", &format!("{row}\n")),
            ("interactions.csv", changes),
        ],
    );
    let page = page(&sources_of(&[dir.path().to_owned()]), None).unwrap();
    let caption = "Change of the differences from scheme = rr against rate = 0: two";
    assert!(page.contains(caption), "{page}");
    assert!(!page.contains("differences from rate"), "{page}");
    let plain: String = page.lines().map(str::trim).collect();
    let cells = "0.3, sbt</th><td>3</td><td>-8.25 ± 0.82</td></tr>";
    assert!(plain.contains(cells), "{plain}");
}

#[test]
fn a_compared_run_has_its_differences_beside_the_baseline() {
    let mut result = result();
    let parts = |queueing: i64| json!({ "queueing_ps": queueing });
    result["explanation"] = json!([{
        "job": "a", "total_ps": 10_000_000, "parts": parts(10_000_000), "late_partners_ps": 0,
        "against_baseline": { "total_ps": 2_000_000, "parts": parts(2_000_000) },
    }]);
    let difference = |ps: i64| json!({ "total_ps": ps, "parts": parts(ps) });
    let comparison = json!({
        "schema": "flitwise-comparison-1",
        "jobs": [
            { "job": "b", "difference": difference(1) },
            { "job": "a", "difference": difference(-3_000_000) },
        ],
    });
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &result);
    directory(dir.path(), &[("comparison.json", &comparison.to_string())]);
    let page = page(&sources_of(&[dir.path().to_owned()]), None).unwrap();
    let plain: String = page.lines().map(str::trim).collect();
    let cells = "queueing</th><td>10.000</td><td>100.0 %</td><td>2.000</td><td>-3.000</td></tr>";
    assert!(plain.contains(cells), "{plain}");
}
