//! The JSON of `flitwise congestion` (`docs/reference/congestion.md`).

use super::analysed::Analysed;
use super::candidates::Candidate;
use flitwise::oblivious::{CONGESTION_SCHEMA, HotCable, Layers};
use flitwise::results::document::{
    AnalysedNetwork, Congested, CongestionDocument, Delayed, Failed, Flow, RankedCable,
    VirtualLanes, WorstPermutation,
};

/// Most connections listed for a cable; `flows.csv` has all.
const MOST_FLOWS: usize = 100;

pub(super) fn of(results: &[Analysed]) -> serde_json::Result<CongestionDocument> {
    let first = results.first();
    let settings = first.map(|one| &one.settings);
    Ok(CongestionDocument {
        schema: CONGESTION_SCHEMA.to_owned(),
        pattern: settings.map(|s| s.pattern.to_string()),
        ranks: settings.map(|s| s.mapping.ranks.into()),
        levels: settings.map(|s| s.pattern.levels(s.mapping.ranks).into()),
        level: settings.and_then(|s| s.level).map(u64::from),
        runs: first.map(|one| one.analysis.runs.len() as u64),
        seed: settings.map(|s| s.seed),
        networks: results.iter().map(network).collect::<Result<_, _>>()?,
    })
}

fn network(one: &Analysed) -> serde_json::Result<AnalysedNetwork> {
    let (candidate, analysis) = (&one.candidate, &one.analysis);
    let (graph, survey) = (&candidate.network.graph, &candidate.survey);
    let between = survey.between_switches(&candidate.network);
    let connections = analysis.histogram();
    let connections = connections
        .of_connections()
        .map(|(congestion, connections)| Congested {
            congestion,
            connections,
        });
    let delays = analysis.delays().into_iter();
    Ok(AnalysedNetwork {
        label: one.label.clone(),
        pattern: one.settings.pattern.to_string(),
        topology: serde_json::to_value(candidate.topology())?,
        hosts: graph.host_count().into(),
        switches: graph.nodes().len() as u64 - u64::from(graph.host_count()),
        cables: graph.edges().len() as u64 / 2,
        pairs: survey.pairs,
        pairs_without_route: survey.pairs - survey.connected(),
        least_routes_between_switches: between.map(|b| b.0),
        most_routes_between_switches: between.map(|b| b.1),
        longest_route_cables: survey.by_edges.len().saturating_sub(1) as u64,
        failed: candidate.damage.as_ref().map(|damage| Failed {
            cables: damage.lost_cables.len(),
            cable_names: damage.lost_cables.clone(),
            hosts: damage.lost_hosts,
            routes_changed: damage.routes_changed,
        }),
        vls: vls(candidate),
        figures: one.spreads,
        lost: analysis.lost(),
        loads_in_bytes: one.settings.pattern.has_bytes(),
        connections: connections.collect(),
        bandwidth_bins: analysis.bandwidth_bins(),
        delays: delays
            .map(|(delay, runs)| Delayed { delay, runs })
            .collect(),
        worst_permutation: one.worst.as_ref().map(|worst| WorstPermutation {
            congestion: worst.congestion.into(),
            bound: worst.bound.into(),
            at: worst.edge.map(|edge| graph.edge_text(edge)),
        }),
        cables_ranked: one.hottest.iter().map(|hot| cable(one, hot)).collect(),
        check: one.check.clone(),
    })
}

/// The result of `--vls`.
fn vls(candidate: &Candidate) -> Option<VirtualLanes> {
    let deadlock = candidate.deadlock.as_ref()?;
    let layers = deadlock.layers.as_ref().ok();
    let text = |&edge| candidate.network.graph.edge_text(edge);
    Some(VirtualLanes {
        cycle_on_one: (deadlock.cycle.as_ref()).map(|cycle| cycle.iter().map(text).collect()),
        enough: layers.map(Layers::count),
        routes_by_vl: layers.map(|layers| layers.routes.clone()),
    })
}

/// A cable with the connections that cross it in the level of its largest load.
fn cable(one: &Analysed, hot: &HotCable) -> RankedCable {
    let graph = &one.candidate.network.graph;
    let (run, level) = hot.load.peak_at;
    let name = |host| graph.node(graph.node_of(host)).name.clone();
    let flows = hot.flows.iter().take(MOST_FLOWS).map(|&[from, to]| Flow {
        from: name(from),
        to: name(to),
    });
    RankedCable {
        from: graph.port_text(hot.edge),
        to: graph.port_text(graph.edge(hot.edge).reverse),
        mean: one.outcome().mean(&hot.load),
        most: hot.load.peak,
        most_in_run: run,
        most_in_level: level.into(),
        crossed_by: hot.flows.len() as u64,
        flows: flows.collect(),
    }
}
