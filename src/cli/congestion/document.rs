//! The JSON of `flitwise congestion` (`docs/congestion.md`).

use super::text::levels_in_all;
use super::{Analysed, CongestionArgs};
use flitwise::oblivious::Layers;
use serde_json::{Value, json};

/// Version of the JSON.
const SCHEMA: &str = "flitwise-congestion-1";

pub(super) fn of(args: &CongestionArgs, results: &[Analysed]) -> Value {
    let networks: Vec<Value> = results.iter().map(|one| network(args, one)).collect();
    let first = results.first();
    let settings = first.map(|one| &one.settings);
    json!({
        "schema": SCHEMA,
        "pattern": settings.map(|s| s.pattern.to_string()),
        "ranks": settings.map(|s| s.mapping.ranks),
        "levels": settings.map(|s| s.pattern.levels(s.mapping.ranks)),
        "level": settings.and_then(|s| s.level),
        "runs": first.map(|one| one.analysis.runs.len()),
        "seed": settings.map(|s| s.seed),
        "networks": networks,
    })
}

fn network(args: &CongestionArgs, one: &Analysed) -> Value {
    let graph = &one.candidate.network.graph;
    let survey = &one.candidate.survey;
    let between = survey.between_switches(&one.candidate.network);
    let histogram: Vec<Value> = (one.analysis.histogram().iter())
        .map(|(congestion, connections)| json!({ "congestion": congestion, "connections": connections }))
        .collect();
    let levels = levels_in_all(one);
    let cables: Vec<Value> = (one.analysis.cables.ranked().into_iter().take(args.cables))
        .map(|(edge, load)| {
            let (run, level) = load.peak_at;
            json!({
                "from": graph.port_text(edge),
                "to": graph.port_text(graph.edge(edge).reverse),
                "mean": load.sum as f64 / levels,
                "most": load.peak,
                "most_in_run": run,
                "most_in_level": level,
            })
        })
        .collect();
    json!({
        "label": one.label,
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
        "connections": histogram,
        "worst_permutation": one.worst.as_ref().map(|worst| json!({
            "congestion": worst.congestion,
            "bound": worst.bound,
            "at": worst.edge.map(|edge| graph.edge_text(edge)),
        })),
        "cables_ranked": cables,
        "check": one.check,
    })
}
