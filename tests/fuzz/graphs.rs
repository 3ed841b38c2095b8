//! The properties of graphs in files (`docs/evidence/fuzzing.md`).
#![allow(dead_code, reason = "each target uses one of them")]

use flitwise::oblivious::Network;
use flitwise_formats::PlaceError;
use flitwise_formats::dot;
use flitwise_formats::graph::{Format, Graph};

/// A graph reads the same below an empty line, and again when it is written. As a network it is refused with a line of
/// the text, or the pairs with and without a route are all pairs; written for ORCS it has the same routes.
pub fn dot_graph(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // A byte order mark is skipped at the start only.
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.matches('\n').count() + 1;
    let below = format!("\n{text}");
    let dot = match (dot::parse(text), dot::parse(&below)) {
        (Ok(mut dot), Ok(mut again)) => {
            for (nodes, edges, by) in [
                (&mut dot.nodes, &mut dot.edges, 1),
                (&mut again.nodes, &mut again.edges, 0),
            ] {
                nodes.iter_mut().for_each(|node| node.line += by);
                edges.iter_mut().for_each(|edge| edge.line += by);
            }
            assert_eq!(dot, again);
            dot
        }
        (Err(error), Err(again)) => {
            let line = error.place.number();
            assert!((1..=lines as u64).contains(&line) && !error.message.is_empty());
            assert_eq!(again, PlaceError::line(line + 1, error.message.as_str()));
            let refused = Network::from_dot(text).unwrap_err();
            assert_eq!(refused.problem, error.message);
            return;
        }
        _ => panic!("an empty line changes what is read"),
    };
    is_the_same_when_written(dot);
    let read = match Network::from_dot(text) {
        Ok(read) => read,
        Err(error) => {
            let line = error.line.unwrap_or(1) as usize;
            assert!((1..=lines).contains(&line) && !error.problem.is_empty());
            return;
        }
    };
    let survey = read.network.survey();
    let lost = survey.no_entry + survey.wrong_host + survey.looping;
    assert_eq!(survey.pairs, survey.connected() + lost);
    assert_eq!(survey.routing_loop.is_some(), survey.looping > 0);
    let mut written = Vec::new();
    read.network.write_orcs(&mut written, read.routed).unwrap();
    let again = Network::from_dot(std::str::from_utf8(&written).unwrap()).unwrap();
    assert_eq!(again.network.survey(), survey);
}

/// A graph is read by each reader or refused with a line of the text; what is read is the same when it is written in DOT
/// and read again, and a network or refused with a line of the text.
pub fn graph_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.matches('\n').count() + 1;
    for format in [
        Format::Dot,
        Format::EdgeList,
        Format::GraphMl,
        Format::NodeLink,
    ] {
        let graph = match Graph::parse(&text, format) {
            Ok(graph) => graph,
            Err(error) => {
                let line = error.place.number();
                assert!((1..=lines as u64).contains(&line), "{format:?}: {error}");
                assert!(!error.message.is_empty());
                continue;
            }
        };
        if let Err(error) = Network::of_file(&graph) {
            let line = error.line.unwrap_or(1) as usize;
            assert!((1..=lines).contains(&line) && !error.problem.is_empty());
        }
        is_the_same_when_written(graph);
    }
}

/// A graph is the same, but for its lines, when it is written in DOT and read again.
fn is_the_same_when_written(mut graph: Graph<'_>) {
    let mut written = Vec::new();
    graph.write(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let mut again = dot::parse(&written).unwrap();
    forget_lines(&mut graph);
    forget_lines(&mut again);
    assert_eq!(graph, again);
}

fn forget_lines(graph: &mut Graph<'_>) {
    graph.nodes.iter_mut().for_each(|node| node.line = 0);
    graph.edges.iter_mut().for_each(|edge| edge.line = 0);
}
