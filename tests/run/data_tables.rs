//! Parts that tables of data share: rows on disk, and the intervals of means.

use flitwise::figure::tables::{NONE, Row, Spool, batch_means};
use flitwise::results::interval_95;

#[test]
fn what_is_pushed_can_be_read_twice_and_disappears() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(&dir.path().join("a")).unwrap();
    let row = |ticks| Row {
        ticks,
        key: [1, NONE, 1 << 31],
        values: [u64::MAX, ticks << 40],
    };
    (1..=5000).for_each(|ticks| spool.push(&row(ticks)).unwrap());
    spool.close().unwrap();
    assert!(spool.push(&row(1)).is_err());
    for _ in 0..2 {
        let rows: Vec<Row> = spool.rows().unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, (1..=5000).map(row).collect::<Vec<_>>());
    }
    drop(spool);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn intervals_are_students() {
    // Mean 2, deviation 1: 4.303 / √3.
    let of = interval_95(&[1.0, 2.0, 3.0]).unwrap();
    assert_eq!((of.mean, of.values), (2.0, 3));
    assert!((of.half_width - 4.303 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(interval_95(&[1.0]), None);
    // Half of them 0 and half 2: quantiles of tables for 31, 39, 119 and 999 degrees of freedom.
    for (count, t) in [(32, 2.0395), (40, 2.0227), (120, 1.9801), (1000, 1.9623)] {
        let values: Vec<f64> = (0..count).map(|at| f64::from(at % 2 * 2)).collect();
        let error = 1.0 / f64::from(count - 1).sqrt();
        let found = interval_95(&values).unwrap().half_width / error;
        assert!((found - t).abs() < 6e-4, "{found} of {count}");
    }
    assert_eq!(interval_95(&[5.0; 40]).unwrap().half_width, 0.0);
}

#[test]
fn correlated_batches_are_merged() {
    let alternating: Vec<f64> = (0..32).map(|i| f64::from(i % 2)).collect();
    assert_eq!(batch_means(&alternating).unwrap().values, 32);
    // Correlated in pairs: independent once merged.
    let of = |i: i32| f64::from(i / 2 % 2);
    let pairs: Vec<f64> = (0..32).map(of).collect();
    assert_eq!(batch_means(&pairs).unwrap().values, 32);
    let of = |i: i32| f64::from(i / 4 % 2);
    let fours: Vec<f64> = (0..32).map(of).collect();
    assert_eq!(batch_means(&fours).unwrap().values, 16);
    let growing: Vec<f64> = (0..32).map(f64::from).collect();
    assert_eq!(batch_means(&growing), None);
    assert_eq!(batch_means(&[1.0; 4]), None);
}
