//! The figures of runs, studies and static analyses. Each kind has a file, which describes and draws it; this file lists
//! the kinds.

mod bars;
mod choice;
mod congestion;
mod curves;
mod differences;
mod distribution;
mod energy;
mod explanation;
mod interference;
mod links;
mod matrix;
mod measures;
mod missing;
mod ranks;
mod series;
mod slowdown;
mod subject;
mod time;
mod title;

pub use choice::Choice;
pub use differences::METRICS;
pub(super) use links::hottest;
pub(super) use missing::{left_out, missing, needs, unknown};
pub(super) use subject::{Heading, details};
pub(super) use title::for_job;

use super::error::ReportError;
use super::source::Source;
use crate::figure::Figure;
use subject::Subject;

/// Declares the kinds in the order of a report, each with its description.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $subject:path,)*) => {
        /// The subject of a figure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum FigureKind {
            $($(#[$doc])* $kind,)*
        }

        impl FigureKind {
            /// All kinds, in the order of a report.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];

            fn subject(self) -> &'static Subject {
                match self {
                    $(Self::$kind => &$subject,)*
                }
            }
        }
    };
}

kinds! {
    /// Slowdowns against the baseline, as bars with intervals.
    Slowdown: slowdown::SUBJECT,
    /// How much each job of an interference study slows each other one down, as a matrix.
    Interference: interference::SUBJECT,
    /// Execution times, as bars with intervals.
    Time: time::SUBJECT,
    /// Where the time goes.
    Split: time::SPLIT,
    /// Differences of the points of a study from the references of its axes, paired by seed, as bars with intervals.
    Differences: differences::SUBJECT,
    /// Accepted load over offered load.
    Throughput: curves::THROUGHPUT,
    /// Latency over offered load.
    Latency: curves::LATENCY,
    /// The energy of runs, by the parts that draw it; of studies also the energy that power states of links save, as
    /// bars with intervals.
    Energy: energy::SUBJECT,
    /// The use of the time on the critical path.
    Explanation: explanation::SUBJECT,
    /// The activities of ranks over time.
    Timeline: ranks::SUBJECT,
    /// Which ranks send how much to which, in bytes.
    Matrix: matrix::BYTES,
    /// The same in messages.
    Messages: matrix::MESSAGES,
    /// Which ranks wait how long for which.
    Waits: matrix::WAITS,
    /// How much links are used, on the topology.
    Links: links::SUBJECT,
    /// Distributions of latencies.
    Distribution: distribution::SUBJECT,
    /// Time series of flows and of congestion control.
    Series: series::SUBJECT,
    /// Bandwidths of connections by static analysis: of studies as bars with intervals, of analyses their distributions over
    /// runs.
    Bandwidth: congestion::BANDWIDTH,
    /// Distribution of congestions over connections.
    Congestion: congestion::CONGESTION,
    /// Distribution over runs of the longest path through the levels of a pattern.
    Delay: congestion::DELAY,
    /// The load that a pattern puts on cables, on the topology.
    Cables: congestion::CABLES,
}

impl FigureKind {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.subject().name
    }

    /// The heading of its section of the page.
    pub(super) fn heading(self) -> Heading {
        self.subject().heading
    }
}

/// The figures of a kind, in the order of the sources.
pub(super) fn figures(kind: FigureKind, sources: &[Source]) -> Vec<Figure> {
    // Without choices there is nothing to refuse.
    figures_with(kind, sources, &Choice::default()).unwrap_or_default()
}

/// The figures of a kind on a page.
pub(super) fn of_page(kind: FigureKind, sources: &[Source]) -> Vec<Figure> {
    match kind {
        FigureKind::Differences => differences::of_page(sources),
        _ => figures(kind, sources),
    }
}

/// The figures of a kind with the choices of a user.
pub(super) fn figures_with(
    kind: FigureKind,
    sources: &[Source],
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    missing::check(choice, kind)?;
    (kind.subject().draw)(&choice.kept(sources)?, choice)
}
