//! The view of the keys of an experiment on a document: which tables have kinds, where a key belongs, and which key of a
//! table takes a word.

use crate::config::document::{ConfigError, Keys, Tagged, kinds_of, refused, suggestion, value_at};
use crate::config::fabric::keys::FabricPreset;
use crate::config::fabric::routing::explain_paths;
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::{RawFabric, default_kind};
use crate::config::keys::RawExperiment;
use crate::config::schema::experiment_keys;
use crate::fabric::topology::example;
use flitwise_base::quote::quoted;
use toml::de::{DeTable, DeValue};

/// Most keys of a name that a message lists.
const LISTED: usize = 3;

impl Keys for RawExperiment {
    const TAGGED: &'static [Tagged] = &[
        Tagged {
            path: "fabric.topology",
            of: "topology",
            kinds: kinds_of::<RawTopology>,
            default: |_| None,
            beside: "",
        },
        Tagged {
            path: "fabric",
            of: "switch",
            kinds: kinds_of::<RawFabric>,
            default: |table| Some(default_kind(table)),
            beside: " with a preset of that kind",
        },
    ];

    fn check_first(root: &DeTable<'_>) -> Result<(), ConfigError> {
        let Some(DeValue::String(preset)) = value_at(root, "fabric.preset") else {
            return Ok(());
        };
        let names: Vec<&str> = kinds_of::<FabricPreset>()
            .iter()
            .map(|kind| kind.name)
            .collect();
        if names.contains(&preset.as_ref()) {
            return Ok(());
        }
        let near = suggestion(preset, &names);
        refused(
            "fabric.preset",
            format!("unknown value {}{near}", quoted(preset)),
        )
    }

    fn explain_value(root: &DeTable<'_>, error: &mut ConfigError) {
        explain_paths(root, error);
    }

    fn explain_place(root: &DeTable<'_>, error: &mut ConfigError) {
        explain(root, error);
    }
}

/// Explains an unknown key below `root` that belongs to another table, or a word in place of a table.
fn explain(root: &DeTable<'_>, error: &mut ConfigError) {
    if error.is_unknown_key() {
        elsewhere(error);
    } else if error.problem.starts_with("wrong type: ")
        && error.problem.ends_with("expected a table")
        && let Some(DeValue::String(word)) = value_at(root, &error.key)
    {
        table_for(word, error);
    }
}

/// Names the keys of this name in other tables, of which the outermost are meant, unless a key of the same table is near.
/// Outside of tables, both may be meant.
fn elsewhere(error: &mut ConfigError) {
    let has_near = error.problem.contains("did you mean");
    if has_near && error.key.contains('.') {
        return;
    }
    // The key of the error may name a value within the unknown table.
    let mut quotes = error.problem.split('`').skip(1).step_by(2);
    let name = quotes.next().unwrap_or_default();
    let near = quotes.next().filter(|_| has_near);
    let depth = |path: &str| path.matches('.').count();
    let paths = experiment_keys().into_iter().map(|key| key.path);
    let has_name = |path: &String| path.rsplit_once('.').is_some_and(|(_, last)| last == name);
    let paths: Vec<String> = paths.filter(has_name).collect();
    let outermost = paths.iter().map(|path| depth(path)).min();
    let meant = paths.iter().filter(|path| Some(depth(path)) == outermost);
    let mut meant: Vec<String> = meant.take(LISTED).map(|path| format!("`{path}`")).collect();
    if !meant.is_empty() {
        meant.extend(near.map(|key| format!("`{key}`")));
        error.problem = format!(
            "unknown key {}; did you mean {}?",
            quoted(name),
            meant.join(" or ")
        );
    }
}

/// Shows the table that `word` stands for.
fn table_for(word: &str, error: &mut ConfigError) {
    if error.key == "fabric.topology" {
        let table = example(word).or_else(|| example("single"));
        error.problem += &format!(", such as {}", table.unwrap_or_default());
        return;
    }
    let within = format!("{}.", error.key);
    let mut keys = experiment_keys().into_iter();
    let takes = keys.find(|key| {
        key.path.starts_with(&within) && key.words.iter().any(|known| known.text == *word)
    });
    if let Some(key) = takes {
        error.problem += &format!("; set {} = \"{word}\"", key.path);
    }
}
