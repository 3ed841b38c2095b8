//! The QoS preset that a file implies where it names none.

use crate::config::document::{ConfigError, Document};
use crate::config::fabric;
use toml::Spanned;
use toml::de::DeValue;

/// The QoS preset that the file itself implies, so that an override of another key
/// does not change it: with a `[qos]` table `opa-5sl`, without one `single`.
pub(crate) fn implied_preset(file: &Document<'_>) -> &'static str {
    match file.get("qos") {
        Some(_) => "opa-5sl",
        None => "single",
    }
}

/// Writes the implied preset into a document that, with all that was laid over it,
/// has neither a preset nor service levels of its own; on `voq` switches it is `ib`.
pub(crate) fn imply(document: &mut Document<'_>, preset: &'static str) -> Result<(), ConfigError> {
    let table = matches!(document.get("qos"), None | Some(DeValue::Table(_)));
    if !table
        || document.get("qos.preset").is_some()
        || document.get("qos.service_levels").is_some()
    {
        return Ok(());
    }
    let preset = fabric::qos_preset(fabric::kind_of(document.get("fabric"))).unwrap_or(preset);
    let preset = Spanned::new(0..0, DeValue::String(preset.into()));
    document.set("qos.preset", preset)
}

/// Says of an error in `[qos]` that its service levels are of a preset which the file `said` does not name, and which
/// `document` implies.
pub(crate) fn explain_preset(
    said: &Document<'_>,
    document: &Document<'_>,
    mut error: ConfigError,
) -> ConfigError {
    let is_implied = said.get("qos.preset").is_none() && said.get("qos.service_levels").is_none();
    let implied = document.get("qos.preset").and_then(DeValue::as_str);
    if is_implied && error.key.starts_with("qos.") && implied == Some("opa-5sl") {
        error.problem += "; a [qos] that names no preset has the five service levels of \"opa-5sl\": for one, take \
                          qos.preset = \"single\"";
    }
    error
}
