//! The publication's Tables 5, 6, 9 and 10.

use super::*;

pub(in crate::qos) fn sl(name: &str, distance: u32, mtu: u32, share: &str) -> DTableSl {
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
pub(in crate::qos) fn table_9(shares: [&str; 5]) -> DTableParameters {
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
fn table_6_entry_by_entry() {
    let sls = [
        sl("0", 2, 1, "0.5"),
        sl("1", 4, 1, "0.25"),
        sl("2", 4, 1, "0.25"),
    ];
    let layout = lay_out(8, &sls).unwrap();
    assert_eq!(layout, [0, 1, 0, 2, 0, 1, 0, 2]);
    let weights = [4, 2, 4, 3, 4, 2, 4, 3];
    let mut entries: Vec<_> = layout
        .iter()
        .zip(weights)
        .map(|(&sl, weight)| DTableEntry { sl, weight })
        .collect();
    for (sl, change) in [(0, -3), (1, 1), (2, 2)] {
        assert_eq!(correct(&mut entries, sl, change, 1), 0);
    }
    let corrected: Vec<u32> = entries.iter().map(|e| e.weight).collect();
    assert_eq!(corrected, [4, 2, 3, 4, 3, 3, 3, 4]);
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
fn correction_stops_at_the_mtu() {
    let mut entries = vec![
        DTableEntry { sl: 0, weight: 5 },
        DTableEntry { sl: 0, weight: 4 },
    ];
    assert_eq!(correct(&mut entries, 0, -4, 4), -3);
    assert_eq!(entries, [DTableEntry { sl: 0, weight: 4 }; 2]);
}

#[test]
fn what_cannot_be_built_says_why() {
    let mut p = table_9(SHARES);
    p.service_levels[2].share = "0.6".parse().unwrap();
    assert!(build(&p).unwrap_err().to_string().contains("add up to 1.1"));
    p.service_levels[1].share = "0.2".parse().unwrap();
    assert!(
        build(&p)
            .unwrap_err()
            .to_string()
            .contains("outside 0.03125 to 0.5")
    );

    let mut p = table_9(SHARES);
    p.service_levels[4].distance = 32;
    assert!(
        build(&p)
            .unwrap_err()
            .to_string()
            .contains("leave 4 of 128 entries empty")
    );
    p.service_levels[4].distance = 5;
    assert!(
        build(&p)
            .unwrap_err()
            .to_string()
            .contains("does not divide")
    );
    p.service_levels[4].distance = 4;
    assert!(build(&p).unwrap_err().to_string().contains("no room for"));

    let mut p = table_9(SHARES);
    p.k = 9;
    assert!(build(&p).unwrap_err().to_string().contains("1 <= k <= w"));
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
