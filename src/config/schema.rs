//! The JSON Schemas of experiment and study files, which editors and checkers read. They follow from the declarations of
//! the keys: a doc comment is the description, the types give the rest.

use crate::config::keys::RawExperiment;
use crate::config::study::keys::RawStudy;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Returns the JSON Schema of experiment files.
#[must_use]
pub fn experiment_schema() -> Value {
    schema_of::<RawExperiment>("A Flitwise experiment")
}

/// Returns the JSON Schema of study files.
#[must_use]
pub fn study_file_schema() -> Value {
    schema_of::<RawStudy>("A Flitwise study")
}

/// The schema, with all parts in their places: language servers show no description beside a reference.
fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    RecursiveTransform(without_null).transform(&mut schema);
    schema.to_value()
}

/// True of a default that says nothing: no value, no elements, or a table of no values.
fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Object(keys) => keys.values().all(is_nothing),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// TOML has no null: a key without a value is left out. Descriptions are one line for each paragraph.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
        any.retain(|one| one.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = &any[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.ensure_object().entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if schema.get("default").is_some_and(is_nothing) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = one_line_each(text);
    }
}

/// Joins the lines of each paragraph of a description.
pub(crate) fn one_line_each(text: &str) -> String {
    let paragraphs = text.split("\n\n");
    let lines = paragraphs.map(|words| words.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n\n")
}

/// A key of experiments, as `--set` and `--vary` name it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExperimentKey {
    /// Its path, with 0 for the index of a list: `job.0.sl`.
    pub path: String,
    /// Its meaning: the first paragraph of its description.
    pub meaning: String,
    /// The words that it takes.
    pub words: Vec<Word>,
}

/// A word that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// The word.
    pub text: String,
    /// Its meaning: the first paragraph of its description.
    pub meaning: String,
}

/// Returns the keys of experiments, of all kinds of switches and topologies, in the order of the declarations.
///
/// # Examples
/// ```
/// let keys = flitwise::config::experiment_keys();
/// let scheduler = keys.iter().find(|key| key.path == "qos.scheduler").unwrap();
/// assert!(scheduler.words.iter().any(|word| word.text == "dtable"));
/// ```
#[must_use]
pub fn experiment_keys() -> Vec<ExperimentKey> {
    let mut keys = Vec::new();
    collect(&experiment_schema(), "", &mut keys);
    keys
}

/// Adds the keys in the part `schema` of a schema, which stands at `path`.
fn collect(schema: &Value, path: &str, keys: &mut Vec<ExperimentKey>) {
    let forms = forms(schema);
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let before = keys.len();
    for form in &forms {
        for (name, key) in form["properties"].as_object().into_iter().flatten() {
            match key.get("const").and_then(Value::as_str) {
                // The name of the form itself.
                Some(kind) => add(keys, below(name), "", vec![word(kind, form)]),
                None => collect(key, &below(name), keys),
            }
        }
        if form["items"].is_object() && form["items"]["properties"].is_object() {
            collect(&form["items"], &below("0"), keys);
        }
    }
    // The elements of a list of words have no keys.
    let elements = forms.iter().filter_map(|form| form.get("items"));
    let elements = elements.flat_map(self::forms);
    let words = forms.iter().copied().chain(elements).flat_map(words);
    let words: Vec<Word> = words.collect();
    // A table has keys in place of words, or is written by a word in the simplest case.
    if keys.len() == before || !words.is_empty() {
        add(keys, path.to_owned(), meaning(schema), words);
    }
}

/// Adds a key, or the words that are new to a key.
fn add(keys: &mut Vec<ExperimentKey>, path: String, meaning: &str, words: Vec<Word>) {
    match keys.iter_mut().find(|key| key.path == path) {
        Some(known) => {
            let is_new = |word: &Word| known.words.iter().all(|old| old.text != word.text);
            let new: Vec<Word> = words.into_iter().filter(is_new).collect();
            known.words.extend(new);
        }
        None => keys.push(ExperimentKey {
            path,
            meaning: meaning.to_owned(),
            words,
        }),
    }
}

/// The words of a form of a key.
fn words(form: &Value) -> impl Iterator<Item = Word> {
    let names = form["enum"].as_array().into_iter().flatten();
    let names = names.chain(form.get("const")).filter_map(Value::as_str);
    names.map(|name| word(name, form))
}

/// A word, and what the schema of it says.
fn word(text: &str, form: &Value) -> Word {
    Word {
        text: text.to_owned(),
        meaning: meaning(form).to_owned(),
    }
}

/// The first paragraph of a description.
fn meaning(schema: &Value) -> &str {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split("\n\n").next().unwrap_or_default()
}

/// The alternatives of a part of a schema.
fn forms(schema: &Value) -> Vec<&Value> {
    let lists = ["oneOf", "anyOf"].map(|list| schema[list].as_array());
    let several = lists.into_iter().flatten().flatten().flat_map(forms);
    std::iter::once(schema).chain(several).collect()
}
