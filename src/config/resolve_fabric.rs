//! Resolves `[fabric]`: the parameters of the preset, overridden by the keys of the experiment.

use super::error::ConfigError;
use super::presets::FabricDefaults;
use super::raw_fabric::{
    RawCentralQueues, RawFabric, RawHierarchical, RawKind, RawVirtualAllocation, RawVoq,
};
use super::raw_infiniband::{RawAcks, RawInputQueues, RawLinkSpeed};
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::parameters::{
    HierarchicalParameters, Parameters, SwitchParameters, VoqParameters,
};
use crate::fabric::spec::SpecError;
use crate::fabric::spec::hierarchical::{CentralQueues, VirtualAllocation};
use crate::fabric::spec::voq::{Acks, InputQueues};
use crate::units::Ratio;
use std::collections::BTreeMap;

impl From<SpecError> for ConfigError {
    fn from(e: SpecError) -> Self {
        Self::new(e.key, e.problem)
    }
}

/// Replaces the default by the given value, if there is one.
fn replace<T>(default: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *default = given;
    }
}

/// All parameters, without the scheduler or the arbiters.
pub(super) fn parameters(raw: &RawFabric, d: &FabricDefaults) -> Result<Parameters, ConfigError> {
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
    // `presets::fabric` has checked that the preset has the kind of switch that the file names.
    match (&raw.kind, &mut p.switch) {
        (RawKind::Hierarchical(raw), SwitchParameters::Hierarchical(p)) => hierarchical(raw, p),
        (RawKind::Voq(raw), SwitchParameters::Voq(p)) => voq(raw, p)?,
        _ => {}
    }
    Ok(p)
}

fn hierarchical(raw: &RawHierarchical, p: &mut HierarchicalParameters) {
    let RawHierarchical {
        link_rate,
        allocation_gap,
        virtual_allocation,
        mport_speedup,
        central_speedup,
        central_buffer,
        exclusive,
        max,
        central_exclusive,
        central_max,
        central_queues,
    } = raw;
    replace(&mut p.link_rate, link_rate.map(|rate| rate.0));
    replace(&mut p.allocation_gap, *allocation_gap);
    let allocation = virtual_allocation.map(|allocation| match allocation {
        RawVirtualAllocation::Informed => VirtualAllocation::Informed,
        RawVirtualAllocation::Blind => VirtualAllocation::Blind,
    });
    replace(&mut p.virtual_allocation, allocation);
    replace(&mut p.mport_speedup, *mport_speedup);
    replace(&mut p.central_speedup, *central_speedup);
    replace(&mut p.central_buffer, central_buffer.map(|b| b.0));
    replace(&mut p.exclusive, exclusive.map(|space| [space; 2]));
    replace(&mut p.max, *max);
    replace(&mut p.central_exclusive, *central_exclusive);
    p.central_max = central_max.or(p.central_max);
    let queues = central_queues.map(|queues| match queues {
        RawCentralQueues::PerNeighbour => CentralQueues::PerNeighbour,
        RawCentralQueues::PerVl => CentralQueues::PerVl,
    });
    replace(&mut p.central_queues, queues);
}

fn voq(raw: &RawVoq, p: &mut VoqParameters) -> Result<(), ConfigError> {
    let RawVoq {
        link_speed,
        host_link_speed,
        link_speeds,
        tick,
        crossbar_speedup,
        input_queues,
        input_buffer_vls,
        nic_sink_vls,
        hca_send_rate,
        hca_sink_rate,
        acks,
        ack,
    } = raw;
    replace(&mut p.switch_speed, link_speed.map(|speed| speed.0));
    replace(&mut p.host_speed, host_link_speed.map(|speed| speed.0));
    if let Some(list) = link_speeds {
        p.link_speeds = speeds_of_links(list)?;
    }
    p.tick = tick.or(p.tick);
    replace(&mut p.crossbar_speedup, *crossbar_speedup);
    let queues = input_queues.map(|queues| match queues {
        RawInputQueues::VirtualOutput => InputQueues::VirtualOutput,
        RawInputQueues::Fifo => InputQueues::Fifo,
    });
    replace(&mut p.input_queues, queues);
    p.input_vls = input_buffer_vls.clone().or(p.input_vls.take());
    p.sink_vls = nic_sink_vls.clone().or(p.sink_vls.take());
    replace(&mut p.send_rate, hca_send_rate.map(|rate| rate.0));
    replace(&mut p.sink_rate, hca_sink_rate.map(|rate| rate.0));
    let acks = acks.map(|acks| match acks {
        RawAcks::None => Acks::None,
        RawAcks::PerMessage => Acks::PerMessage,
        RawAcks::PerPacket => Acks::PerPacket,
    });
    replace(&mut p.acks, acks);
    replace(&mut p.ack_bytes, ack.map(|b| b.0));
    Ok(())
}

/// Data rates in bit/s by port.
fn speeds_of_links(list: &[RawLinkSpeed]) -> Result<BTreeMap<SwitchPort, Ratio>, ConfigError> {
    let mut speeds = BTreeMap::new();
    for (i, link) in list.iter().enumerate() {
        let RawLinkSpeed {
            switch,
            port,
            speed,
        } = *link;
        let at = SwitchPort::new(SwitchId::new(switch), PortId::new(port));
        if speeds.insert(at, speed.0).is_some() {
            return Err(ConfigError::new(
                format!("fabric.link_speeds.{i}"),
                format!("port {port} of switch {switch} is listed twice"),
            ));
        }
    }
    Ok(speeds)
}

pub(super) fn small(value: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(value).map_err(|_| ConfigError::new(key, "is larger than 4 GiB"))
}
