//! Checks that forwarding tables lead from every switch to every NIC.

use crate::error::error;
use crate::ids::SwitchPort;
use crate::spec::{DetourRule, FabricSpec, ForwardingTables, Intermediate, SpecError, UpPorts};
use crate::topology::{Peer, Topology};
use std::collections::BTreeSet;

impl FabricSpec {
    /// Checks the forwarding tables, if there are any, and that nothing else wants to decide in
    /// their place.
    pub(super) fn validate_forwarding(&self) -> Result<(), SpecError> {
        let detours = self.routing.paths.detours();
        if detours.is_some() && self.qos.vl_policy.tables().is_some() {
            let problem = "paths of several legs need VL classes, which SL-to-VL tables take the place of; \
                           remove one of the two";
            return error("fabric.paths", problem.into());
        }
        let over_groups = detours.is_some_and(|d| d.intermediate == Intermediate::Group);
        let family = self.topology.family();
        let mut switches = self.topology.switch_ids();
        if over_groups && switches.any(|s| family.global_group(s).is_none()) {
            let problem = "the topology has no groups to lead packets over; take \"nic\"";
            return error("fabric.paths_intermediate", problem.into());
        }
        let asks_again = detours.is_some_and(|d| d.rule == DetourRule::Par);
        if asks_again && family.can_turn_back() {
            let problem = "\"par\" also asks at switches without NICs, and a detour from there can turn back on \
                           itself and deadlock; take \"ugal-l\"";
            return error("fabric.paths", problem.into());
        }
        let Some(tables) = &self.routing.forwarding else {
            return if self.routing.failed.is_empty() {
                Ok(())
            } else {
                error(
                    "fabric.failure",
                    "the fabric's own routing does not lead around failed links".into(),
                )
            };
        };
        if detours.is_some() {
            let problem = "forwarding tables name the whole path; remove one of the two";
            return error("fabric.paths", problem.into());
        }
        if self.routing.up_ports != UpPorts::Destination {
            let problem = "the forwarding tables name the up-port; remove one of the two";
            return error("fabric.up_ports", problem.into());
        }
        let later = self.routing.changes.iter().map(|change| &change.tables);
        for tables in std::iter::once(tables).chain(later) {
            is_complete(&self.topology, tables)?;
            leads_everywhere(&self.topology, tables)?;
        }
        avoids_failed(self, tables)
    }
}

/// No packet is sent over a failed link.
fn avoids_failed(spec: &FabricSpec, tables: &ForwardingTables) -> Result<(), SpecError> {
    let topology = &spec.topology;
    let failed = spec.routing.failed_ports();
    if failed.is_empty() {
        return Ok(());
    }
    let sources: BTreeSet<_> = (topology.nic_ids())
        .map(|nic| topology.attachment(nic).switch)
        .collect();
    let mut passed = vec![None; topology.switches() as usize];
    for nic in topology.nic_ids() {
        for &source in &sources {
            let mut at = source;
            while passed[at.index()].replace(nic) != Some(nic) {
                let port = SwitchPort::new(at, tables.ports[at.index()][nic.index()]);
                if failed.contains(&port) {
                    let problem = format!(
                        "{} sends packets for {} by {}, whose link has failed",
                        topology.switch_text(at),
                        topology.nic_text(nic),
                        topology.port_text(port)
                    );
                    return error(KEY, problem);
                }
                match topology.peer(at, port.port) {
                    Peer::Switch { switch, .. } => at = switch,
                    Peer::Nic(_) | Peer::None => break,
                }
            }
        }
    }
    Ok(())
}

/// The key of errors in forwarding tables.
const KEY: &str = "fabric.forwarding";

/// There is an entry for every switch and every destination.
fn is_complete(topology: &Topology, tables: &ForwardingTables) -> Result<(), SpecError> {
    let (switches, nics) = (topology.switches() as usize, topology.nics() as usize);
    let rows = tables.ports.len();
    if rows != switches {
        return error(
            KEY,
            format!("tables of {rows} switches, but there are {switches}"),
        );
    }
    for (switch, row) in tables.ports.iter().enumerate() {
        if row.len() != nics {
            let entries = row.len();
            return error(
                KEY,
                format!("switch {switch} has {entries} entries for {nics} destinations"),
            );
        }
    }
    Ok(())
}

/// Every entry leads somewhere, and every destination is reached. Per destination the tables are a function on the
/// switches: from every switch the walk ends at the destination, or the table has a loop.
fn leads_everywhere(topology: &Topology, tables: &ForwardingTables) -> Result<(), SpecError> {
    let mut reaches = vec![None; topology.switches() as usize];
    let mut walk = Vec::new();
    for nic in topology.nic_ids() {
        for start in topology.switch_ids() {
            let mut at = start;
            walk.clear();
            while reaches[at.index()] != Some(nic) {
                reaches[at.index()] = Some(nic);
                walk.push(at);
                let port = tables.ports[at.index()][nic.index()];
                let peer = if topology.has_port(at, port) {
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
                                "{} sends packets for {} to {}, where it is not",
                                topology.switch_text(at),
                                topology.nic_text(nic),
                                topology.port_text(SwitchPort::new(at, port))
                            ),
                        );
                    }
                }
                if walk.contains(&at) {
                    return error(
                        KEY,
                        format!(
                            "packets for {} go round in a loop from {}",
                            topology.nic_text(nic),
                            topology.switch_text(at)
                        ),
                    );
                }
            }
        }
    }
    Ok(())
}
