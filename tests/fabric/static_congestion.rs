//! Static congestion against a naive model: routes as lists of names, loads in maps, paths by trying all.

use crate::common::random_topology;
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::topology::Topology;
use flitwise::oblivious::{
    Analysis, CableCounts, DelayPaths, EdgeId, Given, HostId, Level, Mapping, Network, PathChoice,
    Pattern, Settings, Subset, Versus, WorstCase,
};
use flitwise::stop::Stop;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn network(topology: Topology) -> Network {
    // No packet will be in a buffer, so any kind of switch will do.
    let spec = FabricSpec::opa_gen1(Topology::single(2).unwrap()).unwrap();
    Network::of_fabric(&FabricSpec { topology, ..spec }).unwrap()
}

fn settings(pattern: Pattern, ranks: u32, seed: u64) -> Settings {
    Settings {
        pattern,
        mapping: Mapping {
            subset: Subset::Random,
            ranks,
            shuffle: true,
        },
        seed,
        level: None,
        path: PathChoice::First,
        fair: true,
        delay: DelayPaths::All,
        cables: CableCounts::PerLevel,
    }
}

/// What a naive program finds in a run.
#[derive(Debug, Default, PartialEq)]
struct Naive {
    sum_max_cong: u64,
    histogram: BTreeMap<u64, u64>,
    delay: u64,
    /// By the names of both ports.
    cables: BTreeMap<String, u64>,
}

fn naive(network: &Network, settings: &Settings, run: u64) -> Naive {
    let graph = &network.graph;
    let mut found = Naive::default();
    let mut hosts = Vec::new();
    let pool = settings.mapping.pool(graph, settings.seed);
    settings.mapping.draw(&pool, settings.seed, run, &mut hosts);
    // Messages so far, with the level, both ranks, and the longest path that ends with each.
    let mut messages: Vec<(u32, [u32; 2], u64)> = Vec::new();
    for number in 0..settings.pattern.levels(settings.mapping.ranks) {
        let mut level = Level::default();
        settings.fill(run, number, &mut level);
        let route = |from: u32, to: u32| {
            let mut route = Vec::new();
            let [src, dst] = [from, to].map(|rank| hosts[rank as usize]);
            network.route(src, dst, 0, &mut route).unwrap();
            route
                .iter()
                .map(|&edge: &EdgeId| graph.edge_text(edge))
                .collect::<Vec<_>>()
        };
        let mut load: BTreeMap<String, u64> = BTreeMap::new();
        for pair in &level.pairs {
            for name in route(pair.from, pair.to) {
                *load.entry(name).or_default() += 1;
            }
        }
        let mut most = 0;
        let mut new = Vec::new();
        for (at, pair) in level.pairs.iter().enumerate() {
            let congestion = route(pair.from, pair.to)
                .iter()
                .map(|name| load[name])
                .max()
                .unwrap_or(0);
            most = most.max(congestion);
            *found.histogram.entry(congestion).or_default() += 1;
            if at < level.counted {
                let ranks = [pair.from, pair.to];
                let meets = |other: &[u32; 2]| ranks.iter().any(|rank| other.contains(rank));
                let before = messages
                    .iter()
                    .filter(|(_, other, _)| meets(other))
                    .map(|m| m.2)
                    .max();
                new.push((number, ranks, before.unwrap_or(0) + congestion));
            }
        }
        messages.extend(new);
        found.sum_max_cong += most;
        for (name, load) in load {
            *found.cables.entry(name).or_default() += load;
        }
    }
    found.delay = messages.iter().map(|message| message.2).max().unwrap_or(0);
    found
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let simple = || {
        let mut names = Pattern::names();
        names.extend(["3neighbor", "shift:4"]);
        prop::sample::select(names).prop_map(|name| Pattern::parse(name).unwrap())
    };
    let versus = (simple(), simple(), 1..6u32).prop_map(|(first, second, ranks)| {
        Pattern::Versus(Box::new(Versus {
            first,
            second,
            ranks,
        }))
    });
    prop_oneof![3 => simple(), 1 => versus]
}

/// Whether shares are max-min fair: every connection crosses a full edge on which none has more.
fn check_fair(network: &Network, settings: &Settings) {
    use flitwise::oblivious::{FairShares, Walker};
    let mut hosts = Vec::new();
    let pool = settings.mapping.pool(&network.graph, settings.seed);
    settings.mapping.draw(&pool, settings.seed, 0, &mut hosts);
    let mut walker = Walker::new(network, settings.path);
    let (mut level, mut fair, mut shares) =
        (Level::default(), FairShares::new(network), Vec::new());
    for number in 0..settings.pattern.levels(settings.mapping.ranks).min(4) {
        settings.fill(0, number, &mut level);
        walker.count(&level, &hosts).unwrap();
        let mut routes: Vec<Vec<EdgeId>> = Vec::new();
        walker
            .each(&level, &hosts, |seen| routes.push(seen.route.to_vec()))
            .unwrap();
        let slices: Vec<&[EdgeId]> = routes.iter().map(Vec::as_slice).collect();
        fair.of(network, &slices, &mut shares).unwrap();
        for (route, &share) in routes.iter().zip(&shares) {
            let bottleneck = route.iter().any(|edge| {
                let over = routes
                    .iter()
                    .zip(&shares)
                    .filter(|(other, _)| other.contains(edge));
                let (sum, most) =
                    over.fold((0.0, 0.0f64), |(sum, most), (_, s)| (sum + s, most.max(*s)));
                let rate = network.graph.edge(*edge).rate;
                assert!(sum <= rate + 1e-9, "{sum} on an edge of rate {rate}");
                sum >= rate - 1e-9 && share >= most - 1e-9
            });
            assert!(bottleneck || route.is_empty());
        }
    }
}

/// Loads of cables are counted over all runs, so an analysis that was stopped has none.
#[test]
fn a_stopped_analysis_has_no_loads_of_cables() {
    let network = network(Topology::single(32).unwrap());
    let settings = settings(Pattern::Bisect, 32, 1);
    let flag = AtomicBool::new(false);
    let mut analysis = Analysis::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            flag.store(true, Ordering::Relaxed);
        });
        analysis.extend(&network, &settings, 1_000_000, 2, Stop::new(&flag));
    });
    assert!(analysis.runs.len() < 1_000_000);
    assert!(analysis.cables.loads.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn runs_are_those_of_a_naive_program(
        topology in random_topology::topology(),
        pattern in pattern(),
        share in 0.3..1.0f64,
        seed in 0..1000u64,
    ) {
        let network = network(topology);
        let hosts = network.graph.host_count();
        let ranks = ((f64::from(hosts) * share) as u32).clamp(1, 24);
        let settings = settings(pattern, ranks, seed);
        if settings.fits(&network.graph).is_err() {
            return Ok(());
        }
        let is_silent = settings.levels().all(|number| {
            let mut level = Level::default();
            settings.fill(0, number, &mut level);
            level.pairs[..level.counted].iter().all(|pair| pair.from == pair.to)
        });
        // A permutation may be drawn in which each rank has itself.
        if !is_silent || !settings.pattern.to_string().starts_with("rand") {
            prop_assert_eq!(settings.check(&network.graph).is_err(), is_silent);
        }
        let mut analysis = Analysis::default();
        analysis.extend(&network, &settings, 3, 2, Stop::never());
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (at, run) in analysis.runs.iter().enumerate() {
            let expected = naive(&network, &settings, at as u64);
            prop_assert_eq!(run.sum_max_cong, expected.sum_max_cong);
            prop_assert_eq!(run.delay, Some(expected.delay));
            prop_assert_eq!(run.histogram.iter().collect::<BTreeMap<_, _>>(), expected.histogram);
            for (name, load) in expected.cables {
                *sums.entry(name).or_default() += load;
            }
        }
        let graph = &network.graph;
        let found = analysis.cables.ranked().into_iter();
        let found: BTreeMap<_, _> = found.map(|(edge, load)| (graph.edge_text(edge), load.sum)).collect();
        prop_assert_eq!(found, sums);
        check_fair(&network, &settings);
    }

    /// The number of threads and of batches changes no byte.
    #[test]
    fn threads_and_batches_change_nothing(topology in random_topology::topology(), pattern in pattern(), seed in 0..99u64) {
        let network = network(topology);
        let mut settings = settings(pattern, network.graph.host_count().min(40), seed);
        settings.delay = DelayPaths::None;
        if settings.fits(&network.graph).is_err() {
            return Ok(());
        }
        let mut one = Analysis::default();
        one.extend(&network, &settings, 5, 1, Stop::never());
        let mut other = Analysis::default();
        other.extend(&network, &settings, 2, 3, Stop::never());
        other.extend(&network, &settings, 5, 4, Stop::never());
        prop_assert_eq!(one, other);
    }

    /// No permutation is worse than the bound, and trying all finds the exact one.
    #[test]
    fn no_permutation_is_worse_than_the_bound(topology in random_topology::topology()) {
        let network = network(topology);
        let hosts = network.graph.host_count();
        prop_assume!(hosts <= 6);
        let worst = WorstCase::of(&network, PathChoice::First);
        let graph = &network.graph;
        let inner = |edge: &EdgeId| {
            let edge = graph.edge(*edge);
            graph.host_at(edge.from).is_none() && graph.host_at(edge.to).is_none()
        };
        let mut order: Vec<u32> = (0..hosts).collect();
        let mut most = 0;
        permutations(&mut order, 0, &mut |to| {
            let mut load = BTreeMap::new();
            for (src, &dst) in (0..).zip(to) {
                let mut route = Vec::new();
                network.route(HostId::new(src), HostId::new(dst), 0, &mut route).unwrap();
                for edge in route.into_iter().filter(inner) {
                    *load.entry(edge).or_insert(0) += 1;
                }
            }
            most = most.max(load.values().copied().max().unwrap_or(0));
        });
        prop_assert!(worst.exact());
        prop_assert_eq!(worst.congestion, most);
    }
}

fn permutations(items: &mut Vec<u32>, from: usize, see: &mut impl FnMut(&[u32])) {
    if from == items.len() {
        return see(items);
    }
    for at in from..items.len() {
        items.swap(from, at);
        permutations(items, from + 1, see);
        items.swap(from, at);
    }
}

/// A level of many pairs ends within it, and leaves no run.
#[test]
fn a_stop_ends_a_level_within_it() {
    use std::sync::atomic::AtomicBool;
    let network = network(Topology::k_ary_n_tree(8, 3, None).unwrap());
    let stopped = AtomicBool::new(true);
    let mut analysis = Analysis::default();
    let large = settings(Pattern::AllToAll, 512, 1);
    analysis.extend(&network, &large, 1, 2, Stop::new(&stopped));
    assert_eq!(analysis.runs, []);
    // A small level is over before the first look.
    let mut analysis = Analysis::default();
    let small = settings(Pattern::Bisect, 16, 1);
    analysis.extend(&network, &small, 1, 1, Stop::new(&stopped));
    assert_eq!(analysis.runs.len(), 1);
}

/// Two pairs over one cable: each has half, and the third connection what is left.
#[test]
fn shares_of_a_parking_lot() {
    use flitwise::oblivious::{FairShares, GraphBuilder, Node, NodeKind, Tables};
    let mut builder = GraphBuilder::default();
    let mut node = |name: &str, kind| {
        builder.node(Node {
            name: name.to_owned(),
            kind,
            line: 0,
        })
    };
    let hosts = ["a", "b", "c", "d"].map(|name| node(name, NodeKind::Host));
    let switches = ["s", "t"].map(|name| node(name, NodeKind::Switch));
    for (at, host) in hosts.iter().enumerate() {
        builder.cable([(*host, 1), (switches[at / 2], at as u32)], 1.0, 0);
    }
    // A cable at half the rate.
    builder.cable([(switches[0], 9), (switches[1], 9)], 0.5, 0);
    let graph = builder.build().unwrap();
    let mut tables = Tables::empty(&graph, 1).unwrap();
    for edge in EdgeId::all(graph.edges().len() as u32) {
        for host in HostId::all(4) {
            let to = graph.edge(edge).to;
            let far = graph.host_at(to).is_none() && graph.switch_of(host) == to;
            if to == graph.node_of(host) || far {
                tables.set(&graph, edge, host.index());
            }
        }
    }
    let network = Network { graph, tables };
    let route = |src, dst| {
        let mut route = Vec::new();
        network
            .route(HostId::new(src), HostId::new(dst), 0, &mut route)
            .unwrap();
        route
    };
    let routes = [route(0, 2), route(1, 2), route(3, 2)];
    let mut shares = Vec::new();
    let slices: Vec<&[EdgeId]> = routes.iter().map(Vec::as_slice).collect();
    let mut fair = FairShares::new(&network);
    fair.of(&network, &slices, &mut shares).unwrap();
    assert_eq!(shares, [0.25, 0.25, 0.5]);
}

/// Of two patterns the first one counts, and of levels the one that is asked for.
#[test]
fn patterns_that_send_nothing_are_refused() {
    let network = network(Topology::single(8).unwrap());
    let check = |pattern: Pattern, level: Option<u32>| {
        let settings = Settings {
            level,
            ..settings(pattern, 8, 1)
        };
        settings.check(&network.graph)
    };
    let pairs = Given::parse("pairs", "0 1\n\n1 0\n").unwrap();
    let pairs = Pattern::Given(Arc::new(pairs));
    let versus = |first, second, ranks| {
        let [first, second] = [first, second].map(|name| Pattern::parse(name).unwrap());
        Pattern::Versus(Box::new(Versus {
            first,
            second,
            ranks,
        }))
    };
    let two = versus("bisect", "shift", 4);
    for (pattern, level) in [
        (&pairs, None),
        (&pairs, Some(1)),
        (&two, None),
        (&two, Some(0)),
        // There the second pattern is alone.
        (&two, Some(1)),
        (&two, Some(2)),
    ] {
        assert_eq!(check(pattern.clone(), level), Ok(()));
    }
    assert_eq!(check(versus("bisect", "null", 4), None), Ok(()));
    let parsed = |name| Pattern::parse(name).unwrap();
    for (pattern, level, cure) in [
        (
            parsed("shift:16"),
            None,
            "take a distance that is no multiple of 8",
        ),
        (
            parsed("shift:0"),
            None,
            "take a distance that is no multiple of 8",
        ),
        (parsed("null"), None, "as a second pattern"),
        (
            versus("transpose", "shift", 3),
            None,
            "give it at least 4 ranks",
        ),
        (versus("tree", "shift", 1), None, "give it at least 2 ranks"),
    ] {
        let error = check(pattern, level).unwrap_err();
        assert!(error.contains(cure), "{error}");
    }
}
