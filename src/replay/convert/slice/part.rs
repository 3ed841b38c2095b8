//! The part of a recording that remains, and its operations.

use crate::program::{Op, RegionId};
use flitwise_base::quote::quoted;

/// The part of a recording that remains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Start of the window, in picoseconds of the ideal clock.
    pub from_ps: u64,
    /// End of the window, not part of it; `None`: the end of the recording.
    pub to_ps: Option<u64>,
    /// In place of these, the region from whose first entry to whose last exit the window is.
    pub region: Option<RegionId>,
    /// Ranks that remain, in ascending order; `None`: all.
    pub ranks: Option<Vec<u32>>,
}

/// An operation of a rank.
#[derive(Debug, Clone)]
pub(in super::super) struct Step {
    /// In the slice its computation is the time, in picoseconds since the start of the window, before which it does not begin.
    pub op: Op,
    /// Its computation by the clock of the slice, and by the other one, in picoseconds.
    pub own_ps: [u64; 2],
    /// The payload of the message that it receives.
    pub bytes: u64,
}

/// Why a region that takes no time has no slice.
#[must_use]
pub fn takes_no_time(region: &str) -> String {
    let region = quoted(region);
    format!(
        "region {region} takes no time on the ideal clock, so that nothing of it can be cut out"
    )
}

/// Why there is no slice of a region that is in no rank that remains.
#[must_use]
pub fn is_never_entered(region: &str) -> String {
    format!("none of these ranks enters region {}", quoted(region))
}
