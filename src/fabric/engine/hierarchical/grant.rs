//! Phase 6: switch allocation (`docs/model/fabric.md` §6). A requested target grants one source, and the packet starts to
//! cross. Requests are in [`allocate`](super::allocate).

use super::yielding::NEVER;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::congestion::{MarkerQueue, PacketLength};
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::spec::Tick;

impl<V: Variant> Fabric<V> {
    /// Switch allocation of an output buffer: grants one source. The others wake in the next
    /// tick.
    #[inline]
    pub(super) fn grant_output(&mut self, output: OutputId) {
        let to = &mut self.switches.outputs[output];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests, to.next_source);
        to.next_source = winner as u8 + 1;
        let first_central = to.first_central;
        let (id, free_at) = if winner < 4 {
            self.leave_input(output.mport().input(winner))
        } else {
            self.leave_central(first_central.plus(winner - 4))
        };
        let to = &mut self.switches.outputs[output];
        to.port_free_at = free_at;
        if to.holds_back && self.kernel.packets[id].ready != NEVER {
            self.wake_yielding_at_output(output, free_at);
        }
        let packet = &mut self.kernel.packets[id];
        let credits = u32::from(packet.credits);
        self.switches
            .output_buffers
            .credits
            .take(output.index(), packet.vl.into(), credits);
        if V::HAS_ANY_RULE {
            self.switches.waiting[output.index()] -= credits;
        }
        let seen = || packet.seen(id);
        self.kernel.observers.granted(self.kernel.now, output, seen);
        if let Some(control) = V::part_mut(&mut self.control) {
            let mport = if winner < 4 {
                output.mport()
            } else {
                first_central.plus(winner - 4).mport()
            };
            let queue = MarkerQueue {
                input: mport.input(packet.in_port.into()),
                output,
                vl: packet.vl,
            };
            let ready_at =
                packet.arrival + self.timing.stages.input_store + self.timing.stages.routing;
            let flits = packet.flits;
            let bytes = flits * self.units.flit_bytes;
            let length = PacketLength { flits, bytes };
            let joined_now = ready_at == self.kernel.now;
            if control.congestion.granted(queue, length, joined_now) {
                packet.fecn = true;
                let seen = packet.seen(id);
                let now = self.kernel.now;
                self.kernel.observers.marked(now, output, || seen);
            }
        }
        let ready = self.kernel.now
            + self.timing.stages.allocation
            + self.timing.stages.crossbar
            + self.timing.stages.output_store;
        self.output_ready
            .push(&mut self.kernel.wheel, ready, (output, id));
        let losers = requests & !(1 << winner);
        if losers != 0 {
            if V::IS_WATCHED {
                self.report_losers(output, losers);
            }
            self.wake_sources_of_output(output, losers, self.kernel.now + 1);
        }
    }

    /// Switch allocation of a central buffer: grants one input buffer. The others wake in the
    /// next tick.
    #[inline]
    pub(super) fn grant_central(&mut self, central: CentralId) {
        let to = &mut self.switches.centrals[central];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests.into(), to.next_source);
        to.next_source = winner as u8 + 1;
        let (id, free_at) = self.leave_input(central.mport().input(winner));
        let to = &mut self.switches.centrals[central];
        to.port_free_at = free_at;
        if to.yielding != 0 && self.kernel.packets[id].ready != NEVER {
            self.wake_yielding_at_central(central, free_at);
        }
        let packet = &mut self.kernel.packets[id];
        packet.ready = NEVER;
        let queue = self.switches.central_queue(packet.output, packet.vl);
        self.switches
            .central_buffers
            .credits
            .take(central.index(), queue, packet.credits.into());
        let ready = self.kernel.now + self.timing.stages.allocation + self.timing.stages.crossbar;
        self.central_ready
            .push(&mut self.kernel.wheel, ready, (central, queue as u32, id));
        let mut losers = requests & !(1 << winner);
        while losers != 0 {
            let loser = central.mport().input(losers.trailing_zeros());
            losers &= losers - 1;
            if V::IS_WATCHED {
                self.report_loser(self.switches.picked_of_input(loser));
            }
            self.wake(Event::Input(loser), self.kernel.now + 1);
        }
    }

    /// Tells the probe that a packet requested to cross and was not granted.
    fn report_loser(&mut self, id: PacketId) {
        let packet = &self.kernel.packets[id];
        let (now, observers) = (self.kernel.now, &mut self.kernel.observers);
        observers.blocked(now, packet.output, 1 << packet.vl, Obstacle::Arbiter);
    }

    /// Tells the probe so of the packets that the sources of `output` at `positions` picked.
    fn report_losers(&mut self, output: OutputId, mut positions: u64) {
        let first_central = self.switches.outputs[output].first_central;
        while positions != 0 {
            let position = positions.trailing_zeros();
            positions &= positions - 1;
            let id = match position.checked_sub(4) {
                None => self
                    .switches
                    .picked_of_input(output.mport().input(position)),
                Some(central) => self.switches.centrals[first_central.plus(central)].picked,
            };
            self.report_loser(id);
        }
    }

    /// Starts the crossing of the head that an input buffer picked. Returns the packet, and
    /// the tick from which the ports of the crossing are free.
    #[inline]
    fn leave_input(&mut self, port: InputId) -> (PacketId, Tick) {
        let (at, switches) = (port.index(), &mut self.switches);
        let start = self.kernel.now + self.timing.stages.allocation;
        let input = &mut switches.inputs[port];
        let vl = usize::from(input.pick);
        let id = switches.input_fifos.head(&input.heads, at, vl);
        let packet = &mut self.kernel.packets[id];
        packet.crossing = start;
        let credit_return = self.links.drain_rate().credit_return(
            vl as u32,
            (packet.flits, packet.credits.into()),
            start,
            // Flit i > 0 may leave i ticks after this one.
            packet.arrival + self.timing.stages.input_store,
            0,
        );
        let free_at = credit_return.end + 1;
        input.free_at = free_at;
        switches.blind.granted_input::<V>(port);
        switches.rounds.picks.granted_input::<V>(port);
        let (output, flits, next) = (packet.output, packet.flits, packet.next);
        let granted_before = &mut switches.granted_at[at * self.vls + vl];
        let stages = &self.timing.stages;
        let routed = packet.arrival + stages.input_store + stages.routing;
        let waited = self.kernel.now - routed.max(*granted_before);
        *granted_before = self.kernel.now;
        if switches.input_fifos.pop(&mut input.heads, at, vl, next) {
            input.ready &= !(1 << vl);
        }
        switches.turns.at(port, output).granted(flits, waited);
        let mut credit_return = credit_return;
        let control = V::part(&self.control);
        if let Some(control) = control {
            credit_return = credit_return.delayed(control.return_delay(packet));
        }
        let (upstream, has_more) = (input.upstream, input.ready != 0);
        self.return_credits(upstream, credit_return);
        if has_more {
            self.wake(
                Event::Input(port),
                free_at.saturating_sub(self.switches.source_overlap),
            );
        }
        (id, free_at)
    }

    /// Starts the crossing of the head that a central buffer picked. Returns the packet, and
    /// the tick from which the ports of the crossing are free.
    #[inline]
    fn leave_central(&mut self, central: CentralId) -> (PacketId, Tick) {
        let (at, switches) = (central.index(), &mut self.switches);
        let from = &mut switches.centrals[central];
        let queue = from.pick;
        let id = from.picked;
        let packet = &self.kernel.packets[id];
        let crossbar = self.timing.stages.crossbar;
        let buffers = &mut switches.central_buffers;
        let credit_return = buffers.credits.drain_rate().credit_return(
            queue,
            (packet.flits, packet.credits.into()),
            self.kernel.now + self.timing.stages.allocation,
            packet.arrival + self.timing.stages.input_store + crossbar,
            packet.crossing + crossbar,
        );
        let free_at = credit_return.end + 1;
        from.free_at = free_at;
        switches.blind.granted_central::<V>(central);
        switches.rounds.picks.granted_central::<V>(central);
        let mut waiting = std::mem::take(&mut from.inputs_waiting);
        let is_empty = (buffers.fifos).pop(&mut [], at, queue as usize, packet.next);
        let credit_return = credit_return.delayed(1);
        buffers
            .credits
            .add_return(at, credit_return, self.kernel.now);
        if is_empty {
            *switches.ready_word(central, queue / 64) &= !(1 << (queue % 64));
        }
        while waiting != 0 {
            let port = central.mport().input(waiting.trailing_zeros());
            waiting &= waiting - 1;
            let credits = &self.switches.central_buffers.credits;
            let first_credit = credits.first_credit_tick(&credit_return);
            self.wake(Event::Input(port), first_credit);
        }
        if self.switches.central_has_ready(central) {
            self.wake(
                Event::Central(central),
                free_at.saturating_sub(self.switches.source_overlap),
            );
        }
        (id, free_at)
    }

    /// Wakes the sources of an output at `positions`, a bit each, in tick `at`.
    pub(super) fn wake_sources_of_output(
        &mut self,
        output: OutputId,
        mut positions: u64,
        at: Tick,
    ) {
        let first_central = self.switches.outputs[output].first_central;
        while positions != 0 {
            let position = positions.trailing_zeros();
            positions &= positions - 1;
            if position < 4 {
                self.wake(Event::Input(output.mport().input(position)), at);
            } else {
                self.wake(Event::Central(first_central.plus(position - 4)), at);
            }
        }
    }
}
