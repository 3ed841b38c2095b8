//! The keys of JSON Schemas, and of the documents that they describe.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The schema, in which an object of several forms has the keys of all of them.
pub fn united(schema: &Value) -> Value {
    let mut schema = schema.clone();
    unite(&mut schema);
    schema
}

fn unite(node: &mut Value) {
    match node {
        Value::Array(list) => list.iter_mut().for_each(unite),
        Value::Object(map) => {
            map.values_mut().for_each(unite);
            for forms in ["oneOf", "anyOf", "allOf"] {
                let is_object = |form: &&Value| form["properties"].is_object();
                let Some(Value::Array(list)) = map.get(forms) else {
                    continue;
                };
                let objects: Vec<Value> = list.iter().filter(is_object).cloned().collect();
                if forms != "anyOf" || objects.len() > 1 {
                    map.remove(forms);
                    objects.iter().for_each(|form| add_form(map, form));
                }
            }
        }
        _ => {}
    }
}

/// Adds what an object of the form `other` has to an object. Of a key that names the form, it lists the names.
fn add_form(map: &mut Map<String, Value>, other: &Value) {
    for (key, value) in other.as_object().into_iter().flatten() {
        match map.get_mut(key) {
            None => {
                let value = match (value, value.get("const")) {
                    (Value::Object(_), None) => {
                        let mut inner = Map::new();
                        add_form(&mut inner, value);
                        inner.into()
                    }
                    (_, Some(name)) => {
                        json!({ "type": "string", "description": format!("`{}`", name.as_str().unwrap()) })
                    }
                    _ => value.clone(),
                };
                map.insert(key.clone(), value);
            }
            Some(Value::Object(known)) if value.is_object() => match value.get("const") {
                Some(name) if known.contains_key("description") => {
                    let names = known["description"].as_str().unwrap();
                    let names = format!("{names}, `{}`", name.as_str().unwrap());
                    known["description"] = names.into();
                }
                _ => add_form(known, value),
            },
            Some(_) => {}
        }
    }
}

/// The schema that says which keys a value has: behind a reference, or the one of several that is not null or a text.
pub fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return resolved(root.pointer(&target[1..]).unwrap(), root);
    }
    let Some(Value::Array(choices)) = schema.get("anyOf") else {
        return schema;
    };
    let choices = choices.iter().map(|choice| resolved(choice, root));
    let with_keys = |choice: &&Value| {
        ["object", "array"]
            .iter()
            .any(|kind| choice["type"] == *kind)
    };
    choices.rev().find(with_keys).unwrap_or(schema)
}

/// The keys of a schema with their descriptions. A key is a path in which lists are `[]`, and in which names that follow from
/// the experiment are `<…>`, as the schema's title of them says.
pub fn keys_of(schema: &Value, root: &Value, path: &str, keys: &mut BTreeMap<String, String>) {
    let node = resolved(schema, root);
    let described = |of: &Value| of["description"].as_str().unwrap_or_default().to_owned();
    if let Some(Value::Object(properties)) = node.get("properties") {
        for (key, property) in properties {
            let path = below(path, key);
            keys.insert(path.clone(), described(property));
            keys_of(property, root, &path, keys);
        }
    }
    if let Some(named @ Value::Object(_)) = node.get("additionalProperties") {
        let path = below(path, named["title"].as_str().unwrap());
        keys.insert(path.clone(), described(named));
        keys_of(named, root, &path, keys);
    }
    if let Some(items) = node.get("items") {
        keys_of(items, root, &format!("{path}[]"), keys);
    }
}

pub fn below(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    }
}

/// The keys of a document, by the names in its schema.
pub fn keys_in(
    value: &Value,
    schema: &Value,
    root: &Value,
    path: &str,
    keys: &mut BTreeSet<String>,
) {
    let node = resolved(schema, root);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let (name, inner) = match node.pointer(&format!("/properties/{key}")) {
                    Some(inner) => (key.as_str(), inner),
                    None => match &node["additionalProperties"] {
                        named @ Value::Object(_) => (named["title"].as_str().unwrap(), named),
                        _ => (key.as_str(), &Value::Null),
                    },
                };
                let path = below(path, name);
                keys_in(value, inner, root, &path, keys);
                keys.insert(path);
            }
        }
        Value::Array(list) => {
            let (path, items) = (format!("{path}[]"), &node["items"]);
            for value in list {
                keys_in(value, items, root, &path, keys);
            }
        }
        _ => {}
    }
}
