//! Runs that the user stops.

use flitwise::config::resolve_text;
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
