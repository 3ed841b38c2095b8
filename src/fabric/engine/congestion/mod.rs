//! Congestion control, the same for all kinds of switch: a marker at the switches
//! (`docs/model/infiniband.md` §9) and a control at the sources (§11). The specification names both;
//! a `match` in each call selects them. Notifications (§10) are packets, so each kind of fabric
//! creates its own.

mod cct;
mod port_vls;

use self::cct::CctSources;
use self::port_vls::PortVls;
use super::ids::{InputId, OutputId};
use crate::ids::NicId;
use crate::series::{PortVlSample, SourceSample};
use crate::spec::{CongestionControl, FabricSpec, SpecError, Tick, congestion};
use flitwise_base::units::Ratio;

/// Names a flow of a source control, which defines its flows. Without one all flows
/// have the same name, which means nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FlowId(u32);

impl FlowId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A queue of a marker: the packets of an input that wait for an (output, VL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkerQueue {
    pub input: InputId,
    pub output: OutputId,
    pub vl: u8,
}

/// Length of a packet at a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketLength {
    pub flits: u32,
    /// On the wire.
    pub bytes: u32,
}

/// Rates of links in bytes per tick.
#[derive(Debug)]
pub(super) struct ByteRates {
    /// Of the link of each NIC.
    pub nics: Vec<Ratio>,
    /// All rates of links, in the order in which the fabric numbers them.
    pub links: Vec<Ratio>,
}

/// The state of congestion control.
#[derive(Debug)]
pub(super) struct Congestion {
    marker: Marker,
    source: SourceControl,
    link_rates: Vec<Ratio>,
}

#[derive(Debug)]
enum Marker {
    None,
    PortVl(Box<PortVls>),
}

#[derive(Debug)]
enum SourceControl {
    None,
    Cct(Box<CctSources>),
}

impl Congestion {
    /// # Errors
    /// If the fabric is too large for its marker.
    pub(super) fn new(
        spec: &FabricSpec,
        control: &CongestionControl,
        rates: ByteRates,
    ) -> Result<Self, SpecError> {
        Ok(Self {
            marker: match &control.marker {
                congestion::Marker::None => Marker::None,
                congestion::Marker::PortVl(marker) => {
                    Marker::PortVl(Box::new(PortVls::new(spec, marker)?))
                }
            },
            source: match &control.source {
                congestion::SourceControl::None => SourceControl::None,
                congestion::SourceControl::Cct(control) => {
                    SourceControl::Cct(Box::new(CctSources::new(spec, control, rates.nics)))
                }
            },
            link_rates: rates.links,
        })
    }

    /// Phase 4: a packet of `flits` flits joined `queue`.
    #[inline]
    pub(super) fn joined(&mut self, queue: MarkerQueue, flits: u32) {
        match &mut self.marker {
            Marker::None => {}
            Marker::PortVl(marker) => marker.joined(queue, flits),
        }
    }

    /// Phase 6: a packet of `queue` was granted. `joined_now`: it joined in this tick. Returns
    /// true if it is marked.
    #[inline]
    pub(super) fn granted(
        &mut self,
        queue: MarkerQueue,
        length: PacketLength,
        joined_now: bool,
    ) -> bool {
        match &mut self.marker {
            Marker::None => false,
            Marker::PortVl(marker) => marker.granted(queue, length, joined_now),
        }
    }

    /// Phase 6: a packet of `bytes` bytes came by a link of rate number `rate`, is granted (`output`,
    /// `vl`) and leaves its input buffer. Returns by how many ticks its credits return later.
    #[inline]
    pub(super) fn credit_return_delay(
        &self,
        (output, vl): (OutputId, u8),
        rate: usize,
        bytes: u32,
    ) -> Tick {
        let Marker::PortVl(marker) = &self.marker else {
            return 0;
        };
        let delay = marker.return_delay(output, vl);
        delay.map_or(0, |delay| delay.delay(bytes, self.link_rates[rate]))
    }

    /// End of phase 6: the marker takes note of this tick. `is_root(output, vl)`: the next buffer
    /// has credits for the largest packet.
    #[inline]
    pub(super) fn update(&mut self, is_root: impl FnMut(OutputId, u8) -> bool) {
        match &mut self.marker {
            Marker::None => {}
            Marker::PortVl(marker) => marker.update_states(is_root),
        }
    }

    /// The flow of packets from `nic` to `dst` on `sl`.
    pub(super) fn flow(&mut self, nic: NicId, sl: u8, dst: NicId) -> FlowId {
        match &mut self.source {
            SourceControl::None => FlowId::default(),
            SourceControl::Cct(control) => control.flow(nic, sl, dst),
        }
    }

    /// The number of the holder of the packets of `flow`: several flows may be held as one.
    #[inline]
    pub(super) fn holder(&self, flow: FlowId) -> usize {
        match &self.source {
            SourceControl::None => 0,
            SourceControl::Cct(control) => control.holder(flow),
        }
    }

    /// Phase 1 of tick `now`: a notification for `flow` arrives. Returns whether the NIC logs an
    /// event.
    pub(super) fn notified(&mut self, flow: FlowId, now: Tick) -> bool {
        match &mut self.source {
            SourceControl::None => false,
            SourceControl::Cct(control) => control.notified(flow, now),
        }
    }

    /// A packet of `bytes` bytes was sent; `end` is the first tick after it.
    #[inline]
    pub(super) fn sent(&mut self, flow: FlowId, end: Tick, bytes: u32) {
        match &mut self.source {
            SourceControl::None => {}
            SourceControl::Cct(control) => control.sent(flow, end, bytes),
        }
    }

    /// `None` if a packet of `flow` may be sent in phase 7 of tick `now`. Else the tick in which to
    /// look again.
    #[inline]
    pub(super) fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        match &self.source {
            SourceControl::None => None,
            SourceControl::Cct(control) => control.held_until(flow, now),
        }
    }

    /// The control level at which packets of `flow` are held in phase 7 of tick `now`.
    #[inline]
    pub(super) fn level(&self, flow: FlowId, now: Tick) -> u16 {
        match &self.source {
            SourceControl::None => 0,
            SourceControl::Cct(control) => control.level(flow, now),
        }
    }

    /// First tick after `now` in which that level may fall if no notification comes;
    /// `Tick::MAX` if there is none.
    pub(super) fn next_fall(&self, flow: FlowId, now: Tick) -> Tick {
        match &self.source {
            SourceControl::None => Tick::MAX,
            SourceControl::Cct(control) => control.next_fall(flow, now),
        }
    }

    /// From now on, counts marks for samples.
    pub(super) fn start_series(&mut self) {
        match &mut self.marker {
            Marker::None => {}
            Marker::PortVl(marker) => marker.start_series(),
        }
    }

    /// Flits waiting per Port VL, and packets marked since the last call; `None` if the marker
    /// does not know them.
    pub(super) fn sample_port_vls(&mut self) -> Option<Vec<PortVlSample>> {
        match &mut self.marker {
            Marker::None => None,
            Marker::PortVl(marker) => Some(marker.sample()),
        }
    }

    /// The flows that have sent, as of the end of tick `now`; none without a source control.
    pub(super) fn sample_sources(&self, now: Tick) -> Vec<SourceSample> {
        match &self.source {
            SourceControl::None => Vec::new(),
            SourceControl::Cct(control) => control.sample(now),
        }
    }
}
