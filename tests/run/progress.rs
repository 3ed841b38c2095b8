//! What a run reports while it goes on.

use flitwise::config::resolve_text;
use flitwise::run::{Control, LoadsDone, Progress, Run, Snapshot, run_plan};
use flitwise::units::Ratio;
use flitwise_formats::vef::Info;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Keeps what it hears, and stops the run when `enough` says so.
struct Listener<F> {
    stop: AtomicBool,
    enough: F,
    heard: Mutex<Vec<Snapshot>>,
}

impl<F: Fn(&Snapshot) -> bool + Sync> Progress for Listener<F> {
    fn update(&self, snapshot: &Snapshot) {
        self.heard.lock().unwrap().push(*snapshot);
        if (self.enough)(snapshot) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// What a run of an experiment reports until it is enough.
fn heard(text: &str, enough: impl Fn(&Snapshot) -> bool + Sync) -> Vec<Snapshot> {
    let plan = resolve_text("test.toml", text, Path::new(ROOT), &[]).unwrap();
    let listener = Listener {
        stop: AtomicBool::new(false),
        enough,
        heard: Mutex::new(Vec::new()),
    };
    let control = Control::default().stopped_by(&listener.stop);
    let control = control
        .reporting_to(&listener)
        .reporting_every(Duration::ZERO);
    run_plan(&plan, &control, 1).unwrap();
    listener.heard.into_inner().unwrap()
}

const FABRIC: &str = "[fabric]\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }\n";

#[test]
fn jobs_report_the_least_time_that_they_need() {
    let trace = "traces/hpl-16.vef.gz";
    let job = |more: &str| format!("[[job]]\ntrace = \"{trace}\"\n{more}\n");
    let text = FABRIC.to_owned()
        + &job("start = \"7ns\"\nrepeat = 1000\ncompute_scale = 0.5")
        + &job("")
        + &job("repeat = \"until-others-end\"")
        + "[baseline]\nenabled = false\n";
    let last = *heard(&text, |_| true).last().expect("it takes a while");
    let info = Info::read(Path::new(ROOT).join(trace)).unwrap();
    let once = info.ideal.unwrap().span_ps;
    // The trace has whole nanoseconds, so half of its span is a whole number.
    assert_eq!(last.least_ps, Some(7_000 + 1000 * (once / 2)));
    assert_eq!((last.run, last.loads), (Run::Experiment, None));
    assert!(last.records < last.records_total);
}

#[test]
fn a_baseline_reports_when_the_experiment_has_ended() {
    let text = FABRIC.to_owned()
        + "[[job]]\ntrace = \"traces/hpl-16.vef.gz\"\nrepeat = 20\n\
           [[background]]\nrate = 0.001\npattern = \"uniform\"\n\
           [baseline]\noverrides = { background = [] }\n";
    let heard = heard(&text, |s| s.run == Run::Baseline(0));
    let runs: Vec<Run> = heard.iter().map(|s| s.run).collect();
    assert_eq!(runs.last(), Some(&Run::Baseline(0)));
    let of_baseline = runs.iter().filter(|&&run| run == Run::Baseline(0));
    assert_eq!(of_baseline.count(), 1, "{runs:?}");
}

#[test]
fn loads_report_how_many_are_measured_and_where_one_is() {
    let text = FABRIC.to_owned()
        + "[[background]]\nrate = 1\npattern = \"uniform\"\n\
           [measure]\nloads = [0.01, 0.3, 0.4]\nwarm_up = \"1us\"\nmax_warm_up = \"1us\"\nwindow = \"500us\"\n";
    let at = |load| Ratio::new(load, 10).unwrap();
    let heard = heard(&text, |s| s.loads.is_some_and(|loads| loads.measured == 2));
    let last = heard.last().unwrap();
    assert_eq!(last.loads, Some(LoadsDone::new(2, 3, at(4), true)));
    assert!((2_000..3_000).contains(&last.records), "{last:?}");
    assert_eq!((last.records_total, last.least_ps), (3_000, None));
    assert!(heard.is_sorted_by_key(|s| s.records));
}
