//! The pairs behind the load of a cable.

use super::analysis::Settings;
use super::graph::{EdgeId, HostId};
use super::network::Network;
use super::pattern::Level;
use super::walker::Walker;

impl Settings {
    /// Source and destination of the pairs that cross `edge` in a level of a run, in the order of the pattern.
    #[must_use]
    pub fn flows(&self, network: &Network, edge: EdgeId, at: (u64, u32)) -> Vec<[HostId; 2]> {
        let (run, number) = at;
        let mut hosts = Vec::new();
        let pool = self.mapping.pool(&network.graph, self.seed);
        self.mapping.draw(&pool, self.seed, run, &mut hosts);
        let mut level = Level::default();
        self.fill(run, number, &mut level);
        let mut walker = Walker::new(network, self.path);
        let mut flows = Vec::new();
        let walked = walker.count(&level, &hosts).and_then(|()| {
            walker.each(&level, &hosts, |seen| {
                if seen.route.contains(&edge) {
                    let pair = level.pairs[seen.at];
                    flows.push([pair.from, pair.to].map(|rank| hosts[rank as usize]));
                }
            })
        });
        // Nothing stops this walker.
        debug_assert!(walked.is_ok());
        flows
    }
}
