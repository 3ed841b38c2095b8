//! `[fabric]` as written: keys that all kinds of switch have, and keys of each `kind`.

use super::raw_infiniband::{RawAcks, RawForwarding, RawHcaRate, RawLinkSpeed, RawSl2Vl, RawSpeed};
use super::raw_topology::RawTopology;
use super::resolve_routing::{RawPaths, RawRouting};
use crate::fabric::spec::{RingTie, TrunkSelection, UpPorts};
use crate::units::{BufferPart, Bytes, Latency, Picoseconds, Rate};
use serde::Deserialize;
use serde::de::Deserializer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FabricPreset {
    #[serde(rename = "opa-gen1")]
    OpaGen1,
    #[serde(rename = "opa-400")]
    Opa400,
    #[serde(rename = "opasim")]
    OpaSim,
    IbDdrTestbed,
    #[serde(rename = "ib-qdr-648")]
    IbQdr648,
    IbQdr,
    IbFdr,
    IbEdr,
    IbHdr,
    IbNdr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawVirtualAllocation {
    Informed,
    Blind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawCentralQueues {
    PerNeighbour,
    PerVl,
}

/// The keys that only one kind of switch has.
#[derive(Debug)]
pub(super) enum RawKind {
    Hierarchical(RawHierarchical),
    Voq(RawVoq),
}

/// Defines the common keys, and the kinds of switch with their keys.
macro_rules! fabric {
    (
        $common:tt
        $($kind:ident: $all:ident, $own:ident $keys:tt)*
    ) => {
        common! { $common }
        $(of_kind! { $kind $all $own $common $keys })*

        /// `tagged` has turned the `kind` into the name of a variant.
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum Tagged {
            $($kind($all),)*
        }

        impl<'de> Deserialize<'de> for RawFabric {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(match Tagged::deserialize(deserializer)? {
                    $(Tagged::$kind(all) => all.into(),)*
                })
            }
        }
    };
}

macro_rules! common {
    ({ $($common:ident: $type:ty,)* }) => {
        #[derive(Debug)]
        pub(super) struct RawFabric {
            $(pub $common: Option<$type>,)*
            pub kind: RawKind,
        }
    };
}

/// Defines two structures: one of all keys that a kind may have, so that a key of another kind
/// is an unknown field, and one of the keys that only this kind has.
macro_rules! of_kind {
    (
        $kind:ident $all:ident $own:ident
        { $($common:ident: $common_type:ty,)* }
        { $($key:ident: $type:ty,)* }
    ) => {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $all {
            $($common: Option<$common_type>,)*
            $($key: Option<$type>,)*
        }

        #[derive(Debug)]
        pub(super) struct $own {
            $(pub $key: Option<$type>,)*
        }

        impl From<$all> for RawFabric {
            fn from(all: $all) -> Self {
                Self {
                    $($common: all.$common,)*
                    kind: RawKind::$kind($own { $($key: all.$key,)* }),
                }
            }
        }
    };
}

fabric! {
    {
        preset: FabricPreset,
        topology: RawTopology,
        routing: RawRouting,
        ring_tie: RingTie,
        trunk_selection: TrunkSelection,
        up_ports: UpPorts,
        paths: RawPaths,
        forwarding: RawForwarding,
        sl2vl: RawSl2Vl,
        flit: Bytes,
        header: Bytes,
        credit: Bytes,
        link_latency: Latency,
        host_link_latency: Latency,
        input_latency: Latency,
        routing_latency: Latency,
        allocation_latency: Latency,
        crossbar_latency: Latency,
        output_latency: Latency,
        input_buffer: Bytes,
        output_buffer: Bytes,
        nic_queue: Bytes,
        nic_sink: Bytes,
    }
    Hierarchical: HierarchicalKeys, RawHierarchical {
        link_rate: Rate,
        allocation_gap: Latency,
        virtual_allocation: RawVirtualAllocation,
        mport_speedup: u32,
        central_speedup: u32,
        central_buffer: Bytes,
        exclusive: BufferPart,
        max: BufferPart,
        central_exclusive: BufferPart,
        central_max: BufferPart,
        central_queues: RawCentralQueues,
    }
    Voq: VoqKeys, RawVoq {
        link_speed: RawSpeed,
        host_link_speed: RawSpeed,
        link_speeds: Vec<RawLinkSpeed>,
        tick: Picoseconds,
        crossbar_speedup: u32,
        input_buffer_vls: Vec<BufferPart>,
        nic_sink_vls: Vec<BufferPart>,
        hca_send_rate: RawHcaRate,
        hca_sink_rate: RawHcaRate,
        acks: RawAcks,
        ack: Bytes,
    }
}

impl Default for RawFabric {
    fn default() -> Self {
        HierarchicalKeys::default().into()
    }
}
