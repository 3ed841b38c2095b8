//! What is wrong with the routes of a network.

use flitwise::oblivious::{HostId, Lost, Network, PathChoice, Tables};

fn network(text: &str) -> Network {
    Network::from_dot(text).unwrap().network
}

/// Two hosts at `a`, one each at `b` and `c`; a ring of three switches.
fn ring(a: [&str; 2], b: [&str; 2], c: [&str; 2]) -> Network {
    let mut text = String::from("digraph {\n");
    for (host, switch) in [("H1", "a"), ("H2", "a"), ("H3", "b"), ("H4", "c")] {
        text += &format!("{host} -> {switch}; {switch} -> {host} [comment={host}]\n");
    }
    for (from, routes, [first, second]) in [
        ("a", a, ["b", "c"]),
        ("b", b, ["c", "a"]),
        ("c", c, ["a", "b"]),
    ] {
        let [one, two] = routes;
        text += &format!(
            "{from} -> {first} [comment=\"{one}\"]; {from} -> {second} [comment=\"{two}\"]\n"
        );
    }
    network(&(text + "}"))
}

#[test]
fn routes_are_counted_on_every_edge() {
    // a sends to c by b.
    let network = ring(["H3 H4", ""], ["H4", "H1 H2"], ["H1 H2", "H3"]);
    let survey = network.survey();
    assert_eq!((survey.pairs, survey.connected()), (12, 12));
    assert_eq!(survey.by_edges, [0, 0, 2, 8, 2]);
    assert_eq!(
        (survey.routing_loop.clone(), survey.examples.len()),
        (None, 0)
    );
    assert_eq!(survey.between_switches(&network), Some((0, 4, 5)));
    let graph = &network.graph;
    for host in HostId::all(4) {
        let injection = graph.injection(host);
        assert_eq!(survey.routes_on[injection.index()], 3);
        let back = graph.edge(injection).reverse;
        assert_eq!(survey.routes_on[back.index()], 3);
    }
}

#[test]
fn pairs_without_a_route_are_counted_by_reason() {
    // To H4: a -> b -> a for ever. To H3: c has no entry. c hands what is for H1 on to a, which is fine.
    let mut network = ring(["H3 H4", ""], ["", "H1 H2 H4"], ["H1 H2", ""]);
    let survey = network.survey();
    assert_eq!(
        (survey.connected(), survey.looping, survey.no_entry),
        (8, 3, 1)
    );
    let graph = &network.graph;
    let [a, b, c] = [HostId::new(0), HostId::new(2), HostId::new(3)].map(|h| graph.switch_of(h));
    let found = survey.routing_loop.clone().unwrap();
    assert_eq!((found.dst, found.switches), (HostId::new(3), vec![a, b]));
    assert_eq!(survey.examples[0].why, Lost::NoEntry(c));
    assert_eq!(survey.examples[1].why, Lost::Loop(a));
    // Host H2 gets what is for H4.
    let to_h2 = graph.edge(graph.injection(HostId::new(1))).reverse;
    let column = network.tables.column(HostId::new(3), 0);
    network.tables.set(&network.graph, to_h2, column);
    let survey = network.survey();
    assert_eq!((survey.looping, survey.wrong_host), (0, 3));
    assert_eq!(survey.pairs, survey.connected() + 4);
}

#[test]
fn a_survey_says_what_the_routes_of_the_pairs_say() {
    let one = ring(["H3", "H4"], ["H1 H4", "H2"], ["H1 H2", ""]);
    let all = ring(["H3 H4", ""], ["H1 H2 H4", ""], ["H1 H2 H3", ""]);
    let Network { graph, tables } = &one;
    // Three addresses per host: only the first has tables that do not lead everywhere.
    let mut several = Tables::empty(graph, 3).unwrap();
    for edge in graph.edge_ids() {
        let from = graph.edge(edge).from;
        for host in HostId::all(4) {
            for (path, of) in [(0, tables), (1, &all.tables), (2, &all.tables)] {
                if of.next(graph, from, of.column(host, 0)) == Some(edge) {
                    several.set(graph, edge, several.column(host, path));
                }
            }
        }
    }
    let several = Network {
        graph: graph.clone(),
        tables: several,
    };
    for network in [&one, &several] {
        for choice in [PathChoice::First, PathChoice::BySource, PathChoice::ByPair] {
            let survey = network.survey_by(choice);
            let mut routes_on = vec![0; graph.edges().len()];
            let mut lost = 0;
            for src in HostId::all(4) {
                for dst in HostId::all(4).filter(|&dst| dst != src) {
                    let mut route = Vec::new();
                    let path = choice.of(src, dst, network.tables.paths());
                    lost += u64::from(network.route(src, dst, path, &mut route).is_err());
                    route.iter().for_each(|edge| routes_on[edge.index()] += 1);
                }
            }
            assert_eq!(survey.pairs, 12);
            assert_eq!(survey.routes_on, routes_on, "{choice:?}");
            assert_eq!(survey.pairs - survey.connected(), lost, "{choice:?}");
        }
    }
}
