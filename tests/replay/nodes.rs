//! Nodes of several NICs, worked out by hand: the replay and the naive replay must both give these times.

use crate::by_hand::both;
use crate::naive::ops::{by_nic, receive, send};
use crate::naive::{Case, Outcome, fabric};
use flitwise::replay::program::Op;
use flitwise::replay::trace::{Reading, check_file};
use flitwise::replay::{NicChoice, NodeGraph, NodeSpec, SendCompletion};
use flitwise::stop::Stop;
use flitwise::units::Ratio;

/// Ranks on these NICs of nodes of `each`; in a pair of ranks a byte takes a picosecond and the latency is 500 ps.
fn ranks(each: u32, nics: &[u32], ranks: Vec<Vec<Op>>) -> Case {
    Case {
        nics: nics.to_vec(),
        node: NodeSpec {
            nics: each,
            ..NodeSpec::default()
        },
        ..Case::of(ranks.into_iter().map(|ops| vec![ops]).collect())
    }
}

/// Links of 700 ps, on which a byte takes 500 ps.
fn graph(places: u32, links: Vec<[u32; 2]>) -> NodeGraph {
    NodeGraph::new(places, links, 700, Ratio::whole(2_000_000_000)).unwrap()
}

/// Source, destination and bytes of the messages of the fabric.
fn sent(outcome: &Outcome) -> Vec<(u32, u32, u64)> {
    let messages = outcome.fabric.iter();
    messages
        .map(|sent| (sent.src, sent.dst, sent.bytes))
        .collect()
}

fn from(rank: u32) -> Op {
    receive(Some(rank), 0, None)
}

#[test]
fn ranks_of_a_node_with_nics_of_their_own_skip_the_fabric() {
    let ops = || vec![vec![send(1, 0, 0, 1000)], vec![from(0)]];
    let outcome = both(&ranks(2, &[0, 1], ops()));
    assert_eq!(outcome.times(1, 0, 0), (0, 1500));
    assert_eq!((outcome.intra_node_messages, sent(&outcome)), (1, vec![]));
    // NICs 1 and 2 are of two nodes.
    let outcome = both(&ranks(2, &[1, 2], ops()));
    assert_eq!(outcome.times(1, 0, 0), (0, 225_000));
    assert_eq!(sent(&outcome), [(1, 2, 1000)]);
}

#[test]
fn messages_share_the_links_of_a_tree() {
    let mut case = ranks(
        4,
        &[0, 1, 2, 3],
        vec![
            vec![send(2, 0, 0, 10)],
            vec![send(3, 0, 0, 10)],
            vec![from(0)],
            vec![from(1)],
        ],
    );
    case.send_completion = SendCompletion::Injected;
    case.node.graph = Some(graph(4, NodeGraph::pcie_tree(4)));
    let outcome = both(&case);
    // Four links and 10 B: 4 · 700 + 5000. The second message waits at the second link until 5700.
    assert_eq!(outcome.times(2, 0, 0), (0, 7800));
    assert_eq!(outcome.times(3, 0, 0), (0, 12_800));
    // Each has its own first link.
    assert_eq!(outcome.times(0, 0, 0), (0, 5000));
    assert_eq!(outcome.times(1, 0, 0), (0, 5000));
}

#[test]
fn places_of_a_nic_are_taken_in_turn() {
    let mut case = ranks(
        4,
        &[0, 0, 0, 3],
        vec![
            vec![send(1, 0, 0, 10), send(2, 0, 0, 10)],
            vec![from(0)],
            vec![from(0)],
            vec![],
        ],
    );
    case.node.places_per_nic = 2;
    case.node.graph = Some(graph(8, NodeGraph::dgx_1()));
    let outcome = both(&case);
    assert_eq!(outcome.times(1, 0, 0), (0, 5700));
    // The third rank is in the place of the first.
    assert_eq!(outcome.times(2, 0, 0), (0, 510));
}

#[test]
fn long_messages_go_in_parts_by_all_nics() {
    let ops = vec![
        vec![send(1, 0, 0, 802), send(1, 0, 0, 99)],
        vec![from(0), from(0)],
    ];
    let mut case = ranks(4, &[0, 5], ops);
    case.node.choice = NicChoice::Stripe { above_bytes: 99 };
    let outcome = both(&case);
    let parts = [
        (0, 4, 201),
        (1, 5, 201),
        (2, 6, 200),
        (3, 7, 200),
        (0, 5, 99),
    ];
    assert_eq!(sent(&outcome), parts);
    assert_eq!(outcome.times(1, 0, 0), (0, 125_000));
}

#[test]
fn hashed_messages_use_all_nics() {
    let ops = vec![vec![send(1, 0, 0, 8); 8], vec![from(0); 8]];
    let mut case = ranks(2, &[0, 3], ops);
    case.node.choice = NicChoice::Hash;
    case.node.planes = 2;
    let outcome = both(&case);
    let nics: Vec<u32> = sent(&outcome).iter().map(|sent| sent.0).collect();
    assert_eq!(nics, HASHED);
    assert!(sent(&outcome).iter().all(|&(src, dst, _)| dst == src + 2));
}

/// The NICs of messages 0 to 7 from rank 0 to rank 1, by the formula of the page in exact arithmetic.
const HASHED: [u32; 8] = [0, 1, 0, 0, 1, 0, 1, 0];

#[test]
fn messages_to_another_plane_end_inside_the_node() {
    let ops = vec![
        vec![send(2, 0, 0, 16)],
        vec![send(2, 0, 0, 16)],
        vec![from(0), from(1)],
    ];
    let mut case = ranks(2, &[0, 4, 3], ops);
    case.node.planes = 2;
    let outcome = both(&case);
    assert_eq!(sent(&outcome), [(0, 2, 16), (4, 2, 16)]);
    assert_eq!(outcome.times(2, 0, 1), (102_516, 102_516));
    // Both last steps begin after 102 ticks; the link serves the lower sender first.
    case.node.graph = Some(graph(2, NodeGraph::all_to_all(2)));
    let outcome = both(&case);
    assert_eq!(outcome.times(2, 0, 0), (0, 110_700));
    assert_eq!(outcome.times(2, 0, 1), (110_700, 118_700));
}

#[test]
fn a_send_may_name_its_nic() {
    let ops = vec![
        vec![by_nic(send(1, 0, 0, 8), 5), by_nic(send(1, 0, 0, 100), 1)],
        vec![from(0), from(0)],
    ];
    let mut case = ranks(4, &[0, 4], ops);
    case.protocol.eager_threshold_bytes = 99;
    let messages = [(1, 5, 8), (1, 5, 0), (4, 0, 0), (1, 5, 100)];
    assert_eq!(sent(&both(&case)), messages);
}

#[test]
fn a_schedule_names_nics() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.goal");
    let text = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 0 nic 2\n}\nrank 1 {\nb: recv 8b from 0 tag 0\n}\n";
    std::fs::write(&path, text).unwrap();
    let file = check_file(&path, Stop::never()).unwrap();
    let program = file.open(&Reading::default(), Stop::never()).unwrap();
    let case = ranks(4, &[0, 4], vec![vec![], vec![]]);
    let log = fabric::play(&mut fabric::replay_of(&case, program), false);
    assert_eq!((log[0].src, log[0].dst, log.len()), (2, 6, 1));
}

#[test]
fn graphs_and_nodes_that_cannot_be() {
    let error = |places, links: &[[u32; 2]]| {
        let graph = NodeGraph::new(places, links.to_vec(), 0, Ratio::ONE);
        graph.unwrap_err().to_string()
    };
    assert!(error(2, &[[0, 1], [1, 0]]).contains("[1, 0] is listed twice"));
    assert!(error(3, &[[0, 1]]).contains("from place 0 to place 2"));
    assert!(error(2, &[[0, 300]]).contains("301 places"));
    let check = |nics, planes, fabric| {
        let node = NodeSpec {
            nics,
            planes,
            ..NodeSpec::default()
        };
        node.check(fabric).map_err(|e| e.to_string())
    };
    assert_eq!(check(4, 2, 64), Ok(()));
    assert!(check(4, 2, 66).unwrap_err().contains("a multiple of 4"));
    assert!(check(4, 3, 64).unwrap_err().contains("among 3 planes"));
}
