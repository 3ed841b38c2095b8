//! Every key of experiment and study files with zero, negative, huge, empty and repeated values: refused by a message
//! that names the key, or accepted for a reason. `numbers.txt` lists the accepted ones with their reasons.

use crate::common::reasons::have_reasons;
use flitwise::config::{Base, Override, Study, experiment_keys, resolve_with, study_file_schema};
use flitwise::study::Grid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Experiments that use most keys between them.
const BASES: [&str; 4] = [
    r#"
        [[job]]
        trace = "traces/hpl-16.vef.gz"
        [[background]]
        rate = 0.1
        sl = "BK"
        [qos]
        preset = "opa-5sl"
        scheduler = "dtable"
    "#,
    r#"
        [fabric]
        preset = "ib-edr"
        topology = { kind = "torus", dimensions = [4, 4] }
        [[job]]
        trace = "traces/hpl-16.vef.gz"
        [congestion_control]
        kind = "ib"
        [power]
        policy = "high-low"
    "#,
    r#"
        [[background]]
        rate = 0.1
        [measure]
        loads = [0.5]
        [series]
        interval = "10us"
    "#,
    r#"
        [congestion]
        pattern = "shift"
    "#,
];

/// The values, as `--set` takes them.
const VALUES: [&str; 7] = [
    "0",
    "-1",
    "1e30",
    "18446744073709551615",
    "\"\"",
    "[]",
    "[0, 0]",
];

/// The keys of a study file that its schema describes, without the keys of an experiment inside it.
fn study_keys() -> Vec<String> {
    let mut keys = Vec::new();
    add_keys(&study_file_schema(), "", &mut keys);
    keys
}

/// Adds the keys in the part `schema` of a schema, which stands at `path`; 0 is the index of a list.
fn add_keys(schema: &Value, path: &str, keys: &mut Vec<String>) {
    let list = &schema["items"]["properties"];
    let (keys_below, dot) = match (schema["properties"].as_object(), list.as_object()) {
        (Some(below), _) => (below, "."),
        (None, Some(below)) => (below, ".0."),
        (None, None) => return keys.push(path.to_owned()),
    };
    for (name, below) in keys_below {
        let dot = if path.is_empty() { "" } else { dot };
        add_keys(below, &format!("{path}{dot}{name}"), keys);
    }
}

/// Whether `message` names a part of the key at `path`.
fn names(message: &str, path: &str) -> bool {
    let mut parts = path.split('.').filter(|part| part.parse::<u32>().is_err());
    parts.any(|part| message.contains(part))
}

/// Whether the experiment `text` takes `key=value`; `None` if it refuses it without naming the key.
fn taken(text: &str, key: &str, value: &str) -> Option<bool> {
    let base = Base::of_text("numbers.toml", text, Path::new(ROOT));
    let set = Override::typed(&format!("{key}={value}"));
    let resolved = catch_unwind(AssertUnwindSafe(|| resolve_with(&base, &[&set])));
    match resolved.ok()? {
        Ok(_) => Some(true),
        Err(e) => names(&e.to_string(), key).then_some(false),
    }
}

/// The same of a study file.
fn taken_by_study(key: &str, value: &str) -> Option<bool> {
    let usual = [
        ("experiment", "\"base.toml\""),
        ("axis.0.key", "\"background.0.rate\""),
        ("axis.0.values", "[0.1, 0.2]"),
    ];
    let others = usual.into_iter().filter(|(name, _)| *name != key);
    let (mut head, mut axis) = (String::new(), String::new());
    for (name, value) in others.chain([(key, value)]) {
        match name.strip_prefix("axis.0.") {
            None => head += &format!("{name} = {value}\n"),
            Some(name) => axis += &format!("{name} = {value}\n"),
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(
        at("base.toml"),
        "[[background]]\nrate = 0.1\n[measure]\nloads = [0.5]\n",
    )
    .unwrap();
    std::fs::write(at("study.toml"), format!("{head}[[axis]]\n{axis}")).unwrap();
    let loaded = catch_unwind(|| Study::load(&at("study.toml")).and_then(Grid::of));
    let planned = loaded.ok()?.and_then(|grid| grid.plan(0, None));
    match planned {
        Ok(_) => Some(true),
        Err(e) => names(&e.to_string(), key).then_some(false),
    }
}

#[test]
fn odd_values_are_refused_by_name_or_have_a_reason() {
    let mut accepted = BTreeSet::new();
    let mut wrong = Vec::new();
    for value in VALUES {
        for key in experiment_keys() {
            let all = BASES.map(|text| taken(text, &key.path, value));
            if all.contains(&Some(true)) {
                accepted.insert(format!("{} = {value}", key.path));
            }
            if all.contains(&None) {
                wrong.push(format!("{} = {value}", key.path));
            }
        }
        for key in study_keys() {
            match taken_by_study(&key, value) {
                Some(true) => drop(accepted.insert(format!("study: {key} = {value}"))),
                Some(false) => {}
                None => wrong.push(format!("study: {key} = {value}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "they panic, or their message does not name them:\n{}",
        wrong.join("\n")
    );
    have_reasons(&Path::new(ROOT).join("tests/input/numbers.txt"), &accepted);
}
