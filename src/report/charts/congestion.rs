//! Figures of static analyses: distributions over runs and connections, and the loads of cables.

use super::bars;
use super::measures::{Measure, Of, Unit};
use super::subject::{Heading, Subject};
use crate::figure::Figure;
use crate::oblivious::{
    Distributions, bandwidth_figure, congestion_figure, delay_figure, drawn_cables, plan_of,
};
use crate::report::source::{Source, networks};

pub(super) const BANDWIDTH: Subject = Subject {
    name: "bandwidth",
    heading: Heading::of_analyses("bandwidth", "Bandwidth and congestion of connections"),
    needs: (
        "static analyses (congestion.json)",
        "flitwise congestion EXP.toml --runs 1000 --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| {
        let bars = bars::figures(&[MEASURE], sources, choice)?;
        Ok([bars, of_all(sources, bandwidth_figure)].concat())
    },
};

pub(super) const CONGESTION: Subject = Subject {
    name: "congestion",
    has_axes: false,
    draw: |sources, _| Ok(of_all(sources, congestion_figure)),
    ..BANDWIDTH
};

pub(super) const DELAY: Subject = Subject {
    name: "delay",
    heading: Heading::of_analyses("delay", "Longest path through the levels"),
    needs: (
        "longest paths, which need --delay",
        "flitwise congestion EXP.toml --pattern tree --delay --runs 1000 --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(of_all(sources, delay_figure)),
};

pub(super) const CABLES: Subject = Subject {
    name: "cables",
    heading: Heading::of_analyses("cables", "Hot cables"),
    needs: (
        "loads of cables (cables.csv; with --format parquet take both)",
        "flitwise congestion EXP.toml --runs 1000 --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(cables(sources)),
};

const MEASURE: Measure = Measure {
    title: "Bandwidth of a connection by static analysis",
    axis: "bandwidth",
    column: "bandwidth",
    // Jobs have none.
    field: "bandwidth",
    base: 0.0,
    signed: false,
    unit: Unit::Share,
    of: Of::All,
};

/// A figure with a line for each network of each analysis.
fn of_all(sources: &[Source], figure: fn(&[Distributions<'_>]) -> Option<Figure>) -> Vec<Figure> {
    let networks: Vec<_> = networks(sources).collect();
    let lines: Vec<Distributions<'_>> = (networks.iter())
        .map(|(name, _, network)| network.distributions(name))
        .collect();
    figure(&lines).into_iter().collect()
}

/// A drawing for each network.
fn cables(sources: &[Source]) -> Vec<Figure> {
    let figures = networks(sources).filter_map(|(name, analysis, network)| {
        let (plan, links) = (plan_of(&network.topology), analysis.cables_of(network));
        drawn_cables(&plan, &links, network.loads_in_bytes, &name)
    });
    figures.collect()
}
