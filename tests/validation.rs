//! Numbers of the publications (`docs/validation.md`): the cheap rows in every run of the
//! tests, those on whole fabrics with
//! `cargo test --release --test validation -- --ignored --nocapture`.

use flitwise::config::load;
use flitwise::results::result_json;
use flitwise::runner::{Control, Silent, run_plan};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The points of the curve of `configs/validation-CONFIG.toml`, a run for each load.
fn curve(config: &str, sets: &[&str]) -> Vec<Value> {
    let path = format!("configs/validation-{config}.toml");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let plan = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &sets).unwrap();
    let (stop, progress) = (&AtomicBool::new(false), &Silent);
    let result = run_plan(
        &plan,
        &Control {
            stop,
            progress,
            recorder: None,
        },
        2,
    )
    .unwrap();
    result_json(&plan, &result)["curve"]
        .as_array()
        .unwrap()
        .clone()
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

/// OpaSim, section 3, Figures 3 and 4.
#[test]
fn opasim_uniform_traffic_saturates_where_published() {
    let seeds = ["seed=1", "seed=2", "seed=3"];
    let loads = "measure.loads=[0.6,0.7,0.8,0.9,1.0]";
    let curves = seeds.map(|seed| curve("004-uniform", &[seed, loads]));
    let most = curves.iter().map(|curve| accepted(&curve[4])).sum::<f64>() / 3.0;
    assert!((most - 0.72).abs() <= 0.05, "{most}");
    for curve in &curves {
        let network: Vec<f64> = curve
            .iter()
            .map(|point| number(&point["service_levels"]["default"]["network_ns"]["mean"]))
            .collect();
        // In steps of 0.1 it grows ever faster up to 0.8, then stabilises.
        assert!(network[1] > 1.2 * network[0], "{network:?}");
        assert!(network[2] > 1.1 * network[1], "{network:?}");
        for later in &network[3..] {
            assert!((0.95..1.05).contains(&(later / network[2])), "{network:?}");
        }
    }
}

/// What Hiperion's Table 10 wants for a service level, in per cent of the flits delivered.
const SHARES: [(&str, f64); 5] = [
    ("VO", 10.0),
    ("VI", 30.0),
    ("CL", 50.0),
    ("BE", 5.0),
    ("BK", 5.0),
];

/// Hiperion, section 4.2.3: within 2 % at saturation.
fn shares_are_kept(point: &Value) {
    assert_eq!(point["saturated"], true, "not at saturation");
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

/// The fabric of `config` at `load` under DTable, SBT and RR.
fn three_schedulers(config: &str, load: &str, sets: &[&str]) -> [Value; 3] {
    let load = format!("measure.loads=[{load}]");
    ["dtable", "sbt", "rr"].map(|scheduler| {
        let file = if scheduler == "dtable" { "" } else { "-sbt" };
        let scheduler = format!("qos.scheduler=\"{scheduler}\"");
        let mut sets = sets.to_vec();
        sets.extend([load.as_str(), &scheduler]);
        curve(&format!("{config}{file}"), &sets)[0].clone()
    })
}

/// Hiperion, section 4.2.3, on an 8-ary 2-tree, which is small enough for every day.
#[test]
fn hiperion_levels_on_a_small_tree() {
    let small = "fabric.topology.n=2";
    let [dtable, sbt, rr] = three_schedulers("001-tree-8", "1.0", &[small]);
    shares_are_kept(&dtable);
    best_effort_waits_most(&dtable);
    shares_are_alike(&sbt, &rr);
    for other in [&sbt, &rr] {
        assert!(accepted(&dtable) > accepted(other) + 0.1);
        assert!(latency(other, "CL") > 4500.0, "{}", latency(other, "CL"));
    }
    // Without the gap no scheduler is ahead.
    let [dtable, sbt, rr] = three_schedulers(
        "001-tree-8",
        "1.0",
        &[small, "fabric.allocation_gap=\"0 ticks\""],
    );
    for other in [&sbt, &rr] {
        assert!((accepted(&dtable) - accepted(other)).abs() < 0.01);
    }
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

/// Published maxima of DTable and of SBT and RR, met within 0.08, and DTable ahead.
fn maxima_are_met(fabric: &str, [dtable, sbt, rr]: &[Value; 3], published: [f64; 2]) {
    for (name, point, published) in [
        ("DTable", dtable, published[0]),
        ("SBT", sbt, published[1]),
        ("RR", rr, published[1]),
    ] {
        let (most, cl) = (accepted(point), latency(point, "CL"));
        println!("{fabric} {name}: {most:.4}, CL {cl:.0} ns");
        assert!((most - published).abs() <= 0.08, "{fabric} {name}: {most}");
        assert!(accepted(dtable) >= most);
    }
}

/// Hiperion, section 4.2.3, both trees.
#[test]
#[ignore = "minutes"]
fn hiperion_levels_on_the_trees() {
    for (tree, published) in [("001-tree-24", [0.95, 0.80]), ("001-tree-8", [0.95, 0.85])] {
        let points = three_schedulers(tree, "1.0", &[]);
        maxima_are_met(tree, &points, published);
        let [dtable, sbt, rr] = &points;
        shares_are_kept(dtable);
        best_effort_waits_most(dtable);
        shares_are_alike(sbt, rr);
        for other in [sbt, rr] {
            assert!(latency(other, "CL") > 4500.0);
        }
    }
}

/// Hiperion, section 4.2.3, the tori, each at the load from which DTable is saturated.
#[test]
#[ignore = "many minutes"]
fn hiperion_levels_on_the_tori() {
    let tori = [
        ("001-torus-2d", "1.0", [0.94, 0.80]),
        ("001-torus-3d", "0.8", [0.78, 0.68]),
    ];
    for (torus, load, published) in tori {
        let points = three_schedulers(torus, load, &[]);
        maxima_are_met(torus, &points, published);
        shares_are_kept(&points[0]);
        best_effort_waits_most(&points[0]);
    }
}
