//! Background traffic above what a NIC can send, and a job beside it.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::results::{TimelineFile, TimelineFormat, execution_time_ps, summary};
use flitwise::run::{Control, Progress, Run, RunResult, SaturatedRun, Snapshot, Status, run_plan};
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// RandomAccess on a tree, beside two flows of one NIC to another, each at `rate`.
fn plan(rate: &str, nic_queueing: &str) -> Plan {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n\
         nic_queueing = \"{nic_queueing}\"\n\
         [qos]\npreset = \"single\"\nscheduler = \"rr-vl\"\n\
         [[job]]\ntrace = \"traces/randomaccess-16.vef.gz\"\n\
         [[background]]\nrate = {rate}\nmessage = \"4KiB\"\n\
         pattern = {{ flows = [{{ from = 3, to = 9 }}, {{ from = 3, to = 9 }}] }}\n"
    );
    let mut plan = resolve_text("test.toml", &text, Path::new(ROOT), &[]).unwrap();
    plan.split = true;
    plan
}

/// Keeps what is said of saturation.
#[derive(Default)]
struct Listener(Mutex<Vec<SaturatedRun>>);

impl Progress for Listener {
    fn update(&self, _: &Snapshot) {}

    fn saturated(&self, seen: &SaturatedRun) {
        self.0.lock().unwrap().push(seen.clone());
    }
}

fn run(plan: &Plan, threads: usize, stops: bool) -> (RunResult, Vec<SaturatedRun>) {
    let listener = Listener::default();
    let control = Control::default().reporting_to(&listener);
    let control = if stops {
        control.ending_when_saturated()
    } else {
        control
    };
    let result = run_plan(plan, &control, threads).unwrap();
    (result, listener.0.into_inner().unwrap())
}

/// All but what tells of this machine.
fn document(plan: &Plan, result: &RunResult) -> Value {
    let mut json = result_json(plan, result);
    json["engine"] = Value::Null;
    json
}

#[test]
fn a_flow_above_capacity_is_named_and_ends_the_run_on_request() {
    let plan = plan("1", "fifo");
    let (result, seen) = run(&plan, 1, true);
    let [seen] = &seen[..] else {
        panic!("said {} times", seen.len());
    };
    assert_eq!(seen.run, Run::Experiment);
    assert!(seen.saturation.flow < 2);
    assert_eq!(seen.saturation.nic.get(), 3);
    assert_eq!(seen.nic, "NIC 3");
    assert_eq!(result.main.saturation, Some(seen.saturation));
    assert_eq!(result.main.status, Status::Saturated);
    assert_eq!(result.status(&plan), Status::Saturated);
    assert!(seen.saturation.behind_ps * 50 > seen.saturation.at_ps);
    // The job has run until then, and nothing is known of its computation.
    let end_ps = (plan.experiment.fabric.units.tick).ps(result.main.stats.end_tick);
    assert_eq!(execution_time_ps(&plan.experiment, &result.main), end_ps);
    // Not only to the last event before: the samples of a timeline would move that.
    assert_eq!(end_ps, seen.saturation.at_ps);
    let text = summary(&plan, &result, false);
    assert!(text.contains("\nsaturated       stopped at "), "{text}");
    assert!(
        text.contains(" creates more than NIC 3 can send: "),
        "{text}"
    );
    assert!(!text.contains("where it goes"), "{text}");
    let job = text
        .lines()
        .find(|line| line.starts_with("randomaccess-16 "));
    assert!(job.is_some_and(|row| !row.contains('%')), "{text}");
    let json = document(&plan, &result);
    assert_eq!(
        (&json["status"], &json["saturation"]["nic"]),
        (&"saturated".into(), &3.into())
    );
    // Whatever else was running when it ended.
    for threads in [2, 4] {
        let (again, _) = run(&plan, threads, true);
        assert_eq!(document(&plan, &again), json);
    }
}

/// Each message of the job waits for half of the time that has passed: the run would end after years.
#[test]
fn a_run_that_would_take_too_long_ends_by_itself() {
    let plan = plan("1", "fifo");
    let (result, seen) = run(&plan, 1, false);
    assert_eq!(result.main.status, Status::Saturated);
    let tick = plan.experiment.fabric.units.tick;
    let end_ps = tick.ps(result.main.stats.end_tick);
    let [limit_ps] = seen.iter().map(|run| run.limit_ps).collect::<Vec<_>>()[..] else {
        panic!("said {} times", seen.len());
    };
    let unloaded_ps = limit_ps.unwrap() / u64::from(plan.experiment.saturated_limit);
    assert!(
        (3..8).contains(&(end_ps / unloaded_ps)),
        "{end_ps} {unloaded_ps}"
    );
    // It is not the user who stops it.
    let json = document(&plan, &result);
    assert_eq!(json["status"], "saturated");
    let (again, _) = run(&plan, 2, false);
    assert_eq!(document(&plan, &again), json);
}

/// In a FIFO the job would wait for half of the time that has passed, with every message.
#[test]
fn in_turns_a_job_passes_a_backlog() {
    let time = |rate, stops| {
        let plan = plan(rate, "per-flow");
        let (result, seen) = run(&plan, 2, stops);
        assert_eq!(result.main.status, Status::Complete);
        let time = execution_time_ps(&plan.experiment, &result.main);
        (time, seen.len())
    };
    let (alone, none) = time("0.001", true);
    assert_eq!(none, 0);
    let (in_turns, said) = time("1", false);
    assert_eq!(said, 1, "the flow is as far behind, only the job is not");
    assert!(
        in_turns > alone && in_turns < 3 * alone,
        "{in_turns} {alone}"
    );
}

#[test]
fn a_flow_below_capacity_is_not_saturated() {
    for rate in ["0.1", "0.4"] {
        let plan = plan(rate, "fifo");
        let (result, seen) = run(&plan, 2, true);
        assert_eq!(
            (result.main.status, seen.len()),
            (Status::Complete, 0),
            "{rate}"
        );
    }
}

#[test]
fn a_timeline_does_not_move_the_end() {
    let plan = plan("1", "fifo");
    let (alone, _) = run(&plan, 1, true);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.paje");
    for interval in [1, 7, 2000] {
        let format = TimelineFormat::of_name(&path).unwrap();
        let timeline = TimelineFile::create(&path, format, &plan.experiment, Some(interval));
        let timeline = timeline.unwrap();
        let control = Control::default().ending_when_saturated();
        let watched = run_plan(&plan, &control.seen_by(&timeline), 1).unwrap();
        assert_eq!(document(&plan, &watched), document(&plan, &alone));
    }
}
