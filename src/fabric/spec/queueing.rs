//! Queueing schemes: in which queue of a VL class a packet waits (`docs/model/queueing.md`). A queue is a
//! VL, so a scheme is a VL policy. How an input buffer serves its queues is a choice of the switch.
//!
//! A new scheme by destination, or a local one, touches five files: this one; `src/config/qos/keys.rs` and `vls.rs`,
//! for its name and its usual number of queues; `tests/oracles/src/queueing.rs`, which implements it independently; and
//! `tests/common/random_queueing.rs`. One that needs something of the fabric also touches `validate/queueing.rs`, and
//! one by source `src/fabric/engine/queueing.rs`.

use crate::ids::NicId;
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
pub(super) fn band(nic: NicId, queues: u8, nics: u32) -> u32 {
    let band = u64::from(nic.get()) * u64::from(queues) / u64::from(nics.max(1));
    band as u32
}
