//! The choices that a user makes about a figure: its axes and its metric.

use super::Kind;
use crate::report::ReportError;

/// The choices about a figure; `None` leaves one to the figure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The axis from left to right.
    pub x: Option<String>,
    /// The axis with a colour for each setting.
    pub series: Option<String>,
    /// The metric of differences.
    pub metric: Option<String>,
}

impl Choice {
    /// Refuses choices that a figure of this kind does not have.
    pub(super) fn check(&self, kind: Kind) -> Result<(), ReportError> {
        let names = |of: fn(Kind) -> bool| {
            let kinds = Kind::ALL.into_iter().filter(|kind| of(*kind));
            kinds.map(Kind::name).collect::<Vec<_>>().join(", ")
        };
        let refused = |option: &str, what: &str, kinds: String| {
            let kind = kind.name();
            Err(ReportError(format!(
                "{option}: a figure of --kind {kind} has no {what} to choose; this option fits --kind {kinds}"
            )))
        };
        for (option, chosen) in [("--x", &self.x), ("--series", &self.series)] {
            if chosen.is_some() && !kind.has_axes() {
                return refused(option, "axes", names(Kind::has_axes));
            }
        }
        if self.metric.is_some() && kind != Kind::Differences {
            return refused("--metric", "metric", Kind::Differences.name().to_owned());
        }
        Ok(())
    }

    /// The place of the axis that `option` names among `axes`.
    pub(super) fn place(
        option: &str,
        chosen: Option<&String>,
        axes: &[&str],
    ) -> Result<Option<usize>, ReportError> {
        let Some(chosen) = chosen else {
            return Ok(None);
        };
        match axes.iter().position(|axis| axis == chosen) {
            Some(at) => Ok(Some(at)),
            None => Err(ReportError(match axes {
                [] => format!("{option}: the figure has no axis `{chosen}`, and no other axis"),
                _ => format!(
                    "{option}: the figure has no axis `{chosen}`; its axes are {}",
                    axes.join(", ")
                ),
            })),
        }
    }
}
