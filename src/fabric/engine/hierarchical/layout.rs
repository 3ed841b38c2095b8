//! Flat numbering of the fabric's parts.
//!
//! Switch ports are numbered over all switches, `switch * radix + port`, and so
//! are MPorts, `port / 4`, because the radix is a multiple of 4. Central buffers
//! are `2 * mport + j`. Outputs `0..ports` are switch ports, `ports + nic` is a NIC.

use super::ledger::MAX_CREDITS;
use super::schedule::{MAX_FLITS, MAX_SPEEDUP};
use crate::fabric::central::Classes;
use crate::fabric::spec::{FabricSpec, Quota, SpecError};

/// Most MPorts of a switch: sources of an output are kept in a 64-bit mask, four
/// inputs and two central buffers per MPort.
const MAX_MPORTS: u32 = 30;

/// Most queues in all buffers, of 10 bytes each.
const MAX_QUEUES: u64 = 1 << 28;

/// True if a receive buffer may ever hold up its link. It is emptied as it is
/// filled, so that only credits whose last flit left the switch less than two
/// flights ago are in use, at most one per tick, besides the packet that asks. Congestion
/// control asks in every tick whether it may, so also while the link carries a packet, all of
/// whose credits are in use.
pub(super) fn sinks_can_fill(spec: &FabricSpec) -> bool {
    let pool = &spec.buffers.nic_sink;
    let largest = (0..spec.qos.vls)
        .map(|vl| spec.max_credits_on_vl(vl))
        .max()
        .unwrap_or(0);
    let packets = if spec.congestion_control.is_some() {
        2
    } else {
        1
    };
    let most = 2 * spec.timing.host_link + 1 + packets * u64::from(largest);
    let exclusive: u64 = pool.per_vl.iter().map(|q| u64::from(q.exclusive)).sum();
    let shareable = u64::from(pool.total).saturating_sub(exclusive);
    pool.per_vl
        .iter()
        .any(|q| most > u64::from(q.max) || most.saturating_sub(q.exclusive.into()) > shareable)
}

/// The queues of the central buffers: those of VLs that no packet uses are left out.
pub(super) struct CentralQueues {
    classes: usize,
    /// VLs in use, ascending.
    vls: Vec<usize>,
    /// Position of each VL among them.
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

    /// Queues per buffer.
    pub(super) fn count(&self) -> usize {
        self.classes * self.vls.len()
    }

    pub(super) fn quotas(&self, per_vl: &[Quota]) -> Vec<Quota> {
        let one_class: Vec<_> = self.vls.iter().map(|&vl| per_vl[vl]).collect();
        one_class.repeat(self.classes)
    }

    /// Queues of a class.
    pub(super) fn of_class(&self, class: usize) -> std::ops::Range<usize> {
        class * self.vls.len()..(class + 1) * self.vls.len()
    }

    /// First queue for packets to each port, over all switches.
    pub(super) fn first_of_ports(&self, classes: &Classes) -> Vec<u16> {
        let first = |&class: &u16| class * self.vls.len() as u16;
        classes.of_port.iter().map(first).collect()
    }
}

/// Checks the limits of this engine, beyond what any fabric must satisfy.
pub(super) fn check_limits(spec: &FabricSpec) -> Result<(), SpecError> {
    let ports = u64::from(spec.topology.switches()) * u64::from(spec.topology.radix());
    let classes = Classes::new(&spec.topology, spec.buffers.central_queues).count as u64;
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
    let mports = spec.topology.radix() / 4;
    if mports > MAX_MPORTS {
        return Err(SpecError {
            key: "fabric.topology",
            problem: format!(
                "switches of {} ports: the hierarchical switch model takes up to {}",
                spec.topology.radix(),
                4 * MAX_MPORTS
            ),
        });
    }
    let buffers = &spec.buffers;
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
    let longest = (0..spec.qos.service_levels.len())
        .map(|sl| spec.max_flits(sl))
        .max()
        .unwrap_or(0);
    let limits = [
        ("qos.service_levels.mtu", longest, MAX_FLITS),
        (
            "fabric.mport_speedup",
            spec.timing.mport_speedup,
            MAX_SPEEDUP,
        ),
        (
            "fabric.central_speedup",
            spec.timing.central_speedup,
            MAX_SPEEDUP,
        ),
    ];
    for (key, value, most) in limits {
        if value > most {
            return Err(SpecError {
                key,
                problem: format!("{value} (flits, or flits per tick) is above the limit {most}"),
            });
        }
    }
    Ok(())
}
