//! The uses of the time on a critical path.

use serde::{Deserialize, Serialize};

/// The use of a piece of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A rank computed.
    Computing,
    /// A rank combined data of a reduction.
    Reduction,
    /// A message was passed between ranks inside a node.
    InsideNodes,
    /// The bytes of a message left its NIC, alone in the fabric.
    Serialisation,
    /// The rest of what a message takes alone in the fabric.
    Latency,
    /// A message waited for a link that carried other messages.
    Queueing,
    /// A message waited for a link that lacked credits.
    CreditStalls,
    /// A message waited for a link that was off, on its way down or up, or in an outage.
    WakingLinks,
    /// Congestion control held a message back.
    Throttling,
    /// A message waited inside a switch or NIC, though its link was free and had credits.
    InsideDevices,
}

impl Part {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Computing,
        Self::Reduction,
        Self::InsideNodes,
        Self::Serialisation,
        Self::Latency,
        Self::Queueing,
        Self::CreditStalls,
        Self::WakingLinks,
        Self::Throttling,
        Self::InsideDevices,
    ];

    /// The waits of messages, each with its reason.
    pub const WAITS: [Self; 5] = [
        Self::Queueing,
        Self::CreditStalls,
        Self::WakingLinks,
        Self::Throttling,
        Self::InsideDevices,
    ];

    /// Their names as keys, and for people, by number.
    const NAMES: [(&'static str, &'static str); Self::ALL.len()] = [
        ("local_work_ps", "local work"),
        ("reduction_ps", "reductions"),
        ("inside_nodes_ps", "inside nodes"),
        ("serialisation_ps", "serialisation"),
        ("latency_ps", "latency"),
        ("queueing_ps", "queueing"),
        ("credit_stalls_ps", "credit stalls"),
        ("waking_links_ps", "links down"),
        ("throttling_ps", "throttling"),
        ("inside_devices_ps", "inside switches and NICs"),
    ];

    /// Its name as a key: picoseconds.
    #[must_use]
    pub fn key(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Its name for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// Picoseconds for each [`Part`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts([u64; Part::ALL.len()]);

impl Parts {
    /// The time used for `part`.
    #[must_use]
    pub fn of(&self, part: Part) -> u64 {
        self.0[part as usize]
    }

    /// Adds `ps` to `part`.
    pub fn add(&mut self, part: Part, ps: u64) {
        self.0[part as usize] += ps;
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All that a message takes longer than alone.
    #[must_use]
    pub fn delays(&self) -> u64 {
        Part::WAITS.map(|part| self.of(part)).iter().sum()
    }

    /// The time used for `part`, less the time used for it in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self, part: Part) -> i128 {
        i128::from(self.of(part)) - i128::from(other.of(part))
    }
}
