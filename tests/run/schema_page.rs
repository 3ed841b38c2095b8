//! The tables of `docs/reference/result.md`, from the JSON Schema of results.

use crate::common::bless;
use crate::schema_keys::{below, resolved, united};
use flitwise::results::result_schema;
use serde_json::Value;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The section whose fields are listed by name, with the key of the experiment file or the schema to describe them.
const BY_NAME: &str = "experiment";

/// The tables of `docs/reference/result.md`, from the schema.
struct Tables<'a> {
    schema: &'a Value,
    /// Paths that have a table of their own.
    sections: Vec<&'a str>,
    /// Fields with their descriptions, and the path of the object that has them in a table.
    shown: Vec<(Vec<(&'a String, &'a Value)>, String)>,
    /// The objects around the present one, with their paths.
    around: Vec<(&'a Value, String)>,
    /// The rows of the present table: fields of one object, and their meaning.
    rows: Vec<(Vec<String>, String)>,
}

impl<'a> Tables<'a> {
    /// The fields of what is at `path`.
    fn table(&mut self, path: &str) -> String {
        let mut node = resolved(self.schema, self.schema);
        for key in path.split('.').filter(|key| !key.is_empty()) {
            let property = &node["properties"][key.trim_end_matches("[]")];
            node = resolved(property, self.schema);
            if key.ends_with("[]") {
                node = resolved(&node["items"], self.schema);
            }
        }
        self.rows.clear();
        if path == BY_NAME {
            self.names(node, path);
        } else {
            self.fields(node, path);
        }
        let head = if path == BY_NAME {
            "| object | fields |\n|---|---|\n"
        } else {
            "| field | meaning |\n|---|---|\n"
        };
        let rows = self.rows.iter();
        let rows = rows.map(|(fields, meaning)| format!("| {} | {meaning} |\n", fields.join(", ")));
        head.to_owned() + &rows.collect::<String>()
    }

    /// The rows of an object: each field, and what is in it unless another table or row has that.
    fn fields(&mut self, node: &'a Value, path: &str) {
        self.around.push((node, path.to_owned()));
        let required = node["required"].as_array();
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|all| all.iter().any(|name| name == key));
            self.field(property, path, key, is_required);
        }
        if let named @ Value::Object(_) = &node["additionalProperties"] {
            self.field(named, path, named["title"].as_str().unwrap(), true);
        }
        self.around.pop();
    }

    fn field(&mut self, property: &'a Value, path: &str, key: &str, is_required: bool) {
        let text = property["description"].as_str().unwrap();
        let (mut meaning, _) = text.split_once("\n\n").unwrap_or((text, ""));
        let (node, inner) = self.inside(property, &below(path, key));
        let same = |(outer, _): &&(&Value, String)| outer["properties"][key]["description"] == text;
        let (_, outer) = self.around.split_last().unwrap();
        let as_outer = outer.iter().rev().find(same);
        let as_outer = as_outer.map(|(_, outer)| format!("As in `{outer}`."));
        if let Some(reference) = &as_outer {
            meaning = reference;
        }
        let fields = fields_of(node);
        let has_fields = !fields.is_empty() || node["additionalProperties"].is_object();
        let elsewhere = meaning.starts_with("As ") || self.sections.contains(&inner.as_str());
        let mut shown = self.shown.iter();
        let before = shown.find(|(known, _)| !fields.is_empty() && *known == fields);
        let mut meaning = meaning.to_owned();
        let is_new = before.is_none();
        if let (Some((_, before)), false) = (before, elsewhere) {
            meaning += &format!(" Fields: as `{before}`.");
        }
        let unit = property["unit"].as_str();
        let unit = unit.filter(|unit| !elsewhere && *unit != "number" && !is_told(key, unit));
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let null = if may_be_null(property) { "?" } else { "" };
        let absent = if is_required { "" } else { "†" };
        let has_rows = has_fields && !elsewhere && is_new;
        let name = |path: &str| format!("`{path}`{null}{absent}{unit}");
        match self.rows.last_mut() {
            Some((fields, known))
                if *known == meaning
                    && !has_rows
                    && fields[0].starts_with(&format!("`{path}.")) =>
            {
                fields.push(name(key));
            }
            _ => self.rows.push((vec![name(&below(path, key))], meaning)),
        }
        if has_rows {
            if !fields.is_empty() {
                self.shown.push((fields, inner.clone()));
            }
            self.fields(node, &inner);
        }
    }

    /// The rows of an object and of the objects in it: the names of their fields.
    fn names(&mut self, node: &'a Value, path: &str) {
        let mut fields = Vec::new();
        let mut objects = Vec::new();
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            let (inner, path) = self.inside(property, &below(path, key));
            fields.push(format!("`{key}`"));
            if property["description"]
                .as_str()
                .unwrap()
                .starts_with("As `")
            {
                continue;
            }
            objects.push((inner, path));
        }
        if let named @ Value::Object(_) = &node["additionalProperties"] {
            let key = named["title"].as_str().unwrap();
            fields.push(format!("`{key}`"));
            objects.push(self.inside(named, &below(path, key)));
        }
        self.rows
            .push((vec![format!("`{path}`")], fields.join(", ")));
        for (node, path) in objects {
            if node["properties"].is_object() || node["additionalProperties"].is_object() {
                self.names(node, &path);
            }
        }
    }

    /// The value that a property at `path` has, or the values in its list; with the path of these.
    fn inside(&self, property: &'a Value, path: &str) -> (&'a Value, String) {
        let node = resolved(property, self.schema);
        match node.get("items") {
            Some(items) => (resolved(items, self.schema), format!("{path}[]")),
            None => (node, path.to_owned()),
        }
    }
}

/// The fields of an object with their descriptions.
fn fields_of(node: &Value) -> Vec<(&String, &Value)> {
    let fields = node["properties"].as_object().into_iter().flatten();
    fields
        .map(|(key, property)| (key, &property["description"]))
        .collect()
}

/// Whether the name of a field ends with its unit.
fn is_told(key: &str, unit: &str) -> bool {
    let end = key.rsplit('_').next().unwrap_or_default();
    let long = [
        ("bytes", "B"),
        ("watts", "W"),
        ("bits", "bit"),
        ("hops", "flits"),
    ];
    key.ends_with("_per_nic") || end.eq_ignore_ascii_case(unit) || long.contains(&(end, unit))
}

fn may_be_null(schema: &Value) -> bool {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let null = Value::from("null");
    let is_null =
        |kind: &Value| *kind == null || kind.as_array().is_some_and(|all| all.contains(&null));
    std::iter::once(schema)
        .chain(choices)
        .any(|schema| is_null(&schema["type"]))
}

#[test]
fn the_page_has_the_fields_of_the_schema() {
    const BEGIN: &str = "<!-- fields of `";
    const END: &str = "<!-- end of fields -->";
    let path = Path::new(ROOT).join("docs/reference/result.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    let parts: Vec<(&str, &str)> = parts
        .map(|part| part.split_once("` -->").unwrap())
        .collect();
    let schema = united(&result_schema());
    let mut tables = Tables {
        schema: &schema,
        sections: parts.iter().map(|(path, _)| *path).collect(),
        shown: Vec::new(),
        around: Vec::new(),
        rows: Vec::new(),
    };
    for (path, rest) in parts {
        let (_, after) = rest.split_once(END).expect("the table has an end");
        let table = tables.table(path.trim_start_matches("result.json"));
        text += &format!("{BEGIN}{path}` -->\n\n{table}\n{END}{after}");
    }
    if bless::is_on() {
        bless::write(&path, &text);
        return;
    }
    assert_eq!(page, text, "FLITWISE_BLESS=1 writes what holds");
}
