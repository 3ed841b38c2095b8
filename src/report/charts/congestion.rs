//! Figures of static analyses: distributions over runs and connections, and the loads of cables.

use crate::figure::Figure;
use crate::oblivious::{
    Distributions, bandwidth_figure, congestion_figure, delay_figure, drawn_cables,
};
use crate::report::source::{CongestionSource, Source};

/// The analyses among the sources.
pub(crate) fn analyses(sources: &[Source]) -> Vec<&CongestionSource> {
    let analyses = sources.iter().filter_map(|source| match source {
        Source::Congestion(analysis) => Some(&**analysis),
        Source::Run(_) | Source::Study(_) => None,
    });
    analyses.collect()
}

pub(super) fn bandwidths(sources: &[Source]) -> Vec<Figure> {
    of_all(sources, bandwidth_figure)
}

pub(super) fn congestions(sources: &[Source]) -> Vec<Figure> {
    of_all(sources, congestion_figure)
}

pub(super) fn delays(sources: &[Source]) -> Vec<Figure> {
    of_all(sources, delay_figure)
}

/// A figure with a line for each network of each analysis.
fn of_all(sources: &[Source], figure: fn(&[Distributions<'_>]) -> Option<Figure>) -> Vec<Figure> {
    let analyses = analyses(sources);
    let alone = analyses.len() == 1;
    let mut networks = Vec::new();
    for analysis in analyses {
        for network in &analysis.document.networks {
            networks.push((analysis.series_name(network, alone), network));
        }
    }
    let lines: Vec<Distributions<'_>> = (networks.iter())
        .map(|(name, network)| network.distributions(name))
        .collect();
    figure(&lines).into_iter().collect()
}

/// A drawing for each network.
pub(super) fn cables(sources: &[Source]) -> Vec<Figure> {
    let analyses = analyses(sources);
    let alone = analyses.len() == 1;
    let mut figures = Vec::new();
    for analysis in analyses {
        for network in &analysis.document.networks {
            let name = analysis.series_name(network, alone);
            let links = analysis.cables_of(network);
            let bytes = network.loads_in_bytes;
            figures.extend(drawn_cables(&network.topology, &links, bytes, &name));
        }
    }
    figures
}
