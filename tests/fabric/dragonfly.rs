//! Dragonflies: sizes, routes and loads in closed form, and whether they can deadlock.

use crate::common::ids::pair;
use crate::common::infiniband::voq_fabric;
use crate::common::script::{Cue, Script, message};
use crate::common::specs::{opa_gen1, sc2vl, service_level};
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::hierarchical::Scheduler;
use flitwise::fabric::spec::{FabricSpec, Switch};
use flitwise::fabric::topology::{
    Arrangement, Dragonfly, DragonflySize, Link, Peer, Shape, Topology, VlClasses,
};

const ARRANGEMENTS: [Arrangement; 3] = [
    Arrangement::PalmTree,
    Arrangement::Consecutive,
    Arrangement::Relative,
];

/// p, a, h and groups, among them: the full size, fewer groups, several links between groups,
/// ports left over, one group, one switch per group.
const SIZES: [(u32, u32, u32, Option<u32>); 9] = [
    (2, 4, 2, None),
    (1, 2, 1, None),
    (3, 3, 1, None),
    (1, 6, 3, None),
    (2, 4, 2, Some(8)),
    (2, 4, 2, Some(4)),
    (1, 3, 2, Some(2)),
    (2, 5, 1, Some(1)),
    (2, 1, 4, None),
];

fn dragonfly((p, a, h, groups): (u32, u32, u32, Option<u32>), by: Arrangement) -> Topology {
    Topology::dragonfly(DragonflySize { p, a, h, groups }, by, None).unwrap()
}

fn all() -> impl Iterator<Item = Topology> {
    let sizes = SIZES.into_iter();
    sizes.flat_map(|size| ARRANGEMENTS.map(|by| dragonfly(size, by)))
}

fn shape(topology: &Topology) -> Dragonfly {
    match topology.shape() {
        Shape::Dragonfly(fly) => *fly,
        other => panic!("{other:?} is no dragonfly"),
    }
}

/// Links between switches, in both directions.
fn links(topology: &Topology) -> Vec<Link> {
    let mut links = Vec::new();
    for switch in topology.switch_ids() {
        for port in topology.port_ids() {
            if let Peer::Switch {
                switch: to,
                port: far,
            } = topology.peer(switch, port)
            {
                assert_eq!(topology.peer(to, far), Peer::Switch { switch, port });
                links.push([SwitchPort::new(switch, port), SwitchPort::new(to, far)]);
            }
        }
    }
    links
}

#[test]
fn groups_are_full_meshes_and_any_two_are_linked_equally_often() {
    for topology in all() {
        let fly = shape(&topology);
        let (a, g) = (fly.a(), fly.global.groups);
        assert_eq!(topology.switches(), a * g);
        assert_eq!(topology.nics(), fly.p() * a * g);
        let between =
            |from: u32, to: u32| a * fly.global.ports / from.abs_diff(to).max(g - 1).max(1);
        let mut local = vec![0; (a * g * a * g) as usize];
        let mut global = vec![0; (g * g) as usize];
        for [near, far] in links(&topology) {
            let (from, to) = (near.switch.get(), far.switch.get());
            let (x, y) = (from / a, to / a);
            assert_eq!(fly.is_global(near.port), x != y);
            if x == y {
                local[(from * a * g + to) as usize] += 1
            } else {
                global[(x * g + y) as usize] += 1
            }
        }
        for from in 0..a * g {
            for to in 0..a * g {
                let together = u32::from(from / a == to / a && from != to);
                assert_eq!(local[(from * a * g + to) as usize], together);
            }
        }
        for (x, y) in (0..g).flat_map(|x| (0..g).map(move |y| (x, y))) {
            let expected = if x == y { 0 } else { between(x, y) };
            assert_eq!(global[(x * g + y) as usize], expected, "{fly:?} {x} {y}");
        }
    }
}

/// The first global port of switch 0 of group 4 of 9: to the group before, to group 0, to the
/// group after. The last one of the group: to the group after, to group 8, to the one before.
#[test]
fn arrangements_are_those_of_the_literature() {
    for (by, first, last) in [
        (Arrangement::PalmTree, 3, 5),
        (Arrangement::Consecutive, 0, 8),
        (Arrangement::Relative, 5, 3),
    ] {
        let topology = dragonfly((2, 4, 2, None), by);
        let peer = |switch, port| topology.peer(SwitchId::new(switch), PortId::new(port));
        let group_at = |switch, port| match peer(switch, port) {
            Peer::Switch { switch, .. } => switch.get() / 4,
            peer => panic!("{peer:?}"),
        };
        assert_eq!((group_at(16, 5), group_at(19, 6)), (first, last), "{by:?}");
    }
}

#[test]
fn hops_of_a_full_dragonfly_in_closed_form() {
    for size in &SIZES[..4] {
        for by in ARRANGEMENTS {
            let topology = dragonfly(*size, by);
            let &(p, a, h, _) = size;
            let (p, a, h) = (u64::from(p), u64::from(a), u64::from(h));
            let nics = u64::from(topology.nics());
            let spec = opa_gen1(topology, Scheduler::RrVl);
            let routes = RouteAnalysis::new(&spec, &spec).unwrap();
            let at = [
                p - 1,
                p * (a - 1 + h),
                2 * p * h * (a - 1),
                p * h * (a - 1) * (a - 1),
            ];
            assert_eq!(
                routes.pairs_by_hops,
                at.map(|n| n * nics),
                "{size:?} {by:?}"
            );
            assert_eq!(routes.connected(), routes.pairs);
        }
    }
}

/// Every route has at most one global link, and is the shortest of that form.
#[test]
fn routes_are_local_global_local() {
    for topology in all() {
        let (fly, links) = (shape(&topology), links(&topology));
        let nics = topology.nics();
        let spec = opa_gen1(topology, Scheduler::RrVl);
        for (src, dst) in (0..nics).flat_map(|src| (0..nics).map(move |dst| (src, dst))) {
            let (from, to) = (src / fly.p(), dst / fly.p());
            if from == to {
                continue;
            }
            let way = path(&spec, &spec, pair(src, dst), 0, 64).unwrap();
            let hops = &way.steps[..way.steps.len() - 1];
            let (x, y) = (from / fly.a(), to / fly.a());
            let global = hops
                .iter()
                .filter(|step| fly.is_global(step.port_out))
                .count();
            assert_eq!(global, usize::from(x != y));
            let ends = links.iter().map(|link| link.map(|end| end.switch.get()));
            let over = ends.filter(|[a, b]| a / fly.a() == x && b / fly.a() == y);
            let shortest = if x == y {
                1
            } else {
                over.map(|[a, b]| 1 + usize::from(a != from) + usize::from(b != to))
                    .min()
                    .unwrap()
            };
            assert_eq!(hops.len(), shortest, "{fly:?}: {src} to {dst}");
        }
    }
}

/// Pairs on a global link: all between two groups. On a local link from u to v: those of the two
/// switches, those of u that leave by v, those that arrive at u for v.
#[test]
fn loads_under_uniform_traffic_in_closed_form() {
    for size in &SIZES[..4] {
        for by in ARRANGEMENTS {
            let topology = dragonfly(*size, by);
            let (fly, links) = (shape(&topology), links(&topology));
            let (p, a, h) = (u64::from(size.0), u64::from(size.1), u64::from(size.2));
            let nics = topology.nics();
            let spec = opa_gen1(topology, Scheduler::RrVl);
            let routes = RouteAnalysis::new(&spec, &spec).unwrap();
            let (global, local) = (p * a * p * a, p * p * (1 + 2 * a * h));
            for [SwitchPort { switch, port }, _] in links {
                let expected = if fly.is_global(port) { global } else { local };
                let pairs = routes.link_pairs[spec.topology.port_index(switch, port)];
                assert_eq!(pairs, expected, "{size:?} {by:?}: {switch} port {port}");
            }
            let others = u64::from(nics) - 1;
            let busiest = global.max(local);
            let bound = if busiest > others {
                (others, busiest)
            } else {
                (1, 1)
            };
            assert_eq!(routes.uniform_bound(nics), bound);
        }
    }
}

fn cycle(spec: &FabricSpec) -> bool {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    ChannelGraph::new(spec, &routes).unwrap().cycle().is_some()
}

#[test]
fn two_vl_classes_prevent_deadlocks_and_one_does_not() {
    for by in ARRANGEMENTS {
        let fly = dragonfly((2, 4, 2, None), by);
        for mut spec in [
            opa_gen1(fly.clone(), Scheduler::RrVl),
            voq_fabric(fly.clone()),
        ] {
            assert!(spec.needs_classes());
            spec.qos.vls = 2;
            spec.qos.sc2vl = sc2vl(&[0, 1]);
            spec.qos.service_levels = vec![service_level("one", [0, 1], 512)];
            if let Switch::Hierarchical(switch) = &mut spec.switch {
                let buffers = &mut switch.buffers;
                for pool in [
                    &mut buffers.input,
                    &mut buffers.output,
                    &mut buffers.central,
                ] {
                    *pool = crate::common::specs::even_pool(2, 1024, 16, 768);
                }
            }
            assert!(!cycle(&spec), "{by:?}");
            spec.qos.sc2vl = sc2vl(&[0, 0]);
            assert!(cycle(&spec), "{by:?}");
        }
    }
    // Without local, or without global links there is nothing to cut.
    for size in [(2, 5, 1, Some(1)), (2, 1, 4, None)] {
        let mut spec = opa_gen1(dragonfly(size, Arrangement::PalmTree), Scheduler::RrVl);
        assert!(!spec.needs_classes());
        let (outputs, classes) = (
            spec.topology.switches() * spec.topology.radix(),
            VlClasses::new(&spec.topology),
        );
        assert!((0..outputs).all(|output| classes.first(output) == 0));
        spec.qos.sc2vl = sc2vl(&[0, 0]);
        spec.qos.service_levels = vec![service_level("one", [0, 1], 512)];
        assert!(!cycle(&spec));
    }
}

/// The second SC from the global link on, up to the NIC.
#[test]
fn the_class_changes_on_the_global_link() {
    let topology = dragonfly((2, 4, 2, None), Arrangement::PalmTree);
    let (fly, table) = (shape(&topology), VlClasses::new(&topology));
    let nics = topology.nics();
    let spec = opa_gen1(topology, Scheduler::RrVl);
    let scs = &spec.qos.service_levels[0].scs;
    for dst in 1..nics {
        let way = path(&spec, &spec, pair(0, dst), 0, 64).unwrap();
        let (mut crossed, mut class) = (false, 0);
        assert_eq!(way.injection.0, scs[0]);
        for step in &way.steps {
            crossed |= fly.is_global(step.port_out);
            assert_eq!(step.channel.0, scs[usize::from(crossed)]);
            let output = spec.topology.port_index(step.switch, step.port_out) as u32;
            class = table.behind(step.port_in, step.port_out, output, class);
            assert_eq!(class, u8::from(crossed));
        }
    }
}

/// Every group sends to the next one: a global link carries what eight NICs send. It is never
/// idle from the first packet on, which takes as long as a packet alone.
#[test]
fn one_global_link_carries_all_between_two_groups() {
    const MESSAGES: u64 = 20;
    for by in ARRANGEMENTS {
        let spec = opa_gen1(dragonfly((2, 4, 2, None), by), Scheduler::RrVl);
        let nics = spec.topology.nics();
        let line = |i: u64| {
            let src = (i % u64::from(nics)) as u32;
            (Cue::At(0), message(i, src, (src + 8) % nics, 0, 1024))
        };
        let mut script = Script::new((0..MESSAGES * u64::from(nics)).map(line));
        let end = Engine::new(&spec).unwrap().run(&mut script);
        assert_eq!(end, RunEnd::Drained);
        let last = script.packets.iter().map(|p| p.delivered).max().unwrap();
        let flits: u64 = script.packets.iter().map(|p| u64::from(p.flits)).sum();
        let busy = flits / 9;
        let routes = (0..nics).map(|src| path(&spec, &spec, pair(src, (src + 8) % nics), 0, 1024));
        let alone = routes.map(|way| way.unwrap().tail).max().unwrap();
        assert!(
            last > busy && last <= busy + alone,
            "{busy} {alone}: {last}"
        );
    }
}

#[test]
fn bisections() {
    let of = |size| {
        Bisection::new(&opa_gen1(
            dragonfly(size, Arrangement::PalmTree),
            Scheduler::RrVl,
        ))
    };
    // Full meshes: 6 switches of one group, and 4 of which any two have two links.
    let exact = |size| of(size).filter(|b| b.exact).map(|b| b.links);
    assert_eq!(exact((1, 6, 1, Some(1))), Some(9));
    assert_eq!(exact((1, 1, 6, Some(4))), Some(8));
    // Four groups of four with one link: no closed form. Two groups against two cut 4.
    let bound = of((2, 3, 1, Some(4))).unwrap();
    assert_eq!((bound.exact, bound.links, bound.half), (false, 4, 12));
}

#[test]
fn what_is_no_dragonfly_is_refused() {
    let error = |p, a, h, groups, hosts| {
        let size = DragonflySize { p, a, h, groups };
        Topology::dragonfly(size, Arrangement::PalmTree, hosts).unwrap_err()
    };
    for (p, a, h) in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        let error = error(p, a, h, None, None);
        assert!(error.problem.contains("at least one"), "{error}");
    }
    for groups in [0, 10] {
        let error = error(2, 4, 2, Some(groups), None);
        assert_eq!(error.key, "fabric.topology.groups");
        assert!(error.problem.contains("1 to 9 (a h + 1)"), "{error}");
    }
    assert_eq!(error(2, 4, 2, None, Some(73)).key, "fabric.topology.hosts");
    assert!(error(60, 60, 60, None, None).problem.contains("179 ports"));
    assert!(
        error(1, u32::MAX, u32::MAX, None, None)
            .problem
            .contains("ports")
    );
    assert!(
        error(30, 60, 30, None, None)
            .problem
            .contains("smaller fabric")
    );
}
