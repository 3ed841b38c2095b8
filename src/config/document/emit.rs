//! Writes the tables of a document as TOML again. A table that was written in braces stays in braces.

use crate::config::document::texts::Texts;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns the text of `table`, whose path in the new file is `path`; an empty path is the file itself.
pub(crate) fn text_of(texts: &Texts, table: &DeTable<'_>, path: &str) -> String {
    let header = if path.is_empty() {
        String::new()
    } else {
        format!("[{path}]\n")
    };
    header + &body(texts, table, path)
}

/// The keys of a table behind its header: values first, since a header ends the table.
fn body(texts: &Texts, table: &DeTable<'_>, path: &str) -> String {
    let mut text = String::new();
    for (key, value) in table {
        if !has_header(texts, value) {
            text += &format!("{} = {}\n", quoted_key(key.get_ref()), inline(value));
        }
    }
    for (key, value) in table {
        if !has_header(texts, value) {
            continue;
        }
        let key = quoted_key(key.get_ref());
        let path = if path.is_empty() {
            key
        } else {
            format!("{path}.{key}")
        };
        let (open, close, tables) = match value.get_ref() {
            DeValue::Table(inner) => ("[", "]", vec![inner]),
            DeValue::Array(list) => ("[[", "]]", list.iter().filter_map(as_table).collect()),
            _ => continue,
        };
        for inner in tables {
            text += &format!("\n{open}{path}{close}\n{}", body(texts, inner, &path));
        }
    }
    text
}

/// Whether a value is a table, or a list of tables, that gets headers.
fn has_header(texts: &Texts, value: &Spanned<DeValue<'_>>) -> bool {
    let in_braces = |value: &Spanned<DeValue<'_>>| {
        let written = texts.written(&value.span());
        written.trim_start().starts_with('{')
    };
    match value.get_ref() {
        DeValue::Table(_) => !in_braces(value),
        DeValue::Array(list) => {
            let tables = list.iter().all(|value| as_table(value).is_some());
            tables && list.iter().any(|value| !in_braces(value))
        }
        _ => false,
    }
}

fn as_table<'a, 't>(value: &'a Spanned<DeValue<'t>>) -> Option<&'a DeTable<'t>> {
    match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// A value on one line.
fn inline(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => quoted_text(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(list) => {
            let values: Vec<String> = list.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        DeValue::Table(table) if table.is_empty() => "{}".to_owned(),
        DeValue::Table(table) => {
            let pairs = table.iter().map(|(key, value)| {
                let key = quoted_key(key.get_ref());
                format!("{key} = {}", inline(value))
            });
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text as a TOML string on one line.
pub(crate) fn quoted_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A key, in quotes where TOML needs them.
pub(crate) fn quoted_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        quoted_text(key)
    }
}
