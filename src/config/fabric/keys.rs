//! The keys of `[fabric]` that all kinds of switch have. Each kind adds its own, in its file.

use crate::fabric::spec::DetourRule;
use schemars::JsonSchema;
use serde::Deserialize;

/// Gives the common keys to another macro, followed by `$rest`.
macro_rules! with_common_keys {
    ($then:ident $($rest:tt)*) => {
        $then! {
            {
                /// Set of defaults for all other keys ([Presets](#presets)).
                #[schemars(extend("x-default" = "`\"opa-gen1\"`, `\"ib-qdr-648\"` or `\"sauron\"`, by `kind`"))]
                preset: $crate::config::fabric::keys::FabricPreset,
                /// [Graph](#topologies) of switches, links and NICs.
                #[schemars(extend("x-default" = "the preset's"))]
                topology: $crate::config::fabric::topology::RawTopology,
                /// The topology's own [routing](#routing), or forwarding tables that Flitwise computes.
                ///
                /// The topology's own: `"dor"` (the default on torus, mesh and hyperx), `"hybrid-dor"` (on kns; `"dor"`
                /// means the same there), `"minimal"` (on dragonflies, slim flies, megaflies and graphs),
                /// `"d-mod-k"` (on `xgft` and `fat-tree`; the same as destro), else `"destro"`. Computed
                /// tables, on any topology: `"min-hop"`, `"updn"`, `"ftree"`, `"dfsssp"` ([routing
                /// engines](../reference/routing-engines.md)).
                #[schemars(extend("x-default" = "by topology"))]
                routing: $crate::fabric::topology::RoutingName,
                /// [Failed](#failures) links and switches, `[[fabric.failure]]`.
                failure: Vec<$crate::config::fabric::failure::RawFailure>,
                /// Seed of failures that are drawn at random.
                #[schemars(extend("x-default" = "`seed`"))]
                failure_seed: u64,
                /// Time from an [event](#event) to the routes around the links that are down; without it routes stay.
                ///
                /// So long after a link goes down or comes up, headers follow the tables that `routing` computes without
                /// the links that were down then. Packets that were routed before keep their way. A pair of NICs without a
                /// route is an error.
                reroute_after: $crate::units::Latency,
                /// Probability that a bit on a link is wrong, such as 1e-12.
                ///
                /// The link sends the packet again. A retry takes a round trip of the link ([model](../model/fabric.md#10-outages)); errors that forward
                /// error correction repairs do not count. Its random streams follow `seed`.
                #[schemars(extend("x-default" = "0"))]
                bit_error_rate: $crate::config::fabric::bit_errors::RawBitErrorRate,
                /// Direction round an even ring when both are equally short; or `"source-parity"`.
                ///
                /// With `"source-parity"` the parity of the source's coordinate decides.
                #[schemars(extend("default" = "positive"))]
                ring_tie: $crate::fabric::spec::RingTie,
                /// Link of a trunk: the destination's; or `"round-robin"`, `"least-queued"`.
                ///
                /// The [model](../model/fabric.md#7-routing-sc-and-vl) defines them.
                #[schemars(extend("default" = "destination"))]
                trunk_selection: $crate::fabric::spec::TrunkSelection,
                /// Up-port of a tree: the destination's; or `"least-queued"`, which may reorder a flow.
                ///
                /// It may also be the tree on a line of a `kns`. The destination's up-port is the one of D-mod-k;
                /// `"least-queued"` takes the port with the shortest queue, and then packets of a flow can overtake
                /// each other.
                #[schemars(extend("default" = "destination"))]
                up_ports: $crate::fabric::spec::UpPorts,
                /// `"valiant"`, `"ugal-l"`, `"ugal-g"`, `"par"` add [detours](../model/fabric.md#7-routing-sc-and-vl)
                /// over a random NIC or group.
                ///
                /// `"minimal"`: one leg, as `routing` or `forwarding` says. `"valiant"`: every packet takes a detour.
                /// `"ugal-l"`: the switch of the source compares its queue towards the detour, times the hops of the
                /// detour, with its queue on the minimal path, times the hops of that path, and takes the smaller.
                /// `"ugal-g"`: compares the queues of global links, wherever they are: an ideal that no switch can
                /// know. `"par"`: as `"ugal-l"`, and every further switch of the source's group compares again. Detours
                /// need more VL classes: 4 SCs per service level on a torus, dragonfly or slim fly (6 with `"par"`), 3
                /// on a dragonfly over groups (4), else 2 (3). Packets of a flow can overtake each other.
                #[schemars(extend("default" = "minimal"))]
                paths: $crate::config::fabric::keys::RawPaths,
                /// Target of detours: the switch of any NIC; or the group of a NIC on a dragonfly.
                ///
                /// The group is neither the source's nor the destination's.
                #[schemars(extend("x-default" = "`\"group\"` for adaptive `paths` on a dragonfly, else `\"nic\"`"))]
                paths_intermediate: $crate::fabric::spec::Intermediate,
                /// Handicap of detours, in bytes of a queue times one hop.
                ///
                /// Adaptive `paths` add it to the detour's side of the comparison; whole credits count. More keeps more
                /// packets on minimal paths.
                #[schemars(extend("x-default" = "`\"0B\"`"))]
                paths_bias: $crate::units::Bytes,
                /// Forwarding tables: per switch the port towards NIC 0, 1, …; or a dump of them.
                ///
                /// They are linear and replace `routing`. With an `ibnetdiscover` topology: the `opensm-lfts.dump` of
                /// the same fabric, or the output of `dump_fts`.
                forwarding: $crate::config::fabric::tables::RawForwarding,
                /// File of [routes](#routing) of single pairs of NICs.
                ///
                /// A line `SRC DST: SWITCH.PORT SWITCH.PORT …` names the out-port at each switch, from the source's on;
                /// `#` begins a comment. NICs and switches are numbers, or names without spaces where they have some. Ports count from 0,
                /// of switches by name as on the device.
                /// `forwarding` and `routing` lead all other pairs. Paths among which packets choose are refused, and
                /// `reroute_after`; a topology with VL classes needs computed or given tables.
                source_routes: String,
                /// SL-to-VL tables: the VL of SL 0, 1, …, as `[0, 1, 0]`; per NIC and port; or a dump.
                ///
                /// They replace service channels: service levels have no `scs` then, and there is no `sc2vl`. Tables of
                /// single NICs and ports are written `{ default = [0, 1], hca = [{ hca = 3, vls = [1, 1] }], port = [{
                /// switch = 0, in = 1, out = 2, vls = [0, 0] }] }`: `hca` is a NIC; with an `ibnetdiscover` topology
                /// names as well, and in `port` a `switch` by name. The dump, of an `ibnetdiscover` topology, is the
                /// `opensm-sl2vl.dump` of the same fabric.
                sl2vl: $crate::config::fabric::tables::RawSl2Vl,
                /// Size of a flit.
                ///
                /// OpaSim's BYTES_PER_FLIT (8).
                #[schemars(extend("x-defaults" = {"opa-gen1": "8B", "ib-qdr-648": "64B", "sauron": "64B"}))]
                flit: $crate::units::Bytes,
                /// Header of every packet: LRH, BTH, ICRC and VCRC on InfiniBand.
                ///
                /// Links of `voq` switches carry payload and headers exact to the byte.
                #[schemars(extend("x-defaults" = {"opa-gen1": "0B", "ib-qdr-648": "26B", "sauron": "26B"}))]
                header: $crate::units::Bytes,
                /// Buffer space of one credit, in whole flits.
                ///
                /// OpaSim counts FLITS_PER_CREDIT (4).
                #[schemars(extend("x-defaults" = {"opa-gen1": "64B", "opasim": "32B", "ib-qdr-648": "64B", "sauron": "64B"}))]
                credit: $crate::units::Bytes,
                /// Flight between switches (FLY).
                ///
                /// `"5.12ns"` are 8 cycles of OpaSim.
                #[schemars(extend("x-defaults" = {"opa-gen1": "5.12ns", "opa-400": "25ns", "ib-qdr-648": "15ns", "sauron": "25ns"}))]
                link_latency: $crate::units::Latency,
                /// Flight between NIC and switch (INJ).
                #[schemars(extend("x-defaults" = {"opa-gen1": "5.12ns", "opa-400": "25ns", "ib-qdr-648": "15ns", "sauron": "25ns"}))]
                host_link_latency: $crate::units::Latency,
                /// Storing in an input buffer (SB).
                ///
                /// `"32ns"` are 50 cycles of OpaSim.
                #[schemars(extend("x-defaults" = {"opa-gen1": "32ns", "ib-qdr-648": "10ns", "sauron": "10ns"}))]
                input_latency: $crate::units::Latency,
                /// Routing a header (RT).
                ///
                /// `"20.48ns"` are 32 cycles of OpaSim.
                #[schemars(extend("x-defaults" = {"opa-gen1": "20.48ns", "ib-qdr-648": "60ns", "sauron": "60ns"}))]
                routing_latency: $crate::units::Latency,
                /// One allocation (AT).
                ///
                /// `"5.12ns"` are 8 cycles of OpaSim. OpaSim's AT is 16; 8 for each of the two allocations make its
                /// table and its printed 160 cycles agree.
                #[schemars(extend("x-defaults" = {"opa-gen1": "5.12ns", "ib-qdr-648": "10ns", "sauron": "10ns"}))]
                allocation_latency: $crate::units::Latency,
                /// Crossing a crossbar (X).
                ///
                /// `"1.28ns"` are 2 cycles of OpaSim. On hierarchical switches it holds for both crossbars.
                #[schemars(extend("x-defaults" = {"opa-gen1": "1.28ns", "ib-qdr-648": "10ns", "sauron": "10ns"}))]
                crossbar_latency: $crate::units::Latency,
                /// Storing in an output buffer (SB).
                ///
                /// `"32ns"` are 50 cycles of OpaSim.
                #[schemars(extend("x-defaults" = {"opa-gen1": "32ns", "ib-qdr-648": "10ns", "sauron": "10ns"}))]
                output_latency: $crate::units::Latency,
                /// Input buffer of a port; on `voq` switches split equally among VLs.
                ///
                /// These are the VLs in use. OpaSim's QUEUE_SIZE (256 flits), there also of all other buffers.
                #[schemars(extend("x-defaults" = {"opa-gen1": "64KiB", "opasim": "2KiB", "ib-qdr-648": "32KiB", "sauron": "64KiB"}))]
                input_buffer: $crate::units::Bytes,
                /// Output buffer of a port; on `voq` switches of all VLs; `"0B"`: none.
                #[schemars(extend("x-defaults" = {"opa-gen1": "64KiB", "opasim": "2KiB", "ib-qdr-648": "8KiB", "sauron": "0B"}))]
                output_buffer: $crate::units::Bytes,
                /// Send queue of a NIC; with `voq` switches of all VLs.
                #[schemars(extend("x-defaults" = {"opa-gen1": "32KiB", "opasim": "2KiB", "ib-qdr-648": "8KiB", "sauron": "8KiB"}))]
                nic_queue: $crate::units::Bytes,
                /// Order of jobs and flows in a queue of a NIC: by creation; or `"per-flow"`, in turn.
                ///
                /// The queue is the application queue of a service level, or of a queue pair where there are queue
                /// pairs ([model](../model/fabric.md#2-parts)). With `"fifo"` a job waits behind all messages that
                /// background flows have created; with `"per-flow"`, which serves a message of each job and each
                /// background flow in turn, for at most one message of each other.
                #[schemars(extend("default" = "fifo"))]
                nic_queueing: $crate::replay::background::NicQueueing,
                /// Receive buffer of a NIC; split like `input_buffer`.
                #[schemars(extend("x-defaults" = {"opa-gen1": "32KiB", "opasim": "2KiB", "ib-qdr-648": "32KiB", "sauron": "64KiB"}))]
                nic_sink: $crate::units::Bytes,
            }
            $($rest)*
        }
    };
}

macro_rules! common {
    ({ $($(#[$of_key:meta])* $common:ident: $type:ty,)* }) => {
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
        { $($(#[$of_common:meta])* $common:ident: $common_type:ty,)* }
        $all:ident, $own:ident { $($(#[$of_key:meta])* $key:ident: $type:ty,)* }
    ) => {
        #[derive(Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $all {
            $($(#[$of_common])* $common: Option<$common_type>,)*
            $($(#[$of_key])* $key: Option<$type>,)*
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FabricPreset {
    /// Omni-Path of the first generation: 48 ports, 100 Gb/s.
    #[serde(rename = "opa-gen1")]
    OpaGen1,
    /// Cornelis' CN5000: 48 ports, 400 Gb/s.
    #[serde(rename = "opa-400")]
    Opa400,
    /// The simulator OpaSim: 48 ports, 100 Gb/s, small buffers.
    #[serde(rename = "opasim")]
    OpaSim,
    /// The InfiniBand test bed of Gran and Reinemo (2011): DDR, seven hosts on two switches.
    IbDdrTestbed,
    /// The fat tree of Gran and Reinemo (2011): QDR, 648 NICs on switches of 36 ports.
    #[serde(rename = "ib-qdr-648")]
    IbQdr648,
    /// InfiniBand QDR: 36 ports, 32 Gb/s.
    IbQdr,
    /// InfiniBand FDR: 36 ports, 54.5 Gb/s.
    IbFdr,
    /// InfiniBand EDR: 36 ports, 100 Gb/s.
    IbEdr,
    /// InfiniBand HDR: 40 ports, 200 Gb/s.
    IbHdr,
    /// InfiniBand NDR: 64 ports, 400 Gb/s.
    IbNdr,
    /// InfiniBand XDR: 72 ports, 800 Gb/s.
    IbXdr,
    /// The simulator SAURON: input-queued switches, 96 Gb/s.
    Sauron,
}

/// `fabric.paths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawPaths {
    /// One leg, as `routing` or `forwarding` says.
    Minimal,
    /// Every packet takes a detour.
    Valiant,
    /// The switch of the source compares its own queues, and takes the minimal path or a detour.
    UgalL,
    /// The same with the queues of global links, wherever they are: an ideal.
    UgalG,
    /// As `ugal-l`, and every further switch of the source's group compares again.
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

/// Replaces the default by the given value, if there is one.
pub(crate) fn replace<T>(default: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *default = given;
    }
}
