//! Random small topologies.

use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::topology::{Arrangement, DragonflySize, KnsSize, MegaflySize, Topology};
use proptest::collection::vec;
use proptest::prelude::*;

/// A small topology of any family.
pub fn topology() -> BoxedStrategy<Topology> {
    let single = (1u32..=12).prop_map(|nics| Topology::single(nics).unwrap());
    let dimensions = prop_oneof![
        4 => vec(2u32..=4, 1..=2),
        2 => vec(2u32..=3, 3..=3),
        2 => (5u32..=6).prop_map(|ring| vec![ring]),
        1 => (5u32..=6, 2u32..=3, any::<bool>()).prop_map(|(long, short, first)| {
            if first { vec![long, short] } else { vec![short, long] }
        }),
    ];
    // The last slots may be empty, down to a single NIC.
    let empty = prop_oneof![3 => Just(0u32), 1 => any::<u32>()];
    let cube = (dimensions, any::<bool>(), 1u32..=3, 1u32..=3, empty);
    let cube = cube.prop_map(|(dimensions, wrap, concentration, trunk, empty)| {
        let slots = dimensions.iter().product::<u32>() * concentration;
        let hosts = Some(slots - empty % slots);
        Topology::cube(&dimensions, wrap, concentration, trunk, hosts).unwrap()
    });
    prop_oneof![3 => single, 5 => cube, 2 => k_ary_n_tree(), 1 => xgft(), 1 => graph(), 2 => dragonfly(),
        1 => hyperx(), 1 => slim_fly(), 1 => megafly(), 1 => kns()].boxed()
}

/// A tree of either family.
pub fn tree() -> BoxedStrategy<Topology> {
    prop_oneof![k_ary_n_tree(), xgft()].boxed()
}

fn k_ary_n_tree() -> BoxedStrategy<Topology> {
    (2u32..=3, 2u32..=3, 0u32..=3)
        .prop_map(|(k, n, missing)| {
            let hosts = k.pow(n) - missing.min(k.pow(n) - 2);
            Topology::k_ary_n_tree(k, n, Some(hosts)).unwrap()
        })
        .boxed()
}

/// A generalised fat tree of two or three levels, some tapered, some with parallel links.
pub fn xgft() -> BoxedStrategy<Topology> {
    let level = (1u32..=3, 1u32..=3, 1u32..=2);
    (vec(level, 2..=3), 0u32..=2)
        .prop_map(|(mut levels, missing)| {
            (levels[0].1, levels[0].2) = (1, 1);
            let of = |part: fn(&(u32, u32, u32)) -> u32| -> Vec<u32> {
                levels.iter().map(part).collect()
            };
            let (down, up, parallel) = (of(|l| l.0), of(|l| l.1), of(|l| l.2));
            let hosts: u32 = down.iter().product();
            let hosts = hosts - missing.min(hosts - 1);
            Topology::xgft(&down, &up, &parallel, Some(hosts)).unwrap()
        })
        .boxed()
}

/// A dragonfly of a few switches, also of a single group or with several links between groups.
pub fn dragonfly() -> BoxedStrategy<Topology> {
    let size = (1u32..=2, 1u32..=4, 1u32..=3, 1u32..=6, 0u32..=3);
    (size, arrangement())
        .prop_map(|((p, a, h, groups, missing), arrangement)| {
            let groups = groups.min(a * h + 1);
            let nics = p * a * groups;
            let size = DragonflySize {
                p,
                a,
                h,
                groups: Some(groups),
            };
            let hosts = Some(nics - missing.min(nics - 1));
            Topology::dragonfly(size, arrangement, hosts).unwrap()
        })
        .boxed()
}

/// A HyperX of up to three dimensions.
pub fn hyperx() -> BoxedStrategy<Topology> {
    let sizes = prop_oneof![vec(2u32..=4, 1..=2), vec(2u32..=3, 3..=3)];
    (sizes, 1u32..=2, 1u32..=2, 0u32..=2)
        .prop_map(|(sizes, concentration, trunk, missing)| {
            let nics = sizes.iter().product::<u32>() * concentration;
            let hosts = Some(nics - missing.min(nics - 1));
            Topology::hyperx(&sizes, concentration, trunk, hosts).unwrap()
        })
        .boxed()
}

/// A slim fly over a field of three or four elements.
pub fn slim_fly() -> BoxedStrategy<Topology> {
    let q = prop_oneof![3 => Just(3u32), 1 => Just(4)];
    (q, 1u32..=2, 0u32..=2)
        .prop_map(|(q, p, missing)| {
            let hosts = Some(2 * q * q * p - missing);
            Topology::slim_fly(q, Some(p), hosts).unwrap()
        })
        .boxed()
}

/// A megafly of a few switches, also of a single group or with several links between groups.
pub fn megafly() -> BoxedStrategy<Topology> {
    let size = (1u32..=2, 1u32..=3, 1u32..=2, 1u32..=5, 0u32..=2);
    (size, arrangement())
        .prop_map(|((p, s, h, groups, missing), arrangement)| {
            let groups = groups.min(s * h + 1);
            let nics = p * s * groups;
            let size = MegaflySize {
                p,
                s,
                h,
                groups: Some(groups),
            };
            let hosts = Some(nics - missing.min(nics - 1));
            Topology::megafly(size, arrangement, hosts).unwrap()
        })
        .boxed()
}

/// A k-ary n-direct s-indirect topology, of one stage or two.
pub fn kns() -> BoxedStrategy<Topology> {
    let one = (2u32..=3, 1u32..=3).prop_map(|(k, n)| (k, n, 1));
    let more = prop_oneof![2 => Just((4, 1, 2)), 2 => Just((4, 2, 2)), 1 => Just((8, 1, 3)), 1 => Just((9, 1, 2))];
    let size = prop_oneof![one, more];
    (size, 1u32..=2, 0u32..=2)
        .prop_map(|((k, n, s), concentration, missing)| {
            let nics = k.pow(n) * concentration;
            let size = KnsSize {
                k,
                n,
                s,
                concentration,
            };
            Topology::kns(size, Some(nics - missing.min(nics - 1))).unwrap()
        })
        .boxed()
}

fn arrangement() -> BoxedStrategy<Arrangement> {
    prop_oneof![
        Just(Arrangement::PalmTree),
        Just(Arrangement::Consecutive),
        Just(Arrangement::Relative),
    ]
    .boxed()
}

/// A graph without loops: every switch hangs on one before it, by a link or two.
pub fn graph() -> BoxedStrategy<Topology> {
    vec((any::<u32>(), 1u32..=2, 0u32..=3), 1..=6)
        .prop_map(|switches| {
            let mut ports = vec![0; switches.len()];
            let mut next = |switch: usize| {
                ports[switch] += 1;
                SwitchPort::new(SwitchId::new(switch as u32), PortId::new(ports[switch] - 1))
            };
            let (mut nics, mut links) = (vec![next(0)], Vec::new());
            for (at, &(parent, count, own)) in switches.iter().enumerate() {
                if at > 0 {
                    let parent = parent as usize % at;
                    links.extend((0..count).map(|_| [next(at), next(parent)]));
                }
                nics.extend((0..own).map(|_| next(at)));
            }
            Topology::graph(switches.len() as u32, &nics, &links).unwrap()
        })
        .boxed()
}
