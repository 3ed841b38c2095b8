//! Hosts by name, the hosts of ranks, and the addresses of a host.

use super::tree;
use flitwise::oblivious::{HostId, HostNames, Mapping, Network, PathChoice, Request, Subset};
use std::collections::BTreeSet;

#[test]
fn lists_are_expanded_as_slurm_does() {
    let names = "node01 node02 node03 node07 login1 r1n8 r1n9 r1n10 r2n8 r2n9 r2n10 n09 n10 n11";
    let mut text = String::from("digraph {\n");
    for name in names.split(' ') {
        text += &format!("H{name} -> s; s -> H{name} [comment=H{name}]\n");
    }
    let graph = Network::from_dot(&(text + "}")).unwrap().network.graph;
    let hosts = HostNames::new(&graph);
    let expanded = |text: &str| -> Vec<String> {
        let listed = hosts.list(text).unwrap().into_iter();
        listed
            .map(|host| graph.host_name(host).to_owned())
            .collect()
    };
    assert_eq!(
        expanded("Hnode[01-03,07],Hlogin1"),
        ["Hnode01", "Hnode02", "Hnode03", "Hnode07", "Hlogin1"]
    );
    assert_eq!(expanded("Hr[1-2]n[8-10]").len(), 6);
    assert_eq!(expanded("Hn[09-11]")[2], "Hn11");
    for (wrong, part) in [
        ("n[1", "not closed"),
        ("n[3-1]", "no hosts"),
        ("n[a]", "no number"),
        ("n[]", "no number"),
        ("Hn[1-99][1-99][1-99][1-99][1-99][1-99]", "too many"),
        ("n[0-18446744073709551615]", "too many"),
    ] {
        assert!(hosts.list(wrong).unwrap_err().contains(part), "{wrong}");
    }
}

#[test]
fn draws_repeat_and_differ_by_run() {
    let graph = tree(4).graph;
    let mapping = |subset| Mapping {
        subset,
        ranks: 10,
        shuffle: true,
    };
    for subset in [Subset::Random, Subset::RandomEachRun, Subset::LinearBfs] {
        let mapping = mapping(subset);
        let pool = mapping.pool(&graph, 3);
        let draw = |run| {
            let mut hosts = Vec::new();
            mapping.draw(&pool, 3, run, &mut hosts);
            hosts
        };
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
        let (mut a, mut b) = (draw(5), draw(6));
        a.sort_unstable();
        b.sort_unstable();
        assert_eq!(a == b, mapping.subset != Subset::RandomEachRun);
        assert_eq!(a.len(), 10);
    }
    assert!(mapping(Subset::First).check(&graph).is_ok());
    assert!(
        mapping(Subset::Listed(vec![]))
            .check(&graph)
            .unwrap_err()
            .contains("list")
    );
}

#[test]
fn in_order_ranks_are_on_the_hosts_of_their_numbers_unless_a_draw_is_asked_for() {
    let graph = tree(4).graph;
    let hosts = |subset: Option<Subset>, seed, run| {
        let request = Request {
            subset,
            ranks: Some(5),
            in_order: true,
            ..Request::default()
        };
        let mapping = request.settings(&graph, seed, None).unwrap().mapping;
        let mut hosts = Vec::new();
        mapping.draw(&mapping.pool(&graph, seed), seed, run, &mut hosts);
        hosts.iter().map(|host| host.get()).collect::<Vec<u32>>()
    };
    for seed in 1..9 {
        assert_eq!(hosts(None, seed, 0), [0, 1, 2, 3, 4]);
        for subset in [Subset::Random, Subset::RandomEachRun] {
            let drawn = hosts(Some(subset), seed, 0);
            assert!(drawn.is_sorted() && drawn.len() == 5, "{drawn:?}");
        }
    }
    let draws = |subset: Subset| (0..8).map(move |run| (subset.clone(), run));
    let by_run = |subset| -> BTreeSet<Vec<u32>> {
        draws(subset)
            .map(|(subset, run)| hosts(Some(subset), 1, run))
            .collect()
    };
    assert_eq!(by_run(Subset::Random).len(), 1);
    assert!(by_run(Subset::RandomEachRun).len() > 1);
}

#[test]
fn a_search_from_a_host_fills_its_leaf_first() {
    let first: Vec<u32> = Mapping {
        subset: Subset::LinearBfs,
        ranks: 16,
        shuffle: false,
    }
    .pool(&tree(4).graph, 1)
    .iter()
    .map(|host| host.get())
    .collect();
    assert_eq!(first[..4], [0, 1, 2, 3]);
    assert_eq!(first.len(), 16);
}

#[test]
fn pairs_choose_among_the_addresses_of_a_host() {
    let path =
        |choice: PathChoice, src, dst, paths| choice.of(HostId::new(src), HostId::new(dst), paths);
    assert_eq!(path(PathChoice::First, 5, 6, 4), 0);
    assert_eq!(path(PathChoice::BySource, 5, 6, 4), 1);
    assert_eq!(path(PathChoice::ByPair, 5, 6, 4), 3);
    assert_eq!(path(PathChoice::ByPair, u32::MAX, 1, 4), 0);
    for choice in [PathChoice::BySource, PathChoice::ByPair] {
        assert_eq!(path(choice, 7, 9, 1), 0);
    }
}
