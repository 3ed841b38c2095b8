//! Checks that an InfiniBand fabric can be built and can move every packet.

use super::{
    InputQueues, Isolation, MAX_ISOLATION_QUEUES, PortStandard, StaticPool, VlArb, Voq, port_vls,
};
use crate::error::error;
use crate::spec::{FabricSpec, SpecError, check_ends, check_rate};
use crate::switch::PortVls;

/// Most service levels (IBA 1.2.1, 7.6.5).
pub const MAX_SERVICE_LEVELS: usize = 16;
/// Most entries of an arbitration table (IBA 1.2.1, 7.6.9).
pub const MAX_ARBITRATION_ENTRIES: usize = 64;

impl FabricSpec {
    /// Checks the parts of a `voq` fabric.
    pub(crate) fn validate_voq(&self, voq: &Voq) -> Result<(), SpecError> {
        if voq.crossbar_speedup == 0 {
            return error(
                "fabric.crossbar_speedup",
                "is 0; it must be at least 1".into(),
            );
        }
        if voq.allocator.iterations == 0 {
            let problem = "is 0; it must be at least 1".into();
            return error("fabric.allocator_iterations", problem);
        }
        let PortVls { port, most } = port_vls(voq.port_standard);
        if self.qos.vls > most {
            let vls = self.qos.vls;
            return error(
                "qos.sc2vl",
                format!("{vls} VLs; {port} has at most {most} for data"),
            );
        }
        let levels = self.qos.service_levels.len();
        if voq.port_standard == PortStandard::InfiniBand && levels > MAX_SERVICE_LEVELS {
            return error(
                "qos.service_levels",
                format!("{levels} service levels; InfiniBand has at most {MAX_SERVICE_LEVELS}"),
            );
        }
        self.validate_rates(voq)?;
        let used = self.qos.vls_used();
        for (key, arbiter) in [("qos.vlarb", &voq.vlarb), ("qos.hca_vlarb", &voq.hca.vlarb)] {
            validate_arbiter(key, arbiter, &used)?;
        }
        if voq.hca.ack_bytes == 0 {
            return error("fabric.ack", "an ACK has at least 1 byte".into());
        }
        self.validate_static_buffers(&used, voq)?;
        self.validate_input_queues(&used, voq)
    }

    fn validate_rates(&self, voq: &Voq) -> Result<(), SpecError> {
        let links = &voq.links;
        let rates = [
            ("fabric.link_speed", Some(links.switch)),
            ("fabric.host_link_speed", Some(links.nic)),
            ("fabric.hca_send_rate", voq.hca.send_rate),
            ("fabric.hca_sink_rate", voq.hca.sink_rate),
        ];
        let exceptions = links
            .exceptions
            .values()
            .map(|&r| ("fabric.link_speeds", Some(r)));
        for (key, rate) in rates.into_iter().chain(exceptions) {
            rate.map_or(Ok(()), |rate| check_rate(rate, key))?;
        }
        check_ends(&self.topology, &links.exceptions, "fabric.link_speeds")
    }

    fn validate_static_buffers(&self, used: &[bool], voq: &Voq) -> Result<(), SpecError> {
        let b = &voq.buffers;
        let ack = self.units.credits(self.units.flits(voq.hca.ack_bytes));
        let largest = self.largest_packet_credits().max(ack);
        for (key, pool) in [
            ("fabric.input_buffer", &b.input),
            ("fabric.nic_sink", &b.nic_sink),
        ] {
            validate_static(key, pool, used, largest)?;
        }
        for (key, total) in [
            ("fabric.output_buffer", b.output),
            ("fabric.nic_queue", b.nic_queue),
        ] {
            if total < largest {
                return error(
                    key,
                    format!(
                        "{total} credits, but the largest packet takes {largest}; enlarge the buffer or lower the MTU"
                    ),
                );
            }
        }
        Ok(())
    }
}

fn validate_static(
    key: &'static str,
    pool: &StaticPool,
    used: &[bool],
    largest: u32,
) -> Result<(), SpecError> {
    if pool.per_vl.len() != used.len() {
        let (have, want) = (pool.per_vl.len(), used.len());
        return error(key, format!("{have} sizes for {want} VLs"));
    }
    for (vl, (&credits, &used)) in pool.per_vl.iter().zip(used).enumerate() {
        if used && credits < largest {
            return error(
                key,
                format!(
                    "VL {vl} has {credits} credits, but the largest packet takes {largest}; enlarge the buffer or \
                     lower the MTU"
                ),
            );
        }
    }
    let sum: u64 = pool.per_vl.iter().map(|&credits| u64::from(credits)).sum();
    if sum > pool.total.into() {
        return error(
            key,
            format!(
                "the VLs take {sum} credits together, but the buffer has {}",
                pool.total
            ),
        );
    }
    Ok(())
}

fn validate_arbiter(key: &'static str, arbiter: &VlArb, used: &[bool]) -> Result<(), SpecError> {
    let VlArb::Tables { high, low, .. } = arbiter else {
        return Ok(());
    };
    for (name, table) in [("high", high), ("low", low)] {
        if table.len() > MAX_ARBITRATION_ENTRIES {
            let entries = table.len();
            return error(
                key,
                format!("{entries} {name}-priority entries; at most {MAX_ARBITRATION_ENTRIES}"),
            );
        }
        if let Some(entry) = table.iter().find(|e| usize::from(e.vl) >= used.len()) {
            let (vl, vls) = (entry.vl, used.len());
            return error(
                key,
                format!("a {name}-priority entry names VL {vl}, but there are {vls} VLs"),
            );
        }
    }
    let served = |vl: usize| {
        let mut entries = high.iter().chain(low);
        entries.any(|e| usize::from(e.vl) == vl && e.weight > 0)
    };
    match (0..used.len()).find(|&vl| used[vl] && !served(vl)) {
        Some(vl) => error(
            key,
            format!("VL {vl} is used but has no entry with a weight: it would never send"),
        ),
        None => Ok(()),
    }
}

impl FabricSpec {
    /// Checks the keys that depend on the organisation of a VL in input buffers. `used`: the VLs in use.
    fn validate_input_queues(&self, used: &[bool], voq: &Voq) -> Result<(), SpecError> {
        if voq.input_queues == InputQueues::PerFlow && self.congestion_control.is_some() {
            return error(
                "fabric.input_queues",
                "\"per-flow\" leaves congestion control nothing to do, as no flow takes space from another; \
                 take [congestion_control] out, or other input queues"
                    .into(),
            );
        }
        let is_isolating = voq.input_queues == InputQueues::Isolating;
        match &voq.isolation {
            None if is_isolating => error(
                "fabric.input_queues",
                "\"isolating\" needs the sizes of its queues".into(),
            ),
            Some(isolation) if is_isolating => isolation.validate(used, &voq.buffers.input.per_vl),
            Some(_) => error(
                "fabric.isolation_queues",
                "only input_queues = \"isolating\" has such queues".into(),
            ),
            None => Ok(()),
        }
    }
}

impl Isolation {
    fn validate(&self, used: &[bool], sizes: &[u32]) -> Result<(), SpecError> {
        if self.queues == 0 || self.queues > MAX_ISOLATION_QUEUES {
            let problem = format!(
                "{}; an input buffer has 1 to {MAX_ISOLATION_QUEUES} congested-flow queues for each VL",
                self.queues
            );
            return error("fabric.isolation_queues", problem);
        }
        let lists = [
            ("fabric.isolation_detect", &self.detect),
            ("fabric.isolation_stop", &self.stop),
            ("fabric.isolation_go", &self.go),
        ];
        for (key, list) in lists {
            if list.len() != used.len() {
                let (have, want) = (list.len(), used.len());
                return error(key, format!("{have} thresholds for {want} VLs"));
            }
        }
        for (vl, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            let (stop, go, size) = (self.stop[vl], self.go[vl], sizes[vl]);
            for (key, threshold) in [
                ("fabric.isolation_detect", self.detect[vl]),
                ("fabric.isolation_stop", stop),
            ] {
                if threshold == 0 || threshold > size {
                    let problem = format!(
                        "{threshold} credits on VL {vl}, which has {size}; take 1 to {size}"
                    );
                    return error(key, problem);
                }
            }
            if go >= stop {
                let problem = format!(
                    "{go} credits on VL {vl}, where flows stop at {stop}; take less, or raise isolation_stop"
                );
                return error("fabric.isolation_go", problem);
            }
        }
        Ok(())
    }
}
