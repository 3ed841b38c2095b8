//! The JSON of `flitwise fabric info` (`docs/reference/fabric-command.md`).

use super::{BusyLink, Info, PortKinds, mean};
use crate::cli::fabric::route::RouteDocument;
use flitwise::config::fabric_json;
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::ids::{PortId, SwitchId};
use serde::Serialize;
use serde_json::Value;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-fabric-info-1";

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    file: Option<String>,
    fabric: Value,
    tables: Tables<'a>,
    nics: u32,
    switches: u32,
    ports_per_switch: u32,
    mports_per_switch: Option<u32>,
    port_kinds: Vec<SwitchesByPorts>,
    links: Links,
    link_bytes_per_s: f64,
    host_link_bytes_per_s: f64,
    capacity_bytes_per_s: f64,
    routed: Option<Routed<'a>>,
    minimal: Option<Minimal<'a>>,
    bisection: Option<Cut<'a>>,
    uniform: Option<Uniform>,
    buffer_bytes: BufferBytes,
    route: Option<RouteDocument<'a>>,
}

/// The files of tables.
#[derive(Serialize)]
struct Tables<'a> {
    forwarding: Option<&'a str>,
    sl2vl: Option<&'a str>,
}

/// Ports of a switch by kind, and the number of such switches.
#[derive(Serialize)]
struct SwitchesByPorts {
    nic: u32,
    link: u32,
    free: u32,
    switches: u64,
}

#[derive(Serialize)]
struct Links {
    between_switches: u64,
    to_nics: u64,
}

#[derive(Serialize)]
struct Routed<'a> {
    pairs: u64,
    connected: u64,
    diameter_hops: usize,
    average_hops: f64,
    pairs_by_hops: &'a [u64],
}

#[derive(Serialize)]
struct Minimal<'a> {
    diameter_hops: usize,
    average_hops: f64,
    pairs_by_hops: &'a [u64],
}

#[derive(Serialize)]
struct Cut<'a> {
    links: u64,
    exact: bool,
    method: &'a str,
    nics_of_smaller_half: u64,
    bytes_per_s_each_way: f64,
}

/// Bounds under uniform traffic.
#[derive(Serialize)]
struct Uniform {
    saturation_bound_flits_per_cycle_per_nic: f64,
    busiest_link: Option<BusiestLink>,
}

#[derive(Serialize)]
struct BusiestLink {
    switch: SwitchId,
    port: PortId,
    load_per_offered: f64,
}

#[derive(Serialize)]
struct BufferBytes {
    input: u64,
    output: u64,
    central: u64,
    nic: u64,
}

impl Info<'_> {
    pub(super) fn document<'a>(
        &'a self,
        file: Option<String>,
        route: Option<RouteDocument<'a>>,
    ) -> Document<'a> {
        let spec = self.spec();
        let (topology, tables) = (&spec.topology, &self.loaded.tables);
        let (between_switches, to_nics) = self.links();
        let kinds = self.ports.iter();
        let kinds = kinds.map(
            |(&PortKinds { nic, link, free }, &switches)| SwitchesByPorts {
                nic,
                link,
                free,
                switches,
            },
        );
        Document {
            schema: SCHEMA,
            file,
            fabric: fabric_json(spec, self.loaded.routing),
            tables: Tables {
                forwarding: tables.forwarding.as_deref(),
                sl2vl: tables.sl2vl.as_deref(),
            },
            nics: topology.nics(),
            switches: topology.switches(),
            ports_per_switch: topology.radix(),
            mports_per_switch: self.mports(),
            port_kinds: kinds.collect(),
            links: Links {
                between_switches,
                to_nics,
            },
            link_bytes_per_s: self.link_bytes_per_s(),
            host_link_bytes_per_s: self.host_link_bytes_per_s(),
            capacity_bytes_per_s: self.capacity_bytes_per_s(),
            routed: self.routes.as_ref().ok().map(Routed::of),
            minimal: self.distances.as_ref().ok().map(Minimal::of),
            bisection: self.bisection.as_ref().map(|cut| self.cut(cut)),
            uniform: self.routes.as_ref().ok().map(|routes| self.uniform(routes)),
            buffer_bytes: BufferBytes {
                input: self.bytes(self.buffers.input),
                output: self.bytes(self.buffers.output),
                central: self.bytes(self.buffers.central),
                nic: self.bytes(self.buffers.nic),
            },
            route,
        }
    }

    fn cut<'a>(&self, cut: &'a Bisection) -> Cut<'a> {
        Cut {
            links: cut.links,
            exact: cut.exact,
            method: &cut.method,
            nics_of_smaller_half: cut.half,
            bytes_per_s_each_way: cut.links as f64 * self.link_bytes_per_s(),
        }
    }

    fn uniform(&self, routes: &RouteAnalysis) -> Uniform {
        let (num, den) = routes.uniform_bound(self.spec().topology.nics());
        let busiest = |BusyLink { from, load }| BusiestLink {
            switch: from.switch,
            port: from.port,
            load_per_offered: load,
        };
        Uniform {
            saturation_bound_flits_per_cycle_per_nic: self.per_cycle(num, den),
            busiest_link: self.busiest(routes).map(busiest),
        }
    }
}

impl<'a> Routed<'a> {
    fn of(routes: &'a RouteAnalysis) -> Self {
        Self {
            pairs: routes.pairs,
            connected: routes.connected(),
            diameter_hops: routes.diameter(),
            average_hops: mean(routes.total_hops(), routes.connected()),
            pairs_by_hops: &routes.pairs_by_hops,
        }
    }
}

impl<'a> Minimal<'a> {
    fn of(distances: &'a Distances) -> Self {
        let pairs = distances.pairs_by_hops.iter().sum();
        Self {
            diameter_hops: distances.diameter(),
            average_hops: mean(distances.total_hops(), pairs),
            pairs_by_hops: &distances.pairs_by_hops,
        }
    }
}
