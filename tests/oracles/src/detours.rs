//! Detours (`docs/model/fabric.md` §7): the next leg of the path of a packet, and the costs by which paths are compared.

use super::families;
use super::routing::Leg;
use super::wiring::{End, Wiring};
use flitwise_base::random::{Purpose, Stream};
use flitwise_fabric::spec::{DetourRule, Detours, FabricSpec, Intermediate};
use flitwise_fabric::topology::Shape;

/// The queue of a port of a switch, in credits.
pub type QueueOf<'a> = &'a dyn Fn(u32, usize) -> u32;

/// The group of `switch`, on a topology that has groups.
fn group(spec: &FabricSpec, switch: u32) -> Option<u32> {
    match spec.topology.shape() {
        Shape::Dragonfly(fly) => Some(switch / fly.a()),
        _ => None,
    }
}

/// A packet at `switch` is near a NIC at the switch `home`.
fn is_near(spec: &FabricSpec, switch: u32, home: u32) -> bool {
    match group(spec, switch) {
        Some(here) => Some(here) == group(spec, home),
        None => switch == home,
    }
}

/// Whether the first leg over a NIC at the switch `home` ends at `switch`.
pub fn ends(spec: &FabricSpec, detours: &Detours, switch: u32, home: u32) -> bool {
    match detours.intermediate {
        Intermediate::Group => is_near(spec, switch, home),
        Intermediate::Nic => switch == home,
    }
}

/// The random stream of the packets of each port of a switch.
pub type Streams = Vec<Option<Stream>>;

pub fn streams(spec: &FabricSpec, wiring: &Wiring, switch: u32) -> Streams {
    let radix = wiring.radix() as u64;
    let ports = wiring.ports[switch as usize].iter().zip(0u64..);
    let stream = |(far, port): (&Option<End>, u64)| {
        let detours = spec.routing.paths.detours()?;
        let component = match far.as_ref()? {
            &End::Nic(nic) => [nic as u64, 0],
            End::Port { .. } if detours.rule == DetourRule::Par => {
                [u64::from(switch) * radix + port, 1]
            }
            End::Port { .. } => return None,
        };
        Some(Stream::new(detours.seed, Purpose::Paths, component))
    };
    ports.map(stream).collect()
}

/// Draws a NIC for a packet at `switch` to NIC `dst`, if any is allowed.
pub fn draw(
    spec: &FabricSpec,
    wiring: &Wiring,
    (switch, dst): (u32, u32),
    stream: &mut Stream,
) -> Option<u32> {
    let detours = spec.routing.paths.detours()?;
    let home = wiring.switch_of(dst);
    let always = detours.rule == DetourRule::Valiant && detours.intermediate == Intermediate::Nic;
    if !always && is_near(spec, switch, home) {
        return None;
    }
    let mut allowed: Vec<u32> = (0..wiring.homes.len() as u32).collect();
    if detours.intermediate == Intermediate::Group {
        let of = |nic: &u32| group(spec, wiring.switch_of(*nic));
        allowed.retain(|nic| of(nic) != group(spec, switch) && of(nic) != group(spec, home));
        allowed.sort_by_key(|nic| (of(nic), *nic));
    }
    if allowed.is_empty() {
        return None;
    }
    Some(allowed[stream.below(allowed.len() as u64) as usize])
}

/// Queue times hops of the path from `switch` to NIC `dst`, over the NIC `via` if there is one. `here(nic)`: the port that a
/// packet to this NIC would take at `switch` now.
pub fn cost(
    spec: &FabricSpec,
    wiring: &Wiring,
    (switch, dst): (u32, u32),
    via: Option<u32>,
    here: &dyn Fn(u32) -> usize,
    queue_of: QueueOf<'_>,
) -> u64 {
    let detours = spec.routing.paths.detours().expect("there are detours");
    // All links between switches on the path: the switch, the port, the next switch.
    let mut links = Vec::new();
    let (mut at, mut on_first) = (switch, via);
    loop {
        if let Some(nic) = on_first
            && ends(spec, detours, at, wiring.switch_of(nic))
        {
            on_first = None;
        }
        let target = on_first.unwrap_or(dst);
        if on_first.is_none() && at == wiring.switch_of(dst) {
            break;
        }
        let port = if links.is_empty() {
            here(target)
        } else {
            families::step(spec, wiring, (at, wiring.switch_of(target), target)).0
        };
        let Some(End::Port { switch: next, .. }) = wiring.ports[at as usize][port] else {
            panic!("port {port} of switch {at} leads to no switch");
        };
        links.push((at, port, next as u32));
        at = next as u32;
    }
    let queue = |&(switch, port, _): &(u32, usize, u32)| queue_of(switch, port);
    let leaves_group = |(from, _, to): &&(u32, usize, u32)| group(spec, *from) != group(spec, *to);
    let q = match (detours.rule, group(spec, switch)) {
        (DetourRule::UgalG, Some(_)) => links.iter().find(leaves_group).map_or(0, queue),
        (DetourRule::UgalG, None) => links.iter().map(queue).max().unwrap_or(0),
        _ => links.first().map_or(0, queue),
    };
    u64::from(q) * links.len() as u64
}

/// Number of a leg, from 0.
fn number(spec: &FabricSpec, leg: Leg) -> usize {
    let is_par = |d: &Detours| d.rule == DetourRule::Par;
    let first = usize::from(spec.routing.paths.detours().is_some_and(is_par));
    match leg {
        Leg::Only => 0,
        Leg::First(_) => first,
        Leg::Second => first + 1,
    }
}

/// The VL class that is class `class` of `leg`, where a minimal path has `of_leg` classes.
pub fn class_of(spec: &FabricSpec, leg: Leg, of_leg: usize, class: usize) -> usize {
    let Some(detours) = spec.routing.paths.detours() else {
        return class;
    };
    let distance = match detours.intermediate {
        Intermediate::Nic => of_leg,
        Intermediate::Group if of_leg == 1 => 1,
        Intermediate::Group => of_leg - 1,
    };
    number(spec, leg) * distance + class
}

/// Whether a packet that comes on `leg` is asked whether it takes a detour; `at_source`: from a NIC.
pub fn is_asked(spec: &FabricSpec, leg: Leg, at_source: bool) -> bool {
    match spec.routing.paths.detours() {
        None => false,
        Some(detours) if detours.rule == DetourRule::Par => leg == Leg::Only,
        Some(_) => at_source,
    }
}
