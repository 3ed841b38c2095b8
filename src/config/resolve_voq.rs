//! `[fabric]` of the `voq` switch: links, adapters, tables and static buffers.

use super::error::ConfigError;
use super::import::Imported;
use super::presets::FabricDefaults;
use super::presets_infiniband::VoqDefaults;
use super::raw::{RawFabric, RawQos, RawScheduler};
use super::raw_infiniband::{
    RawAcks, RawForwarding, RawHcaRate, RawSl2Vl, RawSl2VlTables, RawSpeed, RawVlArb,
};
use super::resolve_fabric::{Sizes, small};
use crate::fabric::infiniband::{
    Acks, ForwardingTables, Hca, LinkRates, SlToVl, SwitchKind, VlArb, VlMap, VlWeight, Voq,
    flits_per_tick,
};
use crate::fabric::spec::{Buffers, CentralQueues, FabricSpec, Pool, Quota};
use crate::fabric::topology::Topology;
use crate::units::{Bytes, PS_PER_S, Ratio, Space, TickLength};
use std::collections::BTreeMap;
use std::path::Path;

/// Data rates of the links in bit/s: at hosts, between switches.
fn speeds(raw: &RawFabric, d: &VoqDefaults) -> (Ratio, Ratio) {
    let or = |given: Option<RawSpeed>, default| given.map_or(default, |speed| speed.0);
    (
        or(raw.host_link_speed, d.host_speed),
        or(raw.link_speed, d.switch_speed),
    )
}

/// Ticks in which the fastest link sends a flit. Latencies are whole ticks, so a tick is a
/// fraction of a flit: 2 ns at QDR x4, where a flit of 64 B takes 16 ns.
const TICKS_PER_FLIT: u64 = 8;

/// Length of a tick: as given, or an eighth of the time of a flit on the fastest link.
pub(super) fn tick(raw: &RawFabric, d: &VoqDefaults, flit: u64) -> Result<TickLength, ConfigError> {
    if let Some(tick) = raw.tick {
        return TickLength::new(Ratio::whole(tick.0))
            .ok_or_else(|| ConfigError::new("fabric.tick", "is 0; a tick lasts at least 1 ps"));
    }
    let (host, switch) = speeds(raw, d);
    let single = raw.link_speeds.iter().flatten().map(|link| link.speed.0);
    let fastest = single.chain([switch]).fold(host, Ratio::max);
    let bits = u128::from(flit) * 8 * u128::from(PS_PER_S) * u128::from(fastest.den());
    let tick = u128::from(fastest.num())
        .checked_mul(TICKS_PER_FLIT.into())
        .and_then(|rate| Ratio::reduced(bits, rate));
    tick.and_then(TickLength::new).ok_or_else(|| {
        ConfigError::new(
            "fabric.link_speed",
            format!(
                "an eighth of a flit of {flit} B at {fastest} bit/s takes less than 1 ps; lower \
                 the speed, or give a longer fabric.tick"
            ),
        )
    })
}

/// Rates of the links in flits per tick.
fn links(
    raw: &RawFabric,
    d: &VoqDefaults,
    tick: TickLength,
    flit: u32,
) -> Result<LinkRates, ConfigError> {
    let (host, switch) = speeds(raw, d);
    let mut exceptions = BTreeMap::new();
    for (i, link) in raw.link_speeds.iter().flatten().enumerate() {
        let rate = flits_per_tick(link.speed.0, tick, flit, "fabric.link_speeds")?;
        if exceptions.insert((link.switch, link.port), rate).is_some() {
            return Err(ConfigError::new(
                format!("fabric.link_speeds.{i}"),
                format!(
                    "port {} of switch {} is listed twice",
                    link.port, link.switch
                ),
            ));
        }
    }
    Ok(LinkRates {
        host: flits_per_tick(host, tick, flit, "fabric.host_link_speed")?,
        switch: flits_per_tick(switch, tick, flit, "fabric.link_speed")?,
        exceptions,
    })
}

/// A rate of an adapter in flits per tick. A rate of payload is in packets of the largest MTU;
/// flits are per cycle, the time of a flit on the `fastest` link.
fn hca_rate(
    rate: RawHcaRate,
    spec: &FabricSpec,
    fastest: Ratio,
    key: &'static str,
) -> Result<Option<Ratio>, ConfigError> {
    let too_fine = || {
        ConfigError::new(
            key,
            "is no fraction of 64-bit numbers in flits per tick; take a rounder number",
        )
    };
    let payload = match rate {
        RawHcaRate::Unlimited => return Ok(None),
        RawHcaRate::Flits(flits) => {
            let rate = fastest.checked_mul(flits);
            return rate.map(Some).ok_or_else(too_fine);
        }
        RawHcaRate::Payload(rate) => rate.0,
    };
    let t = &spec.timing;
    let mtu = spec.qos.service_levels.iter().map(|sl| sl.mtu_bytes).max();
    let mtu = mtu.unwrap_or(1).max(1);
    let wire = u64::from(mtu) + u64::from(spec.header_bytes);
    let bits = Ratio::new(8 * wire, mtu.into()).and_then(|factor| payload.checked_mul(factor));
    let rate = bits.and_then(|bits| flits_per_tick(bits, t.tick, t.flit_bytes, key).ok());
    rate.map(Some).ok_or_else(too_fine)
}

/// What a file of tables needs: the fabric that they belong to.
fn of_fabric<'a>(
    imported: Option<&'a Imported>,
    key: &str,
    what: &str,
) -> Result<&'a Imported, ConfigError> {
    imported.ok_or_else(|| {
        ConfigError::new(
            key,
            format!(
                "a file of {what} names nodes by GUID and LID; take the topology from the same \
                 fabric, kind \"ibnetdiscover\""
            ),
        )
    })
}

/// SL-to-VL tables, if there are any.
pub(super) fn sl2vl(
    raw: &RawFabric,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<SlToVl>, ConfigError> {
    const KEY: &str = "fabric.sl2vl";
    match &raw.sl2vl {
        None => Ok(None),
        Some(RawSl2Vl::File(file)) => {
            let imported = of_fabric(imported, KEY, "SL-to-VL tables")?;
            imported.sl2vl(&dir.join(file)).map(Some)
        }
        Some(RawSl2Vl::Tables(RawSl2VlTables { default, hca, port })) => {
            let mut tables = SlToVl {
                default: default.clone(),
                hcas: BTreeMap::new(),
                ports: BTreeMap::new(),
            };
            let twice = |what: &str, i: usize| {
                ConfigError::new(format!("{KEY}.{what}.{i}"), "is listed twice; keep one")
            };
            for (i, own) in hca.iter().enumerate() {
                if tables.hcas.insert(own.hca, own.vls.clone()).is_some() {
                    return Err(twice("hca", i));
                }
            }
            for (i, own) in port.iter().enumerate() {
                let at = (own.switch, own.input, own.output);
                if tables.ports.insert(at, own.vls.clone()).is_some() {
                    return Err(twice("port", i));
                }
            }
            Ok(Some(tables))
        }
    }
}

/// The arbiters of switches and adapters.
fn arbiters(raw: &RawQos, scheduler: RawScheduler) -> Result<(VlArb, VlArb), ConfigError> {
    match scheduler {
        RawScheduler::Rr | RawScheduler::RrVl => {
            return Ok((VlArb::RoundRobin, VlArb::RoundRobin));
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
    let hca = raw.hca_vlarb.as_ref().or(raw.vlarb.as_ref());
    Ok((tables(raw.vlarb.as_ref()), tables(hca)))
}

/// Linear forwarding tables, if there are any.
pub(super) fn forwarding(
    raw: &RawFabric,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<ForwardingTables>, ConfigError> {
    match &raw.forwarding {
        None => Ok(None),
        Some(RawForwarding::Ports(ports)) => Ok(Some(ForwardingTables {
            ports: ports.clone(),
        })),
        Some(RawForwarding::File(file)) => {
            let imported = of_fabric(imported, "fabric.forwarding", "forwarding tables")?;
            imported.forwarding(&dir.join(file)).map(Some)
        }
    }
}

/// Gives `spec` the `voq` kind of switch, with its buffers.
pub(super) fn complete(
    raw: &RawFabric,
    qos: &RawQos,
    all: &FabricDefaults,
    d: &VoqDefaults,
    (sl2vl, forwarding): (Option<SlToVl>, Option<ForwardingTables>),
    spec: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let t = &spec.timing;
    let (vlarb, hca_vlarb) = arbiters(qos, qos.scheduler.unwrap_or(all.scheduler))?;
    let send = raw.hca_send_rate.unwrap_or(d.send_rate);
    let sink = raw.hca_sink_rate.unwrap_or(d.sink_rate);
    let links = links(raw, d, t.tick, t.flit_bytes)?;
    let fastest = links.fastest();
    let voq = Voq {
        links,
        crossbar_speedup: raw.crossbar_speedup.unwrap_or(d.crossbar_speedup),
        vlarb,
        hca: Hca {
            send_rate: hca_rate(send, spec, fastest, "fabric.hca_send_rate")?,
            sink_rate: hca_rate(sink, spec, fastest, "fabric.hca_sink_rate")?,
            vlarb: hca_vlarb,
            acks: match raw.acks {
                None => d.acks,
                Some(RawAcks::None) => Acks::None,
                Some(RawAcks::PerMessage) => Acks::PerMessage,
                Some(RawAcks::PerPacket) => Acks::PerPacket,
            },
            ack_bytes: small(raw.ack.map_or(d.ack, |b| b.0), "fabric.ack")?,
        },
        vl_map: sl2vl.map_or(VlMap::ServiceChannels, VlMap::SlToVl),
        forwarding,
    };
    buffers(raw, all, &voq, spec)?;
    spec.kind = SwitchKind::Voq(Box::new(voq));
    Ok(())
}

/// Static buffers: as the VLs in use share them equally, or as listed per VL.
fn buffers(
    raw: &RawFabric,
    d: &FabricDefaults,
    voq: &Voq,
    spec: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let flits_per_credit = spec.buffers.flits_per_credit;
    let sizes = Sizes {
        flit: spec.timing.flit_bytes.into(),
        flits_per_credit,
        packet: spec.largest_packet_credits(),
    };
    let used = spec.vls_used(voq);
    let of = |credits| Quota {
        exclusive: credits,
        max: credits,
    };
    let divided = |given, default, per_vl: Option<&Vec<Space>>, key: &str| {
        let total = sizes.total(given, default, key)?;
        let count = used.iter().filter(|&&used| used).count() as u32;
        let share = |vl: usize| match per_vl {
            _ if !used[vl] => Ok(0),
            None => Ok(total / count.max(1)),
            Some(list) => list
                .get(vl)
                .map(|&space| sizes.credits(space, total, sizes.packet))
                .ok_or_else(|| {
                    let given = list.len();
                    ConfigError::new(
                        format!("{key}_vls"),
                        format!("{given} sizes, but VL {vl} is used; add one for each VL"),
                    )
                }),
        };
        let per_vl: Result<Vec<u32>, ConfigError> = (0..used.len()).map(share).collect();
        Ok::<_, ConfigError>(Pool {
            total,
            per_vl: per_vl?.into_iter().map(of).collect(),
        })
    };
    let whole = |given: Option<Bytes>, default, key| {
        let total = sizes.total(given, default, key)?;
        Ok::<_, ConfigError>(Pool {
            total,
            per_vl: vec![of(0); used.len()],
        })
    };
    spec.buffers = Buffers {
        flits_per_credit,
        nic_queue: whole(raw.nic_queue, d.nic_queue, "fabric.nic_queue")?,
        nic_sink: divided(
            raw.nic_sink,
            d.nic_sink,
            raw.nic_sink_vls.as_ref(),
            "fabric.nic_sink",
        )?,
        input: divided(
            raw.input_buffer,
            d.input_buffer,
            raw.input_buffer_vls.as_ref(),
            "fabric.input_buffer",
        )?,
        output: whole(raw.output_buffer, d.output_buffer, "fabric.output_buffer")?,
        central: Pool {
            total: 0,
            per_vl: vec![of(0); used.len()],
        },
        central_queues: CentralQueues::PerNeighbour,
    };
    Ok(())
}

/// True if the service channels are VL classes: where the topology needs them, without SL-to-VL
/// tables.
pub(super) fn classes(topology: &Topology, tables: Option<&SlToVl>) -> bool {
    topology.vl_classes() > 1 && tables.is_none()
}
