//! Puts the value of an override into a document.

use crate::config::document::error::{ConfigError, refused};
use crate::config::document::values::TypeName;
use flitwise_base::quote::{cut, quoted};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Puts `value` at the path `segments` below `table`, creating tables on the way. Its key is written at `key`; messages
/// call it `path`.
pub(super) fn set_in<'t>(
    table: &mut DeTable<'t>,
    segments: &[&str],
    path: &str,
    part: &dyn Fn(usize) -> Range<usize>,
    value: Spanned<DeValue<'t>>,
) -> Result<(), ConfigError> {
    let (first, rest) = match segments {
        [] | ["", ..] => {
            return refused(path, "a key between dots is empty; write a.b=c");
        }
        [first, rest @ ..] => (*first, rest),
    };
    if rest.is_empty() {
        let key = Spanned::new(part(0), Cow::Owned(first.to_owned()));
        table.remove(first);
        table.insert(key, value);
        return Ok(());
    }
    if !table.contains_key(first) {
        let key = Spanned::new(part(rest.len()), Cow::Owned(first.to_owned()));
        table.insert(
            key,
            Spanned::new(value.span(), DeValue::Table(DeTable::new())),
        );
    }
    let Some(mut next) = table.get_mut(first).map(Spanned::get_mut) else {
        return Ok(());
    };
    let mut rest = rest;
    // Walk through lists, whose elements are named by index.
    while let DeValue::Array(array) = next {
        let count = array.len();
        let index = rest[0].parse::<usize>().ok();
        let Some(index) = index.filter(|&i| i < count) else {
            return refused(path, no_element(first, index, count));
        };
        if rest.len() == 1 {
            array.as_mut()[index] = value;
            return Ok(());
        }
        next = array.as_mut()[index].get_mut();
        rest = &rest[1..];
    }
    match next {
        DeValue::Table(inner) => set_in(inner, rest, path, part, value),
        other => refused(
            path,
            format!("{} is {}, not a table", quoted(first), other.type_name()),
        ),
    }
}

/// Says that the list called `name` has no element `index`, or that no index was given.
fn no_element(name: &str, index: Option<usize>, count: usize) -> String {
    let list = quoted(name);
    match (index, count) {
        (None, _) => format!(
            "{list} is a list of {count}: name an element by its index from 0, as in `{}.0`",
            cut(name)
        ),
        (Some(_), 0) => format!(
            "{list} is a list without elements; give all of it: {}=[{{…}}]",
            cut(name)
        ),
        (Some(index), 1) => format!("{list} has no element {index}, only 0"),
        (Some(index), _) => format!("{list} has no element {index}, only 0 to {}", count - 1),
    }
}
