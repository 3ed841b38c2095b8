//! A fabric in physical units: bytes, rates and times.
//!
//! A preset is a set of such [`Parameters`]; an experiment file changes some of them.
//! [`Parameters::spec`] converts them into a [`FabricSpec`], in ticks, flits and credits.

pub use super::switch::hierarchical::parameters::HierarchicalParameters;
pub use super::switch::voq::parameters::{HcaRate, IsolationParameters, VoqParameters};

use super::error::error;
use super::ids::SwitchPort;
use super::sizes::small;
use super::spec::{self, FabricSpec, LinkLatency, Qos, Routing, SpecError, Units};
use super::switch::{PortVls, Switch, hierarchical, voq};
use super::topology::Topology;
use flitwise_base::units::{Latency, TickLength};
use std::collections::BTreeMap;

/// A cable of 5 m in picoseconds, at the 5 ns/m of NVIDIA's *DGX SuperPOD Cabling Data Centers
/// Design Guide* ("Additional Cable Latency").
pub const CABLE_PS: u64 = 25_000;

/// All that a fabric is made of besides its topology, routing and service levels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Parameters {
    /// Bytes in one flit.
    pub flit_bytes: u64,
    /// Header bytes of a data packet.
    pub header_bytes: u64,
    /// Bytes that one credit stands for, whole flits.
    pub credit_bytes: u64,
    /// Largest payload of a packet of service levels that say nothing else.
    pub mtu_bytes: u32,
    /// Latency of a link between two switches.
    pub link: Latency,
    /// Latency of a link between NIC and switch.
    pub host_link: Latency,
    /// Latencies of links that differ, by either end.
    pub link_latencies: BTreeMap<SwitchPort, Latency>,
    /// Latencies inside a switch.
    pub stages: Stages,
    /// Sizes of the buffers that every kind of fabric has.
    pub buffers: BufferBytes,
    /// The parameters of the kind of switch.
    pub switch: SwitchParameters,
}

/// Latencies inside a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stages {
    /// Storing a flit in an input buffer.
    pub input: Latency,
    /// Routing a header.
    pub routing: Latency,
    /// One allocation.
    pub allocation: Latency,
    /// Crossing a crossbar.
    pub crossbar: Latency,
    /// Storing a flit in an output buffer.
    pub output: Latency,
}

impl Stages {
    /// The latencies in ticks of length `tick`.
    pub(super) fn ticks(&self, tick: TickLength) -> spec::Stages {
        let Self {
            input,
            routing,
            allocation,
            crossbar,
            output,
        } = *self;
        spec::Stages {
            input_store: input.ticks(tick),
            routing: routing.ticks(tick),
            allocation: allocation.ticks(tick),
            crossbar: crossbar.ticks(tick),
            output_store: output.ticks(tick),
        }
    }
}

/// Sizes of buffers in bytes, each per port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferBytes {
    /// Input buffer of a switch.
    pub input: u64,
    /// Output buffer of a switch.
    pub output: u64,
    /// Send queue, or output buffer, of a NIC.
    pub nic_queue: u64,
    /// Receive buffer of a NIC.
    pub nic_sink: u64,
}

/// A kind of switch in bytes, rates and times.
#[derive(Debug, Clone, PartialEq)]
pub enum SwitchParameters {
    /// MPorts and central buffers.
    Hierarchical(HierarchicalParameters),
    /// InfiniBand.
    Voq(VoqParameters),
}

impl SwitchParameters {
    /// Leaves no speed above the fastest that a link of `topology` has: a single switch has no links to others.
    fn lower_unused(&mut self, topology: &Topology) {
        match self {
            Self::Hierarchical(_) => {}
            Self::Voq(switch) => switch.lower_unused(topology),
        }
    }

    /// Length of a tick; a flit has `flit` bytes.
    fn tick(&self, flit: u64) -> Result<TickLength, SpecError> {
        match self {
            Self::Hierarchical(switch) => switch.tick(flit),
            Self::Voq(switch) => switch.tick(flit),
        }
    }

    /// The switch in ticks, flits and credits; `all` are the parameters of its fabric.
    fn build(
        &self,
        all: &Parameters,
        units: Units,
        qos: &Qos,
        topology: &Topology,
    ) -> Result<Switch, SpecError> {
        Ok(match self {
            Self::Hierarchical(switch) => {
                Switch::Hierarchical(Box::new(switch.build(all, units, qos, topology)?))
            }
            Self::Voq(switch) => Switch::Voq(Box::new(switch.build(all, units, qos)?)),
        })
    }

    /// The VLs that a port can have.
    #[must_use]
    pub fn port_vls(&self) -> PortVls {
        match self {
            Self::Hierarchical(_) => hierarchical::PORT_VLS,
            Self::Voq(switch) => voq::port_vls(switch.port_standard),
        }
    }
}

impl Parameters {
    /// The fabric of `topology`. It has no congestion control, and is not validated.
    ///
    /// # Errors
    /// If a size is no whole number of flits or credits, or a number is out of range.
    pub fn spec(
        &self,
        topology: Topology,
        routing: Routing,
        qos: Qos,
    ) -> Result<FabricSpec, SpecError> {
        let mut switch = self.switch.clone();
        switch.lower_unused(&topology);
        let units = self.units(&switch)?;
        let switch = switch.build(self, units, &qos, &topology)?;
        Ok(FabricSpec {
            topology,
            routing,
            units,
            link_latency: LinkLatency {
                switch: self.link.ticks(units.tick),
                nic: self.host_link.ticks(units.tick),
                exceptions: self
                    .link_latencies
                    .iter()
                    .map(|(&at, latency)| (at, latency.ticks(units.tick)))
                    .collect(),
            },
            qos,
            switch,
            congestion_control: None,
            link_power: None,
            outages: Vec::new(),
            degraded: Vec::new(),
            bit_errors: None,
        })
    }

    fn units(&self, switch: &SwitchParameters) -> Result<Units, SpecError> {
        let flit = self.flit_bytes;
        if flit == 0 {
            let problem = "is 0; nothing would ever move: write e.g. flit = \"8B\"";
            return error("fabric.flit", problem.into());
        }
        let credit = self.credit_bytes;
        let tick = switch.tick(flit)?;
        let flit_bytes = small(flit, "fabric.flit")?;
        if credit == 0 || !credit.is_multiple_of(flit) {
            return error(
                "fabric.credit",
                format!("a credit of {credit} B must be a whole number of flits of {flit} B"),
            );
        }
        Ok(Units {
            tick,
            flit_bytes,
            flits_per_credit: small(credit / flit, "fabric.credit")?,
            header_bytes: small(self.header_bytes, "fabric.header")?,
        })
    }

    /// The fabric of `topology` with its default routing and a single service level, on `vls` VLs
    /// by destination or, on rings, two VL classes.
    pub(super) fn with_one_level(
        &self,
        topology: Topology,
        vls: u8,
    ) -> Result<FabricSpec, SpecError> {
        let vls = match topology.vl_classes() {
            1 => vls,
            classes => classes,
        };
        let qos = Qos::one_level(vls, self.mtu_bytes);
        let spec = self.spec(topology, Routing::default(), qos)?;
        spec.validate()?;
        Ok(spec)
    }
}
