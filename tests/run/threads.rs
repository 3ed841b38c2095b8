//! One run on several threads: all that is told is the same.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::fabric::engine::Engine;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::stats::LinkStats;
use flitwise::replay::program::RankId;
use flitwise::replay::{Doing, MatchedBy, Observer, Sent, StreamOf};
use flitwise::run::{Control, RunResult, Session, Timeline, can_use_threads};
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A job of 64 ranks beside background traffic on 512 NICs.
const JOB: &str = r#"
    [fabric]
    topology = { kind = "k-ary-n-tree", k = 8, n = 3 }
    [qos]
    preset = "single"
    scheduler = "rr-vl"
    [baseline]
    enabled = false
    [[job]]
    trace = "traces/randomaccess-16.vef.gz"
    compute_scale = 0.01
    placement = "random"
    [[background]]
    rate = 0.1
"#;

/// A load on 512 NICs.
const LOAD: &str = r#"
    [fabric]
    topology = { kind = "k-ary-n-tree", k = 8, n = 3 }
    [qos]
    preset = "opa-5sl"
    scheduler = "dtable"
    [[background]]
    sl = "CL"
    rate = 0.4
    [measure]
    loads = [1]
    warm_up = "500ns"
    window = "500ns"
"#;

fn plan(text: &str) -> Plan {
    let mut plan = resolve_text("test.toml", text, Path::new(ROOT), &[]).unwrap();
    plan.split = false;
    plan
}

/// Keeps the counters of the links, and the order in which messages were sent and delivered.
#[derive(Default)]
struct Seen {
    links: Mutex<Vec<(u64, Vec<LinkStats>)>>,
    messages: Mutex<Vec<(u64, u32)>>,
}

impl Observer for Seen {
    fn job(&self, _: u32, _: &str, _: &[NicId]) {}
    fn stream(&self, _: u64, _: StreamOf, _: Doing) {}
    fn region(&self, _: u64, _: StreamOf, _: Option<&str>) {}
    fn waited_for(&self, _: u64, _: StreamOf, _: RankId) {}
    fn sent(&self, ps: u64, slot: u32, _: Sent) {
        self.messages.lock().unwrap().push((ps, slot));
    }
    fn delivered(&self, ps: u64, slot: u32) {
        self.messages.lock().unwrap().push((ps, slot));
    }
    fn follows_messages(&self) -> bool {
        false
    }
    fn injected(&self, _: u64, _: u32) {}
    fn matched(&self, _: u64, _: u32, _: MatchedBy) {}
}

impl Timeline for Seen {
    fn interval(&self) -> Option<u64> {
        Some(700)
    }

    fn links(&self, tick: u64, links: &[LinkStats]) {
        self.links.lock().unwrap().push((tick, links.to_vec()));
    }
}

fn document(plan: &Plan, result: &RunResult) -> Value {
    let mut json = result_json(plan, result);
    json["engine"] = Value::Null;
    json
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for text in [JOB, LOAD] {
        let plan = plan(text);
        assert!(can_use_threads(&plan.experiment));
        let told = [1, 2].map(|threads| {
            let seen = Seen::default();
            let control = Control::default().seen_by(&seen);
            let result = Session::new(threads).run(&plan, &control).unwrap();
            let links = seen.links.into_inner().unwrap();
            (
                document(&plan, &result),
                links,
                seen.messages.into_inner().unwrap(),
            )
        });
        assert_eq!(told[0], told[1]);
    }
    let engine = Engine::with_threads(&plan(LOAD).experiment.fabric, 2).unwrap();
    assert_eq!(engine.threads(), 2);
}
