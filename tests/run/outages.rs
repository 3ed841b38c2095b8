//! `[[event]]` and `bit_error_rate`: what a run makes of links that go down, slow down or err.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::stats::LinkEnd;
use flitwise::results::summary;
use flitwise::run::{Control, RunResult, Status, run_plan};
use serde_json::{Value, json};
use std::path::Path;

/// One message of 1 KiB from NIC 0 to NIC 1 of a switch: alone 285 ticks of 640 ps.
const TINY: &str =
    "[fabric]\ntopology = { kind = \"single\", nics = 8 }\n[[job]]\ntrace = \"tiny.vef\"\n";
const TINY_PS: u64 = 182_400;

fn plan(text: &str) -> Plan {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
    resolve_text("test.toml", text, &corpus, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn run(plan: &Plan) -> RunResult {
    run_plan(plan, &Control::default(), 1).unwrap()
}

fn event(at: &str, what: &str, rest: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nwhat = \"{what}\"\n{rest}\n")
}

#[test]
fn an_outage_of_t_delays_a_lone_message_by_t() {
    let end_by_event = event("0s", "n0", "action = \"down\"")
        + &event("1000 ticks", "s0 port 0", "action = \"up\"");
    let of_switch = event("0s", "s0", "action = \"down\"\nfor = \"640ns\"");
    for events in [
        event("0s", "n0", "action = \"down\"\nfor = \"640ns\""),
        end_by_event,
        of_switch,
    ] {
        let mut plan = plan(&format!("{TINY}{events}"));
        (plan.explain, plan.split) = (true, true);
        let json = result_json(&plan, &run(&plan));
        assert_eq!(json["execution_time_ps"], TINY_PS + 640_000, "{events}");
        // The outage is known as the cause.
        let parts = &json["explanation"][0]["parts"];
        assert_eq!(parts["waking_links_ps"], 640_000, "{parts}");
        let split = &json["jobs"][0]["time_split"];
        let part = |part: &str| split[part].as_u64().unwrap();
        let waits = ["queueing_ps", "credit_stalls_ps", "links_down_ps"].map(part);
        assert_eq!(waits, [0, 0, 640_000], "{split}");
    }
    let other = event("0s", "n3", "action = \"down\"");
    let plan = plan(&format!("{TINY}{other}"));
    let json = result_json(&plan, &run(&plan));
    assert_eq!(json["execution_time_ps"], TINY_PS);
    let outages = json!([{ "switch": 0, "port": 3, "from_ticks": 0, "until_ticks": null }]);
    assert_eq!(json["experiment"]["fabric"]["outages"], outages);
}

#[test]
fn a_link_that_stays_down_is_named_with_what_waits() {
    let down = event("0s", "n1", "action = \"down\"");
    let plan = plan(&format!("{TINY}{down}"));
    let result = run(&plan);
    let Status::Stalled(text) = &result.main.status else {
        panic!("{:?}", result.main.status);
    };
    let link = "the link from switch 0 port 1 to NIC 1 went down at 0 ps and stays down; 1 packet waits for it";
    let (first, ranks) = text.split_once('\n').unwrap();
    assert_eq!(first, link);
    assert!(ranks.contains("job 'tiny': rank 1 waits for"), "{ranks}");
}

/// Background traffic beside a job that waits does not keep the run from its end.
#[test]
fn a_job_behind_a_link_that_stays_down_ends_beside_background() {
    let down = event("0s", "n1", "action = \"down\"");
    let flow = "[[background]]\nrate = 0.1\npattern = { flows = [{ from = 4, to = 5 }] }\n";
    let plan = plan(&format!("{TINY}{down}{flow}"));
    let result = run(&plan);
    let Status::Stalled(text) = &result.main.status else {
        panic!("{:?}", result.main.status);
    };
    assert!(
        text.starts_with("the link from switch 0 port 1 to NIC 1 went down at 0 ps"),
        "{text}"
    );
    assert!(text.contains("rank 1 waits for"), "{text}");
}

/// The result without the keys that differ between a static failure and an event.
fn figures(fabric: &str) -> Value {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\nrouting = \"updn\"\n{fabric}\n\
         [[background]]\nrate = 0.3\npattern = \"uniform\"\n\
         [measure]\nwarm_up = \"2us\"\nmax_warm_up = \"2us\"\nwindow = \"5us\"\n"
    );
    let plan = plan(&text);
    let mut json = result_json(&plan, &run(&plan));
    let document = json.as_object_mut().unwrap();
    for key in ["experiment", "experiment_hash", "engine"] {
        assert!(document.remove(key).is_some(), "{key}");
    }
    json
}

#[test]
fn a_link_down_from_tick_0_with_routes_around_it_has_failed() {
    let failed = figures("failure = [{ what = \"s0 - s4\" }]");
    let down = event("0s", "s0 - s4", "action = \"down\"");
    assert_eq!(figures(&format!("reroute_after = \"0s\"\n{down}")), failed);
    assert_ne!(figures(""), failed);
}

/// The same message over links of 100 Gb/s, on which its 1,050 bytes take 84 ns.
const EDR: &str = "[fabric]\npreset = \"ib-edr\"\ntopology = { kind = \"single\", nics = 8 }\n[[job]]\ntrace = \"tiny.vef\"\n";
const TICK_PS: u64 = 640;

#[test]
fn half_the_lanes_take_twice_the_time() {
    // The time of the message, and the ticks for which the link to NIC 1 was busy.
    let times = |events: &str| {
        let mut plan = plan(&format!("{EDR}{events}"));
        plan.split = true;
        let result = run(&plan);
        let json = result_json(&plan, &result);
        let mut links = result.main.stats.links.iter();
        let to_nic = links.find(|link| link.to == LinkEnd::Nic(NicId::new(1)));
        let busy = to_nic.unwrap().busy_ticks(&plan.experiment.fabric);
        (json["execution_time_ps"].as_u64().unwrap(), busy, json)
    };
    let (time, busy, _) = times("");
    let until_up =
        event("0s", "s0 port 1", "rate = \"50Gb/s\"") + &event("1ms", "n1", "action = \"up\"");
    for events in [
        event("0s", "n1", "lanes = 2"),
        event("0s", "n1", "lanes = 2\nfor = \"1ms\""),
        event("0s", "n1", "rate = \"EDR x2\""),
        until_up,
    ] {
        let (slow, longer_busy, json) = times(&events);
        let split = &json["jobs"][0]["time_split"];
        assert_eq!(split["links_down_ps"], slow - time, "{split}: {events}");
        assert!(
            (slow - time).abs_diff(84_000) <= TICK_PS,
            "{slow} ps: {events}"
        );
        let factor = longer_busy / busy;
        assert!(
            (factor - 2.0).abs() < 0.02,
            "busy {factor} times as long: {events}"
        );
    }
    let (undisturbed, _, json) = times(&event("0s", "n1", "lanes = 2\nfor = \"100ns\""));
    assert_eq!(undisturbed, time);
    let degraded = &json["experiment"]["fabric"]["degraded"][0];
    assert_eq!(degraded["port"], 1);
    assert_eq!(degraded["from_ticks"], 0);
}

#[test]
fn bit_errors_cost_retries_and_none_costs_nothing() {
    let without = figures("");
    assert_eq!(figures("bit_error_rate = 0"), without);
    let with = figures("bit_error_rate = 1e-5");
    let retries = |json: &Value| -> Vec<Option<u64>> {
        let links = json["links"].as_array().unwrap().iter();
        links.map(|link| link["retries"].as_u64()).collect()
    };
    assert!(retries(&without).iter().all(Option::is_none));
    let counted: u64 = retries(&with).into_iter().map(Option::unwrap).sum();
    let packets: u64 = with["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["packets"].as_u64().unwrap())
        .sum();
    let part = counted as f64 / packets as f64;
    assert!(
        (0.005..0.12).contains(&part),
        "{part} tries per packet fail"
    );
}

/// The baseline leaves out no event by itself, and the summary says how it does.
#[test]
fn disturbed_links_are_left_out_of_a_baseline_on_request() {
    const TREE: &str =
        "[fabric]\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\nrouting = \"updn\"\n";
    const JOB: &str = "[[job]]\ntrace = \"tiny.vef\"\n";
    let down = event("0s", "n1", "action = \"down\"\nfor = \"640ns\"");
    let between = event("0s", "s0 - s4", "action = \"down\"");
    let slow = event("0s", "n1", "lanes = 2");
    let power = "[power]\npolicy = \"on-off\"\n[baseline]\noverrides = {}\n";
    for text in [
        format!("{TREE}{JOB}{down}"),
        format!("{TREE}reroute_after = \"1us\"\n{JOB}{between}"),
        format!("{EDR}{slow}"),
        format!("{TREE}bit_error_rate = 1e-5\n{JOB}"),
        format!("{TREE}bit_error_rate = 1e-5\n{JOB}{down}"),
        format!("{TREE}{JOB}{power}"),
    ] {
        let compared = |text: &str| {
            let plan = plan(text);
            let summary = summary(&plan, &run(&plan), false);
            let line = summary
                .lines()
                .find(|line| line.starts_with("compared with"));
            line.unwrap().to_owned()
        };
        let said = compared(&text);
        let cure = said
            .split_once("; baseline.")
            .unwrap_or_else(|| panic!("{said}"))
            .1;
        let cure = cure.strip_suffix(" leaves them out").unwrap();
        let text = text.replace("[baseline]\noverrides = {}\n", "");
        let cured = compared(&format!("{text}[baseline]\n{cure}\n"));
        assert!(!cured.contains("nothing: "), "{cured}");
    }
}
