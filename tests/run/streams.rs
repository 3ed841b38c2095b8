//! Traces that can be read only once.
#![cfg(unix)]

use flitwise::config::resolve_text;
use flitwise::results::execution_time_ps;
use flitwise::run::{Control, Status, run_plan};
use std::path::Path;

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traces/hpl-16.vef.gz");

/// How long two jobs take that replay the traces `first` and `second` at once, in picoseconds.
fn time_of(dir: &Path, first: &str, second: &str) -> u64 {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = 32 }}\n\
         [[job]]\ntrace = {first:?}\nname = \"a\"\ncompute_scale = 0.01\n\
         [[job]]\ntrace = {second:?}\nname = \"b\"\ncompute_scale = 0.01\n"
    );
    let plan = resolve_text("exp.toml", &text, dir, &[]).unwrap();
    let result = run_plan(&plan, &Control::default(), 2).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    execution_time_ps(&plan.experiment, &result.main)
}

/// A pipe is read once for all jobs and baselines that name it, also by other names.
#[test]
fn jobs_share_a_pipe_whatever_they_call_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let made = std::process::Command::new("mkfifo")
        .arg(at("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("pipe", at("link")).unwrap();
    let expected = time_of(dir.path(), TRACE, TRACE);
    for [first, second] in [["pipe", "pipe"], ["pipe", "link"], ["link", "pipe"]] {
        let pipe = at("pipe");
        let written = std::thread::spawn(move || {
            std::fs::write(pipe, std::fs::read(TRACE).unwrap()).unwrap();
        });
        assert_eq!(
            time_of(dir.path(), first, second),
            expected,
            "{first} {second}"
        );
        written.join().unwrap();
    }
}
