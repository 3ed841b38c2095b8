//! The links that a result names first: what holds up the others, not what is held up.

use crate::common::result_json;
use flitwise::config::resolve_text;
use flitwise::results::{summary, write_link_files};
use flitwise::run::{Control, run_plan};
use serde_json::Value;
use std::path::Path;

const KINDS: [&str; 2] = ["preset = \"opa-gen1\"", "kind = \"voq\""];
const MEASURE: &str = "[measure]\nwindow = \"100us\"\nmax_warm_up = \"100us\"\n";

fn run(text: &str) -> (Value, String, String) {
    let plan = resolve_text("test.toml", text, Path::new("."), &[]).unwrap();
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_link_files(dir.path(), &plan, &result.main.stats).unwrap();
    let csv = std::fs::read_to_string(dir.path().join("links.csv")).unwrap();
    (
        result_json(&plan, &result),
        summary(&plan, &result, false),
        csv,
    )
}

/// `sources` on other leaves of a tree send to NIC 0 at `rate`.
fn to_nic_0(kind: &str, sources: &[u32], rate: &str) -> String {
    let flow = |source: &u32| format!("{{ from = {source}, to = 0 }}");
    let flows: Vec<String> = sources.iter().map(flow).collect();
    format!(
        "[fabric]\n{kind}\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n{MEASURE}\
         [[background]]\nrate = {rate}\npattern = {{ flows = [{}] }}\n",
        flows.join(", ")
    )
}

/// Seven senders on two leaves fill all buffers on the way to the hot NIC.
#[test]
fn the_link_into_a_hot_nic_is_the_culprit() {
    for kind in KINDS {
        let (json, summary, csv) = run(&to_nic_0(kind, &[4, 5, 6, 7, 8, 9, 10], "1"));
        let first = &json["links"][0];
        assert_eq!(first["to"], "nic 0", "{summary}");
        assert!(first["held_up_share"].as_f64().unwrap() > 0.99, "{summary}");
        assert_eq!(first["credit_wait_ns"], 0.0);
        let rows = csv.lines().count() - 1;
        assert_eq!(rows, 16 * 2 + 2 * 16);
        assert!(
            csv.lines().any(|line| line.starts_with(",0,0,0,,,")),
            "{csv}"
        );
    }
}

/// Two cables between two switches, and tables that send everything over one of them.
#[test]
fn the_full_cable_of_an_unbalanced_routing_is_the_culprit() {
    for kind in KINDS {
        let text = format!(
            "[fabric]\n{kind}\ntopology = {{ kind = \"graph\", switches = 2, nics = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], \
             [1, 1], [1, 2], [1, 3]], links = [[0, 4, 1, 4], [0, 5, 1, 5]] }}\n\
             forwarding = [[0, 1, 2, 3, 5, 5, 5, 5], [4, 4, 4, 4, 0, 1, 2, 3]]\n{MEASURE}\
             [[background]]\nrate = 0.5\npattern = {{ flows = [{{ from = 0, to = 4 }}, {{ from = 1, to = 5 }}, \
             {{ from = 2, to = 6 }}, {{ from = 3, to = 7 }}] }}\n"
        );
        let (json, summary, _) = run(&text);
        let first = &json["links"][0];
        assert_eq!(first["from"], "switch 0 port 5", "{summary}");
        assert!(first["held_up_share"].as_f64().unwrap() > 0.5, "{summary}");
        assert_eq!(
            json["busiest_links"][0]["from"], "switch 0 port 5",
            "{summary}"
        );
        let used = first["utilisation"].as_f64().unwrap();
        assert!((0.99..=1.0).contains(&used), "{used}");
    }
}

/// No load, no culprit.
#[test]
fn a_lone_flow_holds_up_nothing() {
    for kind in KINDS {
        let (json, summary, _) = run(&to_nic_0(kind, &[4], "0.1"));
        let share: f64 = json["links"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| link["held_up_ns"].as_f64().unwrap())
            .sum();
        assert!(share < 1000.0, "{summary}");
        assert!(!json["busiest_links"].as_array().unwrap().is_empty());
    }
}
