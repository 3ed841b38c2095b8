//! Congestion control of the hierarchical switch (`docs/model-infiniband.md` §12): whether
//! there is any, what it knows, and what it does in each phase.

use super::Fabric;
use super::packet::Packet;
use super::space::Chance;
use crate::fabric::engine::congestion::{FlowId, PortVls, Sources};
use crate::fabric::engine::pool::{MessageId, NONE, PacketId};
use crate::fabric::spec::{FabricSpec, SpecError, Tick};
use crate::fabric::stats::CongestionStats;
use crate::fabric::workload::{Message, Workload};
use crate::units::Ratio;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

/// A fabric has congestion control or not, from the start on: code behind `get` is not
/// there where it has not.
pub(in crate::fabric::engine) trait Control: Debug {
    fn get(&self) -> Option<&Congestion>;
    fn get_mut(&mut self) -> Option<&mut Congestion>;
}

/// No congestion control.
#[derive(Debug)]
pub(in crate::fabric::engine) struct Off;

impl Control for Off {
    #[inline(always)]
    fn get(&self) -> Option<&Congestion> {
        None
    }

    #[inline(always)]
    fn get_mut(&mut self) -> Option<&mut Congestion> {
        None
    }
}

/// Congestion control.
#[derive(Debug)]
pub(in crate::fabric::engine) struct Congestion {
    pub(super) port_vls: PortVls,
    pub(super) sources: Sources,
    /// Credits of the largest packet on each VL.
    largest: Vec<u32>,
    cnp_flits: u32,
    nics: Vec<Adapter>,
    /// Packets of each flow in the send queue.
    queued: Vec<u32>,
    /// (NIC, SL) that were given a message in this tick.
    given: Vec<(u32, u8)>,
}

impl Control for Congestion {
    #[inline(always)]
    fn get(&self) -> Option<&Congestion> {
        Some(self)
    }

    #[inline(always)]
    fn get_mut(&mut self) -> Option<&mut Congestion> {
        Some(self)
    }
}

/// A queue pair of a NIC: SL and destination.
type Pair = (u8, u32);

/// What congestion control adds to a NIC.
#[derive(Debug, Default)]
struct Adapter {
    /// Queue pairs with a message.
    pairs: BTreeMap<Pair, Fifo>,
    /// Where the next search starts.
    pointer: Pair,
    /// VLs that these pairs use, and perhaps others.
    vls: u32,
    cnps: VecDeque<PacketId>,
    /// The link was free and sent nothing, between the last data packet and a CNP.
    was_idle: bool,
    /// SLs that were given a message in this tick.
    given: u32,
}

/// The messages of a queue pair.
#[derive(Debug, Clone, Copy)]
struct Fifo {
    first: MessageId,
    last: MessageId,
    flow: FlowId,
}

/// Most queues in front of all Port VLs, of 4 bytes each.
const MAX_PORT_VL_QUEUES: u64 = 1 << 28;

impl Congestion {
    /// That of `spec`, if there is any.
    ///
    /// # Errors
    /// If the fabric is too large.
    pub(in crate::fabric::engine) fn new(spec: &FabricSpec) -> Result<Option<Self>, SpecError> {
        let Some(control) = spec.congestion_control.as_deref() else {
            return Ok(None);
        };
        let topology = &spec.topology;
        let ports = u64::from(topology.switches()) * u64::from(topology.radix());
        let queues = ports * u64::from(topology.radix()) * u64::from(spec.qos.vls);
        if queues > MAX_PORT_VL_QUEUES {
            return Err(SpecError {
                key: "congestion_control.kind",
                problem: format!(
                    "{queues} pairs of an input and a Port VL, more than the {MAX_PORT_VL_QUEUES} \
                     supported; take a smaller fabric or fewer VLs"
                ),
            });
        }
        let nics = topology.nics() as usize;
        Ok(Some(Self {
            port_vls: PortVls::new(spec, control),
            sources: Sources::new(control, vec![Ratio::ONE; nics]),
            largest: (0..spec.qos.vls)
                .map(|vl| spec.max_credits_on_vl(vl))
                .collect(),
            cnp_flits: spec.cnp_flits().unwrap_or(1),
            nics: (0..nics).map(|_| Adapter::default()).collect(),
            queued: Vec::new(),
            given: Vec::new(),
        }))
    }

    /// The flow of packets from `nic` to `dst` on `sl`.
    fn flow(&mut self, nic: u32, sl: u8, dst: u32) -> FlowId {
        let flow = self.sources.flow(nic, sl, dst);
        if self.queued.len() <= flow as usize {
            self.queued.resize(flow as usize + 1, 0);
        }
        flow
    }

    /// `None` if a packet of `flow` may move to the send queue at `now`, else the tick in
    /// which to look again, unless something else happens before.
    fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        if self.queued[flow as usize] == 0 {
            return self.sources.held_until(flow, now);
        }
        (self.sources.ccti(flow, now) > 0).then(|| self.sources.next_fall(flow, now))
    }

    /// Phase 7: the link of `nic` starts a data packet. Returns the index of its flow, and
    /// when the NIC must look again, if the flow holds its next packet.
    pub(super) fn sent(&mut self, now: Tick, nic: u32, packet: &Packet) -> (u16, Option<Tick>) {
        let flow = self.flow(nic, packet.sl, packet.dst);
        self.queued[flow as usize] -= 1;
        let end = now + Tick::from(packet.flits);
        self.sources.sent(flow, end, packet.flits);
        let index = self.sources.ccti(flow, now);
        (index, (index > 0).then_some(end))
    }

    /// True, once, if the link of `nic` was idle before it sent a CNP.
    pub(super) fn was_idle_before_cnp(&mut self, nic: Option<u32>) -> bool {
        nic.is_some_and(|nic| std::mem::take(&mut self.nics[nic as usize].was_idle))
    }
}

/// Counts something of congestion control.
pub(super) fn count(counts: &mut Option<CongestionStats>, add: impl Fn(&mut CongestionStats)) {
    if let Some(counts) = counts {
        add(counts);
    }
}

/// Counts a data packet that was sent with this index.
pub(super) fn count_sent(counts: &mut Option<CongestionStats>, index: u16) {
    count(counts, |counts| {
        counts.packets += 1;
        counts.ccti_sum += u64::from(index);
        counts.ccti_max = counts.ccti_max.max(index);
    });
}

impl<C: Control> Fabric<C> {
    /// Phase 1: the tail of `packet` is at its NIC; if it is data, it will be delivered.
    pub(super) fn notify(&mut self, packet: &Packet) {
        let nic = packet.dst;
        if packet.message == NONE {
            let Some(congestion) = self.control.get_mut() else {
                return;
            };
            let flow = congestion.flow(nic, packet.sl, packet.index);
            congestion.sources.becn(flow, self.now);
            count(&mut self.counters.congestion, |counts| counts.becns += 1);
            // The table need not rise: the delay may be shorter now.
            self.touch_nic(nic);
        } else if packet.fecn && !self.packets.is_full() {
            let src = self.messages[packet.message].src;
            self.answer(nic, src, packet.sl);
        }
    }

    /// Creates a CNP from `nic` to `dst`.
    fn answer(&mut self, nic: u32, dst: u32, sl: u8) {
        let vl = self.first_vl(sl.into(), dst);
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let flits = congestion.cnp_flits;
        let id = self.packets.insert(Packet {
            message: NONE,
            index: nic,
            dst,
            sl,
            vl,
            flits,
            credits: flits.div_ceil(self.flits_per_credit) as u16,
            ready: self.now,
            next: NONE,
            ..Packet::default()
        });
        congestion.nics[nic as usize].cnps.push_back(id);
        count(&mut self.counters.congestion, |counts| {
            counts.notifications += 1;
        });
        // When its link is busy, this asks for another look.
        self.dirty_outputs.push(self.ports as u32 + nic);
    }

    /// Phase 3: what the workload kept back of the application queues that it has just given
    /// a message: it may belong to another queue pair.
    #[inline]
    pub(super) fn take_backlog(&mut self, workload: &mut impl Workload) {
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let mut given = std::mem::take(&mut congestion.given);
        for &(nic, sl) in &given {
            while !self.messages.is_full()
                && let Some(message) = workload.replenish(self.now, nic, sl)
            {
                self.enqueue(&message);
            }
        }
        if let Some(congestion) = self.control.get_mut() {
            for (nic, _) in given.drain(..) {
                congestion.nics[nic as usize].given = 0;
            }
            congestion.given = given;
        }
    }

    /// Phase 3: adds message `id` to the FIFO of its queue pair.
    pub(super) fn append_to_pair(&mut self, message: &Message, id: MessageId) {
        let Message { src, dst, sl, .. } = *message;
        let vl = self.first_vl(sl.into(), dst);
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let flow = congestion.flow(src, sl, dst);
        let adapter = &mut congestion.nics[src as usize];
        if adapter.given & (1 << sl) == 0 {
            adapter.given |= 1 << sl;
            congestion.given.push((src, sl));
        }
        adapter.vls |= 1 << vl;
        let new = Fifo {
            first: id,
            last: id,
            flow,
        };
        let fifo = adapter.pairs.entry((sl, dst)).or_insert(new);
        if fifo.last != id {
            self.messages[fifo.last].next = id;
            fifo.last = id;
        }
    }

    /// Phase 3: moves packets to the send queue while the head packet of some queue pair has
    /// quota and is not held.
    pub(super) fn fill_from_pairs(&mut self, nic: u32) {
        let at = nic as usize;
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let mut adapter = std::mem::take(&mut congestion.nics[at]);
        while !self.packets.is_full() {
            let Some((pair, packet)) = self.next_of_pairs(nic, &adapter) else {
                break;
            };
            let next = self.cut_off(&packet);
            self.put_into_send_queue(nic, packet);
            adapter.pointer = (pair.0, pair.1 + 1);
            let Some(fifo) = adapter.pairs.get_mut(&pair) else {
                break;
            };
            if let Some(congestion) = self.control.get_mut() {
                congestion.queued[fifo.flow as usize] += 1;
            }
            if packet.last {
                fifo.first = next;
                if next == NONE {
                    adapter.pairs.remove(&pair);
                }
            }
        }
        if adapter.pairs.is_empty() {
            adapter.vls = 0;
        }
        if let Some(congestion) = self.control.get_mut() {
            congestion.nics[at] = adapter;
        }
    }

    /// The queue pair whose head packet moves next, and the packet; without one, asks for
    /// another look.
    fn next_of_pairs(&mut self, nic: u32, adapter: &Adapter) -> Option<(Pair, Packet)> {
        let (at, now) = (nic as usize, self.now);
        let (mut again, mut waits) = (Tick::MAX, false);
        let mut lacks = |chance: Chance| match chance {
            Chance::At(tick) => again = again.min(tick),
            Chance::AfterDeparture => waits = true,
        };
        // VLs without room for anything: there may be many pairs.
        let (mut full, mut vls) = (0u32, adapter.vls);
        while vls != 0 {
            let vl = vls.trailing_zeros() as usize;
            vls &= vls - 1;
            if !self.send_queues.has_quota(at, vl, 1, now) {
                full |= 1 << vl;
                lacks(self.send_queues.chance(at, vl, 1));
            }
        }
        let mut held_until = Tick::MAX;
        if full != adapter.vls {
            let after = adapter.pairs.range(adapter.pointer..);
            for (&pair, fifo) in after.chain(adapter.pairs.range(..adapter.pointer)) {
                let packet = self.next_packet(fifo.first);
                let (vl, credits) = (usize::from(packet.vl), packet.credits.into());
                if full & (1 << vl) != 0 {
                    continue;
                }
                let congestion = self.control.get()?;
                if let Some(tick) = congestion.held_until(fifo.flow, now) {
                    held_until = held_until.min(tick);
                } else if self.send_queues.has_quota(at, vl, credits, now) {
                    return Some((pair, packet));
                } else {
                    lacks(self.send_queues.chance(at, vl, credits));
                }
            }
        }
        self.nics[at].waiting |= waits;
        let again = again.min(held_until);
        if again != Tick::MAX {
            self.wake_nic(nic, again);
        }
        None
    }

    /// End of phase 6: Port VLs enter or leave the congestion state.
    #[inline]
    pub(super) fn judge(&mut self) {
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let now = self.now;
        let (links, unlimited) = (&self.links, !self.sinks_fill);
        let (inputs, sinks) = (&mut self.input_buffers, &mut self.sinks);
        let largest = &congestion.largest;
        congestion.port_vls.judge(|output, vl| {
            let link = &links[output as usize];
            let (peer, lane) = (link.peer() as usize, usize::from(vl));
            let credits = largest[lane];
            if link.is_to_nic() {
                unlimited || sinks.has_quota(peer, lane, credits, now)
            } else {
                inputs.has_quota(peer, lane, credits, now)
            }
        });
    }

    /// Phase 7: a CNP goes before data. True if nothing else can start at `output` in this
    /// tick.
    pub(super) fn send_cnp(&mut self, output: u32) -> bool {
        let now = self.now;
        let Some(nic) = (output as usize).checked_sub(self.ports) else {
            return false;
        };
        let Some(congestion) = self.control.get_mut() else {
            return false;
        };
        let adapter = &mut congestion.nics[nic];
        let Some(&id) = adapter.cnps.front() else {
            return false;
        };
        let link = &self.links[output as usize];
        let free_at = link.free_at;
        if free_at > now {
            self.wake_output(output, free_at);
            return true;
        }
        let packet = &self.packets[id];
        let (peer, vl) = (link.peer() as usize, usize::from(packet.vl));
        let credits = u32::from(packet.credits);
        if !self.input_buffers.has_quota(peer, vl, credits, now) {
            match self.input_buffers.chance(peer, vl, credits) {
                Chance::At(tick) => self.wake_output(output, tick),
                Chance::AfterDeparture => self.inputs[peer].upstream_waits = true,
            }
            return false;
        }
        adapter.cnps.pop_front();
        adapter.was_idle |= now > free_at;
        let more = !adapter.cnps.is_empty() || link.ready != 0;
        let size = (packet.flits, credits);
        let track = self.send_queues.track();
        let train = track.train(vl as u32, size, now + 1, now + 1, 0);
        self.launch(output, vl, id, train);
        if more {
            let free_at = self.links[output as usize].free_at;
            self.wake_output(output, free_at);
        }
        true
    }
}
