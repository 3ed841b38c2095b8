//! Values of a TOML document by their paths.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The value at `path` (`job.0.sl`) below `root`.
pub(crate) fn value_at<'a, 't>(root: &'a DeTable<'t>, path: &str) -> Option<&'a DeValue<'t>> {
    let mut segments = path.split('.');
    let mut value = root.get(segments.next()?)?;
    for segment in segments {
        value = child(value.get_ref(), segment)?;
    }
    Some(value.get_ref())
}

pub(crate) fn child<'a, 't>(
    value: &'a DeValue<'t>,
    segment: &str,
) -> Option<&'a Spanned<DeValue<'t>>> {
    match value {
        DeValue::Table(table) => table.get(segment),
        DeValue::Array(array) => array.get(segment.parse::<usize>().ok()?),
        _ => None,
    }
}

/// The name of a type in messages.
pub(crate) trait TypeName {
    fn type_name(&self) -> &'static str;
}

impl TypeName for DeValue<'_> {
    fn type_name(&self) -> &'static str {
        match self {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }
}
