//! Port VLs: how many flits wait for each (output, VL), whether it is congested or starved of
//! credits, and which packets it marks with FECN (`docs/model/infiniband.md` §9).
//!
//! The fabric reports each packet that is routed to a Port VL (phase 4) and each that is granted
//! (phase 6). At the end of phase 6 the Port VLs whose fill changed enter or leave the congestion
//! state. This module counts flits only: the fabric knows the packets and the credits. A *queue*
//! here is the packets of one in-port for one (output, VL), wherever they wait: in a VoQ, behind
//! the head of a FIFO, or in the buffers of a hierarchical switch.

use super::{MarkerQueue, PacketLength};
use crate::engine::ids::OutputId;
use crate::ids::SwitchPort;
use crate::series::PortVlSample;
use crate::spec::congestion::{CctEntry, FillComparison, Marking, PortCongestion, PortVlMarker};
use crate::spec::{FabricSpec, SpecError};
use flitwise_base::random::{Purpose, Stream};

/// Bytes of one unit of `Packet_Size`.
const PACKET_SIZE_BYTES: u32 = 64;

/// Most queues; each takes 4 bytes.
const MAX_QUEUES: u64 = 1 << 28;

/// One (output, VL).
#[derive(Debug, Clone, Copy, Default)]
struct PortVl {
    /// Flits waiting in all its queues.
    flits: u64,
    /// Queues that hold something.
    in_use: u32,
    /// Queues that reach `Threshold`.
    over: u32,
    /// Queues that reach `CS_Threshold`.
    over_cs: u32,
    /// With `Marking::Fixed`: eligible packets that still pass unmarked before the next mark.
    unmarked_left: u16,
    congested: bool,
    /// Starved of credits: its fills reach `CS_Threshold`, and it is no root.
    starved: bool,
    /// Its fill changed in this tick, or a packet joined.
    changed: bool,
    /// A packet joined in this tick and was not granted, and the fills reach `Threshold` without
    /// the packets that joined in this tick.
    found_reached: bool,
    /// Packets marked since the sample before.
    marked: u64,
}

/// All Port VLs, numbered output · VLs + VL, and their queues, numbered
/// (input · radix + out-port) · VLs + VL.
#[derive(Debug)]
pub(super) struct PortVls {
    compare: FillComparison,
    marking: Marking,
    marking_seed: u64,
    /// The settings let some port be starved of credits.
    may_starve: bool,
    vls: usize,
    radix: usize,
    /// Per output.
    settings: Vec<PortCongestion>,
    /// Per VL: size of an input buffer in flits.
    size: Vec<u64>,
    /// Per Port VL.
    states: Vec<PortVl>,
    /// Per Port VL: its random numbers, once it has needed some.
    streams: Vec<Option<Box<Stream>>>,
    /// Per queue: flits waiting.
    fill: Vec<u32>,
    /// Port VLs whose fill changed in this tick, or that a packet joined.
    changed: Vec<u32>,
    /// Packets that joined in this tick and have not been granted, as (queue, flits). They count
    /// from the end of the tick on.
    joining: Vec<(MarkerQueue, u32)>,
    taking_series: bool,
}

/// Checks that `ports` in-ports have no more queues than are supported, for `radix` out-ports of
/// `vls` VLs each.
fn check_size(ports: u32, radix: u32, vls: usize) -> Result<(), SpecError> {
    let queues = u64::from(ports) * u64::from(radix) * vls as u64;
    if queues <= MAX_QUEUES {
        return Ok(());
    }
    Err(SpecError {
        key: "congestion_control.kind",
        problem: format!(
            "{queues} pairs of an input and a Port VL, more than the {MAX_QUEUES} supported; take \
             a smaller fabric or fewer VLs"
        ),
    })
}

impl PortVls {
    /// # Errors
    /// If there are too many queues.
    pub(super) fn new(spec: &FabricSpec, marker: &PortVlMarker) -> Result<Self, SpecError> {
        let topology = &spec.topology;
        let (radix, vls) = (topology.radix(), usize::from(spec.qos.vls));
        let ports = topology.switches() * radix;
        check_size(ports, radix, vls)?;
        let settings: Vec<_> = (0..ports)
            .map(|port| SwitchPort::of_index(port, radix))
            .map(|at| marker.port(topology, at.switch, at.port))
            .collect();
        let port_vls = ports as usize * vls;
        let flits = |credits: u32| u64::from(credits) * u64::from(spec.units.flits_per_credit);
        Ok(Self {
            compare: marker.compare,
            marking: marker.marking,
            marking_seed: marker.marking_seed,
            may_starve: settings.iter().any(PortCongestion::may_starve),
            vls,
            radix: radix as usize,
            settings,
            size: spec.input_credits().map(flits).collect(),
            states: vec![PortVl::default(); port_vls],
            streams: vec![None; port_vls],
            fill: vec![0; ports as usize * radix as usize * vls],
            changed: Vec::new(),
            joining: Vec::new(),
            taking_series: false,
        })
    }

    /// Whether `flits` reach (16 − `weight`)/16 of the buffer's size on `vl`. A weight of 0 is never
    /// reached.
    fn reaches(&self, weight: u8, vl: usize, flits: u64) -> bool {
        weight > 0 && 16 * flits >= u64::from(16 - weight) * self.size[vl]
    }

    /// Whether the fills of a Port VL reach the threshold of `weight`, compared as `compare` says.
    /// `over`: how many queues reach it by themselves.
    fn fills_reach(&self, weight: u8, vl: usize, state: &PortVl, over: u32) -> bool {
        let PortVl { flits, in_use, .. } = *state;
        match self.compare {
            FillComparison::AnyQueue => over > 0,
            FillComparison::Sum => self.reaches(weight, vl, flits),
            FillComparison::SumShared => {
                in_use > 0 && self.reaches(weight, vl, flits * u64::from(in_use))
            }
        }
    }

    /// Number of a queue.
    fn number(&self, queue: MarkerQueue) -> usize {
        let out_port = queue.output.index() % self.radix;
        (queue.input.index() * self.radix + out_port) * self.vls + usize::from(queue.vl)
    }

    /// Number of a Port VL.
    fn port_vl(&self, output: OutputId, vl: u8) -> usize {
        output.index() * self.vls + usize::from(vl)
    }

    /// Notes that the state of a Port VL must be updated.
    fn touch(&mut self, output: OutputId, vl: u8) {
        let id = self.port_vl(output, vl);
        if !std::mem::replace(&mut self.states[id].changed, true) {
            self.changed.push(id as u32);
        }
    }

    /// Changes the fill of a queue by `new`.
    fn change_fill(&mut self, queue: MarkerQueue, new: impl Fn(u32) -> u32) {
        let fill = self.number(queue);
        let (before, after) = (self.fill[fill], new(self.fill[fill]));
        self.fill[fill] = after;
        let (at, vl) = (queue.output.index(), usize::from(queue.vl));
        let weight = self.settings[at].threshold;
        let reached_before = self.reaches(weight, vl, before.into());
        let reaches_after = self.reaches(weight, vl, after.into());
        let mut reaches_cs = [false; 2];
        if self.may_starve {
            let weight = self.settings[at].cs_threshold;
            reaches_cs = [before, after].map(|flits| self.reaches(weight, vl, flits.into()));
        }
        let state = &mut self.states[at * self.vls + vl];
        state.over_cs = state.over_cs + u32::from(reaches_cs[1]) - u32::from(reaches_cs[0]);
        state.flits = state.flits + u64::from(after) - u64::from(before);
        state.in_use = state.in_use + u32::from(after > 0) - u32::from(before > 0);
        state.over = state.over + u32::from(reaches_after) - u32::from(reached_before);
    }

    /// Phase 4: a packet of `flits` flits joined `queue`.
    #[inline]
    pub(super) fn joined(&mut self, queue: MarkerQueue, flits: u32) {
        self.touch(queue.output, queue.vl);
        self.joining.push((queue, flits));
    }

    /// Phase 6: a packet of `queue` was granted. `joined_now`: it joined in this tick. Returns true
    /// if it is marked.
    #[inline]
    pub(super) fn granted(
        &mut self,
        queue: MarkerQueue,
        PacketLength { flits, bytes }: PacketLength,
        joined_now: bool,
    ) -> bool {
        let marked = self.mark(queue.output, queue.vl, bytes);
        self.touch(queue.output, queue.vl);
        if joined_now {
            // Two packets of different length may have joined the same queue.
            let granted = (queue, flits);
            let place = self.joining.iter().position(|joined| *joined == granted);
            if let Some(place) = place {
                self.joining.swap_remove(place);
            }
        } else {
            self.change_fill(queue, |fill| fill - flits);
        }
        marked
    }

    /// Notes at which Port VLs a packet that joined in this tick found the threshold reached. Then
    /// the packets that joined begin to count.
    fn count_joined(&mut self) {
        let mut joining = std::mem::take(&mut self.joining);
        for &(MarkerQueue { output, vl, .. }, _) in &joining {
            let id = self.port_vl(output, vl);
            let (weight, state) = (self.settings[output.index()].threshold, &self.states[id]);
            self.states[id].found_reached = self.fills_reach(weight, vl.into(), state, state.over);
        }
        for (queue, flits) in joining.drain(..) {
            self.change_fill(queue, |fill| fill + flits);
        }
        self.joining = joining;
    }

    /// End of phase 6: Port VLs whose fill changed in this tick enter or leave the congestion
    /// state, and become starved or cease to be. `is_root(output, vl)`: the next buffer has
    /// credits for the largest packet.
    pub(super) fn update_states(&mut self, mut is_root: impl FnMut(OutputId, u8) -> bool) {
        self.count_joined();
        while let Some(id) = self.changed.pop() {
            let (output, vl) = (id as usize / self.vls, id as usize % self.vls);
            let settings = self.settings[output];
            let state = self.states[id as usize];
            let reached = self.fills_reach(settings.threshold, vl, &state, state.over);
            let reached_cs = settings.may_starve()
                && self.fills_reach(settings.cs_threshold, vl, &state, state.over_cs);
            let may_enter = reached && state.found_reached;
            let root = (may_enter && !settings.victim_mask || reached_cs)
                && is_root(OutputId::new(output as u32), vl as u8);
            let enters = may_enter && (settings.victim_mask || root);
            let state = &mut self.states[id as usize];
            state.congested = reached && (state.congested || enters);
            state.starved = reached_cs && !root;
            (state.changed, state.found_reached) = (false, false);
        }
    }

    /// Phase 6: a packet for (`output`, `vl`) is granted and leaves its input buffer. If the
    /// Port VL is starved, returns by how much its credits return later, in times of the packet
    /// on the link by which it came.
    #[inline]
    pub(super) fn return_delay(&self, output: OutputId, vl: u8) -> Option<CctEntry> {
        if !self.may_starve {
            return None;
        }
        let state = &self.states[self.port_vl(output, vl)];
        let delay = self.settings[output.index()].cs_return_delay;
        (state.starved && delay.multiplier > 0).then_some(delay)
    }

    /// Decides whether a packet of `bytes` bytes that is granted now is marked.
    #[inline]
    fn mark(&mut self, output: OutputId, vl: u8, bytes: u32) -> bool {
        let settings = self.settings[output.index()];
        let id = self.port_vl(output, vl);
        let state = &mut self.states[id];
        let min_bytes = u32::from(settings.packet_size) * PACKET_SIZE_BYTES;
        if !(state.congested || state.starved) || bytes < min_bytes {
            return false;
        }
        let marked = match self.marking {
            Marking::Fixed if state.unmarked_left > 0 => {
                state.unmarked_left -= 1;
                false
            }
            Marking::Fixed => {
                state.unmarked_left = settings.marking_rate;
                true
            }
            Marking::Random => {
                let component = [u64::from(output.get()), u64::from(vl)];
                let stream = self.streams[id].get_or_insert_with(|| {
                    Box::new(Stream::new(self.marking_seed, Purpose::Marking, component))
                });
                // One in Marking_Rate + 1 words stays below 2^64 when multiplied by that.
                let packets = u64::from(settings.marking_rate) + 1;
                stream.bits().checked_mul(packets).is_some()
            }
        };
        state.marked += u64::from(marked && self.taking_series);
        marked
    }

    /// From now on, counts marks for samples.
    pub(super) fn start_series(&mut self) {
        self.taking_series = true;
    }

    /// Flits waiting per Port VL, and packets marked since the last call.
    pub(super) fn sample(&mut self) -> Vec<PortVlSample> {
        let (vls, radix) = (self.vls as u32, self.radix as u32);
        let mut found = Vec::new();
        for (id, state) in (0u32..).zip(&mut self.states) {
            let marked = std::mem::take(&mut state.marked);
            if state.flits > 0 || marked > 0 {
                let (output, vl) = (OutputId::new(id / vls), (id % vls) as u8);
                let SwitchPort { switch, port } = output.at(radix);
                found.push(PortVlSample {
                    switch,
                    port,
                    vl,
                    flits: state.flits,
                    marked,
                });
            }
        }
        found
    }
}
