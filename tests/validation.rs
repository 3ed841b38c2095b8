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
    let loads = "measure.loads=[0.5,0.8,1.0]";
    let curves = seeds.map(|seed| curve("004-uniform", &[seed, loads]));
    let most = curves.iter().map(|curve| accepted(&curve[2])).sum::<f64>() / 3.0;
    assert!((most - 0.72).abs() <= 0.05, "{most}");
    for curve in &curves {
        assert_eq!(curve[0]["saturated"], false);
        assert_eq!(curve[1]["saturated"], true);
        let network = |i: usize| {
            let level: &Value = &curve[i]["service_levels"]["default"];
            number(&level["network_ns"]["mean"])
        };
        // Grows up to the knee, then stabilises.
        assert!(
            network(1) > 1.3 * network(0),
            "{} {}",
            network(0),
            network(1)
        );
        let change = network(2) / network(1);
        assert!((0.95..1.05).contains(&change), "{change}");
    }
}

/// Part of the delivered flits that Hiperion's Table 10 wants for each service level, in
/// per cent.
const SHARES: [(&str, f64); 5] = [
    ("VO", 10.0),
    ("VI", 30.0),
    ("CL", 50.0),
    ("BE", 5.0),
    ("BK", 5.0),
];

/// Hiperion, section 4.2.3: within 2 % at saturation.
fn shares_are_kept(point: &Value) {
    for (sl, wanted) in SHARES {
        let share = 100.0 * number(&point["service_levels"][sl]["share"]);
        assert!((share - wanted).abs() <= 2.0, "{sl}: {share} %");
    }
}

/// VO < VI < CL < BE < BK.
fn latencies_are_in_order(point: &Value) {
    let latencies = SHARES.map(|(sl, _)| latency(point, sl));
    assert!(latencies.is_sorted(), "{latencies:?}");
}

/// Hiperion, section 4.2.3, on an 8-ary 2-tree, which is small enough for every day.
#[test]
fn hiperion_levels_on_a_small_tree() {
    let small = ["fabric.topology.n=2", "measure.loads=[1.0]"];
    let dtable = &curve("001-tree-8", &small)[0];
    latencies_are_in_order(dtable);
    for scheduler in ["qos.scheduler=\"sbt\"", "qos.scheduler=\"rr\""] {
        let other = &curve("001-tree-8-sbt", &[small[0], small[1], scheduler])[0];
        assert!(accepted(dtable) > accepted(other), "{scheduler}");
        assert!(latency(other, "CL") > 4500.0, "{}", latency(other, "CL"));
    }
}

/// Hiperion, section 4.2.3, both trees; published maxima of DTable.
#[test]
#[ignore = "minutes"]
fn hiperion_levels_on_the_trees() {
    for tree in ["001-tree-24", "001-tree-8"] {
        let full = "measure.loads=[1.0]";
        let dtable = &curve(tree, &[full])[0];
        println!("{tree} DTable: {:.4}", accepted(dtable));
        assert!((accepted(dtable) - 0.95).abs() <= 0.08);
        shares_are_kept(dtable);
        latencies_are_in_order(dtable);
        for scheduler in ["sbt", "rr"] {
            let set = format!("qos.scheduler=\"{scheduler}\"");
            let other = &curve(&format!("{tree}-sbt"), &[full, &set])[0];
            let cl = latency(other, "CL");
            println!("{tree} {scheduler}: {:.4}, CL {cl:.0} ns", accepted(other));
            assert!(accepted(dtable) > accepted(other));
            assert!(cl > 4500.0);
        }
    }
}

/// Hiperion, section 4.2.3, the tori; published maxima of DTable over the loads.
#[test]
#[ignore = "many minutes"]
fn hiperion_levels_on_the_tori() {
    let tori = [
        ("001-torus-2d", 0.94, "0.8,0.9,1.0"),
        ("001-torus-3d", 0.78, "0.7,0.75"),
    ];
    for (torus, published, loads) in tori {
        let loads = format!("measure.loads=[{loads}]");
        let most = |curve: Vec<Value>| curve.iter().map(accepted).fold(0.0, f64::max);
        let dtable = most(curve(torus, &[&loads]));
        println!("{torus} DTable: {dtable:.4}");
        assert!((dtable - published).abs() <= 0.08);
        for scheduler in ["sbt", "rr"] {
            let set = format!("qos.scheduler=\"{scheduler}\"");
            let other = most(curve(&format!("{torus}-sbt"), &[&loads, &set]));
            println!("{torus} {scheduler}: {other:.4}");
        }
    }
}
