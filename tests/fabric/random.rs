//! The random streams of a run: each of its own, even, and the same forever.

use flitwise::random::{Purpose, Stream};

fn first(seed: u64, purpose: Purpose, component: [u64; 2]) -> u64 {
    Stream::new(seed, purpose, component).bits()
}

#[test]
fn streams_differ_in_every_part_of_their_name() {
    let base = first(1, Purpose::Background, [0, 0]);
    assert_eq!(base, first(1, Purpose::Background, [0, 0]));
    assert_ne!(base, first(2, Purpose::Background, [0, 0]));
    assert_ne!(base, first(1, Purpose::Placement, [0, 0]));
    assert_ne!(base, first(1, Purpose::Background, [1, 0]));
    assert_ne!(base, first(1, Purpose::Background, [0, 1]));
    assert_ne!(
        first(1, Purpose::Background, [0, 1]),
        first(1, Purpose::Background, [1, 0])
    );
}

#[test]
fn the_numbers_never_change() {
    // Every result depends on these numbers: a change here changes all results.
    let mut stream = Stream::new(1, Purpose::Background, [0, 0]);
    let numbers: Vec<u64> = (0..4).map(|_| stream.below(1000)).collect();
    assert_eq!(numbers, [607, 388, 340, 238]);
}

#[test]
fn below_is_even() {
    let mut stream = Stream::new(7, Purpose::Background, [0, 0]);
    let mut counts = [0_u32; 7];
    for _ in 0..70_000 {
        counts[stream.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)));
    // A range just above half of 2^64 rejects often; its mean stays in the middle.
    let n = (1_u64 << 63) + 1;
    let above = (0..10_000).filter(|_| stream.below(n) > n / 2).count();
    assert!((4_700..5_300).contains(&above));
    assert_eq!(stream.below(1), 0);
    assert_eq!(stream.below(0), 0);
}

#[test]
fn wide_ranges_are_even_and_bounded() {
    let mut stream = Stream::new(7, Purpose::Background, [0, 0]);
    let n = 3_u128 << 70;
    let draws: Vec<u128> = (0..9_000).map(|_| stream.below_wide(n)).collect();
    assert!(draws.iter().all(|&x| x < n));
    let low = draws.iter().filter(|&&x| x < n / 3).count();
    assert!((2_700..3_300).contains(&low));
    assert!(stream.below_wide(u128::MAX) < u128::MAX);
    assert_eq!(stream.below_wide(1), 0);
}

#[test]
fn shuffle_reaches_every_order() {
    let mut stream = Stream::new(3, Purpose::Placement, [0, 0]);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let mut items = [0, 1, 2];
        stream.shuffle(&mut items);
        *counts.entry(items).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|&c| (850..1150).contains(&c)));
}
