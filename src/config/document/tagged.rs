//! Tables whose key `kind` decides which other keys they have. In Rust they are enums of
//! structures.
//!
//! If serde read the kind as an internal tag, it would lose the places of the other values. So
//! this module turns `{ kind = "voq", acks = "none" }` into `{ voq = { acks = "none" } }` before
//! serde reads it. A key of another kind is then an unknown field.

use crate::config::document::error::{ConfigError, Location, is_argument, refused};
use crate::config::document::kinds::TableKind;
use crate::config::document::texts::Texts;
use crate::config::document::values::{TypeName, child, value_at};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most keys of a kind that a message lists.
const LISTED: usize = 8;

/// A table whose `kind` decides its keys.
pub(crate) struct Tagged {
    /// Its path in the document.
    pub path: &'static str,
    /// The thing that has these kinds, as messages name it.
    pub of: &'static str,
    pub kinds: fn() -> Vec<TableKind>,
    /// The kind of a table that names none, if that is allowed.
    pub default: fn(&DeTable<'_>) -> Option<&'static str>,
    /// Advice for messages: what else to change with the kind.
    pub beside: &'static str,
}

pub(crate) fn text<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::String(text)) => Some(text.as_ref()),
        _ => None,
    }
}

/// The value at `path` below `table`.
fn find<'a, 't>(table: &'a mut DeTable<'t>, path: &str) -> Option<&'a mut DeValue<'t>> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.get_mut(first)?.get_mut();
    match value {
        value if rest.is_empty() => Some(value),
        DeValue::Table(inner) => find(inner, rest),
        _ => None,
    }
}

/// Says of a list of tables, `key`, that there is one table.
pub(super) fn one_bracket(key: &str) -> String {
    format!("there is one, so the header has one bracket: [{key}]")
}

/// Puts the other keys of each tagged table into a table with the name of its kind.
pub(crate) fn wrap_kinds(tables: &[Tagged], root: &mut DeTable<'_>) -> Result<(), ConfigError> {
    for tagged in tables {
        let Some(value) = find(root, tagged.path) else {
            continue;
        };
        let DeValue::Table(table) = value else {
            let problem = match value {
                // A header in two brackets.
                DeValue::Array(list) if list.iter().all(|one| one.get_ref().is_table()) => {
                    one_bracket(tagged.path)
                }
                _ => format!("wrong type: {}, expected a table", value.type_name()),
            };
            return refused(tagged.path, problem);
        };
        let wrapped = tagged.wrap(std::mem::take(table))?;
        *table = wrapped;
    }
    Ok(())
}

/// Says of an unknown key below `root` which other kinds it belongs to, if there are any.
pub(crate) fn explain_foreign_key(
    tables: &[Tagged],
    texts: &Texts,
    root: &DeTable<'_>,
    error: &mut ConfigError,
) {
    let Some((path, key)) = error.key.rsplit_once('.') else {
        return;
    };
    let Some(tagged) = tables.iter().find(|tagged| tagged.path == path) else {
        return;
    };
    let kinds = (tagged.kinds)();
    let other: Vec<String> = (kinds.iter())
        .filter(|kind| kind.keys.contains(&key))
        .map(|kind| format!("\"{}\"", kind.name))
        .collect();
    let Some((last, others)) = other.split_last() else {
        return;
    };
    let names = match others {
        [] => format!("the {last} kind"),
        _ => format!("the {} and {last} kinds", others.join(", ")),
    };
    let own = match value_at(root, path) {
        Some(DeValue::Table(table)) => tagged.kind_of(table).unwrap_or_default(),
        _ => "",
    };
    let keys = kinds.iter().find(|kind| kind.name == own);
    let takes = match keys.map(|kind| kind.keys) {
        Some(keys) if keys.len() <= LISTED => format!(", which takes {}", keys.join(", ")),
        _ => String::new(),
    };
    let first = others.first().unwrap_or(last);
    let Tagged { of, beside, .. } = tagged;
    let typed = |at: &Option<Box<Location>>| {
        let source = at.as_ref().map(|at| at.source.clone());
        source.filter(|source| is_argument(source))
    };
    let kind = value_at(root, path).and_then(|table| child(table, "kind"));
    let of_kind = typed(&kind.and_then(|kind| texts.locate(kind.span())));
    // The kind was typed, and the key was not.
    let cure = match of_kind.filter(|_| typed(&error.location).is_none()) {
        Some(option) => {
            format!("replace the whole table: {option} '{path}={{kind=\"{own}\", …}}'")
        }
        None => format!("remove it, or take {path}.kind = {first}{beside}"),
    };
    error.problem = format!("belongs to {names} of {of}, not to \"{own}\"{takes}; {cure}");
}

impl Tagged {
    fn kind_of<'a>(&self, table: &'a DeTable<'_>) -> Option<&'a str> {
        text(table, "kind").or_else(|| (self.default)(table))
    }

    fn wrap<'t>(&self, mut table: DeTable<'t>) -> Result<DeTable<'t>, ConfigError> {
        let given = table.get("kind").map(Spanned::get_ref);
        if let Some(other) = given.filter(|value| !matches!(value, DeValue::String(_))) {
            let problem = format!("wrong type: {}, expected a text", other.type_name());
            return refused(format!("{}.kind", self.path), problem);
        }
        let Some(kind) = self.kind_of(&table).map(str::to_owned) else {
            let kinds = (self.kinds)();
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
            let problem = format!("`kind` is missing; add one of {}", names.join(", "));
            return refused(self.path, problem);
        };
        let span = table.remove("kind").map_or(0..0, |kind| kind.span());
        let mut outer = DeTable::new();
        let inner = Spanned::new(0..0, DeValue::Table(table));
        outer.insert(Spanned::new(span, kind.into()), inner);
        Ok(outer)
    }
}
