//! Tables whose key `kind` decides which other keys they have.
//!
//! serde would lose the places of their values if it read the kind as an internal tag. So
//! `{ kind = "voq", acks = "none" }` becomes `{ voq = { acks = "none" } }` before it is read.

use super::error::ConfigError;
use super::raw_fabric::{RawHierarchical, RawVoq};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The kind of switch that a fabric preset has.
fn kind_of_preset(preset: &str) -> &'static str {
    match preset.starts_with("ib-") {
        true => "voq",
        false => "hierarchical",
    }
}

/// The kind of switch of a `[fabric]`: as written, by its preset, or the hierarchical one.
pub(super) fn fabric_kind<'a>(fabric: Option<&'a DeValue<'_>>) -> &'a str {
    let text = |key: &str| match fabric {
        Some(DeValue::Table(table)) => match table.get(key).map(Spanned::get_ref) {
            Some(DeValue::String(text)) => Some(text.as_ref()),
            _ => None,
        },
        _ => None,
    };
    text("kind").unwrap_or_else(|| text("preset").map_or("hierarchical", kind_of_preset))
}

/// Makes the kind of `[fabric]` the name of a table around its other keys.
pub(super) fn wrap_kinds(root: &mut DeTable<'_>) {
    let Some(fabric) = root.get_mut("fabric").map(Spanned::get_mut) else {
        return;
    };
    let kind = fabric_kind(Some(fabric)).to_owned();
    let DeValue::Table(table) = fabric else {
        return;
    };
    let span = table.remove("kind").map_or(0..0, |kind| kind.span());
    let mut outer = DeTable::new();
    let inner = Spanned::new(0..0, DeValue::Table(std::mem::take(table)));
    outer.insert(Spanned::new(span, kind.into()), inner);
    *table = outer;
}

/// Says of an unknown key that it belongs to the other kind, if it does.
pub(super) fn explain_foreign_key(error: &mut ConfigError) {
    let Some(key) = error.key.strip_prefix("fabric.") else {
        return;
    };
    let (kind, cure) = if RawVoq::KEYS.contains(&key) {
        (
            "voq",
            "remove it, or take fabric.kind = \"voq\" or an InfiniBand preset",
        )
    } else if RawHierarchical::KEYS.contains(&key) {
        (
            "hierarchical",
            "remove it (docs/experiment.md has the keys of the \"voq\" switch)",
        )
    } else {
        return;
    };
    error.problem = format!("belongs to the \"{kind}\" kind of switch; {cure}");
}
