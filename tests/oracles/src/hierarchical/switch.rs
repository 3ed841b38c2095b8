//! The hierarchical switch: input buffers, central buffers, output buffers and
//! the crossbars between them (`docs/model/fabric.md` §2, §4 and §6).

use super::buffer::{Buffer, Ledger};
use super::marking::Marking;
use super::packet::{Flit, Packet, PacketId};
use super::sender::Sender;
use super::switch_of;
use crate::delay_line::DelayLine;
use crate::detours::QueueOf;
use crate::routing::{Load, Router};
use crate::sizes::{completes_credit, may_use};
use crate::turns::SwitchTurns;
use crate::wiring::{End, Wiring};
use flitwise_base::random::{Purpose, Stream};
use flitwise_fabric::spec::hierarchical::{CentralLink, CentralQueues, Quota};
use flitwise_fabric::spec::{FabricSpec, Tick};
use std::collections::BTreeMap;

/// A buffer of the switch, as the source or target of a crossing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Input buffer of a port.
    Input(usize),
    /// Central buffer, by its number within the switch.
    Central(usize),
    /// Output buffer of a port.
    Output(usize),
}

/// One side of a crossbar: carries one packet at a time, chooses in turn.
#[derive(Debug, Clone, Default)]
pub struct CrossbarPort {
    /// The start of the next search: a queue of a source, a source of a target.
    pub pointer: usize,
    /// First tick in which no granted packet uses the port any more.
    pub free_from: Tick,
    /// In rounds: the queue that a source has picked and that was not granted yet.
    pub kept: Option<usize>,
}

/// Input buffer of a port.
#[derive(Debug, Clone)]
pub struct Input {
    pub buffer: Buffer,
    pub read: CrossbarPort,
    /// The link that arrives here, to which credits return.
    pub link: Option<usize>,
}

/// One of the two central buffers of an MPort.
#[derive(Debug, Clone)]
pub struct Central {
    pub buffer: Buffer,
    pub ledger: Ledger,
    pub write: CrossbarPort,
    pub read: CrossbarPort,
    /// Queues of the credits that the flits of this tick leave behind.
    freed: Vec<usize>,
    /// Flits between the crossbar and here, with their queue.
    line: DelayLine<(usize, Flit)>,
}

/// Output buffer of a port, its scheduler and its link.
#[derive(Debug, Clone)]
pub struct Output {
    pub sender: Sender,
    pub write: CrossbarPort,
    line: DelayLine<(usize, Flit)>,
}

/// A packet on its way from one buffer of the switch to the next.
#[derive(Debug, Clone)]
pub struct Crossing {
    pub source: Place,
    pub target: Place,
    pub from_queue: usize,
    pub to_queue: usize,
    pub packet: PacketId,
    pub flits: u32,
    /// VL in the next buffer. The header may be routed again, at the next
    /// switch, while the tail still crosses here.
    pub vl: usize,
    /// Tick in which the header crosses.
    pub start: Tick,
    /// Next flit to cross.
    pub next: u32,
    /// Tick in which each flit will cross, as foreseen at the grant.
    pub foreseen: Vec<Tick>,
    /// The delay of the credits of an input buffer.
    pub held_back: Tick,
}

/// One switch.
#[derive(Debug, Clone)]
pub struct Switch<'s> {
    pub inputs: Vec<Input>,
    pub centrals: Vec<Central>,
    pub outputs: Vec<Output>,
    pub crossings: Vec<Crossing>,
    router: Router<'s>,
    /// Packets that were routed here and have not been granted their output buffer: the port, and
    /// their credits.
    pub ungranted: BTreeMap<PacketId, (usize, u32)>,
    /// With congestion control only.
    pub marking: Option<Marking<'s>>,
    pub turns: SwitchTurns,
    /// Class of each port: 0 for NICs, then one for each neighbour.
    class_of: Vec<Option<usize>>,
    /// The in-port decides which central buffer a packet takes.
    by_input: bool,
    /// Per in-port: draws which central buffer a packet takes; `None` if a port decides.
    draws: Vec<Option<Stream>>,
}

impl<'s> Switch<'s> {
    pub fn new(spec: &'s FabricSpec, wiring: &'s Wiring, id: usize) -> Self {
        let radix = wiring.radix();
        let (timing, buffers) = (&switch_of(spec).timing, &switch_of(spec).buffers);
        let vls = usize::from(spec.qos.vls);
        let (peers, links) = (&wiring.ports[id], &wiring.switch_links[id]);
        let (classes, class_of) = classes(spec, peers);
        let size = |total: u32| total * spec.units.flits_per_credit;

        let input = |port: usize| Input {
            buffer: Buffer::new(
                vls,
                size(buffers.input.total),
                timing.stages.input_store + timing.stages.routing,
                timing.stages.input_store,
            ),
            read: CrossbarPort::default(),
            link: links[port].arriving,
        };
        let central = |number: usize| {
            let quotas = central_quotas(spec, number, classes, &class_of);
            Central {
                buffer: Buffer::new(classes * vls, size(buffers.central.total), 0, 0),
                ledger: Ledger::with_queues(buffers.central.total, quotas),
                write: CrossbarPort::default(),
                read: CrossbarPort::default(),
                freed: Vec::new(),
                line: DelayLine::new(),
            }
        };
        let output = |port: usize| {
            let far = match peers[port] {
                Some(End::Nic(_)) => &buffers.nic_sink,
                Some(End::Port { .. }) | None => &buffers.input,
            };
            let store = timing.stages.output_store;
            Output {
                sender: Sender::new(spec, &buffers.output, store, far, links[port].leaving),
                write: CrossbarPort::default(),
                line: DelayLine::new(),
            }
        };
        let draws = |port: usize| match buffers.central_link {
            CentralLink::Random { seed } => {
                let component = [(id * radix + port) as u64, 0];
                Some(Stream::new(seed, Purpose::CentralLink, component))
            }
            CentralLink::ByOutput | CentralLink::ByInput => None,
        };
        Self {
            inputs: (0..radix).map(input).collect(),
            centrals: (0..radix / 2).map(central).collect(),
            outputs: (0..radix).map(output).collect(),
            crossings: Vec::new(),
            router: Router::new(spec, wiring, id as u32),
            ungranted: BTreeMap::new(),
            marking: Marking::new(spec, wiring, id),
            turns: SwitchTurns::default(),
            class_of,
            by_input: buffers.central_link == CentralLink::ByInput,
            draws: (0..radix).map(draws).collect(),
        }
    }

    /// Every buffer that packets leave through a crossbar.
    pub fn sources(&self) -> Vec<Place> {
        let inputs = (0..self.inputs.len()).map(Place::Input);
        inputs
            .chain((0..self.centrals.len()).map(Place::Central))
            .collect()
    }

    pub fn buffer(&mut self, place: Place) -> &mut Buffer {
        match place {
            Place::Input(port) => &mut self.inputs[port].buffer,
            Place::Central(number) => &mut self.centrals[number].buffer,
            Place::Output(port) => &mut self.outputs[port].sender.buffer,
        }
    }

    /// The crossbar port that reads `source`.
    pub fn read_port(&mut self, source: Place) -> &mut CrossbarPort {
        match source {
            Place::Input(port) => &mut self.inputs[port].read,
            Place::Central(number) => &mut self.centrals[number].read,
            Place::Output(_) => unreachable!("an output buffer is read by its link"),
        }
    }

    /// The crossbar port that writes `target`.
    pub fn write_port(&mut self, target: Place) -> &mut CrossbarPort {
        match target {
            Place::Central(number) => &mut self.centrals[number].write,
            Place::Output(port) => &mut self.outputs[port].write,
            Place::Input(_) => unreachable!("an input buffer is written by its link"),
        }
    }

    /// The credits of `target`.
    pub fn ledger(&mut self, target: Place) -> &mut Ledger {
        match target {
            Place::Central(number) => &mut self.centrals[number].ledger,
            Place::Output(port) => &mut self.outputs[port].sender.ledger,
            Place::Input(_) => unreachable!("the sender keeps the ledger of an input buffer"),
        }
    }

    /// The buffer and queue that `packet` goes to from `source`.
    pub fn next_place(&self, source: Place, packet: &Packet) -> (Place, usize) {
        let output = packet.output;
        match source {
            Place::Input(port) if port / 4 != output / 4 => {
                let class = self.class_of[output].expect("a packet goes to a connected port");
                let vls = self.outputs[output].sender.buffer.queues();
                (
                    Place::Central(port / 4 * 2 + packet.central_link),
                    class * vls + packet.vl,
                )
            }
            Place::Input(_) | Place::Central(_) => (Place::Output(output), packet.vl),
            Place::Output(_) => unreachable!("an output buffer feeds a link"),
        }
    }

    /// Phase 1: flits come out of the crossbars.
    pub fn arrive(&mut self, now: Tick) {
        for central in &mut self.centrals {
            while let Some((queue, flit)) = central.line.pop_due(now) {
                central.buffer.arrive(now, queue, flit);
            }
        }
        for output in &mut self.outputs {
            while let Some((queue, flit)) = output.line.pop_due(now) {
                output.sender.buffer.arrive(now, queue, flit);
            }
        }
    }

    /// Phase 2: the credits left in the tick before are free.
    pub fn release(&mut self) {
        for central in &mut self.centrals {
            for queue in central.freed.drain(..) {
                central.ledger.give_back_one(queue);
            }
        }
        for output in &mut self.outputs {
            output.sender.release();
        }
    }

    /// The queue of a port in credits.
    pub fn queue(&self, port: usize) -> u32 {
        self.outputs[port].sender.ledger.in_use() + waiting_for(&self.ungranted, port)
    }

    /// Phase 4: headers become ready; those in input buffers are routed first.
    /// `elsewhere`: the queues of ports of other switches.
    pub fn route(&mut self, now: Tick, packets: &mut [Packet], elsewhere: QueueOf<'_>) {
        for (port, input) in self.inputs.iter_mut().enumerate() {
            while let Some(id) = input.buffer.next_ready(now) {
                let packet = &mut packets[id];
                let queued = |port: usize| self.outputs[port].sender.ledger.in_use();
                let waiting = |port: usize| waiting_for(&self.ungranted, port);
                let header = packet.header();
                let load = Load {
                    queued: &queued,
                    waiting: &waiting,
                    elsewhere,
                };
                let next = self.router.route(now, port, header, &load);
                self.ungranted.insert(id, (next.output, packet.credits));
                packet.output = next.output;
                (packet.class, packet.leg) = (next.class, next.leg);
                packet.vl = self.router.vl(port, header, next);
                packet.input = port;
                packet.central_link = match &mut self.draws[port] {
                    Some(stream) if port / 4 != packet.output / 4 => stream.below(2) as usize,
                    Some(_) => 0,
                    None if self.by_input => port % 2,
                    None => packet.output % 2,
                };
                if let Some(marking) = &mut self.marking {
                    marking.join(id, packet);
                }
            }
        }
        for central in &mut self.centrals {
            while central.buffer.next_ready(now).is_some() {}
        }
        for output in &mut self.outputs {
            while let Some(id) = output.sender.buffer.next_ready(now) {
                packets[id].ready = now;
            }
        }
    }

    /// End of phase 6: the state of Port VLs changes.
    pub fn update_port_vls(&mut self, packets: &[Packet]) {
        let outputs = &self.outputs;
        let has_quota = |output: usize, vl: usize, credits: u32| {
            outputs[output].sender.far.has_quota(vl, credits)
        };
        if let Some(marking) = &mut self.marking {
            marking.update_states(packets, has_quota);
        }
    }

    /// Phase 8: flits cross. Returns the input ports and VLs of the credits that they leave
    /// behind in input buffers, how much later these come back, and the number of flits moved.
    pub fn cross(&mut self, now: Tick, spec: &FabricSpec) -> (Vec<(usize, usize, Tick)>, usize) {
        let mut freed = Vec::new();
        let mut moved = 0;
        let mut crossings = std::mem::take(&mut self.crossings);
        let mut reading: Vec<Place> = Vec::new();
        let mut writing: Vec<Place> = Vec::new();
        for crossing in crossings.iter_mut().filter(|c| c.start <= now) {
            let (source, target) = (crossing.source, crossing.target);
            assert!(
                !reading.contains(&source),
                "a port carries one packet at a time"
            );
            assert!(
                !writing.contains(&target),
                "a port carries one packet at a time"
            );
            reading.push(source);
            writing.push(target);
            for _ in 0..speedup(spec, source) {
                if crossing.next == crossing.flits {
                    break;
                }
                let (queue, index) = (crossing.from_queue, crossing.next);
                let Some(mut flit) = self
                    .buffer(source)
                    .leave(now, queue, crossing.packet, index)
                else {
                    break;
                };
                let foreseen = crossing.foreseen[index as usize];
                assert_eq!(
                    now, foreseen,
                    "a crossing goes as was foreseen at its grant"
                );
                if completes_credit(index, crossing.flits, spec.units.flits_per_credit) {
                    match source {
                        Place::Input(port) => freed.push((port, queue, crossing.held_back)),
                        Place::Central(number) => self.centrals[number].freed.push(queue),
                        Place::Output(_) => unreachable!("an output buffer feeds a link"),
                    }
                }
                flit.vl = crossing.vl;
                let line = match target {
                    Place::Central(number) => &mut self.centrals[number].line,
                    Place::Output(port) => &mut self.outputs[port].line,
                    Place::Input(_) => unreachable!("an input buffer is written by its link"),
                };
                line.push(
                    now + switch_of(spec).timing.stages.crossbar,
                    (crossing.to_queue, flit),
                );
                crossing.next += 1;
                moved += 1;
            }
        }
        crossings.retain(|crossing| crossing.next < crossing.flits);
        self.crossings = crossings;
        (freed, moved)
    }

    /// Flits anywhere in the switch.
    pub fn flits(&self) -> usize {
        let inputs = self.inputs.iter().map(|input| input.buffer.flits());
        let centrals = self
            .centrals
            .iter()
            .map(|c| c.buffer.flits() + c.line.len());
        let outputs = self
            .outputs
            .iter()
            .map(|o| o.sender.buffer.flits() + o.line.len());
        inputs.chain(centrals).chain(outputs).sum()
    }
}

/// Flits per tick out of `source`.
pub fn speedup(spec: &FabricSpec, source: Place) -> u32 {
    match source {
        Place::Input(_) => switch_of(spec).timing.mport_speedup,
        Place::Central(_) => switch_of(spec).timing.central_speedup,
        Place::Output(_) => unreachable!("an output buffer feeds a link"),
    }
}

/// The number of classes of central queues, and the class of each port.
fn classes(spec: &FabricSpec, peers: &[Option<End>]) -> (usize, Vec<Option<usize>>) {
    let mut neighbours: Vec<usize> = Vec::new();
    let mut class_of = Vec::new();
    for peer in peers {
        class_of.push(match (peer, switch_of(spec).buffers.central_queues) {
            (None, _) => None,
            (_, CentralQueues::PerVl) | (Some(End::Nic(_)), _) => Some(0),
            (Some(End::Port { switch, .. }), CentralQueues::PerNeighbour) => {
                let known = neighbours.iter().position(|n| n == switch);
                Some(
                    1 + known.unwrap_or_else(|| {
                        neighbours.push(*switch);
                        neighbours.len() - 1
                    }),
                )
            }
        });
    }
    (1 + neighbours.len(), class_of)
}

/// The quota of each queue of central buffer `number`, where the queue exists.
fn central_quotas(
    spec: &FabricSpec,
    number: usize,
    classes: usize,
    class_of: &[Option<usize>],
) -> Vec<Option<Quota>> {
    let (mport, half) = (number / 2, number % 2);
    let serves = |output: usize| match switch_of(spec).buffers.central_link {
        CentralLink::ByOutput => output % 2 == half,
        CentralLink::ByInput | CentralLink::Random { .. } => true,
    };
    let mut quotas = Vec::new();
    for class in 0..classes {
        let leads_here = class_of
            .iter()
            .enumerate()
            .any(|(o, &c)| c == Some(class) && serves(o) && o / 4 != mport);
        for vl in 0..spec.qos.vls {
            let mut levels = 0..spec.qos.service_levels.len();
            let in_use = levels.any(|sl| may_use(spec, sl).contains(&vl));
            let quota = switch_of(spec).buffers.central.per_vl[usize::from(vl)];
            quotas.push((leads_here && in_use).then_some(quota));
        }
    }
    quotas
}

/// Credits of the packets that wait for the output buffer of `port`.
fn waiting_for(ungranted: &BTreeMap<PacketId, (usize, u32)>, port: usize) -> u32 {
    let here = ungranted.values().filter(|(output, _)| *output == port);
    here.map(|&(_, credits)| credits).sum()
}
