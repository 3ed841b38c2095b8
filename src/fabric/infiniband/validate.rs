//! Whether an InfiniBand fabric can be built and can move every packet.

use super::{ForwardingTables, Notification, SwitchKind, VlArb, VlMap, Voq};
use crate::fabric::spec::{FabricSpec, Pool, SpecError};
use crate::fabric::topology::{Peer, Topology};
use crate::fabric::validate::MAX_LATENCY_TICKS;
use crate::units::Ratio;

/// Most data VLs: the sixteenth is for management (IBA 1.2.1, 7.6).
pub const MAX_DATA_VLS: u8 = 15;
/// Most service levels (IBA 1.2.1, 7.6.5).
pub const MAX_SERVICE_LEVELS: usize = 16;
/// Most entries of an arbitration table (IBA 1.2.1, 7.6.9).
pub const MAX_ARBITRATION_ENTRIES: usize = 64;
/// Largest term of a rate, so that the moments of servers stay within 128 bits.
const MAX_RATE_TERM: u64 = 1 << 40;

fn error<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}

impl FabricSpec {
    /// Checks what belongs to congestion control; both kinds of switch have it.
    pub(in crate::fabric) fn validate_congestion(&self) -> Result<(), SpecError> {
        let Some(control) = &self.congestion_control else {
            return Ok(());
        };
        control.validate(&self.topology, self.qos.service_levels.len())?;
        let acks = match &self.kind {
            SwitchKind::Hierarchical => false,
            SwitchKind::Voq(voq) => voq.hca.acks != super::Acks::None,
        };
        match control.notification {
            Notification::Cnp { bytes: 0 } => {
                error("congestion_control.cnp", "a CNP of 0 bytes".into())
            }
            Notification::Ack | Notification::AckNow if !acks => error(
                "congestion_control.notification",
                "a BECN cannot travel on ACKs, because adapters send none; use CNPs or set \
                 `fabric.acks`"
                    .into(),
            ),
            Notification::Cnp { .. } | Notification::Ack | Notification::AckNow => Ok(()),
        }
    }

    /// Checks the parts of a `voq` fabric.
    pub(in crate::fabric) fn validate_voq(&self, voq: &Voq) -> Result<(), SpecError> {
        if voq.crossbar_speedup == 0 {
            return error(
                "fabric.crossbar_speedup",
                "is 0; it must be at least 1".into(),
            );
        }
        if self.qos.vls > MAX_DATA_VLS {
            let vls = self.qos.vls;
            return error(
                "qos.sc2vl",
                format!("{vls} VLs; an InfiniBand port has at most {MAX_DATA_VLS} for data"),
            );
        }
        let levels = self.qos.service_levels.len();
        if levels > MAX_SERVICE_LEVELS {
            return error(
                "qos.service_levels",
                format!("{levels} service levels; InfiniBand has {MAX_SERVICE_LEVELS}"),
            );
        }
        self.validate_rates(voq)?;
        self.validate_vl_map(&voq.vl_map)?;
        if let Some(tables) = &voq.forwarding {
            if self.needs_classes() {
                return error(
                    "fabric.forwarding",
                    "on a ring or dragonfly the dateline classes follow the fabric's own routing; give SL-to-VL \
                     tables with the forwarding tables"
                        .into(),
                );
            }
            validate_forwarding(&self.topology, tables)?;
        }
        let used = self.vls_used(voq);
        for (key, arbiter) in [("qos.vlarb", &voq.vlarb), ("qos.hca_vlarb", &voq.hca.vlarb)] {
            validate_arbiter(key, arbiter, &used)?;
        }
        if voq.hca.ack_bytes == 0 {
            return error("fabric.ack", "an ACK of 0 bytes".into());
        }
        self.validate_static_buffers(&used, voq)
    }

    /// Credits of the largest packet of any SL, or of a CNP.
    #[must_use]
    pub fn largest_packet_credits(&self) -> u32 {
        (0..self.qos.service_levels.len())
            .map(|sl| self.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }

    fn validate_rates(&self, voq: &Voq) -> Result<(), SpecError> {
        let links = &voq.links;
        let rates = [
            ("fabric.link_speed", Some(links.switch)),
            ("fabric.host_link_speed", Some(links.host)),
            ("fabric.hca_send_rate", voq.hca.send_rate),
            ("fabric.hca_sink_rate", voq.hca.sink_rate),
        ];
        let exceptions = links
            .exceptions
            .values()
            .map(|&r| ("fabric.link_speeds", Some(r)));
        for (key, rate) in rates.into_iter().chain(exceptions) {
            validate_rate(key, rate)?;
        }
        for &(switch, port) in links.exceptions.keys() {
            let exists = switch < self.topology.switches() && port < self.topology.radix();
            if !exists || self.topology.peer(switch, port) == Peer::None {
                return error(
                    "fabric.link_speeds",
                    format!("port {port} of switch {switch} has no link"),
                );
            }
            if let Peer::Switch {
                switch: far,
                port: entry,
            } = self.topology.peer(switch, port)
                && links
                    .exceptions
                    .get(&(far, entry))
                    .is_some_and(|r| *r != links.exceptions[&(switch, port)])
            {
                return error(
                    "fabric.link_speeds",
                    format!(
                        "the two ends of the link at port {port} of switch {switch} have different speeds"
                    ),
                );
            }
        }
        Ok(())
    }

    fn validate_vl_map(&self, map: &VlMap) -> Result<(), SpecError> {
        let VlMap::SlToVl(tables) = map else {
            return Ok(());
        };
        let levels = self.qos.service_levels.len();
        let all = [&tables.default];
        for table in all
            .into_iter()
            .chain(tables.hcas.values())
            .chain(tables.ports.values())
        {
            if table.len() < levels {
                return error(
                    "fabric.sl2vl",
                    format!("{} entries for {levels} service levels", table.len()),
                );
            }
            if let Some(vl) = table[..levels].iter().find(|&&vl| vl >= self.qos.vls) {
                return error(
                    "fabric.sl2vl",
                    format!("VL {vl} is not below the {} VLs", self.qos.vls),
                );
            }
        }
        let (nics, switches, radix) = (
            self.topology.nics(),
            self.topology.switches(),
            self.topology.radix(),
        );
        if let Some(hca) = tables.hcas.keys().find(|&&hca| hca >= nics) {
            return error("fabric.sl2vl", format!("there is no adapter {hca}"));
        }
        let stray = |&&(switch, input, output): &&(u32, u32, u32)| {
            switch >= switches || input >= radix || output >= radix
        };
        if let Some((switch, input, output)) = tables.ports.keys().find(stray) {
            return error(
                "fabric.sl2vl",
                format!("switch {switch} has no ports {input} and {output}"),
            );
        }
        Ok(())
    }

    /// True for each VL that packets may travel on.
    pub(crate) fn vls_used(&self, voq: &Voq) -> Vec<bool> {
        let levels = self.qos.service_levels.len();
        let mut used = vec![false; usize::from(self.qos.vls)];
        match &voq.vl_map {
            VlMap::ServiceChannels => {
                for (vl, used) in used.iter_mut().enumerate() {
                    *used = self.max_credits_on_vl(vl as u8) > 0;
                }
            }
            VlMap::SlToVl(t) => {
                let all = [&t.default]
                    .into_iter()
                    .chain(t.hcas.values())
                    .chain(t.ports.values());
                for &vl in all.flat_map(|table| table.iter().take(levels)) {
                    if let Some(used) = used.get_mut(usize::from(vl)) {
                        *used = true;
                    }
                }
            }
        }
        used
    }

    fn validate_static_buffers(&self, used: &[bool], voq: &Voq) -> Result<(), SpecError> {
        let b = &self.buffers;
        let ack = self.credits(self.timing.flits(voq.hca.ack_bytes, 0));
        let largest = self.largest_packet_credits().max(ack);
        for (key, pool) in [
            ("fabric.input_buffer", &b.input),
            ("fabric.nic_sink", &b.nic_sink),
        ] {
            validate_static(key, pool, used, largest)?;
        }
        for (key, total) in [
            ("fabric.output_buffer", b.output.total),
            ("fabric.nic_queue", b.nic_queue.total),
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

fn validate_rate(key: &'static str, rate: Option<Ratio>) -> Result<(), SpecError> {
    let Some(rate) = rate else { return Ok(()) };
    if rate.is_zero() {
        return error(key, "a rate of 0 moves nothing".into());
    }
    if rate > Ratio::ONE {
        return error(
            key,
            format!("{rate} flits per tick; at most 1 is possible: shorten the tick"),
        );
    }
    if rate.den().div_ceil(rate.num()) > MAX_LATENCY_TICKS {
        return error(
            key,
            format!("a flit takes more than {MAX_LATENCY_TICKS} ticks; lengthen the tick"),
        );
    }
    if rate.den() > MAX_RATE_TERM {
        return error(
            key,
            format!("{rate} flits per tick needs numbers above 2^40; round the rate or the tick"),
        );
    }
    Ok(())
}

fn validate_static(
    key: &'static str,
    pool: &Pool,
    used: &[bool],
    largest: u32,
) -> Result<(), SpecError> {
    if pool.per_vl.len() != used.len() {
        let (have, want) = (pool.per_vl.len(), used.len());
        return error(key, format!("{have} sizes for {want} VLs"));
    }
    for (vl, (quota, &used)) in pool.per_vl.iter().zip(used).enumerate() {
        if quota.exclusive != quota.max {
            return error(
                key,
                format!(
                    "VL {vl} has {} credits of its own and at most {}; InfiniBand buffers are divided \
                     statically, so both must be equal",
                    quota.exclusive, quota.max
                ),
            );
        }
        if used && quota.max < largest {
            return error(
                key,
                format!(
                    "VL {vl} has {} credits, but the largest packet takes {largest}; enlarge the buffer or \
                     lower the MTU",
                    quota.max
                ),
            );
        }
    }
    let sum: u64 = pool.per_vl.iter().map(|q| u64::from(q.max)).sum();
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

/// Every entry leads somewhere, and every destination is reached.
fn validate_forwarding(topology: &Topology, tables: &ForwardingTables) -> Result<(), SpecError> {
    const KEY: &str = "fabric.forwarding";
    let (switches, nics) = (topology.switches(), topology.nics());
    let rows = tables.ports.len();
    if rows != switches as usize {
        return error(
            KEY,
            format!("tables of {rows} switches, but there are {switches}"),
        );
    }
    for (switch, row) in tables.ports.iter().enumerate() {
        if row.len() != nics as usize {
            let entries = row.len();
            return error(
                KEY,
                format!("switch {switch} has {entries} entries for {nics} destinations"),
            );
        }
    }
    // Per destination the tables are a function on the switches: from every switch the
    // walk ends at the destination, or the table has a loop.
    let mut reaches = vec![u32::MAX; switches as usize];
    let mut walk = Vec::new();
    for nic in 0..nics {
        for start in 0..switches {
            let mut at = start;
            walk.clear();
            while reaches[at as usize] != nic {
                reaches[at as usize] = nic;
                walk.push(at);
                let port = u32::from(tables.ports[at as usize][nic as usize]);
                let peer = if port < topology.radix() {
                    topology.peer(at, port)
                } else {
                    Peer::None
                };
                match peer {
                    Peer::Nic(there) if there == nic => break,
                    Peer::Switch { switch, .. } => at = switch,
                    Peer::Nic(_) | Peer::None => {
                        return error(
                            KEY,
                            format!(
                                "switch {at} sends packets for NIC {nic} to port {port}, where it is not"
                            ),
                        );
                    }
                }
                if walk.contains(&at) {
                    return error(
                        KEY,
                        format!("packets for NIC {nic} go round in a loop from switch {at}"),
                    );
                }
            }
        }
    }
    Ok(())
}
