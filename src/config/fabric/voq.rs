//! The InfiniBand switch and its NICs in an experiment file: their keys, parameters and arbiters.

use crate::config::document::error::ConfigError;
use crate::config::fabric::keys::{of_kind, replace, with_common_keys};
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::topology::graphs::{RawGraph, RawNics};
use crate::config::fabric::topology::trees::RawXgft;
use crate::config::import::Imported;
use crate::config::place;
use crate::config::place::RawPlace;
use crate::config::qos::keys::{RawScheduler, RawVlArb};
use crate::config::qos::scheduler::Scheduling;
use crate::fabric::ids::SwitchPort;
use crate::fabric::parameters::{AdapterRate, VoqParameters};
use crate::fabric::spec::LinkSpeed;
use crate::fabric::switch::voq::{Acks, AllocationRule, InputQueues, VlArb, VlWeight};
use crate::fabric::topology::{Peer, Topology};
use crate::units::{BufferPart, Bytes, Picoseconds, Rate, Ratio};
use flitwise_formats::quote::quoted;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Data rate of a link in bit/s, by name or as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RawSpeed(Ratio);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLinkSpeed {
    switch: RawPlace,
    port: Option<u32>,
    device_port: Option<u32>,
    speed: RawSpeed,
}

/// Rate at which a NIC fetches or delivers packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RawHcaRate(AdapterRate);

with_common_keys! {
    of_kind VoqKeys, RawVoq {
        link_speed: RawSpeed,
        host_link_speed: RawSpeed,
        link_speeds: Vec<RawLinkSpeed>,
        tick: Picoseconds,
        crossbar_speedup: u32,
        allocator: AllocationRule,
        allocator_iterations: u32,
        input_queues: InputQueues,
        isolation_queues: u32,
        isolation_detect: BufferPart,
        isolation_stop: BufferPart,
        isolation_go: BufferPart,
        input_buffer_vls: Vec<BufferPart>,
        nic_sink_vls: Vec<BufferPart>,
        hca_send_rate: RawHcaRate,
        hca_sink_rate: RawHcaRate,
        acks: Acks,
        ack: Bytes,
    }
}

impl<'de> Deserialize<'de> for RawSpeed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        const HELP: &str = "a link speed such as \"QDR x4\", or a rate such as \"34.2Gb/s\"";
        impl Visitor<'_> for Text {
            type Value = RawSpeed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(HELP)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawSpeed, E> {
                if !Rate::names_unit(text) {
                    let speed: LinkSpeed = text.parse().map_err(E::custom)?;
                    return Ok(RawSpeed(speed.bits_per_second()));
                }
                let rate: Rate = text.parse().map_err(E::custom)?;
                let bits = rate.0.checked_mul(Ratio::whole(8));
                bits.filter(|bits| !bits.is_zero())
                    .map(RawSpeed)
                    .ok_or_else(|| {
                        E::custom(format!(
                            "{} is no rate of a link; write {HELP}",
                            quoted(text)
                        ))
                    })
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for RawHcaRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RawHcaRate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a rate of payload such as \"13.1Gb/s\", flits per tick such as \"2/5\", or \
                     \"unlimited\"",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawHcaRate, E> {
                match text.trim() {
                    "unlimited" => Ok(RawHcaRate(AdapterRate::Unlimited)),
                    text if Rate::names_unit(text) => {
                        let rate = text.parse().map_err(E::custom)?;
                        Ok(RawHcaRate(AdapterRate::Payload(rate)))
                    }
                    text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                        let flits = text.parse().map_err(E::custom)?;
                        Ok(RawHcaRate(AdapterRate::Flits(flits)))
                    }
                    text => Err(E::unknown_variant(text, &["unlimited"])),
                }
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawHcaRate, E> {
                flits(serde::de::IntoDeserializer::into_deserializer(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<RawHcaRate, E> {
                flits(serde::de::IntoDeserializer::into_deserializer(value))
            }
        }
        fn flits<'de, D: Deserializer<'de>>(value: D) -> Result<RawHcaRate, D::Error> {
            Ratio::deserialize(value).map(|flits| RawHcaRate(AdapterRate::Flits(flits)))
        }
        deserializer.deserialize_any(Either)
    }
}

impl RawVoq {
    /// Overrides the parameters by the keys that are given.
    pub(crate) fn resolve(
        &self,
        p: &mut VoqParameters,
        topology: &Topology,
    ) -> Result<(), ConfigError> {
        let Self {
            link_speed,
            host_link_speed,
            link_speeds,
            tick,
            crossbar_speedup,
            allocator,
            allocator_iterations,
            input_queues,
            isolation_queues,
            isolation_detect,
            isolation_stop,
            isolation_go,
            input_buffer_vls,
            nic_sink_vls,
            hca_send_rate,
            hca_sink_rate,
            acks,
            ack,
        } = self;
        replace(&mut p.switch_speed, link_speed.map(|speed| speed.0));
        replace(&mut p.host_speed, host_link_speed.map(|speed| speed.0));
        if let Some(list) = link_speeds {
            p.link_speeds = speeds_of_links(list, topology)?;
        }
        p.tick = tick.or(p.tick);
        replace(&mut p.crossbar_speedup, *crossbar_speedup);
        replace(&mut p.allocator.rule, *allocator);
        replace(&mut p.allocator.iterations, *allocator_iterations);
        replace(&mut p.input_queues, *input_queues);
        replace(&mut p.isolation.queues, *isolation_queues);
        replace(&mut p.isolation.detect, *isolation_detect);
        replace(&mut p.isolation.stop, *isolation_stop);
        replace(&mut p.isolation.go, *isolation_go);
        self.isolation_is_used(p)?;
        p.input_vls = input_buffer_vls.clone().or(p.input_vls.take());
        p.sink_vls = nic_sink_vls.clone().or(p.sink_vls.take());
        replace(&mut p.send_rate, hca_send_rate.map(|rate| rate.0));
        replace(&mut p.sink_rate, hca_sink_rate.map(|rate| rate.0));
        replace(&mut p.acks, *acks);
        replace(&mut p.ack_bytes, ack.map(|b| b.0));
        Ok(())
    }
}

impl RawVoq {
    /// Refuses settings of congested-flow queues that the default of `input_queues` does not have.
    fn isolation_is_used(&self, p: &VoqParameters) -> Result<(), ConfigError> {
        if self.input_queues.is_some() || p.input_queues == InputQueues::Isolating {
            return Ok(());
        }
        let keys = [
            (self.isolation_queues.is_some(), "queues"),
            (self.isolation_detect.is_some(), "detect"),
            (self.isolation_stop.is_some(), "stop"),
            (self.isolation_go.is_some(), "go"),
        ];
        match keys.iter().find(|(given, _)| *given) {
            Some((_, key)) => Err(ConfigError::new(
                format!("fabric.isolation_{key}"),
                "is used only with input_queues = \"isolating\"; add it, or name other `input_queues` to keep \
                 the setting for another run",
            )),
            None => Ok(()),
        }
    }
}

impl RawVoq {
    /// Takes the speeds that the dump tells, where no key sets them.
    pub(crate) fn speeds_of_dump(
        &self,
        p: &mut VoqParameters,
        imported: &Imported,
    ) -> Result<(), ConfigError> {
        let (topology, dump) = (&imported.topology, &imported.speeds);
        let listed = std::mem::take(&mut p.link_speeds);
        if self.host_link_speed.is_none() {
            dump.usual(true)?
                .take(&mut p.host_speed, &mut p.link_speeds);
        }
        if self.link_speed.is_none() {
            dump.usual(false)?
                .take(&mut p.switch_speed, &mut p.link_speeds);
        }
        for (at, speed) in listed {
            if let Peer::Switch { switch, port } = topology.peer(at.switch, at.port) {
                p.link_speeds.remove(&SwitchPort::new(switch, port));
            }
            p.link_speeds.insert(at, speed);
        }
        Ok(())
    }

    /// A key that nothing uses, and why; `p`: the parameters of the preset.
    pub(crate) fn ignored(&self, p: &VoqParameters) -> Option<(&'static str, &'static str)> {
        let none = self.acks.is_none() && p.acks == Acks::None;
        (none && self.ack.is_some()).then_some((
            "fabric.ack",
            "there are no ACKs; add acks = \"per-message\" or \"per-packet\", or remove it",
        ))
    }
}

/// Data rates in bit/s by port.
fn speeds_of_links(
    list: &[RawLinkSpeed],
    topology: &Topology,
) -> Result<BTreeMap<SwitchPort, Ratio>, ConfigError> {
    let mut speeds = BTreeMap::new();
    for (i, link) in list.iter().enumerate() {
        let wrong = |problem| ConfigError::new(format!("fabric.link_speeds.{i}"), problem);
        let at = place::port(topology, &link.switch, link.port, link.device_port);
        let at = at.map_err(wrong)?;
        if speeds.insert(at, link.speed.0).is_some() {
            let SwitchPort { switch, port } = at;
            return Err(wrong(format!(
                "port {port} of switch {switch} is listed twice"
            )));
        }
    }
    Ok(speeds)
}

/// The arbiters of switches and NICs.
pub(crate) fn schedule(p: &mut VoqParameters, by: &Scheduling<'_>) -> Result<(), ConfigError> {
    // QoS presets have schedulers of hierarchical switches.
    match by.raw.scheduler.unwrap_or(by.usual) {
        RawScheduler::Rr | RawScheduler::RrVl => {
            (p.vlarb, p.hca_vlarb) = (VlArb::RoundRobin, VlArb::RoundRobin);
            return Ok(());
        }
        RawScheduler::Sbt | RawScheduler::DTable => {
            return Err(ConfigError::new(
                "qos.scheduler",
                "belongs to the \"hierarchical\" kind of switch; take \"ib-vlarb\", with or \
                 without tables, or \"rr\"",
            ));
        }
        RawScheduler::IbVlarb => {}
    }
    let list = |entries: &[(u8, u8)]| -> Vec<VlWeight> {
        let entries = entries.iter();
        entries
            .map(|&(vl, weight)| VlWeight { vl, weight })
            .collect()
    };
    let tables = |raw: Option<&RawVlArb>| match raw {
        None => VlArb::RoundRobin,
        Some(raw) => VlArb::Tables {
            high: list(&raw.high),
            low: list(&raw.low),
            high_limit: raw.high_limit.unwrap_or(0),
        },
    };
    let (vlarb, hca) = (by.raw.vlarb.as_ref(), by.raw.hca_vlarb.as_ref());
    (p.vlarb, p.hca_vlarb) = (tables(vlarb), tables(hca.or(vlarb)));
    Ok(())
}

/// A three-stage Clos network: 36 switches of the first stage with 18 hosts each, 18 above.
pub(crate) fn clos_of_648() -> RawTopology {
    RawTopology::Xgft(RawXgft {
        down: Some(vec![18, 36]),
        up: Some(vec![1, 18]),
        parallel: None,
        hosts: None,
    })
}

/// H1 to H3 (NICs 0 to 2) at one switch, H4 to H7 (3 to 6) at another.
pub(crate) fn testbed() -> RawTopology {
    let hosts = [(0, 3), (1, 4)];
    let nics = hosts.iter().flat_map(|&(s, n)| (0..n).map(move |p| [s, p]));
    RawTopology::Graph(RawGraph {
        switches: Some(2),
        links: Some(vec![[0, 3, 1, 4]]),
        nics: Some(RawNics::At(nics.collect())),
    })
}
