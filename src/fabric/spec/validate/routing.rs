//! Checks that forwarding tables lead from every switch to every NIC.

use super::error;
use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::{FabricSpec, ForwardingTables, SpecError, UpPorts};
use crate::fabric::topology::{Peer, Topology};

impl FabricSpec {
    /// Checks the forwarding tables, if there are any, and that nothing else wants to decide in
    /// their place.
    pub(super) fn validate_forwarding(&self) -> Result<(), SpecError> {
        let two_legs = self.routing.paths.legs() > 1;
        if two_legs && self.qos.vl_policy.tables().is_some() {
            let problem = "paths of two legs need VL classes, which SL-to-VL tables take the place of; \
                           remove one of the two";
            return error("fabric.paths", problem.into());
        }
        let Some(tables) = &self.routing.forwarding else {
            return Ok(());
        };
        if two_legs {
            let problem = "forwarding tables name the whole path; remove one of the two";
            return error("fabric.paths", problem.into());
        }
        if self.needs_classes() {
            let problem = "on a ring or dragonfly the VL classes follow the fabric's own routing; give \
                           SL-to-VL tables with the forwarding tables";
            return error("fabric.forwarding", problem.into());
        }
        if self.routing.up_ports != UpPorts::Destination {
            let problem = "the forwarding tables name the up-port; remove one of the two";
            return error("fabric.up_ports", problem.into());
        }
        leads_everywhere(&self.topology, tables)
    }
}

/// Every entry leads somewhere, and every destination is reached.
fn leads_everywhere(topology: &Topology, tables: &ForwardingTables) -> Result<(), SpecError> {
    const KEY: &str = "fabric.forwarding";
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
    // Per destination the tables are a function on the switches: from every switch the
    // walk ends at the destination, or the table has a loop.
    let mut reaches = vec![None; switches];
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
