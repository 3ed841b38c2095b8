//! The isolation of the flows that congest an input buffer (`docs/model/infiniband.md` §15), as plain data.

use super::{InputQueues, Voq};
use crate::error::error;
use crate::sizes::Sizes;
use crate::spec::{FabricSpec, SpecError};
use flitwise_base::units::{BufferPart, Ratio};
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

/// The same with thresholds as parts of the VL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsolationParameters {
    /// Congested-flow queues of an (input buffer, VL).
    pub queues: u32,
    /// See [`Isolation::detect`].
    pub detect: BufferPart,
    /// See [`Isolation::stop`].
    pub stop: BufferPart,
    /// See [`Isolation::go`].
    pub go: BufferPart,
}

impl Default for IsolationParameters {
    /// Ours: four full queues leave a quarter of the VL to the other flows.
    fn default() -> Self {
        let share = |num, den| BufferPart::Share(Ratio::new(num, den).unwrap_or(Ratio::ONE));
        Self {
            queues: 4,
            detect: share(1, 4),
            stop: share(3, 16),
            go: share(1, 8),
        }
    }
}

impl IsolationParameters {
    /// The thresholds in credits of VLs of the sizes `per_vl`. No VL has a threshold of 0 but `go`.
    pub(super) fn build(&self, sizes: &Sizes, per_vl: &[u32]) -> Isolation {
        let part = |part| {
            let credits = move |&vl: &u32| sizes.credits(part, vl, sizes.packet);
            per_vl.iter().map(credits)
        };
        Isolation {
            queues: self.queues,
            detect: part(self.detect).map(|credits| credits.max(1)).collect(),
            stop: part(self.stop).map(|credits| credits.max(1)).collect(),
            go: part(self.go).collect(),
        }
    }
}

impl FabricSpec {
    /// Checks the keys that depend on the organisation of a VL in input buffers. `used`: the VLs in use.
    pub(super) fn validate_input_queues(&self, used: &[bool], voq: &Voq) -> Result<(), SpecError> {
        if voq.input_queues == InputQueues::PerFlow && self.congestion_control.is_some() {
            return error(
                "fabric.input_queues",
                "\"per-flow\" leaves congestion control nothing to do, as no flow takes space from another; \
                 take [congestion_control] out, or other input queues"
                    .into(),
            );
        }
        let is_isolating = voq.input_queues == InputQueues::Isolating;
        match &voq.isolation {
            None if is_isolating => error(
                "fabric.input_queues",
                "\"isolating\" needs the sizes of its queues".into(),
            ),
            Some(isolation) if is_isolating => isolation.validate(used, &voq.buffers.input.per_vl),
            Some(_) => error(
                "fabric.isolation_queues",
                "only input_queues = \"isolating\" has such queues".into(),
            ),
            None => Ok(()),
        }
    }
}

impl Isolation {
    fn validate(&self, used: &[bool], sizes: &[u32]) -> Result<(), SpecError> {
        if self.queues == 0 || self.queues > MAX_ISOLATION_QUEUES {
            let problem = format!(
                "{}; an input buffer has 1 to {MAX_ISOLATION_QUEUES} congested-flow queues for each VL",
                self.queues
            );
            return error("fabric.isolation_queues", problem);
        }
        let lists = [
            ("fabric.isolation_detect", &self.detect),
            ("fabric.isolation_stop", &self.stop),
            ("fabric.isolation_go", &self.go),
        ];
        for (key, list) in lists {
            if list.len() != used.len() {
                let (have, want) = (list.len(), used.len());
                return error(key, format!("{have} thresholds for {want} VLs"));
            }
        }
        for (vl, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            let (stop, go, size) = (self.stop[vl], self.go[vl], sizes[vl]);
            for (key, threshold) in [
                ("fabric.isolation_detect", self.detect[vl]),
                ("fabric.isolation_stop", stop),
            ] {
                if threshold == 0 || threshold > size {
                    let problem = format!(
                        "{threshold} credits on VL {vl}, which has {size}; take 1 to {size}"
                    );
                    return error(key, problem);
                }
            }
            if go >= stop {
                let problem = format!(
                    "{go} credits on VL {vl}, where flows stop at {stop}; take less, or raise isolation_stop"
                );
                return error("fabric.isolation_go", problem);
            }
        }
        Ok(())
    }
}
