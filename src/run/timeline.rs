//! The observer of a run from its start to its end.

use crate::fabric::spec::Tick;
use crate::fabric::stats::LinkStats;
use crate::replay::Observer;

/// Sees what the ranks of a run do, its messages, and the counters of its links.
pub trait Timeline: Observer {
    /// Ticks from one look at the links to the next, at least 1; `None`: it does not look at them.
    fn interval(&self) -> Option<Tick>;

    /// The counters of all links up to the end of `tick`: after every interval, and at the end of the
    /// run. Calls about later ticks come later.
    fn links(&self, tick: Tick, links: &[LinkStats]);
}
