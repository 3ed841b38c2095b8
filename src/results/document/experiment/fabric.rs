//! `experiment.fabric`: the graph and the switches.

use super::Either;
use crate::fabric::spec::{Degradation, Outage, voq::Isolation};
use crate::fabric::topology::{kinds, listed};
use crate::results::document::schema::{Nullable, Written};
use schemars::JsonSchema;

/// `[fabric]`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Fabric {
    /// The graph.
    topology: Topology,
    /// `direct`, `dor`, `hybrid-dor`, `destro`, `d-mod-k`, `minimal`, `min-hop`, `updn`, `ftree` or `dfsssp`.
    #[schemars(extend("enum" = ["direct", "dor", "hybrid-dor", "destro", "d-mod-k", "minimal", "min-hop", "updn", "ftree", "dfsssp"]))]
    routing: String,
    /// As in the file.
    ring_tie: String,
    /// As in the file.
    trunk_selection: String,
    /// Forwarding tables, a text per switch: ports towards NIC 0, 1, …; or the routing that computes them;
    /// null: the topology's own routing.
    forwarding: Nullable<Either<String, Vec<String>>>,
    /// Links that have failed, a text each: `SWITCH.PORT SWITCH.PORT` of both ends; absent where none has.
    failed_links: Option<Vec<String>>,
    /// Routes of single pairs of NICs, a text each: `SRC DST: SWITCH.PORT …`; absent where none has.
    source_routes: Option<Vec<String>>,
    /// Times in which links are down; absent without events.
    outages: Option<Vec<Written<Outage>>>,
    /// Times in which links send at a lower rate; absent without such events.
    degraded: Option<Vec<Written<Degradation>>>,
    /// The probability that a bit is wrong on a link; absent where none is.
    #[schemars(extend("unit" = "fraction"))]
    bit_error_rate: Option<f64>,
    /// Tables that take over during the run; absent where none do.
    rerouted: Option<Vec<Rerouted>>,
    /// Length of a tick: on hierarchical switches the time of a flit on a link, on InfiniBand `fabric.tick`.
    /// A whole number, or the floating-point number nearest to the fraction (8000/7 ps is 1142.857142857143).
    tick_ps: f64,
    /// Size of a flit.
    flit_bytes: u64,
    /// Buffer space of one credit.
    #[schemars(extend("unit" = "flits"))]
    flits_per_credit: u64,
    /// Header of every packet.
    header_bytes: u64,
    /// Time of flight between switches.
    link_ticks: u64,
    /// Time of flight between NIC and switch.
    host_link_ticks: u64,
    /// Links that differ, by either end; absent where none does.
    link_latencies: Option<Vec<LinkTicks>>,
    /// The switches and their NICs.
    switch: Switch,
    /// `least-queued`; absent where the destination chooses.
    up_ports: Option<String>,
    /// `valiant`, `ugal-l`, `ugal-g` or `par`; absent where paths are minimal.
    paths: Option<String>,
    /// `group`; absent where detours lead to the switches of NICs.
    paths_intermediate: Option<String>,
    /// `paths_bias` in whole credits; absent where queues do not decide the paths.
    paths_bias_credits: Option<u64>,
}

/// Forwarding tables that take over.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Rerouted {
    /// The first tick in which headers are routed by them.
    from_ticks: u64,
    /// As `forwarding`.
    forwarding: Either<String, Vec<String>>,
    /// As `failed_links`, with the links that are down.
    failed_links: Vec<String>,
}

/// The time of flight of one link.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct LinkTicks {
    /// A switch at one end.
    switch: u64,
    /// Its port.
    port: u64,
    /// Time of flight.
    ticks: u64,
}

/// The description of the key that names the family of the graph.
fn families() -> String {
    let kinds: Vec<String> = kinds().iter().map(|kind| format!("`{kind}`")).collect();
    format!("{}, each with its own parameters.", listed(&kinds, "or"))
}

/// The graph.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Topology {
    #[schemars(description = families(), extend("enum" = kinds()))]
    kind: String,
    /// `graph`: a text per switch, `port:nNIC` or `port:sSWITCH.PORT` for every port in use.
    ports: Option<Vec<String>>,
    /// The number of NICs.
    nics: u64,
    /// The number of switches.
    switches: u64,
    /// Ports per switch, surplus ones included.
    radix: u64,
    /// `torus`, `mesh`, `hyperx`: switches per dimension.
    dimensions: Option<Vec<u64>>,
    /// `torus`, `mesh`, `hyperx`, `kns`: NICs per switch.
    concentration: Option<u64>,
    /// `torus`, `mesh`, `hyperx`: parallel links.
    trunk: Option<u64>,
    /// `dragonfly`, `slim-fly`, `megafly`: NICs per switch (of a megafly, per leaf).
    p: Option<u64>,
    /// `dragonfly`: switches per group.
    a: Option<u64>,
    /// `dragonfly`, `megafly`: global ports per switch (of a megafly, per spine).
    h: Option<u64>,
    /// `dragonfly`, `megafly`: groups.
    groups: Option<u64>,
    /// `dragonfly`, `megafly`: as in the file.
    arrangement: Option<String>,
    /// `slim-fly`: size of the field.
    q: Option<u64>,
    /// `megafly`: leaves, and spines, per group; `kns`: stages of a line.
    s: Option<u64>,
    /// `k-ary-n-tree`: ports down per switch; `kns`: routers on a line.
    k: Option<u64>,
    /// `k-ary-n-tree`: levels; `kns`: dimensions.
    n: Option<u64>,
    /// `xgft`: as in the file.
    down: Option<Vec<u64>>,
    /// `xgft`: as in the file.
    up: Option<Vec<u64>>,
    /// `xgft`: as in the file.
    parallel: Option<Vec<u64>>,
}

/// The switches and their NICs. Which keys there are depends on `kind`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Switch {
    /// The switch model: `hierarchical` or `voq`.
    #[schemars(extend("enum" = ["hierarchical", "voq"]))]
    kind: String,
    /// `voq`: rate of the crossbar over the rate of the fastest link.
    crossbar_speedup: Option<u64>,
    /// `voq`: `none` for `input-queued` switches; absent for InfiniBand's.
    port_standard: Option<String>,
    /// The allocator; absent where it is pipelined, or one iteration of iSLIP.
    allocator: Option<Allocator>,
    /// `voq`: as in the file.
    input_queues: Option<String>,
    /// `voq`: queues for hot flows; absent without.
    isolation: Option<Written<Isolation>>,
    /// `voq`: rate of links to NICs.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    host_link_flits_per_tick: Option<String>,
    /// `voq`: rate of links between switches.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    link_flits_per_tick: Option<String>,
    /// `voq`: links that differ.
    links: Option<Vec<Link>>,
    /// `voq`: output buffer of a NIC.
    nic_queue_credits: Option<u64>,
    /// Receive buffer of a NIC.
    nic_sink: Buffer,
    /// Input buffer of a port.
    input_buffer: Buffer,
    /// `voq`: output buffer of a port.
    output_buffer_credits: Option<u64>,
    /// `voq`: rate at which a NIC sends; null: no such limit.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    hca_send_flits_per_tick: Option<Nullable<String>>,
    /// `voq`: rate at which a NIC receives; null: no such limit.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    hca_sink_flits_per_tick: Option<Nullable<String>>,
    /// `voq`: as in the file.
    acks: Option<String>,
    /// `voq`: length of an ACK.
    ack_bytes: Option<u64>,
    /// Time to store in an input buffer.
    input_ticks: u64,
    /// Time to route a header.
    routing_ticks: u64,
    /// Time of one allocation.
    allocation_ticks: u64,
    /// Time to cross a crossbar.
    crossbar_ticks: u64,
    /// Time to store in an output buffer.
    output_ticks: u64,
    /// `hierarchical`: rate of an MPort crossbar.
    #[schemars(extend("unit" = "flits/tick"))]
    mport_speedup: Option<u64>,
    /// `hierarchical`: rate of the central crossbar.
    #[schemars(extend("unit" = "flits/tick"))]
    central_speedup: Option<u64>,
    /// `hierarchical`: `informed` or `blind`.
    virtual_allocation: Option<String>,
    /// `hierarchical`: send queue of a NIC.
    nic_queue: Option<SharedBuffer>,
    /// `hierarchical`: output buffer of a port.
    output_buffer: Option<SharedBuffer>,
    /// `hierarchical`: each of the two buffers of an MPort; `exclusive` and `max` are per queue of the VL.
    central_buffer: Option<SharedBuffer>,
    /// `hierarchical`: as in the file.
    central_queues: Option<String>,
    /// `hierarchical`: `by-input` or `random`; absent where the out-port decides.
    central_link: Option<String>,
}

/// An allocator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Allocator {
    /// `voq`: `islip` or `round-robin`; `hierarchical`: `rounds` or `serial`.
    rule: String,
    /// Iterations in a tick.
    iterations: u64,
}

/// A link that differs.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Link {
    /// The switch at an end.
    switch: u64,
    /// The port at this end.
    port: u64,
    /// The rate of the link.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    flits_per_tick: String,
}

/// A buffer of either kind of switch.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Buffer {
    /// Its size.
    #[schemars(extend("unit" = "credits"))]
    credits: u64,
    /// `voq`: the part of each VL.
    #[schemars(extend("unit" = "credits"))]
    per_vl: Option<Vec<u64>>,
    /// `hierarchical`: the part reserved for each VL.
    #[schemars(extend("unit" = "credits"))]
    exclusive: Option<Vec<u64>>,
    /// `hierarchical`: the most that each VL may use.
    #[schemars(extend("unit" = "credits"))]
    max: Option<Vec<u64>>,
}

/// A buffer that VLs share.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SharedBuffer {
    /// Its size.
    #[schemars(extend("unit" = "credits"))]
    credits: u64,
    /// The part reserved for each VL.
    #[schemars(extend("unit" = "credits"))]
    exclusive: Vec<u64>,
    /// The most that each VL may use.
    #[schemars(extend("unit" = "credits"))]
    max: Vec<u64>,
}
