//! VL classes as a table (`docs/model/fabric.md` §7).

use super::Topology;
use crate::ids::PortId;

/// The results of [`Topology::class_behind`], precomputed.
#[derive(Debug)]
pub struct VlClasses {
    /// Ports of a switch.
    radix: usize,
    /// Per in-port · radix + out-port.
    turns: Vec<Turn>,
    /// Least class behind each output, numbered over all switches.
    least: Vec<u8>,
}

/// The change of the class of a packet in a turn.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// All bits set if a packet keeps its class between the two ports, as they belong to the same domain; else 0.
    keeps: u8,
    /// Least class behind the turn.
    least: u8,
}

impl VlClasses {
    /// The table of `topology`.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let (family, ports) = (topology.family(), topology.port_ids());
        let like = |port| topology.in_classes(port);
        let outputs = topology
            .switch_ids()
            .flat_map(|s| ports.clone().map(move |p| (s, p)));
        let pairs = ports
            .clone()
            .flat_map(|from| ports.clone().map(move |to| (from, to)));
        Self {
            radix: topology.radix() as usize,
            turns: pairs
                .map(|(from, to)| (like(from), like(to)))
                .map(|(from, to)| Turn {
                    keeps: match family.class_domain(to) {
                        Some(domain) if family.class_domain(from) == Some(domain) => u8::MAX,
                        _ => 0,
                    },
                    least: family.least_class_between(from, to),
                })
                .collect(),
            least: outputs
                .map(|(switch, port)| family.least_class(switch, like(port)))
                .collect(),
        }
    }

    /// VL class behind `output`, numbered over all switches, of a packet of VL class `class` that
    /// goes from `in_port` to `out_port` of a switch.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self, in_port: PortId, out_port: PortId, output: u32, class: u8) -> u8 {
        let turn = self.turns[in_port.index() * self.radix + out_port.index()];
        let kept = (class & turn.keeps).max(turn.least);
        kept.max(self.least[output as usize])
    }

    /// VL class, within its leg, of a packet that leaves the switch where the leg begins by `output`.
    #[inline]
    #[must_use]
    pub fn first(&self, output: u32) -> u8 {
        self.least[output as usize]
    }
}
