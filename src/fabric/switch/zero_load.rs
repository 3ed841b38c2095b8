//! A packet that is alone in a fabric, by the kind of its switches.

use super::Switch;
use super::hierarchical::zero_load::Header;
use super::voq::zero_load::FlitSchedule;
use crate::ids::NicId;
use crate::spec::{FabricSpec, Hop, Tick};

/// A packet that is alone in the fabric. In tick 0 its header leaves the NIC.
pub trait ZeroLoad {
    /// Takes the packet over `hop` and the link behind it, of `latency` ticks.
    fn pass(&mut self, spec: &FabricSpec, hop: Hop, latency: Tick) -> Passage;

    /// Tick in which the header arrives behind the last link.
    fn header(&self) -> Tick;

    /// Tick in which the tail arrives there.
    fn tail(&self) -> Tick;
}

/// The passage of a packet through a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passage {
    /// Tick in which its header leaves the output buffer.
    pub leaves: Tick,
    /// Number of the central buffer on its way, if there is one.
    pub central: Option<u32>,
}

impl FabricSpec {
    /// A packet with `payload` bytes on the link from NIC `src`.
    pub(crate) fn at_zero_load(&self, src: NicId, payload: u32) -> Box<dyn ZeroLoad + '_> {
        match &self.switch {
            Switch::Hierarchical(switch) => Box::new(Header::start(self, switch, src, payload)),
            Switch::Voq(switch) => Box::new(FlitSchedule::start(self, switch, src, payload)),
        }
    }
}
