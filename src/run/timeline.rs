//! The observer of a run from its start to its end.

use crate::fabric::spec::Tick;
use crate::fabric::stats::LinkStats;
use crate::replay::Observer;

/// Observes the ranks of a run, its messages, and the counters of its links.
pub trait Timeline: Observer {
    /// Ticks between two reports of the links, at least 1; `None`: links are not reported.
    fn interval(&self) -> Option<Tick>;

    /// The counters of all links up to the end of `tick`: after every interval, and at the end of the
    /// run. Calls about later ticks come later.
    fn links(&self, tick: Tick, links: &[LinkStats]);
}
