//! Arbitration tables: the publication's Tables 5, 9 and 10, and proposals against the formulas and against exhaustive
//! search.

use flitwise::fabric::qos::dtable_proposal::{Change, propose};
use flitwise::fabric::qos::dtable_table::{
    DTableParameters, DTableSl, MAX_ENTRIES, MAX_W, Shortfall, build, construct,
};
use flitwise::units::Ratio;

fn sl(name: &str, distance: u32, mtu: u32, share: &str) -> DTableSl {
    DTableSl {
        name: name.into(),
        distance,
        mtu,
        share: share.parse().unwrap(),
    }
}

fn near(ratio: Ratio, printed: f64) -> bool {
    (ratio.to_f64() - printed).abs() <= 0.000_005 + 1e-12
}

/// Table 5: N = 128, GMTU = 3, w = 4, k = 3; φ as the text means it.
fn table_5() -> DTableParameters {
    DTableParameters {
        entries: 128,
        gmtu: 3,
        w: 4,
        k: 3,
        service_levels: vec![
            sl("0", 2, 1, "0.3334"),
            sl("1", 4, 2, "0.3333"),
            sl("2", 4, 3, "0.3333"),
        ],
    }
}

/// The shares of table 9.
const SHARES: [&str; 5] = ["0.1", "0.3", "0.5", "0.05", "0.05"];

/// Table 9, N = 128, GMTU = 16, w = 8, k = 2, with these shares.
fn table_9(shares: [&str; 5]) -> DTableParameters {
    let [vo, vi, cl, be, bk] = shares;
    DTableParameters {
        entries: 128,
        gmtu: 16,
        w: 8,
        k: 2,
        service_levels: vec![
            sl("VO", 2, 2, vo),
            sl("VI", 4, 4, vi),
            sl("CL", 8, 8, cl),
            sl("BE", 16, 16, be),
            sl("BK", 16, 16, bk),
        ],
    }
}

#[test]
fn table_5_every_column() {
    let table = build(&table_5()).unwrap();
    assert_eq!(
        (table.pool, table.weight_sum, table.final_sum),
        (1152, 1216, 1215)
    );
    // n, minφ, maxφ, E.W., Tweight, Σ weight, Rφ, Rφ − φ, Dweight, Fweight
    let printed = [
        (
            64, 0.05556, 0.66667, 7, "384.0768", 448, 0.36842, 0.03502, -43, 405,
        ),
        (
            32, 0.05556, 0.33333, 12, "383.9616", 384, 0.31579, -0.01751, 21, 405,
        ),
        (
            32, 0.08333, 0.33333, 12, "383.9616", 384, 0.31579, -0.01751, 21, 405,
        ),
    ];
    for (c, p) in table.columns.iter().zip(printed) {
        assert_eq!(c.entries, p.0);
        assert!(near(c.min_share, p.1) && near(c.max_share, p.2), "{c:?}");
        assert_eq!(
            (
                c.entry_weight,
                c.target_weight.to_string().as_str(),
                c.weight
            ),
            (p.3, p.4, p.5)
        );
        assert!(near(c.real_share, p.6), "{c:?}");
        assert!((c.difference() - p.7).abs() < 0.000_005, "{c:?}");
        assert_eq!((c.correction, c.uncorrected, c.final_weight), (p.8, 0, p.9));
        assert!(near(c.final_share, 0.33333));
    }
}

#[test]
fn table_9_ranges() {
    let table = build(&table_9(SHARES)).unwrap();
    let printed = [(64, 2), (32, 1), (16, 2), (8, 4), (8, 4)];
    for (i, (c, (entries, max))) in table.columns.iter().zip(printed).enumerate() {
        assert_eq!(c.entries, entries);
        assert_eq!(c.min_share, Ratio::new(1, 32).unwrap());
        let max = if i < 2 {
            Ratio::whole(max)
        } else {
            Ratio::new(1, max).unwrap()
        };
        assert_eq!(c.max_share, max);
    }
    assert_eq!((table.pool, table.max_entry_weight), (4096, 128));
}

#[test]
fn table_10_weights() {
    let table = build(&table_9(SHARES)).unwrap();
    let totals: Vec<u64> = table.columns.iter().map(|c| c.final_weight).collect();
    assert_eq!(totals, [416, 1248, 2080, 208, 208]);
    assert_eq!((table.weight_sum, table.final_sum), (4160, 4160));
    let corrections: Vec<i64> = table.columns.iter().map(|c| c.correction).collect();
    assert_eq!(corrections, [-32, 0, 32, 0, 0]);
    let of = |sl: u8| -> Vec<u32> {
        table
            .entries
            .iter()
            .filter(|e| e.sl == sl)
            .map(|e| e.weight)
            .collect()
    };
    // "the first 32 table entries have a weight of 7 and the next 32 a weight of 6"
    let voice = of(0);
    assert!(voice[..32].iter().all(|&w| w == 7) && voice[32..].iter().all(|&w| w == 6));
    for (sl, weight) in [(1, 39), (2, 130), (3, 26), (4, 26)] {
        assert!(of(sl).iter().all(|&w| w == weight));
    }
    for (c, share) in table
        .columns
        .iter()
        .zip(["0.1", "0.3", "0.5", "0.05", "0.05"])
    {
        assert_eq!(c.final_share.to_string(), share);
    }
}

#[test]
fn what_cannot_be_built_says_why() {
    let changed = |change: &dyn Fn(&mut DTableParameters)| {
        let mut p = table_9(SHARES);
        change(&mut p);
        build(&p).unwrap_err().to_string()
    };
    let shares = |cl: &str, vi: &str| {
        changed(&|p| {
            p.service_levels[2].share = cl.parse().unwrap();
            p.service_levels[1].share = vi.parse().unwrap();
        })
    };
    let last = |distance| changed(&|p| p.service_levels[4].distance = distance);
    for (error, part) in [
        (shares("0.6", "0.3"), "add up to 1.1"),
        (shares("0.6", "0.2"), "outside 0.03125 to 0.5"),
        (last(32), "leave 4 of 128 entries empty"),
        (last(5), "does not divide"),
        (last(4), "no room for"),
        (changed(&|p| p.k = 9), "1 <= k <= w"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}

/// One entry that takes nearly the whole correction, and weights at their limit.
#[test]
fn the_largest_tables_take_no_time_and_do_not_overflow() {
    let mut p = DTableParameters {
        entries: MAX_ENTRIES,
        gmtu: 1,
        w: MAX_W,
        k: 1,
        service_levels: (1..16)
            .map(|i| sl(&format!("{i}"), 1 << i, 1, "0.00001"))
            .collect(),
    };
    p.service_levels.push(sl("fifteen", 1 << 15, 1, "0.99985"));
    let start = std::time::Instant::now();
    let table = construct(&p).unwrap();
    assert!(
        table.columns[15].correction > 30_000,
        "{:?}",
        table.columns[15]
    );
    assert!(start.elapsed().as_secs() < 2);
    p.gmtu = 1 << 16;
    p.k = MAX_W;
    let e = construct(&p).unwrap_err().to_string();
    assert!(e.contains("more than 1073741824"), "{e}");
}

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

/// The cost of new distances: doublings that lengthen one weigh more than any number that shorten others.
fn cost(old: &[u32], new: &[u32]) -> u64 {
    let each = old.iter().zip(new).map(|(&old, &new)| {
        let (longer, shorter) = (new.div_ceil(old).ilog2(), old.div_ceil(new).ilog2());
        (u64::from(longer) << 16) + u64::from(shorter)
    });
    each.sum()
}

/// Every combination of distances of a small table, and all smaller weights.
#[test]
fn proposals_are_the_cheapest_of_all() {
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
            sl.share = Ratio::new(n, 100).unwrap();
        }
        // The combinations whose shares are in range: the cost, and whether a correction is left over.
        let mut in_range: Vec<(u64, bool)> = Vec::new();
        for code in 0..125_usize {
            let tried = [code % 5, code / 5 % 5, code / 25].map(|e| 1_u32 << e);
            let mut q = p.clone();
            for (sl, distance) in q.service_levels.iter_mut().zip(tried) {
                sl.distance = distance;
            }
            let Ok(table) = construct(&q) else { continue };
            let shortfalls = table.shortfalls();
            let is_rest = |s: &Shortfall| matches!(s, Shortfall::Uncorrected(_));
            if shortfalls.iter().all(is_rest) {
                in_range.push((cost(&distances(&p), &tried), !shortfalls.is_empty()));
            }
        }
        let cheapest = in_range.iter().map(|&(cost, _)| cost).min();
        let proposals = propose(&p);
        let of = |change| proposals.iter().find(|found| found.change == change);
        match of(Change::Distances) {
            Some(best) => {
                let cost = cost(&distances(&p), &distances(&best.parameters));
                assert_eq!(Some(cost), cheapest, "{p:?}");
                found += 1;
            }
            // The cheapest combination may leave a correction over.
            None => assert!(
                cheapest.is_none_or(|least| in_range.contains(&(least, true))),
                "{p:?}"
            ),
        }
        // No smaller k or w does it with the same distances.
        if let Some(proposal) = of(Change::Weights) {
            let (least_w, least_k) = (proposal.parameters.w, proposal.parameters.k);
            let smaller = (1..=least_k).flat_map(|k| (k..=least_w).map(move |w| (k, w)));
            for (k, w) in smaller.filter(|&pair| pair < (least_k, least_w)) {
                let table = construct(&DTableParameters { w, k, ..p.clone() });
                let reaches = table.is_ok_and(|table| table.shortfalls().is_empty());
                assert!(!reaches, "w {w} k {k} {p:?}");
            }
        }
    }
    assert!(found > 30, "{found}");
}
