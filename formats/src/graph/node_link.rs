//! JSON as NetworkX's `node_link_data` writes it: `nodes` with an `id`, `links` or `edges` with `source` and `target`.

use super::lines::Lines;
use super::{Builder, Graph, is_kind};
use crate::{PlaceError, at_line};
use flitwise_base::quote::cut;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The file. Its nodes and links stay as text, which tells their lines.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    directed: bool,
    #[serde(borrow)]
    nodes: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    links: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    edges: Option<Vec<&'a RawValue>>,
}

/// Reads node-link JSON.
pub(super) fn parse(text: &str) -> Result<Graph<'_>, PlaceError> {
    let raw: Raw<'_> =
        serde_json::from_str(text).or_else(|e| at_line(e.line().max(1), unread(&e)))?;
    let Some(nodes) = raw.nodes else {
        return at_line(
            1,
            "there are no `nodes`; this is no node-link JSON, as node_link_data writes it",
        );
    };
    let links = match (raw.links, raw.edges) {
        (Some(links), None) | (None, Some(links)) => links,
        (Some(_), Some(_)) => return at_line(1, "both `links` and `edges`; name the links once"),
        (None, None) => return at_line(1, "there are no `links` (or `edges`)"),
    };
    let mut builder = Builder::default();
    builder.graph.directed = raw.directed;
    let lines = Lines::of(text);
    // The parts borrow from the text.
    let line = |part: &RawValue| {
        lines.at((part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize))
    };
    for node in nodes {
        let line = line(node);
        let mut keys = object(node, line, "node")?;
        let id = keys.remove("id").map_or_else(
            || at_line(line, "a node without an `id`"),
            |id| name(&id, line),
        )?;
        let at = builder.declare(id, line)?;
        for (key, value) in keys {
            if is_kind(&key) {
                builder.graph.nodes[at as usize].kind = plain(&value);
            }
        }
    }
    for link in links {
        let line = line(link);
        let keys = object(link, line, "link")?;
        let mut ends = [0; 2];
        for (end, key) in ends.iter_mut().zip(["source", "target"]) {
            let Some(id) = keys.get(key) else {
                return at_line(line, format!("a link without a `{key}`"));
            };
            *end = builder.find(&name(id, line)?, line)?;
        }
        let added = builder.edge(ends, line)?;
        for (key, value) in &keys {
            if let Some(value) = plain(value) {
                added.take(key, value);
            }
        }
    }
    Ok(builder.graph)
}

fn unread(e: &serde_json::Error) -> String {
    let text = e.to_string();
    let problem = text.split(" at line ").next().unwrap_or(&text);
    format!("this is no node-link JSON: {problem}")
}

/// The keys of a node or a link.
fn object(
    raw: &RawValue,
    line: usize,
    what: &str,
) -> Result<serde_json::Map<String, Value>, PlaceError> {
    serde_json::from_str(raw.get()).or_else(|_| {
        at_line(
            line,
            format!("expected a {what}, {{ … }}, found {}", cut(raw.get())),
        )
    })
}

/// The name of a node: a text or a number; the tuples of NetworkX as JSON writes them.
fn name(id: &Value, line: usize) -> Result<Cow<'static, str>, PlaceError> {
    match id {
        Value::String(text) => Ok(Cow::Owned(text.clone())),
        Value::Number(_) | Value::Array(_) => Ok(Cow::Owned(id.to_string())),
        Value::Null | Value::Bool(_) | Value::Object(_) => at_line(
            line,
            format!("{} is no name of a node", cut(&id.to_string())),
        ),
    }
}

/// The value of an attribute, if it is a text or a number.
fn plain(value: &Value) -> Option<Cow<'static, str>> {
    match value {
        Value::String(text) => Some(Cow::Owned(text.clone())),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}
