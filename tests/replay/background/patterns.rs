//! The destinations of NICs by pattern.

use flitwise::fabric::ids::NicId;
use flitwise::fabric::topology::{Arrangement, DragonflySize, Topology};
use flitwise::replay::background::{Pattern, Sender, Target};
use flitwise::units::Ratio;

fn to(pattern: &Pattern, topology: &Topology) -> Vec<u32> {
    // A NIC that sends nothing stands for itself.
    let mut all: Vec<u32> = (0..topology.nics()).collect();
    for Sender { nic, target } in pattern.senders(topology, 1, 0).unwrap() {
        assert_ne!(target, Target::Nic(nic));
        all[nic.index()] = match target {
            Target::Nic(nic) => nic.get(),
            Target::Uniform { .. } => u32::MAX,
        };
    }
    all
}

fn single(nics: u32) -> Topology {
    Topology::single(nics).unwrap()
}

fn refused(pattern: &Pattern, topology: &Topology) -> String {
    pattern.senders(topology, 1, 0).unwrap_err().to_string()
}

#[test]
fn patterns_on_bits() {
    let eight = &single(8);
    // b2 b1 b0 → b0 b1 b2
    assert_eq!(to(&Pattern::BitReversal, eight), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(to(&Pattern::BitComplement, eight), [7, 6, 5, 4, 3, 2, 1, 0]);
    // b2 b1 b0 → b1 b0 b2
    assert_eq!(to(&Pattern::Shuffle, eight), [0, 2, 4, 6, 1, 3, 5, 7]);
    let two = &single(2);
    let none = Pattern::List([0, 1].map(NicId::new).to_vec());
    for pattern in [Pattern::BitReversal, Pattern::Shuffle, none] {
        let why = refused(&pattern, two);
        assert!(why.contains("leads each NIC back to itself"), "{why}");
    }
    for pattern in [
        Pattern::BitReversal,
        Pattern::BitComplement,
        Pattern::Shuffle,
    ] {
        let why = refused(&pattern, &single(48));
        assert!(
            why.contains("power of two") && why.contains("take 32"),
            "{why}"
        );
    }
}

#[test]
fn transpose_swaps_coordinates() {
    assert_eq!(
        to(&Pattern::Transpose, &single(9)),
        [0, 3, 6, 1, 4, 7, 2, 5, 8]
    );
    // With 2^(2b) NICs the halves of the number are swapped.
    let sixteen = to(&Pattern::Transpose, &single(16));
    assert!((0..16).all(|x| sixteen[x as usize] == (x >> 2 | (x & 3) << 2)));
    let why = refused(&Pattern::Transpose, &single(48));
    assert!(why.contains("square") && why.contains("take 36"), "{why}");
}

#[test]
fn tornado_goes_half_round_each_ring() {
    // 5 x 2 switches of 2 NICs: 2 further in the first dimension, 0 in the other.
    let torus = Topology::cube(&[5, 2], true, 2, 1, None).unwrap();
    let to = to(&Pattern::Tornado, &torus);
    for nic in 0..20 {
        let (switch, port) = (nic / 2, nic % 2);
        let (x, y) = (switch % 5, switch / 5);
        assert_eq!(to[nic as usize], ((x + 2) % 5 + 5 * y) * 2 + port);
    }
    let why = refused(&Pattern::Tornado, &single(48));
    assert!(why.contains("{ neighbour = 23 }"), "{why}");
    let part = Topology::cube(&[5, 2], true, 2, 1, Some(19)).unwrap();
    assert!(refused(&Pattern::Tornado, &part).contains("leave out `hosts`"));
    let flat = Topology::cube(&[2, 2], true, 1, 1, None).unwrap();
    assert!(refused(&Pattern::Tornado, &flat).contains("at least 3"));
}

#[test]
fn neighbours_at_any_offset() {
    let neighbour = |offset| to(&Pattern::Neighbour { offset }, &single(5));
    assert_eq!(neighbour(1), [1, 2, 3, 4, 0]);
    assert_eq!(neighbour(-2), [3, 4, 0, 1, 2]);
    assert_eq!(neighbour(7), neighbour(2));
    for offset in [0, 5, -10] {
        let why = refused(&Pattern::Neighbour { offset }, &single(5));
        assert!(why.contains("no multiple of 5"), "{why}");
    }
}

#[test]
fn a_hotspot_draws_its_senders() {
    let hotspot = |node, num, seed| {
        let node = NicId::new(node);
        let fraction = Ratio::new(num, 10).unwrap();
        Pattern::Hotspot { node, fraction }.senders(&single(41), seed, 0)
    };
    let first = hotspot(7, 1, 1).unwrap();
    let target = Target::Nic(NicId::new(7));
    let hot = |list: &[Sender]| list.iter().filter(|s| s.target == target).count();
    assert_eq!(hot(&first), 4);
    let itself = Sender {
        nic: NicId::new(7),
        target: Target::Uniform { planes: 1 },
    };
    assert_eq!(first[7], itself);
    assert_eq!(first.len(), 41);
    assert_ne!(first, hotspot(7, 1, 2).unwrap());
    assert_eq!(hot(&hotspot(7, 10, 1).unwrap()), 40);
    assert!(
        hotspot(41, 1, 1)
            .unwrap_err()
            .to_string()
            .contains("NIC 41")
    );
    assert!(
        hotspot(7, 0, 1)
            .unwrap_err()
            .to_string()
            .contains("at least one")
    );
    assert!(
        hotspot(7, 11, 1)
            .unwrap_err()
            .to_string()
            .contains("at most 1")
    );
}

#[test]
fn permutations() {
    for nics in [2, 3, 48] {
        let random = to(&Pattern::Permutation, &single(nics));
        assert!((0..).zip(&random).all(|(x, &y)| x != y));
        let mut sorted = random;
        sorted.sort_unstable();
        assert!((0..nics).eq(sorted));
    }
    let per_seed = |seed| Pattern::Permutation.senders(&single(48), seed, 0);
    assert_ne!(per_seed(1), per_seed(2));
    let list = |list: &[u32]| Pattern::List(list.iter().copied().map(NicId::new).collect());
    assert_eq!(to(&list(&[2, 1, 0]), &single(3)), [2, 1, 0]);
    assert!(refused(&list(&[1, 0]), &single(3)).contains("lists 2 NICs"));
    assert!(refused(&list(&[1, 1, 0]), &single(3)).contains("NIC 1 is listed twice"));
    assert!(refused(&list(&[1, 3, 0]), &single(3)).contains("NIC 3 does not exist"));
}

#[test]
fn a_pair_leaves_the_others_silent() {
    let pair = |from, to| Pattern::Pair {
        from: NicId::new(from),
        to: NicId::new(to),
    };
    assert_eq!(to(&pair(1, 3), &single(4)), [0, 3, 2, 3]);
    assert!(refused(&pair(1, 1), &single(4)).contains("sends to itself"));
    assert!(refused(&pair(4, 1), &single(4)).contains("NIC 4 does not exist"));
    assert!(refused(&Pattern::Uniform, &single(1)).contains("at least 2 NICs"));
}

/// Five groups of two switches with two NICs each, of which `hosts` NICs are there.
fn dragonfly(hosts: Option<u32>) -> Topology {
    let size = DragonflySize {
        p: 2,
        a: 2,
        h: 2,
        groups: None,
    };
    Topology::dragonfly(size, Arrangement::default(), hosts).unwrap()
}

#[test]
fn a_group_shift_keeps_the_place_in_the_group() {
    let all = dragonfly(None);
    for (shift, nics) in [(1, 4), (6, 4), (2, 8), (-1, 16)] {
        let expected: Vec<u32> = (0..20).map(|x| (x + nics) % 20).collect();
        assert_eq!(
            to(&Pattern::GroupShift { shift }, &all),
            expected,
            "{shift}"
        );
    }
    // Of three groups with NICs the last one sends to the first.
    let expected: Vec<u32> = (0..12).map(|x| (x + 4) % 12).collect();
    assert_eq!(
        to(&Pattern::GroupShift { shift: 1 }, &dragonfly(Some(12))),
        expected
    );
    // Rows of a torus.
    let torus = Topology::cube(&[3, 4], true, 2, 1, None).unwrap();
    let expected: Vec<u32> = (0..24).map(|x| (x + 6) % 24).collect();
    assert_eq!(to(&Pattern::GroupShift { shift: 1 }, &torus), expected);
}

#[test]
fn a_group_shift_needs_equal_groups() {
    let refused = |topology: &Topology, shift| refused(&Pattern::GroupShift { shift }, topology);
    let none = refused(&Topology::single(8).unwrap(), 1);
    assert!(none.contains("this topology has none"), "{none}");
    for shift in [0, 5, -10] {
        let own = refused(&dragonfly(None), shift);
        assert!(own.contains("no multiple of 5"), "{own}");
    }
    let unequal = refused(&dragonfly(Some(10)), 1);
    assert!(unequal.contains("groups of 4 and 2 NICs"), "{unequal}");
}

/// On planes a pattern holds on each: NIC x is NIC ⌊x / planes⌋ of plane x mod planes.
#[test]
fn a_pattern_holds_on_each_plane() {
    let planes = single(4).in_planes(3).unwrap();
    let all = |pattern: &Pattern| to(pattern, &planes);
    assert_eq!(
        all(&Pattern::BitComplement),
        [9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2]
    );
    assert_eq!(
        all(&Pattern::Neighbour { offset: 1 }),
        [3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2]
    );
    for seed in 0..20 {
        let senders = Pattern::Permutation.senders(&planes, seed, 0).unwrap();
        let mut drawn: Vec<u32> = Vec::new();
        for Sender { nic, target } in senders {
            let Target::Nic(to) = target else {
                panic!("{target:?}")
            };
            assert_eq!(nic.get() % 3, to.get() % 3);
            drawn.push(to.get());
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (0..12).collect::<Vec<_>>());
    }
    let node = NicId::new(4);
    let hotspot = Pattern::Hotspot {
        node,
        fraction: Ratio::ONE,
    };
    let hot = all(&hotspot);
    assert!(
        (0..12).all(|x| (hot[x] == 4) == (x % 3 == 1 && x != 4)),
        "{hot:?}"
    );
    let senders = Pattern::Uniform.senders(&planes, 1, 0).unwrap();
    assert!(
        senders
            .iter()
            .all(|sender| sender.target == Target::Uniform { planes: 3 })
    );
    let pair = Pattern::Pair {
        from: node,
        to: NicId::new(5),
    };
    assert!(refused(&pair, &planes).contains("multiple of 3"));
    let alone = single(1).in_planes(2).unwrap();
    assert!(refused(&Pattern::Uniform, &alone).contains("at least 2 NICs on each rail"));
}
