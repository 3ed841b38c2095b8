//! The InfiniBand switch and its NICs in bytes, rates and times, and how their plain data follow
//! from these.

use super::{
    Acks, Allocator, Buffers, Hca, InputQueues, Isolation, LinkRates, PortStandard, StaticPool,
    VlArb, Voq,
};
use crate::error::error;
use crate::ids::SwitchPort;
use crate::parameters::Parameters;
use crate::sizes::{Sizes, small};
use crate::spec::{Qos, SpecError, Units, flits_per_tick, of_link};
use crate::topology::{Peer, Topology};
use flitwise_base::units::{BufferPart, PS_PER_S, Picoseconds, Rate, Ratio, TickLength};
use std::collections::BTreeMap;

/// Parameters of the InfiniBand switch, and of its NICs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VoqParameters {
    /// Data rate of the links of NICs in bit/s.
    pub host_speed: Ratio,
    /// Data rate of the links between switches in bit/s.
    pub switch_speed: Ratio,
    /// Data rates of links that differ in bit/s, by (switch, port) of either end.
    pub link_speeds: BTreeMap<SwitchPort, Ratio>,
    /// Length of a tick; `None`: an eighth of the time of a flit on the fastest link.
    pub tick: Option<Picoseconds>,
    /// Rate of the crossbar over the rate of the fastest link.
    pub crossbar_speedup: u32,
    /// The standard that limits the VLs of a port.
    pub port_standard: PortStandard,
    /// The allocator by which outputs and in-ports agree on packets.
    pub allocator: Allocator,
    /// The organisation of the packets of a VL in input buffers of switches.
    pub input_queues: InputQueues,
    /// The isolation of flows, with [`InputQueues::Isolating`].
    pub isolation: IsolationParameters,
    /// Size of each VL of an input buffer; `None`: the VLs in use have equal shares.
    pub input_vls: Option<Vec<BufferPart>>,
    /// The same of a receive buffer.
    pub sink_vls: Option<Vec<BufferPart>>,
    /// Rate at which a NIC fetches packets from its host.
    pub send_rate: HcaRate,
    /// Rate at which a NIC delivers packets to its host.
    pub sink_rate: HcaRate,
    /// Acknowledgements.
    pub acks: Acks,
    /// Length of an ACK in bytes.
    pub ack_bytes: u64,
    /// Arbiter of every switch output.
    pub vlarb: VlArb,
    /// Arbiter over the VLs of a NIC.
    pub hca_vlarb: VlArb,
}

/// The isolation of flows with thresholds as parts of the VL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsolationParameters {
    /// Congested-flow queues of an (input buffer, VL).
    pub queues: u32,
    /// See [`Isolation::detect`].
    pub detect: BufferPart,
    /// See [`Isolation::stop`].
    pub stop: BufferPart,
    /// See [`Isolation::go`].
    pub go: BufferPart,
}

impl Default for IsolationParameters {
    /// Ours: four full queues leave a quarter of the VL to the other flows.
    fn default() -> Self {
        let share = |num, den| BufferPart::Share(Ratio::new(num, den).unwrap_or(Ratio::ONE));
        Self {
            queues: 4,
            detect: share(1, 4),
            stop: share(3, 16),
            go: share(1, 8),
        }
    }
}

impl IsolationParameters {
    /// The thresholds in credits of VLs of the sizes `per_vl`. No VL has a threshold of 0 but `go`.
    fn build(&self, sizes: &Sizes, per_vl: &[u32]) -> Isolation {
        let part = |part| {
            let credits = move |&vl: &u32| sizes.credits(part, vl, sizes.packet);
            per_vl.iter().map(credits)
        };
        Isolation {
            queues: self.queues,
            detect: part(self.detect).map(|credits| credits.max(1)).collect(),
            stop: part(self.stop).map(|credits| credits.max(1)).collect(),
            go: part(self.go).collect(),
        }
    }
}

/// Rate at which a NIC fetches or delivers packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HcaRate {
    /// Payload in packets of the largest MTU.
    Payload(Rate),
    /// Flits per time of a flit on the fastest link, headers included.
    Flits(Ratio),
    /// As fast as the link.
    Unlimited,
}

/// Ticks in which the fastest link sends a flit. Latencies are whole ticks, so a tick is a
/// fraction of a flit: 2 ns at QDR x4, where a flit of 64 B takes 16 ns.
const TICKS_PER_FLIT: u64 = 8;

impl VoqParameters {
    /// Lowers the usual speeds to the fastest that a link of `topology` has.
    pub(crate) fn lower_unused(&mut self, topology: &Topology) {
        let usual = [self.host_speed, self.switch_speed];
        let ports = |switch| (topology.port_ids()).map(move |port| SwitchPort { switch, port });
        let all = topology.switch_ids().flat_map(ports);
        let has_link = |at: &SwitchPort| {
            topology.has_port(at.switch, at.port) && topology.peer(at.switch, at.port) != Peer::None
        };
        let speed = |at| of_link(topology, at, &self.link_speeds, usual);
        if let Some(fastest) = all.filter(has_link).map(speed).max() {
            self.host_speed = self.host_speed.min(fastest);
            self.switch_speed = self.switch_speed.min(fastest);
        }
    }

    /// Length of a tick: as given, or an eighth of the time of a flit of `flit` bytes on the
    /// fastest link.
    pub(crate) fn tick(&self, flit: u64) -> Result<TickLength, SpecError> {
        if let Some(tick) = self.tick {
            let length = TickLength::new(Ratio::whole(tick.0));
            let problem = "is 0; a tick lasts at least 1 ps";
            return length.map_or_else(|| error("fabric.tick", problem.into()), Ok);
        }
        let speeds = self.link_speeds.values().copied();
        let fastest = speeds
            .chain([self.switch_speed])
            .fold(self.host_speed, Ratio::max);
        let bits = u128::from(flit) * 8 * u128::from(PS_PER_S) * u128::from(fastest.den());
        let tick = u128::from(fastest.num())
            .checked_mul(TICKS_PER_FLIT.into())
            .and_then(|rate| Ratio::reduced(bits, rate));
        tick.and_then(TickLength::new).map_or_else(
            || {
                error(
                    "fabric.link_speed",
                    format!(
                        "an eighth of a flit of {flit} B at {fastest} bit/s takes less than 1 ps; \
                         lower the speed, or give a longer fabric.tick"
                    ),
                )
            },
            Ok,
        )
    }

    pub(crate) fn build(
        &self,
        all: &Parameters,
        units: Units,
        qos: &Qos,
    ) -> Result<Voq, SpecError> {
        let links = self.links(units)?;
        let fastest = links.fastest();
        let rate = |rate, key| hca_rate(rate, units, qos, fastest, key);
        let buffers = self.buffers(all, units, qos)?;
        let is_isolating = self.input_queues == InputQueues::Isolating;
        let sizes = Sizes::new(units, qos);
        Ok(Voq {
            stages: all.stages.ticks(units.tick),
            crossbar_speedup: self.crossbar_speedup,
            port_standard: self.port_standard,
            allocator: self.allocator,
            input_queues: self.input_queues,
            isolation: is_isolating.then(|| self.isolation.build(&sizes, &buffers.input.per_vl)),
            buffers,
            vlarb: self.vlarb.clone(),
            hca: Hca {
                send_rate: rate(self.send_rate, "fabric.hca_send_rate")?,
                sink_rate: rate(self.sink_rate, "fabric.hca_sink_rate")?,
                vlarb: self.hca_vlarb.clone(),
                acks: self.acks,
                ack_bytes: small(self.ack_bytes, "fabric.ack")?,
            },
            links,
        })
    }

    /// Rates of the links in flits per tick.
    fn links(&self, units: Units) -> Result<LinkRates, SpecError> {
        let rate = |bits, key| flits_per_tick(bits, units.tick, units.flit_bytes, key);
        let exceptions = self.link_speeds.iter();
        Ok(LinkRates {
            nic: rate(self.host_speed, "fabric.host_link_speed")?,
            switch: rate(self.switch_speed, "fabric.link_speed")?,
            exceptions: exceptions
                .map(|(&port, &bits)| Ok((port, rate(bits, "fabric.link_speeds")?)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Static buffers: as the VLs in use share them equally, or as listed per VL.
    fn buffers(&self, all: &Parameters, units: Units, qos: &Qos) -> Result<Buffers, SpecError> {
        let sizes = Sizes::new(units, qos);
        let used = qos.vls_used();
        let bytes = all.buffers;
        let input = ["fabric.input_buffer", "fabric.input_buffer_vls"];
        let sink = ["fabric.nic_sink", "fabric.nic_sink_vls"];
        Ok(Buffers {
            nic_queue: sizes.total(bytes.nic_queue, "fabric.nic_queue")?,
            nic_sink: sizes.divided(bytes.nic_sink, self.sink_vls.as_deref(), &used, sink)?,
            input: sizes.divided(bytes.input, self.input_vls.as_deref(), &used, input)?,
            output: match bytes.output {
                0 => on_the_way(all, units, qos)?,
                bytes => sizes.total(bytes, "fabric.output_buffer")?,
            },
        })
    }
}

/// Credits of an output without a buffer: the packets that can be between grant and link while the link
/// takes flits as fast as the crossbar. These are two packets, of which one leaves and one follows, and a flit for
/// every tick in between.
fn on_the_way(all: &Parameters, units: Units, qos: &Qos) -> Result<u32, SpecError> {
    let stages = all.stages.ticks(units.tick);
    let ticks = stages.allocation + stages.crossbar + stages.output_store;
    let mtus = qos.service_levels.iter().map(|level| level.mtu_bytes);
    let largest = mtus.map(|mtu| units.credits(units.data_flits(mtu))).max();
    let credits = 2 * u64::from(largest.unwrap_or(1)) + ticks + 3;
    small(credits, "fabric.output_buffer")
}

impl Sizes {
    /// A buffer of `bytes` bytes that the VLs in use share equally, or as `per_vl` lists. Keys of
    /// the size and of the list.
    fn divided(
        &self,
        bytes: u64,
        per_vl: Option<&[BufferPart]>,
        used: &[bool],
        [key, list_key]: [&'static str; 2],
    ) -> Result<StaticPool, SpecError> {
        let total = self.total(bytes, key)?;
        let count = used.iter().filter(|&&used| used).count() as u32;
        let share = |(vl, &used): (usize, &bool)| match per_vl {
            _ if !used => Ok(0),
            None => Ok(total / count.max(1)),
            Some(list) => match list.get(vl) {
                Some(&part) => Ok(self.credits(part, total, self.packet)),
                None => {
                    let given = list.len();
                    let problem =
                        format!("{given} sizes, but VL {vl} is used; add one for each VL");
                    error(list_key, problem)
                }
            },
        };
        Ok(StaticPool {
            total,
            per_vl: used
                .iter()
                .enumerate()
                .map(share)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A rate of a NIC in flits per tick; `None`: not limited. `fastest`: flits per tick of the
/// fastest link.
fn hca_rate(
    rate: HcaRate,
    units: Units,
    qos: &Qos,
    fastest: Ratio,
    key: &'static str,
) -> Result<Option<Ratio>, SpecError> {
    let rate = match rate {
        HcaRate::Unlimited => return Ok(None),
        HcaRate::Flits(flits) => fastest.checked_mul(flits),
        HcaRate::Payload(rate) => {
            let mtu = qos.service_levels.iter().map(|sl| sl.mtu_bytes).max();
            let mtu = u64::from(mtu.unwrap_or(1).max(1));
            let wire = mtu + u64::from(units.header_bytes);
            let bits = Ratio::new(8 * wire, mtu).and_then(|factor| rate.0.checked_mul(factor));
            bits.and_then(|bits| flits_per_tick(bits, units.tick, units.flit_bytes, key).ok())
        }
    };
    match rate {
        Some(rate) => Ok(Some(rate)),
        None => error(
            key,
            "is no fraction of 64-bit numbers in flits per tick; take a rounder number".into(),
        ),
    }
}
