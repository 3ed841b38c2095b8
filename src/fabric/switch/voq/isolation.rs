//! The isolation of the flows that congest an input buffer (`docs/model/infiniband.md` §15), as plain data.

use serde::Serialize;

/// Most congested-flow queues of an input buffer and VL.
pub const MAX_ISOLATION_QUEUES: u32 = 64;

/// The congested-flow queues of every (input buffer, VL), and when they are used. Thresholds are in
/// credits, indexed by VL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Isolation {
    /// Congested-flow queues, at least 1.
    pub queues: u32,
    /// The normal FIFO holds so much or more: the flow of its head is isolated.
    #[schemars(extend("unit" = "credits"))]
    pub detect: Vec<u32>,
    /// A congested-flow queue holds so much or more: the sender is told to stop the flow.
    #[schemars(extend("unit" = "credits"))]
    pub stop: Vec<u32>,
    /// Fill of a congested-flow queue at or below which its stopped flow is released.
    #[schemars(extend("unit" = "credits"))]
    pub go: Vec<u32>,
}

impl Isolation {
    /// The VLs share nothing, so every VL has the same settings: for `vls` VLs.
    #[must_use]
    pub fn even(vls: u8, queues: u32, [detect, stop, go]: [u32; 3]) -> Self {
        let all = |credits| vec![credits; usize::from(vls)];
        Self {
            queues,
            detect: all(detect),
            stop: all(stop),
            go: all(go),
        }
    }
}
