//! VL classes as a table (`docs/model.md` §7).

use super::Topology;
use crate::fabric::ids::PortId;

/// The domain of a port that belongs to none.
const NO_DOMAIN: u8 = u8::MAX;

/// What [`Topology::class_behind`] says, precomputed.
#[derive(Debug)]
pub struct VlClasses {
    /// Domain of each port within a switch.
    domain: Vec<u8>,
    /// Least class behind each output, numbered over all switches.
    least: Vec<u8>,
}

impl VlClasses {
    /// The table of `topology`.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let (family, ports) = (topology.family(), topology.port_ids());
        let outputs = topology
            .switch_ids()
            .flat_map(|s| ports.clone().map(move |p| (s, p)));
        Self {
            domain: ports
                .clone()
                .map(|port| family.class_domain(port).unwrap_or(NO_DOMAIN))
                .collect(),
            least: outputs
                .map(|(switch, port)| family.least_class(switch, port))
                .collect(),
        }
    }

    /// VL class behind `output`, numbered over all switches, of a packet of VL class `class` that
    /// goes from `in_port` to `out_port` of a switch.
    #[inline]
    #[must_use]
    pub fn behind(&self, in_port: PortId, out_port: PortId, output: u32, class: u8) -> u8 {
        let (from, to) = (self.domain[in_port.index()], self.domain[out_port.index()]);
        let kept = if from == to && to != NO_DOMAIN {
            class
        } else {
            0
        };
        kept.max(self.least[output as usize])
    }

    /// VL class of a packet that leaves the switch of its NIC by `output`.
    #[inline]
    #[must_use]
    pub fn first(&self, output: u32) -> u8 {
        self.least[output as usize]
    }
}
