//! The choices that a user makes about a figure: its axes and its metric.

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
