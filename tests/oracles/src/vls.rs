//! VLs of packets (`docs/model/fabric.md` §7).

use super::detours;
use super::families::dragonfly;
use super::queueing;
use super::routing::{Header, Leg, NextHop};
use super::wiring::Wiring;
use flitwise_fabric::ids::{NicId, PortId, SwitchId};
use flitwise_fabric::spec::{FabricSpec, Hop, Paths, SchemeKind, SlToVl, VlPolicy};
use flitwise_fabric::topology::Shape;

/// VL on which a packet of `sl` leaves NIC `src` for NIC `dst`.
pub fn vl_at_nic(spec: &FabricSpec, src: u32, dst: u32, sl: u8) -> usize {
    match &spec.qos.vl_policy {
        VlPolicy::SlToVl(SlToVl { default, hcas, .. }) => {
            usize::from(hcas.get(&NicId::new(src)).unwrap_or(default)[usize::from(sl)])
        }
        VlPolicy::Queueing(scheme) => {
            vl_at(spec, sl, queueing::at_nic(spec, scheme, (src, dst, sl)))
        }
        VlPolicy::ServiceChannels => vl_of_class(spec, sl, dst, (0, Leg::Only)),
    }
}

/// VL to `next` of a packet that came to `switch` by port `input`.
pub fn vl_behind(
    spec: &FabricSpec,
    wiring: &Wiring,
    (switch, input): (u32, usize),
    header: Header,
    next: NextHop,
) -> usize {
    match &spec.qos.vl_policy {
        VlPolicy::SlToVl(SlToVl { default, ports, .. }) => {
            let own = ports.get(&Hop {
                switch: SwitchId::new(switch),
                in_port: PortId::new(input as u32),
                out_port: PortId::new(next.output as u32),
            });
            usize::from(own.unwrap_or(default)[usize::from(header.sl)])
        }
        VlPolicy::Queueing(scheme) if scheme.kind == SchemeKind::Dbbm => {
            // Its queues may share VLs: the one before does not tell.
            let class = class_of_legs(spec, (next.class, next.leg));
            let queue = header.dst as usize % usize::from(scheme.queues);
            vl_at(spec, header.sl, class * usize::from(scheme.queues) + queue)
        }
        VlPolicy::Queueing(scheme) => {
            let scs = &spec.qos.service_levels[usize::from(header.sl)].scs;
            let vl = |&sc: &u8| spec.qos.sc2vl[usize::from(sc)].map(usize::from);
            let came_in = scs.iter().position(|sc| vl(sc) == Some(header.vl));
            let came_in = came_in.expect("it came on a VL of its service level");
            let class = class_of_legs(spec, (next.class, next.leg));
            let at = (switch, input);
            let queue = queueing::behind(spec, scheme, wiring, at, header, next, (came_in, class));
            vl_at(spec, header.sl, queue)
        }
        VlPolicy::ServiceChannels => {
            vl_of_class(spec, header.sl, header.dst, (next.class, next.leg))
        }
    }
}

/// VL of the SC at `position` in the list of a service level.
fn vl_at(spec: &FabricSpec, sl: u8, position: usize) -> usize {
    let sc = spec.qos.service_levels[usize::from(sl)].scs[position];
    let vl = spec.qos.sc2vl[usize::from(sc)].expect("every SC of an SL has a VL");
    usize::from(vl)
}

/// Whether packets change their VL class within a leg. Classes follow the fabric's own routing; forwarding
/// tables have none.
fn changes_class(spec: &FabricSpec) -> bool {
    match spec.topology.shape() {
        _ if spec.routing.forwarding.is_some() => false,
        Shape::Cube(cube) => cube.wraps(),
        Shape::Dragonfly(fly) => dragonfly::has_classes(fly),
        Shape::SlimFly(_) => true,
        _ => false,
    }
}

/// VL class among the classes of all legs of a packet in `class` of `leg`: leg after leg.
fn class_of_legs(spec: &FabricSpec, (class, leg): (usize, Leg)) -> usize {
    if changes_class(spec) {
        detours::class_of(spec, leg, 2, class)
    } else {
        detours::class_of(spec, leg, 1, 0)
    }
}

/// VL of a packet of `sl` to NIC `dst` in VL class `class` of `leg`, by service channel.
fn vl_of_class(spec: &FabricSpec, sl: u8, dst: u32, at: (usize, Leg)) -> usize {
    let count = spec.qos.service_levels[usize::from(sl)].scs.len();
    let by_class = changes_class(spec) || spec.routing.paths != Paths::Minimal;
    let position = if by_class {
        class_of_legs(spec, at)
    } else {
        (dst / spec.topology.planes()) as usize % count
    };
    vl_at(spec, sl, position)
}
