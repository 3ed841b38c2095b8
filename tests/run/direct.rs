//! The dragonfly and the flattened butterfly that `docs/evidence/simulators.md` holds against BookSim 2: latencies of
//! idle fabrics in closed form, and what minimal paths accept of adversarial traffic.

use crate::common::result_json;
use flitwise::config::{Plan, load};
use flitwise::run::{Control, run_plan};
use std::path::Path;

const KINDS: [&str; 2] = ["fabric.kind=voq", "fabric.kind=input-queued"];

/// `configs/compare-CONFIG.toml` with `sets` laid over it.
fn plan(config: &str, sets: &[&str]) -> Plan {
    let path = format!("configs/compare-{config}.toml");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &sets).unwrap_or_else(|e| panic!("{e}"))
}

/// Holds the latency of every packet from NIC 0 to each of `pairs`, which are (NIC, switches on the path), against a
/// tick to the first switch, `per_switch` ticks for each of them, and `flits` - 1 until the tail is there.
fn hold_idle_latencies(config: &str, per_switch: u64, flits: u64, pairs: &[(u32, u64)]) {
    for kind in KINDS {
        for &(to, switches) in pairs {
            let bytes = 8 * flits;
            let flow = format!(
                "background=[{{rate=0.05,message=\"{bytes}B\",pattern={{flows=[{{from=0,to={to}}}]}}}}]"
            );
            let plan = plan(config, &[kind, &flow, "measure.loads=[1]"]);
            let result = run_plan(&plan, &Control::default(), 1).unwrap();
            let latency = &result.main.stats.service_levels[0].end_to_end;
            assert!(latency.count() > 50);
            let expected = 1 + per_switch * switches + flits - 1;
            assert_eq!(latency.max(), expected, "{config}, {kind}, to {to}");
            let sum = u128::from(expected) * u128::from(latency.count());
            assert_eq!(latency.sum(), sum, "{config}, {kind}, to {to}");
        }
    }
}

/// Group i has NICs 32 i to 32 i + 31, four at each switch. The link from group 0 to group t begins at switch
/// ⌊(t − 1) / 4⌋ of group 0, and ends at switch 0 of group t.
#[test]
fn an_idle_dragonfly_takes_three_ticks_for_each_switch() {
    let pairs = [(1, 1), (4, 2), (32, 2), (36, 3), (5 * 32, 3), (1055, 4)];
    hold_idle_latencies("dragonfly", 3, 10, &pairs);
}

/// Four NICs at each of 4 x 4 switches.
#[test]
fn an_idle_flattened_butterfly_takes_four_ticks_for_each_switch() {
    let pairs = [(1, 1), (4, 2), (12, 2), (16, 2), (20, 3), (63, 3)];
    hold_idle_latencies("flattened-butterfly", 4, 1, &pairs);
}

/// Accepted flits per cycle and NIC at `load`.
fn accepted(config: &str, load: &str, sets: &[&str]) -> f64 {
    let load = format!("measure.loads=[{load}]");
    let plan = plan(config, &[sets, &[&load]].concat());
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let point = &result_json(&plan, &result)["curve"][0];
    point["accepted_flits_per_cycle_per_nic"].as_f64().unwrap()
}

/// The 32 NICs of a group share one global link: the bound is 1/32, and it is reached.
#[test]
fn minimal_paths_to_the_next_group_accept_a_link_for_each_group() {
    for kind in KINDS {
        let next = "background.0.pattern={group_shift=1}";
        let accepted = accepted("dragonfly", "0.1", &[kind, next]);
        let share = accepted * 32.0;
        assert!((0.98..=1.0001).contains(&share), "{kind}: {accepted}");
    }
}

/// NIC x sends to the NIC at its place of the switch whose coordinates are those of its switch in reverse. The four NICs of
/// a switch share one link; the 16 of the diagonal have none to send to. With 8 flits for each VL credits do not limit a VL.
#[test]
fn minimal_paths_of_a_transpose_accept_a_link_for_each_switch() {
    let to: Vec<String> = (0..64)
        .map(|nic| (nic % 4 + 4 * (nic / 4 % 4 * 4 + nic / 16)).to_string())
        .collect();
    let pattern = format!("background.0.pattern={{permutation=[{}]}}", to.join(","));
    for kind in KINDS {
        let sets = [
            kind,
            &pattern,
            "fabric.input_buffer=512B",
            "measure.warm_up=2000 ticks",
            "measure.max_warm_up=2000 ticks",
            "measure.window=6000 ticks",
        ];
        let accepted = accepted("flattened-butterfly", "1", &sets);
        let share = accepted * 64.0 / 12.0;
        assert!((0.98..=1.0001).contains(&share), "{kind}: {accepted}");
    }
}
