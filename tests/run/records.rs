//! Records of tasks: read back they say the same, and only what is missing runs again.

use flitwise::config::{Plan, resolve_text};
use flitwise::results::{result_json, summary};
use flitwise::run::{Control, Progress, Record, RunResult, Session, Silent};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A job beside background traffic on a small tree; its baseline is the job alone.
const EXPERIMENT: &str = r#"
    fabric.topology = { kind = "k-ary-n-tree", k = 6, n = 2 }
    [[job]]
    trace = "traces/randomaccess-16.vef.gz"
    [[background]]
    rate = 0.2
"#;

fn plan(text: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut plan = resolve_text("test.toml", text, dir, &sets).unwrap();
    plan.ideal = plan.experiment.measure.is_none();
    plan
}

fn run(plan: &Plan, session: Session, progress: &dyn Progress) -> RunResult {
    let control = Control::default().reporting_to(progress);
    let mut session = session;
    session.run(plan, &control).unwrap()
}

/// `result.json` and the summary, without what differs from run to run.
fn said(plan: &Plan, result: &RunResult) -> (Value, String) {
    let mut json = result_json(plan, result);
    json["engine"] = Value::Null;
    (json, summary(plan, result, true))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The experiment, its baseline and its ideal run: without one of the records, its task alone runs
/// again, and writes the same record but for the time that it took.
#[test]
fn only_the_missing_task_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(EXPERIMENT, &[]);
    let kept = || Session::new(2).with_records(dir.path()).unwrap();
    let fresh = said(&plan, &run(&plan, Session::new(1), &Silent));
    assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
    let all = files(dir.path());
    assert_eq!(all.len(), 3, "{all:?}");
    let before: Vec<Vec<u8>> = all
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    let record = |bytes: &[u8]| -> Record {
        let mut record: Record = serde_json::from_slice(bytes).unwrap();
        record.simulation.wall = std::time::Duration::ZERO;
        record
    };
    for (missing, file) in all.iter().enumerate() {
        std::fs::remove_file(file).unwrap();
        let again = run(&plan, kept(), &Silent);
        assert_eq!(said(&plan, &again), fresh, "without {file:?}");
        assert_eq!(files(dir.path()), all);
        for (other, before) in before.iter().enumerate() {
            let now = std::fs::read(&all[other]).unwrap();
            match other == missing {
                // A run takes another time: equal bytes would mean that it did not run.
                true => {
                    assert_ne!(&now, before, "{file:?} was not run again");
                    assert_eq!(record(&now), record(before));
                    std::fs::write(file, before).unwrap();
                }
                false => assert_eq!(&now, before, "{:?} was written", all[other]),
            }
        }
    }
    // A record that is cut short counts as missing.
    std::fs::write(&all[0], &before[0][..before[0].len() / 2]).unwrap();
    assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
    assert_eq!(record(&std::fs::read(&all[0]).unwrap()), record(&before[0]));
}

/// Loads are tasks of their own: a curve with one more load measures only this one. So are seeds.
#[test]
fn loads_and_seeds_share_records() {
    const CURVE: &str = r#"
        fabric.topology = { kind = "single", nics = 8 }
        background = [{ rate = 1 }]
        measure = { warm_up = "1us", max_warm_up = "1us", batch = "100ns", window = "5us" }
    "#;
    let dir = tempfile::tempdir().unwrap();
    let kept = || Session::new(1).with_records(dir.path()).unwrap();
    let records = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = files(dir.path()).into_iter();
        files
            .map(|file| (file.clone(), std::fs::read(file).unwrap()))
            .collect()
    };
    // The records there are after a run. Those from before have the time that they took then.
    let count = |loads: &str, seed: &str| {
        let plan = plan(CURVE, &[loads, seed]);
        let before = records();
        let result = run(&plan, kept(), &Silent);
        let fresh = run(&plan, Session::new(2), &Silent);
        assert_eq!(said(&plan, &result), said(&plan, &fresh));
        let after = records();
        for record in before {
            assert!(after.contains(&record), "{:?} was run again", record.0);
        }
        after.len()
    };
    assert_eq!(count("measure.loads=[0.2, 0.5]", "seed=1"), 2);
    assert_eq!(count("measure.loads=[0.5, 0.2]", "seed=1"), 2);
    assert_eq!(count("measure.loads=[0.2, 0.3, 0.5]", "seed=1"), 3);
    assert_eq!(count("measure.loads=[0.3]", "seed=2"), 4);
    // The same task twice runs once.
    assert_eq!(count("measure.loads=[0.7, 0.7]", "seed=1"), 5);
}

/// An ideal network is never slower than a fabric.
#[test]
fn the_ideal_network_is_a_lower_bound() {
    for trace in [
        "randomaccess-16.vef.gz",
        "hpl-16.vef.gz",
        "lulesh-27.vef.gz",
    ] {
        let text = EXPERIMENT.replace("randomaccess-16.vef.gz", trace);
        let plan = plan(&text, &["background=[]"]);
        let result = run(&plan, Session::new(2), &Silent);
        let json = result_json(&plan, &result);
        let ideal = json["ideal"]["execution_time_ps"].as_u64().unwrap();
        assert!(ideal > 0 && ideal < json["execution_time_ps"].as_u64().unwrap());
    }
}

/// On an ideal network a job without computation takes no time: it may repeat a number of times, and
/// it is left out if it repeats until the others end.
#[test]
fn a_job_that_repeats_is_no_obstacle_on_the_ideal_network() {
    const SECOND: &str = r#"
        [[job]]
        trace = "traces/hpl-16.vef.gz"
        compute_scale = 0
    "#;
    let ideal = |text: &str| {
        let plan = plan(text, &["background=[]", "baseline.enabled=false"]);
        let result = run(&plan, Session::new(2), &Silent);
        let jobs: Vec<bool> = result.main.jobs.iter().map(Option::is_some).collect();
        assert!(jobs.iter().all(|&replayed| replayed));
        result_json(&plan, &result)["ideal"].clone()
    };
    let alone = ideal(EXPERIMENT);
    assert_eq!(alone["status"], "complete");
    let endless = ideal(&format!(
        "{EXPERIMENT}{SECOND}repeat = \"until-others-end\""
    ));
    assert_eq!(endless, alone);
    let twice = ideal(&format!("{EXPERIMENT}{SECOND}repeat = 2"));
    assert_eq!(twice["jobs"][0], alone["jobs"][0]);
    assert_eq!(twice["jobs"][1]["execution_time_ps"], 0);
}
