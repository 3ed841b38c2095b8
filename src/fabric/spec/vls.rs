//! Which VL a packet takes for its next hop (`docs/model/fabric.md` §7), as a function of the
//! specification. Analysis asks it hop by hop; the engine makes its tables from it
//! (`src/fabric/engine/vls.rs`).
//!
//! A new VL policy touches: this file, for its variant of [`VlPolicy`] and its rule; the engine's
//! file, for the same rule as tables; `validate/vls.rs`; `src/config/qos/vls.rs`, and `keys.rs`
//! there; and `tests/oracles/src/vls.rs`, which implements the rule independently. It touches
//! `src/fabric/analysis/turns.rs` only if packets change their VL for a new reason.

use super::{Qos, QueueingScheme, json};
use crate::ids::{NicId, PortId, SwitchId};
use flitwise_base::schema::keys;
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;

/// The rule by which a packet gets its VL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VlPolicy {
    /// By service channel, as in `docs/model/fabric.md` section 7.
    ServiceChannels,
    /// By a queueing scheme: by service channel, and every service level has an SC for each queue of
    /// each VL class.
    Queueing(QueueingScheme),
    /// By InfiniBand's SL-to-VL tables.
    SlToVl(SlToVl),
}

impl VlPolicy {
    /// The SL-to-VL tables, if these decide.
    #[must_use]
    pub fn tables(&self) -> Option<&SlToVl> {
        match self {
            Self::SlToVl(tables) => Some(tables),
            Self::ServiceChannels | Self::Queueing(_) => None,
        }
    }

    /// The queueing scheme, if one decides.
    #[must_use]
    pub fn queueing(&self) -> Option<&QueueingScheme> {
        match self {
            Self::Queueing(queueing) => Some(queueing),
            Self::ServiceChannels | Self::SlToVl(_) => None,
        }
    }
}

/// SL-to-VL tables, each a text with the VLs of SL 0, 1, ….
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SlToVl {
    /// The table of every NIC and port that has none of its own.
    #[serde(serialize_with = "json::line")]
    #[schemars(with = "String")]
    pub default: Vec<u8>,
    /// Tables of NICs.
    #[serde(serialize_with = "json::lines_by_key")]
    #[schemars(with = "BTreeMap<String, String>", transform = keys("<HCA>", "The table of an HCA."))]
    pub hcas: BTreeMap<NicId, Vec<u8>>,
    /// Tables of switches, by in-port and out-port.
    #[serde(serialize_with = "json::lines_by_key")]
    #[schemars(with = "BTreeMap<String, String>", transform = keys("<PORTS>", "The table of a switch, in-port and out-port, as in \"0 0 4\"."))]
    pub ports: BTreeMap<Hop, Vec<u8>>,
}

impl SlToVl {
    /// All tables.
    pub fn all(&self) -> impl Iterator<Item = &Vec<u8>> {
        let own = self.hcas.values().chain(self.ports.values());
        std::iter::once(&self.default).chain(own)
    }

    /// VL of a packet of `sl` that leaves NIC `hca`; `None` if the table is short.
    #[must_use]
    pub fn at_hca(&self, hca: NicId, sl: u8) -> Option<u8> {
        let table = self.hcas.get(&hca).unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }

    /// VL of a packet of `sl` behind `hop`; `None` if the table is short.
    #[must_use]
    pub fn at_switch(&self, hop: Hop, sl: u8) -> Option<u8> {
        let own = self.ports.get(&hop);
        let table = own.unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }
}

/// The channel on which a packet goes from one buffer to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Service channel. With SL-to-VL tables the SL stands for it.
    pub sc: u8,
    /// Virtual lane.
    pub vl: u8,
}

/// The step of a packet through a switch. Sorts by switch, then by in-port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Switch.
    pub switch: SwitchId,
    /// Port by which the packet comes in.
    pub in_port: PortId,
    /// Port by which it leaves.
    pub out_port: PortId,
}

impl Serialize for Hop {
    /// "switch in-port out-port", so that it can be a key.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Self {
            switch,
            in_port,
            out_port,
        } = self;
        s.collect_str(&format_args!("{switch} {in_port} {out_port}"))
    }
}

/// The leg of its path that a packet is on at a switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LegAt {
    /// Its number, from 0.
    pub number: u8,
    /// The leg begins here.
    pub begins: bool,
}

impl Qos {
    /// Queues that service level `sl` has in each of `classes` VL classes: the destination picks
    /// one. At least 1.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queues(&self, sl: usize, classes: u8) -> usize {
        (self.service_levels[sl].scs.len() / usize::from(classes.max(1))).max(1)
    }
}
