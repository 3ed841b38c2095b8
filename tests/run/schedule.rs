//! `after` of a job, and `[schedule]`: jobs that run when a batch system ran them.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::run::{Control, run_plan};
use serde_json::Value;
use std::path::Path;

const FABRIC: &str = "[fabric]\ntopology = { kind = \"single\", nics = 8 }\n";
/// Two ranks of which one sends a message to the other.
const JOB: &str = "[[job]]\ntrace = \"tiny.vef\"\n";
/// How long that takes alone.
const TINY_PS: u64 = 182_400;

/// An experiment beside the file `jobs`, whose text is given.
fn plan(text: &str, jobs: &str) -> Result<Plan, String> {
    seeded(1, text, jobs)
}

fn seeded(seed: u64, text: &str, jobs: &str) -> Result<Plan, String> {
    let dir = tempfile::tempdir().unwrap();
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments/tiny.vef");
    std::fs::copy(tiny, dir.path().join("tiny.vef")).unwrap();
    std::fs::write(dir.path().join("jobs"), jobs).unwrap();
    let mut plan = resolve_text(
        "test.toml",
        &format!("seed = {seed}\n{FABRIC}{text}"),
        dir.path(),
        &[],
    )
    .map_err(|e| e.to_string())?;
    // It is read again when the run begins.
    let kept = dir.keep();
    for job in &mut plan.experiment.jobs {
        job.trace_path = kept.join("tiny.vef");
    }
    Ok(plan)
}

fn jobs_of(plan: &Plan) -> Vec<Value> {
    let result = run_plan(plan, &Control::default(), 1).unwrap();
    let json = result_json(plan, &result);
    json["jobs"].as_array().unwrap().clone()
}

/// Name, first NIC and start of each job, none of which delays another.
fn brief(jobs: &[Value]) -> Vec<(&str, u64, u64)> {
    let of = |job| {
        let job: &Value = job;
        // A link takes a flit every 8 ticks, so a few ticks depend on the start.
        let slowdown = job["slowdown"].as_f64().unwrap();
        assert!((slowdown - 1.0).abs() < 0.01, "{slowdown}");
        (
            job["name"].as_str().unwrap(),
            job["nics"][0].as_u64().unwrap(),
            job["start_ps"].as_u64().unwrap(),
        )
    };
    jobs.iter().map(of).collect()
}

#[test]
fn a_job_starts_after_the_jobs_that_it_names() {
    let first = format!("{JOB}name = \"first\"\nrepeat = 2\n");
    let second = format!("{JOB}name = \"second\"\nafter = [\"first\"]\nstart = \"1ns\"\n");
    let plan = plan(&format!("{first}{second}"), "").unwrap();
    let jobs = jobs_of(&plan);
    assert_eq!(brief(&jobs), [("first", 0, 0), ("second", 2, 2 * TINY_PS)]);
}

/// Job 1 has all NICs, job 2 waits for it, job 3 comes when all is over, and job 4 never ran.
const SWF: &str = "; UnixStartTime: 0\n\
    1 100 0 10 8 -1 -1 8 -1 -1 1 1 1 5 1 1 -1 -1\n\
    2 101 9 5 2 -1 -1 2 -1 -1 1 1 1 6 1 1 -1 -1\n\
    3 400 700 5 4 -1 -1 4 -1 -1 1 1 1 5 1 1 -1 -1\n\
    4 400 -1 -1 4 -1 -1 4 -1 -1 5 1 1 5 1 1 -1 -1\n";

fn schedule(more: &str) -> String {
    format!("{JOB}[schedule]\nfile = \"jobs\"\ntime_scale = \"1/1000000000\"\n{more}\n")
}

#[test]
fn a_schedule_starts_jobs_when_they_ran_and_their_nics_are_free() {
    let of_all = plan(&schedule(""), SWF).unwrap();
    let remark = "schedule.file: 1 job that never ran, or whose times are unknown, left out";
    assert_eq!(of_all.experiment.remarks, [remark]);
    let recorded = jobs_of(&of_all);
    assert_eq!(
        brief(&recorded),
        [
            ("tiny-1", 0, 0),
            ("tiny-2", 0, TINY_PS),
            ("tiny-3", 0, 1_000_000)
        ]
    );
    let submitted = jobs_of(&plan(&schedule("start = \"submitted\""), SWF).unwrap());
    // 300 s after the first submission.
    assert_eq!(submitted[2]["start_ps"], 300_000_u64.max(2 * TINY_PS));
    let last = jobs_of(&plan(&schedule("skip = 1\njobs = 1"), SWF).unwrap());
    assert_eq!(brief(&last), [("tiny-2", 0, 0)]);
    let random = "placement = \"random\"\nskip = 2";
    let nics = |seed| {
        let plan = seeded(seed, &schedule(random), SWF).unwrap();
        jobs_of(&plan)[0]["nics"].clone()
    };
    assert_ne!(nics(1), nics(2));
}

#[test]
fn a_nic_is_busy_until_every_job_that_took_it_has_ended() {
    // Job 1 has six NICs for long; job 2 finds two and takes four, two of job 1 among them, and is soon over.
    let swf = "1 0 0 100 6 -1 -1 6 -1 -1 1 1 1 5 1 1 -1 -1\n\
        2 10 0 10 4 -1 -1 4 -1 -1 1 1 1 5 1 1 -1 -1\n\
        3 30 0 10 2 -1 -1 2 -1 -1 1 1 1 5 1 1 -1 -1\n";
    for (seed, placement) in [(1, "linear"), (1, "random"), (2, "random"), (3, "random")] {
        let text = schedule(&format!("placement = \"{placement}\""));
        let jobs = jobs_of(&seeded(seed, &text, swf).unwrap());
        let nics = |job: usize| jobs[job]["nics"].as_array().unwrap();
        let shared = nics(2).iter().find(|nic| nics(0).contains(nic));
        assert_eq!(shared, None, "{placement}, seed {seed}");
    }
}

#[test]
fn jobs_of_a_schedule_choose_their_application() {
    let large = format!("{JOB}name = \"large\"\n");
    let small = format!("{JOB}name = \"small\"\n");
    let applications = "[[schedule.application]]\njob = \"small\"\n\
        [[schedule.application]]\njob = \"large\"\nprocessors = 4\n\
        [[schedule.application]]\njob = \"small\"\nprogram = \"hpl\"\n";
    let sacct = "JobID|JobName|Submit|Start|End|NNodes\n\
        1|lulesh|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|2\n\
        2|lulesh|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|4\n\
        3|hpl|2026-01-01T00:00:00|2026-01-01T02:00:00|2026-01-01T03:00:00|8\n";
    let text = format!(
        "{large}{small}[schedule]\nfile = \"jobs\"\ntime_scale = \"1/1000000000\"\n{applications}"
    );
    let jobs = jobs_of(&plan(&text, sacct).unwrap());
    assert_eq!(
        brief(&jobs),
        [
            ("small-1", 0, 0),
            ("large-2", 2, 0),
            ("small-3", 0, 7_200_000)
        ]
    );
}

#[test]
fn a_schedule_may_be_larger_than_an_experiment() {
    let comments = "; a comment of a log that has run for years\n".repeat(400_000);
    assert!(comments.len() > 16 << 20);
    let of_both = plan(&schedule(""), &(comments + SWF)).unwrap();
    let of_one = plan(&schedule(""), SWF).unwrap();
    assert_eq!(of_both.experiment.jobs.len(), of_one.experiment.jobs.len());
}

#[test]
fn schedules_that_cannot_run_say_why() {
    let two = format!("{JOB}name = \"other\"\n{}", schedule(""));
    for (text, swf, why) in [
        (
            "[schedule]\nfile = \"jobs\"\n".to_owned(),
            SWF,
            "schedule: runs [[job]] entries, and there is none",
        ),
        (
            two,
            SWF,
            "schedule: does not say which of the jobs runs which",
        ),
        (schedule("skip = 3"), SWF, "schedule.skip: leaves no job"),
        (
            schedule("processors_per_nic = 0"),
            SWF,
            "schedule.processors_per_nic: is 0",
        ),
        (
            schedule("[[schedule.application]]\njob = \"hpl\""),
            SWF,
            "schedule.application.0.job: there is no [[job]] `hpl`",
        ),
        (
            schedule("[[schedule.application]]\njob = \"tiny\"\nprocessors = 3"),
            SWF,
            "has program `6` and 2 processors",
        ),
        (
            schedule(""),
            "1 0 0 1 9 -1 -1 9 -1 -1 1 1 1 5 1 1 -1 -1",
            "needs 9 NICs, and the fabric has 8",
        ),
        (schedule(""), "1 0 0 1 9", "jobs:1: has 5 fields"),
        (
            schedule("").replace(JOB, &format!("{JOB}start = \"1us\"\n")),
            SWF,
            "job.0.start: is decided by [schedule]",
        ),
        (
            format!("{JOB}after = [\"x\"]\n"),
            "",
            "job.0.after.0: there is no job `x` above",
        ),
    ] {
        let refused = plan(&text, swf).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_job_with_more_ranks_than_recorded_processors_is_named() {
    let plan = plan(&schedule("processors_per_nic = 2"), SWF).unwrap();
    let refused = run_plan(&plan, &Control::default(), 1).unwrap_err();
    let why = "schedule: job `tiny-2`: `tiny.vef`: 2 ranks at 1 per NIC do not fit on the 1 NIC of its recorded \
               processors; take job.0.ranks_per_nic = 2";
    assert!(refused.to_string().starts_with(why), "{refused}");
}
