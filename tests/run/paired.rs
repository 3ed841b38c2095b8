//! Paired differences in figures and pages, their interactions, and comparisons of two runs.

use super::report::{directory, result, sources_of, write_run};
use flitwise::figure::Chart;
use flitwise::report::{Choice, FigureKind, Source, figures, figures_with, open, page};
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
    let found = figures(FigureKind::Differences, &sources).unwrap();
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

/// A study with one axis of two values and three seeds: the times and slowdowns of `b` in percent of the ones of `a`.
fn pair(times: [u64; 3], slowdowns: [f64; 3]) -> Vec<Source> {
    let row = |scheme: &str, seed: usize, time: u64, slowdown: f64| {
        let point = u64::from(scheme == "b");
        json!({ "run": 2 * seed, "point": point, "scheme": scheme, "seed": seed, "status": "complete",
                "execution_time_ps": 1000 * time, "slowdown_ratio": slowdown })
        .to_string()
    };
    let of_seed = |seed: usize| {
        let with = row("b", seed, times[seed], slowdowns[seed]);
        format!("{}\n{with}\n", row("a", seed, 100, 1.5))
    };
    let settings = ["a", "b"].map(|label| json!({ "label": label }));
    let axis =
        json!({ "name": "scheme", "column": "scheme", "reference": "a", "settings": settings });
    let document = json!({ "schema": study::SCHEMA, "name": "pair", "axes": [axis] }).to_string();
    let rows = [0, 1, 2].map(of_seed).concat();
    let dir = tempfile::tempdir().unwrap();
    let files = [("study.json", document.as_str()), ("runs.jsonl", &rows)];
    directory(dir.path(), &files);
    sources_of(&[dir.path().to_owned()])
}

#[test]
fn a_single_pair_is_shown_with_its_name_and_ties_are_in_brackets() {
    let sources = pair([110, 110, 110], [1.4, 1.5, 1.7]);
    for (metric, mean) in [("time", 10.0), ("slowdown", 10.0 / 3.0)] {
        let choice = Choice {
            metric: Some(metric.to_owned()),
            ..Choice::default()
        };
        let figure = &figures_with(FigureKind::Differences, &sources, &choice).unwrap()[0];
        let Chart::Bars(bars) = &figure.chart else {
            panic!("no bars");
        };
        let group = &bars.panels[0].groups[0];
        assert_eq!((bars.groups.as_str(), group.name.as_str()), ("scheme", "b"));
        let bar = group.bars[0].unwrap();
        assert!((bar.mean - mean).abs() < 1e-9, "{bar:?}");
        assert_eq!(bar.is_tie(), metric == "slowdown");
    }
    let page = page(&sources, None).unwrap();
    assert!(page.contains("-title\">Paired differences</h2>"));
    assert!(page.contains("brackets is a tie"));
    let plain: String = page.lines().map(str::trim).collect();
    for cells in ["b</th><td>+10 ± 0</td>", "b</th><td>(+3 ± 38)</td>"] {
        assert!(plain.contains(cells), "{cells}: {plain}");
    }
}

#[test]
fn differences_of_orders_have_no_logarithmic_axis() {
    let rows = |label: &str, times: [u64; 2]| {
        let seeds = times.iter().enumerate();
        let row = |(seed, time): (usize, &u64)| {
            json!({ "run": 1, "point": label, "scheme": label, "seed": seed, "status": "complete",
                    "execution_time_ps": time })
            .to_string()
        };
        seeds.map(row).collect::<Vec<_>>().join("\n") + "\n"
    };
    let [a, b, c] = [
        rows("a", [1000, 1000]),
        rows("b", [1001, 1001]),
        rows("c", [9000, 9000]),
    ];
    let settings = ["a", "b", "c"].map(|label| json!({ "label": label }));
    let axis =
        json!({ "name": "scheme", "column": "scheme", "reference": "a", "settings": settings });
    let document = json!({ "schema": study::SCHEMA, "name": "far", "axes": [axis] }).to_string();
    let dir = tempfile::tempdir().unwrap();
    let rows = [a, b, c].concat();
    let files = [("study.json", document.as_str()), ("runs.jsonl", &rows)];
    directory(dir.path(), &files);
    let sources = sources_of(&[dir.path().to_owned()]);
    let figure = &figures(FigureKind::Differences, &sources).unwrap()[0];
    let Chart::Bars(bars) = &figure.chart else {
        panic!("no bars");
    };
    let means = bars.panels[0].groups.iter();
    let means: Vec<f64> = means.map(|group| group.bars[0].unwrap().mean).collect();
    assert!(means[0] > 0.0 && means[1] > 1000.0 * means[0], "{means:?}");
    assert!(
        !bars.log && !figure.note.contains("ogarithmic"),
        "{figure:?}"
    );
}

#[test]
fn a_compared_run_is_named_beside_the_baseline() {
    let mut result = result();
    let parts = |queueing: i64| json!({ "queueing_ps": queueing });
    let culprit = |from: &str, ps: i64| json!({ "from": from, "sl": "BK", "ps": ps });
    result["explanation"] = json!([{
        "job": "a", "total_ps": 10_000_000, "parts": parts(10_000_000), "late_partners_ps": 0,
        "culprits": [culprit("background 0", 8_000_000), culprit("job a", 2_000_000)],
        "against_baseline": {
            "total_ps": 2_000_000, "parts": parts(2_000_000),
            "culprits": [culprit("background 0", 2_000_000)],
        },
    }]);
    let difference = |ps: i64| {
        let culprits = [
            culprit("background 1", -4_000_000),
            culprit("job a", 1_000_000),
        ];
        json!({ "total_ps": ps, "parts": parts(ps), "culprits": culprits })
    };
    let comparison = json!({
        "schema": "flitwise-comparison-1",
        "other": { "name": "quiet" },
        "different_keys": ["background", "seed"],
        "jobs": [
            { "job": "b", "difference": difference(1) },
            { "job": "a", "difference": difference(-3_000_000) },
        ],
    });
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &result);
    directory(dir.path(), &[("comparison.json", &comparison.to_string())]);
    let page = page(&sources_of(&[dir.path().to_owned()]), None).unwrap();
    assert!(page.contains("compared with quiet, which differs in background, seed."));
    let plain: String = page.lines().map(str::trim).collect();
    let heads = "more than in the baseline (µs)</th><th scope=\"col\">more than in quiet (µs)</th>";
    assert_eq!(plain.matches(heads).count(), 2, "{plain}");
    for cells in [
        "queueing</th><td>10.000</td><td>100.0 %</td><td>2.000</td><td>-3.000</td></tr>",
        "background 0, BK</th><td>8.000</td><td>80.0 %</td><td>2.000</td><td>0.000</td></tr>",
        "job a, BK</th><td>2.000</td><td>20.0 %</td><td>0.000</td><td>1.000</td></tr>",
        "background 1, BK</th><td>0.000</td><td>0.0 %</td><td>0.000</td><td>-4.000</td></tr>",
    ] {
        assert!(plain.contains(cells), "{cells}: {plain}");
    }
}
