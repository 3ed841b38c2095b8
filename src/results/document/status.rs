//! `status` of `result.json`.

use crate::run;
use schemars::JsonSchema;
use serde::Serialize;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Status {
    /// All that it consists of is complete.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// Nothing could move.
    Stalled,
    /// A background flow fell ever further behind, and the run was to stop then.
    Saturated,
}

impl Status {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Stalled => "stalled",
            Self::Saturated => "saturated",
        }
    }
}

impl From<&run::Status> for Status {
    fn from(status: &run::Status) -> Self {
        match status {
            run::Status::Complete => Self::Complete,
            run::Status::Interrupted => Self::Interrupted,
            run::Status::Saturated => Self::Saturated,
            run::Status::Stalled(_) => Self::Stalled,
        }
    }
}
