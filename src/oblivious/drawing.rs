//! The loads of cables, drawn on the network.

use super::graph::NodeId;
use super::outcome::Outcome;
use flitwise_fabric::topology::{Arranged, FamilyParameters, Topology};
use flitwise_figure::wiring::{End, Measure, Plan, TAGGED, WiredLink, draw};
use flitwise_figure::{Chart, Figure};
use serde::Deserialize;
use serde_json::Value;

/// The mean load of every direction of a cable. `topology` gives the positions of switches; without it they are drawn
/// by levels from the switches with hosts. `None` if cables were not counted.
#[must_use]
pub fn cables_figure(of: &Outcome<'_>, topology: Option<&Topology>) -> Option<Figure> {
    if of.analysis.cables.loads.is_empty() {
        return None;
    }
    let graph = &of.network.graph;
    let switches = graph.switch_numbers();
    let end = |node: NodeId, port: u32| match graph.host_at(node) {
        Some(host) => End::Nic(host.get()),
        None => End::Switch(switches[node.index()], port),
    };
    let all = of.all_cables();
    let names: Vec<[String; 2]> = (all.iter())
        .map(|&(id, _)| [id, graph.edge(id).reverse].map(|edge| graph.port_text(edge)))
        .collect();
    let links: Vec<WiredLink<'_>> = (all.iter().zip(&names))
        .map(|((id, load), names)| {
            let edge = graph.edge(*id);
            WiredLink {
                from: end(edge.from, edge.port),
                to: end(edge.to, graph.edge(edge.reverse).port),
                names: [&names[0], &names[1]],
                value: of.mean(load),
            }
        })
        .collect();
    let plan = topology.map_or(Plan::ByLinks, |topology| {
        plan(topology.parameters().arranged())
    });
    drawn_cables(&plan, &links, of.settings.pattern.has_bytes(), of.label)
}

/// The plan of a drawing.
fn plan(arranged: Arranged) -> Plan {
    match arranged {
        Arranged::Levels => Plan::Levels,
        Arranged::ByLinks => Plan::ByLinks,
        Arranged::Grid(dimensions) => Plan::Grid(dimensions),
        Arranged::Groups(size) => Plan::Groups(size),
    }
}

/// The plan of a drawing of a topology that a result describes; by its links if the result describes none, on levels
/// if this program does not know it.
#[must_use]
pub fn plan_of(topology: &Value) -> Plan {
    if topology.is_null() {
        return Plan::ByLinks;
    }
    let parameters = FamilyParameters::deserialize(topology);
    parameters.map_or(Plan::Levels, |parameters| plan(parameters.arranged()))
}

/// The same from links, the fullest first.
pub fn drawn_cables(
    plan: &Plan,
    links: &[WiredLink<'_>],
    bytes: bool,
    label: &str,
) -> Option<Figure> {
    let loaded = links.iter().filter(|link| link.value > 0.0);
    let tagged: Vec<WiredLink<'_>> = loaded.take(TAGGED).copied().collect();
    let measure = Measure {
        name: if bytes {
            "bytes of a level, mean"
        } else {
            "connections of a level, mean"
        },
        percent: false,
        nics: "hosts",
    };
    let drawing = draw(plan, links, &tagged, measure)?;
    Some(Figure {
        title: if label.is_empty() {
            "Load of the cables".to_owned()
        } else {
            format!("Load of the cables: {label}")
        },
        note: drawing.note,
        chart: Chart::Network(drawing.network),
    })
}
