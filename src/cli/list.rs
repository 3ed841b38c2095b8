//! `flitwise list`: the words that experiments take, from the declarations of their keys, the metrics of studies, and the
//! traces inside the program.

use super::console::{json_text, print};
use super::error::CliError;
use super::schema::without_links;
use clap::Args;
use flitwise::config::{ExperimentKey, experiment_keys, nearest};
use flitwise::study::metrics;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write;

/// The form of the JSON.
const SCHEMA: &str = "flitwise-list-1";

/// Arguments of `flitwise list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwise list topologies\n  flitwise list fabric.allocator")]
pub struct ListArgs {
    /// A kind of words, or any key that takes words [default: lists the kinds and the keys].
    what: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Kinds of words with the keys that take them; `*` stands for any part of a key.
const KINDS: &[(&str, &str)] = &[
    ("presets", "*.preset"),
    ("switches", "fabric.kind"),
    ("topologies", "fabric.topology.kind"),
    ("routings", "fabric.routing"),
    ("paths", "fabric.paths"),
    ("schedulers", "qos.scheduler"),
    ("queueing", "qos.vl_policy"),
    ("power", "power.policy"),
    ("placements", "job.0.placement"),
    ("collectives", "collectives.*"),
    ("patterns", "*.pattern"),
    ("series", "series.record"),
];
/// The kinds of words that are no values of a key.
const METRICS: &str = "metrics";
const TRACES: &str = "traces";

/// A word of a list.
#[derive(Debug, Serialize)]
struct Line {
    /// The key that takes it.
    #[serde(skip_serializing_if = "String::is_empty")]
    key: String,
    word: String,
    meaning: String,
}

impl Line {
    /// A word that is no value of a key.
    fn of(word: &str, meaning: String) -> Self {
        Self {
            key: String::new(),
            word: word.to_owned(),
            meaning,
        }
    }
}

/// A kind of words, or a key with words that are of no kind.
#[derive(Debug, Serialize)]
struct OneKind {
    kind: String,
    meaning: String,
}

pub(super) fn run(args: &ListArgs) -> Result<(), CliError> {
    let mut keys = experiment_keys();
    keys.retain(|key| !key.words.is_empty());
    let Some(kind) = args.what.as_deref() else {
        let kinds = overview(&keys);
        return print(&if args.json {
            json_text(&json!({ "schema": SCHEMA, "kinds": kinds }))?
        } else {
            table(
                kinds
                    .iter()
                    .map(|one| (one.kind.as_str(), one.meaning.as_str())),
            )
        });
    };
    let kind = plural_of(kind);
    let words = lines(kind, &keys);
    if words.is_empty() {
        let kinds = overview(&keys);
        let names = kinds.iter().map(|one| one.kind.as_str());
        let near = nearest(kind, names);
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(CliError::BadInput(format!(
            "`{kind}` is neither a list nor a key that takes words{near}; `flitwise list` lists them"
        )));
    }
    print(&if args.json {
        json_text(&json!({ "schema": SCHEMA, "kind": kind, "words": words }))?
    } else {
        text(&words)
    })
}

/// The kind of words whose singular is `name`, or else `name`.
fn plural_of(name: &str) -> &str {
    let kinds = KINDS.iter().map(|(kind, _)| *kind);
    let mut kinds = kinds.chain([METRICS, TRACES]);
    let y_for_ies = name.strip_suffix('y').map(|stem| format!("{stem}ies"));
    let plurals = [
        Some(format!("{name}s")),
        Some(format!("{name}es")),
        y_for_ies,
    ];
    let is_plural = |kind: &&str| plurals.iter().flatten().any(|plural| plural == kind);
    kinds.find(is_plural).unwrap_or(name)
}

/// The kinds, then the keys that take other words.
fn overview(keys: &[ExperimentKey]) -> Vec<OneKind> {
    let kinds = KINDS.iter().map(|&(kind, pattern)| OneKind {
        kind: kind.to_owned(),
        meaning: format!("the words of {pattern}"),
    });
    let metrics = OneKind {
        kind: METRICS.to_owned(),
        meaning: "the measures in the tables of a study".to_owned(),
    };
    let is_other =
        |key: &&ExperimentKey| !KINDS.iter().any(|(_, pattern)| fits(&key.path, pattern));
    let others = keys.iter().filter(is_other).map(|key| OneKind {
        kind: key.path.clone(),
        meaning: sentence(&key.meaning),
    });
    let traces = OneKind {
        kind: TRACES.to_owned(),
        meaning: "the traces inside the program, which `flitwise init` writes".to_owned(),
    };
    kinds.chain([metrics, traces]).chain(others).collect()
}

/// The words of a kind or of a key.
fn lines(kind: &str, keys: &[ExperimentKey]) -> Vec<Line> {
    if kind == METRICS {
        let metrics = metrics().into_iter();
        let metrics = metrics.map(|(word, meaning)| Line::of(word, meaning.to_owned()));
        return metrics.collect();
    }
    if kind == TRACES {
        let traces = super::init::traces().into_iter();
        return traces
            .map(|(word, meaning)| Line::of(word, meaning))
            .collect();
    }
    let pattern = KINDS.iter().find(|(name, _)| *name == kind);
    let pattern = pattern.map_or(kind, |(_, pattern)| pattern);
    let of_kind = keys.iter().filter(|key| fits(&key.path, pattern));
    let words = of_kind.flat_map(|key| {
        key.words.iter().map(|word| Line {
            key: key.path.clone(),
            word: word.text.clone(),
            meaning: sentence(&word.meaning),
        })
    });
    words.collect()
}

/// Whether a key is one of those that `pattern` stands for.
fn fits(key: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => key.ends_with(end),
        (_, Some(start)) => key.starts_with(start),
        _ => key == pattern,
    }
}

/// The first sentence, without links between pages and its full stop.
fn sentence(meaning: &str) -> String {
    let text = without_links(meaning);
    // "et al. 2015" ends no sentence.
    let begins =
        |rest: &str| rest.starts_with(|c: char| c.is_uppercase() || matches!(c, '`' | '"'));
    let mut ends = text.match_indices(". ");
    let end = ends.find(|&(at, dot)| begins(&text[at + dot.len()..]));
    let first = end.map_or(text.as_str(), |(at, _)| &text[..at]);
    first.trim_end_matches('.').to_owned()
}

/// A line for each word, below the name of its key where there are several.
fn text(words: &[Line]) -> String {
    let by_key: Vec<&[Line]> = words.chunk_by(|a, b| a.key == b.key).collect();
    let several = by_key.len() > 1;
    let tables = by_key.iter().map(|words| {
        let rows = words
            .iter()
            .map(|line| (line.word.as_str(), line.meaning.as_str()));
        let rows = table(rows);
        match words.first() {
            Some(first) if several => format!("{}\n{rows}", first.key),
            _ => rows,
        }
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// Two columns.
fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, meaning) in rows {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", format!("{name:width$}  {meaning}").trim_end());
    }
    text
}
