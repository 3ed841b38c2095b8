//! Networks that have lost switches and cables.

use super::tree;
use flitwise::oblivious::{Damaged, Failure, HostId, Network, PathChoice, RoutingEngine};

fn damaged(failures: &[&str]) -> Result<Damaged, String> {
    let failures: Vec<Failure> = failures
        .iter()
        .map(|text| Failure::parse(text).unwrap())
        .collect();
    Damaged::of(&tree(4).graph, &failures, 7)
}

#[test]
fn what_is_gone_loses_its_routes_until_others_are_found() {
    let before = tree(4);
    // The switches of the upper level come after the leaves.
    for failure in ["s4", "random:1 switches", "random:2 links", "s0 - s5"] {
        let damaged = damaged(&[failure]).unwrap();
        assert!(damaged.lost_hosts.is_empty(), "{failure}");
        let tables = damaged.tables_before(&before).unwrap();
        let now = Network {
            graph: damaged.graph.clone(),
            tables,
        };
        let survey = now.survey();
        assert!(survey.connected() < survey.pairs, "{failure}");
        for engine in RoutingEngine::ALL {
            let tables = engine.route(&damaged.graph).unwrap();
            let now = Network {
                graph: damaged.graph.clone(),
                tables,
            };
            let survey = now.survey();
            assert_eq!(survey.connected(), survey.pairs, "{failure} {engine}");
            assert!(damaged.routes_changed(&before, &now, PathChoice::First) > 0);
        }
    }
}

#[test]
fn hosts_go_with_their_switch_or_cable() {
    let gone = damaged(&["s0"]).unwrap();
    assert_eq!((gone.lost_hosts.len(), gone.graph.host_count()), (4, 12));
    assert_eq!(gone.hosts_before[0], HostId::new(4));
    let gone = damaged(&["n3 - s0"]).unwrap();
    assert_eq!(gone.lost_hosts, [HostId::new(3)]);
    // Without a failure nothing changes.
    let before = tree(4);
    let same = Damaged::of(&before.graph, &[], 1).unwrap();
    assert_eq!(same.graph.host_count(), 16);
    let tables = same.tables_before(&before).unwrap();
    let now = Network {
        graph: same.graph.clone(),
        tables,
    };
    assert_eq!(same.routes_changed(&before, &now, PathChoice::First), 0);
}

#[test]
fn wrong_failures_are_refused() {
    for (text, part) in [
        ("", "no failure"),
        ("random:0 links", "no failure"),
        ("random:2 hosts", "no failure"),
        ("a - b #x", "no failure"),
        ("a port x", "no failure"),
    ] {
        assert!(Failure::parse(text).unwrap_err().contains(part), "{text}");
    }
    for (text, part) in [
        ("x9", "has no `x9`"),
        ("n1", "is a host"),
        ("s0 port 99", "no cable"),
        ("s0 - s1", "0 cables"),
        ("s0 - s5 #9", "1 cables"),
        ("random:99 links", "there are 16"),
    ] {
        assert!(damaged(&[text]).unwrap_err().contains(part), "{text}");
    }
    assert!(
        damaged(&["s0", "s1", "s2", "s3"])
            .unwrap_err()
            .contains("no host")
    );
}
