//! Energies worked out by hand (`docs/model/energy.md`): every state, class and part draws watts of its own, so that none can stand for
//! another.

use crate::common::result_json;
use flitwise::config::{Plan, load, resolve_text};
use flitwise::fabric::spec::{DownState, LinkPower};
use flitwise::results::{SeriesFiles, summary};
use flitwise::run::{Control, run_plan};
use flitwise::units::Ratio;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn config(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("configs")
        .join(name)
}

fn result(plan: &Plan) -> Value {
    result_json(plan, &run_plan(plan, &Control::default(), 1).unwrap())
}

/// NIC 0 sends to NIC 1 all it can, on a switch with four NICs: two of eight directions of links carry something.
fn flow(power: &str, warm_up: &str, window: &str) -> Plan {
    let text = format!(
        "[fabric]\nkind = \"input-queued\"\npreset = \"sauron\"\ntopology = {{ kind = \"single\", nics = 4 }}\n\
         [[background]]\nrate = 1\nmessage = \"1KiB\"\npattern = {{ flows = [{{ from = 0, to = 1 }}] }}\n\
         [measure]\nwarm_up = \"{warm_up}\"\nmax_warm_up = \"{warm_up}\"\nwindow = \"{window}\"\n\
         [power]\nlink_watts = 5\noff_watts = 2\nlow_watts = 3\ntransition_watts = 11\nswitch_watts = 70\nnic_watts = 13\n{power}\n"
    );
    resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn energy(power: &str, warm_up: &str, window: &str) -> Value {
    result(&flow(power, warm_up, window))["energy"].clone()
}

/// `expected` in microjoules, within a tick of 1 ns of a direction.
fn assert_uj(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap() * 1e6;
    assert!((found - expected).abs() < 0.1, "{found}, not {expected}");
}

fn states(energy: &Value) -> [&Value; 4] {
    let by_state = &energy["host_links"]["energy_by_state_j"];
    ["up", "down", "waking", "sleeping"].map(|state| &by_state[state])
}

#[test]
fn every_part_draws_its_own_watts() {
    let off = energy("policy = \"on-off\"", "40us", "20us");
    let [up, down, waking, sleeping] = states(&off);
    assert_uj(up, 2.0 * 5.0 * 20.0);
    assert_uj(down, 6.0 * 2.0 * 20.0);
    assert_uj(waking, 0.0);
    assert_uj(sleeping, 0.0);
    assert_uj(&off["switches_j"], 70.0 * 20.0);
    assert_uj(&off["nics_j"], 4.0 * 13.0 * 20.0);
    assert_uj(&off["links_j"], 440.0);
    assert_uj(&off["links_always_up_j"], 8.0 * 5.0 * 20.0);
    assert_uj(&off["total_j"], 440.0 + 1400.0 + 1040.0);
    let number = |key: &str| off[key].as_f64().unwrap();
    assert!((number("links_saved") - 0.45).abs() < 1e-4);
    assert!((number("mean_watts") - 144.0).abs() < 0.01);
    // 96 Gb/s for 20 us, less the headers and what is not whole at the ends of the window.
    let bits = number("delivered_bits");
    assert!((0.95..=1.0).contains(&(bits / 1.92e6)), "{bits}");
    assert!((number("pj_per_bit") - 2880e6 / bits).abs() < 0.1);
}

#[test]
fn low_links_and_cables_draw_what_they_should() {
    let low = energy("policy = \"high-low\"", "40us", "20us");
    let [up, down, ..] = states(&low);
    assert_uj(up, 2.0 * 5.0 * 20.0);
    assert_uj(down, 6.0 * 3.0 * 20.0);
    let on = energy("policy = \"always-on\"", "40us", "20us");
    assert_uj(&on["links_j"], 8.0 * 5.0 * 20.0);
    // Both directions of a cable together.
    let cable = energy("policy = \"on-off\"\nwatts_per = \"cable\"", "40us", "20us");
    assert_uj(&cable["links_j"], 220.0);
    assert_uj(&cable["switches_j"], 1400.0);
}

/// A packet takes twelve times as long on one of twelve lanes: so much less of the time its links carry nothing.
#[test]
fn low_links_are_used_for_longer() {
    let used = |policy: &str| {
        let power = format!(
            "policy = \"{policy}\"\ntransition = \"1us\"\ndown_after = \"1us\"\nlanes = 12\nlow_lanes = 1\n\
             threshold = \"60KiB\"\nnic_threshold = \"7KiB\""
        );
        let mut plan = flow(&power, "40us", "400us");
        plan.experiment.background[0].rate = Ratio::new(1, 20).unwrap();
        let energy = result(&plan)["energy"].clone();
        let links = &energy["host_links"];
        assert!(
            policy != "high-low" || links["share_of_time"]["up"] == 0.0,
            "{links:#}"
        );
        1.0 - links["idle_share"].as_f64().unwrap()
    };
    let (up, low) = (used("on-off"), used("high-low"));
    // Of eight directions of links two carry 5 %.
    assert!((0.011..0.014).contains(&up), "{up}");
    assert!((low / (12.0 * up) - 1.0).abs() < 0.02, "{low} {up}");
}

/// Links are up at first. Those that nothing uses go down after 10 / 0.9 us, which takes 4 us.
#[test]
fn transitions_draw_watts_of_their_own() {
    let energy = energy("policy = \"on-off\"\nsleep = \"4us\"", "10us", "10us");
    let [up, down, waking, sleeping] = states(&energy);
    let idle = 10.0 / 0.9 - 10.0;
    assert_uj(up, 5.0 * (2.0 * 10.0 + 6.0 * idle));
    assert_uj(sleeping, 6.0 * 11.0 * 4.0);
    assert_uj(down, 6.0 * 2.0 * (10.0 - 4.0 - idle));
    assert_uj(waking, 0.0);
}

/// What the series has of the intervals in the window adds up to what the result says of it.
#[test]
fn the_series_of_power_states_adds_up() {
    let power =
        "policy = \"on-off\"\nsleep = \"4us\"\n[series]\nrecord = [\"power\"]\ninterval = \"1us\"";
    let plan = flow(power, "10us", "10us");
    let dir = tempfile::tempdir().unwrap();
    let files = SeriesFiles::open(dir.path(), &plan, plan.series.as_ref().unwrap()).unwrap();
    let recorded = run_plan(&plan, &Control::default().recorded_by(&files), 1).unwrap();
    files.finish(&recorded).unwrap();
    let mut series = csv::Reader::from_path(dir.path().join("power.csv")).unwrap();
    let mut joules: BTreeMap<String, f64> = BTreeMap::new();
    let mut links: BTreeMap<u64, f64> = BTreeMap::new();
    for row in series.records() {
        let row = row.unwrap();
        assert_eq!(&row[3], "of NICs");
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        // An interval is named by its end.
        let end_ps: u64 = row[2].parse().unwrap();
        *links.entry(end_ps).or_default() += number(5);
        if end_ps > 10_000_000 {
            *joules.entry(row[4].to_owned()).or_default() += number(6) * 1e-6;
        }
    }
    assert_eq!(links.len(), 20);
    assert!(
        links.values().all(|sum| (sum - 8.0).abs() < 1e-9),
        "{links:?}"
    );
    let by_state = &result_json(&plan, &recorded)["energy"]["host_links"]["energy_by_state_j"];
    for state in ["up", "down", "waking", "sleeping"] {
        let found = joules.get(state).copied().unwrap_or(0.0);
        assert_uj(&by_state[state], found * 1e6);
    }
    assert_eq!(joules.len(), 3, "{joules:?}");
    let figure = std::fs::read_to_string(dir.path().join("power.svg")).unwrap();
    for state in ["up", "down", "sleeping"] {
        assert!(figure.contains(&format!("of NICs: {state}")), "{figure}");
    }
}

/// A job is charged the mean power of the run for its time.
#[test]
fn a_job_is_charged_for_its_time() {
    let mut plan = load(&config("hpl-16-power.toml"), &[]).unwrap();
    plan.split = true;
    let run = run_plan(&plan, &Control::default(), 1).unwrap();
    let result = result_json(&plan, &run);
    let job = &result["jobs"][0];
    let seconds = job["execution_time_ps"].as_f64().unwrap() * 1e-12;
    let watts = result["energy"]["mean_watts"].as_f64().unwrap();
    let joules = job["energy_j"].as_f64().unwrap();
    assert!((joules / (watts * seconds) - 1.0).abs() < 1e-9);
    // The job waits for links that wake, hardly for links in use.
    let part = |part: &str| job["time_split"][part].as_f64().unwrap();
    let waits = ["queueing_ps", "credit_stalls_ps", "links_down_ps"].map(part);
    assert!(waits[2] > 0.99 * waits.iter().sum::<f64>(), "{waits:?}");
    let summary = summary(&plan, &run, false);
    assert!(summary.contains(" %, links down "), "{summary}");
    assert!(summary.contains("links that are up for the same time"));
    let first = &result["links"][0];
    assert!(first["down_wait_ns"].as_f64() > first["credit_wait_ns"].as_f64());
    let delay = result["energy"]["energy_delay_js"].as_f64().unwrap();
    let total = result["energy"]["total_j"].as_f64().unwrap();
    let whole = result["execution_time_ps"].as_f64().unwrap() * 1e-12;
    assert!((delay / (total * whole) - 1.0).abs() < 1e-9);
}

/// 003, Table I: 10 us and, by ρ = 90 %, 11.1 us. One lane of twelve sends B* = 10 us · 12 GB/s · (1/12) / (1 − 1/12) while
/// it would take as long to go up (`docs/model/link-power.md` §4); a smaller queue has a lower threshold.
#[test]
fn times_and_thresholds_are_those_of_the_preset() {
    let thresholds = |vl_policy: &str| {
        let sets = [
            "power.policy=high-low".to_owned(),
            "fabric.topology={kind=\"k-ary-n-tree\",k=4,n=5}".to_owned(),
            format!("qos.vl_policy={vl_policy}"),
        ];
        let fabric = load(&config("sauron.toml"), &sets)
            .unwrap()
            .experiment
            .fabric;
        let LinkPower {
            wake,
            down_after,
            down: DownState::Low(low),
            ..
        } = *fabric.link_power.unwrap()
        else {
            panic!("links have a low state");
        };
        let ns = |ticks: u64| fabric.units.tick.ns(ticks.into());
        assert!((ns(wake) - 10_000.0).abs() < 1.0, "{}", ns(wake));
        assert!(
            (ns(down_after) - 11_111.1).abs() < 2.0,
            "{}",
            ns(down_after)
        );
        low.switch_threshold_bytes
    };
    assert_eq!(thresholds("dbbm"), 10_909);
    assert!(thresholds("voqsw") < 10_909);
}

/// A policy can be varied over one base: keys of the other one stay without effect, and the experiment knows them.
#[test]
fn keys_of_another_policy_are_known() {
    let unused = |power: &str| {
        let text = format!(
            "[fabric]\nkind = \"input-queued\"\n[[background]]\nrate = 0.1\npattern = \"uniform\"\n[power]\n\
             lanes = 4\nlow_watts = 1\nwake_ahead = 2\noff_watts = 1\n{power}\n"
        );
        let plan =
            resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        plan.experiment.power.unwrap().unused_keys
    };
    assert_eq!(unused("policy = \"on-off\""), ["lanes", "low_watts"]);
    assert_eq!(unused("policy = \"high-low\""), ["wake_ahead", "off_watts"]);
    assert!(unused("policy = \"always-on\"").is_empty());
}

/// The two modes of Ethernet draw the same with either policy while a link is down.
#[test]
fn a_preset_says_what_links_draw_while_down() {
    for (preset, watts) in [("eee-deep-sleep", 0.41), ("eee-fast-wake", 2.05)] {
        for policy in ["on-off", "high-low"] {
            let sets = [
                format!("power.preset={preset}"),
                format!("power.policy={policy}"),
            ];
            let power = load(&config("sauron.toml"), &sets)
                .unwrap()
                .experiment
                .power;
            assert_eq!(power.unwrap().down_watts, watts, "{preset}, {policy}");
        }
    }
}
