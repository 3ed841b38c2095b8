//! Timelines: what they say against the results of the run, and what other programs read in them.

use crate::common::result_json;
use crate::perfetto::perfetto;
use flitwise::config::{Plan, resolve_text};
use flitwise::results::{TimelineFile, TimelineFormat};
use flitwise::run::{Control, Progress, RunResult, Snapshot, Status, run_plan};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const JOB: &str = r#"
[fabric]
topology = { kind = "k-ary-n-tree", k = 4, n = 2 }
[[job]]
trace = "traces/randomaccess-16.vef.gz"
compute_scale = 0.01
[[background]]
rate = 0.1
"#;

pub fn plan(sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    resolve_text("test.toml", JOB, dir, &sets).unwrap()
}

/// Runs the plan with a timeline in `path`, of links every 2000 ticks.
fn watched(plan: &Plan, path: &Path, control: Control<'_>, threads: usize) -> RunResult {
    let format = TimelineFormat::of_name(path).unwrap();
    let timeline = TimelineFile::create(path, format, &plan.experiment, Some(2000)).unwrap();
    let result = run_plan(plan, &control.seen_by(&timeline), threads).unwrap();
    assert!(!path.exists(), "not before it is complete");
    timeline.finish().unwrap();
    result
}

pub fn run(plan: &Plan, path: &Path) -> RunResult {
    watched(plan, path, Control::default(), 1)
}

/// What a rank does: name, start and end in picoseconds.
pub type Slice = (String, u64, u64);

/// The rows of a CSV file, by rank.
fn slices(path: &Path) -> BTreeMap<u32, Vec<Slice>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let mut ranks: BTreeMap<u32, Vec<Slice>> = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap();
        let [start, end] = [5, 6].map(|at| row[at].parse().unwrap());
        let slices = ranks.entry(row[1].parse().unwrap()).or_default();
        slices.push((row[4].to_owned(), start, end));
    }
    ranks
}

/// Panics unless each rank does something at any time from 0 on; returns the end of each.
fn ends_without_gaps(ranks: &BTreeMap<u32, Vec<Slice>>) -> Vec<u64> {
    let end = |(rank, slices): (&u32, &Vec<Slice>)| {
        let mut at = 0;
        for (doing, start, end) in slices {
            assert!(
                *start == at && end > start,
                "rank {rank}: {doing} {start} {end}, not {at}"
            );
            at = *end;
        }
        at
    };
    ranks.iter().map(end).collect()
}

#[test]
fn what_ranks_do_adds_up_to_the_execution_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    for (sets, doing) in [
        (&["job.0.send_completion=injected"][..], "send"),
        (&["job.0.send_completion=handed"], "allreduce"),
        (&["job.0.repeat=2", "job.0.start=1us"], "receive"),
    ] {
        let plan = plan(sets);
        let result = run(&plan, &path);
        let job = result.main.jobs[0].as_ref().unwrap();
        let mut ranks = slices(&path);
        fs::remove_file(&path).unwrap();
        // Before the job begins, ranks do nothing.
        let start = plan.experiment.jobs[0].start_ps;
        if start > 0 {
            for slices in ranks.values_mut() {
                assert_eq!(slices[0].1, start);
                slices.insert(0, ("before".into(), 0, start));
            }
        }
        // Between two runs of its trace a rank waits for the last rank of the job.
        if let [first, _] = job.repetitions_ps[..] {
            let again = start + first;
            for slices in ranks.values_mut() {
                let at = slices.iter().position(|slice| slice.1 == again).unwrap();
                let before = slices[at - 1].2;
                if before < again {
                    slices.insert(at, ("between".into(), before, again));
                }
            }
        }
        let ends = ends_without_gaps(&ranks);
        assert_eq!(ends.len(), 16);
        assert_eq!(ends.iter().max(), Some(&job.end_ps), "{sets:?}");
        let mut names = ranks.values().flatten().map(|slice| &slice.0);
        assert!(names.any(|name| name == doing), "{sets:?}: no {doing}");
        // The mean of the computation over the ranks is what the job says.
        if job.repetitions_ps.len() == 1 {
            let computing = |slices: &Vec<Slice>| {
                let computes = slices.iter().filter(|slice| slice.0 == "compute");
                computes.map(|slice| slice.2 - slice.1).sum::<u64>()
            };
            let all: u64 = ranks.values().map(computing).sum();
            assert_eq!(all / ranks.len() as u64, job.compute_ps);
        }
    }
}

#[test]
fn watching_changes_nothing_and_threads_do_not_show() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(&["baseline.overrides={ background = [] }"]);
    plan.split = true;
    let json = |result: &RunResult| {
        let mut json = result_json(&plan, result);
        json.as_object_mut().unwrap().remove("engine");
        json
    };
    let unwatched = run_plan(&plan, &Control::default(), 1).unwrap();
    for name in ["a.pftrace", "a.paje", "a.csv"] {
        let path = dir.path().join(name);
        let bytes = [1, 2].map(|threads| {
            let result = watched(&plan, &path, Control::default(), threads);
            assert_eq!(json(&result), json(&unwatched), "{name}");
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            bytes
        });
        assert!(bytes[0] == bytes[1], "{name}");
        let packed = dir.path().join(format!("{name}.gz"));
        run(&plan, &packed);
        let mut unpacked = Vec::new();
        let file = fs::File::open(&packed).unwrap();
        std::io::copy(&mut flate2::read::GzDecoder::new(file), &mut unpacked).unwrap();
        assert!(bytes[0] == unpacked, "{name}");
    }
}

#[test]
fn perfetto_has_the_slices_the_messages_and_the_links() {
    let dir = tempfile::tempdir().unwrap();
    let [path, rows] = ["a.pftrace", "a.csv"].map(|name| dir.path().join(name));
    let plan = plan(&[]);
    let result = run(&plan, &path);
    run(&plan, &rows);
    let read = perfetto(&fs::read(&path).unwrap());
    let messages = result.main.jobs[0].as_ref().unwrap().messages;
    assert_eq!(read.flows.len() as u64, messages);
    for [left, arrived] in read.flows.values() {
        assert!(left.unwrap() <= arrived.unwrap());
    }
    let expected: Vec<Vec<Slice>> = slices(&rows)
        .into_values()
        .map(|slices| {
            let ns = |(name, start, end): Slice| (name, start / 1000, end / 1000);
            slices.into_iter().map(ns).collect()
        })
        .collect();
    let found: Vec<_> = read.slices.into_values().collect();
    assert!(found == expected, "the same slices as in the rows");
    check_links(&plan, &result, &read.counters, &read.tracks);
}

/// The sum of a counter in percent over the time up to `end`, in nanoseconds.
fn summed(values: &[(u64, f64)], end: f64) -> f64 {
    let after = values[1..].iter().map(|value| value.0 as f64).chain([end]);
    (values.iter().zip(after))
        .map(|(&(at, percent), after)| percent / 100.0 * (after - at as f64))
        .sum()
}

/// Links with power states have a counter more: for how long they were up.
#[test]
fn perfetto_has_the_power_states_of_links() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pftrace");
    let plan = plan(&["power={ policy = \"on-off\", down_after = \"2us\", transition = \"1us\" }"]);
    let result = run(&plan, &path);
    let read = perfetto(&fs::read(&path).unwrap());
    let stats = &result.main.stats;
    let ns = |ticks| plan.experiment.fabric.units.tick.ps(ticks) as f64 / 1000.0;
    let (end, mut slept) = (ns(stats.end_tick + 1), 0);
    for link in &stats.links {
        let ends = [link.from, link.to].map(flitwise::results::link_end);
        let name = ends.join(" -> ") + ", up";
        let (track, _) = read
            .tracks
            .iter()
            .find(|(_, track)| **track == name)
            .unwrap();
        let up = ns(link.states.unwrap().up);
        let found = summed(&read.counters[track], end);
        assert!((found - up).abs() < 0.002 * end, "{name}: {found} {up}");
        slept += u32::from(up < 0.9 * end);
    }
    assert!(slept > 4, "{slept} links");
}

/// What the counters say of links over the whole run is what the run counted.
fn check_links(
    plan: &Plan,
    result: &RunResult,
    counters: &BTreeMap<u64, Vec<(u64, f64)>>,
    tracks: &BTreeMap<u64, String>,
) {
    let stats = &result.main.stats;
    let end = plan.experiment.fabric.units.tick.ps(stats.end_tick + 1) as f64 / 1000.0;
    let mut seen = 0;
    for link in stats.links.iter().filter(|link| link.flits > 0) {
        let name = flitwise::results::link_end(link.from) + " -> ";
        let name = name + &flitwise::results::link_end(link.to);
        let (track, _) = tracks.iter().find(|(_, track)| **track == name).unwrap();
        let used = summed(&counters[track], end);
        let whole = flitwise::results::utilisation(&plan.experiment, stats, link) * end;
        // Times in the file are whole nanoseconds, and the last packet may go on after the run.
        assert!((used - whole).abs() < 0.002 * end, "{name}: {used} {whole}");
        seen += 1;
    }
    assert!(seen > 16, "{seen} links");
}

/// Stops the run when it is under way.
struct StopSoon<'a>(&'a AtomicBool);

impl Progress for StopSoon<'_> {
    fn update(&self, snapshot: &Snapshot) {
        if snapshot.messages > 0 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_run_has_its_timeline_up_to_there() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&["job.0.compute_scale=0.1"]);
    for name in ["a.csv", "a.pftrace"] {
        let path = dir.path().join(name);
        let stop = AtomicBool::new(false);
        let progress = StopSoon(&stop);
        let control = Control::default().stopped_by(&stop).reporting_to(&progress);
        let control = control.reporting_every(std::time::Duration::ZERO);
        let result = watched(&plan, &path, control, 1);
        assert_eq!(result.main.status, Status::Interrupted);
        let end_tick = result.main.stats.end_tick;
        let end = plan.experiment.fabric.units.tick.ps(end_tick + 1);
        if name == "a.csv" {
            let ends = ends_without_gaps(&slices(&path));
            assert_eq!(ends, [end; 16]);
        } else {
            let read = perfetto(&fs::read(&path).unwrap());
            let ends = read.slices.values().map(|slices| slices.last().unwrap().2);
            assert!(ends.eq([end / 1000; 16]));
            assert!(read.flows.values().any(|flow| flow[1].is_some()));
        }
    }
}

/// The output of a program; `None`, with a message, if it cannot be started or says that it cannot.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(args).output() {
        Ok(output) => output,
        Err(e) => {
            println!("skipped: {program}: {e}");
            return None;
        }
    };
    if output.status.code() == Some(77) {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn pj_dump_reads_paje() {
    let dir = tempfile::tempdir().unwrap();
    let [path, rows] = ["a.paje", "a.csv"].map(|name| dir.path().join(name));
    let plan = plan(&[]);
    let result = run(&plan, &path);
    run(&plan, &rows);
    let Some(dump) = output("pj_dump", &["--float-precision=12", path.to_str().unwrap()]) else {
        return;
    };
    let of = |kind: &'static str| {
        let rows = dump
            .lines()
            .map(|line| line.split(", ").collect::<Vec<_>>());
        rows.filter(move |row| row[0] == kind)
    };
    let job = result.main.jobs[0].as_ref().unwrap();
    assert_eq!(of("Link").count() as u64, job.messages);
    let expected = slices(&rows);
    for (rank, slices) in &expected {
        let name = format!("{} rank {rank}", job.name);
        let states: Vec<_> = of("State").filter(|row| row[1] == name).collect();
        assert_eq!(states.len(), slices.len(), "{name}");
        for (state, (doing, start, end)) in states.iter().zip(slices) {
            let ps = |at: usize| (state[at].parse::<f64>().unwrap() * 1e12).round() as u64;
            assert_eq!(
                (state[7], ps(3), ps(4)),
                (&doing[..], *start, *end),
                "{name}"
            );
        }
    }
    let used = of("Variable").map(|row| row[6].parse::<f64>().unwrap());
    assert!(used.clone().all(|percent| (0.0..=100.0).contains(&percent)));
    assert!(used.clone().any(|percent| percent > 5.0));
}

/// Reads a trace with the definitions of Perfetto, and prints its messages, its slices and the
/// longest sum of the slices of a track.
const READER: &str = r#"
import sys
try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError as e:
    print(e, file=sys.stderr)
    sys.exit(77)
trace = perfetto_trace_pb2.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
trace.DiscardUnknownFields()
again = trace.SerializeToString(deterministic=True)
Event = perfetto_trace_pb2.TrackEvent
flows, ended, slices, begun, sums = set(), set(), 0, {}, {}
for packet in trace.packet:
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    if event.type == Event.TYPE_SLICE_BEGIN:
        begun[event.track_uuid] = packet.timestamp
        slices += 1
    elif event.type == Event.TYPE_SLICE_END:
        took = packet.timestamp - begun.pop(event.track_uuid)
        sums[event.track_uuid] = sums.get(event.track_uuid, 0) + took
    elif event.type == Event.TYPE_INSTANT:
        flows.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
assert flows == ended and not begun
print(len(flows), slices, max(sums.values()), len(again))
"#;

#[test]
fn the_python_package_of_perfetto_reads_the_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pftrace");
    let result = run(&plan(&[]), &path);
    let python = std::env::var("FLITWISE_PYTHON").unwrap_or_else(|_| "python3".into());
    let Some(said) = output(&python, &["-c", READER, path.to_str().unwrap()]) else {
        return;
    };
    let job = result.main.jobs[0].as_ref().unwrap();
    let bytes = fs::read(&path).unwrap();
    let slices: usize = perfetto(&bytes).slices.values().map(Vec::len).sum();
    // All bytes are fields that the definitions know: written again, they are as many.
    let expected = [
        job.messages,
        slices as u64,
        job.end_ps / 1000,
        bytes.len() as u64,
    ];
    let said: Vec<u64> = said
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn the_name_of_the_file_says_the_format() {
    let format = |name: &str| TimelineFormat::of_name(Path::new(name));
    for name in ["a.pftrace", "a.b.perfetto-trace", "a.PFTRACE.gz"] {
        assert_eq!(format(name), Some(TimelineFormat::Perfetto), "{name}");
    }
    for name in ["a.paje", "x/a.trace.zst"] {
        assert_eq!(format(name), Some(TimelineFormat::Paje), "{name}");
    }
    assert_eq!(format("a.csv"), Some(TimelineFormat::Csv));
    for name in ["a", "a.gz", "a.json", "a.csv.xz", ".gz", ""] {
        assert_eq!(format(name), None, "{name}");
    }
}

/// The parts of slices add up to the activities of the timeline, also those that are the longest of no slice.
#[test]
fn the_overview_has_all_activities() {
    let dir = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(["run", "configs/two-jobs.toml", "--no-split", "--quiet"])
        .args([
            "--timeline",
            &dir.path().join("all.csv").display().to_string(),
        ])
        .args(["--out", &dir.path().join("run").display().to_string()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let sums = |name: &str, time: fn(&csv::StringRecord) -> f64| {
        let mut sums: BTreeMap<[String; 3], f64> = BTreeMap::new();
        let mut reader = csv::Reader::from_path(dir.path().join(name)).unwrap();
        let header = reader.headers().unwrap().clone();
        let at = |column: &str| header.iter().position(|name| name == column).unwrap();
        let places = ["job", "rank", "doing"].map(at);
        for row in reader.records() {
            let row = row.unwrap();
            *sums.entry(places.map(|at| row[at].to_owned())).or_default() += time(&row);
        }
        sums
    };
    let exact = sums("all.csv", |row| {
        let [start, end] = [5, 6].map(|at| row[at].parse::<f64>().unwrap());
        end - start
    });
    let overview = sums("run/ranks.csv", |row| {
        let [from, to, part] = [3, 4, 6].map(|at| row[at].parse::<f64>().unwrap());
        (to - from) * part
    });
    let longest = exact.values().copied().fold(0.0, f64::max);
    for (key, time) in &exact {
        let found = overview.get(key).copied().unwrap_or(0.0);
        assert!(
            (found - time).abs() < 1e-3 * longest,
            "{key:?}: {found}, not {time}"
        );
    }
}
