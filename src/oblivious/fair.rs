//! Max-min fair bandwidth: the bandwidths of connections if none can get more without taking it from one that has no
//! more (Bertsekas and Gallager, Data Networks, section 6.5.2: progressive filling).

use super::graph::EdgeId;
use super::network::Network;
use super::walker::PAIRS_AT_A_TIME;
use flitwise_base::stop::{Stop, StopEvery, Stopped};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Computes fair bandwidths of one level after the other.
#[derive(Debug)]
pub struct FairShares<'a> {
    /// By edge: rate that is left, connections that have no share yet, and the connections that cross it.
    left: Vec<f64>,
    open: Vec<u32>,
    crossed_by: Vec<Vec<u32>>,
    used: Vec<EdgeId>,
    heap: BinaryHeap<Reverse<EdgeShare>>,
    stop: StopEvery<'a>,
}

/// The share that an edge can give to each of its open connections.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EdgeShare {
    share: f64,
    edge: EdgeId,
    open: u32,
}

impl Eq for EdgeShare {}

impl Ord for EdgeShare {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.share
            .total_cmp(&other.share)
            .then(self.edge.cmp(&other.edge))
    }
}

impl PartialOrd for EdgeShare {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> FairShares<'a> {
    /// For the edges of `network`.
    #[must_use]
    pub fn new(network: &Network) -> Self {
        let edges = network.graph.edges().len();
        Self {
            left: vec![0.0; edges],
            open: vec![0; edges],
            crossed_by: vec![Vec::new(); edges],
            used: Vec::new(),
            heap: BinaryHeap::new(),
            stop: Stop::never().every(PAIRS_AT_A_TIME),
        }
    }

    /// The same, which `stop` ends within a level.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop<'a>) -> Self {
        self.stop = stop.every(PAIRS_AT_A_TIME);
        self
    }

    /// Writes the bandwidth of every connection, as a share of the fastest edge, to `shares`. A connection without a
    /// route gets 0.
    ///
    /// # Errors
    /// If it is stopped.
    pub fn of(
        &mut self,
        network: &Network,
        routes: &[&[EdgeId]],
        shares: &mut Vec<f64>,
    ) -> Result<(), Stopped> {
        for edge in self.used.drain(..) {
            self.open[edge.index()] = 0;
            self.crossed_by[edge.index()].clear();
        }
        for (connection, route) in (0..).zip(routes) {
            for &edge in *route {
                let at = edge.index();
                if self.open[at] == 0 {
                    self.used.push(edge);
                    self.left[at] = network.graph.edge(edge).rate;
                }
                self.open[at] += 1;
                self.crossed_by[at].push(connection);
            }
        }
        self.heap.clear();
        for i in 0..self.used.len() {
            self.push_share(self.used[i]);
        }
        shares.clear();
        shares.resize(routes.len(), 0.0);
        let mut settled = vec![false; routes.len()];
        while let Some(Reverse(bottleneck)) = self.heap.pop() {
            self.stop.check()?;
            let at = bottleneck.edge.index();
            // Skips a share that was computed before other connections of the edge were settled.
            if self.open[at] != bottleneck.open || bottleneck.open == 0 {
                continue;
            }
            let crossing = std::mem::take(&mut self.crossed_by[at]);
            for &connection in &crossing {
                if !std::mem::replace(&mut settled[connection as usize], true) {
                    shares[connection as usize] = bottleneck.share;
                    self.settle(routes[connection as usize], bottleneck);
                }
            }
            self.crossed_by[at] = crossing;
        }
        Ok(())
    }

    /// Takes a connection off the edges of its route.
    fn settle(&mut self, route: &[EdgeId], by: EdgeShare) {
        for &edge in route {
            let at = edge.index();
            self.left[at] = (self.left[at] - by.share).max(0.0);
            self.open[at] -= 1;
            if edge != by.edge && self.open[at] > 0 {
                self.push_share(edge);
            }
        }
    }

    fn push_share(&mut self, edge: EdgeId) {
        let open = self.open[edge.index()];
        let share = self.left[edge.index()] / f64::from(open);
        self.heap.push(Reverse(EdgeShare { share, edge, open }));
    }
}
