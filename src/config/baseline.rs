//! `[baseline]`: the overrides of an experiment for the run that it is compared with.

use crate::config::document::{ConfigError, Document, read};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::Path;
use toml::de::DeValue;

/// The overrides of the experiment that make the baseline, unless `[baseline]` says otherwise: no background, round
/// robin, congestion control off, and links always on, which counts only with a `[power]`.
pub(crate) const BASELINE_DEFAULT: &str = r#"background = []
[qos]
scheduler = "rr"
[congestion_control]
kind = "none"
[power]
policy = "always-on"
"#;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBaseline {
    /// False: no baseline.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// True: every job is measured in a run without the others.
    ///
    /// The others are disabled, and placement remains the same; a job that repeats until the others end runs once.
    #[schemars(extend("default" = true))]
    pub alone: Option<bool>,
    /// A TOML file that replaces values of the experiment, before `overrides`.
    #[serde(rename = "file")]
    pub _file: Option<String>,
    /// Replace values of the experiment, with keys as in `--set`; with a `file` no default.
    ///
    /// Tables are merged.
    #[serde(rename = "overrides")]
    #[schemars(extend("x-default" = "`{ background = [], \"qos.scheduler\" = \"rr\", \"congestion_control.kind\" = \"none\" }`, with `[power]` also `\"power.policy\" = \"always-on\"`"))]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub _overrides: Option<IgnoredAny>,
}

/// Name and text of the file that `baseline.file` names.
pub(crate) fn baseline_file(
    document: &Document<'_>,
    dir: &Path,
) -> Result<Option<(String, String)>, ConfigError> {
    let Some(DeValue::String(file)) = document.get("baseline.file") else {
        return Ok(None);
    };
    let path = dir.join(file.as_ref());
    let text =
        read(&path).map_err(|e| document.locate(ConfigError::new("baseline.file", e.problem)))?;
    Ok(Some((path.display().to_string(), text)))
}

/// Lays the baseline's file and overrides over `base`; `default` if there are neither.
pub(crate) fn lay_over<'t>(
    base: &mut Document<'t>,
    document: &Document<'t>,
    file: Option<&Document<'t>>,
    default: &Document<'t>,
) -> Result<(), ConfigError> {
    if let Some(file) = file {
        base.merge("", file.root())?;
    }
    match document.get("baseline.overrides") {
        Some(DeValue::Table(overrides)) => base.merge("", overrides),
        Some(_) => Err(document.locate(ConfigError::new(
            "baseline.overrides",
            "must be a table such as { \"qos.scheduler\" = \"rr\" }",
        ))),
        None if file.is_some() => Ok(()),
        None => base.merge("", default.root()),
    }
}
