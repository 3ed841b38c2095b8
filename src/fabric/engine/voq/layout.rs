//! The layout of a fabric before tick 0: the numbers of its parts, its different rates,
//! and the limits of this engine.
//!
//! Switch ports are numbered over all switches: switch · radix + port. *Inputs* are in-ports of
//! switches. *Outputs* are the sending ends of links: output `port` is a switch port, output
//! `ports + nic` is a NIC. The types of these numbers are in [`ids`](crate::engine::ids).

use super::credit_return::DrainRates;
use super::rate::{MAX_PARTS, Rate};
use crate::engine::congestion::ByteRates;
use crate::engine::variant::{Any, Variant};
use crate::spec::voq::Acks;
use crate::spec::voq::{Allocator, Buffers, InputQueues, StaticPool};
use crate::spec::{FabricSpec, SpecError, Tick, Voq};
use flitwise_base::units::Ratio;

/// Most flits of a packet, answers included.
const MAX_FLITS: u32 = 1 << 15;
/// Most credits of a buffer, or of a VL in it.
const MAX_CREDITS: u32 = u16::MAX as u32;
/// Most ports of a switch.
const MAX_PORTS: u32 = Any::PORTS;
/// Largest crossbar speed-up.
const MAX_SPEEDUP: u32 = u8::MAX as u32;
/// Most different rates of links, send engines and sinks in a fabric.
const MAX_RATES: usize = Any::RATES;
/// Most VoQs: each takes 8 bytes, and 4 more with congestion control.
const MAX_QUEUES: u64 = 1 << 28;

/// The different rates of links, send engines and sinks in flits per tick, from fast to slow.
pub(in crate::engine) fn rates(spec: &FabricSpec, voq: &Voq) -> Vec<Ratio> {
    let links = &voq.links;
    let between_switches = spec.topology.directed_switch_links() > 0;
    let mut rates: Vec<_> = [
        Some(links.nic),
        between_switches.then_some(links.switch),
        voq.hca.send_rate,
        voq.hca.sink_rate,
    ]
    .into_iter()
    .flatten()
    .collect();
    rates.extend(links.exceptions.values());
    let of_links = [links.nic, links.switch];
    let of_links = of_links.iter().chain(links.exceptions.values());
    rates.extend(
        of_links
            .map(|&rate| low_rate(spec, rate))
            .filter(|_| is_slowed(spec)),
    );
    rates.extend(spec.degraded.iter().map(|degradation| degradation.rate));
    rates.sort_by(|a, b| b.cmp(a));
    rates.dedup();
    rates
}

/// Links that are down carry packets, more slowly.
fn is_slowed(spec: &FabricSpec) -> bool {
    spec.link_power
        .as_deref()
        .is_some_and(|power| power.low().is_some())
}

/// The rate of a link of `rate` while it is down; `rate` itself if it then carries nothing.
pub(super) fn low_rate(spec: &FabricSpec, rate: Ratio) -> Ratio {
    let low = spec.link_power.as_deref().and_then(|power| power.low());
    low.and_then(|low| low.rate(rate)).unwrap_or(rate)
}

/// Per NIC: the rate of its link in flits per tick.
pub(super) fn nic_link_rates(spec: &FabricSpec, voq: &Voq) -> Vec<Ratio> {
    let topology = &spec.topology;
    let rate = |nic| {
        let at = topology.attachment(nic);
        voq.links.at(topology, at.switch, at.port)
    };
    topology.endpoint_ids().map(rate).collect()
}

/// The different rates of a fabric, which are known by their index.
#[derive(Debug)]
pub(super) struct Rates(Vec<Ratio>);

impl Rates {
    pub(super) fn new(spec: &FabricSpec, voq: &Voq) -> Self {
        Self(rates(spec, voq))
    }

    /// Index of `rate`, which is one of the fabric's.
    pub(super) fn index(&self, rate: Ratio) -> u8 {
        let found = self.0.iter().position(|&known| known == rate);
        debug_assert!(found.is_some(), "a rate that the fabric does not have");
        found.unwrap_or(0) as u8
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// All rates by their index, exact to the byte.
    pub(super) fn all(&self, flit_bytes: u32) -> Vec<Rate> {
        let rate = |&rate: &Ratio| Rate::new(rate, flit_bytes);
        self.0.iter().map(rate).collect()
    }
}

/// The error that `what` exceeds the limit of `most`.
fn limit<T>(key: &'static str, what: String, most: u64) -> Result<T, SpecError> {
    let problem = format!("{what} exceed the limit of this engine, {most}");
    Err(SpecError { key, problem })
}

/// Flits of the longest packet, answers included.
fn longest_packet(spec: &FabricSpec, voq: &Voq) -> u32 {
    let ack = (voq.hca.acks != Acks::None).then(|| spec.units.flits(voq.hca.ack_bytes));
    let levels = 0..spec.qos.service_levels.len();
    levels
        .map(|sl| spec.max_flits(sl))
        .chain(ack)
        .max()
        .unwrap_or(1)
}

/// Credits of the largest packet, answers included. `check_limits` has passed.
pub(super) fn most_credits(spec: &FabricSpec, voq: &Voq) -> u16 {
    spec.units.credits(longest_packet(spec, voq)) as u16
}

/// Whether the output buffers of switches may be too full for a packet, or whether routing reads how
/// full they are.
///
/// Without speed-up, and with links of one rate, the crossbar writes packets as fast as the links
/// send them: each packet finds its link free, or waits less than a tick. Then a buffer holds
/// the packet that requests it, and the packets with a flit between grant and link. These take at
/// most a flit for every tick between grant and link, and one credit more at each end.
pub(super) fn output_buffer_may_fill(spec: &FabricSpec, voq: &Voq) -> bool {
    let stages = voq.stages;
    let grant_to_link = stages.allocation + stages.crossbar + stages.output_store;
    let most = 2 * u64::from(most_credits(spec, voq)) + grant_to_link + 3;
    voq.crossbar_speedup > 1
        || rates(spec, voq) != [voq.crossbar_rate()]
        || spec.link_power.is_some()
        || !spec.outages.is_empty()
        || !spec.degraded.is_empty()
        || spec.bit_errors.is_some()
        || spec.routing.asks_for_buffers()
        || most > u64::from(voq.buffers.output)
}

/// Whether all flits of the fabric take the same whole number of ticks to pass any link or
/// crossbar, input buffers have virtual output queues or FIFOs, the allocator is one iteration of iSLIP, NICs answer to no packet and have no sinks, and the room in the output buffers of
/// switches does not bind. Then flit i of a packet passes every place a fixed time after the
/// header.
pub(in crate::engine) fn is_plain(spec: &FabricSpec, voq: &Voq) -> bool {
    let rate = |rate: &Ratio| Rate::new(*rate, spec.units.flit_bytes);
    !output_buffer_may_fill(spec, voq)
        && rates(spec, voq).iter().all(|link| rate(link).is_plain())
        && spec.congestion_control.is_none()
        && spec.link_power.is_none()
        && matches!(
            voq.input_queues,
            InputQueues::VirtualOutput | InputQueues::Fifo
        )
        && voq.allocator == Allocator::default()
        && voq.hca.sink_rate.is_none()
        && voq.hca.acks == Acks::None
}

/// Checks the limits of this engine.
///
/// # Errors
/// If `spec` exceeds one of them.
pub(in crate::engine) fn check_limits(spec: &FabricSpec, voq: &Voq) -> Result<(), SpecError> {
    let rates = rates(spec, voq);
    check_rates(spec, voq, &rates)?;
    let topology = &spec.topology;
    let ports = u64::from(topology.switches()) * u64::from(topology.radix());
    let queues = ports
        .saturating_mul(topology.radix().into())
        .saturating_mul(spec.qos.vls.into());
    if queues > MAX_QUEUES {
        return limit(
            "fabric.topology",
            format!("{queues} virtual output queues"),
            MAX_QUEUES,
        );
    }
    if topology.radix() > MAX_PORTS {
        return limit(
            "fabric.topology",
            format!("switches of {} ports", topology.radix()),
            MAX_PORTS.into(),
        );
    }
    check_buffers(&voq.buffers)?;
    let longest = longest_packet(spec, voq);
    check_spans(spec, voq, &rates, longest)?;
    if longest > MAX_FLITS {
        return limit(
            "qos.service_levels.mtu",
            format!("packets of {longest} flits"),
            MAX_FLITS.into(),
        );
    }
    if voq.crossbar_speedup > MAX_SPEEDUP {
        return limit(
            "fabric.crossbar_speedup",
            format!("{} times the fastest link", voq.crossbar_speedup),
            MAX_SPEEDUP.into(),
        );
    }
    Ok(())
}

/// The key that gives the fabric `rate`.
fn key_of(rate: Ratio, spec: &FabricSpec, voq: &Voq) -> &'static str {
    let (links, hca) = (&voq.links, &voq.hca);
    let is = |other: Ratio| other == rate;
    let keys = [
        ("fabric.link_speed", is(links.switch)),
        ("fabric.host_link_speed", is(links.nic)),
        ("fabric.hca_send_rate", hca.send_rate.is_some_and(is)),
        ("fabric.hca_sink_rate", hca.sink_rate.is_some_and(is)),
        (
            "fabric.link_speeds",
            links.exceptions.values().any(|&own| is(own)),
        ),
        ("event", spec.degraded.iter().any(|event| is(event.rate))),
        ("fabric.crossbar_speedup", is(voq.crossbar_rate())),
    ];
    let found = keys.iter().find(|(_, is_it)| *is_it);
    found.map_or("fabric.link_speed", |(key, _)| key)
}

/// Checks that there are not too many `rates`, and that none is too fine a fraction.
fn check_rates(spec: &FabricSpec, voq: &Voq, rates: &[Ratio]) -> Result<(), SpecError> {
    if rates.len() > MAX_RATES {
        let count = rates.len();
        return limit(
            "fabric.link_speeds",
            format!("{count} different rates of links and NICs"),
            MAX_RATES as u64,
        );
    }
    let flit_bytes = spec.units.flit_bytes;
    let too_fine = |rate: &&Ratio| Rate::new(**rate, flit_bytes).parts() > MAX_PARTS;
    let crossbar = voq.crossbar_rate();
    match rates.iter().chain([&crossbar]).find(too_fine) {
        Some(rate) => limit(
            key_of(*rate, spec, voq),
            format!("{rate} flits per tick is too fine a fraction: its terms"),
            MAX_PARTS,
        ),
        None => Ok(()),
    }
}

/// Checks that the credits of a packet of `longest` flits are back within 2^32 ticks after the
/// first of them.
fn check_spans(
    spec: &FabricSpec,
    voq: &Voq,
    rates: &[Ratio],
    longest: u32,
) -> Result<(), SpecError> {
    let rate = |rate: &Ratio| Rate::new(*rate, spec.units.flit_bytes);
    let slowest = rates.last();
    let flit = slowest.map_or(1, |slowest| rate(slowest).flit_ticks());
    let packet = flit.saturating_mul(longest.into());
    // Credits of a starved Port VL return later by as many times of the packet.
    let control = spec.congestion_control.as_deref();
    let starved = control.map_or(0, |control| control.marker.largest_return_delay());
    let latency = spec.link_latency.longest();
    let inside = voq.stages.input_store + voq.stages.allocation;
    let longest = packet.saturating_mul(u64::from(starved) + 4);
    let most = longest.saturating_add(4 * (latency + inside + 1));
    if most > u32::MAX.into() {
        let what = format!("{most} ticks for the credits of a packet");
        let key = slowest.map_or("fabric.link_speed", |slowest| key_of(*slowest, spec, voq));
        return limit(key, what, u32::MAX.into());
    }
    Ok(())
}

/// Checks that no buffer has more credits than the engine can count.
fn check_buffers(buffers: &Buffers) -> Result<(), SpecError> {
    let largest_vl = |pool: &StaticPool| pool.per_vl.iter().copied().max();
    for (key, credits) in [
        ("fabric.input_buffer", largest_vl(&buffers.input)),
        ("fabric.nic_sink", largest_vl(&buffers.nic_sink)),
        ("fabric.output_buffer", Some(buffers.output)),
        ("fabric.nic_queue", Some(buffers.nic_queue)),
    ] {
        let credits = credits.unwrap_or(0);
        if credits > MAX_CREDITS {
            return limit(key, format!("{credits} credits"), MAX_CREDITS.into());
        }
    }
    Ok(())
}

/// Ticks that an event usually lies ahead at most.
pub(super) fn wheel_reach(spec: &FabricSpec, voq: &Voq, drain: &DrainRates) -> Tick {
    let (units, stages) = (spec.units, voq.stages);
    let slowest = drain.rates.last().map_or(1, |rate| rate.flit_ticks());
    let longest =
        u64::from(spec.largest_packet_credits()) * u64::from(units.flits_per_credit) * slowest;
    4 * longest
        + stages.input_store
        + stages.routing
        + stages.allocation
        + stages.crossbar
        + stages.output_store
        + 2 * spec.link_latency.longest()
}

/// Rates of all links in bytes per tick. `nic_link_rates`: rates of the links of NICs in flits per
/// tick.
pub(super) fn byte_rates(spec: &FabricSpec, voq: &Voq, nic_link_rates: Vec<Ratio>) -> ByteRates {
    let flit = Ratio::whole(spec.units.flit_bytes.into());
    let in_bytes = |rate: Ratio| rate.checked_mul(flit).unwrap_or(rate);
    ByteRates {
        nics: nic_link_rates.into_iter().map(in_bytes).collect(),
        links: rates(spec, voq).into_iter().map(in_bytes).collect(),
    }
}
