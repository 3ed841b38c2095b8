//! Counts, delays and means of runs, and their tables.

use super::tree;
use flitwise::figure::tables::TableFormat;
use flitwise::oblivious::*;
use flitwise::stop::Stop;

/// Listing 3.
#[test]
fn bandwidth_is_that_of_listing_3() {
    let mut histogram = Histogram::default();
    for (value, count) in [(1, 14), (2, 44), (3, 6)] {
        histogram.add_many(value, count);
    }
    assert_eq!(format!("{:.6}", histogram.bandwidth()), "0.593750");
    histogram.add(0);
    histogram.add(1 << 40);
    assert_eq!(
        (histogram.connections(), histogram.largest()),
        (65, 1 << 40)
    );
}

#[test]
fn quantiles_are_values_that_occur() {
    let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    let spread = Spread::of(&values).unwrap();
    assert_eq!((spread.p05, spread.median, spread.p95), (5.0, 50.0, 95.0));
    assert_eq!((spread.least, spread.most, spread.mean), (1.0, 100.0, 50.5));
    assert_eq!(Spread::of(&[]), None);
    let one = Spread::of(&[3.0]).unwrap();
    assert_eq!((one.p05, one.p95, one.half_width), (3.0, 3.0, None));
}

#[test]
fn a_binomial_tree_takes_its_longest_path() {
    let mut delays = Delays::default();
    delays.restart(DelayPaths::All, 4);
    delays.message(0, 1, 5);
    delays.end_level();
    delays.message(0, 2, 1);
    delays.message(1, 3, 2);
    delays.end_level();
    assert_eq!(delays.longest(), 7);
    // Within a level nothing waits for another message.
    delays.restart(DelayPaths::All, 3);
    delays.message(0, 1, 1);
    delays.message(1, 2, 1);
    delays.end_level();
    assert_eq!(delays.longest(), 1);
}
#[test]
fn the_program_forgets_what_is_older_than_a_level() {
    let longest = |paths| {
        let mut delays = Delays::default();
        delays.restart(paths, 4);
        // The first message to 1 counts, not the longest.
        delays.message(0, 1, 1);
        delays.message(2, 1, 5);
        delays.end_level();
        delays.message(1, 2, 2);
        delays.message(1, 3, 2);
        delays.end_level();
        delays.message(1, 0, 1);
        delays.end_level();
        delays.longest()
    };
    assert_eq!(longest(DelayPaths::AsOrcs(4)), 5);
    assert_eq!(longest(DelayPaths::All), 8);
    let mut few = Delays::default();
    few.restart(DelayPaths::AsOrcs(2), 4);
    assert!(few.examines(0, 1, false) && !few.examines(1, 2, true));
}

#[test]
fn ranks_follow_from_hosts_pairs_or_patterns() {
    let graph = &tree(2).graph;
    let ranks = |request: &Request| request.settings(graph, 1, None).unwrap().mapping.ranks;
    let all = Request::default();
    assert_eq!(ranks(&all), 4);
    let listed = Request {
        hosts: Some(HostList::of_entry("nodes", "n[0-1]")),
        ..Request::default()
    };
    assert_eq!(ranks(&listed), 2);
    assert_eq!(
        ranks(&Request {
            ranks: Some(3),
            ..all
        }),
        3
    );
}

#[test]
fn a_host_that_is_not_there_is_named_with_its_place() {
    let list = HostList::of_text("hosts", "n0\n\n# none\nn9 # far\n").unwrap();
    let error = list.of_graph(&tree(2).graph).unwrap_err();
    assert!(error.starts_with("hosts:4: "), "{error}");
    assert!(HostList::of_text("hosts", "# none\n").is_err());
}

#[test]
fn means_are_over_runs() {
    let network = tree(2);
    let request = Request {
        pattern: Pattern::Gather,
        worst: true,
        ..Request::default()
    };
    let settings = request.settings(&network.graph, 1, None).unwrap();
    let mut analysis = Analysis::default();
    analysis.extend(&network, &settings, 3, 1, Stop::never());
    let means = analysis.means(network.worst_of(&request).as_ref()).unwrap();
    assert_eq!((means.runs, means.connections, means.lost), (3, 3.0, 0.0));
    assert_eq!(means.sum_max_congestion, 3.0);
    assert_eq!(means.bandwidth, 1.0 / 3.0);
    assert_eq!(means.delay, None);
    assert!(means.worst_congestion.is_some());
}

#[test]
fn cables_are_all_there_and_flows_those_of_the_hottest() {
    let network = tree(2);
    let settings = Settings {
        pattern: Pattern::parse("gather").unwrap(),
        mapping: Mapping {
            ranks: 4,
            subset: Subset::First,
            shuffle: false,
        },
        seed: 1,
        level: None,
        path: PathChoice::default(),
        fair: false,
        delay: DelayPaths::default(),
        cables: CableCounts::PerLevel,
    };
    let mut analysis = Analysis::default();
    analysis.extend(&network, &settings, 2, 1, Stop::never());
    let hottest = analysis.hottest(&network, &settings, 1);
    let outcome = Outcome {
        label: "a, \"b\"",
        network: &network,
        survey: &network.survey(),
        settings: &settings,
        analysis: &analysis,
        hottest: &hottest,
    };
    let dir = tempfile::tempdir().unwrap();
    write_tables(dir.path(), &[outcome], TableFormat::Csv).unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let cables = read("cables.csv");
    // 4 host links and 4 cables between switches, each in two directions.
    assert_eq!(cables.lines().count(), 1 + 16);
    assert!(
        cables
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("\"a, \"\"b\"\"\",s"),
        "{cables}"
    );
    assert!(
        cables.lines().last().unwrap().contains(",,,0,0,"),
        "{cables}"
    );
    // The cable between switches, although the one to the root has 3.
    assert_eq!(read("flows.csv").lines().count(), 1 + 2);
    let ranked = analysis.hottest(&network, &settings, 99);
    let is_between = |hot: &HotCable| network.graph.is_between_switches(hot.edge);
    assert!(ranked.iter().any(is_between) && !ranked.iter().all(is_between));
    assert!(ranked.is_sorted_by_key(|hot| !is_between(hot)));
    assert_eq!(read("runs.csv").lines().count(), 1 + 2);
}
