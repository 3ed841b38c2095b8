//! The pairs of patterns.

use flitwise::oblivious::{Given, Level, Pattern, Versus};
use flitwise::random::{Purpose, Stream};
use std::sync::Arc;

fn stream() -> Stream {
    Stream::new(1, Purpose::Pattern, [0, 0])
}

fn levels(pattern: &Pattern, ranks: u32) -> Vec<Vec<(u32, u32)>> {
    let mut level = Level::default();
    let all = (0..pattern.levels(ranks)).map(|l| {
        pattern.fill(l, ranks, &mut stream(), &mut level);
        level.pairs.iter().map(|p| (p.from, p.to)).collect()
    });
    all.collect()
}

fn named(name: &str, ranks: u32) -> Vec<Vec<(u32, u32)>> {
    levels(&Pattern::parse(name).unwrap(), ranks)
}

#[test]
fn the_tree_is_that_of_figure_6() {
    let tree = vec![
        vec![(0, 1)],
        vec![(0, 2), (1, 3)],
        vec![(0, 4), (1, 5), (2, 6), (3, 7)],
    ];
    assert_eq!(named("tree", 8), tree);
    assert_eq!(named("tree", 6)[2], [(0, 4), (1, 5)]);
    assert_eq!(named("tree", 1), Vec::<Vec<_>>::new());
}

#[test]
fn patterns_are_as_printed() {
    assert_eq!(named("bisect", 7), [[(1, 0), (3, 2), (5, 4)]]);
    assert_eq!(
        named("bisect_fb_sym", 4),
        [[(0, 1), (1, 0), (2, 3), (3, 2)]]
    );
    assert_eq!(
        named("bruck", 3),
        [[(0, 1), (1, 2), (2, 0)], [(0, 2), (1, 0), (2, 1)]]
    );
    assert_eq!(named("gather", 3), [[(1, 0), (2, 0)]]);
    assert_eq!(named("scatter", 3), [[(0, 1), (0, 2)]]);
    assert_eq!(named("ring", 3), [[(0, 1)], [(1, 2)], [(2, 0)]]);
    assert_eq!(named("null", 9), Vec::<Vec<_>>::new());
    assert_eq!(
        named("shift", 3),
        [[(0, 1), (1, 2), (2, 0)], [(0, 2), (1, 0), (2, 1)]]
    );
    assert_eq!(named("transpose", 5), [[(1, 2), (2, 1)]]);
    assert_eq!(named("alltoall", 3)[0].len(), 6);
}

/// Figure 2 for 8 ranks; with 6 ranks two ranks are beyond the power of two.
#[test]
fn recursive_doubling_exchanges_in_both_directions() {
    let eight = named("recdbl", 8);
    assert_eq!(eight.len(), 3);
    assert_eq!(eight[1][..4], [(0, 2), (2, 0), (1, 3), (3, 1)]);
    let six = named("recdbl", 6);
    assert_eq!(six.len(), 3);
    assert_eq!(six[2], [(0, 4), (1, 5)]);
}

#[test]
fn neighbours_are_mutual_and_at_most_x() {
    for (ranks, most) in [(5, 2), (9, 4), (20, 6), (3, 6), (1, 2)] {
        let pairs = named(&format!("{most}neighbor"), ranks);
        let pairs = pairs.first().cloned().unwrap_or_default();
        for &(from, to) in &pairs {
            assert!(pairs.contains(&(to, from)) && from != to);
        }
        for rank in 0..ranks {
            let own = pairs.iter().filter(|pair| pair.0 == rank).count();
            assert!(own <= most as usize, "{ranks} {most}");
        }
    }
    assert_eq!(named("2neighbor", 5)[0][..2], [(0, 1), (0, 2)]);
}

/// The example of section 2.5: scatter on four ranks and bisection on four.
#[test]
fn two_patterns_merge_level_by_level() {
    let versus = |first, second, ranks| {
        let [first, second] = [first, second].map(|name| Pattern::parse(name).unwrap());
        Pattern::Versus(Box::new(Versus {
            first,
            second,
            ranks,
        }))
    };
    let merged = levels(&versus("scatter", "bisect", 4), 8);
    assert_eq!(merged, [[(0, 1), (0, 2), (0, 3), (5, 4), (7, 6)]]);
    // The second begins again.
    let merged = levels(&versus("tree", "bisect", 4), 6);
    assert_eq!(merged, [vec![(0, 1), (5, 4)], vec![(0, 2), (1, 3), (5, 4)]]);
    // The first has ended.
    let merged = levels(&versus("bisect", "ring", 2), 5);
    assert_eq!(merged, [vec![(1, 0), (2, 3)], vec![(3, 4)], vec![(4, 2)]]);
    assert!(versus("bisect", "ring", 6).check(5).is_err());
}

#[test]
fn bytes_and_connections_do_not_add_up() {
    let check = |text: &str, second: Pattern| {
        let given = Given::parse("pairs.txt", text).unwrap();
        let versus = Versus {
            first: Pattern::Given(Arc::new(given)),
            second,
            ranks: 2,
        };
        Pattern::Versus(Box::new(versus)).check(4)
    };
    assert_eq!(check("0 1\n", Pattern::Shift), Ok(()));
    assert_eq!(check("0 1 5\n", Pattern::Null), Ok(()));
    let error = check("0 1 5\n", Pattern::Shift).unwrap_err();
    assert!(
        error.contains("pairs.txt has bytes and shift has none"),
        "{error}"
    );
}

#[test]
fn random_patterns_are_permutations_or_spare_themselves() {
    let mut targets: Vec<u32> = named("rand", 50)[0].iter().map(|pair| pair.1).collect();
    targets.sort_unstable();
    assert!(targets.into_iter().eq(0..50));
    assert!(
        named("uniform", 50)[0]
            .iter()
            .all(|pair| pair.0 != pair.1 && pair.1 < 50)
    );
}

#[test]
fn names_are_read_back() {
    for name in Pattern::names().into_iter().chain(["3neighbor", "shift:7"]) {
        assert_eq!(Pattern::parse(name).unwrap().to_string(), name);
    }
    for wrong in ["", "neighbor", "0neighbor", "shift:", "Bisect"] {
        assert!(Pattern::parse(wrong).unwrap_err().contains("bisect_fb_sym"));
    }
}

#[test]
fn wrong_lines_are_named() {
    for (text, line, part) in [
        ("", 1, "no pair"),
        ("0 1\n1\n", 2, "alone"),
        ("0 1\n\n1 x\n", 3, "\"x\""),
        ("0 1 5\n1 2\n", 2, "some lines only"),
        ("0 1\n2 2\n", 2, "itself"),
        ("0 1 2 3\n", 1, "follows"),
        ("0 99999999\n", 1, "below"),
        ("0 1 0\n", 1, "above 0"),
    ] {
        let error = Given::parse("f", text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}");
        assert!(error.problem.contains(part), "{error}");
    }
}

#[test]
fn a_derangement_is_a_permutation_without_fixed_points() {
    let pattern = Pattern::Derangement;
    let mut stream = stream();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut level = Level::default();
        pattern.fill(0, 5, &mut stream, &mut level);
        let mut targets: Vec<u32> = level.pairs.iter().map(|pair| pair.to).collect();
        assert!(level.pairs.iter().all(|pair| pair.from != pair.to));
        assert!((0..).zip(&level.pairs).all(|(at, pair)| pair.from == at));
        seen.insert(targets.clone());
        targets.sort_unstable();
        assert_eq!(targets, [0, 1, 2, 3, 4]);
    }
    // All 44 of five ranks come up.
    assert_eq!(seen.len(), 44);
    assert_eq!(levels(&pattern, 2), [[(0, 1), (1, 0)]]);
}
