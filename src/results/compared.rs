//! Runs that are compared: their names, and the keys in which their experiments differ.

use crate::config::experiment::Experiment;
use crate::config::{Plan, WrittenKey, experiment_json, written_key};
use crate::run::RunResult;
use flitwise_base::quote::cut;
use serde_json::Value;
use std::path::Path;

/// Most keys that are listed.
pub(super) const MOST_KEYS: usize = 10;
/// Most characters of a name in a table.
const MAX_NAME: usize = 24;
/// Most characters of a value in a message.
const MAX_VALUE: usize = 60;

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

/// The keys of experiment files in which two experiments differ.
pub(super) fn different_keys(one: &Experiment, other: &Experiment) -> Vec<String> {
    let both = [one, other].map(experiment_json);
    let mut keys = Vec::new();
    for difference in differences(&both[0], &both[1]) {
        let key = difference.written().path;
        // A key of a file may decide on several of the resolved experiment.
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The keys that give a table its kind: tables of two kinds have few keys in common.
pub(super) const KINDS: [&str; 2] = ["kind", "policy"];

/// A key with another value in another document.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference<'a> {
    /// The path of the key; elements of lists have numbers from 0.
    pub key: String,
    /// The value, and the one in the other document; null where it is missing.
    pub values: [&'a Value; 2],
}

impl Difference<'_> {
    /// The key of experiment files that sets it, if the documents are resolved experiments.
    #[must_use]
    pub fn written(&self) -> WrittenKey {
        written_key(&self.key)
    }

    /// The beginnings of both values, for a message.
    #[must_use]
    pub fn brief(&self) -> [String; 2] {
        self.values.map(|value| {
            let text = value.to_string();
            match text.char_indices().nth(MAX_VALUE) {
                Some((end, _)) => format!("{}…", cut(&text[..end])),
                None => cut(&text).to_string(),
            }
        })
    }
}

/// Returns the keys in which two documents differ, in their order. Lists of values, and tables of two kinds, differ as a
/// whole.
#[must_use]
pub fn differences<'a>(one: &'a Value, other: &'a Value) -> Vec<Difference<'a>> {
    let mut all = Vec::new();
    collect("", [one, other], &mut all);
    all
}

fn collect<'a>(path: &str, values: [&'a Value; 2], all: &mut Vec<Difference<'a>>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    match values {
        [one, other] if one == other => {}
        [one @ Value::Object(a), other @ Value::Object(b)]
            if KINDS.iter().all(|kind| a.get(*kind) == b.get(*kind)) =>
        {
            let further = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(further) {
                collect(&below(key), [&one[key], &other[key]], all);
            }
        }
        [Value::Array(a), Value::Array(b)]
            if a.len() == b.len() && a.iter().all(Value::is_object) =>
        {
            for (at, (one, other)) in a.iter().zip(b).enumerate() {
                collect(&below(&at.to_string()), [one, other], all);
            }
        }
        _ => all.push(Difference {
            key: path.to_owned(),
            values,
        }),
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
        let keys = differences(&one, &other).into_iter();
        let keys: Vec<String> = keys.map(|difference| difference.key).collect();
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
        assert!(differences(&one, &one).is_empty());
    }
}
