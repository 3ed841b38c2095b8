//! The InfiniBand switch and its NICs in an experiment file: their keys, parameters and arbiters.

use crate::config::document::{ConfigError, Forms, form_schemas, given, read_forms, refused};
use crate::config::fabric::keys::{of_kind, replace, with_common_keys};
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::topology::graphs::{RawGraph, RawNics};
use crate::config::import::Imported;
use crate::config::place;
use crate::config::place::RawPlace;
use crate::config::qos::keys::{RawScheduler, RawVlArb};
use crate::config::qos::scheduler::Scheduling;
use crate::fabric::ids::SwitchPort;
use crate::fabric::parameters::{HcaRate, VoqParameters};
use crate::fabric::spec::{FabricSpec, link_speed};
use crate::fabric::switch::voq::{Acks, AllocationRule, InputQueues, VlArb, VlWeight};
use crate::fabric::topology::{Peer, Topology, XgftKeys};
use crate::units::{BufferPart, Bytes, Picoseconds, Rate, Ratio};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{Error, IntoDeserializer};
use std::collections::BTreeMap;

/// Data rate of a link in bit/s, by name or as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawSpeed(pub Ratio);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawLinkSpeed {
    /// The switch at one end.
    switch: RawPlace,
    /// Its port, which counts from 0.
    port: Option<u32>,
    /// Its port as on the device, where ports count from 1.
    device_port: Option<u32>,
    /// Data rate of the link.
    speed: RawSpeed,
}

/// Rate at which a NIC fetches or delivers packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RawHcaRate(HcaRate);

with_common_keys! {
    of_kind VoqKeys, RawVoq {
        /// Rate between switches: SDR to XDR with x1 to x12 (x4), or any rate.
        ///
        /// Names are SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR and XDR, with x1, x2, x4 (the default), x8 or x12. It is
        /// the data rate.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "QDR x4", "ib-ddr-testbed": "34634179687.5b/s", "sauron": "96Gb/s"}))]
        link_speed: RawSpeed,
        /// Rate of links to NICs, the only links of a single switch.
        ///
        /// A fabric of one switch has no others. Change both keys together.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "QDR x4", "ib-ddr-testbed": "DDR x4", "sauron": "96Gb/s"}))]
        host_link_speed: RawSpeed,
        /// Links of another speed, by either end: `[{ switch = 0, port = 3, speed = "SDR x4" }]`.
        ///
        /// With an `ibnetdiscover` topology also `{ switch = "L003", device_port = 4, … }`.
        link_speeds: Vec<RawLinkSpeed>,
        /// Tick, at most a flit on the fastest link; latencies are rounded up to ticks.
        #[schemars(extend("x-default" = "an eighth of a flit: 2 ns with QDR"))]
        tick: Picoseconds,
        /// Rate of the crossbar over the rate of the fastest link.
        ///
        /// The crossbar leads from input to output buffers.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": 2, "sauron": 1}))]
        crossbar_speedup: u32,
        /// Pointers of arbiters move for accepted grants (`"islip"`) or for all (`"round-robin"`).
        ///
        /// These are the round-robin pointers of the crossbar's arbiters.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "islip", "sauron": "islip"}))]
        allocator: AllocationRule,
        /// Rounds of grants and acceptances in a tick.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": 1, "sauron": 1}))]
        allocator_iterations: u32,
        /// Queues of a VL in an input buffer: `"virtual-output"`, `"fifo"`, `"per-flow"` or `"isolating"`.
        ///
        /// They do not depend on the `vl_policy`. `"virtual-output"`: virtual output queues; packets for different
        /// out-ports do not block each other. `"fifo"`: one FIFO, whose head blocks the packets behind it
        /// ([InfiniBand](../model/infiniband.md#2-parts)). `"per-flow"`: a FIFO for each destination, each with the
        /// credits of a whole VL. `"isolating"`: one FIFO, beside which flows that block it get queues of their own
        /// ([queueing](../model/queueing.md#against-hot-flows)).
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "virtual-output", "sauron": "fifo"}))]
        input_queues: InputQueues,
        /// Queues for hot flows per input buffer and VL with `"isolating"`, at most 64.
        #[schemars(extend("x-default" = "4"))]
        isolation_queues: u32,
        /// Fill of the normal FIFO at which the flow of its head is isolated.
        ///
        /// A part of the VL, or credits, packets or bytes.
        #[schemars(extend("x-default" = "`\"1/4\"`"))]
        isolation_detect: BufferPart,
        /// Fill of a hot flow's queue that stops the flow at its sender.
        #[schemars(extend("x-default" = "`\"3/16\"`"))]
        isolation_stop: BufferPart,
        /// Fill of the same queue that resumes it.
        #[schemars(extend("x-default" = "`\"1/8\"`"))]
        isolation_go: BufferPart,
        /// Sizes for VL 0, 1, … instead of equal parts of `input_buffer`: `["8 packets", "4KiB"]`.
        input_buffer_vls: Vec<BufferPart>,
        /// The same for `nic_sink`.
        nic_sink_vls: Vec<BufferPart>,
        /// Rate of a host's payload; or flits per cycle with headers, such as `"2/5"`.
        ///
        /// The host can send at this rate, counted in packets of the largest MTU.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "unlimited", "ib-ddr-testbed": "13.1Gb/s", "sauron": "unlimited"}))]
        hca_send_rate: RawHcaRate,
        /// Rate at which a host takes packets.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "unlimited", "ib-ddr-testbed": "13.1Gb/s", "sauron": "unlimited"}))]
        hca_sink_rate: RawHcaRate,
        /// Acknowledgements of a reliable connection: `"per-packet"` or `"per-message"`.
        #[schemars(extend("x-defaults" = {"ib-qdr-648": "none", "ib-ddr-testbed": "per-message", "sauron": "none"}))]
        acks: Acks,
        /// Whole length of an ACK.
        #[schemars(extend("x-default" = "`\"30B\"`"))]
        ack: Bytes,
    }
}

impl RawVoq {
    /// Overrides the parameters by the keys that are given.
    pub(crate) fn resolve(
        &self,
        p: &mut VoqParameters,
        topology: &Topology,
    ) -> Result<(), ConfigError> {
        replace(&mut p.switch_speed, self.link_speed.map(|speed| speed.0));
        replace(&mut p.host_speed, self.host_link_speed.map(|speed| speed.0));
        if let Some(list) = &self.link_speeds {
            p.link_speeds = speeds_of_links(list, topology)?;
        }
        p.tick = self.tick.or(p.tick);
        replace(&mut p.crossbar_speedup, self.crossbar_speedup);
        replace(&mut p.allocator.rule, self.allocator);
        replace(&mut p.allocator.iterations, self.allocator_iterations);
        replace(&mut p.input_queues, self.input_queues);
        replace(&mut p.isolation.queues, self.isolation_queues);
        replace(&mut p.isolation.detect, self.isolation_detect);
        replace(&mut p.isolation.stop, self.isolation_stop);
        replace(&mut p.isolation.go, self.isolation_go);
        self.isolation_is_used(p)?;
        p.input_vls = self.input_buffer_vls.clone().or(p.input_vls.take());
        p.sink_vls = self.nic_sink_vls.clone().or(p.sink_vls.take());
        replace(&mut p.send_rate, self.hca_send_rate.map(|rate| rate.0));
        replace(&mut p.sink_rate, self.hca_sink_rate.map(|rate| rate.0));
        replace(&mut p.acks, self.acks);
        replace(&mut p.ack_bytes, self.ack.map(|b| b.0));
        Ok(())
    }
}

impl RawVoq {
    /// Refuses settings of congested-flow queues that the default of `input_queues` does not have.
    fn isolation_is_used(&self, p: &VoqParameters) -> Result<(), ConfigError> {
        if self.input_queues.is_some() || p.input_queues == InputQueues::Isolating {
            return Ok(());
        }
        let keys = given!(
            self,
            isolation_queues,
            isolation_detect,
            isolation_stop,
            isolation_go
        );
        keys.take(1).try_for_each(|key| {
            refused(
                format!("fabric.{key}"),
                "is used only with input_queues = \"isolating\"; add it, or name other `input_queues` to keep \
                 the setting for another run",
            )
        })
    }
}

impl RawVoq {
    /// Takes the speeds that the dump tells, where no key sets them.
    pub(crate) fn speeds_of_file(
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

    /// Where the speeds of the links of `fabric` come from, in words; `p`: the parameters of the `preset`.
    pub(crate) fn speeds_from(
        &self,
        p: &VoqParameters,
        preset: &str,
        fabric: &FabricSpec,
    ) -> String {
        let bits_per_s = |flits_per_tick: Ratio| {
            let bits = 8.0 * f64::from(fabric.units.flit_bytes);
            flits_per_tick.to_f64() * fabric.units.tick.per_second() * bits
        };
        let to_nics = [
            ("host_link_speed", self.host_link_speed.is_some()),
            ("link_speed", self.link_speed.is_some()),
        ];
        let rates = [
            (fabric.host_link_rate(), p.host_speed),
            (fabric.switch_link_rate(), p.switch_speed),
        ];
        let kinds = if fabric.topology.directed_switch_links() > 0 {
            2
        } else {
            1
        };
        let mut from: Vec<String> = Vec::new();
        for ((key, given), (rate, of_preset)) in to_nics.into_iter().zip(rates).take(kinds) {
            let of_preset = of_preset.to_f64();
            let source = if given {
                format!("fabric.{key}")
            } else if (bits_per_s(rate) / of_preset - 1.0).abs() < 1e-6 {
                preset.to_owned()
            } else {
                let gbit = crate::units::number(of_preset / 1e9);
                format!("the topology's file, in place of the {gbit} Gb/s of {preset}")
            };
            if !from.contains(&source) {
                from.push(source);
            }
        }
        from.join(" and ")
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
            return refused(
                "qos.scheduler",
                "belongs to the \"hierarchical\" kind of switch; take \"ib-vlarb\", with or \
                 without tables, or \"rr\"",
            );
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
    RawTopology::Xgft(XgftKeys {
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
        file: None,
        switches: Some(2),
        links: Some(vec![[0, 3, 1, 4]]),
        nics: Some(RawNics::At(nics.collect())),
    })
}

impl Forms for RawSpeed {
    const EXPECTED: &'static str =
        "a link speed such as \"QDR x4\", or a rate such as \"34.2Gb/s\"";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        link_speed(text).map(Self).map_err(E::custom)
    }
}

read_forms! { RawSpeed }

impl Forms for RawHcaRate {
    const EXPECTED: &'static str = "a rate of payload such as \"13.1Gb/s\", flits per tick such as \"2/5\", or \
                                    \"unlimited\"";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        match text.trim() {
            "unlimited" => Ok(Self(HcaRate::Unlimited)),
            text if Rate::names_unit(text) => {
                let rate = text.parse().map_err(E::custom)?;
                Ok(Self(HcaRate::Payload(rate)))
            }
            text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                let flits = text.parse().map_err(E::custom)?;
                Ok(Self(HcaRate::Flits(flits)))
            }
            text => Err(E::unknown_variant(text, &["unlimited"])),
        }
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        let flits = Ratio::deserialize(value.into_deserializer());
        flits.map(|flits| Self(HcaRate::Flits(flits)))
    }

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        let flits = Ratio::deserialize(value.into_deserializer());
        flits.map(|flits| Self(HcaRate::Flits(flits)))
    }
}

read_forms! { RawHcaRate }

form_schemas! {
    RawSpeed: |generator| {
        let named = r"^\s*[A-Z]+[0-9]*(\s+x[0-9]+)?\s*$";
        json_schema!({ "anyOf": [
            { "type": "string", "pattern": named, "examples": ["QDR x4"] },
            Rate::json_schema(generator),
        ] })
    };
    RawHcaRate: |generator| json_schema!({ "anyOf": [
            { "const": "unlimited", "description": "As fast as the link." },
            Ratio::json_schema(generator),
            Rate::json_schema(generator),
        ] });
}
