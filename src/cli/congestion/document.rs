//! The JSON of `flitwise congestion` (`docs/congestion.md`).

use super::Analysed;
use flitwise::oblivious::{CONGESTION_SCHEMA, HotCable, Layers};
use serde_json::{Value, json};

/// Connections that are named of a cable; `flows.csv` has all.
const MOST_FLOWS: usize = 100;

pub(super) fn of(results: &[Analysed]) -> Value {
    let networks: Vec<Value> = results.iter().map(network).collect();
    let first = results.first();
    let settings = first.map(|one| &one.settings);
    json!({
        "schema": CONGESTION_SCHEMA,
        "pattern": settings.map(|s| s.pattern.to_string()),
        "ranks": settings.map(|s| s.mapping.ranks),
        "levels": settings.map(|s| s.pattern.levels(s.mapping.ranks)),
        "level": settings.and_then(|s| s.level),
        "runs": first.map(|one| one.analysis.runs.len()),
        "seed": settings.map(|s| s.seed),
        "networks": networks,
    })
}

fn network(one: &Analysed) -> Value {
    let graph = &one.candidate.network.graph;
    let survey = &one.candidate.survey;
    let between = survey.between_switches(&one.candidate.network);
    let histogram: Vec<Value> = (one.analysis.histogram().iter())
        .map(|(congestion, connections)| json!({ "congestion": congestion, "connections": connections }))
        .collect();
    let delays: Vec<Value> = (one.analysis.delays().into_iter())
        .map(|(delay, runs)| json!({ "delay": delay, "runs": runs }))
        .collect();
    let topology = one.candidate.topology();
    let cables: Vec<Value> = one.hottest.iter().map(|hot| cable(one, hot)).collect();
    json!({
        "label": one.label,
        "pattern": one.settings.pattern.to_string(),
        "topology": topology,
        "hosts": graph.host_count(),
        "switches": graph.nodes().len() as u64 - u64::from(graph.host_count()),
        "cables": graph.edges().len() / 2,
        "pairs": survey.pairs,
        "pairs_without_route": survey.pairs - survey.connected(),
        "least_routes_between_switches": between.map(|b| b.0),
        "most_routes_between_switches": between.map(|b| b.1),
        "longest_route_cables": survey.by_edges.len().saturating_sub(1),
        "failed": one.candidate.damage.as_ref().map(|damage| json!({
            "cables": damage.lost_cables,
            "hosts": damage.lost_hosts,
            "routes_changed": damage.routes_changed,
        })),
        "vls": one.candidate.deadlock.as_ref().map(|deadlock| json!({
            "cycle_on_one": deadlock.cycle.as_ref().map(|cycle| {
                cycle.iter().map(|&edge| graph.edge_text(edge)).collect::<Vec<_>>()
            }),
            "enough": deadlock.layers.as_ref().ok().map(Layers::count),
            "routes_by_vl": deadlock.layers.as_ref().ok().map(|layers| &layers.routes),
        })),
        "figures": one.spreads,
        "lost": one.analysis.lost(),
        "loads_in_bytes": one.settings.pattern.has_bytes(),
        "connections": histogram,
        "bandwidth_bins": one.analysis.bandwidth_bins(),
        "delays": delays,
        "worst_permutation": one.worst.as_ref().map(|worst| json!({
            "congestion": worst.congestion,
            "bound": worst.bound,
            "at": worst.edge.map(|edge| graph.edge_text(edge)),
        })),
        "cables_ranked": cables,
        "check": one.check,
    })
}

/// A cable with those who cross it in the level of its largest load.
fn cable(one: &Analysed, hot: &HotCable) -> Value {
    let graph = &one.candidate.network.graph;
    let (run, level) = hot.load.peak_at;
    let name = |host| &graph.node(graph.node_of(host)).name;
    let flows: Vec<Value> = (hot.flows.iter().take(MOST_FLOWS))
        .map(|&[from, to]| json!({ "from": name(from), "to": name(to) }))
        .collect();
    json!({
        "from": graph.port_text(hot.edge),
        "to": graph.port_text(graph.edge(hot.edge).reverse),
        "mean": one.outcome().mean(&hot.load),
        "most": hot.load.peak,
        "most_in_run": run,
        "most_in_level": level,
        "crossed_by": hot.flows.len(),
        "flows": flows,
    })
}
