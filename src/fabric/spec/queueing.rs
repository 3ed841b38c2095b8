//! Queueing schemes: in which queue of a VL class a packet waits (`docs/model/queueing.md`). A queue is a
//! VL, so a scheme is a VL policy. How an input buffer serves its queues is a choice of the switch.
//!
//! A new scheme by destination, or a local one, touches five files: this one; `src/config/qos/keys.rs` and `vls.rs`,
//! for its name and its usual number of queues; `tests/oracles/src/queueing.rs`, which implements it independently; and
//! `tests/common/random_queueing.rs`. One that needs something of the fabric also touches `validate/queueing.rs`, and
//! one by source `src/fabric/engine/queueing.rs`.

use super::FabricSpec;
use crate::ids::{NicId, PortId, SwitchId};
use crate::topology::{Dragonfly, Peer, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queueing scheme and its queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "SchemeKeys")]
#[schemars(with = "SchemeKeys")]
pub struct QueueingScheme {
    /// The scheme.
    pub kind: SchemeKind,
    /// Queues of each VL class, at least 1.
    pub queues: u8,
    /// Queues of VL class 1, where it is the escape network of a scheme; else 0.
    pub escape_queues: u8,
}

/// The rule by which a scheme finds the queue. In the formulas D is the destination, Q the number of queues, N
/// the number of NICs, and o the out-port at the switch that stores the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeKind {
    /// One queue: no scheme.
    OneQueue,
    /// D mod Q: destination-based buffer management (Nachiondo, Flich, Duato, "Buffer management
    /// strategies to reduce HoL blocking", IEEE TPDS 2010). Of its mappings of destinations to
    /// queues it is the modulo one, which Nachiondo, Flich, Duato, Gusat evaluate for 4 and 8 queues
    /// (Euro-Par 2005, LNCS 3648, p. 1024; abstract).
    Dbbm,
    /// D mod Q with a queue for each destination: virtual output queues at the level of the network (Dally,
    /// Carvey, Dennison, "The Avici terabit switch/router", Hot Interconnects 1998).
    Voqnet,
    /// ⌊D · Q / N⌋ (Yébenes et al., "BBQ", Euro-Par 2013).
    Bbq,
    /// Groups of sources and destinations make a Latin square (Escudero-Sahuquillo et al., "A new
    /// proposal to deal with congestion in InfiniBand-based fat-trees", JPDC 2014).
    Flow2sl(Mix),
    /// Destinations behind the same up-port of a leaf switch have different queues (Guay et al., "vFtree",
    /// IPDPS 2011).
    Vftree,
    /// o mod Q: virtual output queues at the level of the switch (Gómez et al., "VOQsw", IPDPS 2003).
    Voqsw,
    /// o mod Q: output-based queue assignment (Escudero-Sahuquillo et al., "OBQA", JPDC 2011).
    Obqa,
    /// The dimension of o (Peñaranda et al., "IODET", ICPADS 2012), or D's coordinate in it.
    Iodet(Along),
    /// Hierarchical two-level queueing for dragonflies (Yébenes et al., CLUSTER 2015).
    H2lq(Detail),
    /// The switch of D, in a network for each hop (Yébenes et al., HiPINEB 2017).
    Sf2lq,
}

/// The mix of the groups of source and destination, g(S) and g(D), in Flow2SL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// (g(S) + g(D)) mod Q.
    #[default]
    Sum,
    /// (g(D) − g(S)) mod Q.
    Difference,
}

/// The ports from which IODET takes the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// The dimension of the next hop.
    #[default]
    Dimension,
    /// The coordinate of D in it; at the switch of D that in the last dimension.
    Coordinate,
}

/// The detail from which H2LQ takes the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// The group of D; within that group the position of its switch.
    #[default]
    Hierarchical,
    /// D.
    Plain,
}

impl SchemeKind {
    /// The name in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneQueue => "one-queue",
            Self::Dbbm => "dbbm",
            Self::Voqnet => "voqnet",
            Self::Bbq => "bbq",
            Self::Flow2sl(_) => "flow2sl",
            Self::Vftree => "vftree",
            Self::Voqsw => "voqsw",
            Self::Obqa => "obqa",
            Self::Iodet(_) => "iodet",
            Self::H2lq(_) => "h2lq",
            Self::Sf2lq => "sf2lq",
        }
    }
}

impl QueueingScheme {
    /// The scheme with `queues` queues, and none in an escape network.
    #[must_use]
    pub const fn new(kind: SchemeKind, queues: u8) -> Self {
        Self {
            kind,
            queues,
            escape_queues: 0,
        }
    }

    /// Number of queues of VL class `class`.
    #[must_use]
    pub fn queues_of(&self, class: u8) -> u8 {
        match (class, self.escape_queues) {
            (0, _) | (_, 0) => self.queues,
            (_, escape) => escape,
        }
    }

    /// Position of a queue among all queues of a service level, which are sorted by VL class.
    #[must_use]
    pub fn position(&self, class: u8, queue: u8) -> usize {
        let before = (0..class).map(|class| usize::from(self.queues_of(class)));
        before.sum::<usize>() + usize::from(queue)
    }

    /// VL class and queue at a position.
    #[must_use]
    pub fn at(&self, position: usize) -> (u8, u8) {
        let (first, rest) = (usize::from(self.queues), usize::from(self.queues_of(1)));
        match position.checked_sub(first) {
            None => (0, position as u8),
            Some(behind) => (
                1 + (behind / rest.max(1)) as u8,
                (behind % rest.max(1)) as u8,
            ),
        }
    }

    /// Number of queues of a service level in `classes` VL classes.
    #[must_use]
    pub fn total(&self, classes: u8) -> usize {
        self.position(classes, 0)
    }

    /// Whether the next switch decides the queue, and not source and destination.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self.kind {
            SchemeKind::OneQueue
            | SchemeKind::Dbbm
            | SchemeKind::Voqnet
            | SchemeKind::Bbq
            | SchemeKind::Flow2sl(_)
            | SchemeKind::Vftree => false,
            SchemeKind::Voqsw
            | SchemeKind::Obqa
            | SchemeKind::Iodet(_)
            | SchemeKind::H2lq(_)
            | SchemeKind::Sf2lq => true,
        }
    }

    /// Whether VL class 1 is an escape network with queues of its own.
    #[must_use]
    pub fn has_escape(&self) -> bool {
        matches!(self.kind, SchemeKind::H2lq(_) | SchemeKind::Sf2lq)
    }
}

/// The keys of a scheme.
#[derive(Serialize, JsonSchema)]
struct SchemeKeys {
    /// Its name.
    kind: &'static str,
    /// Queues of each service level in each VL class.
    queues: u8,
    /// Queues in the escape network of `h2lq` and `sf2lq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    escape_queues: Option<u8>,
    /// The rule of `flow2sl`, `iodet` and `h2lq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_rule: Option<Rule>,
}

/// The rule of a scheme that has a choice of rules.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Rule {
    Mix(Mix),
    Along(Along),
    Detail(Detail),
}

impl From<QueueingScheme> for SchemeKeys {
    fn from(scheme: QueueingScheme) -> Self {
        let QueueingScheme {
            kind,
            queues,
            escape_queues,
        } = scheme;
        Self {
            kind: kind.name(),
            queues,
            escape_queues: scheme.has_escape().then_some(escape_queues),
            queue_rule: match kind {
                SchemeKind::Flow2sl(mix) => Some(Rule::Mix(mix)),
                SchemeKind::Iodet(along) => Some(Rule::Along(along)),
                SchemeKind::H2lq(detail) => Some(Rule::Detail(detail)),
                _ => None,
            },
        }
    }
}

/// Queue of NIC `nic` if its band decides: ⌊nic · queues / nics⌋.
fn band(nic: NicId, queues: u8, nics: u32) -> u32 {
    let band = u64::from(nic.get()) * u64::from(queues) / u64::from(nics.max(1));
    band as u32
}

impl FabricSpec {
    /// The queueing scheme, if one decides the VLs.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queueing_scheme(&self) -> Option<&QueueingScheme> {
        self.qos.vl_policy.queueing()
    }

    /// Whether packets are in VL class 1 on the local links behind global links of a dragonfly, and
    /// in class 0 elsewhere, in place of the classes of the topology.
    #[must_use]
    pub(crate) fn has_escape_behind_global(&self) -> bool {
        let scheme = self.queueing_scheme().map(|queueing| queueing.kind);
        matches!(scheme, Some(SchemeKind::H2lq(_)))
    }

    /// Queue, below the number of queues of its class, of a packet from `src` to `dst` by a path-constant
    /// scheme; 0 by a local one.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queue_of_pair(&self, queueing: &QueueingScheme, src: NicId, dst: NicId) -> u8 {
        let (queues, nics) = (u32::from(queueing.queues.max(1)), self.topology.nics());
        let group = |nic| band(nic, queueing.queues, nics);
        let home = |nic| self.topology.attachment(nic).switch;
        let queue = match queueing.kind {
            SchemeKind::Dbbm | SchemeKind::Voqnet => dst.get() % queues,
            SchemeKind::Bbq => group(dst),
            SchemeKind::Flow2sl(Mix::Sum) => (group(src) + group(dst)) % queues,
            SchemeKind::Flow2sl(Mix::Difference) => (group(dst) + queues - group(src)) % queues,
            SchemeKind::Vftree if home(src) == home(dst) => 0,
            SchemeKind::Vftree => {
                let up_ports = self.topology.family().up_ports(home(src)).count();
                dst.get() / up_ports.max(1) % queues
            }
            SchemeKind::OneQueue
            | SchemeKind::Voqsw
            | SchemeKind::Obqa
            | SchemeKind::Iodet(_)
            | SchemeKind::H2lq(_)
            | SchemeKind::Sf2lq => 0,
        };
        queue as u8
    }

    /// Queue in VL class `class`, below the number of its queues, of a packet for `dst` that `switch` stores, by a
    /// local scheme. 0 if the switch has no route to `dst`, and by a path-constant scheme.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queue_at(
        &self,
        queueing: &QueueingScheme,
        switch: SwitchId,
        dst: NicId,
        class: u8,
    ) -> u8 {
        let queues = u32::from(queueing.queues_of(class).max(1));
        let home = self.topology.attachment(dst).switch;
        let out_port = || self.preferred(switch, dst);
        let queue = match (queueing.kind, self.topology.shape()) {
            (SchemeKind::Voqsw | SchemeKind::Obqa, _) => out_port().map_or(0, |port| port.get()),
            (SchemeKind::Iodet(along), _) => out_port().map_or(0, |port| {
                let dimension = self.dimension_towards(switch, port);
                match along {
                    Along::Dimension => dimension,
                    Along::Coordinate => {
                        let last = self.topology.dimensions().saturating_sub(1);
                        self.topology.coordinate(home, dimension.min(last))
                    }
                }
            }),
            (SchemeKind::H2lq(Detail::Plain), _) => dst.get(),
            (SchemeKind::H2lq(Detail::Hierarchical), Shape::Dragonfly(fly)) => {
                hierarchical_queue(fly, switch, home, class)
            }
            (SchemeKind::Sf2lq, _) => home.get(),
            _ => 0,
        };
        (queue % queues) as u8
    }

    /// The dimension along which `port` of `switch` leads; towards a NIC the number of dimensions.
    fn dimension_towards(&self, switch: SwitchId, port: PortId) -> u32 {
        let dimension = match self.topology.peer(switch, port) {
            Peer::Nic(_) => None,
            Peer::Switch { .. } | Peer::None => self.topology.family().dimension(switch, port),
        };
        dimension.map_or_else(|| self.topology.dimensions(), u32::from)
    }
}

/// H2LQ's queue of a packet for a NIC of switch `home` that `switch` stores, not yet modulo the number of
/// queues.
fn hierarchical_queue(fly: &Dragonfly, switch: SwitchId, home: SwitchId, class: u8) -> u32 {
    let group = |switch: SwitchId| switch.get() / fly.a();
    if class == 0 && group(switch) != group(home) {
        group(home)
    } else {
        home.get() % fly.a()
    }
}
