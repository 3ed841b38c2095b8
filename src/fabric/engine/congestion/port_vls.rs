//! Port VLs: how full the queues in front of each (output, VL) are, whether it is
//! congested or starved of credits, and which packets it marks (`docs/model-infiniband.md` §9).

use crate::fabric::infiniband::{
    CctEntry, CongestionControl, FillComparison, Marking, PortCongestion,
};
use crate::fabric::series::PortVlSample;
use crate::fabric::spec::FabricSpec;
use crate::random::{Purpose, Stream};

/// Bytes of one unit of `Packet_Size`.
const PACKET_SIZE_BYTES: u32 = 64;

/// One (output, VL).
#[derive(Debug, Clone, Copy, Default)]
struct PortVl {
    /// Flits waiting in all its queues.
    flits: u64,
    /// Queues that hold something.
    in_use: u32,
    /// Queues that reach `Threshold`, and `CS_Threshold`.
    over: u32,
    over_cs: u32,
    /// Eligible packets still to pass before the next mark, if the gap is fixed.
    passing: u16,
    congested: bool,
    /// Starved of credits.
    starved: bool,
    /// Its fill changed in this tick, or a packet joined.
    changed: bool,
    /// Packets that joined in this tick and have not been granted.
    joined: u32,
    /// Its fills reach `Threshold` without those.
    crossed_before: bool,
    /// Packets marked since the sample before.
    marked: u64,
}

/// All Port VLs, numbered output · VLs + VL, outputs over all switches; and their queues,
/// numbered (input · radix + output within the switch) · VLs + VL.
#[derive(Debug)]
pub(in crate::fabric::engine) struct PortVls {
    compare: FillComparison,
    marking: Marking,
    marking_seed: u64,
    /// Some port may be starved of credits.
    may_starve: bool,
    vls: usize,
    radix: usize,
    settings: Vec<PortCongestion>,
    /// Flits that an input buffer has for each VL.
    size: Vec<u64>,
    states: Vec<PortVl>,
    /// Random numbers of the Port VLs that have needed some.
    streams: Vec<Option<Box<Stream>>>,
    /// Flits waiting in each queue.
    fill: Vec<u32>,
    /// Port VLs whose fill changed in this tick, or that a packet joined.
    changed: Vec<u32>,
    /// Packets that joined in this tick and have not been granted: queue and flits. They
    /// count from the end of the tick on.
    joining: Vec<((u32, u32, u8), u32)>,
    taking_series: bool,
}

impl PortVls {
    pub(in crate::fabric::engine) fn new(spec: &FabricSpec, control: &CongestionControl) -> Self {
        let topology = &spec.topology;
        let (radix, vls) = (topology.radix(), usize::from(spec.qos.vls));
        let ports = topology.switches() * radix;
        let settings: Vec<_> = (0..ports)
            .map(|port| control.port(topology, port / radix, port % radix))
            .collect();
        let port_vls = ports as usize * vls;
        let flits = |credits: u32| u64::from(credits) * u64::from(spec.buffers.flits_per_credit);
        Self {
            compare: control.compare,
            marking: control.marking,
            marking_seed: control.marking_seed,
            may_starve: settings.iter().any(PortCongestion::may_starve),
            vls,
            radix: radix as usize,
            settings,
            size: spec
                .buffers
                .input
                .per_vl
                .iter()
                .map(|q| flits(q.max))
                .collect(),
            states: vec![PortVl::default(); port_vls],
            streams: vec![None; port_vls],
            fill: vec![0; ports as usize * radix as usize * vls],
            changed: Vec::new(),
            joining: Vec::new(),
            taking_series: false,
        }
    }

    /// True if a queue of `flits` reaches 1/16 × (16 − `weight`) of the buffer.
    fn reaches(&self, weight: u8, vl: usize, flits: u64) -> bool {
        weight > 0 && 16 * flits >= u64::from(16 - weight) * self.size[vl]
    }

    /// True if the fills of a Port VL reach the threshold of `weight`, which `over` of its
    /// queues do.
    fn crosses(&self, weight: u8, vl: usize, state: &PortVl, over: u32) -> bool {
        let PortVl { flits, in_use, .. } = *state;
        match self.compare {
            FillComparison::AnyQueue => over > 0,
            FillComparison::Sum => self.reaches(weight, vl, flits),
            FillComparison::SumShared => {
                in_use > 0 && self.reaches(weight, vl, flits * u64::from(in_use))
            }
        }
    }

    fn queue(&self, input: u32, output: u32, vl: u8) -> usize {
        let local = output as usize % self.radix;
        (input as usize * self.radix + local) * self.vls + usize::from(vl)
    }

    /// Notes that the state of a Port VL has to be looked at. Returns its number.
    fn touch(&mut self, output: u32, vl: u8) -> usize {
        let id = output as usize * self.vls + usize::from(vl);
        if !std::mem::replace(&mut self.states[id].changed, true) {
            self.changed.push(id as u32);
        }
        id
    }

    fn change(&mut self, (input, output, vl): (u32, u32, u8), new: impl Fn(u32) -> u32) {
        let queue = self.queue(input, output, vl);
        let (before, after) = (self.fill[queue], new(self.fill[queue]));
        self.fill[queue] = after;
        let (at, lane) = (output as usize, usize::from(vl));
        let weight = self.settings[at].threshold;
        let reached = self.reaches(weight, lane, before.into());
        let reaches = self.reaches(weight, lane, after.into());
        let mut cs = [false; 2];
        if self.may_starve {
            let weight = self.settings[at].cs_threshold;
            cs = [before, after].map(|flits| self.reaches(weight, lane, flits.into()));
        }
        let state = &mut self.states[at * self.vls + lane];
        state.over_cs = state.over_cs + u32::from(cs[1]) - u32::from(cs[0]);
        state.flits = state.flits + u64::from(after) - u64::from(before);
        state.in_use = state.in_use + u32::from(after > 0) - u32::from(before > 0);
        state.over = state.over + u32::from(reaches) - u32::from(reached);
    }

    /// Phase 4: a packet of `flits` joined the queue of `input` for (`output`, `vl`).
    #[inline]
    pub(in crate::fabric::engine) fn joined(&mut self, queue: (u32, u32, u8), flits: u32) {
        let id = self.touch(queue.1, queue.2);
        self.states[id].joined += 1;
        self.joining.push((queue, flits));
    }

    /// Phase 6: a packet of (flits, bytes) was granted; `joined_now` if it joined in the same
    /// tick. True if it is marked.
    #[inline]
    pub(in crate::fabric::engine) fn granted(
        &mut self,
        queue: (u32, u32, u8),
        (flits, bytes): (u32, u32),
        joined_now: bool,
    ) -> bool {
        let marked = self.mark(queue.1, queue.2, bytes);
        let id = self.touch(queue.1, queue.2);
        if joined_now {
            self.states[id].joined -= 1;
            let granted = (queue, flits);
            let place = self.joining.iter().position(|joined| *joined == granted);
            if let Some(place) = place {
                self.joining.swap_remove(place);
            }
        } else {
            self.change(queue, |fill| fill - flits);
        }
        marked
    }

    /// Packets that joined in this tick begin to count. Notes which Port VLs reach their
    /// threshold without them.
    fn count_joined(&mut self) {
        if self.joining.is_empty() {
            return;
        }
        for at in 0..self.changed.len() {
            let id = self.changed[at] as usize;
            let state = &self.states[id];
            let threshold = self.settings[id / self.vls].threshold;
            let crossed =
                state.joined > 0 && self.crosses(threshold, id % self.vls, state, state.over);
            self.states[id].crossed_before = crossed;
        }
        let mut joining = std::mem::take(&mut self.joining);
        for (queue, flits) in joining.drain(..) {
            self.change(queue, |fill| fill + flits);
        }
        self.joining = joining;
    }

    /// End of phase 6: Port VLs whose fill changed enter or leave the congestion state, and
    /// are starved or not.
    /// `is_root(output, vl)`: the next buffer has credits for the largest packet.
    pub(in crate::fabric::engine) fn judge(&mut self, mut is_root: impl FnMut(u32, u8) -> bool) {
        self.count_joined();
        while let Some(id) = self.changed.pop() {
            let (output, vl) = (id as usize / self.vls, id as usize % self.vls);
            let settings = self.settings[output];
            let state = self.states[id as usize];
            let crossed = self.crosses(settings.threshold, vl, &state, state.over);
            let starving = settings.may_starve()
                && self.crosses(settings.cs_threshold, vl, &state, state.over_cs);
            let may_enter = crossed && state.crossed_before && state.joined > 0;
            let root = (may_enter && !settings.victim_mask || starving)
                && is_root(output as u32, vl as u8);
            let enters = may_enter && (settings.victim_mask || root);
            let state = &mut self.states[id as usize];
            state.congested = crossed && (state.congested || enters);
            state.starved = starving && !root;
            (state.changed, state.joined) = (false, 0);
        }
    }

    /// Phase 6: how much later the credits of a packet come back that is granted its way
    /// out of an input buffer to (`output`, `vl`), if that is starved.
    #[inline]
    pub(in crate::fabric::engine) fn return_delay(&self, output: u32, vl: u8) -> Option<CctEntry> {
        if !self.may_starve {
            return None;
        }
        let state = &self.states[output as usize * self.vls + usize::from(vl)];
        let delay = self.settings[output as usize].cs_return_delay;
        (state.starved && delay.multiplier > 0).then_some(delay)
    }

    /// True if a packet of `bytes` that leaves its queue now is marked.
    #[inline]
    fn mark(&mut self, output: u32, vl: u8, bytes: u32) -> bool {
        let settings = self.settings[output as usize];
        let id = output as usize * self.vls + usize::from(vl);
        let state = &mut self.states[id];
        let least = u32::from(settings.packet_size) * PACKET_SIZE_BYTES;
        if !(state.congested || state.starved) || bytes < least {
            return false;
        }
        let marked = match self.marking {
            Marking::Fixed if state.passing > 0 => {
                state.passing -= 1;
                false
            }
            Marking::Fixed => {
                state.passing = settings.marking_rate;
                true
            }
            Marking::Random => {
                let component = [u64::from(output), u64::from(vl)];
                let stream = self.streams[id].get_or_insert_with(|| {
                    Box::new(Stream::new(self.marking_seed, Purpose::Marking, component))
                });
                // One in Marking_Rate + 1 of all words stays below 2^64.
                let packets = u64::from(settings.marking_rate) + 1;
                stream.bits().checked_mul(packets).is_some()
            }
        };
        state.marked += u64::from(marked && self.taking_series);
        marked
    }

    /// From now on, counts marks for samples.
    pub(in crate::fabric::engine) fn start_series(&mut self) {
        self.taking_series = true;
    }

    /// Occupancy of the Port VLs, and packets marked since the last call.
    pub(in crate::fabric::engine) fn sample(&mut self) -> Vec<PortVlSample> {
        let (vls, radix) = (self.vls as u32, self.radix as u32);
        let mut found = Vec::new();
        for (id, state) in (0u32..).zip(&mut self.states) {
            let marked = std::mem::take(&mut state.marked);
            if state.flits > 0 || marked > 0 {
                let (output, vl) = (id / vls, (id % vls) as u8);
                found.push(PortVlSample {
                    switch: output / radix,
                    port: output % radix,
                    vl,
                    flits: state.flits,
                    marked,
                });
            }
        }
        found
    }
}
