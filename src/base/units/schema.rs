//! The JSON Schemas of quantities, with a pattern and an example.

use super::parse::{
    BUFFER_HELP, BYTES, BYTES_HELP, COST_HELP, COSTS, LATENCY_HELP, RATE_HELP, RATES, RATIO_HELP,
    TIME_HELP, TIMES, Unit,
};
use super::{BufferPart, Bytes, CostPerByte, Latency, Picoseconds, Rate, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A decimal number.
const DECIMAL: &str = r"\d+(\.\d+)?";
/// A fraction as a text.
const FRACTION: &str = r"\d+(\.\d+)?\s*%?(/\s*\d+\s*)?";

/// The names of `units` as a regular expression.
fn names(units: &[Unit]) -> String {
    let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    names.join("|")
}

/// The schema of a text with one of `patterns`; `help` says what is written.
fn text(patterns: &[String], help: &str, example: &str) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^\s*({})\s*$", patterns.join("|")),
        "examples": [example],
        "x-written": help,
    })
}

/// Quantities: the type, the patterns of its text, what is written, and an example.
macro_rules! quantities {
    ($($type:ident: $patterns:expr, $help:ident, $example:literal;)+) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                text(&$patterns, $help, $example)
            }
        }
    )+};
}

/// A decimal number with one of `units`.
fn with(units: &[Unit]) -> String {
    format!(r"{DECIMAL}\s*({})", names(units))
}

quantities! {
    Bytes: [with(BYTES)], BYTES_HELP, "64KiB";
    Picoseconds: [with(TIMES)], TIME_HELP, "1.5us";
    Rate: [with(RATES)], RATE_HELP, "12.5GB/s";
    CostPerByte: [with(COSTS)], COST_HELP, "0.25ns/B";
    Latency: [with(TIMES), r"\d+\s*ticks?".into()], LATENCY_HELP, "100ns";
}

/// Adds numbers to the schema of a text.
fn or_number(mut schema: Schema) -> Schema {
    schema.insert("type".into(), ["number", "string"].as_slice().into());
    schema.insert("minimum".into(), 0.into());
    schema
}

impl JsonSchema for Ratio {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            return json_schema!({ "type": "string" });
        }
        or_number(text(&[FRACTION.into()], RATIO_HELP, "1/3"))
    }
}

impl JsonSchema for BufferPart {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "BufferPart".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let counted = r"\d+\s*(packets?|credits?)".into();
        or_number(text(
            &[with(BYTES), counted, FRACTION.into()],
            BUFFER_HELP,
            "4 packets",
        ))
    }
}
