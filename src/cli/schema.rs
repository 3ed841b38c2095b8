//! `flitwise schema`: the forms of the JSON that this program writes and of the TOML that it reads, for other programs.

use super::console::{json_text, print};
use super::error::CliError;
use clap::{Args, ValueEnum};
use flitwise::config::{experiment_schema, study_file_schema};
use flitwise::results::{comparison_schema, result_schema};
use flitwise::study::study_schema;
use serde_json::{Map, Value};

/// The usual name of the schema of experiment files beside them,
pub(super) const EXPERIMENT_SCHEMA_FILE: &str = "experiment.schema.json";
/// and of the schema of study files.
pub(super) const STUDY_SCHEMA_FILE: &str = "study-file.schema.json";

/// Arguments of `flitwise schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The document.
    document: Document,
}

/// A document with a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Document {
    /// result.json of a run.
    Result,
    /// study.json of a study.
    Study,
    /// The output of `flitwise explain --against --json`.
    Comparison,
    /// An experiment file, for editors.
    Experiment,
    /// A study file, for editors.
    StudyFile,
}

pub(super) fn run(args: &SchemaArgs) -> Result<(), CliError> {
    print(&json_text(&match args.document {
        Document::Result => result_schema(),
        Document::Study => study_schema(),
        Document::Comparison => comparison_schema(),
        Document::Experiment => experiment_for_editors(),
        Document::StudyFile => study_for_editors(),
    })?)
}

/// Returns the schema of experiment files for editors.
pub(super) fn experiment_for_editors() -> Value {
    for_editors(experiment_schema())
}

/// Returns the schema of study files for editors.
pub(super) fn study_for_editors() -> Value {
    for_editors(study_file_schema())
}

/// The schema with the descriptions that an editor shows of a key; they include its default, and how it is written.
fn for_editors(mut schema: Value) -> Value {
    tell(&mut schema);
    schema
}

fn tell(schema: &mut Value) {
    match schema {
        Value::Object(part) => {
            let words = part.remove("x-default");
            let presets = part.remove("x-defaults");
            let written = part.remove("x-written");
            if let Some(Value::String(text)) = part.get("description") {
                let mut text = without_links(text);
                let default = match (&words, &presets, part.get("default")) {
                    (Some(Value::String(words)), _, _) => Some(without_links(words)),
                    (_, Some(Value::Object(presets)), _) => Some(by_preset(presets)),
                    (_, _, default) => default.map(Value::to_string),
                };
                if let Some(default) = default {
                    text += &format!("\n\nDefault: {default}.");
                }
                if let Some(Value::String(written)) = written {
                    text += &format!("\n\nWritten as {written}.");
                }
                part.insert("description".into(), text.into());
            }
            part.values_mut().for_each(tell);
        }
        Value::Array(parts) => parts.iter_mut().for_each(tell),
        _ => {}
    }
}

/// A default that depends on presets.
fn by_preset(presets: &Map<String, Value>) -> String {
    let each = presets
        .iter()
        .map(|(preset, value)| format!("{value} ({preset})"));
    each.collect::<Vec<_>>().join(", ")
}

/// The same text without the links between pages, which do not work in an editor.
pub(super) fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, label, after)) = next_link(rest) {
        plain += before;
        plain += label;
        rest = after;
    }
    plain + rest
}

/// The text before the first link, its label, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = text.split_once("](")?;
    let (before, label) = head.rsplit_once('[')?;
    let (_, after) = tail.split_once(')')?;
    Some((before, label, after))
}
