//! JSON Schemas that are derived from the types of documents, and what these types share.

use crate::config::schema::one_line_each;
pub(super) use flitwise_base::schema::by_sl;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Returns the JSON Schema (2020-12) of the documents of type `T`. Numbers and lists of numbers have their
/// `unit`, an annotation.
#[must_use]
pub fn schema_of<T: JsonSchema>(id: &str, title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(finish));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), id.into());
    schema.insert("title".to_owned(), title.into());
    schema.into()
}

/// Objects whose keys follow from the experiment, such as names of service levels, in their order.
#[derive(Debug, Clone)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let named = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "object", "additionalProperties": named })
    }
}

/// The schema that `of` gives, without references.
pub(super) fn inlined(
    settings: SchemaSettings,
    of: impl Fn(&mut SchemaGenerator) -> Schema,
) -> Schema {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    of(&mut settings.into_generator())
}

/// A value of a schema that may be null.
pub(super) struct Nullable<T>(std::marker::PhantomData<T>);

/// The mark that [`finish`] removes.
const NULLABLE: &str = "nullable";

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Nullable_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Option::<T>::json_schema(generator);
        schema.insert(NULLABLE.to_owned(), true.into());
        schema
    }
}

/// Gives the numbers of an object that have none this unit.
pub(super) fn in_unit(unit: &'static str) -> impl Fn(&mut Schema) {
    move |schema| {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(Map::values_mut) {
            if let Value::Object(property) = property {
                property.entry("unit").or_insert_with(|| unit.into());
            }
        }
    }
}

/// Ends of names, and the units of such numbers: the first that fits. Other numbers count something.
const UNITS: [(&str, &str); 19] = [
    ("_flits_per_cycle_per_nic", "flits/cycle/NIC"),
    ("_gbit_per_s_per_nic", "Gb/s per NIC"),
    ("_gbyte_per_s_per_nic", "GB/s per NIC"),
    ("_ps", "ps"),
    ("_ns", "ns"),
    ("_s", "s"),
    ("_ticks", "ticks"),
    ("_bytes", "B"),
    ("bytes", "B"),
    ("_bits", "bit"),
    ("_j", "J"),
    ("_watts", "W"),
    ("_credits", "credits"),
    ("messages", "messages"),
    ("packets", "packets"),
    ("flits", "flits"),
    ("flit_hops", "flits"),
    ("share", "fraction"),
    ("slowdown", "ratio"),
];

fn unit_of(key: &str) -> &'static str {
    let known = UNITS.iter().find(|(end, _)| key.ends_with(end));
    known.map_or("number", |(_, unit)| unit)
}

/// Adds the units of numbers, refuses null where a key is absent instead, and removes what the derivation adds without need.
fn finish(schema: &mut Schema) {
    for unneeded in ["format", NULLABLE] {
        schema.remove(unneeded);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = one_line_each(text);
    }
    name_choices(schema);
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (key, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        let is_required = required.iter().any(|name| name == key);
        if !is_required && !property.contains_key(NULLABLE) {
            refuse_null(property);
        }
        if (has_numbers(property) || property.get("items").is_some_and(are_numbers))
            && !property.contains_key("unit")
        {
            property.insert("unit".to_owned(), unit_of(key).into());
        }
    }
}

fn has_numbers(schema: &Map<String, Value>) -> bool {
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    }
}

fn are_numbers(items: &Value) -> bool {
    items.as_object().is_some_and(has_numbers)
}

/// Makes an `enum` of texts that are alternatives: the description of the field says what each means.
fn name_choices(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else {
        return;
    };
    let names = choices.iter().map(|choice| choice.get("const").cloned());
    if let Some(names) = names.collect::<Option<Vec<Value>>>() {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), names.into());
    }
}

fn refuse_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            let kind = kind.clone();
            property.insert("type".to_owned(), kind);
        }
    }
    let Some(Value::Array(choices)) = property.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = &mut choices[..] {
        let only = std::mem::take(only);
        property.remove("anyOf");
        property.extend(only);
    }
}
