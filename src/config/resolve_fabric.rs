//! Resolves `[fabric]`: the parameters of the preset, overridden by the keys of the experiment.

use super::error::ConfigError;
use super::raw_fabric::RawFabric;
use super::switch::{self, FabricDefaults, replace};
use crate::fabric::parameters::Parameters;
use crate::fabric::spec::SpecError;
use crate::fabric::topology::Topology;

impl From<SpecError> for ConfigError {
    fn from(e: SpecError) -> Self {
        Self::new(e.key, e.problem)
    }
}

/// All parameters, without the scheduler or the arbiters.
pub(super) fn parameters(
    raw: &RawFabric,
    d: &FabricDefaults,
    topology: &Topology,
) -> Result<Parameters, ConfigError> {
    let mut p = d.parameters.clone();
    replace(&mut p.flit_bytes, raw.flit.map(|b| b.0));
    replace(&mut p.header_bytes, raw.header.map(|b| b.0));
    replace(&mut p.credit_bytes, raw.credit.map(|b| b.0));
    replace(&mut p.link, raw.link_latency);
    replace(&mut p.host_link, raw.host_link_latency);
    replace(&mut p.stages.input, raw.input_latency);
    replace(&mut p.stages.routing, raw.routing_latency);
    replace(&mut p.stages.allocation, raw.allocation_latency);
    replace(&mut p.stages.crossbar, raw.crossbar_latency);
    replace(&mut p.stages.output, raw.output_latency);
    replace(&mut p.buffers.input, raw.input_buffer.map(|b| b.0));
    replace(&mut p.buffers.output, raw.output_buffer.map(|b| b.0));
    replace(&mut p.buffers.nic_queue, raw.nic_queue.map(|b| b.0));
    replace(&mut p.buffers.nic_sink, raw.nic_sink.map(|b| b.0));
    switch::resolve(&raw.kind, &mut p.switch, topology)?;
    Ok(p)
}

pub(super) fn small(value: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(value).map_err(|_| ConfigError::new(key, "is larger than 4 GiB"))
}
