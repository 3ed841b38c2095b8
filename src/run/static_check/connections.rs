//! The connections of a level, with their predicted bandwidths.

use crate::oblivious::{EdgeId, FairShares, HostId, Level, Network, Settings, Walker};
use crate::stop::{Stop, Stopped};

/// A pair of a level that has a route.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Connection {
    pub from: HostId,
    pub to: HostId,
    pub congestion: u64,
    pub fair_share: f64,
    /// Its simulated bandwidth as a share of the fastest link, once it is simulated.
    pub simulated: f64,
}

impl Connection {
    /// The share of the bandwidth that its congestion leaves to it.
    pub(super) fn share(&self) -> f64 {
        1.0 / self.congestion.max(1) as f64
    }
}

/// The connections of a level whose ranks run on `hosts`, and the number of pairs without a route. A rank that sends to
/// itself makes no connection.
pub(super) fn connections_of(
    network: &Network,
    settings: &Settings,
    level: &Level,
    hosts: &[HostId],
    stop: Stop<'_>,
) -> Result<(Vec<Connection>, u64), Stopped> {
    let mut walker = Walker::new(network, settings.path).stopped_by(stop);
    walker.count(level, hosts)?;
    let mut connections = Vec::new();
    let mut routes: Vec<Vec<EdgeId>> = Vec::new();
    walker.each(level, hosts, |seen| {
        if seen.congestion > 0 {
            let pair = level.pairs[seen.at];
            let [from, to] = [pair.from, pair.to].map(|rank| hosts[rank as usize]);
            connections.push(Connection {
                from,
                to,
                congestion: seen.congestion,
                fair_share: 0.0,
                simulated: 0.0,
            });
            routes.push(seen.route.to_vec());
        }
    })?;
    let routes: Vec<&[EdgeId]> = routes.iter().map(Vec::as_slice).collect();
    let mut shares = Vec::new();
    let mut fair = FairShares::new(network).stopped_by(stop);
    fair.of(network, &routes, &mut shares)?;
    for (connection, share) in connections.iter_mut().zip(shares) {
        connection.fair_share = share;
    }
    Ok((connections, walker.lost()))
}
