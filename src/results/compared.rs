//! Runs that are compared: their names, and the keys in which their experiments differ.

use crate::config::experiment::Experiment;
use crate::config::{Plan, experiment_json};
use crate::run::RunResult;
use serde_json::Value;
use std::path::Path;

/// Most keys that are listed.
pub(super) const MOST_KEYS: usize = 10;
/// Most characters of a name in a table.
const MAX_NAME: usize = 24;

/// A run that is compared with another one.
#[derive(Debug, Clone, Copy)]
pub struct ComparedRun<'a> {
    /// Its name; may be empty.
    pub name: &'a str,
    /// The file of its experiment or the directory of its result, as the user named it.
    pub file: &'a Path,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its result.
    pub result: &'a RunResult,
}

impl ComparedRun<'_> {
    /// Its name in a table.
    pub(super) fn called(&self) -> String {
        let name = self.name.trim();
        if name.is_empty() {
            return "other".to_owned();
        }
        if name.chars().count() <= MAX_NAME {
            return name.to_owned();
        }
        let start: String = name.chars().take(MAX_NAME - 1).collect();
        format!("{}…", start.trim_end())
    }
}

/// The keys of `experiment` in `result.json` in which two experiments differ.
pub(super) fn different_keys(one: &Experiment, other: &Experiment) -> Vec<String> {
    let mut keys = Vec::new();
    collect(
        "",
        &experiment_json(one),
        &experiment_json(other),
        &mut keys,
    );
    keys
}

fn collect(path: &str, one: &Value, other: &Value, keys: &mut Vec<String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    match (one, other) {
        _ if one == other => {}
        // Things of two kinds have few keys in common.
        (Value::Object(a), Value::Object(b)) if a.get("kind") == b.get("kind") => {
            let further = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(further) {
                collect(&below(key), &one[key], &other[key], keys);
            }
        }
        (Value::Array(a), Value::Array(b))
            if a.len() == b.len() && a.iter().all(Value::is_object) =>
        {
            for (at, (one, other)) in a.iter().zip(b).enumerate() {
                collect(&below(&at.to_string()), one, other, keys);
            }
        }
        _ => keys.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_that_differ_are_named_by_their_paths() {
        let [one, other] = [
            json!({ "seed": 1, "fabric": { "topology": { "kind": "torus", "x": 2 }, "routing": 10 },
                    "jobs": [{ "sl": "BK", "list": [1, 2] }], "background": [{}], "only": 1 }),
            json!({ "seed": 1, "fabric": { "topology": { "kind": "mesh", "y": 2 }, "routing": 20 },
                    "jobs": [{ "sl": "BE", "list": [1, 3] }], "background": [], "further": 1 }),
        ];
        let mut keys = Vec::new();
        collect("", &one, &other, &mut keys);
        let expected = [
            "fabric.topology",
            "fabric.routing",
            "jobs.0.sl",
            "jobs.0.list",
            "background",
            "only",
            "further",
        ];
        assert_eq!(keys, expected);
        keys.clear();
        collect("", &one, &one, &mut keys);
        assert!(keys.is_empty());
    }
}
