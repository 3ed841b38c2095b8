//! The keys of study files.

use crate::config::document::Keys;
use crate::config::keys::RawExperiment;
use crate::figure::tables::TableFormat;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The keys as written. What varies is read from the document, which knows its places.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStudy {
    /// Name of the study and of its directory `NAME.study`.
    #[schemars(extend("x-default" = "the file's, without `.toml`"))]
    pub(super) name: Option<String>,
    /// The question of the study.
    ///
    /// `study.json` keeps it.
    pub(super) description: Option<String>,
    /// Search words.
    ///
    /// `study.json` keeps them.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// Base experiment: its file, or a table with its keys.
    pub(super) experiment: RawBase,
    /// A list, or `"A..B"` with both ends.
    ///
    /// The seed decides the random placement and the background traffic.
    #[schemars(extend("x-default" = "the experiment's"))]
    pub(super) seeds: Option<ListOrRange<u64>>,
    /// Values of the experiment, for all runs.
    #[serde(rename = "set")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    _set: Option<IgnoredAny>,
    /// Also replays the jobs on better networks.
    ///
    /// This tells where the time goes.
    #[schemars(extend("default" = true))]
    pub(super) split: Option<bool>,
    /// False: no baselines of jobs that repeat until the others end.
    ///
    /// `[interference]` leaves them out.
    #[schemars(extend("default" = true))]
    pub(super) endless_baselines: Option<bool>,
    /// Files of the tables: `"csv"`, `"parquet"` or `"both"`.
    #[schemars(extend("default" = "csv"))]
    pub(super) format: Option<TableFormat>,
    /// Precision such as `"2%"`: adds seeds to points.
    ///
    /// A point gets half as many seeds again, at least one, counting on from the largest, until half the interval of
    /// its execution time is at most this part of the mean. Points that do not vary get none.
    pub(super) until_ci: Option<String>,
    /// Most seeds of a point with `until_ci`.
    #[schemars(extend("default" = 30))]
    pub(super) max_seeds: Option<u64>,
    /// Axes: lists of values of a key, or of variants; the last one varies fastest.
    #[serde(default)]
    pub(super) axis: Vec<RawAxis>,
    /// Combinations to leave out: axes with values.
    ///
    /// Each axis has a value or a list of values. A combination is left out if all of them apply to it.
    #[serde(default, rename = "exclude")]
    #[schemars(with = "Vec<serde_json::Map<String, Value>>")]
    _exclude: Vec<IgnoredAny>,
    /// [Matrix](#interference) of jobs beside one another.
    pub(super) interference: Option<RawInterference>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(super) enum RawBase {
    File(String),
    Inline(#[schemars(with = "BaseExperiment")] IgnoredAny),
}

/// An experiment to which a study may add missing keys.
struct BaseExperiment;

impl JsonSchema for BaseExperiment {
    fn schema_name() -> Cow<'static, str> {
        "BaseExperiment".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RawExperiment::json_schema(generator);
        let sections = schema.get_mut("properties").and_then(Value::as_object_mut);
        for section in sections.into_iter().flat_map(|keys| keys.values_mut()) {
            if let Some(entry) = section.get_mut("items").and_then(Value::as_object_mut) {
                entry.remove("required");
            }
        }
        schema
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "wrong type: expected a list such as [1, 2], or a range such as \"1..5\""
)]
#[schemars(inline)]
pub(super) enum ListOrRange<T> {
    List(Vec<T>),
    Range(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAxis {
    /// Name of the axis in tables.
    #[schemars(extend("x-default" = "`key`"))]
    pub(super) name: Option<String>,
    /// Key that varies, as for `--set`.
    pub(super) key: Option<String>,
    /// Its values: a list, or a range `"A..B step C"`.
    #[schemars(with = "Option<ListOrRange<Value>>")]
    pub(super) values: Option<IgnoredAny>,
    /// In place of `key` and `values`: a table for each variant, with the keys that it sets.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Map<String, Value>>>")]
    pub(super) variants: Option<IgnoredAny>,
    /// Value or variant that the others are compared with.
    #[serde(rename = "reference")]
    #[schemars(extend("x-default" = "the first"))]
    #[schemars(with = "Option<Value>")]
    _reference: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawInterference {
    /// A job for each row and column of the matrix: its name, and the keys of its `[[job]]`.
    #[serde(rename = "jobs")]
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, Value>>")]
    _jobs: IgnoredAny,
}

impl Keys for RawStudy {
    const PAGE: &'static str = "study.md";
}
