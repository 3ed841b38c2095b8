//! Tests the proposals against the formulas and against exhaustive search.

use super::*;
use crate::qos::dtable_table::Shortfall;
use crate::qos::dtable_table::tests::{sl, table_9};
use flitwise_base::units::Ratio;

fn distances(p: &DTableParameters) -> Vec<u32> {
    p.service_levels.iter().map(|sl| sl.distance).collect()
}

#[test]
fn a_share_above_its_range_gets_a_larger_w_or_a_shorter_distance() {
    let p = table_9(["0.1", "0.2", "0.6", "0.05", "0.05"]);
    let table = construct(&p).unwrap();
    assert_eq!(table.shortfalls(), [Shortfall::AboveRange(2)]);
    let found = propose(&p);
    let changes: Vec<Change> = found.iter().map(|f| f.change).collect();
    assert_eq!(changes, [Change::Weights, Change::Distances]);
    // k ≥ max MTU / (distance × GMTU × φ) = 1/16 / 0.05 = 1.25; w ≥ 0.6 × 8 × 2 = 9.6.
    let weights = &found[0].parameters;
    assert_eq!((weights.k, weights.w), (2, 10));
    assert_eq!(distances(weights), distances(&p));
    // CL at 4 needs VI at 8: one doubling, one halving.
    let other = &found[1].parameters;
    assert_eq!((other.k, other.w), (2, 8));
    assert_eq!(distances(other), [2, 8, 4, 16, 16]);
}

#[test]
fn a_share_below_its_range_gets_a_larger_k() {
    let p = table_9(["0.1", "0.35", "0.5", "0.04", "0.01"]);
    let table = construct(&p).unwrap();
    assert_eq!(table.shortfalls(), [Shortfall::BelowRange(4)]);
    let found = propose(&p);
    // k ≥ 1/16 / 0.01 = 6.25; w ≥ 0.5 × 8 × 7 = 28.
    assert_eq!((found[0].parameters.k, found[0].parameters.w), (7, 28));
    assert_eq!(found[0].change, Change::Weights);
}

#[test]
fn both_are_changed_only_if_neither_alone_is_enough() {
    // At distance 2, A needs k >= 16 / 0.0157 / 2 = 510, and B then w >= 0.51 x 16 x 510,
    // above 4096. With k = 1 no distance of A is long enough. At distance 16, A needs
    // k >= 63.7, and then F at distance 4 needs w >= 0.4713 x 4 x 64 = 120.7.
    let p = DTableParameters {
        entries: 16,
        gmtu: 1,
        w: 16,
        k: 1,
        service_levels: vec![
            sl("A", 2, 16, "0.0157"),
            sl("B", 16, 1, "0.51"),
            sl("C", 4, 1, "0.001"),
            sl("D", 16, 1, "0.001"),
            sl("E", 16, 1, "0.001"),
            sl("F", 16, 1, "0.4713"),
        ],
    };
    assert_eq!((other_weights(&p), other_distances(&p)), (None, None));
    let found = propose(&p);
    assert_eq!(found.len(), 1);
    let q = &found[0].parameters;
    assert_eq!((found[0].change, q.w, q.k), (Change::Both, 121, 64));
    assert_eq!(distances(q), [16, 2, 16, 16, 16, 4]);
    assert!(found[0].table.shortfalls().is_empty());
}

#[test]
fn what_no_setting_reaches_is_not_proposed() {
    let p = table_9(["0.1", "0.3", "0.5", "0.0999999", "0.0000001"]);
    assert!(propose(&p).is_empty());
}

/// Every combination of distances of a small table, in the order of cost.
#[test]
fn distances_are_the_cheapest_of_all() {
    let mut seed = 7_u64;
    let mut below = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut found = 0;
    for _ in 0..300 {
        let a = 1 + below(98);
        let b = 1 + below(99 - a);
        let share = |n| Ratio::new(n, 100).unwrap();
        let w = 1 + below(8) as u32;
        let k = 1 + below(w.into()) as u32;
        let mut p = DTableParameters {
            entries: 16,
            gmtu: 4,
            w,
            k,
            service_levels: vec![
                sl("A", 2, 1 + below(4) as u32, "1"),
                sl("B", 4, 1 + below(4) as u32, "1"),
                sl("C", 4, 1 + below(4) as u32, "1"),
            ],
        };
        for (sl, n) in p.service_levels.iter_mut().zip([a, b, 100 - a - b]) {
            sl.share = share(n);
        }
        let mut cheapest: Option<u64> = None;
        for code in 0..125_usize {
            let tried = [code % 5, code / 5 % 5, code / 25].map(|e| 1_u32 << e);
            let fills = tried.iter().map(|d| 16 / d).sum::<u32>() == 16;
            let q = with_distances(&p, &tried);
            let fits = (0..3).all(|i| in_range(&q, i, tried[i]));
            if fills && fits {
                // The formula of the range agrees with the table that is built.
                let table = construct(&q).unwrap();
                let outside = |s: &Shortfall| !matches!(s, Shortfall::Uncorrected(_));
                assert!(!table.shortfalls().iter().any(outside));
                let total = (0..3)
                    .map(|i| cost(p.service_levels[i].distance, tried[i]))
                    .sum();
                cheapest = Some(cheapest.map_or(total, |c: u64| c.min(total)));
            }
        }
        let best = best_distances(&p).map(|d| {
            (0..3)
                .map(|i| cost(p.service_levels[i].distance, d[i]))
                .sum::<u64>()
        });
        assert_eq!(best, cheapest, "{p:?}");
        found += u32::from(best.is_some());
        // No smaller k or w does it with the same distances.
        if let Some(proposal) = other_weights(&p) {
            let (w, k) = (proposal.parameters.w, proposal.parameters.k);
            for (w, k) in (1..=k).flat_map(|k2| (k2..=w).map(move |w2| (w2, k2))) {
                if (k, w) < (proposal.parameters.k, proposal.parameters.w) {
                    let smaller = DTableParameters { w, k, ..p.clone() };
                    assert!(
                        verified(Change::Weights, smaller).is_none(),
                        "w {w} k {k} {p:?}"
                    );
                }
            }
        }
    }
    assert!(found > 30, "{found}");
}
