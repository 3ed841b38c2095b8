//! Random queueing schemes and input queues for random fabrics.

use super::infiniband::voq_of;
use flitwise::fabric::spec::voq::{InputQueues, Isolation};
use flitwise::fabric::spec::{
    Along, Detail, FabricSpec, Mix, Paths, QueueingScheme, SchemeKind, TrunkSelection, UpPorts,
    VlPolicy,
};
use flitwise::fabric::topology::Shape;
use proptest::prelude::*;

/// A scheme before it fits: which one, and its queues.
#[derive(Debug, Clone, Copy)]
pub struct RawScheme {
    which: usize,
    queues: u8,
    escape_queues: u8,
}

// DBBM, whose queues may share VLs, is drawn with the service levels.
const KINDS: [SchemeKind; 13] = [
    SchemeKind::OneQueue,
    SchemeKind::Voqnet,
    SchemeKind::Bbq,
    SchemeKind::Flow2sl(Mix::Sum),
    SchemeKind::Flow2sl(Mix::Difference),
    SchemeKind::Vftree,
    SchemeKind::Voqsw,
    SchemeKind::Obqa,
    SchemeKind::Iodet(Along::Dimension),
    SchemeKind::Iodet(Along::Coordinate),
    SchemeKind::H2lq(Detail::Hierarchical),
    SchemeKind::H2lq(Detail::Plain),
    SchemeKind::Sf2lq,
];

/// A scheme, or none.
pub fn raw_scheme() -> BoxedStrategy<Option<RawScheme>> {
    let raw = (0..KINDS.len(), 1u8..=6, 1u8..=3);
    let raw = raw.prop_map(|(which, queues, escape_queues)| RawScheme {
        which,
        queues,
        escape_queues,
    });
    prop_oneof![3 => Just(None), 1 => raw.prop_map(Some)].boxed()
}

impl RawScheme {
    /// Gives the service levels of `spec` this scheme, or the next one that fits its topology, on at most `most`
    /// VLs. Takes care that the routing is one that local schemes can follow.
    pub fn put(self, spec: &mut FabricSpec, most: u8) {
        for step in 0..KINDS.len() {
            let kind = KINDS[(self.which + step) % KINDS.len()];
            if fits(kind, spec) && self.put_kind(kind, spec, most) {
                return;
            }
        }
    }

    fn put_kind(self, kind: SchemeKind, spec: &mut FabricSpec, most: u8) -> bool {
        let mut scheme = QueueingScheme::new(kind, self.queues);
        if scheme.has_escape() {
            scheme.escape_queues = self.escape_queues;
        }
        if kind == SchemeKind::OneQueue {
            scheme.queues = 1;
        }
        if kind == SchemeKind::Voqnet {
            scheme.queues = spec.topology.nics().min(40) as u8;
        }
        let before = (spec.qos.clone(), spec.routing.clone());
        spec.qos.vl_policy = VlPolicy::Queueing(scheme);
        let levels = spec.qos.service_levels.len();
        // There are 31 SCs.
        let most = usize::from(most).min(31 / levels);
        while scheme.total(spec.classes()) > most && scheme.queues > 1 && kind != SchemeKind::Voqnet
        {
            scheme.queues -= 1;
        }
        let total = scheme.total(spec.classes());
        if total > most {
            (spec.qos, spec.routing) = before;
            return false;
        }
        spec.qos.vl_policy = VlPolicy::Queueing(scheme);
        spec.qos.vls = total as u8;
        spec.qos.sc2vl = [None; 32];
        let mut scs = (0u8..32).filter(|&sc| sc != 15);
        for (sl, level) in spec.qos.service_levels.iter_mut().enumerate() {
            level.scs = scs.by_ref().take(total).collect();
            for (position, &sc) in level.scs.iter().enumerate() {
                // Service levels share VLs within a class, and not as the same queues.
                let (class, queue) = scheme.at(position);
                let queue = (usize::from(queue) + sl) % usize::from(scheme.queues_of(class));
                let vl = scheme.position(class, queue as u8);
                spec.qos.sc2vl[usize::from(sc)] = Some(vl as u8);
            }
        }
        if scheme.is_local() {
            spec.routing.up_ports = UpPorts::Destination;
            spec.routing.trunk = TrunkSelection::Destination;
        }
        true
    }
}

/// How input buffers organise a VL, before it is known how large they are.
#[derive(Debug, Clone, Copy)]
pub struct RawInputQueues {
    queues: InputQueues,
    isolation_queues: u32,
    /// In sixteenths of the VL: detect, stop, and go as a part of stop.
    thresholds: (u32, u32, u32),
}

/// Any of them.
pub fn raw_input_queues() -> BoxedStrategy<RawInputQueues> {
    let queues = prop_oneof![
        1 => Just(InputQueues::VirtualOutput),
        1 => Just(InputQueues::Fifo),
        1 => Just(InputQueues::PerFlow),
        2 => Just(InputQueues::Isolating),
    ];
    let thresholds = (0u32..=16, 0u32..=16, 0u32..=16);
    (queues, 1u32..=4, thresholds)
        .prop_map(|(queues, isolation_queues, thresholds)| RawInputQueues {
            queues,
            isolation_queues,
            thresholds,
        })
        .boxed()
}

impl RawInputQueues {
    /// Gives these to the switches of `spec`, whose buffers have their sizes.
    pub fn put(self, spec: &mut FabricSpec) {
        if self.queues == InputQueues::PerFlow {
            spec.congestion_control = None;
        }
        let vls = spec.qos.vls;
        let voq = voq_of(spec);
        voq.input_queues = self.queues;
        let size = voq.buffers.input.per_vl[0];
        let (detect, stop, go) = self.thresholds;
        let part = |sixteenths: u32| (size * sixteenths / 16).max(1);
        let thresholds = [
            part(detect),
            part(stop),
            (part(stop) * go / 16).min(part(stop) - 1),
        ];
        voq.isolation = (self.queues == InputQueues::Isolating)
            .then(|| Isolation::even(vls, self.isolation_queues, thresholds));
    }
}

/// True if `kind` goes with the topology and the paths of `spec`.
fn fits(kind: SchemeKind, spec: &FabricSpec) -> bool {
    let local = QueueingScheme::new(kind, 1).is_local();
    if local && spec.routing.paths != Paths::Minimal {
        return false;
    }
    let own_routing = spec.routing.forwarding.is_none();
    match (kind, spec.topology.shape()) {
        (SchemeKind::Vftree, Shape::Tree(_) | Shape::Xgft(_)) => true,
        (SchemeKind::Iodet(_), Shape::Cube(_) | Shape::HyperX(_) | Shape::Kns(_)) => true,
        (SchemeKind::H2lq(_), Shape::Dragonfly(_)) => own_routing,
        (SchemeKind::Sf2lq, _) => own_routing && spec.topology.vl_classes() == 2,
        (SchemeKind::Vftree | SchemeKind::Iodet(_) | SchemeKind::H2lq(_), _) => false,
        _ => true,
    }
}

/// Has packets choose their up-ports, unless a local scheme wants to know them.
pub fn choose_up_ports(spec: &mut FabricSpec) {
    let scheme = spec.queueing_scheme();
    if !scheme.is_some_and(QueueingScheme::is_local) {
        spec.routing.up_ports = UpPorts::LeastQueued;
    }
}
