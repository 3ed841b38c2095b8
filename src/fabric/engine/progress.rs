//! The progress of a run, and its end.

use super::deadlock::Deadlock;
use super::outages::DownLink;
use crate::spec::Tick;

/// The reason why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The workload said that it has finished.
    Finished,
    /// Nothing is left to do, but the workload has not finished.
    Drained,
    /// Packets wait for each other in a cycle.
    Deadlock(Deadlock),
    /// All packets that are left wait for these links, which stay down, or for such packets.
    LinksDown(Vec<DownLink>),
    /// The control function asked to stop.
    Interrupted,
    /// There are more messages or packets at a time than the engine can number (2^28). The engine
    /// has dropped the excess, so the run cannot continue.
    Exhausted,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Tick that was simulated last.
    pub tick: Tick,
    /// Messages delivered so far.
    pub messages: u64,
    /// Flits that crossed switch-to-switch links so far.
    pub flit_hops: u64,
}
