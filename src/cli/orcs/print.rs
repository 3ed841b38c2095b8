//! What ORCS prints.

use super::OrcsArgs;
use flitwise::oblivious::{
    Analysis, EdgeId, Histogram, HostId, Level, Network, NodeKind, Settings,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bins of `hist_acc_band`.
const BINS: usize = 20;
/// End of the last bin: a value on the border of two bins is in the lower one, and 1 in the last.
const BINS_END: f64 = 1.000_000_000_000_001;
/// Pairs without a route that are named.
const LOST_NAMED: usize = 20;

/// What a statistic is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    Congestion,
    Delay,
}

pub(super) fn head(args: &OrcsArgs, network: &Network, settings: &Settings) -> String {
    let graph = &network.graph;
    let switches = graph
        .nodes()
        .iter()
        .filter(|node| node.kind == NodeKind::Switch)
        .count();
    format!(
        "Input File: {}\nOutput File: {}\nPattern: {}\nCommsize: {}\nPart_commsize: {}\nSubset: {}\nLevel: {}\nRuns: {}\nMetric: {}\n\n\
         Number of hosts in the subset: {}\nNumber of hosts in the inputfile: {}\nNumber of switches in the inputfile: {switches}\n\
         Number of edges in the inputfile: {}",
        args.input_file.display(),
        args.output_file.display(),
        args.ptrn,
        settings.mapping.ranks,
        args.part_commsize,
        args.subset,
        args.ptrn_level,
        args.num_runs,
        args.metric,
        settings.mapping.ranks,
        graph.host_count(),
        graph.edges().len(),
    )
}

/// Listing 3.
pub(super) fn congestions(histogram: &Histogram) -> String {
    let mut out = String::new();
    let all: u64 = histogram.iter().map(|(_, count)| count).sum();
    for (weight, count) in histogram.iter() {
        // Writing to a String does not fail.
        let _ = writeln!(out, "weight {weight}: {count} of the {all} connections");
    }
    // As the program says that there was none.
    let bandwidth = match histogram.connections() {
        0 => -1.0,
        _ => histogram.bandwidth(),
    };
    let _ = writeln!(out, "BW: {bandwidth:.6}");
    out
}

pub(super) fn statistics(analysis: &Analysis, of: Statistic) -> String {
    let value = |run: &flitwise::oblivious::RunFigures| match of {
        Statistic::Congestion => run.sum_max_cong,
        Statistic::Delay => run.delay.unwrap_or(0),
    };
    let values: Vec<f64> = analysis.runs.iter().map(|run| value(run) as f64).collect();
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let (what, name) = match of {
        Statistic::Congestion => ("Maximal Congestion", "Congestion sum"),
        Statistic::Delay => ("Delay", "Delay"),
    };
    let mut out = String::from("Statistical Results\n===================\n\n");
    let rows = [
        (format!("Minimal {what}"), least),
        (format!("Maximal {what}"), most),
        (format!("Average {what}"), mean),
        (format!("{what} Variance"), variance),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "{name}: {value:.6}");
    }
    out.push_str("===================\n\n");
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for run in &analysis.runs {
        *times.entry(value(run)).or_default() += 1;
    }
    for (value, times) in times {
        let _ = writeln!(out, "{name} of {value} occured {times} times.");
    }
    out
}

pub(super) fn bandwidths(analysis: &Analysis) -> String {
    let mut bins = [0u64; BINS];
    for run in &analysis.runs {
        let bin = run.bandwidth / (BINS_END / BINS as f64);
        bins[(bin as usize).min(BINS - 1)] += 1;
    }
    let width = 1.0 / BINS as f64;
    let mut out = format!(
        "Histogramm bin width: {width:.6}\nFraction of full bandwidt | Number of occurences\n"
    );
    for (at, count) in bins.into_iter().enumerate() {
        let [low, high] = [at, at + 1].map(|at| at as f64 * width);
        let _ = writeln!(out, "{low:12.8} {high:12.8} {count:5}");
    }
    out
}

pub(super) fn cable_list(network: &Network, analysis: &Analysis) -> String {
    let mut out = String::from("Cable Congestions:\n\n Edge-ID\tacc. cong\n");
    for (number, edge) in network.graph.edges_as_given().iter().enumerate() {
        let load = analysis
            .cables
            .loads
            .get(edge.index())
            .map_or(0, |load| load.sum);
        if load > 0 {
            let _ = writeln!(out, "{number}\t{load}");
        }
    }
    out
}

pub(super) fn coloured(network: &Network, analysis: &Analysis) -> Result<String, String> {
    let mut out = Vec::new();
    network
        .write_coloured(&mut out, &analysis.cables)
        .map_err(|e| e.to_string())?;
    String::from_utf8(out).map_err(|e| e.to_string())
}

pub(super) fn routequal(network: &Network) -> String {
    let (graph, survey) = (&network.graph, network.survey());
    let between = |edge: &EdgeId| {
        let edge = graph.edge(*edge);
        [edge.from, edge.to]
            .iter()
            .all(|&node| graph.host_at(node).is_none())
    };
    let edges = EdgeId::all(graph.edges().len() as u32).filter(between);
    let routes = edges
        .map(|edge| survey.routes_on[edge.index()])
        .filter(|&routes| routes > 0);
    let routes: Vec<f64> = routes.map(|routes| routes as f64).collect();
    let count = routes.len().max(1) as f64;
    let mean = routes.iter().sum::<f64>() / count;
    let variance = routes
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    let least = routes.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let most = routes.iter().copied().fold(0.0, f64::max);
    format!(
        "gmin: {least}, gmax: {most}\nE: {mean:.2}, sigma: {:.2}\nCompleted\n",
        variance.sqrt()
    )
}

pub(super) fn names(network: &Network, settings: &Settings) -> String {
    let mut out = String::from("\n\nNamelist in node with rank 0: \n=================\n");
    for host in hosts(network, settings) {
        let _ = writeln!(out, "{}", name(network, host));
    }
    out.push_str("===============\n\n");
    out
}

pub(super) fn pattern(network: &Network, settings: &Settings) -> String {
    let hosts = hosts(network, settings);
    let mut out = String::new();
    let mut level = Level::default();
    for number in levels(settings) {
        settings.fill(0, number, &mut level);
        out.push_str("\nUsed Pattern:\n=================\n");
        for pair in &level.pairs {
            let [from, to] = [pair.from, pair.to].map(|rank| name(network, hosts[rank as usize]));
            let ranks = format!("{:>5} -> {}", pair.from, pair.to);
            let _ = writeln!(out, "{ranks:<16} |   {from} -> {to}");
        }
        out.push_str("=================\n");
    }
    out
}

/// Pairs of the first run without a route.
pub(super) fn lost(network: &Network, settings: &Settings) -> Vec<String> {
    let hosts = hosts(network, settings);
    let (mut level, mut route, mut lines) = (Level::default(), Vec::new(), Vec::new());
    for number in levels(settings) {
        settings.fill(0, number, &mut level);
        for pair in &level.pairs {
            let [src, dst] = [pair.from, pair.to].map(|rank| hosts[rank as usize]);
            route.clear();
            if let Err(why) = network.route(src, dst, 0, &mut route) {
                let place = match why {
                    flitwise::oblivious::Lost::Loop(node) => {
                        format!("routing loop at {}", network.graph.node(node).name)
                    }
                    flitwise::oblivious::Lost::WrongHost(node) => {
                        format!("ends at host {}", network.graph.node(node).name)
                    }
                    flitwise::oblivious::Lost::NoEntry(node) => {
                        format!("{} has no entry for it", network.graph.node(node).name)
                    }
                    _ => "no route".to_owned(),
                };
                lines.push(format!(
                    "{} -> {}: {place}",
                    name(network, src),
                    name(network, dst)
                ));
            }
        }
    }
    lines.truncate(LOST_NAMED);
    lines
}

fn levels(settings: &Settings) -> std::ops::Range<u32> {
    match settings.level {
        Some(level) => level..level + 1,
        None => 0..settings.pattern.levels(settings.mapping.ranks),
    }
}

/// The hosts of the first run.
fn hosts(network: &Network, settings: &Settings) -> Vec<HostId> {
    let mut hosts = Vec::new();
    let pool = settings.mapping.pool(&network.graph, settings.seed);
    settings.mapping.draw(&pool, settings.seed, 0, &mut hosts);
    hosts
}

fn name(network: &Network, host: HostId) -> &str {
    &network.graph.node(network.graph.node_of(host)).name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Listing 3 of the report, to the character.
    #[test]
    fn listing_3() {
        let mut histogram = Histogram::default();
        for (weight, count) in [(1, 14), (2, 44), (3, 6)] {
            histogram.add_many(weight, count);
        }
        assert_eq!(
            congestions(&histogram),
            "weight 1: 14 of the 64 connections\nweight 2: 44 of the 64 connections\n\
             weight 3: 6 of the 64 connections\nBW: 0.593750\n"
        );
    }
}
