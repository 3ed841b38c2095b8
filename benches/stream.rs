//! Large traces: budget 1d of `docs/evidence/performance.md`.
//!
//! A trace is generated in two sizes, a quarter and the whole of 500 MB times the scale, in TMPDIR. Both are parsed,
//! checked and replayed (as `flitwise run` does, check included); what matters besides
//! speed is that the peak memory of the two is the same.

use crate::halo;
use crate::measure::{Bench, Spread, peak_mb, reset_peak, timed};
use flitwise::config::resolve_text;
use flitwise::run::{Control, Status, run_plan};
use flitwise_formats::vef::{Reader, check_file};
use std::hint::black_box;
use std::path::Path;

/// Small messages: it is the trace that is measured here.
const MESSAGE_BYTES: u64 = 64;

const EXPERIMENT: &str = r#"
fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 8, n = 2 } }
job = [{ trace = "halo.vef" }]
baseline = { enabled = false }
"#;

fn parse(path: &Path) {
    for record in Reader::open(path).expect("a trace") {
        black_box(&record.expect("a record"));
    }
}

fn check(path: &Path) {
    let check = check_file(path).expect("a trace");
    assert!(check.is_clean(), "{:?}", check.errors);
}

fn replay(path: &Path) {
    let dir = path.parent().expect("a directory");
    let plan = resolve_text("stream", EXPERIMENT, dir, &[]).expect("an experiment");
    let control = Control::default();
    let result = run_plan(&plan, &control, 1).expect("a run");
    assert_eq!(result.main.status, Status::Complete);
    let messages = result.main.messages;
    println!("    {messages} messages through the fabric");
}

/// What is done with a trace.
type Phase = fn(&Path);

/// The group `stream`.
pub fn run(bench: &mut Bench) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("halo.vef");
    for mb in [bench.scaled(125), bench.scaled(500)] {
        let bytes = halo::write_halo(&path, mb * 1_000_000, MESSAGE_BYTES).expect("space");
        let mb = bytes as f64 / 1e6;
        let phases: [(&str, Phase); 3] = [("parse", parse), ("check", check), ("run", replay)];
        for (name, phase) in phases {
            if !bench.wants(name) {
                continue;
            }
            reset_peak();
            let (seconds, ()) = timed(|| phase(&path));
            println!(
                "{mb:6.0} MB {name:6} {seconds:7.2} s, {:5.0} MB/s, peak {:.0} MB",
                mb / seconds,
                peak_mb()
            );
            let case = format!("{name} {mb:.0} MB");
            bench.note(&case, "MB/s", &Spread::new([mb / seconds]));
        }
    }
}
