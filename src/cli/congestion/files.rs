//! The files of `flitwise congestion --out`.

use super::text::levels_in_all;
use super::{Analysed, CongestionArgs, document};
use crate::cli::CliError;
use flitwise::figure::Theme;
use flitwise::oblivious::{Analysis, bandwidth_figure, congestion_figure, delay_figure};
use flitwise_formats::sink::Sink;
use std::io::Write;
use std::path::Path;

/// Bins of the figure of bandwidths, as ORCS has them.
const BINS: u32 = 20;
/// Width of figures in pixels.
const WIDTH: u32 = 720;
/// Cables whose connections are written.
const CABLES_WITH_FLOWS: usize = 20;

pub(super) fn write(
    dir: &Path,
    args: &CongestionArgs,
    results: &[Analysed],
) -> Result<(), CliError> {
    let failed = |what: &Path, e: &dyn std::fmt::Display| {
        CliError::Failed(format!("cannot write `{}`: {e}", what.display()))
    };
    std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    let document = format!("{:#}\n", document::of(args, results));
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("congestion.json".into(), document.into_bytes()),
        ("runs.csv".into(), runs(results)?),
        ("cables.csv".into(), cables(results)?),
        ("flows.csv".into(), flows(results)?),
    ];
    for (number, one) in (1..).zip(results) {
        let name = match results.len() {
            1 => "cables.dot".to_owned(),
            _ => format!("cables-{number}.dot"),
        };
        let mut drawing = Vec::new();
        let written = one
            .candidate
            .network
            .write_coloured(&mut drawing, &one.analysis.cables);
        written.map_err(|e| failed(&dir.join(&name), &e))?;
        files.push((name, drawing));
    }
    let named: Vec<(&str, &Analysis)> = results
        .iter()
        .map(|one| (one.label.as_str(), &one.analysis))
        .collect();
    let figures = [
        ("bandwidth.svg", bandwidth_figure(&named, BINS)),
        ("congestion.svg", congestion_figure(&named)),
        ("delay.svg", delay_figure(&named)),
    ];
    for (name, figure) in figures {
        let drawn = figure.map(|figure| figure.draw(WIDTH, Theme::File).into_bytes());
        files.extend(drawn.map(|drawn| (name.to_owned(), drawn)));
    }
    for (name, content) in files {
        let path = dir.join(name);
        let mut sink = Sink::create(&path).map_err(|e| failed(&path, &e))?;
        sink.write_all(&content).map_err(|e| failed(&path, &e))?;
        sink.finish().map_err(|e| failed(&path, &e))?;
    }
    Ok(())
}

fn table(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<Vec<u8>, CliError> {
    let failed = |e: csv::Error| CliError::Failed(format!("cannot write a table: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer
        .into_inner()
        .map_err(|e| CliError::Failed(format!("cannot write a table: {e}")))
}

fn runs(results: &[Analysed]) -> Result<Vec<u8>, CliError> {
    let header = [
        "network",
        "run",
        "bandwidth",
        "fair_bandwidth",
        "slowest_fair_bandwidth",
        "sum_max_congestion",
        "sum_max_host_links",
        "delay",
        "connections",
        "lost",
    ];
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let rows = results.iter().flat_map(|one| {
        one.analysis.runs.iter().enumerate().map(move |(at, run)| {
            vec![
                one.label.clone(),
                at.to_string(),
                run.bandwidth.to_string(),
                number(run.fair.map(|fair| fair.mean)),
                number(run.fair.map(|fair| fair.least)),
                run.sum_max_cong.to_string(),
                run.sum_max_hosts.to_string(),
                run.delay.map_or(String::new(), |delay| delay.to_string()),
                run.connections.to_string(),
                run.lost.to_string(),
            ]
        })
    });
    table(&header, rows)
}

fn cables(results: &[Analysed]) -> Result<Vec<u8>, CliError> {
    let header = [
        "network",
        "from",
        "from_port",
        "to",
        "to_port",
        "mean",
        "most",
        "run",
        "level",
        "routes",
    ];
    let rows = results.iter().flat_map(|one| {
        let graph = &one.candidate.network.graph;
        let levels = levels_in_all(one);
        one.analysis
            .cables
            .ranked()
            .into_iter()
            .map(move |(id, load)| {
                let edge = graph.edge(id);
                let back = graph.edge(edge.reverse);
                vec![
                    one.label.clone(),
                    graph.node(edge.from).name.clone(),
                    edge.port.to_string(),
                    graph.node(edge.to).name.clone(),
                    back.port.to_string(),
                    (load.sum as f64 / levels).to_string(),
                    load.peak.to_string(),
                    load.peak_at.0.to_string(),
                    load.peak_at.1.to_string(),
                    one.candidate.survey.routes_on[id.index()].to_string(),
                ]
            })
    });
    table(&header, rows)
}

fn flows(results: &[Analysed]) -> Result<Vec<u8>, CliError> {
    let header = [
        "network",
        "from",
        "from_port",
        "run",
        "level",
        "source",
        "destination",
    ];
    let mut rows = Vec::new();
    for one in results {
        let graph = &one.candidate.network.graph;
        for (id, load) in one
            .analysis
            .cables
            .ranked()
            .into_iter()
            .take(CABLES_WITH_FLOWS)
        {
            let edge = graph.edge(id);
            for pair in one.settings.flows(&one.candidate.network, id, load.peak_at) {
                let [src, dst] = pair.map(|host| graph.node(graph.node_of(host)).name.clone());
                rows.push(vec![
                    one.label.clone(),
                    graph.node(edge.from).name.clone(),
                    edge.port.to_string(),
                    load.peak_at.0.to_string(),
                    load.peak_at.1.to_string(),
                    src,
                    dst,
                ]);
            }
        }
    }
    table(&header, rows)
}
