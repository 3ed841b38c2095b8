//! The page and the figures of reports, from the files of results made by hand.

use crate::common::markup::assert_well_formed;
use flitwise::figure::Chart;
use flitwise::report::{FigureKind, Source, figures, open, page};
use flitwise::{results, study};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory with these files.
pub fn directory(path: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(path).unwrap();
    for (name, text) in files {
        fs::write(path.join(name), text).unwrap();
    }
}

pub fn result() -> Value {
    json!({
        "schema": results::SCHEMA,
        "about": { "name": "a & <b> \"c\"" },
        "status": "complete",
        "seed": 1,
        "slowdown": 1.5,
        "execution_time_ps": 2_000_000,
        "experiment": { "fabric": { "topology": { "kind": "single", "nics": 2 }, "routing": "direct" } },
        "jobs": [
            { "name": "a", "ranks": 2, "slowdown": 1.5, "execution_time_ps": 2_000_000, "time_split": {
                "computing_ps": 1, "partners_ps": 2, "latency_and_serialisation_ps": 3, "queueing_ps": 4,
                "credit_stalls_ps": 0 } },
            { "name": "b</script>", "ranks": 2, "slowdown": 1.1, "execution_time_ps": 1_000_000 },
        ],
    })
}

/// Writes a run into `dir`.
pub fn write_run(dir: &Path, result: &Value) {
    let result = result.to_string();
    let files = [
        ("result.json", result.as_str()),
        ("command.txt", "flitwise run x.toml --out there\n"),
        (
            "links.csv",
            "from_nic,from_switch,from_port,to_nic,to_switch,to_port,utilisation,held_up_share,credit_wait_ns\n\
             0,,,,0,0,0.5,0.25,0\n,0,0,0,,,0.2,0.1,0\n",
        ),
        (
            "latencies.csv",
            "of,kind,from_ns,to_ns,count\njob a,end_to_end,100,110,3\njob a,end_to_end,200,220,1\n",
        ),
        (
            "matrix.csv",
            "job,from_rank,from_last_rank,to_rank,to_last_rank,messages,bytes\na,0,0,1,1,3,4096\n",
        ),
        (
            "waits.csv",
            "job,rank,last_rank,waited_for_rank,waited_for_last_rank,waits,waited_ps\na,1,1,0,0,2,3000\n",
        ),
        (
            "ranks.csv",
            "job,rank,last_rank,from_ps,to_ps,doing\na,0,0,0,1000,compute\n",
        ),
    ];
    directory(dir, &files);
}

pub fn sources_of(dirs: &[PathBuf]) -> Vec<Source> {
    open(dirs, &[]).unwrap()
}

fn run_of(result: &Value) -> Vec<Source> {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), result);
    sources_of(&[dir.path().to_owned()])
}

/// A run with a figure of nearly every kind.
pub fn sources() -> Vec<Source> {
    run_of(&result())
}

#[test]
fn the_page_is_whole_and_loads_nothing() {
    let page = page(&sources(), None).unwrap();
    assert_well_formed(&page);
    // A name, and places in the page itself.
    let loads = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace("url(#", "");
    for forbidden in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!loads.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("<title>a &amp; &lt;b&gt; &quot;c&quot;</title>"));
    assert!(!page.contains("b</script>"));
    assert!(page.contains("flitwise run x.toml --out there"));
    for head in [
        "Slowdown",
        "Messages between ranks",
        "Waits between ranks",
        "Links",
        "What the ranks do",
    ] {
        assert!(page.contains(&format!("-title\">{head}</h2>")), "{head}");
    }
}

#[test]
fn the_page_is_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &result());
    let page = || page(&sources_of(&[dir.path().to_owned()]), Some("t"));
    assert_eq!(page(), page());
}

#[test]
fn what_is_missing_has_its_command() {
    let sources = sources();
    let page = page(&sources, None).unwrap();
    assert!(page.contains("<code>flitwise run x.toml --explain --out DIR</code>"));
    let error = figures(FigureKind::Latency, &sources)
        .unwrap_err()
        .to_string();
    let dir = sources[0].dir().display().to_string();
    assert!(
        error.starts_with(&format!("`{dir}` (a run with jobs) has no curves")),
        "{error}"
    );
    assert!(
        error.contains("; there is --kind slowdown, time, split,"),
        "{error}"
    );
}

#[test]
fn every_figure_of_an_empty_run_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = json!({ "schema": results::SCHEMA }).to_string();
    directory(dir.path(), &[("result.json", &nothing)]);
    let empty = sources_of(&[dir.path().to_owned()]);
    for kind in FigureKind::ALL {
        assert!(figures(kind, &empty).is_err(), "{kind:?}");
    }
    assert_well_formed(&page(&empty, None).unwrap());
}

/// A path of 10 us, by parts in ps.
fn parts(computing: u64, queueing: i64) -> Value {
    json!({ "local_work_ps": computing, "queueing_ps": queueing })
}

#[test]
fn an_explanation_has_tables_of_all_that_it_says() {
    let mut result = result();
    result["explanation"] = json!([{
        "job": "a",
        "total_ps": 10_000_000,
        "parts": parts(7_500_000, 2_500_000),
        "late_partners_ps": 500_000,
        "culprits": [{ "from": "background 0", "sl": "BK", "ps": 2_500_000 }],
        "links": [{ "from": "nic 0", "to": "switch 0 port 0", "queueing_ps": 2_500_000,
                    "credit_stalls_ps": 0, "waking_links_ps": 1_000_000, "throttling_ps": 0, "inside_devices_ps": 500_000 }],
        "ranks": [
            { "rank": 0, "parts": parts(2_000_000, 0) },
            { "rank": 1, "parts": parts(5_500_000, 2_500_000) },
        ],
        "collectives": [{ "name": "collective 3 (bcast)", "parts": parts(0, 1_250_000) }],
        "regions": [{ "name": "<solve>", "parts": parts(6_000_000, 1_500_000) }],
        "phases": [],
        "against_baseline": {
            "total_ps": 2_000_000, "parts": parts(0, 2_000_000),
            "culprits": [{ "from": "background 0", "sl": "BK", "ps": 1_500_000 }],
        },
    }]);
    let page = page(&run_of(&result), None).unwrap();
    assert_well_formed(&page);
    // Cells in the order of their rows; ranks by their time.
    let cells = |row: &[&str]| -> String {
        let rest = row[1..].iter().map(|cell| format!("<td>{cell}</td>"));
        format!(
            "<th scope=\"row\">{}</th>{}",
            row[0],
            rest.collect::<String>()
        )
    };
    let plain: String = page.lines().map(str::trim).collect();
    for row in [
        &["queueing", "2.500", "25.0 %", "2.000"][..],
        &["in all", "10.000", "100.0 %", "2.000"],
        &["while a later rank already waited", "0.500", "5.0 %", ""],
        &["1", "8.000", "80.0 %", "5.500", "2.500"],
        &["collective 3 (bcast)", "1.250", "12.5 %", "0.000", "1.250"],
        &["&lt;solve&gt;", "7.500", "75.0 %", "6.000", "1.500"],
        &["background 0, BK", "2.500", "25.0 %", "1.500"],
    ] {
        assert!(plain.contains(&cells(row)), "{row:?}: {plain}");
    }
    let link = "switch 0 port 0</th><td>4.000</td><td>2.500</td><td>0.000</td><td>1.000</td><td>0.000</td><td>0.500</td>";
    assert!(plain.contains(link) && plain.contains("<th scope=\"col\">links down (µs)"));
    let at = |text: &str| plain.find(text).unwrap();
    assert!(at(&cells(&["1", "8.000"])) < at(&cells(&["0", "2.000"])));
}

/// Writes an analysis into `dir`: two candidates, the second without much.
fn write_analysis(dir: &Path) {
    let spread = json!({ "mean": 0.8, "half_width": 0.01, "least": 0.5, "p05": 0.6, "median": 0.8, "p95": 0.9, "most": 1.0 });
    let network = |label: &str| {
        json!({
            "label": label, "pattern": "bisect", "topology": null, "hosts": 2, "switches": 1, "cables": 2, "pairs": 2,
            "pairs_without_route": 0, "least_routes_between_switches": null, "most_routes_between_switches": null,
            "longest_route_cables": 2, "failed": null, "vls": null,
            "figures": { "bandwidth": spread, "fair_bandwidth": null, "slowest_fair_bandwidth": null,
                         "sum_max_congestion": spread, "over_host_links": null, "delay": null },
            "lost": 0, "loads_in_bytes": false, "connections": [{ "congestion": 2, "connections": 7 }],
            "bandwidth_bins": [0, 3], "delays": [], "worst_permutation": null,
            "cables_ranked": [{ "from": "<a>", "to": "s port 1", "mean": 1.5, "most": 2, "most_in_run": 0,
                "most_in_level": 0, "crossed_by": 101, "flows": [{ "from": "<a>", "to": "b" }] }],
            "check": null,
        })
    };
    let document = json!({
        "schema": "flitwise-congestion-1", "pattern": "bisect", "ranks": 2, "levels": 1, "level": null, "runs": 3,
        "seed": 1, "networks": [network("x & y"), network("z")],
    });
    directory(dir, &[("congestion.json", &document.to_string())]);
}

#[test]
fn an_analysis_has_candidates_side_by_side_and_its_hot_cables() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path().join("here");
    write_analysis(&here);
    let sources = sources_of(&[here]);
    let page = page(&sources, None).unwrap();
    assert_well_formed(&page);
    for part in [
        "here: pattern bisect, 2 ranks, 1 level, 3 runs, seed 1.",
        "<th scope=\"col\">x &amp; y</th><th scope=\"col\">z</th>",
        "<th scope=\"row\">bandwidth of a connection, %</th><td>80.00\u{a0}±\u{a0}1.00</td><td>80.00\u{a0}±\u{a0}1.00</td>",
        "<th scope=\"row\">1: &lt;a&gt; → s port 1</th><td>1.5</td><td>2</td><td>0, 0</td><td>&lt;a&gt; → b, 100 more</td>",
        "There is no drawing without cables.csv",
        "No longest paths, which need --delay.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("-title\">Slowdown</h2>"));
    assert!(!page.contains("No slowdowns"));
    assert_eq!(figures(FigureKind::Bandwidth, &sources).unwrap().len(), 1);
    let error = figures(FigureKind::Cables, &sources)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("; there is --kind bandwidth, congestion"),
        "{error}"
    );
}

#[test]
fn an_analysis_beside_a_run_leaves_out_neither() {
    let dir = tempfile::tempdir().unwrap();
    let both = ["run", "analysis"].map(|name| dir.path().join(name));
    write_run(&both[0], &result());
    write_analysis(&both[1]);
    let page = page(&sources_of(&both), None).unwrap();
    assert_well_formed(&page);
    for head in ["Slowdown", "Hot cables", "Configuration"] {
        assert!(page.contains(&format!("-title\">{head}</h2>")), "{head}");
    }
}

/// Two topologies, two schemes and two policies at each of these loads, two seeds each: value by its digits, topology first.
pub fn study_rows(loads: &[&str]) -> Vec<Value> {
    let mut rows = Vec::new();
    for (load, at) in loads.iter().zip(1..) {
        for (point, seed) in (0..8).flat_map(|point| [(point, -1.0), (point, 1.0)]) {
            let digits = [point / 4, point / 2 % 2, point % 2];
            let value =
                f64::from(100 * (digits[0] + 1) + 10 * (digits[1] + 1) + digits[2] + 1) + seed;
            let axes = [["torus", "tree"], ["1q", "dbbm"], ["always-on", "on-off"]];
            let names = [0, 1, 2].map(|axis| axes[axis][digits[axis] as usize]);
            rows.push(json!({
                "run": rows.len(),
                "point": point,
                "topology": names[0],
                "scheme": names[1],
                "policy": names[2],
                "load": load,
                "energy_pj_per_bit": value,
                "throughput_gbit_per_s_per_nic": value / 10.0,
                "packet_latency_mean_ns": value * 1000.0,
                "link_energy_saved": value / 1000.0 / f64::from(at),
            }));
        }
    }
    rows
}

pub fn study_of(rows: &[Value]) -> Vec<Source> {
    study_with(&["topology", "scheme", "policy"], rows)
}

/// A study with these axes.
fn study_with(axes: &[&str], rows: &[Value]) -> Vec<Source> {
    let axes: Vec<Value> = axes
        .iter()
        .map(|axis| json!({ "name": axis, "column": axis }))
        .collect();
    let document = json!({ "schema": study::SCHEMA, "name": "power", "axes": axes });
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let dir = tempfile::tempdir().unwrap();
    let files = [("study.json", document.to_string()), ("runs.jsonl", lines)];
    directory(
        dir.path(),
        &files.each_ref().map(|(name, text)| (*name, text.as_str())),
    );
    sources_of(&[dir.path().to_owned()])
}

/// Figs 1 to 3 of 003: a panel for each topology, schemes from left to right or by colour, and policies the other way; means
/// of the seeds with their intervals.
#[test]
fn a_study_of_one_load_has_bars_of_throughput_latency_and_energy() {
    let sources = study_of(&study_rows(&["0.4"]));
    // The interval of two values that lie 2 apart.
    let half = |factor: f64| 12.706 * factor;
    for (kind, factor, unit) in [
        (FigureKind::Throughput, 0.1, "Gb/s"),
        (FigureKind::Latency, 1.0, "µs"),
        (FigureKind::Energy, 1.0, "pJ/bit"),
    ] {
        let figure = &figures(kind, &sources).unwrap()[0];
        let Chart::Bars(bars) = &figure.chart else {
            panic!("{kind:?} has no bars");
        };
        assert_eq!(bars.axis.unit, unit);
        assert_eq!(bars.series, ["1q", "dbbm"], "{kind:?}");
        assert_eq!(bars.panels.len(), 2, "{kind:?}");
        for (panel, topology) in bars.panels.iter().zip(["torus", "tree"]) {
            assert_eq!(panel.name, topology);
        }
        for (at, panel) in bars.panels.iter().enumerate() {
            for (policy, group) in panel.groups.iter().enumerate() {
                assert_eq!(group.name, ["always-on", "on-off"][policy]);
                for (scheme, bar) in group.bars.iter().enumerate() {
                    let bar = bar.as_ref().unwrap();
                    let value = 100 * (at + 1) + 10 * (scheme + 1) + policy + 1;
                    let expected = value as f64 * factor;
                    assert!((bar.mean - expected).abs() < 1e-9, "{kind:?} {bar:?}");
                    let found = bar.half.unwrap();
                    assert!((found - half(factor)).abs() < 1e-3, "{kind:?} {bar:?}");
                }
            }
        }
    }
    let saved = &figures(FigureKind::Energy, &sources).unwrap()[1];
    let Chart::Bars(bars) = &saved.chart else {
        panic!("no bars");
    };
    assert_eq!(
        (bars.axis.name.as_str(), bars.axis.unit.as_str()),
        ("saved", "%")
    );
    let first = bars.panels[0].groups[0].bars[0].as_ref().unwrap();
    assert!((first.mean - 11.1).abs() < 1e-9);
}

/// Loads are no seeds: bars have them as an axis, and their means and intervals are over the seeds alone.
#[test]
fn bars_do_not_average_loads() {
    let mut rows = study_rows(&["0.4", "0.8"]);
    // One scheme and one policy.
    rows.retain(|row| row["scheme"] == "1q" && row["policy"] == "on-off");
    let found = figures(FigureKind::Energy, &study_of(&rows)).unwrap();
    let [per_bit, saved] = &found[..] else {
        panic!("{found:?}");
    };
    for figure in [per_bit, saved] {
        assert!(
            figure.note.starts_with("Means of 2 seeds"),
            "{}",
            figure.note
        );
    }
    let Chart::Bars(bars) = &saved.chart else {
        panic!("no bars");
    };
    assert_eq!(
        (bars.groups.as_str(), &bars.series[..]),
        ("load", &["torus".to_owned(), "tree".to_owned()][..])
    );
    for (group, (load, saved)) in bars.panels[0]
        .groups
        .iter()
        .zip([("0.4", 11.2), ("0.8", 5.6)])
    {
        assert_eq!(group.name, load);
        let bar = group.bars[0].as_ref().unwrap();
        assert!((bar.mean - saved).abs() < 1e-9, "{bar:?}");
    }
}

/// The energy of a run: links by state, switches; NICs draw nothing and are left out.
#[test]
fn a_run_shows_what_draws_its_energy() {
    let links = |up: f64, down: f64| json!({ "energy_by_state_j": { "up": up, "down": down, "waking": 0.0, "sleeping": 0.0 } });
    let mut result = result();
    result["energy"] = json!({
        "policy": "on-off", "total_j": 0.01, "switches_j": 0.004, "nics_j": 0.0, "links_saved": 0.45, "pj_per_bit": 25.0,
        "switch_links": links(0.003, 0.001), "host_links": links(0.002, 0.0),
    });
    let dir = tempfile::tempdir().unwrap();
    let both = ["one", "other"].map(|name| dir.path().join(name));
    both.iter().for_each(|dir| write_run(dir, &result));
    let found = figures(FigureKind::Energy, &sources_of(&both[..1])).unwrap();
    let [figure] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        figure.note,
        "In all 10 mJ, 25 pJ for each bit delivered; links take 45.0 % less than links that are up for the same time (on-off)."
    );
    let Chart::Stacks(stacks) = &figure.chart else {
        panic!("no stacks");
    };
    assert_eq!(stacks.axis.label(), "energy (mJ)");
    assert_eq!(stacks.parts, ["links up", "links down", "always the same"]);
    let names: Vec<&str> = stacks
        .stacks
        .iter()
        .map(|stack| stack.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["links between switches", "links of NICs", "switches"]
    );
    assert_eq!(stacks.stacks[0].parts, [3.0, 1.0, 0.0]);
    let titles: Vec<String> = (figures(FigureKind::Energy, &sources_of(&both))
        .unwrap()
        .iter())
    .map(|figure| figure.title.clone())
    .collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    assert_eq!(titles[0], "Energy");
    for (saved, words) in [
        (0.0, "0.0 % less than links that are up"),
        (-1.177, "117.7 % more than links that are up"),
    ] {
        result["energy"]["links_saved"] = json!(saved);
        let found = figures(FigureKind::Energy, &run_of(&result)).unwrap();
        assert!(found[0].note.contains(words), "{}", found[0].note);
    }
}

/// Three jobs beside each other under two schedulers, two seeds each: the slowdown has the numbers of the jobs as digits.
#[test]
fn an_interference_study_is_a_matrix_for_each_scheduler() {
    let jobs = ["HPL", "LAMMPS", "FFT"];
    let mut rows = Vec::new();
    for (scheduler, name) in ["rr", "dtable"].iter().enumerate() {
        for (job, beside) in (0..9).map(|at| (at / 3, at % 3)) {
            for seed in [-0.01, 0.01] {
                let slowdown = 1.0 + scheduler as f64 + 0.1 * job as f64 + 0.02 * beside as f64;
                rows.push(json!({
                    "run": rows.len(), "point": 9 * scheduler + 3 * job + beside,
                    "scheduler": name, "job": jobs[job], "beside": jobs[beside],
                    "load": null, "slowdown_ratio": slowdown + seed, "latency_mean_ns": 900.0,
                }));
            }
        }
    }
    let sources = study_with(&["scheduler", "job", "beside"], &rows);
    let found = figures(FigureKind::Interference, &sources).unwrap();
    assert_eq!(found.len(), 2);
    for (scheduler, (figure, name)) in found.iter().zip(["rr", "dtable"]).enumerate() {
        assert_eq!(
            figure.title,
            format!("Interference between jobs: power, {name}")
        );
        let Chart::Matrix(matrix) = &figure.chart else {
            panic!("no matrix");
        };
        assert_eq!(matrix.names, jobs);
        assert_eq!(matrix.cells.len(), 9);
        for cell in &matrix.cells {
            let slowdown =
                1.0 + scheduler as f64 + 0.1 * cell.row as f64 + 0.02 * cell.column as f64;
            assert!((cell.value - slowdown).abs() < 1e-9, "{cell:?}");
            // The interval of two values that lie 0.02 apart.
            assert!((cell.half.unwrap() - 0.127_06).abs() < 1e-4, "{cell:?}");
        }
    }
    let page = page(&sources, None).unwrap();
    assert_well_formed(&page);
    assert!(
        page.contains("<th scope=\"row\">LAMMPS</th><td>1.10 ± 0.13</td><td>1.12 ± 0.13</td>"),
        "{page}"
    );
    // Latencies of messages; the study has none of packets.
    assert_eq!(figures(FigureKind::Latency, &sources).unwrap().len(), 1);
}
