//! `[congestion]` of an experiment: its keys, and what cannot be analysed.

use flitwise::config::{Base, Plan, load_fabric, resolve_text, resolve_with};
use flitwise::oblivious::Subset;
use std::path::Path;

const FABRIC: &str = "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n[congestion]\n";

fn plan(keys: &str) -> Result<Plan, String> {
    let base = Base::of_text("test.toml", &format!("{FABRIC}{keys}"), Path::new(""));
    resolve_with(&base, &[]).map_err(|e| e.to_string())
}

#[test]
fn keys_are_those_of_the_options() {
    let keys = "pattern = \"shift:2\"\nranks = 3\nsubset = \"linear-bfs\"\nfair = true\nruns = 9\n";
    let request = plan(keys).unwrap().experiment.congestion.unwrap();
    assert_eq!(request.pattern.to_string(), "shift:2");
    assert_eq!((request.ranks, request.runs), (Some(3), 9));
    assert_eq!(request.subset, Some(Subset::LinearBfs));
    assert!(request.fair && !request.delay);
}

#[test]
fn what_cannot_be_is_refused() {
    for (keys, said) in [
        ("pattern = \"bisekt\"", "there is no pattern `bisekt`"),
        ("pattrn = \"bisect\"", "did you mean"),
        ("against = \"tree\"", "`part`"),
        ("part = 2", "`against`"),
        ("runs = 0", "out of range"),
        ("ranks = 0", "at least one rank"),
        ("ranks = 5", "5 ranks, but the network has 4 hosts"),
        ("path = \"by-pair\"", "each host has one"),
        ("level = 1", "there is no level 1"),
        ("nodes = \"n9\"", "no host `n9`"),
        (
            "nodes = \"n1\"\nsubset = \"first\"",
            "remove one of the two",
        ),
        ("pairs = \"absent\"", "cannot read"),
        ("[[background]]\nrate = 0.1", "remove one of the two"),
    ] {
        let error = plan(keys).unwrap_err();
        assert!(error.contains(said), "{keys}: {error}");
        assert!(error.contains("test.toml:"), "{keys}: {error}");
    }
}

#[test]
fn nothing_simulates_it() {
    let error = resolve_text("test.toml", FABRIC, Path::new(""), &[]).unwrap_err();
    assert!(error.to_string().contains("flitwise congestion"), "{error}");
    assert!(load_fabric(None, &["congestion.pattern=bisekt".to_owned()]).is_ok());
}

#[test]
fn buffers_do_not_matter() {
    let small = "[fabric]\ninput_buffer = \"64B\"\n[congestion]\n";
    let base = Base::of_text("test.toml", small, Path::new(""));
    assert!(resolve_with(&base, &[]).is_ok());
}
