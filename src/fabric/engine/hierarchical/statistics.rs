//! The statistics of links (`docs/model/fabric.md` §9), which are read and restarted between ticks. Phase 7
//! counts ([`output`](super::output)). The counters per SL and per message are in
//! [`counters`](crate::engine::counters).

use super::Fabric;
use crate::engine::counters::LinkCounts;
use crate::engine::ids::OutputId;
use crate::engine::variant::Variant;
use crate::spec::Tick;
use crate::stats::{FabricStats, LinkStats};

impl<V: Variant> Fabric<V> {
    /// Sets all counts to 0. A credit wait that has not ended counts from the next tick.
    pub(super) fn restart_counting(&mut self) {
        self.kernel.observers.counters.restart(self.kernel.now);
        self.switches.turns.restart();
        if let Some(power) = &mut self.kernel.power {
            power.restart(self.kernel.now);
        }
        let outputs = self.switches.outputs.iter_mut();
        for (output, link) in outputs.zip(self.senders.iter_mut()) {
            output.sent = LinkCounts::default();
            if link.blocked_since != Tick::MAX {
                link.blocked_since = self.kernel.now + 1;
            }
        }
    }

    /// The counts up to and including the present tick.
    pub(super) fn collect_stats(&self) -> FabricStats {
        let counters = &self.kernel.observers.counters;
        counters.stats(
            self.kernel.now,
            self.count_links(),
            self.switches.turns.stats(),
        )
    }

    /// The counts of the links up to and including the present tick.
    pub(super) fn count_links(&self) -> Vec<LinkStats> {
        OutputId::nics_first(self.ports, self.switches.outputs.len())
            .filter(|&output| self.senders[output].to.is_connected())
            .map(|output| {
                let (link, sent) = (&self.senders[output], &self.switches.outputs[output].sent);
                LinkStats {
                    from: output.link_end(self.ports, self.radix),
                    to: link.to.link_end(self.radix),
                    flits: sent.flits,
                    units: sent.flits,
                    packets: sent.packets,
                    credit_wait_ticks: sent.credit_wait
                        + self.kernel.credit_wait_so_far(output, link.blocked_since),
                    retries: self.kernel.retries(output),
                    longer_ticks: self.kernel.longer_ticks(output),
                    down_wait_ticks: self.kernel.down_wait(output),
                    queue_wait_ticks: sent.queue_wait,
                    waited_ticks: 0,
                    held_up_ticks: 0,
                    states: self.kernel.link_states(output),
                }
            })
            .collect()
    }
}
