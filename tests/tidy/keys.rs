//! The tables of keys in the documents are those of the schemas: `FLITWISE_BLESS=1` writes them.
//!
//! `<!-- keys: SCHEMA PATH -->` begins a table of the keys at a path, such as `experiment qos`; `<!-- end -->` ends it. A kind in
//! brackets takes the keys that only this kind has, as in `experiment fabric(voq)`; without one, keys that all kinds have.
//! `<!-- kinds: SCHEMA PATH -->` is a table of kinds with their keys, `<!-- choices: SCHEMA PATH -->` of keys with their values;
//! `<!-- names: SCHEMA PATH -->` is a list of keys with their defaults. Only the first paragraph of a description stands in a table.

use crate::bless;
use flitwise::config::{experiment_schema, study_file_schema};
use serde_json::{Map, Value};
use std::path::Path;

const PAGES: &[&str] = &[
    "docs/reference/experiment.md",
    "docs/model/energy.md",
    "docs/reference/study.md",
];
const END: &str = "<!-- end -->";

/// The alternatives of a part of a schema that have keys.
fn forms(part: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    if part["properties"].is_object() {
        found.push(part);
    }
    for list in ["oneOf", "anyOf"] {
        found.extend(part[list].as_array().into_iter().flatten().flat_map(forms));
    }
    if part["items"].is_object() {
        found.extend(forms(&part["items"]));
    }
    found
}

/// The part of a schema at a path; `.` is the whole.
fn part<'a>(schema: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .filter(|name| !name.is_empty())
        .fold(schema, |part, name| {
            let form = forms(part)
                .into_iter()
                .find_map(|form| form["properties"].get(name));
            form.unwrap_or_else(|| panic!("no key {name} in {path}"))
        })
}

fn keys(form: &Value) -> &Map<String, Value> {
    form["properties"].as_object().unwrap()
}

fn kind(form: &Value) -> Option<&str> {
    form["properties"]["kind"]["const"].as_str()
}

/// The keys of a table, each with its schemas, of which there are several where kinds have different defaults.
fn rows<'a>(part: &'a Value, only: Option<&str>) -> Vec<(&'a str, Vec<&'a Value>, bool)> {
    let forms = forms(part);
    let own = |form: &&&Value| only.is_none_or(|only| kind(form) == Some(only));
    let first = forms.iter().find(own).unwrap();
    let named = keys(first)
        .iter()
        .filter(|(name, _)| *name != "kind" || kind(first).is_none());
    let all = named.map(|(name, _)| {
        let of_all = forms.iter().filter_map(|form| keys(form).get(name));
        // Kinds may give different keys one name.
        let is_same = |schema: &&Value| schema["description"] == keys(first)[name]["description"];
        let of_all: Vec<&Value> = of_all.filter(is_same).collect();
        let required = first["required"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|r| r == name);
        (name.as_str(), of_all, required)
    });
    let is_here = |(_, of_all, _): &(&str, Vec<&Value>, bool)| {
        (of_all.len() == forms.len()) == only.is_none()
    };
    all.filter(is_here).collect()
}

/// A value as in a file.
fn shown(value: &Value) -> String {
    match value {
        Value::String(_) => format!("`{value}`"),
        Value::Object(table) => {
            let keys = table.iter().map(|(key, value)| format!("{key} = {value}"));
            format!("`{{ {} }}`", keys.collect::<Vec<_>>().join(", "))
        }
        Value::Array(_) => format!("`{value}`"),
        other => other.to_string(),
    }
}

fn default_of(schemas: &[&Value], required: bool) -> String {
    let schema = schemas[0];
    if let Some(words) = schema["x-default"].as_str() {
        return words.to_owned();
    }
    let by_preset = schemas.iter().filter_map(|s| s["x-defaults"].as_object());
    let mut values: Vec<(&Value, Vec<String>)> = Vec::new();
    for (preset, value) in by_preset.flatten() {
        let preset = format!("`{preset}`");
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, presets)) if presets.contains(&preset) => {}
            Some((_, presets)) => presets.push(preset),
            None => values.push((value, vec![preset])),
        }
    }
    if let [(usual, _), others @ ..] = &values[..] {
        let others = others
            .iter()
            .map(|(value, presets)| format!("; {} {}", presets.join(", "), shown(value)));
        return shown(usual) + &others.collect::<String>();
    }
    match schema.get("default") {
        Some(value) => shown(value),
        None if required => "required".to_owned(),
        None => String::new(),
    }
}

/// The table of keys.
fn table(part: &Value, only: Option<&str>, is_root: bool) -> String {
    let mut table = "| key | default | meaning |\n|---|---|---|\n".to_owned();
    for (name, schemas, required) in rows(part, only) {
        let description = schemas[0]["description"]
            .as_str()
            .unwrap_or_else(|| panic!("{name} has no description"));
        let (cell, _) = description.split_once("\n\n").unwrap_or((description, ""));
        let default = default_of(&schemas, required);
        let name = match (
            is_root && !forms(schemas[0]).is_empty(),
            &schemas[0]["type"],
        ) {
            (false, _) => name.to_owned(),
            (true, list) if list == "array" => format!("[[{name}]]"),
            (true, _) => format!("[{name}]"),
        };
        table += &format!("| `{name}` | {default} | {} |\n", cell.replace('|', "\\|"));
    }
    table
}

/// The table of kinds with their keys.
fn kinds(part: &Value) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for form in forms(part) {
        let (kind, keys) = (format!("`\"{}\"`", kind(form).unwrap()), names(form));
        match rows.iter_mut().find(|(_, known)| *known == keys) {
            Some((kinds, _)) => *kinds += &format!(", {kind}"),
            None => rows.push((kind, keys)),
        }
    }
    let rows = rows
        .iter()
        .map(|(kinds, keys)| format!("| {kinds} | {keys} |\n"));
    "| `kind` | keys |\n|---|---|\n".to_owned() + &rows.collect::<String>()
}

/// The keys of a form, with their defaults in brackets.
fn names(form: &Value) -> String {
    let named = keys(form).iter().filter(|(name, _)| *name != "kind");
    let named =
        named.map(
            |(name, schema)| match (schema["x-default"].as_str(), schema.get("default")) {
                (Some(words), _) => format!("`{name}` ({words})"),
                (None, Some(value)) => format!("`{name}` ({})", shown(value)),
                (None, None) => format!("`{name}`"),
            },
        );
    named.collect::<Vec<_>>().join(", ")
}

/// The table of keys with the values that they take.
fn choices(part: &Value) -> String {
    let mut table = "| key | values |\n|---|---|\n".to_owned();
    for (name, schema) in keys(part) {
        let names = schema["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["const"]);
        let names = names
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let values = if names.is_empty() {
            schema["description"].as_str().unwrap().to_owned()
        } else {
            names
        };
        table += &format!("| `{name}` | {values} |\n");
    }
    table
}

/// What belongs between a marker and its end.
fn between(marker: &str, experiment: &Value, study: &Value) -> String {
    let (what, rest) = marker.split_once(": ").unwrap();
    let (schema, path) = rest.split_once(' ').unwrap();
    let schema = match schema {
        "experiment" => experiment,
        "study" => study,
        other => panic!("no schema {other}"),
    };
    let (path, only) = match path.split_once('(') {
        Some((path, only)) => (path, only.strip_suffix(')')),
        None => (path, None),
    };
    let part = part(schema, path);
    match what {
        "keys" => table(part, only, path == "."),
        "kinds" => kinds(part),
        "choices" => choices(part),
        "names" => names(forms(part)[0]) + ".\n",
        other => panic!("no table {other}"),
    }
}

#[test]
fn pages_have_the_keys_of_the_schemas() {
    let (experiment, study) = (experiment_schema(), study_file_schema());
    let mut tables = 0;
    for page in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut wanted = String::new();
        let mut rest = text.as_str();
        while let Some(at) = ["keys", "kinds", "choices", "names"]
            .iter()
            .filter_map(|what| rest.find(&format!("<!-- {what}: ")))
            .min()
        {
            let (before, marked) = rest.split_at(at);
            let (marker, after) = marked.split_once(" -->\n").unwrap();
            let end = after
                .find(END)
                .unwrap_or_else(|| panic!("{page}: {marker} has no end"));
            let table = between(marker.strip_prefix("<!-- ").unwrap(), &experiment, &study);
            wanted += &format!("{before}{marker} -->\n{table}");
            rest = &after[end..];
            tables += 1;
        }
        wanted += rest;
        if bless::is_on() {
            bless::write(&path, &wanted);
        } else {
            assert!(
                text == wanted,
                "{page}: the tables of keys are not those of the schemas; FLITWISE_BLESS=1 writes them"
            );
        }
    }
    assert!(tables > 15, "only {tables} tables");
}
