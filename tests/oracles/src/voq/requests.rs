//! The requests of VoQs for an output, and which of them is in turn (sections 6 and 15).

use super::packet::PacketId;
use super::switch::Switch;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::spec::voq::InputQueues;
use std::collections::BTreeMap;

/// The requests of a VL of an output.
pub(super) struct Turn {
    /// The in-port and the packet in turn.
    pub next: Option<(usize, PacketId)>,
    /// A head has credits, of those up to there.
    pub any_credits: bool,
}

impl Switch<'_> {
    /// The packets that request `output`, by in-port and VL. `busy`: the in-ports in which a packet waits.
    pub(super) fn heads(
        &self,
        output: usize,
        busy: &[usize],
    ) -> BTreeMap<(usize, usize), Vec<PacketId>> {
        busy.iter()
            .flat_map(|&input| (0..self.vls).map(move |vl| (input, vl)))
            .map(|(input, vl)| {
                (
                    (input, vl),
                    self.inputs[input].heads(output * self.vls + vl),
                )
            })
            .filter(|(_, heads)| !heads.is_empty())
            .collect()
    }

    /// The request in turn on a VL of an output: of the in-ports from `first` on, once around, whose heads are `heads`.
    pub(super) fn turn<'h>(
        &self,
        now: Tick,
        first: usize,
        heads: impl Fn(usize) -> Option<&'h Vec<PacketId>>,
        has_credits: impl Fn(PacketId) -> bool,
    ) -> Turn {
        let radix = self.inputs.len();
        let mut any_credits = false;
        for input in (0..radix).map(|step| (first + step) % radix) {
            let Some(heads) = heads(input) else { continue };
            let with_credits = heads.iter().copied().find(|&id| has_credits(id));
            any_credits |= with_credits.is_some();
            let request = match self.voq.input_queues {
                InputQueues::VirtualOutput | InputQueues::Fifo => heads.first().copied(),
                InputQueues::PerFlow | InputQueues::Isolating => with_credits,
            };
            if let Some(id) = request
                && self.inputs[input].read.is_idle(now, self.voq)
            {
                return Turn {
                    next: Some((input, id)),
                    any_credits,
                };
            }
        }
        Turn {
            next: None,
            any_credits,
        }
    }
}
