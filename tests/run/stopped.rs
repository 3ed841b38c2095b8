//! Runs that the user stops.

use flitwise::config::resolve_text;
use flitwise::results::summary;
use flitwise::run::{Control, RunError, Status, run_plan};
use std::fmt::Write;
use std::sync::atomic::AtomicBool;

#[test]
fn a_check_ends_when_the_user_stops_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::from("VEF3 1 70000 1 0 0 0 1000\nC0 0\n");
    (0..70_000).for_each(|id| writeln!(text, "{id} 0 0 0 0 1 -1").unwrap());
    std::fs::write(dir.path().join("long.vef"), text).unwrap();
    let text = "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n\
                [[job]]\ntrace = \"long.vef\"\n";
    let plan = resolve_text("test.toml", text, dir.path(), &[]).unwrap();
    let run = |stop| {
        let stop = &AtomicBool::new(stop);
        run_plan(&plan, &Control::default().stopped_by(stop), 2)
    };
    let Err(error @ RunError::Interrupted(_)) = run(true) else {
        panic!("the check went on");
    };
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(run(false).unwrap().main.status, Status::Complete);
}

/// The experiment may be complete when the user stops the run.
#[test]
fn a_missing_ideal_run_interrupts_the_result() {
    let text = "fabric.topology = { kind = \"single\", nics = 16 }\n\
                [[job]]\ntrace = \"traces/randomaccess-16.vef.gz\"\n";
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut plan = resolve_text("test.toml", text, root, &[]).unwrap();
    plan.split = true;
    let mut result = run_plan(&plan, &Control::default(), 1).unwrap();
    assert_eq!(result.status(&plan), Status::Complete);
    if let Some(ideal) = &mut result.ideal {
        ideal.status = Status::Interrupted;
    }
    assert_eq!(result.status(&plan), Status::Interrupted);
    result.ideal = None;
    assert_eq!(result.status(&plan), Status::Interrupted);
}

/// Most operations may be short, and the last one long.
#[test]
fn a_stopped_run_is_not_expected_to_end_before_its_ideal_time() {
    let text = "fabric.topology = { kind = \"single\", nics = 16 }\n\
                [[job]]\ntrace = \"traces/randomaccess-16.vef.gz\"\nstart = \"1ms\"\n";
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut plan = resolve_text("test.toml", text, root, &[]).unwrap();
    plan.split = true;
    let mut result = run_plan(&plan, &Control::default(), 1).unwrap();
    let tick = plan.experiment.fabric.units.tick;
    result.main.status = Status::Interrupted;
    result.main.stats.end_tick = tick.ticks(1_000_000_000) + 1000;
    let reached = serde_json::json!({ "operations": 99, "operations_total": 100 });
    result.main.reached = serde_json::from_value(reached).unwrap();
    let mut expected = |ends: [Option<u64>; 2]| {
        for (run, end) in [&mut result.ideal, &mut result.unloaded]
            .into_iter()
            .zip(ends)
        {
            let run = run.as_mut().unwrap();
            run.status = end.map_or(Status::Interrupted, |_| Status::Complete);
            run.jobs[0].as_mut().unwrap().end_ps = end.unwrap_or(u64::MAX);
        }
        let text = summary(&plan, &result, false);
        let line = text.lines().find(|line| line.starts_with("interrupted"));
        line.unwrap().split_once(" of about ").unwrap().1.to_owned()
    };
    assert_eq!(expected([Some(2_000_000_000), None]), "2.00 ms");
    assert_eq!(
        expected([Some(2_000_000_000), Some(3_000_000_000)]),
        "3.00 ms"
    );
    assert_eq!(expected([None, None]), "1.00 ms");
}
