//! Lists of edges: two names on each line, separated by blanks, tabs or a comma, and what is said of the link.
//!
//! `#` and `%` begin comments. Behind the names may stand values with units (`100Gb/s 5m 25ns fibre`), `name=value`,
//! and a dictionary as Python writes it (`{'length_m': 5}`), in any order. A number alone has no meaning and is refused.

use super::{Builder, Edge, Graph, LinkAttribute};
use crate::{PlaceError, at_line};
use flitwise_base::quote::{cut, quoted};
use hashbrown::HashMap;
use std::borrow::Cow;

/// Reads a list of edges. If each pair of nodes is listed as often in one direction as in the other, the edges lead
/// one way.
pub(super) fn parse(text: &str) -> Result<Graph<'_>, PlaceError> {
    let mut builder = Builder::default();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', '%']) {
            continue;
        }
        let (from, rest) = word(content, line)?;
        if rest.is_empty() {
            let problem = format!("{} alone; an edge has two nodes", quoted(from));
            return at_line(line, problem);
        }
        let (to, rest) = word(rest, line)?;
        let mut ends = [0; 2];
        for (end, name) in ends.iter_mut().zip([from, to]) {
            *end = builder.node(Cow::Borrowed(name), line)?;
        }
        values(builder.edge(ends, line)?, rest, line)?;
    }
    let mut graph = builder.graph;
    graph.directed = is_directed(&graph)?;
    Ok(graph)
}

/// The first word, which may be quoted, and what follows.
fn word(text: &str, line: usize) -> Result<(&str, &str), PlaceError> {
    let after = |rest: &'_ str| -> usize {
        let trimmed = rest.trim_start();
        let trimmed = trimmed.strip_prefix([',', ';']).unwrap_or(trimmed);
        rest.len() - trimmed.trim_start().len()
    };
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let Some(end) = text[1..].find(quote) else {
            return at_line(line, "a name without its closing quotation mark");
        };
        let rest = &text[end + 2..];
        return Ok((&text[1..=end], &rest[after(rest)..]));
    }
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    if word.is_empty() {
        return at_line(line, "a separator where a name should be");
    }
    Ok((word, &rest[after(rest)..]))
}

/// Takes what stands behind the names.
fn values<'a>(edge: &mut Edge<'a>, mut rest: &'a str, line: usize) -> Result<(), PlaceError> {
    while !rest.is_empty() && !rest.starts_with('#') {
        if let Some(inside) = rest.strip_prefix('{') {
            rest = dictionary(edge, inside, line)?.trim_start();
            continue;
        }
        // `EDR x4` has a blank.
        let value;
        (value, rest) = word(rest, line)?;
        match value.split_once('=') {
            Some((name, value)) => edge.take(name, Cow::Borrowed(value)),
            None => {
                let lanes = rest.split_whitespace().next().filter(|next| is_lanes(next));
                let attribute = meaning(value, line)?;
                let whole = match lanes.filter(|_| attribute == LinkAttribute::Rate) {
                    Some(lanes) => {
                        rest = rest[lanes.len()..].trim_start();
                        Cow::Owned(format!("{value} {lanes}"))
                    }
                    None => Cow::Borrowed(value),
                };
                edge.take(attribute.name(), whole);
            }
        }
    }
    Ok(())
}

fn is_lanes(word: &str) -> bool {
    let count = word.strip_prefix(['x', 'X']);
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
}

/// The meaning of a value, by its unit.
fn meaning(value: &str, line: usize) -> Result<LinkAttribute, PlaceError> {
    let number =
        value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '/' | '_'));
    match number {
        "" => at_line(
            line,
            format!(
                "{} has no unit; write a rate as 100Gb/s, a length as 5m, a latency as 25ns, or leave weights out",
                quoted(value)
            ),
        ),
        "m" | "cm" | "km" => Ok(LinkAttribute::Length),
        "ps" | "ns" | "us" | "µs" | "ms" | "s" => Ok(LinkAttribute::Latency),
        "fibre" | "fiber" | "copper" if number == value => Ok(LinkAttribute::Medium),
        unit if unit.ends_with("/s") || unit.ends_with("bps") => Ok(LinkAttribute::Rate),
        name if name == value && name.starts_with(|c: char| c.is_ascii_uppercase()) => {
            Ok(LinkAttribute::Rate)
        }
        _ => at_line(
            line,
            format!(
                "{} is no rate (100Gb/s), length (5m), latency (25ns) or medium (fibre, copper)",
                quoted(value)
            ),
        ),
    }
}

/// Takes the entries of a dictionary, behind its `{`. Returns what stands behind its `}`.
fn dictionary<'a>(
    edge: &mut Edge<'a>,
    mut rest: &'a str,
    line: usize,
) -> Result<&'a str, PlaceError> {
    let wrong = |at: &str| {
        let problem = format!(
            "expected `'name': value` of a dictionary, found {}; values are numbers or texts",
            cut(at)
        );
        at_line(line, problem)
    };
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Ok(behind);
        }
        let Some((name, behind)) = literal(rest) else {
            return wrong(rest);
        };
        let Some(behind) = behind.trim_start().strip_prefix(':') else {
            return wrong(rest);
        };
        let Some((value, behind)) = literal(behind.trim_start()) else {
            return wrong(rest);
        };
        edge.take(name, Cow::Borrowed(value));
        rest = behind.trim_start();
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.starts_with('}') => {}
            None => return wrong(rest),
        }
    }
}

/// A text in quotation marks, or a bare word, and what stands behind it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    if matches!(first, '"' | '\'') {
        let end = text[1..].find(first)?;
        return Some((&text[1..=end], &text[end + 2..]));
    }
    let end = text.find([',', '}', ':']).unwrap_or(text.len());
    let word = text[..end].trim_end();
    (!word.is_empty() && !word.contains(['{', '[', '(', '"', '\''])).then_some((word, &text[end..]))
}

/// Whether the list has both directions of every link.
fn is_directed(graph: &Graph<'_>) -> Result<bool, PlaceError> {
    let mut listed: HashMap<(u32, u32), (usize, u32)> = HashMap::new();
    for edge in &graph.edges {
        let entry = listed.entry((edge.from, edge.to)).or_insert((0, edge.line));
        entry.0 += 1;
    }
    let back = |edge: &&Edge<'_>| {
        listed
            .get(&(edge.to, edge.from))
            .filter(|_| edge.from != edge.to)
    };
    let Some(both) = graph.edges.iter().find(|edge| back(edge).is_some()) else {
        return Ok(false);
    };
    let count = |from, to| listed.get(&(from, to)).map_or(0, |&(count, _)| count);
    let mut edges = graph.edges.iter();
    let Some(alone) = edges.find(|edge| count(edge.from, edge.to) != count(edge.to, edge.from))
    else {
        return Ok(true);
    };
    let name = |node: u32| cut(&graph.nodes[node as usize].name);
    let problem = format!(
        "{} and {} are listed in both directions, and {} and {} (line {}) are not; list each link once, or all in both",
        name(both.from),
        name(both.to),
        name(alone.from),
        name(alone.to),
        alone.line
    );
    let (_, line) = back(&both).copied().unwrap_or((0, both.line));
    at_line(line.max(both.line) as usize, problem)
}
