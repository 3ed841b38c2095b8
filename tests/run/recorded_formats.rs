//! Recorded schedules and TI traces replay to their end on trees and a torus, with all that other programs count in them; and
//! jobs of different formats run side by side, are compared, explained and watched.

use crate::common::data::{data, examples_of_simgrid};
use crate::common::result_json;
use flitwise::config::{Base, Plan, Study, resolve_text};
use flitwise::results::{TimelineFile, TimelineFormat};
use flitwise::run::{Control, RunResult, Session, Simulation, Status, run_plan};
use flitwise::study::{Grid, Here, Studied, Unwatched};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// 64 NICs on 16 switches of Omni-Path, 64 on a torus of 16 switches, and 64 on 16 switches of InfiniBand.
const FABRICS: [&str; 3] = [
    "preset = \"opa-gen1\"\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }",
    "preset = \"opa-gen1\"\ntopology = { kind = \"torus\", dimensions = [4, 4], concentration = 4, trunk = 4 }",
    "preset = \"ib-edr\"\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }",
];

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("traces")
        .join(name)
}

fn plan(fabric: &str, rest: &str) -> Plan {
    let text = format!("[fabric]\n{fabric}\n{rest}");
    resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn simulate(plan: &Plan) -> RunResult {
    let result = run_plan(plan, &Control::default(), 1).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    result
}

/// Ranks, messages, bytes and collectives.
type Counts = (u64, u64, u64, u64);

/// Replays a trace on a fabric: everything in it arrives, in no less time than on an ideal network.
fn check(trace: &Path, fabric: &str, expected: Counts, least_ps: u64) {
    let shown = format!("{} on {fabric}", trace.display());
    let job = format!(
        "[baseline]\nenabled = false\n[[job]]\ntrace = '{}'\nhost_speed = 1e9\n",
        trace.display()
    );
    let mut plan = plan(fabric, &job);
    plan.split = true;
    let result = simulate(&plan);
    let job = result.main.jobs[0].clone().unwrap();
    assert!(job.complete, "{shown}");
    let found = (
        u64::from(job.ranks),
        job.point_to_point,
        job.point_to_point_bytes,
        job.collectives,
    );
    assert_eq!(found, expected, "{shown}");
    everything_arrived(&result.main, &shown);
    let ideal = result
        .ideal
        .as_ref()
        .and_then(|ideal| ideal.jobs[0].clone());
    let ideal = ideal.expect("it is replayed on an ideal network");
    assert!(ideal.complete, "{shown}");
    assert!(job.execution_ps >= ideal.execution_ps, "{shown}");
    assert!(ideal.execution_ps >= least_ps, "{shown}");
}

fn everything_arrived(run: &Simulation, shown: &str) {
    let stats = &run.stats;
    assert_eq!(stats.flits_injected, stats.flits_delivered, "{shown}");
    assert_eq!(stats.messages, stats.messages_delivered, "{shown}");
}

/// Of `golden.tsv`, by the name of the file.
fn schedules() -> Vec<(String, Counts)> {
    let golden = std::fs::read_to_string(own("goal/golden.tsv")).unwrap();
    let mut schedules = Vec::new();
    for line in golden.lines().skip(1).step_by(2) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        schedules.push((fields[0].to_owned(), (number(1), number(2), number(7), 0)));
    }
    assert_eq!(schedules.len(), 12);
    schedules
}

const LONGEST: &str = "resnet-8.goal";

#[test]
#[ignore = "minutes: cargo test --release --test run longest -- --ignored"]
fn the_longest_schedule_replays_on_every_fabric() {
    let all = schedules();
    let (name, counts) = all.iter().find(|(name, _)| name == LONGEST).unwrap();
    for fabric in FABRICS {
        check(&own(&format!("goal/{name}.gz")), fabric, *counts, 0);
    }
}

#[test]
fn every_schedule_replays_on_every_fabric() {
    for (name, counts) in schedules() {
        // Its gigabytes take minutes with the checks of a debug build: below.
        if name == LONGEST {
            continue;
        }
        for fabric in FABRICS {
            check(&own(&format!("goal/{name}.gz")), fabric, counts, 0);
        }
    }
}

/// Replays a set on every fabric. The messages and bytes of `counts.json` were taken line by line by another program; a
/// collective is a line of each rank.
fn actions(trace: &Path, counts: &Path) {
    let counts = std::fs::read_to_string(counts).unwrap();
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    let total = |key: &str| counts["totals"][key].as_u64().unwrap_or(0);
    let ranks = counts["ranks"].as_u64().unwrap();
    let expected = (
        ranks,
        total("sends") + total("sendrecvs"),
        total("send_bytes") + total("sendrecv_send_bytes"),
        total("collectives") / ranks,
    );
    let flops = counts["per_rank"].as_array().unwrap().iter();
    let most = flops.filter_map(|rank| rank["compute_flops"].as_f64());
    // A flop takes a nanosecond, and each computation is rounded to a picosecond.
    let least_ps = (most.fold(0.0, f64::max) * 1000.0 - 1e6).max(0.0) as u64;
    for fabric in FABRICS {
        check(trace, fabric, expected, least_ps);
    }
}

#[test]
fn every_ti_trace_replays_on_every_fabric() {
    for name in ["comd-16", "hpl-16", "nas_dt_SH_W-32", "nas_is_S-16"] {
        let counts = own(&format!("ti/{name}.counts.json"));
        actions(&own(&format!("ti/{name}.tar.gz")), &counts);
    }
}

#[test]
fn a_ti_trace_that_simgrid_does_not_replay_ends() {
    let Some(folder) = data("traces/ti/lulesh-27") else {
        return;
    };
    actions(
        &folder.join("lulesh-27-ti.tar.gz"),
        &folder.join("counts.json"),
    );
}

/// Messages and bytes of each pair of ranks, as `trace info --matrix csv` has them.
fn matrix(trace: &Path) -> BTreeMap<(u32, u32), (u64, u64)> {
    let out = Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(["trace", "info", "--matrix", "csv"])
        .arg(trace)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", trace.display());
    let text = String::from_utf8(out.stdout).unwrap();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    rows.deserialize::<(u32, u32, u64, u64)>()
        .map(|row| row.unwrap())
        .map(|(src, dst, messages, bytes)| ((src, dst), (messages, bytes)))
        .collect()
}

/// NAS IS and LULESH were recorded both as DUMPI and as TI: the same messages, of the same bytes. In the TI trace of HPL some
/// elements have no size: there the messages are the same.
#[test]
fn applications_recorded_in_two_formats_send_the_same_messages() {
    for (name, has_sizes) in [
        ("nas_is_S-16", true),
        ("lulesh-27", true),
        ("hpl-16", false),
    ] {
        let dumpi = data(&format!("traces/dumpi/{name}"));
        let ti = data(&format!("traces/ti/{name}/{name}-ti.tar.gz"));
        let (Some(dumpi), Some(ti)) = (dumpi, ti) else {
            return;
        };
        let [dumpi, ti] = [dumpi, ti].map(|folder| matrix(&folder));
        assert!(!dumpi.is_empty(), "{name}");
        let messages = |matrix: &BTreeMap<_, (u64, u64)>| -> Vec<_> {
            let pairs = matrix.iter();
            pairs
                .map(|(&pair, &(messages, _))| (pair, messages))
                .collect()
        };
        assert_eq!(messages(&dumpi), messages(&ti), "{name}");
        if has_sizes {
            assert_eq!(dumpi, ti, "{name}");
        }
    }
}

/// Written by hand to show what SimGrid's replayer takes.
#[test]
fn the_examples_of_simgrid_replay() {
    let traces = examples_of_simgrid().into_iter().flatten();
    for ((trace, _), fabric) in traces.zip(FABRICS.into_iter().cycle()) {
        let text = format!(
            "[baseline]\nenabled = false\n[[job]]\nname = \"job\"\ntrace = '{}'\n",
            trace.display()
        );
        let run = simulate(&plan(fabric, &text)).main;
        let shown = format!("{} on {fabric}", trace.display());
        assert!(run.jobs[0].as_ref().unwrap().complete, "{shown}");
        everything_arrived(&run, &shown);
    }
}

/// A VEF, a GOAL, a TI and a DUMPI job on a tree of 64 NICs.
fn jobs() -> String {
    let traces = [
        ("vef", own("randomaccess-16.vef.gz"), ""),
        ("goal", own("goal/pipelinedring-8-64k.goal.gz"), ""),
        ("ti", own("ti/nas_is_S-16.tar.gz"), "host_speed = 1e9"),
        (
            "dumpi",
            own("dumpi/nas_dt_WH_W-11"),
            "compute_time = \"cpu\"\ncompute_noise = 0.1",
        ),
    ];
    let job = |(name, trace, more): &(&str, PathBuf, &str)| {
        format!(
            "[[job]]\nname = \"{name}\"\ntrace = '{}'\nplacement = \"random\"\n{more}\n",
            trace.display()
        )
    };
    traces.iter().map(job).collect()
}

#[test]
fn jobs_of_all_formats_run_side_by_side() {
    let mut plan = plan(
        FABRICS[0],
        &format!("{}[[background]]\nrate = 0.05\n", jobs()),
    );
    plan.split = true;
    plan.explain = true;
    let result = simulate(&plan);
    let json = result_json(&plan, &result);
    for (at, messages) in [925, 56, 15, 28].into_iter().enumerate() {
        let job = result.main.jobs[at].clone().unwrap();
        assert!(job.complete);
        assert!(job.messages >= messages, "{} {}", job.name, job.messages);
        let shown = &json["jobs"][at];
        let slowdown = shown["slowdown"].as_f64().unwrap();
        assert!(slowdown > 0.5, "{shown:#}");
    }
    assert_eq!(json["explanation"].as_array().map(Vec::len), Some(4));
    let ideal = result.ideal.as_ref().unwrap();
    assert!(ideal.jobs.iter().flatten().all(|job| job.complete));
}

#[test]
fn a_timeline_shows_jobs_of_all_formats() {
    let plan = plan(
        FABRICS[0],
        &format!("[baseline]\nenabled = false\n{}", jobs()),
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timeline.csv");
    let format = TimelineFormat::of_name(&path).unwrap();
    let timeline = TimelineFile::create(&path, format, &plan.experiment, None).unwrap();
    let control = Control::default().seen_by(&timeline);
    let result = run_plan(&plan, &control, 1).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    timeline.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for job in ["vef", "goal", "ti", "dumpi"] {
        assert!(
            text.lines()
                .any(|line| line.split(',').any(|field| field == job)),
            "{job}"
        );
    }
}

#[test]
fn a_study_varies_jobs_of_all_formats() {
    let text = format!(
        "[fabric]\n{}\n[baseline]\nenabled = false\n{}",
        FABRICS[0],
        jobs()
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut study = Study::of("test", Base::of_text("test.toml", &text, root));
    study.set_seeds("1..2").unwrap();
    study.vary("job.2.host_speed=1e9,2e9").unwrap();
    let (control, mut session) = (Control::default(), Session::new(1));
    let grid = Grid::of(study).unwrap();
    let prepared = Studied::prepare(&grid, &mut session, &control).unwrap();
    let studied =
        Studied::run(grid, prepared, &mut session, &Here, &control, &Unwatched, 1).unwrap();
    assert_eq!(studied.rows.len(), 4);
}
