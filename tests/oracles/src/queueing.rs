//! Queues of packets by queueing schemes (`docs/model/queueing.md`). A queue is the position of an SC in the list of
//! the service level: class after class, queue after queue.

use super::routing::{Header, Load, NextHop, Router};
use super::wiring::{End, Wiring};
use flitwise_fabric::spec::{Along, Detail, FabricSpec, Mix, QueueingScheme, SchemeKind};
use flitwise_fabric::topology::Shape;

/// Queues of a VL class.
fn queues(scheme: &QueueingScheme, class: usize) -> usize {
    match scheme.kind {
        SchemeKind::H2lq(_) | SchemeKind::Sf2lq if class == 1 => scheme.escape_queues.into(),
        _ => scheme.queues.into(),
    }
}

/// Position of a queue.
fn position(scheme: &QueueingScheme, class: usize, queue: usize) -> usize {
    (0..class).map(|class| queues(scheme, class)).sum::<usize>() + queue
}

/// Class and queue at a position.
fn class_and_queue(scheme: &QueueingScheme, mut position: usize) -> (usize, usize) {
    let mut class = 0;
    while position >= queues(scheme, class) {
        position -= queues(scheme, class);
        class += 1;
    }
    (class, position)
}

/// The band of NIC `x` if all N are divided into `q`.
fn band(spec: &FabricSpec, x: u32, q: usize) -> usize {
    x as usize * q / spec.topology.nics() as usize
}

/// Queue of a path-constant scheme; `None` of a local one.
fn of_pair(
    spec: &FabricSpec,
    scheme: &QueueingScheme,
    wiring: &Wiring,
    (src, dst): (u32, u32),
) -> Option<usize> {
    let q = usize::from(scheme.queues);
    let group = |nic| band(spec, nic, q);
    Some(match scheme.kind {
        SchemeKind::OneQueue => 0,
        SchemeKind::Dbbm | SchemeKind::Voqnet => dst as usize % q,
        SchemeKind::Bbq => group(dst),
        SchemeKind::Flow2sl(Mix::Sum) => (group(src) + group(dst)) % q,
        SchemeKind::Flow2sl(Mix::Difference) => {
            (group(dst) as i64 - group(src) as i64).rem_euclid(q as i64) as usize
        }
        SchemeKind::Vftree => {
            let leaf = wiring.switch_of(src);
            if leaf == wiring.switch_of(dst) {
                return Some(0);
            }
            let ups = &wiring.ports[leaf as usize];
            let ups = ups
                .iter()
                .filter(|end| matches!(end, Some(End::Port { .. })));
            dst as usize / ups.count() % q
        }
        SchemeKind::Voqsw
        | SchemeKind::Obqa
        | SchemeKind::Iodet(_)
        | SchemeKind::H2lq(_)
        | SchemeKind::Sf2lq => return None,
    })
}

/// Out-port of a packet with `header` at `switch`, if the destination alone decides.
pub(crate) fn out_port(spec: &FabricSpec, wiring: &Wiring, switch: u32, header: Header) -> usize {
    let mut router = Router::new(spec, wiring, switch);
    // The checks of local schemes do not depend on the load.
    let load = Load {
        queued: &|_| 0,
        waiting: &|_| 0,
        elsewhere: &|_, _| 0,
    };
    router.route(0, 0, header, &load).output
}

/// Queue of a local scheme in `class` at `switch`, which stores the packet.
fn at_switch(
    spec: &FabricSpec,
    scheme: &QueueingScheme,
    wiring: &Wiring,
    (switch, class): (u32, usize),
    header: Header,
) -> usize {
    let q = queues(scheme, class);
    let home = wiring.switch_of(header.dst);
    let port = || out_port(spec, wiring, switch, header);
    let queue = match scheme.kind {
        SchemeKind::Voqsw | SchemeKind::Obqa => port(),
        SchemeKind::Iodet(rule) => {
            use super::families::{cube, digits, hyperx, kns};
            let (along, sizes) = match spec.topology.shape() {
                Shape::Cube(cube) => {
                    let along = cube::dimension_of(cube, port());
                    (along, cube.lattice.dimensions.to_vec())
                }
                Shape::HyperX(of) => {
                    let along = hyperx::dimension_of(&of.lattice, port());
                    (along, of.lattice.dimensions.to_vec())
                }
                Shape::Kns(kns) => {
                    let along = kns::dimension_of(kns, switch, port());
                    (along, vec![kns.k(); kns.n() as usize])
                }
                _ => unreachable!("a topology without dimensions"),
            };
            match rule {
                Along::Dimension => along.unwrap_or(sizes.len()),
                Along::Coordinate => {
                    digits(home, &sizes)[along.unwrap_or(sizes.len() - 1)] as usize
                }
            }
        }
        SchemeKind::Sf2lq => home as usize,
        SchemeKind::H2lq(Detail::Plain) => header.dst as usize,
        SchemeKind::H2lq(Detail::Hierarchical) => {
            let Shape::Dragonfly(fly) = spec.topology.shape() else {
                unreachable!("H2LQ is for dragonflies")
            };
            let (group, position) = (home / fly.a(), home % fly.a());
            let there = switch / fly.a() == group;
            (if class == 1 || there { position } else { group }) as usize
        }
        kind => unreachable!("{kind:?} is no local scheme"),
    };
    queue % q
}

/// Position of the queue in which a packet waits behind the link from its NIC.
pub fn at_nic(spec: &FabricSpec, scheme: &QueueingScheme, (src, dst, sl): (u32, u32, u8)) -> usize {
    let wiring = Wiring::new(&spec.topology);
    let queue = of_pair(spec, scheme, &wiring, (src, dst)).unwrap_or_else(|| {
        let header = Header {
            src,
            dst,
            sl,
            class: 0,
            leg: Default::default(),
            vl: 0,
        };
        let first = wiring.switch_of(src);
        at_switch(spec, scheme, &wiring, (first, 0), header)
    });
    position(scheme, 0, queue)
}

/// Position of the queue of a packet behind `switch`, to which it came by port `input`. `came_in`: position
/// of its queue there. `class`: its VL class among the classes of all legs, where the topology has them.
pub fn behind(
    spec: &FabricSpec,
    scheme: &QueueingScheme,
    wiring: &Wiring,
    (switch, input): (u32, usize),
    header: Header,
    next: NextHop,
    (came_in, class): (usize, usize),
) -> usize {
    let (old_class, old_queue) = class_and_queue(scheme, came_in);
    let end = wiring.ports[switch as usize][next.output].expect("packets go to connected ports");
    let class = match (scheme.kind, spec.topology.shape(), end) {
        (SchemeKind::H2lq(_), _, End::Nic(_)) => old_class,
        (SchemeKind::H2lq(_), Shape::Dragonfly(fly), _) => {
            let global = |port| port >= super::families::dragonfly::first_global(fly) as usize;
            usize::from(global(input) && !global(next.output))
        }
        _ => class,
    };
    let constant = of_pair(spec, scheme, wiring, (header.src, header.dst));
    let queue = match (constant, end) {
        (Some(queue), _) => queue,
        (None, End::Nic(_)) => old_queue % queues(scheme, class),
        (None, End::Port { switch, .. }) => {
            at_switch(spec, scheme, wiring, (switch as u32, class), header)
        }
    };
    position(scheme, class, queue)
}
