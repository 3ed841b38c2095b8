//! The order of settings in figures: the study's, whatever points and loads are there.

use crate::report::{directory, sources_of};
use flitwise::figure::{Chart, Figure};
use flitwise::report::{Choice, FigureKind, Source, figures_with, page};
use flitwise::study;
use serde_json::{Value, json};

/// A study of two schedulers at these rates, without the first scheduler at the first rate. `loads`: the loads of each run.
fn study_of(rates: &[&str], loads: &[&[&str]]) -> Vec<Source> {
    let axis = |name: &str, labels: &[&str]| {
        let settings: Vec<Value> = labels.iter().map(|l| json!({ "label": l })).collect();
        json!({ "name": name, "column": name, "reference": labels[0], "settings": settings })
    };
    let axes = [axis("scheduler", &["rr", "dtable"]), axis("rate", rates)];
    let document = json!({ "schema": study::SCHEMA, "name": "s", "axes": axes });
    let points = ["rr", "dtable"].into_iter();
    let points = points.flat_map(|scheduler| rates.iter().map(move |rate| (scheduler, rate)));
    let mut rows = String::new();
    for (point, (scheduler, rate)) in (1..).zip(points).skip(1) {
        for load in loads
            .get(point % loads.len().max(1))
            .copied()
            .unwrap_or(&[""])
        {
            let row = json!({
                "run": point, "point": point, "scheduler": scheduler, "rate": rate, "seed": 1, "status": "complete",
                "execution_time_ps": 1000 * point, "load": Some(load).filter(|load| !load.is_empty()),
                "latency_mean_ns": 1.0, "throughput_gbit_per_s_per_nic": 1.0, "offered_gbit_per_s_per_nic": 1.0,
            });
            rows += &format!("{row}\n");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let document = document.to_string();
    directory(
        dir.path(),
        &[("study.json", &document), ("runs.jsonl", &rows)],
    );
    sources_of(&[dir.path().to_owned()])
}

fn drawn(kind: FigureKind, sources: &[Source], series: Option<&str>) -> Vec<Figure> {
    let choice = Choice {
        series: series.map(str::to_owned),
        ..Choice::default()
    };
    figures_with(kind, sources, &choice).unwrap()
}

/// The names from left to right, and the names of the colours.
fn names(figure: &Figure) -> [Vec<String>; 2] {
    match &figure.chart {
        Chart::Bars(bars) => {
            let groups = bars.panels[0].groups.iter();
            [
                groups.map(|group| group.name.clone()).collect(),
                bars.series.clone(),
            ]
        }
        Chart::Curves(curves) => {
            let panels = curves.panels.iter().map(|panel| panel.name.clone());
            [panels.collect(), curves.series.clone()]
        }
        _ => panic!("neither bars nor curves"),
    }
}

#[test]
fn settings_keep_the_order_of_the_study_without_its_first_point() {
    for rates in [
        ["0.1", "0.2", "0.3"],
        ["4KiB", "16KiB", "1MiB"],
        ["3", "1", "2"],
    ] {
        let study = study_of(&rates, &[]);
        let bars = drawn(FigureKind::Time, &study, None);
        let colours = drawn(FigureKind::Time, &study, Some("rate"));
        let order =
            |names: &Vec<String>| names.iter().any(|n| n == rates[1]).then(|| names.clone());
        for figure in [&bars[0], &colours[0]] {
            let found: Vec<_> = names(figure).iter().filter_map(order).collect();
            assert_eq!(found, [rates], "{}", figure.title);
        }
        let page = page(&study, None).unwrap();
        let table = &page[page.find("<table").unwrap()..];
        let places = rates.map(|rate| table.find(&format!("row\">{rate}<")));
        assert!(
            places.is_sorted() && places[0].is_some(),
            "{rates:?}: {places:?}"
        );
        let curves = study_of(&rates, &[&["0.2", "0.5"]]);
        let curves = &drawn(FigureKind::Latency, &curves, Some("rate"))[0];
        let [panels, series] = names(curves);
        assert_eq!(series, rates.map(|rate| format!("rate {rate}")));
        assert_eq!(panels, ["rr", "dtable"]);
    }
}

#[test]
fn numbers_of_several_studies_and_loads_ascend() {
    let mut both = study_of(&["0.1", "0.3"], &[]);
    both.extend(study_of(&["0.2", "0.4"], &[]));
    both[1].set_label("t".to_owned());
    let bars = drawn(FigureKind::Time, &both, None);
    assert_eq!(names(&bars[0])[0], ["0.1", "0.2", "0.3", "0.4"]);
    let loads = study_of(&["1", "2"], &[&["1/3", "0.9"], &["0.25", "1/3"]]);
    let bars = drawn(FigureKind::Time, &loads, Some("rate"));
    assert_eq!(names(&bars[0])[0], ["0.25", "1/3", "0.9"]);
}
