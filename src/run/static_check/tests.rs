use super::*;
use crate::config::load_network;
use crate::oblivious::{CableCounts, DelayPaths, Given, Mapping, PathChoice, Pattern, Subset};
use std::sync::Arc;

/// A mesh of three switches in a row with two NICs each, or another topology.
fn check(sets: &[&str], pairs: &str) -> Result<Check, CheckError> {
    let given: Given = Given::parse("test", pairs).unwrap();
    check_runs(sets, Pattern::Given(Arc::new(given)), (1, 1))
}

fn check_runs(
    sets: &[&str],
    pattern: Pattern,
    runs_and_threads: (u64, usize),
) -> Result<Check, CheckError> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let loaded = load_network(None, None, &sets).unwrap();
    let settings = Settings {
        mapping: Mapping {
            subset: Subset::First,
            ranks: loaded.network.graph.host_count(),
            shuffle: false,
        },
        pattern,
        seed: 1,
        level: None,
        path: PathChoice::First,
        fair: false,
        delay: DelayPaths::None,
        cables: CableCounts::None,
    };
    let spec = loaded.fabric().unwrap();
    static_check(
        spec,
        &loaded.network,
        &settings,
        Lengths::default(),
        runs_and_threads,
        Stop::never(),
    )
}

const ROW: &str = "fabric.topology={kind=\"mesh\", dimensions=[3], concentration=2}";
const KINDS: [&str; 2] = ["fabric.kind=hierarchical", "fabric.kind=voq"];

fn simulated(check: &Check) -> Vec<f64> {
    let level = check.levels.first().unwrap();
    level.connections.iter().map(|c| c.simulated).collect()
}

#[test]
fn a_connection_alone_has_the_link() {
    for kind in KINDS {
        let check = check(&[ROW, kind], "0 5\n").unwrap();
        let [share] = simulated(&check)[..] else {
            panic!()
        };
        assert!((share - 1.0).abs() < 0.01, "{kind}: {share}");
        assert!((0.8..=1.0).contains(&check.payload_efficiency));
        let ratio = check.levels[0].completion.ratio;
        assert!((1.0..1.1).contains(&ratio), "{kind}: {ratio}");
    }
}

#[test]
fn two_connections_share_a_cable() {
    for kind in KINDS {
        let check = check(&[ROW, kind], "0 2\n1 3\n").unwrap();
        for share in simulated(&check) {
            assert!((share - 0.5).abs() < 0.02, "{kind}: {share}");
        }
        assert!(check.by_congestion.errors.largest_absolute < 0.04);
        assert!(check.levels[0].completion.ratio < 1.1);
    }
}

/// SBT as published: a stream at the rate of the link starves the other VLs of its service level.
#[test]
fn a_scheduler_may_give_all_to_one() {
    let sbt = [ROW, "fabric.kind=hierarchical", "qos.scheduler=sbt"];
    let check = check(&sbt, "0 2\n1 3\n").unwrap();
    let mut shares = simulated(&check);
    shares.sort_by(f64::total_cmp);
    assert!(shares[0] < 0.01 && shares[1] > 0.99, "{shares:?}");
}

/// Three senders in a row to the same NIC: the last switch takes turns between its inputs, so that the two that come over
/// one cable share a turn. Max-min fairness would give each a third.
#[test]
fn a_parking_lot_is_not_fair() {
    for kind in KINDS {
        let check = check(&[ROW, kind], "0 4\n2 4\n5 4\n").unwrap();
        let shares = simulated(&check);
        let sum: f64 = shares.iter().sum();
        assert!((sum - 1.0).abs() < 0.02, "{kind}: {shares:?}");
        for (share, expected) in shares.iter().zip([0.25, 0.25, 0.5]) {
            assert!((share - expected).abs() < 0.03, "{kind}: {shares:?}");
        }
        let errors = check.by_fair_share.errors;
        assert!((errors.largest_absolute - 0.5).abs() < 0.1, "{errors:?}");
        assert_eq!(check.levels[0].connections[0].congestion, 3);
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let problem = |pairs| check(&[ROW], pairs).unwrap_err().to_string();
    assert!(problem("0 1 100\n").contains("bytes"));
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    let pattern = || Pattern::parse("rand").unwrap();
    let [one, two] = [1, 2].map(|threads| check_runs(&[ROW], pattern(), (3, threads)).unwrap());
    assert_eq!(one, two);
    let runs: Vec<u64> = one.levels.iter().map(|level| level.run).collect();
    assert_eq!((one.runs, &runs[..]), (3, &[0, 1, 2][..]));
    let first = check_runs(&[ROW], pattern(), (1, 1)).unwrap();
    assert_eq!(first.levels[..], one.levels[..1]);
    // The error of a run is of its means.
    let of_first = first.by_fair_share.simulated / first.by_fair_share.predicted - 1.0;
    assert!((first.over_runs.by_fair_share.mean - of_first).abs() < 1e-12);
    let spread = one.over_runs.by_fair_share;
    assert!(spread.least <= of_first && of_first <= spread.most);
    assert!(first.over_runs.by_congestion.half_width.is_none());
    assert!(spread.half_width.is_some());
}

#[test]
fn connections_are_rows_of_a_table_and_steps_of_a_figure() {
    let one = check(&[ROW, "fabric.kind=voq"], "0 5\n1 4\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_check_table(dir.path(), &[("a", &one)], crate::results::TableFormat::Csv).unwrap();
    let text = std::fs::read_to_string(dir.path().join("check.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "network,run,level,source,destination,congestion,share,fair_share,simulated"
    );
    assert!(lines[1].starts_with("a,0,0,n0,n5,2,0.5,0.5,0."), "{text}");
    assert_eq!(lines.len(), 3);
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    write_check_table(&empty, &[], crate::results::TableFormat::Csv).unwrap();
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    let figure = check_figure(&[("a", &one)]).unwrap();
    let crate::figure::Chart::Curves(curves) = figure.chart else {
        panic!("no curves");
    };
    // Both have what is predicted.
    let ends: Vec<[f64; 2]> = curves
        .panels
        .iter()
        .map(|panel| {
            let last = panel.lines[0].points.last().unwrap();
            [last.x.round(), last.y]
        })
        .collect();
    assert_eq!(ends, [[100.0, 100.0]; 2]);
    assert_eq!(check_figure(&[]), None);
}
