//! The graph of the input with a colour for the load of every cable (`get_cable_cong`).

use flitwise::oblivious::{Cables, Network};
use flitwise_formats::dot::is_keyword;
use flitwise_formats::graph::Graph;
use std::fmt::Write;

/// The graph as Graphviz writes it, with `color`, `congestion` and `edge_id` at every edge.
pub(super) fn of(dot: &Graph<'_>, network: &Network, cables: &Cables) -> String {
    let graph = &network.graph;
    let mut comments = vec![None; dot.edges.len()];
    for (given, edge) in dot.edges.iter().zip(graph.edges_as_given()) {
        comments[edge.index()] = given.comment.as_deref();
    }
    let most = cables.largest_sum();
    let name = if dot.name.is_empty() {
        String::new()
    } else {
        quoted(&dot.name) + " "
    };
    let mut out = format!("digraph {name}{{\n");
    for (at, (edge, comment)) in graph.edges().iter().zip(comments).enumerate() {
        let sum = cables.loads.get(at).map_or(0, |load| load.sum);
        // The program calculates in single precision.
        let share = if most == 0 {
            0.0
        } else {
            sum as f32 / most as f32
        };
        let hue = f64::from(1.0 - share) * 0.4;
        let [from, to] = [edge.from, edge.to].map(|node| quoted(&graph.node(node).name));
        let _ = writeln!(
            out,
            "\t{from} -> {to}\t[color=\"{hue:.6} 0.900000 0.900000\","
        );
        if let Some(comment) = comment {
            let _ = writeln!(out, "\t\tcomment={},", quoted(comment));
        }
        let _ = writeln!(out, "\t\tcongestion={share:.6},\n\t\tedge_id={at}];");
    }
    out + "}\n"
}

/// A text as Graphviz writes it: without quotation marks if it is a name or a number.
fn quoted(text: &str) -> String {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let name = text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit());
    let digits = text.strip_prefix('-').unwrap_or(text);
    let number = digits.contains(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.matches('.').count() <= 1;
    if (name && !is_keyword(text)) || number {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('"', "\\\""))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_and_numbers_have_no_quotation_marks() {
        for plain in ["H1", "_a", "12", "-.5", "1.5"] {
            assert_eq!(quoted(plain), plain);
        }
        for (text, written) in [
            ("H1,H2", "\"H1,H2\""),
            ("node", "\"node\""),
            ("1a", "\"1a\""),
            ("", "\"\""),
            ("*", "\"*\""),
        ] {
            assert_eq!(quoted(text), written);
        }
    }
}
