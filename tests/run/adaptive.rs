//! What detours are for, on `configs/adaptive-dragonfly.toml`: nine groups of a = 4 switches with p = 2 NICs and h = 2 global
//! links each, so one global link between every two groups. Numbers and commands: `docs/evidence/adaptive-routing.md`.

use flitwise::config::load;
use flitwise::results::result_json;
use flitwise::run::{Control, run_plan};
use std::path::Path;

/// Accepted load in flits per cycle and NIC, and mean network latency in ns, of the last load.
struct Point {
    accepted: f64,
    network_ns: f64,
}

fn measure(paths: &str, pattern: &str, load_factor: &str) -> Point {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/adaptive-dragonfly.toml");
    let sets = [
        format!("fabric.paths={paths}"),
        format!("background.0.pattern={pattern}"),
        format!("measure.loads=[{load_factor}]"),
        "measure.warm_up=40us".to_owned(),
        "measure.max_warm_up=40us".to_owned(),
        "measure.window=40us".to_owned(),
    ];
    let plan = load(&file, &sets).unwrap_or_else(|e| panic!("{e}"));
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let curve = result_json(&plan, &result).curve;
    let (_, level) = &curve[0].service_levels.0[0];
    let point = Point {
        accepted: curve[0].loads.accepted_flits_per_cycle_per_nic,
        network_ns: level.network_ns.unwrap().mean,
    };
    let Point {
        accepted,
        network_ns,
    } = point;
    println!("{paths}, {pattern}, load {load_factor}: {accepted:.4}, {network_ns:.0} ns");
    point
}

const ADVERSARIAL: &str = "{group_shift=1}";

/// One global link carries what a p = 8 NICs send, so minimal paths accept at most an eighth. Detours lead over the seven
/// other groups, and each takes two global links: at most about one half (Kim, Dally, Scott, Abts, "Technology-driven,
/// highly-scalable dragonfly topology", ISCA 2008, section 4.2).
#[test]
fn detours_carry_several_times_what_minimal_paths_do_to_the_next_group() {
    let load = "0.5";
    let minimal = measure("minimal", ADVERSARIAL, load).accepted;
    assert!((0.12..=0.1255).contains(&minimal), "{minimal}");
    for paths in ["valiant", "ugal-l", "ugal-g", "par"] {
        let accepted = measure(paths, ADVERSARIAL, load).accepted;
        assert!(accepted > 2.0 * minimal, "{paths}: {accepted}");
        // A share of 1/8 of what a group sends may take the minimal path beside the detours.
        assert!(accepted <= 0.5 + 0.125, "{paths}: {accepted}");
    }
}

/// Uniform traffic at 0.3 loads minimal paths evenly: there is nothing to go round, and Valiant goes twice the way.
#[test]
fn adaptive_paths_stay_near_minimal_ones_under_uniform_traffic() {
    let load = "0.3";
    let minimal = measure("minimal", "uniform", load);
    let valiant = measure("valiant", "uniform", load);
    assert!((0.29..=0.31).contains(&minimal.accepted));
    assert!(valiant.network_ns > 1.5 * minimal.network_ns);
    for paths in ["ugal-l", "ugal-g", "par"] {
        let point = measure(paths, "uniform", load);
        assert!((0.29..=0.31).contains(&point.accepted), "{paths}");
        assert!(point.network_ns < 1.3 * minimal.network_ns, "{paths}");
        assert!(point.network_ns < valiant.network_ns, "{paths}");
    }
}
