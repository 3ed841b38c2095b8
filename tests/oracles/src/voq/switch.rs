//! Switches: the crossbar, and the arbiters of the outputs (sections 4 and 6). Their Port VLs (section 9) are in
//! `port_vls`, input buffers in `input`, the ticks of a crossing in `crossing`.

use super::crossing::{Crossing, foresee, free_from};
use super::fifos::{Fifos, Waiting};
use super::input::{CrossbarPort, Input};
use super::link::Link;
use super::packet::{Flit, Packet, PacketId};
use super::port_vls::size;
use super::rates::link_rate;
use super::requests::Turn;
use super::vlarb::{Arbiter, Pick};
use crate::congestion::PortVl;
use crate::delay_line::DelayLine;
use crate::routing::{Load, NextHop, Router};
use crate::sizes::completes_credit;
use crate::turns::SwitchTurns;
use crate::wiring::Wiring;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::congestion::Marker;
use flitwise_fabric::spec::voq::{AllocationRule, InputQueues};
use flitwise_fabric::spec::{FabricSpec, Tick, Voq};
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub(super) struct Output {
    /// The link that leaves here.
    pub(super) link: Option<usize>,
    write: CrossbarPort,
    arbiter: Arbiter,
    /// Input from which each VL is served.
    pointers: Vec<usize>,
    /// Flits in the crossbar, with the tick from which they may leave the buffer.
    line: DelayLine<Flit>,
    /// With a marker only.
    pub(super) port_vls: Vec<PortVl>,
}

impl Output {
    /// A packet is granted: its Port VL may mark it. Returns the delay of its credits. `rate`: flits per tick of the link,
    /// and bytes of a flit.
    fn mark(&mut self, packet: &mut Packet, rate: (Ratio, u32)) -> Tick {
        self.port_vls.get_mut(packet.vl).map_or(0, |port_vl| {
            packet.fecn |= port_vl.mark(packet.bytes.into());
            port_vl.held_back(packet.bytes, rate)
        })
    }
}

/// The grant of an output to an input.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    output: usize,
    input: usize,
    packet: PacketId,
    pick: Pick,
}

/// One switch.
#[derive(Debug, Clone)]
pub struct Switch<'s> {
    id: usize,
    wiring: &'s Wiring,
    pub(super) spec: &'s FabricSpec,
    pub(super) voq: &'s Voq,
    pub(super) vls: usize,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    crossings: Vec<Crossing>,
    router: Router<'s>,
    /// Packets that joined a queue in this tick.
    pub(super) joined: Vec<PacketId>,
    /// Port VLs whose fill changed in this tick.
    pub(super) changed: Vec<(usize, usize)>,
    pub turns: SwitchTurns,
}

impl<'s> Switch<'s> {
    pub fn new(spec: &'s FabricSpec, voq: &'s Voq, wiring: &'s Wiring, id: usize) -> Self {
        let (radix, links) = (wiring.radix(), &wiring.switch_links[id]);
        let vls = usize::from(spec.qos.vls);
        let input = |port: usize| Input::new(spec, voq, radix, links[port].arriving);
        let control = spec.congestion_control.as_deref();
        let marker = control.and_then(|control| match &control.marker {
            Marker::PortVl(marker) => Some(marker),
            Marker::None => None,
        });
        let output = |port: usize| Output {
            link: links[port].leaving,
            write: CrossbarPort::new(spec, voq),
            arbiter: Arbiter::new(&voq.vlarb),
            pointers: vec![0; vls],
            line: DelayLine::new(),
            port_vls: (0..vls)
                .filter_map(|vl| Some(PortVl::new(marker?, wiring, id, (port, vl))))
                .collect(),
        };
        Self {
            id,
            wiring,
            spec,
            voq,
            vls,
            inputs: (0..radix).map(input).collect(),
            outputs: (0..radix).map(output).collect(),
            crossings: Vec::new(),
            router: Router::new(spec, wiring, id as u32),
            joined: Vec::new(),
            changed: Vec::new(),
            turns: SwitchTurns::default(),
        }
    }

    /// Phase 1: a flit arrives at an input buffer.
    pub fn arrive(&mut self, now: Tick, port: usize, flit: Flit) {
        let input = &mut self.inputs[port];
        if flit.index == 0 {
            let stages = &self.voq.stages;
            let seen = now + stages.input_store + stages.routing;
            input.routing.push(seen, flit.packet);
        }
        let flits = input.flits.entry(flit.packet).or_default();
        flits.push_back((now, flit));
        let per_flow = self.voq.input_queues == InputQueues::PerFlow;
        let on_vl = input
            .flits
            .values()
            .flatten()
            .filter(|(_, f)| f.vl == flit.vl && (f.dst == flit.dst || !per_flow));
        assert!(
            on_vl.count() as u64 <= size(self.spec, self.voq, flit.vl),
            "a buffer over its size"
        );
    }

    /// Phase 1: flits come out of the crossbar.
    pub fn cross_over(&mut self, now: Tick, links: &mut [Link<'_>]) {
        for output in &mut self.outputs {
            while let Some(flit) = output.line.pop_due(now) {
                let link = output.link.expect("packets go to connected ports");
                links[link].store(now + self.voq.stages.output_store, flit);
            }
        }
    }

    /// The queue of a port in credits.
    pub fn queue(&self, packets: &[Packet], links: &[Link<'_>], port: usize) -> u32 {
        let buffered = self.outputs[port]
            .link
            .map_or(0, |link| links[link].in_use());
        buffered + waiting_for(&self.inputs, self.vls, packets, port)
    }

    /// Phase 4: headers are routed and join their queues.
    /// `elsewhere`: the queues of ports of other switches.
    pub fn route(
        &mut self,
        now: Tick,
        packets: &mut [Packet],
        links: &[Link<'_>],
        elsewhere: &dyn Fn(&[Packet], u32, usize) -> u32,
    ) {
        let outputs: Vec<_> = self.outputs.iter().map(|output| output.link).collect();
        for port in 0..self.inputs.len() {
            while let Some(id) = self.inputs[port].routing.pop_due(now) {
                let packet = &packets[id];
                let queued = |port: usize| outputs[port].map_or(0, |link| links[link].in_use());
                let (inputs, vls) = (&self.inputs, self.vls);
                let waiting = |port: usize| waiting_for(inputs, vls, packets, port);
                let header = packet.header();
                let load = Load {
                    queued: &queued,
                    waiting: &waiting,
                    elsewhere: &|switch, port| elsewhere(packets, switch, port),
                };
                let next = self.router.route(now, port, header, &load);
                let vl = self.router.vl(port, header, next);
                let NextHop { output, class, leg } = next;
                let packet = &mut packets[id];
                let came_on = packet.vl;
                (packet.output, packet.class, packet.vl) = (output, class, vl);
                packet.leg = leg;
                packet.waiting_since = now;
                let waiting = Waiting {
                    packet: id,
                    queue: output * self.vls + vl,
                    dst: packet.dst,
                    credits: packet.credits,
                };
                self.inputs[port].join(waiting, came_on);
                self.joined.push(id);
                self.changed.push((output, vl));
            }
        }
    }

    /// The packets that joined a queue in this tick, each with the link that it waits for.
    pub fn joined<'a>(
        &'a self,
        packets: &'a [Packet],
    ) -> impl Iterator<Item = (PacketId, usize)> + 'a {
        self.joined.iter().filter_map(|&id| {
            let link = self.outputs[packets[id].output].link?;
            Some((id, link))
        })
    }

    /// Phase 5: the grants of the outputs in an iteration.
    pub fn grants(
        &self,
        now: Tick,
        is_first: bool,
        packets: &[Packet],
        links: &mut [Link<'_>],
    ) -> Vec<Grant> {
        let radix = self.inputs.len();
        let mut grants = Vec::new();
        // Most in-ports and outputs have nothing to do in a tick.
        let busy: Vec<usize> = (0..radix)
            .filter(|&input| !self.inputs[input].is_empty())
            .collect();
        if busy.is_empty() {
            return grants;
        }
        for (at, output) in self.outputs.iter().enumerate() {
            let Some(link) = output.link else { continue };
            let stages = &self.voq.stages;
            let ahead = stages.allocation + stages.crossbar + stages.output_store;
            if !output.write.is_idle(now, self.voq) || links[link].keeps_port(now, ahead) {
                continue;
            }
            let heads = self.heads(at, &busy);
            if heads.is_empty() {
                continue;
            }
            let has_credits = |id: PacketId| links[link].has_credits(&packets[id]);
            let turns: Vec<Turn> = (0..self.vls)
                .map(|vl| {
                    self.turn(
                        now,
                        output.pointers[vl],
                        |input| heads.get(&(input, vl)),
                        has_credits,
                    )
                })
                .collect();
            let candidates: Vec<bool> = turns
                .iter()
                .map(|turn| turn.next.is_some_and(|(_, id)| has_credits(id)))
                .collect();
            if let Some(pick) = output.arbiter.pick(&candidates) {
                let (input, packet) = turns[pick.vl]
                    .next
                    .expect("a candidate has a request in turn");
                if links[link].has_room(packets[packet].credits) {
                    grants.push(Grant {
                        output: at,
                        input,
                        packet,
                        pick,
                    });
                }
            }
            let counts = is_first && links[link].counts_credit_wait(now);
            if counts && !turns.iter().any(|turn| turn.any_credits) {
                links[link].counts.credit_wait += 1;
            }
        }
        grants
    }

    /// Phase 6: inputs accept grants of an iteration.
    pub fn accept(
        &mut self,
        now: Tick,
        is_first: bool,
        grants: &[Grant],
        packets: &mut [Packet],
        links: &mut [Link<'_>],
    ) -> usize {
        let radix = self.inputs.len();
        let mut granted = 0;
        for input in 0..radix {
            let first = self.inputs[input].pointer;
            let best = grants
                .iter()
                .filter(|grant| grant.input == input)
                .min_by_key(|grant| (grant.output + radix - first) % radix);
            if let Some(&grant) = best {
                self.start_crossing(now, grant, packets, links);
                granted += 1;
                if is_first {
                    self.inputs[input].pointer = (grant.output + 1) % radix;
                }
            }
        }
        if is_first {
            self.move_pointers(grants, packets);
        }
        granted
    }

    /// The pointers of the outputs in the first iteration: with iSLIP those whose grants were accepted.
    fn move_pointers(&mut self, grants: &[Grant], packets: &[Packet]) {
        let radix = self.inputs.len();
        for grant in grants {
            let accepted = (self.crossings.iter()).any(|c| c.packet == grant.packet);
            if accepted || self.voq.allocator.rule == AllocationRule::RoundRobin {
                let vl = packets[grant.packet].vl;
                self.outputs[grant.output].pointers[vl] = (grant.input + 1) % radix;
            }
        }
    }

    /// Phase 4, when all headers have joined.
    pub fn sort_joined(&mut self, now: Tick, links: &mut [Link<'_>]) {
        self.sort(now, links, Fifos::sort_joined);
    }

    /// The FIFOs of each in-port are sorted, and the stops and goes of this tick are sent.
    fn sort(
        &mut self,
        now: Tick,
        links: &mut [Link<'_>],
        sorting: impl Fn(&mut Fifos, &dyn Fn(usize, u32) -> bool),
    ) {
        for input in &mut self.inputs {
            let Some(arriving) = input.link else { continue };
            let stopped = |queue: usize, dst: u32| {
                let link = self.outputs[queue / self.vls].link.expect("connected");
                links[link].is_stopped(queue % self.vls, dst)
            };
            sorting(&mut input.fifos, &stopped);
            let notices = std::mem::take(&mut input.fifos.notices);
            links[arriving].tell(now, notices);
        }
    }

    /// End of phase 6: packets wait on, and Port VLs change their state.
    pub fn end_of_allocation(&mut self, now: Tick, packets: &[Packet], links: &mut [Link<'_>]) {
        self.sort(now, links, Fifos::sort_granted);
        for id in self.inputs.iter().flat_map(Input::waiting) {
            self.turns.waits(id);
        }
        self.update_port_vls(packets, links);
    }

    /// Phase 6: a grant is accepted, and its packet is granted the crossbar.
    fn start_crossing(
        &mut self,
        now: Tick,
        grant: Grant,
        packets: &mut [Packet],
        links: &mut [Link<'_>],
    ) {
        let stages = &self.voq.stages;
        let input = &mut self.inputs[grant.input];
        let output = &mut self.outputs[grant.output];
        let packet = &mut packets[grant.packet];
        let vl = packet.vl;
        input.leave(grant.packet, grant.output * self.vls + vl);
        let turn = (grant.input, grant.output);
        self.turns.granted(grant.packet, packet.flits, turn);
        output
            .arbiter
            .grant(grant.pick, self.vls, packet.bytes.into());

        let start = now + stages.allocation;
        let foreseen = foresee(self.voq, packet, start);
        let free = free_from(self.voq, packet, start, [&input.read, &output.write]);
        (input.read.free, output.write.free) = (free, free);
        packet.available = foreseen
            .iter()
            .map(|crosses| crosses + stages.crossbar + stages.output_store)
            .collect();
        let link = &mut links[output.link.expect("connected")];
        link.grant(grant.packet, packet);
        link.counts.queue_wait += now - packet.waiting_since;
        packet.waiting_since = packet.available[0];
        let rate = link_rate(self.voq, self.wiring, (self.id, grant.input));
        let held_back = output.mark(packet, (rate, self.spec.units.flit_bytes));
        self.crossings.push(Crossing {
            packet: grant.packet,
            input: grant.input,
            output: grant.output,
            start,
            next: 0,
            flits: packet.flits,
            vl,
            foreseen,
            held_back,
        });
        self.changed.push((grant.output, vl));
    }

    /// Phase 8: flits cross.
    pub fn cross(&mut self, now: Tick, links: &mut [Link<'_>]) -> usize {
        let stages = &self.voq.stages;
        let mut moved = 0;
        let mut crossings = std::mem::take(&mut self.crossings);
        // The order of the grants: the tail of a packet and the next header may cross in one tick.
        for crossing in crossings.iter_mut().filter(|c| c.start <= now) {
            let input = &mut self.inputs[crossing.input];
            while crossing.foreseen[crossing.next as usize] <= now {
                let index = crossing.next;
                assert_eq!(
                    now, crossing.foreseen[index as usize],
                    "a crossing goes as was foreseen at its grant"
                );
                let stored = input
                    .flits
                    .get_mut(&crossing.packet)
                    .expect("granted packets are here");
                let (date, mut flit) = stored.pop_front().expect("a flit that crosses is here");
                assert!(date + stages.input_store <= now);
                assert_eq!((flit.packet, flit.index), (crossing.packet, index));
                if completes_credit(index, crossing.flits, self.spec.units.flits_per_credit) {
                    let link = &mut links[input.link.expect("connected")];
                    link.return_credits(now, flit, crossing.held_back);
                }
                flit.vl = crossing.vl;
                self.outputs[crossing.output]
                    .line
                    .push(now + stages.crossbar, flit);
                crossing.next += 1;
                moved += 1;
                if crossing.next == crossing.flits {
                    // A detour can bring the header back to this input before the tail has crossed.
                    if stored.is_empty() {
                        input.flits.remove(&crossing.packet);
                    }
                    break;
                }
            }
        }
        crossings.retain(|crossing| crossing.next < crossing.flits);
        self.crossings = crossings;
        moved
    }

    /// Flits in input buffers and in the crossbar.
    pub fn flits(&self) -> usize {
        let inputs = self
            .inputs
            .iter()
            .flat_map(|i| i.flits.values())
            .map(VecDeque::len);
        inputs.sum::<usize>() + self.outputs.iter().map(|o| o.line.len()).sum::<usize>()
    }
}

/// Credits of the packets that wait for the output buffer of `port`.
fn waiting_for(inputs: &[Input], vls: usize, packets: &[Packet], port: usize) -> u32 {
    let queues = inputs
        .iter()
        .flat_map(|input| &input.queues[port * vls..(port + 1) * vls]);
    queues.flatten().map(|&id| packets[id].credits).sum()
}
