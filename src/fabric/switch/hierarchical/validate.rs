//! Checks that hierarchical switches can be built, and that they can move every packet as
//! `docs/model/fabric.md` requires in sections 2 and 3.

use super::{
    AllocationRule, Allocator, Classes, DTABLE_UNIT_BYTES, DTableEntry, Hierarchical, Pool,
    Scheduler, Timing, VirtualAllocation,
};
use crate::error::error;
use crate::spec::validate::MAX_DTABLE_WEIGHT;
use crate::spec::{FabricSpec, SpecError};

impl FabricSpec {
    /// Checks the timing, the buffers and the scheduler of hierarchical switches.
    pub(crate) fn validate_hierarchical(&self, switch: &Hierarchical) -> Result<(), SpecError> {
        let b = &switch.buffers;
        for (key, pool) in [
            ("fabric.nic_queue", &b.nic_queue),
            ("fabric.nic_sink", &b.nic_sink),
            ("fabric.input_buffer", &b.input),
            ("fabric.output_buffer", &b.output),
        ] {
            self.validate_pool(key, pool)?;
        }
        validate_allocator(switch)?;
        self.validate_central(switch)?;
        self.validate_scheduler(&switch.scheduler)
    }

    /// Checks latencies and speed-ups.
    pub(crate) fn validate_hierarchical_timing(&self, t: &Timing) -> Result<(), SpecError> {
        let Timing {
            stages,
            mport_speedup,
            central_speedup,
        } = *t;
        for (key, speedup) in [
            ("fabric.mport_speedup", mport_speedup),
            ("fabric.central_speedup", central_speedup),
        ] {
            if speedup == 0 {
                return error(key, "is 0; it must be at least 1 (tick, byte, flit)".into());
            }
        }
        self.validate_stages(&stages)
    }

    /// Credits of the largest packet of every VL; 0 where no SL uses the VL.
    fn packet_credits(&self) -> Vec<u32> {
        (0..self.qos.vls)
            .map(|vl| self.max_credits_on_vl(vl))
            .collect()
    }

    fn validate_pool(&self, key: &'static str, pool: &Pool) -> Result<(), SpecError> {
        self.validate_quota_list(key, pool)?;
        let exclusive: u64 = pool.per_vl.iter().map(|q| u64::from(q.exclusive)).sum();
        if exclusive > pool.total.into() {
            return error(
                key,
                format!(
                    "the exclusive quotas of {} VLs add up to {exclusive} credits, but the buffer has {}; \
                     lower `exclusive` or enlarge the buffer",
                    pool.per_vl.len(),
                    pool.total
                ),
            );
        }
        let shared = u64::from(pool.total) - exclusive;
        self.validate_fit(key, pool, shared)
    }

    fn validate_quota_list(&self, key: &'static str, pool: &Pool) -> Result<(), SpecError> {
        if pool.per_vl.len() != usize::from(self.qos.vls) {
            let (have, want) = (pool.per_vl.len(), self.qos.vls);
            return error(key, format!("{have} quotas for {want} VLs"));
        }
        match pool.per_vl.iter().position(|q| q.exclusive > q.max) {
            None => Ok(()),
            Some(vl) => {
                let q = pool.per_vl[vl];
                error(
                    key,
                    format!(
                        "VL {vl}: {} exclusive credits are more than the {} it may use at most \
                         (the largest packet takes {}); lower `exclusive` or the MTU, raise `max` \
                         or enlarge the buffer",
                        q.exclusive,
                        q.max,
                        self.max_credits_on_vl(vl as u8),
                    ),
                )
            }
        }
    }

    /// The largest packet of every VL must fit into the empty buffer.
    fn validate_fit(&self, key: &'static str, pool: &Pool, shared: u64) -> Result<(), SpecError> {
        for (vl, (&credits, quota)) in self.packet_credits().iter().zip(&pool.per_vl).enumerate() {
            let within_max = credits <= quota.max && credits <= pool.total;
            let borrowed = u64::from(credits.saturating_sub(quota.exclusive));
            if !within_max || borrowed > shared {
                return error(
                    key,
                    format!(
                        "the largest packet on VL {vl} takes {credits} credits, but VL {vl} can have at most {} \
                         ({} exclusive, {} at most, {shared} shared); lower the MTU or enlarge the buffer",
                        u64::from(quota.max).min(u64::from(quota.exclusive) + shared),
                        quota.exclusive,
                        quota.max
                    ),
                );
            }
        }
        Ok(())
    }

    /// Central buffers: only existing queues count.
    fn validate_central(&self, switch: &Hierarchical) -> Result<(), SpecError> {
        const KEY: &str = "fabric.central_buffer";
        let pool = &switch.buffers.central;
        self.validate_quota_list(KEY, pool)?;
        let used = self.packet_credits();
        // Exclusive credits of the queues of one class.
        let per_class: u64 = pool
            .per_vl
            .iter()
            .zip(&used)
            .filter(|&(_, &credits)| credits > 0)
            .map(|(q, _)| u64::from(q.exclusive))
            .sum();
        let mut most = 0;
        let topology = &self.topology;
        let buffers = &switch.buffers;
        let all = Classes::new(topology, buffers.central_queues, buffers.central_link);
        for at in topology.switch_ids() {
            for buffer in 0..topology.radix() / 2 {
                let existing = all.existing(topology, at, buffer / 2, buffer % 2);
                let classes = existing.count() as u64;
                let exclusive = per_class.saturating_mul(classes);
                if exclusive > pool.total.into() {
                    return error(
                        KEY,
                        format!(
                            "central buffer {buffer} of switch {at} has queues towards {classes} neighbours \
                             whose exclusive quotas add up to {exclusive} credits, but the buffer has {}; lower \
                             `central_exclusive`, the MTUs or the number of VLs, or enlarge the buffer",
                            pool.total
                        ),
                    );
                }
                if classes > 0 {
                    most = most.max(exclusive);
                }
            }
        }
        self.validate_fit(KEY, pool, u64::from(pool.total) - most)
    }

    fn validate_scheduler(&self, scheduler: &Scheduler) -> Result<(), SpecError> {
        let sls = self.qos.service_levels.len();
        match scheduler {
            Scheduler::RrVl => Ok(()),
            Scheduler::Sbt { weights } => validate_sbt(weights, sls),
            Scheduler::DTable { entries } => self.validate_dtable(entries),
        }
    }

    /// Every entry can send the largest packet of its service level, and every level has one.
    fn validate_dtable(&self, entries: &[DTableEntry]) -> Result<(), SpecError> {
        let sls = &self.qos.service_levels;
        for (i, entry) in entries.iter().enumerate() {
            let sl = usize::from(entry.sl);
            let Some(level) = sls.get(sl) else {
                return error(
                    "qos.dtable",
                    format!("entry {i} names SL {sl}, but there are {}", sls.len()),
                );
            };
            if entry.weight > MAX_DTABLE_WEIGHT {
                return error(
                    "qos.dtable",
                    format!(
                        "entry {i} gives {} a weight of {}; at most {MAX_DTABLE_WEIGHT} units \
                         of 64 B are supported",
                        level.name, entry.weight
                    ),
                );
            }
            let bytes = u64::from(self.max_flits(sl)) * u64::from(self.units.flit_bytes);
            let packet = bytes.div_ceil(DTABLE_UNIT_BYTES.into());
            if u64::from(entry.weight) < packet {
                return error(
                    "qos.dtable",
                    format!(
                        "entry {i} gives {} a weight of {}, less than its largest packet of {packet} \
                         units of 64 B; raise k, its share or its distance",
                        level.name, entry.weight
                    ),
                );
            }
        }
        match (0..sls.len()).find(|&sl| entries.iter().all(|e| usize::from(e.sl) != sl)) {
            None => Ok(()),
            Some(sl) => error(
                "qos.dtable",
                format!("{} has no entry: it would never send", sls[sl].name),
            ),
        }
    }
}

/// Most iterations of a round.
const MAX_ITERATIONS: u32 = 64;

/// The parts of the allocator fit together.
fn validate_allocator(switch: &Hierarchical) -> Result<(), SpecError> {
    let Allocator { rule, iterations } = switch.allocator;
    if !(1..=MAX_ITERATIONS).contains(&iterations) {
        let problem = format!("is {iterations}; a round has 1 to {MAX_ITERATIONS} iterations");
        return error("fabric.allocator_iterations", problem);
    }
    if rule != AllocationRule::Rounds && iterations > 1 {
        let problem = "only rounds have iterations; add allocator = \"rounds\" or remove it";
        return error("fabric.allocator_iterations", problem.into());
    }
    if rule == AllocationRule::Rounds && switch.virtual_allocation == VirtualAllocation::Informed {
        let problem = "in rounds (fabric.allocator) virtual allocation is \"blind\"; remove it";
        return error("fabric.virtual_allocation", problem.into());
    }
    Ok(())
}

/// A weight for each of `sls` service levels, not all of them 0.
fn validate_sbt(weights: &[u32], sls: usize) -> Result<(), SpecError> {
    const KEY: &str = "qos.scheduler";
    if weights.len() != sls {
        let have = weights.len();
        return error(KEY, format!("{have} SBT weights for {sls} service levels"));
    }
    let sum: u64 = weights.iter().map(|&w| u64::from(w)).sum();
    if sum == 0 {
        return error(
            KEY,
            "all SBT weights are 0; at least one must be positive".into(),
        );
    }
    if sum > u32::MAX.into() {
        let most = u32::MAX;
        return error(
            KEY,
            format!("the SBT weights add up to {sum}; at most {most} is supported"),
        );
    }
    Ok(())
}
