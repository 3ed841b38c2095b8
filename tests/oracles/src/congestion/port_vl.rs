//! Congestion at switches: the state of Port VLs, and marks (`docs/model/infiniband.md` §9).

use super::times;
use crate::wiring::{End, Wiring};
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;
use flitwise_fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise_fabric::spec::Tick;
use flitwise_fabric::spec::congestion::{FillComparison, Marking, PortCongestion, PortVlMarker};

/// The state of an (output, VL).
#[derive(Debug, Clone)]
pub struct PortVl {
    settings: PortCongestion,
    compare: FillComparison,
    marking: Marking,
    congested: bool,
    starved: bool,
    /// Eligible packets still to pass before the next mark.
    passing: u16,
    stream: Stream,
    /// Packets marked since the last sample, and in all.
    pub marked: u64,
    pub marked_in_all: u64,
}

impl PortVl {
    pub fn new(
        marker: &PortVlMarker,
        wiring: &Wiring,
        switch: usize,
        (port, vl): (usize, usize),
    ) -> Self {
        let output = (switch * wiring.radix() + port) as u64;
        Self {
            settings: settings(marker, wiring, switch, port),
            compare: marker.compare,
            marking: marker.marking,
            congested: false,
            starved: false,
            passing: 0,
            stream: Stream::new(marker.marking_seed, Purpose::Marking, [output, vl as u64]),
            marked: 0,
            marked_in_all: 0,
        }
    }

    /// End of phase 6, if the fill has changed: the flits in each of the `queues`, and `size` flits for
    /// the VL in an input buffer. `before`: the queues without packets that joined in this
    /// tick, if one did and still waits. `root`: the next buffer has credits.
    pub fn update_state(&mut self, queues: &[u64], before: Option<&[u64]>, size: u64, root: bool) {
        let settings = self.settings;
        let crossed = |weight, queues: &[u64]| crossed(self.compare, weight, queues, size);
        let found_crossed = before.is_some_and(|before| crossed(settings.threshold, before));
        if !crossed(settings.threshold, queues) {
            self.congested = false;
        } else if found_crossed && (root || settings.victim_mask) {
            self.congested = true;
        }
        self.starved = settings.credit_mask && crossed(settings.cs_threshold, queues) && !root;
    }

    /// The delay of the credits of a packet that is granted now and has `bytes` bytes. `rate`: flits per tick
    /// of the link by which it came, and bytes of a flit.
    pub fn held_back(&self, bytes: u32, rate: (Ratio, u32)) -> Tick {
        if self.starved {
            times(self.settings.cs_return_delay, bytes, rate)
        } else {
            0
        }
    }

    /// A packet of `bytes` bytes is granted: is it marked?
    pub fn mark(&mut self, bytes: u64) -> bool {
        let eligible = self.congested || self.starved;
        if !eligible || bytes < 64 * u64::from(self.settings.packet_size) {
            return false;
        }
        let marked = match self.marking {
            Marking::Random => {
                let share = u64::MAX / (u64::from(self.settings.marking_rate) + 1);
                self.stream.bits() <= share
            }
            Marking::Fixed => self.passing == 0,
        };
        self.passing = if marked {
            self.settings.marking_rate
        } else {
            self.passing.saturating_sub(1)
        };
        self.marked += u64::from(marked);
        self.marked_in_all += u64::from(marked);
        marked
    }
}

/// The settings of a port: its own, or the settings of the ports that lead to the same kind of device.
fn settings(marker: &PortVlMarker, wiring: &Wiring, switch: usize, port: usize) -> PortCongestion {
    let (id, number) = (SwitchId::new(switch as u32), PortId::new(port as u32));
    let own = marker.exceptions.get(&SwitchPort::new(id, number));
    own.copied().unwrap_or(match wiring.ports[switch][port] {
        Some(End::Nic(_)) => marker.host_ports,
        Some(End::Port { .. }) | None => marker.switch_ports,
    })
}

/// Whether queues with these flits cross the threshold of `weight`, if the buffer of a VL
/// has `size` flits.
fn crossed(compare: FillComparison, weight: u8, queues: &[u64], size: u64) -> bool {
    if weight == 0 {
        return false;
    }
    let threshold = u64::from(16 - weight) * size;
    let sum: u64 = queues.iter().sum();
    let in_use = queues.iter().filter(|&&flits| flits > 0).count() as u64;
    match compare {
        FillComparison::AnyQueue => queues.iter().any(|flits| 16 * flits >= threshold),
        FillComparison::Sum => 16 * sum >= threshold,
        FillComparison::SumShared => in_use > 0 && 16 * sum * in_use >= threshold,
    }
}
