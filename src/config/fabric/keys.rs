//! The keys of `[fabric]` that all kinds of switch have. Each kind adds its own, in its file.

use crate::fabric::spec::DetourRule;
use crate::oblivious::RoutingEngine;
use serde::Deserialize;

/// Gives the common keys to another macro, followed by `$rest`.
macro_rules! with_common_keys {
    ($then:ident $($rest:tt)*) => {
        $then! {
            {
                preset: $crate::config::fabric::keys::FabricPreset,
                topology: $crate::config::fabric::topology::RawTopology,
                routing: $crate::config::fabric::keys::RawRouting,
                failure: Vec<$crate::config::fabric::failure::RawFailure>,
                failure_seed: u64,
                ring_tie: $crate::fabric::spec::RingTie,
                trunk_selection: $crate::fabric::spec::TrunkSelection,
                up_ports: $crate::fabric::spec::UpPorts,
                paths: $crate::config::fabric::keys::RawPaths,
                paths_intermediate: $crate::fabric::spec::Intermediate,
                paths_bias: $crate::units::Bytes,
                forwarding: $crate::config::fabric::tables::RawForwarding,
                sl2vl: $crate::config::fabric::tables::RawSl2Vl,
                flit: $crate::units::Bytes,
                header: $crate::units::Bytes,
                credit: $crate::units::Bytes,
                link_latency: $crate::units::Latency,
                host_link_latency: $crate::units::Latency,
                input_latency: $crate::units::Latency,
                routing_latency: $crate::units::Latency,
                allocation_latency: $crate::units::Latency,
                crossbar_latency: $crate::units::Latency,
                output_latency: $crate::units::Latency,
                input_buffer: $crate::units::Bytes,
                output_buffer: $crate::units::Bytes,
                nic_queue: $crate::units::Bytes,
                nic_queueing: $crate::replay::background::NicQueueing,
                nic_sink: $crate::units::Bytes,
            }
            $($rest)*
        }
    };
}

macro_rules! common {
    ({ $($common:ident: $type:ty,)* }) => {
        /// The keys of `[fabric]`; `kind` has the keys of one kind of switch.
        #[derive(Debug)]
        pub(crate) struct FabricKeys<K> {
            $(pub $common: Option<$type>,)*
            pub kind: K,
        }

        impl<K> FabricKeys<K> {
            /// The same keys, with the keys of the kind wrapped.
            pub(crate) fn map_kind<J>(self, wrap: impl FnOnce(K) -> J) -> FabricKeys<J> {
                FabricKeys {
                    $($common: self.$common,)*
                    kind: wrap(self.kind),
                }
            }
        }
    };
}

/// Defines two structures of a kind: one of all keys that it may have, so that a key of another
/// kind is an unknown field, and one of the keys that only this kind has.
macro_rules! of_kind {
    (
        { $($common:ident: $common_type:ty,)* }
        $all:ident, $own:ident { $($key:ident: $type:ty,)* }
    ) => {
        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $all {
            $($common: Option<$common_type>,)*
            $($key: Option<$type>,)*
        }

        #[derive(Debug)]
        pub(crate) struct $own {
            $($key: Option<$type>,)*
        }

        impl From<$all> for $crate::config::fabric::keys::FabricKeys<$own> {
            fn from(all: $all) -> Self {
                Self {
                    $($common: all.$common,)*
                    kind: $own { $($key: all.$key,)* },
                }
            }
        }
    };
}

with_common_keys! { common }
pub(crate) use {of_kind, with_common_keys};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FabricPreset {
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
    Sauron,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawRouting {
    Dor,
    HybridDor,
    Destro,
    DModK,
    Minimal,
    MinHop,
    Updn,
    Ftree,
    Dfsssp,
}

/// `fabric.paths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawPaths {
    Minimal,
    Valiant,
    UgalL,
    UgalG,
    Par,
}

impl RawPaths {
    /// Which packets take a detour; `None`: none does.
    pub(crate) fn rule(self) -> Option<DetourRule> {
        match self {
            Self::Minimal => None,
            Self::Valiant => Some(DetourRule::Valiant),
            Self::UgalL => Some(DetourRule::UgalL),
            Self::UgalG => Some(DetourRule::UgalG),
            Self::Par => Some(DetourRule::Par),
        }
    }
}

impl RawRouting {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dor => "dor",
            Self::HybridDor => "hybrid-dor",
            Self::Destro => "destro",
            Self::DModK => "d-mod-k",
            Self::Minimal => "minimal",
            Self::MinHop => RoutingEngine::MinHop.name(),
            Self::Updn => RoutingEngine::UpDown.name(),
            Self::Ftree => RoutingEngine::FatTree.name(),
            Self::Dfsssp => RoutingEngine::Dfsssp.name(),
        }
    }

    /// What computes its tables, on any topology.
    pub(crate) fn engine(self) -> Option<RoutingEngine> {
        match self {
            Self::Dor | Self::HybridDor | Self::Destro | Self::DModK | Self::Minimal => None,
            Self::MinHop => Some(RoutingEngine::MinHop),
            Self::Updn => Some(RoutingEngine::UpDown),
            Self::Ftree => Some(RoutingEngine::FatTree),
            Self::Dfsssp => Some(RoutingEngine::Dfsssp),
        }
    }
}

/// Replaces the default by the given value, if there is one.
pub(crate) fn replace<T>(default: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *default = given;
    }
}
