//! The JSON of `flitwise fabric info` (`docs/reference/fabric-command.md`).

use super::{BusyLink, Info, PortKinds, mean};
use flitwise::config::fabric_json;
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use serde_json::{Value, json};

/// Version of the JSON.
const SCHEMA: &str = "flitwise-fabric-info-1";

impl Info<'_> {
    pub(super) fn document(&self, file: Option<String>, route: Option<Value>) -> Value {
        let spec = self.spec();
        let (topology, tables) = (&spec.topology, &self.loaded.tables);
        let (between_switches, to_nics) = self.links();
        let kinds = self.kinds.iter().map(|(ports, switches)| {
            let PortKinds { nic, link, free } = ports;
            json!({ "nic": nic, "link": link, "free": free, "switches": switches })
        });
        let routes = self.routes.as_ref().ok();
        json!({
            "schema": SCHEMA,
            "file": file,
            "fabric": fabric_json(spec, self.loaded.routing),
            "tables": { "forwarding": tables.forwarding, "sl2vl": tables.sl2vl },
            "nics": topology.nics(),
            "switches": topology.switches(),
            "ports_per_switch": topology.radix(),
            "mports_per_switch": self.mports(),
            "port_kinds": kinds.collect::<Vec<_>>(),
            "links": { "between_switches": between_switches, "to_nics": to_nics },
            "link_bytes_per_s": self.link_bytes_per_s(),
            "host_link_bytes_per_s": self.host_link_bytes_per_s(),
            "capacity_bytes_per_s": self.capacity_bytes_per_s(),
            "routed": routes.map(routed),
            "minimal": self.distances.as_ref().ok().map(minimal),
            "bisection": self.bisection.as_ref().map(|cut| self.cut(cut)),
            "uniform": self.loads().ok().map(|routes| self.uniform(routes)),
            "buffer_bytes": {
                "input": self.bytes(self.buffers.input),
                "output": self.bytes(self.buffers.output),
                "central": self.bytes(self.buffers.central),
                "nic": self.bytes(self.buffers.nic),
            },
            "route": route,
        })
    }

    fn cut(&self, cut: &Bisection) -> Value {
        json!({
            "links": cut.links,
            "exact": cut.exact,
            "method": cut.method,
            "nics_of_smaller_half": cut.half,
            "bytes_per_s_each_way": self.cut_bytes_per_s(cut),
        })
    }

    /// Bounds under uniform traffic.
    fn uniform(&self, routes: &RouteAnalysis) -> Value {
        let (num, den) = routes.uniform_bound(self.spec().topology.nics());
        let busiest = |BusyLink { from, load }| json!({ "switch": from.switch, "port": from.port, "load_per_offered": load });
        json!({
            "saturation_bound_flits_per_cycle_per_nic": self.per_cycle(num, den),
            "busiest_link": self.busiest(routes).map(busiest),
        })
    }
}

fn routed(routes: &RouteAnalysis) -> Value {
    json!({
        "pairs": routes.pairs,
        "connected": routes.connected(),
        "diameter_hops": routes.diameter(),
        "average_hops": mean(routes.total_hops(), routes.connected()),
        "pairs_by_hops": routes.pairs_by_hops,
    })
}

fn minimal(distances: &Distances) -> Value {
    let pairs = distances.pairs_by_hops.iter().sum();
    json!({
        "diameter_hops": distances.diameter(),
        "average_hops": mean(distances.total_hops(), pairs),
        "pairs_by_hops": distances.pairs_by_hops,
    })
}
