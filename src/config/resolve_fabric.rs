//! `[fabric]`: timing, and the buffers of the hierarchical switch.

use super::error::ConfigError;
use super::presets::{FabricDefaults, HierarchicalDefaults, KindDefaults};
use super::raw::{RawCentralQueues, RawFabric, RawVirtualAllocation};
use super::resolve_voq;
use crate::fabric::infiniband::SwitchKind;
use crate::fabric::spec::{
    Buffers, CentralQueues, FabricSpec, Pool, Qos, Quota, Routing, SpecError, Timing,
    VirtualAllocation,
};
use crate::fabric::topology::Topology;
use crate::units::{Bytes, Latency, PS_PER_S, Rate, Ratio, Space, TickLength};

impl From<SpecError> for ConfigError {
    fn from(e: SpecError) -> Self {
        Self::new(e.key, e.problem)
    }
}

/// Latencies and rates in ticks.
pub(super) fn timing(raw: &RawFabric, d: &FabricDefaults) -> Result<Timing, ConfigError> {
    let flit = raw.flit.map_or(d.flit, |b| b.0);
    if flit == 0 {
        return Err(ConfigError::new(
            "fabric.flit",
            "is 0; nothing would ever move: write e.g. flit = \"8B\"",
        ));
    }
    let (tick, mport_speedup, central_speedup) = match &d.kind {
        KindDefaults::Hierarchical(h) => (
            tick_of_link_rate(raw, h, flit)?,
            raw.mport_speedup.unwrap_or(h.mport_speedup),
            raw.central_speedup.unwrap_or(h.central_speedup),
        ),
        KindDefaults::Voq(v) => (resolve_voq::tick(raw, v, flit)?, 1, 1),
    };
    let ticks = |given: Option<Latency>, default: Latency| given.unwrap_or(default).ticks(tick);
    Ok(Timing {
        tick,
        flit_bytes: small(flit, "fabric.flit")?,
        link: ticks(raw.link_latency, d.link),
        host_link: ticks(raw.host_link_latency, d.host_link),
        input_store: ticks(raw.input_latency, d.input),
        routing: ticks(raw.routing_latency, d.routing),
        allocation: ticks(raw.allocation_latency, d.allocation),
        allocation_gap: ticks(raw.allocation_gap, Latency::Ticks(0)),
        crossbar: ticks(raw.crossbar_latency, d.crossbar),
        output_store: ticks(raw.output_latency, d.output),
        mport_speedup,
        central_speedup,
    })
}

/// One tick of the hierarchical switch moves one flit: flit / rate.
fn tick_of_link_rate(
    raw: &RawFabric,
    d: &HierarchicalDefaults,
    flit: u64,
) -> Result<TickLength, ConfigError> {
    let rate = raw.link_rate.unwrap_or(Rate(Ratio::whole(d.link_rate))).0;
    if rate.is_zero() {
        return Err(ConfigError::new(
            "fabric.link_rate",
            "is 0; nothing would ever move: write e.g. link_rate = \"12.5GB/s\"",
        ));
    }
    let num = u128::from(flit) * u128::from(PS_PER_S) * u128::from(rate.den());
    let tick = Ratio::reduced(num, rate.num().into()).and_then(TickLength::new);
    let problem = || {
        format!(
            "a flit of {flit} B at {rate} B/s takes less than a picosecond; choose a lower rate or a \
             larger flit"
        )
    };
    tick.ok_or_else(|| ConfigError::new("fabric.link_rate", problem()))
}

pub(super) fn small(value: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(value).map_err(|_| ConfigError::new(key, "is larger than 4 GiB"))
}

/// What a quota is computed from.
pub(super) struct Sizes {
    pub flit: u64,
    pub flits_per_credit: u32,
    /// Credits of the largest packet of all.
    pub packet: u32,
}

impl Sizes {
    /// Credits of the whole buffer `key`.
    pub fn total(&self, value: Option<Bytes>, default: u64, key: &str) -> Result<u32, ConfigError> {
        let credit = self.flit * u64::from(self.flits_per_credit);
        let bytes = value.map_or(default, |b| b.0);
        if bytes < credit || !bytes.is_multiple_of(credit) {
            return Err(ConfigError::new(
                key,
                format!("{bytes} B must be a whole number of credits of {credit} B"),
            ));
        }
        small(bytes / credit, key)
    }

    /// Credits that `space` is in a buffer of `total` credits.
    pub fn credits(&self, space: Space, total: u32, packet: u32) -> u32 {
        let credit = self.flit * u64::from(self.flits_per_credit);
        let credits = match space {
            Space::Packets(n) => n.saturating_mul(packet.into()),
            Space::Credits(n) => n,
            Space::Bytes(n) => n / credit.max(1),
            Space::Share(share) => share.mul_floor(total.into()),
        };
        u32::try_from(credits).unwrap_or(u32::MAX)
    }
}

/// Credits per flit and bytes.
pub(super) fn flits_per_credit(
    raw: &RawFabric,
    d: &FabricDefaults,
    t: &Timing,
) -> Result<u32, ConfigError> {
    let credit = raw.credit.map_or(d.credit, |b| b.0);
    let flit = u64::from(t.flit_bytes);
    if flit == 0 || credit == 0 || !credit.is_multiple_of(flit) {
        return Err(ConfigError::new(
            "fabric.credit",
            format!("a credit of {credit} B must be a whole number of flits of {flit} B"),
        ));
    }
    small(credit / flit, "fabric.credit")
}

/// All that only a hierarchical fabric has: virtual allocation and its buffers, which are
/// replaced in `spec`.
pub(super) fn buffers(
    raw: &RawFabric,
    all: &FabricDefaults,
    d: &HierarchicalDefaults,
    spec: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let flits_per_credit = spec.buffers.flits_per_credit;
    let vls = usize::from(spec.qos.vls);
    let packets: Vec<u32> = (0..spec.qos.vls)
        .map(|vl| spec.max_credits_on_vl(vl))
        .collect();
    let sizes = Sizes {
        flit: spec.timing.flit_bytes.into(),
        flits_per_credit,
        packet: packets.iter().copied().max().unwrap_or(1),
    };
    let total = |value, default, key| sizes.total(value, default, key);
    let max = raw.max.unwrap_or(d.max);
    let pool = |total: u32| {
        let quota = |space: Space| sizes.credits(space, total, sizes.packet);
        let exclusive = match raw.exclusive {
            Some(space) => quota(space),
            // The default falls back where it does not fit.
            None => {
                let fits =
                    |&x: &u32| u64::from(x) * vls as u64 <= u64::from(total) && x <= quota(max);
                Some(quota(d.exclusive[0]))
                    .filter(fits)
                    .unwrap_or(quota(d.exclusive[1]))
            }
        };
        let max = quota(max).min(total);
        let of_vl = |&packet: &u32| {
            if packet == 0 {
                Quota {
                    exclusive: 0,
                    max: 0,
                }
            } else {
                Quota { exclusive, max }
            }
        };
        Pool {
            total,
            per_vl: packets.iter().map(of_vl).collect(),
        }
    };
    let central_total = total(
        raw.central_buffer,
        d.central_buffer,
        "fabric.central_buffer",
    )?;
    let central_max = raw.central_max.unwrap_or(max);
    let central = |&packet: &u32| {
        let space = raw.central_exclusive.unwrap_or(Space::Packets(1));
        let max = sizes
            .credits(central_max, central_total, packet)
            .min(central_total);
        let quota = Quota {
            exclusive: sizes.credits(space, central_total, packet),
            max,
        };
        if packet == 0 {
            Quota {
                exclusive: 0,
                max: 0,
            }
        } else {
            quota
        }
    };
    spec.virtual_allocation = match raw.virtual_allocation {
        None | Some(RawVirtualAllocation::Informed) => VirtualAllocation::Informed,
        Some(RawVirtualAllocation::Blind) => VirtualAllocation::Blind,
    };
    spec.buffers = Buffers {
        flits_per_credit,
        nic_queue: pool(total(raw.nic_queue, all.nic_queue, "fabric.nic_queue")?),
        nic_sink: pool(total(raw.nic_sink, all.nic_sink, "fabric.nic_sink")?),
        input: pool(total(
            raw.input_buffer,
            all.input_buffer,
            "fabric.input_buffer",
        )?),
        output: pool(total(
            raw.output_buffer,
            all.output_buffer,
            "fabric.output_buffer",
        )?),
        central: Pool {
            total: central_total,
            per_vl: packets.iter().map(central).collect(),
        },
        central_queues: match raw.central_queues {
            None | Some(RawCentralQueues::PerNeighbour) => CentralQueues::PerNeighbour,
            Some(RawCentralQueues::PerVl) => CentralQueues::PerVl,
        },
    };
    Ok(())
}

/// A specification with everything but its buffers.
pub(super) fn without_buffers(
    topology: Topology,
    routing: Routing,
    timing: Timing,
    qos: Qos,
    header_bytes: u32,
    flits_per_credit: u32,
) -> FabricSpec {
    let none = || Pool {
        total: 0,
        per_vl: Vec::new(),
    };
    let buffers = Buffers {
        flits_per_credit,
        nic_queue: none(),
        nic_sink: none(),
        input: none(),
        output: none(),
        central: none(),
        central_queues: CentralQueues::PerNeighbour,
    };
    FabricSpec {
        topology,
        routing,
        timing,
        virtual_allocation: VirtualAllocation::Informed,
        buffers,
        qos,
        header_bytes,
        kind: SwitchKind::Hierarchical,
        congestion_control: None,
    }
}

/// Header bytes of a packet.
pub(super) fn header(raw: &RawFabric, d: &FabricDefaults) -> Result<u32, ConfigError> {
    small(raw.header.map_or(d.header, |b| b.0), "fabric.header")
}
