//! Numbers of the publications on small fabrics. `examples/validation` judges all rows of
//! `docs/evidence/validation.md`.

use crate::common::result_json;
use flitwise::config::load;
use flitwise::run::{Control, run_plan};
use serde_json::Value;
use std::path::Path;

/// What `configs/validation-CONFIG.toml` gives with these settings.
fn result(config: &str, sets: &[&str]) -> Value {
    let path = format!("configs/validation-{config}.toml");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let plan = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &sets).unwrap();
    let result = run_plan(&plan, &Control::default(), 2).unwrap();
    result_json(&plan, &result)
}

/// The points of its curve, a run for each load.
fn curve(config: &str, sets: &[&str]) -> Vec<Value> {
    let json = result(config, sets);
    json["curve"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn accepted(point: &Value) -> f64 {
    number(&point["accepted_flits_per_cycle_per_nic"])
}

/// Mean end-to-end latency of a service level in ns.
fn latency(point: &Value, sl: &str) -> f64 {
    number(&point["service_levels"][sl]["end_to_end_ns"]["mean"])
}

/// OpaSim, section 3, Figure 5.
#[test]
fn opasim_neighbours_get_all_they_offer() {
    for point in curve("004-neighbour", &["measure.loads=[0.3,0.7,1.0]"]) {
        let offered = number(&point["offered_flits_per_cycle_per_nic"]);
        assert!((accepted(&point) - offered).abs() < 0.001, "{point}");
        assert_eq!(point["saturated"], false, "{point}");
    }
}

/// OpaSim, section 3, Figures 3 and 4: 0.72 and a knee at 0.8 come out with an allocator in rounds. A
/// pipelined one accepts 0.896.
#[test]
fn opasim_uniform_traffic_needs_rounds() {
    let network = |point: &Value| number(&point["service_levels"]["default"]["network_ns"]["mean"]);
    let of = |allocator: &str| {
        let allocator = format!("fabric.allocator={allocator}");
        curve("004-uniform", &["measure.loads=[0.7,0.8,1.0]", &allocator])
    };
    let rounds = of("rounds");
    let most = accepted(&rounds[2]);
    assert!((most - 0.72).abs() <= 0.05, "{most}");
    assert!(
        network(&rounds[0]) < 0.6 * network(&rounds[2]),
        "a knee below 0.8"
    );
    assert!(
        network(&rounds[1]) > 0.95 * network(&rounds[2]),
        "a knee above 0.8"
    );
    let pipelined = of("pipelined");
    let most = accepted(&pipelined[2]);
    assert!((most - 0.896).abs() <= 0.01, "{most}");
    assert!(
        network(&pipelined[1]) < 0.6 * network(&pipelined[2]),
        "a knee at 0.8"
    );
}

/// What Hiperion's Table 10 wants for a service level, in per cent of the flits delivered.
const SHARES: [(&str, f64); 5] = [
    ("VO", 10.0),
    ("VI", 30.0),
    ("CL", 50.0),
    ("BE", 5.0),
    ("BK", 5.0),
];

/// Hiperion, section 4.2.3: within 2 %.
fn shares_are_kept(point: &Value) {
    for (sl, wanted) in SHARES {
        let share = 100.0 * number(&point["service_levels"][sl]["share"]);
        assert!((share - wanted).abs() <= 2.0, "{sl}: {share} %");
    }
}

/// SBT "gets almost the same bandwidth division" as RR: within a point.
fn shares_are_alike(sbt: &Value, rr: &Value) {
    for (sl, _) in SHARES {
        let share = |point: &Value| 100.0 * number(&point["service_levels"][sl]["share"]);
        let (sbt, rr) = (share(sbt), share(rr));
        assert!((sbt - rr).abs() < 1.0, "{sl}: {sbt} %, {rr} %");
    }
}

/// The levels with guarantees are faster than those without.
fn best_effort_waits_most(point: &Value) {
    for sl in ["VO", "VI", "CL"] {
        for least in ["BE", "BK"] {
            assert!(latency(point, sl) < latency(point, least), "{sl}, {least}");
        }
    }
}

/// The fabric of `config` under DTable, SBT and RR.
fn three_schedulers(config: &str, sets: &[&str]) -> [Value; 3] {
    ["dtable", "sbt", "rr"].map(|scheduler| {
        let scheduler = format!("qos.scheduler=\"{scheduler}\"");
        curve(config, &[sets, &[&scheduler]].concat())[0].clone()
    })
}

/// An 8-ary 2-tree at full load, which is small enough for every day, after 20 us.
const SMALL_TREE: [&str; 4] = [
    "fabric.topology.n=2",
    "measure.loads=[1.0]",
    "measure.max_warm_up=\"20us\"",
    "measure.window=\"10us\"",
];

/// Hiperion, section 4.2.3: shares and what waits most. DTable's lead is not met.
#[test]
fn hiperion_levels_on_a_small_tree() {
    let [dtable, sbt, rr] = three_schedulers("001-tree-8", &SMALL_TREE);
    assert_eq!(dtable["saturated"], true, "not at saturation");
    shares_are_kept(&dtable);
    best_effort_waits_most(&dtable);
    shares_are_alike(&sbt, &rr);
}

/// With the same packets the three schedulers accept the same, whatever the allocator; small packets
/// in rounds cost throughput.
#[test]
fn packets_and_allocator_decide_not_the_scheduler() {
    let of = |settings: &[&str]| {
        let points = three_schedulers("001-tree-8", &[&SMALL_TREE[..], settings].concat());
        let [dtable, sbt, rr] = points.each_ref().map(accepted);
        assert!((dtable - sbt).abs() < 0.02, "{settings:?}: {dtable}, {sbt}");
        assert!((dtable - rr).abs() < 0.02, "{settings:?}: {dtable}, {rr}");
        dtable
    };
    let (rounds, small) = ("fabric.allocator=rounds", "qos.mtu=128B");
    let without_loss = [of(&[]), of(&[small]), of(&[rounds])];
    assert!(without_loss.iter().all(|&of| of > 0.94), "{without_loss:?}");
    let most = of(&[rounds, small]);
    assert!((0.85..0.93).contains(&most), "{most}");
}

/// Hiperion, section 4.2.3: VO < VI < CL < BE < BK past saturation, with the quotas of
/// OpaSim.
#[test]
fn hiperion_latencies_are_in_order_with_small_quotas() {
    let sets = [
        "fabric.topology.n=2",
        "measure.loads=[1.0]",
        "measure.warm_up=\"60us\"",
        "measure.max_warm_up=\"60us\"",
        "measure.window=\"20us\"",
        "fabric.exclusive=\"16 credits\"",
        "fabric.max=\"48 credits\"",
    ];
    let point = &curve("001-tree-8", &sets)[0];
    let latencies = SHARES.map(|(sl, _)| latency(point, sl));
    assert!(latencies.is_sorted(), "{latencies:?}");
}

/// What every NIC of the tornado gets, with these settings.
fn tornado(sets: &[&str]) -> Vec<f64> {
    let json = result("tornado", sets);
    let flows = json["background"].as_array().unwrap();
    let rate = |flow: &Value| 8.0 * number(&flow["accepted_flits_per_cycle_per_nic"]);
    flows.iter().map(rate).collect()
}

fn close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{got:?}");
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() < 0.005, "{got}, not {expected}");
    }
}

/// Behind the dateline of a ring NICs starve as the Fibonacci numbers say.
#[test]
fn tornado_starves_behind_the_dateline() {
    let of = |parts: [u32; 7], whole: f64| parts.map(|part| f64::from(part) / whole);
    let full = tornado(&[]);
    assert!(full[0] < 0.005, "{full:?}");
    close(&full[1..], &of([1, 2, 3, 5, 8, 13, 21], 42.0));
    close(&tornado(&["measure.loads=[0.33]"]), &[0.33; 8]);
    // Without packets that crossed the dateline NIC 0 is as well off as NIC 1.
    let alone = tornado(&["background.6.rate=0.001", "background.7.rate=0.001"]);
    close(&alone[..6], &of([1, 1, 2, 3, 5, 8, 0], 16.0)[..6]);
}
