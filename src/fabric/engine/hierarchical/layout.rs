//! Flat numbering of the fabric's parts, sizes that follow from the specification, and the
//! limits of this engine. Used when a fabric is built, not in any phase.
//!
//! Switch ports are numbered over all switches: port p of a switch is
//! `switch * radix + p`. The radix is a multiple of 4, so an MPort is `port / 4`. A central
//! buffer is `2 * mport + j`. Outputs `0..ports` are switch ports, and `ports + nic` is a
//! NIC. Each of these numbers has a type in [`ids`](crate::engine::ids).

use super::buffers::CentralBuffers;
use super::ledger::MAX_CREDITS;
use super::schedule::{DrainRate, MAX_FLITS, MAX_SPEEDUP};
use crate::ids::SwitchId;
use crate::spec::hierarchical::{Buffers, CentralLink, MPORT_PORTS, Pool, Quota, Timing};
use crate::spec::{Classes, FabricSpec, Hierarchical, SpecError, Tick};

/// Most MPorts of a switch. A mask of 64 bits holds the sources of an output: the four
/// input buffers of its MPort and two central buffers per MPort.
const MAX_MPORTS: u32 = 30;

/// Most queues in all buffers together; each takes 10 bytes.
const MAX_QUEUES: u64 = 1 << 28;

/// Most different rates of degraded links: a byte holds the number of one.
const MAX_RATES: usize = 255;

/// Whether a fabric has the usual rules, as variants without [`HAS_ANY_RULE`](crate::engine::variant::Variant::HAS_ANY_RULE).
pub(in crate::engine) fn is_usual(spec: &FabricSpec, switch: &Hierarchical) -> bool {
    !switch.allocator.is_in_rounds()
        && !switch.allocates_blindly()
        && !spec.routing.asks_for_waiting()
        && switch.buffers.central_link == CentralLink::ByOutput
}

/// Whether a link can ever wait for credits of a receive buffer.
///
/// A NIC consumes each flit in the tick in which it arrives. So a credit is in use for two
/// link latencies after its last flit left the switch, and at most one credit per tick is
/// taken. The packet that needs quota comes on top. With congestion control the switch also
/// checks the quota while the link carries a packet, and all credits of that packet are
/// then in use too.
pub(super) fn sinks_can_fill(spec: &FabricSpec, pool: &Pool) -> bool {
    let largest = (0..spec.qos.vls)
        .map(|vl| spec.max_credits_on_vl(vl))
        .max()
        .unwrap_or(0);
    let packets = if spec.congestion_control.is_some() {
        2
    } else {
        1
    };
    let [to_nics, _] = spec.link_latency.bound(&spec.topology, Tick::max);
    let most = 2 * to_nics + 1 + packets * u64::from(largest);
    let exclusive: u64 = pool.per_vl.iter().map(|q| u64::from(q.exclusive)).sum();
    let shareable = u64::from(pool.total).saturating_sub(exclusive);
    pool.per_vl
        .iter()
        .any(|q| most > u64::from(q.max) || most.saturating_sub(q.exclusive.into()) > shareable)
}

/// The queues of the central buffers. VLs that no packet uses have none.
pub(super) struct CentralQueues {
    classes: usize,
    /// VLs in use, ascending.
    vls: Vec<usize>,
    /// Position of each VL among the VLs in use.
    pub of_vl: Vec<u8>,
}

impl CentralQueues {
    pub(super) fn new(spec: &FabricSpec, classes: &Classes) -> Self {
        let vls: Vec<_> = (0..usize::from(spec.qos.vls))
            .filter(|&vl| spec.max_credits_on_vl(vl as u8) > 0)
            .collect();
        Self {
            classes: classes.count,
            of_vl: (0..usize::from(spec.qos.vls))
                .map(|vl| vls.iter().filter(|&&used| used < vl).count() as u8)
                .collect(),
            vls,
        }
    }

    /// Number of VLs in use.
    pub(super) fn vls(&self) -> usize {
        self.vls.len()
    }

    /// Queues per buffer.
    pub(super) fn count(&self) -> usize {
        self.classes * self.vls.len()
    }

    /// Quota of each queue, from the quota of each VL.
    pub(super) fn quotas(&self, per_vl: &[Quota]) -> Vec<Quota> {
        let one_class: Vec<_> = self.vls.iter().map(|&vl| per_vl[vl]).collect();
        one_class.repeat(self.classes)
    }

    /// Queues of a class.
    pub(super) fn of_class(&self, class: usize) -> std::ops::Range<usize> {
        class * self.vls.len()..(class + 1) * self.vls.len()
    }

    /// First queue of packets to each port, over all switches.
    pub(super) fn first_of_ports(&self, classes: &Classes) -> Vec<u16> {
        let first = |&class: &u16| class * self.vls.len() as u16;
        classes.of_port.iter().map(first).collect()
    }
}

/// The central buffers of all switches.
pub(super) fn central_buffers(
    spec: &FabricSpec,
    switch: &Hierarchical,
    queues: &CentralQueues,
    classes: &Classes,
) -> CentralBuffers {
    let topology = &spec.topology;
    let Hierarchical {
        timing, buffers, ..
    } = switch;
    let radix = topology.radix();
    let count = topology.switches() * radix / 2;
    let mut central_buffers = CentralBuffers::new(
        count as usize,
        queues.quotas(&buffers.central.per_vl),
        DrainRate::crossbar(
            timing.central_speedup,
            Some(timing.mport_speedup),
            spec.units.flits_per_credit,
        ),
    );
    for c in 0..count {
        let (at, local) = (2 * c / radix, c % (radix / 2));
        let existing = classes
            .existing(topology, SwitchId::new(at), local / 2, local % 2)
            .flat_map(|class| queues.of_class(class));
        central_buffers
            .credits
            .set_size(c as usize, buffers.central.total, existing);
    }
    central_buffers
}

/// Ticks ahead, at most, of an event that must come in exactly its tick.
pub(super) fn event_horizon(spec: &FabricSpec, timing: &Timing) -> Tick {
    let longest = (0..spec.qos.service_levels.len())
        .map(|sl| Tick::from(spec.max_flits(sl)))
        .max()
        .unwrap_or(1);
    2 * longest
        + timing.stages.input_store
        + timing.stages.routing
        + 2 * (timing.stages.allocation + timing.stages.crossbar)
        + timing.stages.output_store
        + 2 * spec.link_latency.longest()
        + 8
}

/// Checks the limits of this engine, which are narrower than the limits of a
/// [`FabricSpec`].
pub(super) fn check_limits(spec: &FabricSpec, switch: &Hierarchical) -> Result<(), SpecError> {
    let ports = u64::from(spec.topology.switches()) * u64::from(spec.topology.radix());
    let buffers = &switch.buffers;
    let classes = Classes::new(&spec.topology, buffers.central_queues, buffers.central_link);
    let classes = classes.count as u64;
    let queues = (2 * ports + ports / 2 * classes).saturating_mul(spec.qos.vls.into());
    if queues > MAX_QUEUES {
        return Err(SpecError {
            key: "fabric.topology",
            problem: format!(
                "{ports} switch ports need {queues} queues, more than the {MAX_QUEUES} supported; take a \
                 smaller fabric, fewer VLs or central_queues = \"per-vl\""
            ),
        });
    }
    let mports = spec.topology.radix() / MPORT_PORTS;
    if mports > MAX_MPORTS {
        return Err(SpecError {
            key: "fabric.topology",
            problem: format!(
                "switches of {} ports: the hierarchical switch model takes up to {}",
                spec.topology.radix(),
                MPORT_PORTS * MAX_MPORTS
            ),
        });
    }
    if spec.degraded_rates().len() > MAX_RATES {
        return Err(SpecError {
            key: "event",
            problem: format!("more than {MAX_RATES} different lower rates; take fewer"),
        });
    }
    check_buffers(&switch.buffers)?;
    check_rates(spec, &switch.timing)
}

fn check_buffers(buffers: &Buffers) -> Result<(), SpecError> {
    for (key, pool) in [
        ("fabric.input_buffer", &buffers.input),
        ("fabric.central_buffer", &buffers.central),
        ("fabric.output_buffer", &buffers.output),
        ("fabric.nic_queue", &buffers.nic_queue),
        ("fabric.nic_sink", &buffers.nic_sink),
    ] {
        if pool.total > MAX_CREDITS {
            return Err(SpecError {
                key,
                problem: format!(
                    "{} credits are above the limit of {MAX_CREDITS}; take a smaller buffer or larger credits",
                    pool.total
                ),
            });
        }
    }
    Ok(())
}

fn check_rates(spec: &FabricSpec, timing: &Timing) -> Result<(), SpecError> {
    for (sl, level) in spec.qos.service_levels.iter().enumerate() {
        let flits = spec.max_flits(sl);
        if flits > MAX_FLITS {
            return Err(SpecError {
                key: "qos.service_levels",
                problem: format!(
                    "a packet of {} has {flits} flits, at most {MAX_FLITS} are supported; lower \
                     its MTU or take larger flits",
                    level.name
                ),
            });
        }
    }
    let limits = [
        ("fabric.mport_speedup", timing.mport_speedup, MAX_SPEEDUP),
        (
            "fabric.central_speedup",
            timing.central_speedup,
            MAX_SPEEDUP,
        ),
    ];
    for (key, value, most) in limits {
        if value > most {
            return Err(SpecError {
                key,
                problem: format!("is {value}; at most {most} are supported"),
            });
        }
    }
    Ok(())
}
