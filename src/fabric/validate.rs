//! Whether a fabric can be built and can move every packet (`docs/model.md`,
//! sections 2 and 3, literally).

use super::central::Classes;
use super::infiniband::SwitchKind;
use super::spec::{DTABLE_UNIT_BYTES, FabricSpec, Pool, Qos, Scheduler, SpecError};

/// Most SLs, SCs, VLs and traffic classes (Hiperion, section 2.1).
pub const MAX_LEVELS: usize = 32;
/// Longest latency of one pipeline stage or link in ticks: far beyond any fabric
/// (168 us at 640 ps), while the event calendar stays below some 100 MB.
pub const MAX_LATENCY_TICKS: u64 = 1 << 18;
/// Largest weight of a DTable entry in units of 64 B (64 GiB), so that sums of a few stay
/// in range.
pub const MAX_DTABLE_WEIGHT: u32 = 1 << 30;
/// Service channel reserved for fabric management (Hiperion, section 2.1).
pub const MANAGEMENT_SC: u8 = 15;

fn error<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}

impl FabricSpec {
    /// Checks that the numbers are in range, that the QoS tables agree with each
    /// other, and that every buffer holds its exclusive quotas and can take the
    /// largest packet of every VL.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.validate_all(true)
    }

    /// As [`FabricSpec::validate`], but the dateline classes of a service level may
    /// share a VL or an SC on rings: such a fabric can deadlock and does not run, yet
    /// it can be analysed.
    ///
    /// # Errors
    /// As [`FabricSpec::validate`].
    pub fn validate_but_datelines(&self) -> Result<(), SpecError> {
        self.validate_all(false)
    }

    fn validate_all(&self, datelines: bool) -> Result<(), SpecError> {
        self.validate_timing()?;
        let classes = self.needs_classes();
        let most_scs = if classes { 2 } else { usize::MAX };
        self.qos.validate_levels(most_scs)?;
        if datelines && classes {
            self.qos.validate_datelines()?;
        }
        self.validate_congestion()?;
        if let SwitchKind::Voq(voq) = &self.kind {
            return self.validate_voq(voq);
        }
        let b = &self.buffers;
        for (key, pool) in [
            ("fabric.nic_queue", &b.nic_queue),
            ("fabric.nic_sink", &b.nic_sink),
            ("fabric.input_buffer", &b.input),
            ("fabric.output_buffer", &b.output),
        ] {
            self.validate_pool(key, pool)?;
        }
        self.validate_central()?;
        self.validate_scheduler()
    }

    fn validate_timing(&self) -> Result<(), SpecError> {
        let t = &self.timing;
        for (key, value) in [
            ("fabric.flit", t.flit_bytes.into()),
            ("fabric.link_latency", t.link),
            ("fabric.host_link_latency", t.host_link),
            ("fabric.allocation_latency", t.allocation),
            ("fabric.crossbar_latency", t.crossbar),
            ("fabric.mport_speedup", t.mport_speedup.into()),
            ("fabric.central_speedup", t.central_speedup.into()),
            ("fabric.credit", self.buffers.flits_per_credit.into()),
        ] {
            if value == 0 {
                return error(key, "is 0; it must be at least 1 (tick, byte, flit)".into());
            }
        }
        for (key, ticks) in [
            ("fabric.link_latency", t.link),
            ("fabric.host_link_latency", t.host_link),
            ("fabric.input_latency", t.input_store),
            ("fabric.routing_latency", t.routing),
            ("fabric.allocation_latency", t.allocation),
            ("fabric.crossbar_latency", t.crossbar),
            ("fabric.output_latency", t.output_store),
        ] {
            if ticks > MAX_LATENCY_TICKS {
                let problem = format!(
                    "{ticks} ticks of {} ps; at most {MAX_LATENCY_TICKS} ticks are supported",
                    t.tick.length_ps()
                );
                return error(key, problem);
            }
        }
        if t.allocation_gap > t.allocation {
            let problem = format!(
                "{} ticks are more than the {} of an allocation; at most all of it can wait for the \
                 transfer before it: lower the gap or raise allocation_latency",
                t.allocation_gap, t.allocation
            );
            return error("fabric.allocation_gap", problem);
        }
        if t.allocation_gap > 0 && matches!(self.kind, SwitchKind::Voq(_)) {
            let problem = "is for the hierarchical switch; leave it out with switch = \"voq\"";
            return error("fabric.allocation_gap", problem.into());
        }
        Ok(())
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
    fn validate_central(&self) -> Result<(), SpecError> {
        const KEY: &str = "fabric.central_buffer";
        let pool = &self.buffers.central;
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
        let all = Classes::new(topology, self.buffers.central_queues);
        for switch in 0..topology.switches() {
            for buffer in 0..topology.radix() / 2 {
                let existing = all.existing(topology, switch, buffer / 2, buffer % 2);
                let classes = existing.count() as u64;
                let exclusive = per_class.saturating_mul(classes);
                if exclusive > pool.total.into() {
                    return error(
                        KEY,
                        format!(
                            "central buffer {buffer} of switch {switch} has queues towards {classes} neighbours \
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

    fn validate_scheduler(&self) -> Result<(), SpecError> {
        let sls = &self.qos.service_levels;
        match &self.qos.scheduler {
            Scheduler::RrVl => Ok(()),
            Scheduler::Sbt { weights } if weights.len() != sls.len() => error(
                "qos.scheduler",
                format!(
                    "{} SBT weights for {} service levels",
                    weights.len(),
                    sls.len()
                ),
            ),
            Scheduler::Sbt { weights } if weights.iter().all(|&w| w == 0) => error(
                "qos.scheduler",
                "all SBT weights are 0; at least one must be positive".into(),
            ),
            Scheduler::Sbt { weights } => {
                let sum: u64 = weights.iter().map(|&w| u64::from(w)).sum();
                if sum > u32::MAX.into() {
                    let most = u32::MAX;
                    return error(
                        "qos.scheduler",
                        format!("the SBT weights add up to {sum}; at most {most} is supported"),
                    );
                }
                Ok(())
            }
            Scheduler::DTable { entries } => {
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
                    let bytes = u64::from(self.max_flits(sl)) * u64::from(self.timing.flit_bytes);
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
    }
}

impl Qos {
    /// Checks service levels, each with at most `most_scs` SCs, and VLs; not the scheduler.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    pub(crate) fn validate_levels(&self, most_scs: usize) -> Result<(), SpecError> {
        let sls = &self.service_levels;
        if sls.is_empty() || sls.len() > MAX_LEVELS {
            let n = sls.len();
            return error(
                "qos.service_levels",
                format!("{n} service levels; there must be 1 to {MAX_LEVELS}"),
            );
        }
        if self.vls == 0 || usize::from(self.vls) > MAX_LEVELS {
            return error(
                "qos.sc2vl",
                format!("{} VLs; there must be 1 to {MAX_LEVELS}", self.vls),
            );
        }
        let mut owner: [Option<&str>; MAX_LEVELS] = [None; MAX_LEVELS];
        for level in sls {
            let name = level.name.as_str();
            if level.scs.is_empty() {
                return error(
                    "qos.service_levels",
                    format!("{name} has no SC; give it at least one"),
                );
            }
            if level.mtu_bytes == 0 {
                return error(
                    "qos.service_levels",
                    format!("{name}: an MTU of 0 bytes carries nothing"),
                );
            }
            for &sc in &level.scs {
                self.validate_sc(name, sc, &mut owner)?;
            }
            if level.scs.len() > most_scs {
                return error("qos.service_levels", wrong_classes(name, level.scs.len()));
            }
        }
        Ok(())
    }

    fn validate_sc<'a>(
        &self,
        name: &'a str,
        sc: u8,
        owner: &mut [Option<&'a str>; MAX_LEVELS],
    ) -> Result<(), SpecError> {
        let Some(slot) = owner.get_mut(usize::from(sc)) else {
            return error("qos.service_levels", format!("{name}: SC {sc} is above 31"));
        };
        if sc == MANAGEMENT_SC {
            let problem =
                format!("{name}: SC {sc} is reserved for fabric management; take another SC");
            return error("qos.service_levels", problem);
        }
        if let Some(other) = slot.replace(name) {
            return error(
                "qos.service_levels",
                format!(
                    "SC {sc} is listed by {other} and by {name}; an SC belongs to one SL, once"
                ),
            );
        }
        match self.sc2vl[usize::from(sc)] {
            Some(vl) if vl < self.vls => Ok(()),
            Some(vl) => error(
                "qos.sc2vl",
                format!(
                    "SC {sc} of {name}: VL {vl} is not below the {} VLs",
                    self.vls
                ),
            ),
            None => error(
                "qos.sc2vl",
                format!(
                    "SC {sc} of {name} has no VL; the list needs {} entries",
                    sc + 1
                ),
            ),
        }
    }

    /// On rings every SL needs two dateline classes, on VLs of their own.
    fn validate_datelines(&self) -> Result<(), SpecError> {
        let mut levels = self.service_levels.iter();
        levels.try_for_each(|level| validate_classes(self, &level.name, &level.scs))
    }
}

fn wrong_classes(name: &str, scs: usize) -> String {
    format!(
        "{name} has {scs} SCs; on a torus it needs exactly 2, the dateline classes, and so it does on a dragonfly"
    )
}

/// On a ring the first two SCs are dateline classes and need their own VLs.
fn validate_classes(qos: &Qos, name: &str, scs: &[u8]) -> Result<(), SpecError> {
    let [zero, one] = *scs else {
        return error("qos.service_levels", wrong_classes(name, scs.len()));
    };
    let vl = |sc: u8| qos.sc2vl.get(usize::from(sc)).copied().flatten();
    if vl(zero) == vl(one) {
        return error(
            "qos.sc2vl",
            format!(
                "SC {zero} and SC {one} of {name} share a VL; on a torus they need two, else it deadlocks, and so does a dragonfly"
            ),
        );
    }
    Ok(())
}
