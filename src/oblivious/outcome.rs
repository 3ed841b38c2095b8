//! The results of an analysis with its network: everything that tables, JSON and drawing need.

use super::analysis::{Analysis, Settings};
use super::cables::CableLoad;
use super::graph::{EdgeId, HostId};
use super::network::Network;
use super::survey::Survey;

/// Version of the layout of `congestion.json` (`docs/reference/congestion.md`).
pub const CONGESTION_SCHEMA: &str = "flitwise-congestion-1";

/// The results for one network.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// Its name in tables and figures.
    pub label: &'a str,
    /// The network.
    pub network: &'a Network,
    /// Its routes.
    pub survey: &'a Survey,
    /// The settings of the analysis.
    pub settings: &'a Settings,
    /// All runs.
    pub analysis: &'a Analysis,
    /// The fullest cables, as [`Analysis::hottest`] gives them.
    pub hottest: &'a [HotCable],
}

/// A direction of a cable with the connections behind its largest load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotCable {
    /// The direction.
    pub edge: EdgeId,
    /// Its load.
    pub load: CableLoad,
    /// Source and destination of the pairs that cross it in the level of its largest load, in the order of the pattern.
    pub flows: Vec<[HostId; 2]>,
}

impl Analysis {
    /// The fullest cables between switches, then the fullest cables of hosts, together at most `most`; none if cables
    /// were not counted.
    #[must_use]
    pub fn hottest(&self, network: &Network, settings: &Settings, most: usize) -> Vec<HotCable> {
        let mut ranked = match most {
            0 => Vec::new(),
            _ => self.cables.ranked(),
        };
        // Routes decide what a cable between switches carries, the pattern what a cable of a host does.
        ranked.sort_by_key(|(edge, _)| !network.graph.is_between_switches(*edge));
        let hot = |(edge, load): (EdgeId, CableLoad)| HotCable {
            edge,
            load,
            flows: settings.flows(network, edge, load.peak_at),
        };
        ranked.into_iter().take(most).map(hot).collect()
    }
}

impl Outcome<'_> {
    /// Mean load of a cable in a level, over all levels and runs.
    #[must_use]
    pub fn mean(&self, load: &CableLoad) -> f64 {
        let levels = self.settings.levels().len().max(1) as f64;
        load.sum as f64 / (levels * self.analysis.runs.len().max(1) as f64)
    }

    /// Every direction of a cable: loaded directions, the fullest first, then the others.
    #[must_use]
    pub fn all_cables(&self) -> Vec<(EdgeId, CableLoad)> {
        let mut all = self.analysis.cables.ranked();
        let ids = self.network.graph.edge_ids();
        let loads = &self.analysis.cables.loads;
        let idle = |edge: &EdgeId| loads.get(edge.index()).is_none_or(|load| load.peak == 0);
        all.extend(ids.filter(idle).map(|edge| (edge, CableLoad::default())));
        all
    }
}
