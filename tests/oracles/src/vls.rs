//! VLs of packets (`docs/model.md` §7).

use super::detours;
use super::families::dragonfly;
use super::routing::{Header, Leg, NextHop};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::{FabricSpec, Hop, Paths, SlToVl, VlPolicy};
use flitwise::fabric::topology::Shape;

/// VL on which a packet of `sl` leaves NIC `src` for NIC `dst`.
pub fn vl_at_nic(spec: &FabricSpec, src: u32, dst: u32, sl: u8) -> usize {
    let VlPolicy::SlToVl(SlToVl { default, hcas, .. }) = &spec.qos.vl_policy else {
        return vl_of_class(spec, sl, dst, 0, Leg::Only);
    };
    usize::from(hcas.get(&NicId::new(src)).unwrap_or(default)[usize::from(sl)])
}

/// VL on which a packet that came to `switch` by port `input` goes on to `next`.
pub fn vl_behind(
    spec: &FabricSpec,
    (switch, input): (u32, usize),
    header: Header,
    next: NextHop,
) -> usize {
    let VlPolicy::SlToVl(SlToVl { default, ports, .. }) = &spec.qos.vl_policy else {
        return vl_of_class(spec, header.sl, header.dst, next.class, next.leg);
    };
    let own = ports.get(&Hop {
        switch: SwitchId::new(switch),
        in_port: PortId::new(input as u32),
        out_port: PortId::new(next.output as u32),
    });
    usize::from(own.unwrap_or(default)[usize::from(header.sl)])
}

/// VL of a packet of `sl` to NIC `dst` in VL class `class` of `leg`, by service channel.
fn vl_of_class(spec: &FabricSpec, sl: u8, dst: u32, class: usize, leg: Leg) -> usize {
    let scs = &spec.qos.service_levels[usize::from(sl)].scs;
    // Classes follow the fabric's own routing; forwarding tables have none.
    let changes = match spec.topology.shape() {
        _ if spec.routing.forwarding.is_some() => false,
        Shape::Cube(cube) => cube.wraps(),
        Shape::Dragonfly(fly) => dragonfly::has_classes(fly),
        _ => false,
    };
    // One queue after the other, class after class, leg after leg.
    let class = match changes {
        true => detours::class_of(spec, leg, 2, class),
        false => detours::class_of(spec, leg, 1, 0),
    };
    let by_class = changes || spec.routing.paths != Paths::Minimal;
    let sc = match spec.qos.vl_policy {
        VlPolicy::Dbbm { queues } => {
            let queue = dst % u32::from(queues);
            scs[class * usize::from(queues) + queue as usize]
        }
        _ if by_class => scs[class],
        _ => scs[dst as usize % scs.len()],
    };
    let vl = spec.qos.sc2vl[usize::from(sc)].expect("every SC of an SL has a VL");
    usize::from(vl)
}
