//! The figures of time series, beside a result and in reports.

use crate::series::{JOB, TINY, names, plan, rows, run};
use flitwise::figure::{Chart, Theme};
use flitwise::report::FigureKind;
use flitwise::results::{SCHEMA, result_json, write_link_files};
use std::fs;

#[test]
fn a_receiver_of_several_flows_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let flows = "background=[{ rate = 0.2, pattern = { flows = [{ from = 0, to = 2 }, { from = 1, to = 2 }] } }]";
    run(
        &plan(TINY, &["fabric.topology.nics=3", flows]),
        dir.path(),
        1,
    );
    assert_eq!(names(dir.path()), ["flows.csv", "flows.svg", "shares.svg"]);
    let svg = fs::read_to_string(dir.path().join("shares.svg")).unwrap();
    assert!(svg.contains("Shares of what NIC 2 receives"), "{svg}");
    for name in ["NIC 0 → NIC 2", "NIC 1 → NIC 2"] {
        assert!(svg.contains(name), "{svg}");
    }
}

/// Four flows to NIC 4, the smaller two of which are not drawn by themselves.
#[test]
fn a_flow_has_one_colour_and_the_rest_is_a_band() {
    let dir = tempfile::tempdir().unwrap();
    let flows = "background=[{ rate = 0.1, pattern = { flows = [{ from = 0, to = 4 }, { from = 1, to = 4 }] } }, \
                 { rate = 0.2, pattern = { flows = [{ from = 2, to = 4 }, { from = 3, to = 4 }] } }]";
    let sets = ["fabric.topology.nics=5", "series.figure_lines=2", flows];
    run(&plan(TINY, &sets), dir.path(), 1);
    let [flows, shares] =
        ["flows.svg", "shares.svg"].map(|name| fs::read_to_string(dir.path().join(name)).unwrap());
    assert!(flows.contains("2 of 4 flows: those"), "{flows}");
    assert!(shares.contains("2 of 4 flows to it: those"), "{shares}");
    // In the legend the colour stands before the name.
    let colour = |svg: &str, name: &str| {
        let before = svg.split(&format!(">{name}</text>")).next().unwrap();
        let key = before.lines().rev().nth(1).unwrap();
        key[key.find('#').unwrap()..][..7].to_owned()
    };
    assert_eq!(colour(&shares, "2 other flows"), "#dddddd");
    let names = ["NIC 2 → NIC 4", "NIC 3 → NIC 4"];
    for name in names {
        assert_eq!(colour(&flows, name), colour(&shares, name), "{name}");
    }
    assert_ne!(colour(&flows, names[0]), colour(&flows, names[1]));
}

/// Colours, axes, names and points of a series are the same in the file beside the result and in a report.
#[test]
fn a_report_draws_what_is_beside_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let flows = "background=[{ rate = 0.2, pattern = { flows = [{ from = 0, to = 2 }, { from = 2, to = 1 }] } }]";
    let plan = plan(TINY, &["fabric.topology.nics=3", flows]);
    let result = run(&plan, dir.path(), 1);
    write_link_files(dir.path(), &plan, &result.main.stats).unwrap();
    let json = serde_json::to_string(&result_json(&plan, &result)).unwrap();
    fs::write(dir.path().join("result.json"), json).unwrap();
    let sources = flitwise::report::open(&[dir.path().to_owned()], &[]).unwrap();
    let figures = flitwise::report::figures(FigureKind::Series, &sources).unwrap();
    let drawn = figures[0].draw(1000, Theme::File);
    let beside = fs::read_to_string(dir.path().join("flows.svg")).unwrap();
    // Titles differ.
    let below = |svg: &str| svg.lines().skip(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(below(&beside), below(&drawn));
    assert!(drawn.contains(">NIC 2 → NIC 1</text>"), "{drawn}");
}

#[test]
fn figures_show_the_largest_and_say_so() {
    let dir = tempfile::tempdir().unwrap();
    run(&plan(JOB, &["series.figure_lines=3"]), dir.path(), 1);
    let svg = fs::read_to_string(dir.path().join("flows.svg")).unwrap();
    assert!(
        svg.contains("3 of 240 flows: those with the most bytes"),
        "{svg}"
    );
    assert_eq!(svg.matches("NIC ").count(), 6, "{svg}");
    // The lines, and their samples in the legend.
    let lines = svg.matches("stroke-width=\"1.8\"").count();
    assert_eq!(lines, 6, "{svg}");
    let mut totals = std::collections::BTreeMap::<[u32; 2], u64>::new();
    for row in rows(&dir.path().join("flows.csv")) {
        let key = [&row[3], &row[4]].map(|nic| nic.parse().unwrap());
        *totals.entry(key).or_default() += row[6].parse::<u64>().unwrap();
    }
    let mut largest: Vec<_> = totals.into_iter().collect();
    largest.sort_by_key(|&(key, bytes)| (std::cmp::Reverse(bytes), key));
    for ([src, dst], _) in &largest[..3] {
        assert!(
            svg.contains(&format!(">NIC {src} → NIC {dst}</text>")),
            "{src} {dst}"
        );
    }
}

/// The points of the figure of a series whose rows these are, each its time in ns and its value.
fn points_of(name: &str, rows: &[(u64, f64)]) -> Vec<(f64, f64)> {
    let columns = match name {
        "flows" => "gbit_per_s,from_nic,to_nic,sl,bytes",
        _ => "control_level,nic,sl,to_nic",
    };
    let mut text = format!("run,load,time_ps,{columns}\n");
    for &(ns, value) in rows {
        // The bytes of a sample of 10 ns.
        let bytes = match name {
            "flows" => format!(",{}", value * 1.25),
            _ => String::new(),
        };
        text += &format!("experiment,,{},{value},0,1,BE{bytes}\n", 1000 * ns);
    }
    let dir = tempfile::tempdir().unwrap();
    let result = serde_json::json!({ "schema": SCHEMA }).to_string();
    fs::write(dir.path().join("result.json"), result).unwrap();
    fs::write(dir.path().join(format!("{name}.csv")), text).unwrap();
    let sources = flitwise::report::open(&[dir.path().to_owned()], &[]).unwrap();
    let figures = flitwise::report::figures(FigureKind::Series, &sources).unwrap();
    let Chart::Curves(curves) = &figures[0].chart else {
        panic!("no curves");
    };
    let points = curves.panels[0].lines[0].points.iter();
    points.map(|point| (point.x, point.y)).collect()
}

#[test]
fn a_sample_is_drawn_in_the_middle_of_its_interval() {
    let points = points_of("flows", &[(10, 3.0), (30, 2.0)]);
    assert_eq!(points, [(5.0, 3.0), (15.0, 0.0), (25.0, 2.0)]);
}

/// 1199 samples are 399 points of three and one of two. A flow of one sample in three has a third of its bandwidth.
#[test]
fn points_are_means_over_all_their_samples() {
    let mut rows: Vec<(u64, f64)> = (0..400).map(|at| (30 * at + 10, 6.0)).collect();
    rows.push((11_990, 0.0));
    let points = points_of("flows", &rows);
    assert_eq!(points.len(), 400);
    assert!(points[..399].iter().all(|(_, y)| *y == 2.0), "{points:?}");
    assert_eq!(points[399].1, 3.0);
}

#[test]
fn a_source_begins_where_it_first_sent() {
    let points = points_of("sources", &[(20, 0.0), (30, 4.0)]);
    assert_eq!(points, [(15.0, 0.0), (25.0, 4.0)]);
}
