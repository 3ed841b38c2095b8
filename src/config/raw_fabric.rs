//! `[fabric]` as written: the keys that all kinds of switch have. Each kind adds its own, in its
//! file in `switch/`.

use super::switch::RawKind;

/// Gives the common keys to another macro, followed by `$rest`.
macro_rules! with_common_keys {
    ($then:ident $($rest:tt)*) => {
        $then! {
            {
                preset: $crate::config::switch::FabricPreset,
                topology: $crate::config::raw_topology::RawTopology,
                routing: $crate::config::resolve_routing::RawRouting,
                failure: Vec<$crate::config::resolve_failure::RawFailure>,
                failure_seed: u64,
                ring_tie: $crate::fabric::spec::RingTie,
                trunk_selection: $crate::fabric::spec::TrunkSelection,
                up_ports: $crate::fabric::spec::UpPorts,
                paths: $crate::config::resolve_routing::RawPaths,
                paths_intermediate: $crate::fabric::spec::Intermediate,
                paths_bias: $crate::units::Bytes,
                forwarding: $crate::config::resolve_tables::RawForwarding,
                sl2vl: $crate::config::resolve_tables::RawSl2Vl,
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
        #[derive(Debug)]
        pub(super) struct RawFabric {
            $(pub $common: Option<$type>,)*
            pub kind: RawKind,
        }
    };
}

/// Defines two structures of a kind: one of all keys that it may have, so that a key of another
/// kind is an unknown field, and one of the keys that only this kind has.
macro_rules! of_kind {
    (
        { $($common:ident: $common_type:ty,)* }
        $kind:ident: $all:ident, $own:ident { $($key:ident: $type:ty,)* }
    ) => {
        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::config) struct $all {
            $($common: Option<$common_type>,)*
            $($key: Option<$type>,)*
        }

        #[derive(Debug)]
        pub(in crate::config) struct $own {
            $($key: Option<$type>,)*
        }

        impl From<$all> for $crate::config::raw_fabric::RawFabric {
            fn from(all: $all) -> Self {
                Self {
                    $($common: all.$common,)*
                    kind: $crate::config::switch::RawKind::$kind($own { $($key: all.$key,)* }),
                }
            }
        }
    };
}

with_common_keys! { common }
pub(super) use {of_kind, with_common_keys};
