//! Queueing schemes (`docs/model/queueing.md`) as tables of the rules in
//! [`spec::queueing`](crate::spec::queueing), for every kind of switch. DBBM is in
//! [`vls`](super::vls): its queue follows from the destination alone.

use super::vls::{Hop, VlAndClass};
use crate::ids::NicId;
use crate::spec::{FabricSpec, Mix, QueueingScheme, SchemeKind};
use crate::topology::{Peer, VlClasses};

/// VLs that a specification may have.
const VLS: usize = 32;
/// No switch behind an output.
const NO_SWITCH: u32 = u32::MAX;

/// The queueing scheme of a fabric.
#[derive(Debug)]
pub(super) struct Queues {
    scheme: QueueingScheme,
    classes: ClassRule,
    /// VLs by SL, then by VL class and queue.
    vls: Vec<u8>,
    /// VLs of a service level.
    per_level: usize,
    /// Queue number by SL and VL.
    queue_of: Vec<u8>,
    source: Source,
    local: Option<Local>,
}

/// The rule that changes the VL class of a packet.
#[derive(Debug)]
enum ClassRule {
    /// There is one class.
    One,
    Topology(VlClasses),
    Legs(VlClasses),
    /// Local links behind global links have class 1; all others have class 0.
    BehindGlobal {
        /// Per port, numbered within a switch.
        is_global: Vec<bool>,
        /// Per output: it leads to a NIC.
        to_nic: Vec<bool>,
    },
}

/// The source of the queue in path-constant schemes.
#[derive(Debug)]
enum Source {
    /// The destination; by NIC. Also one-queue, and local schemes, which do not ask.
    Destination(Vec<u8>),
    /// The groups of both ends, by NIC.
    Groups { of: Vec<u8>, mix: Mix },
    /// The destination, unless both ends are at one switch.
    Leaves {
        /// Switch of each NIC.
        home: Vec<u32>,
        /// Up-ports of the switch of each NIC.
        up_ports: Vec<u32>,
    },
}

/// The tables of a local scheme.
#[derive(Debug)]
struct Local {
    /// The switch behind each output, or [`NO_SWITCH`].
    next: Vec<u32>,
    /// Switch of each NIC.
    home: Vec<u32>,
    /// Queue in class 0 by switch and destination.
    standard: Vec<u8>,
    /// Queue in class 1, where it is an escape network; else empty.
    escape: Vec<u8>,
    nics: usize,
}

impl Queues {
    pub(super) fn new(spec: &FabricSpec, scheme: &QueueingScheme) -> Self {
        let (levels, classes) = (spec.qos.service_levels.len(), spec.classes());
        let per_level = scheme.total(classes);
        let mut vls = Vec::with_capacity(levels * per_level);
        let mut queue_of = vec![0; levels * VLS];
        for sl in 0..levels {
            for position in 0..per_level {
                let vl = spec
                    .channel_at(sl, position)
                    .map_or(0, |channel| channel.vl);
                queue_of[sl * VLS + usize::from(vl) % VLS] = scheme.at(position).1;
                vls.push(vl);
            }
        }
        Self {
            scheme: *scheme,
            classes: ClassRule::new(spec),
            vls,
            per_level,
            queue_of,
            source: Source::new(spec, scheme),
            local: scheme.is_local().then(|| Local::new(spec, scheme)),
        }
    }

    /// VL of a packet of `sl` for `dst` that leaves `nic`.
    pub(super) fn at_nic(&self, nic: NicId, dst: NicId, sl: u8) -> u8 {
        let queue = match &self.local {
            Some(local) => local.queue(local.home[nic.index()], dst, 0),
            None => self.source.queue(nic, dst, self.scheme.queues.into()),
        };
        self.vl(sl, 0, queue)
    }

    /// VL and class of a packet of `sl` for `dst` behind `hop`, if it had `before` in front of it.
    pub(super) fn behind(&self, hop: Hop, sl: u8, dst: NicId, before: VlAndClass) -> VlAndClass {
        let class = self.classes.behind(hop, before.class);
        let of_next = self.local.as_ref().and_then(|local| {
            let next = local.next[hop.output.index()];
            (next != NO_SWITCH).then(|| local.queue(next, dst, class))
        });
        let queue = of_next.unwrap_or_else(|| {
            let queue = self.queue_of[usize::from(sl) * VLS + usize::from(before.vl)];
            match self.scheme.queues_of(class) {
                queues if queue < queues => queue,
                queues => queue % queues.max(1),
            }
        });
        VlAndClass {
            vl: self.vl(sl, class, queue),
            class,
        }
    }

    fn vl(&self, sl: u8, class: u8, queue: u8) -> u8 {
        self.vls[usize::from(sl) * self.per_level + self.scheme.position(class, queue)]
    }
}

impl ClassRule {
    fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        if spec.has_escape_behind_global() {
            let ports = || topology.port_ids();
            let to_nic = topology.switch_ids().flat_map(|switch| {
                ports().map(move |port| matches!(topology.peer(switch, port), Peer::Nic(_)))
            });
            return Self::BehindGlobal {
                is_global: ports().map(|port| spec.is_global(port)).collect(),
                to_nic: to_nic.collect(),
            };
        }
        match (spec.classes(), spec.routing.paths.legs()) {
            (1, _) => Self::One,
            (_, 1) => Self::Topology(VlClasses::new(topology)),
            _ => Self::Legs(VlClasses::new(topology)),
        }
    }

    fn behind(&self, hop: Hop, class: u8) -> u8 {
        match self {
            Self::One => 0,
            Self::Topology(classes) => {
                classes.behind(hop.in_port, hop.out_port, hop.output.get(), class)
            }
            Self::Legs(of_leg) => hop.class_behind(of_leg, class),
            Self::BehindGlobal { to_nic, .. } if to_nic[hop.output.index()] => class,
            Self::BehindGlobal { is_global, .. } => {
                let (from, to) = (hop.in_port.index(), hop.out_port.index());
                u8::from(is_global[from] && !is_global[to])
            }
        }
    }
}

impl Source {
    fn new(spec: &FabricSpec, scheme: &QueueingScheme) -> Self {
        let nics = || spec.topology.nic_ids();
        // The queue towards NIC `dst` from the first NIC, which is any where only `dst` counts.
        let from_first = |dst| spec.queue_of_pair(scheme, NicId::new(0), dst);
        match scheme.kind {
            // The first NIC is in group 0.
            SchemeKind::Flow2sl(mix) => Self::Groups {
                of: nics().map(from_first).collect(),
                mix,
            },
            SchemeKind::Vftree => {
                let home: Vec<_> = homes(spec);
                let up_ports = |nic| {
                    let switch = spec.topology.attachment(nic).switch;
                    spec.topology.family().up_ports(switch).count().max(1)
                };
                Self::Leaves {
                    home,
                    up_ports: nics().map(up_ports).collect(),
                }
            }
            _ => Self::Destination(nics().map(from_first).collect()),
        }
    }

    fn queue(&self, src: NicId, dst: NicId, queues: u32) -> u8 {
        let queue = match self {
            Self::Destination(of) => return of[dst.index()],
            Self::Groups { of, mix } => {
                let (from, to) = (u32::from(of[src.index()]), u32::from(of[dst.index()]));
                match mix {
                    Mix::Sum => (from + to) % queues,
                    Mix::Difference => (to + queues - from) % queues,
                }
            }
            Self::Leaves { home, .. } if home[src.index()] == home[dst.index()] => 0,
            Self::Leaves { up_ports, .. } => dst.get() / up_ports[src.index()] % queues,
        };
        queue as u8
    }
}

/// Switch of each NIC.
fn homes(spec: &FabricSpec) -> Vec<u32> {
    let home = |nic| spec.topology.attachment(nic).switch.get();
    spec.topology.nic_ids().map(home).collect()
}

impl Local {
    fn new(spec: &FabricSpec, scheme: &QueueingScheme) -> Self {
        let topology = &spec.topology;
        let next = topology.switch_ids().flat_map(|switch| {
            topology
                .port_ids()
                .map(move |port| match topology.peer(switch, port) {
                    Peer::Switch { switch, .. } => switch.get(),
                    Peer::Nic(_) | Peer::None => NO_SWITCH,
                })
        });
        let table = |class| {
            let pairs = topology.switch_ids();
            let pairs = pairs.flat_map(|switch| topology.nic_ids().map(move |dst| (switch, dst)));
            let queues = pairs.map(|(switch, dst)| spec.queue_at(scheme, switch, dst, class));
            queues.collect()
        };
        Self {
            next: next.collect(),
            home: homes(spec),
            standard: table(0),
            escape: if scheme.has_escape() {
                table(1)
            } else {
                Vec::new()
            },
            nics: topology.nics() as usize,
        }
    }

    fn queue(&self, switch: u32, dst: NicId, class: u8) -> u8 {
        let table = if class > 0 && !self.escape.is_empty() {
            &self.escape
        } else {
            &self.standard
        };
        table[switch as usize * self.nics + dst.index()]
    }
}
