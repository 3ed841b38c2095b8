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
    match table.get_mut(first) {
        Some(next) => set_below(next, (first, rest), path, part, value),
        None => Ok(()),
    }
}

/// Puts `value` at the path `rest` below `next`, which is called `name`. Elements of lists are named by index; `*` are all.
fn set_below<'t>(
    next: &mut Spanned<DeValue<'t>>,
    (name, rest): (&str, &[&str]),
    path: &str,
    part: &dyn Fn(usize) -> Range<usize>,
    value: Spanned<DeValue<'t>>,
) -> Result<(), ConfigError> {
    let Some((index, below)) = rest.split_first() else {
        *next = value;
        return Ok(());
    };
    match next.get_mut() {
        DeValue::Table(inner) => set_in(inner, rest, path, part, value),
        DeValue::Array(array) => {
            let count = array.len();
            let mut elements = array.as_mut().iter_mut();
            if *index == "*" && count > 0 {
                return elements.try_for_each(|element| {
                    set_below(element, (name, below), path, part, value.clone())
                });
            }
            let index = index.parse::<usize>().ok();
            match index.and_then(|index| elements.nth(index)) {
                Some(element) => set_below(element, (name, below), path, part, value),
                None => refused(path, no_element(name, index, count)),
            }
        }
        other => refused(
            path,
            format!("{} is {}, not a table", quoted(name), other.type_name()),
        ),
    }
}

/// Says that the list called `name` has no element `index`, or that no index was given.
fn no_element(name: &str, index: Option<usize>, count: usize) -> String {
    let list = quoted(name);
    match (index, count) {
        (_, 0) => format!(
            "{list} is a list without elements; give all of it: {}=[{{…}}]",
            cut(name)
        ),
        (None, _) => format!(
            "{list} is a list of {count}: name an element by its index from 0, as in `{0}.0`, or all as `{0}.*`",
            cut(name)
        ),
        (Some(index), 1) => format!("{list} has no element {index}, only 0"),
        (Some(index), _) => format!("{list} has no element {index}, only 0 to {}", count - 1),
    }
}
