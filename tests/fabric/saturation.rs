//! Random small fabrics whose queues hold one or two packets, and more traffic than they can carry: what `fabric check` finds
//! free of deadlock must carry it all. More cases with `PROPTEST_CASES` (`docs/model/queueing.md`, "Deadlock").

use crate::common::infiniband::{static_pool, voq_fabric, voq_of, with_hierarchical_switches};
use crate::common::random::{Kind, classes, config, fabric};
use crate::common::random_infiniband;
use crate::common::random_power::{link_power, set_link_power};
use crate::common::random_queueing::{RawScheme, raw_scheme};
use crate::common::script::{Cue, Script, message};
use crate::common::specs::{hierarchical_of, sc2vl};
use crate::fabric_analysis::cycle_of;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::hierarchical::{Pool, Quota};
use flitwise::fabric::spec::voq::{InputQueues, Isolation, PortStandard, VlArb};
use flitwise::fabric::spec::{FabricSpec, LinkPower, Switch, VlPolicy};
use flitwise::fabric::topology::Topology;
use proptest::collection::vec;
use proptest::prelude::*;

/// Credits of the largest packet on each VL.
fn largest(spec: &FabricSpec) -> Vec<u32> {
    (0..spec.qos.vls)
        .map(|vl| spec.max_credits_on_vl(vl))
        .collect()
}

/// Queues that hold `packets` largest packets each, and no shared credits.
fn pool(largest: &[u32], packets: u32, queues: u32) -> Pool {
    let credits = |&largest: &u32| packets * largest;
    Pool {
        total: (queues * largest.iter().map(credits).sum::<u32>()).max(1),
        per_vl: (largest.iter().map(credits))
            .map(|exclusive| Quota {
                exclusive,
                max: exclusive.max(1),
            })
            .collect(),
    }
}

/// Leaves `packets` packets of room in every queue, and as many in output buffers. A queue of a `voq` switch has room for the
/// largest packet of all VLs.
fn tighten(spec: &mut FabricSpec, packets: u32) {
    let (largest, classes) = (largest(spec), classes(&spec.topology));
    match spec.switch {
        Switch::Hierarchical(_) => {
            let buffers = &mut hierarchical_of(spec).buffers;
            for own in [
                &mut buffers.nic_queue,
                &mut buffers.nic_sink,
                &mut buffers.input,
                &mut buffers.output,
            ] {
                *own = pool(&largest, packets, 1);
            }
            buffers.central = pool(&largest, packets, classes);
        }
        Switch::Voq(_) => {
            let ack = voq_of(spec).hca.ack_bytes;
            let ack = spec.units.credits(spec.units.flits(ack));
            let packets = packets * spec.largest_packet_credits().max(ack);
            let pool = static_pool(spec.qos.vls, packets);
            let vls = spec.qos.vls;
            let voq = voq_of(spec);
            let buffers = &mut voq.buffers;
            (buffers.input, buffers.nic_sink) = (pool.clone(), pool);
            (buffers.output, buffers.nic_queue) = (packets, packets);
            if let Some(isolation) = &mut voq.isolation {
                *isolation = Isolation::even(vls, isolation.queues, [1, 1, 0]);
            }
        }
    }
}

/// `voq` or `input-queued` switches without tables.
fn of_voqs(as_input_queued: bool, scheme: Option<RawScheme>, mut spec: FabricSpec) -> FabricSpec {
    (spec.routing.forwarding, spec.routing.failed) = (None, Vec::new());
    if matches!(spec.qos.vl_policy, VlPolicy::SlToVl(_)) {
        spec.qos.vl_policy = VlPolicy::ServiceChannels;
    }
    if as_input_queued {
        let voq = voq_of(&mut spec);
        voq.port_standard = PortStandard::None;
        (voq.input_queues, voq.isolation) = (InputQueues::Fifo, None);
        if let Some(scheme) = scheme {
            scheme.put(&mut spec, 31);
            // Its tables name the VLs of before.
            let voq = voq_of(&mut spec);
            (voq.vlarb, voq.hca.vlarb) = (VlArb::RoundRobin, VlArb::RoundRobin);
        }
    }
    spec
}

/// Gives the links of `spec` power states, as far as its switches have them.
fn put_power(spec: &mut FabricSpec, mut power: LinkPower) {
    if let Switch::Hierarchical(_) = spec.switch {
        power.wake_ahead = 0;
        if power.low().is_none() {
            spec.link_power = Some(Box::new(power));
        }
        return;
    }
    set_link_power(spec, power);
}

/// A fabric of any kind of switch whose queues hold one or two packets, some with links that go down. Congestion control would
/// only slow it down.
fn tight_fabric() -> impl Strategy<Value = FabricSpec> {
    let voqs = (any::<bool>(), raw_scheme(), random_infiniband::fabric());
    let voqs =
        voqs.prop_map(|(as_input_queued, scheme, spec)| of_voqs(as_input_queued, scheme, spec));
    let switches = prop_oneof![1 => fabric(Kind::Sound), 2 => voqs];
    let power = prop_oneof![2 => Just(None), 1 => link_power().prop_map(Some)];
    (switches, 1u32..=2, power).prop_map(|(mut spec, packets, power)| {
        spec.congestion_control = None;
        tighten(&mut spec, packets);
        if let Some(power) = power {
            put_power(&mut spec, power);
        }
        spec
    })
}

/// Where a message goes: to the hot spot, to the NIC at a distance that all share, or anywhere.
#[derive(Debug, Clone, Copy)]
enum To {
    HotSpot,
    Shift(u32),
    Any(u32),
}

/// All messages of a NIC: where each goes, its service level, and its length in thirds of an MTU.
fn traffic() -> impl Strategy<Value = Vec<(To, u8, u64)>> {
    let to = prop_oneof![
        1 => Just(To::HotSpot),
        1 => (0u32..8).prop_map(To::Shift),
        2 => any::<u32>().prop_map(To::Any),
    ];
    vec((to, any::<u8>(), 1u64..=9), 8..=32)
}

/// The traffic of every NIC, all at once.
fn script(spec: &FabricSpec, traffic: &[(To, u8, u64)], hot: u32) -> Script {
    let (nics, levels) = (spec.topology.nics(), &spec.qos.service_levels);
    let mut lines = Vec::new();
    for src in 0..nics {
        for (&(to, sl, thirds), i) in traffic.iter().zip(0u32..) {
            let dst = match to {
                To::HotSpot => hot % nics,
                To::Shift(by) => (src + 1 + by) % nics,
                // Each NIC has numbers of its own.
                To::Any(number) => (number ^ src.wrapping_mul(0x9e37_79b9)).rotate_left(i) % nics,
            };
            let sl = usize::from(sl) % levels.len();
            let bytes = (u64::from(levels[sl].mtu_bytes) * thirds).div_ceil(3);
            if src != dst {
                let token = lines.len() as u64;
                lines.push((Cue::At(0), message(token, src, dst, sl as u8, bytes)));
            }
        }
    }
    Script::new(lines)
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_saturated_fabric_delivers_everything(
        spec in tight_fabric(), traffic in traffic(), hot in any::<u32>(),
    ) {
        spec.validate().unwrap();
        prop_assert_eq!(cycle_of(&spec), None);
        let mut script = script(&spec, &traffic, hot);
        let messages = script.messages_left();
        let end = Engine::new(&spec).unwrap().run(&mut script);
        prop_assert_eq!(end, RunEnd::Drained);
        prop_assert_eq!(script.delivered.len(), messages);
    }
}

/// The control: the same traffic stops a ring on which VL classes of two service levels share their VLs crosswise, whatever the
/// kind of switch.
#[test]
fn saturation_finds_a_ring_without_datelines() {
    let ring = || voq_fabric(Topology::cube(&[6], true, 2, 1, None).unwrap());
    let mut input_queued = ring();
    voq_of(&mut input_queued).port_standard = PortStandard::None;
    voq_of(&mut input_queued).input_queues = InputQueues::Fifo;
    let traffic: Vec<_> = (0..60u8)
        .map(|i| (To::Shift(u32::from(i % 4) + 3), i / 4 % 2, 3))
        .collect();
    for mut spec in [ring(), with_hierarchical_switches(ring()), input_queued] {
        for (sl, scs) in [[0, 1], [2, 3]].into_iter().enumerate() {
            spec.qos.service_levels[sl].scs = scs.to_vec();
        }
        for crossed in [false, true] {
            let second = if crossed { [1, 0] } else { [0, 1] };
            spec.qos.sc2vl = sc2vl(&[0, 1, second[0], second[1]]);
            tighten(&mut spec, 1);
            assert_eq!(cycle_of(&spec).is_some(), crossed);
            let mut script = script(&spec, &traffic, 0);
            let end = Engine::new(&spec).unwrap().run(&mut script);
            assert_eq!(matches!(end, RunEnd::Deadlock(_)), crossed, "{end:?}");
            assert_eq!(end == RunEnd::Drained, !crossed);
        }
    }
}
