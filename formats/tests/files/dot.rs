//! Graphs as the ORCS report prints them, odd ones, and broken ones.

use flitwise_formats::dot::{destinations, parse};
use flitwise_formats::graph::{Edge, Graph, LinkAttribute, Node};
use proptest::prelude::*;
use std::borrow::Cow;

/// Listing 1 of the report.
const LISTING_1: &str = r#"digraph network {
    "S1" -> "H1" [ comment = "H1" ];
    "S1" -> "H2" [ comment = "H2" ];
    "H1" -> "S1" [ comment = "*" ];

    "S1" -> "S11" [ comment = "H5" ];
    "S1" -> "S11" [ comment = "H6" ];
    "S11" -> "S1" [ comment = "H1,H2" ];
}
"#;

/// Edges as texts: `S1>H1=H1`.
fn edges(text: &str) -> Vec<String> {
    let dot = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let name = |node: u32| &dot.nodes[node as usize].name;
    (dot.edges.iter())
        .map(|edge| {
            let comment = edge.comment.as_ref().map(|c| format!("={c}"));
            let comment = comment.unwrap_or_default();
            format!("{}>{}{comment}", name(edge.from), name(edge.to))
        })
        .collect()
}

#[test]
fn the_listing_of_the_report_is_read() {
    let dot = parse(LISTING_1).unwrap();
    assert_eq!(dot.name, "network");
    let names: Vec<_> = dot.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["S1", "H1", "H2", "S11"]);
    let lines: Vec<_> = dot.edges.iter().map(|edge| edge.line).collect();
    assert_eq!(lines, [2, 3, 4, 6, 7, 8]);
    assert_eq!(edges(LISTING_1)[5], "S11>S1=H1,H2");
    let found: Vec<_> = destinations(" H1,H2\tH3\r\nH4,, *").collect();
    assert_eq!(found, ["H1", "H2", "H3", "H4", "*"]);
    assert!(matches!(dot.edges[5].comment, Some(Cow::Borrowed(_))));
}

#[test]
fn everything_of_the_language_that_can_be_read_is() {
    for (text, expected) in [
        ("digraph{}", ""),
        ("DiGraph \"a b\" {;;}", ""),
        (
            "digraph g { a -> b -> c [comment=x] [color=red]; c->a }",
            "a>b=x b>c=x c>a",
        ),
        (
            "digraph g { a->b[comment=\"H1\nH2\",label=<a<b>c>;weight=-1.5]b->a }",
            "a>b=H1\nH2 b>a",
        ),
        (
            "# 1\ndigraph g { // a -> x\n/* b\n-> */ a -> b # c\n}",
            "a>b",
        ),
        (
            "digraph g { graph [a=b]; node[shape=box] edge [comment=\"*\"] size=\"7,7\"; a -> b }",
            "a>b",
        ),
        (
            "digraph g { subgraph cluster_1 { label=x; a -> b; { b -> c } } subgraph { d } d -> a }",
            "a>b b>c d>a",
        ),
        ("digraph g { a:p1:n -> b:s; \"b\" -> 1.5 }", "a>b b>1.5"),
        (
            "digraph g { \"node\" -> \"a\\\"b\\\\\" [comment=\"x\\\ny\\n\"] }",
            "node>a\"b\\=xy\\n",
        ),
        ("digraph g { é -> b_2 [comment=a comment=b] }", "é>b_2=b"),
        ("graph { a -- b -- c }", "a>b b>c"),
        ("strict digraph { a -> b; b -> a }", "a>b b>a"),
    ] {
        assert_eq!(edges(text).join(" "), expected, "{text}");
    }
    let dot = parse("digraph g { \"a\nb\" \n-> c -> d }").unwrap();
    let lines: Vec<_> = dot.edges.iter().map(|edge| edge.line).collect();
    assert_eq!(lines, [1, 3]);
}

#[test]
fn what_cannot_be_read_is_refused_with_line_and_cure() {
    // Line | text | part of the message.
    let cases = r#"
1 |  | expected `graph` or `digraph`, found the end of the file
2 | \n[fabric] | expected `graph` or `digraph`, found `[`
2 | strict graph { a -- b;\n b -- a } | a second edge between b and a
1 | graph { a -> b } | write `--`
2 | digraph {\n a -- b } | write `->`
3 | digraph {\n a -> \n} | expected the name of a node behind `->`, found `}`
2 | digraph {\n a -> node } | found `node`, a keyword
2 | digraph {\n a -> {b c} } | a subgraph as the end
2 | digraph { {b c}\n -> a } | a subgraph as the end
2 | digraph {\n a -> b [comment="H1 ]\n} | closing quotation mark
2 | digraph {\n a -> b [comment "H1"]\n} | expected `=` behind
2 | digraph {\n a -> b [comment=H1\n | `[` without its `]`
2 | digraph {\n a -> b [comment="a" + "b"]\n} | joined by `+`
1 | digraph { /* a\n | without its `*/`
1 | digraph { a [label=<b> | `[` without its `]`
1 | digraph { a [label=<b ] | without its closing `>`
1 | digraph { a -> b | expected a statement or `}`, found the end
2 | digraph { a } \n b | expected the end of the file
1 | digraph { sw-1 } | put names with signs into quotation marks
1 | digraph { a \u{1} } | `\u{1}` is no part
1 | digraph { node } | needs quotation marks
1 | digraph { a = ; } | expected a value
1 | digraph { "a\ | closing quotation mark
"#;
    for case in cases.trim().lines() {
        let (line, rest) = case.split_once(" | ").unwrap();
        let (text, part) = rest.rsplit_once("| ").unwrap();
        let text = text
            .trim_end_matches(' ')
            .replace("\\n", "\n")
            .replace("\\u{1}", "\u{1}");
        let e = parse(&text).unwrap_err();
        assert!(e.message.contains(part), "{text}: {e}");
        assert_eq!(e.place.to_string(), format!("line {line}"), "{text}: {e}");
    }
}

proptest! {
    /// Reading returns the graph that was written, whatever the names.
    #[test]
    fn a_graph_that_is_written_and_read_is_the_same(
        name in ".*",
        names in proptest::collection::hash_set("(?s).{0,4}", 1..8),
        edges in proptest::collection::vec((0u32..8, 0u32..8, proptest::option::of("(?s).*")), 0..16),
        (directed, length) in (any::<bool>(), proptest::option::of(".*")),
    ) {
        let nodes: Vec<_> = (2..).zip(&names)
            .map(|(line, name)| Node { name: Cow::Borrowed(name.as_str()), kind: None, line })
            .collect();
        let count = nodes.len() as u32;
        let edges = edges.iter().map(|(from, to, comment)| Edge {
            from: from % count,
            to: to % count,
            comment: comment.as_deref().map(Cow::Borrowed),
            attributes: length.iter().map(|text| (LinkAttribute::Length, Cow::Borrowed(&**text))).collect(),
            line: 0,
        });
        let mut dot = Graph { name: Cow::Borrowed(&name), directed, nodes, edges: edges.collect() };
        let mut text = Vec::new();
        dot.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut again = parse(&text).unwrap();
        for dot in [&mut dot, &mut again] {
            dot.nodes.iter_mut().for_each(|node| node.line = 0);
            dot.edges.iter_mut().for_each(|edge| edge.line = 0);
        }
        prop_assert_eq!(dot, again);
    }
}
