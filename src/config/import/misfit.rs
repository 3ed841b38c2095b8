//! Forwarding tables that do not fit the cables: the problem, and the cure.

use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::topology::{Peer, Topology};
use flitwise_formats::infiniband::Forwarding;
use std::collections::BTreeMap;

/// Tables, and the cables that they should fit.
pub(crate) struct Misfit<'a> {
    pub topology: &'a Topology,
    /// Switch by GUID.
    pub switches: &'a BTreeMap<u64, SwitchId>,
    pub entries: &'a Forwarding,
    /// An alternative cure; may be empty.
    pub otherwise: &'static str,
}

/// The cure for files of different times.
const DUMP_AGAIN: &str = "write both at the same time: `ibnetdiscover` and `dump_fts` one after the other, \
                          or opensm-lfts.dump right after a sweep";

impl Misfit<'_> {
    /// Refuses tables if a switch has none.
    pub(crate) fn check_switches(&self) -> Result<(), String> {
        let with = &self.entries.tables;
        let without: Vec<u64> = {
            let guids = self.switches.keys().copied();
            guids.filter(|guid| !with.contains_key(guid)).collect()
        };
        let Some(&first) = without.first() else {
            return Ok(());
        };
        if without.len() == self.switches.len() {
            let other = with.keys().next().copied().unwrap_or(0);
            return Err(format!(
                "the tables are of another fabric: they are of {} switches, such as {other:#x}, and none of \
                 them is among the {} switches of the cables, such as {first:#x}; take the files of one fabric",
                with.len(),
                self.switches.len()
            ));
        }
        Err(format!(
            "there is no table of {}{}, to which cables lead; {DUMP_AGAIN}{}",
            self.switch_name(self.switches[&first]),
            match without.len() {
                1 => String::new(),
                n => format!(" and {} more switches", n - 1),
            },
            self.otherwise
        ))
    }

    /// The port by which `switch` sends packets for `nic`, as in its table: numbered from 1.
    pub(crate) fn port(
        &self,
        switch: SwitchId,
        nic: NicId,
        lid: u16,
        port: Option<u8>,
    ) -> Result<PortId, String> {
        let here = self.switch_name(switch);
        let host = self
            .topology
            .names()
            .map_or("", |names| names.nic_label(nic));
        let Some(port) = port.filter(|port| (1..=254).contains(port)) else {
            // 255 stands for no route; 0 is the switch itself.
            let says = match port {
                None => "has no entry",
                Some(0) => "ends the route",
                Some(_) => "has no route",
            };
            let top = match lid % 64 {
                0 => {
                    "; dump_fts leaves out the last LID if it is a multiple of 64, opensm-lfts.dump has it"
                }
                _ => "",
            };
            return Err(format!(
                "{here} {says} for LID {lid} ({host}){top}; {DUMP_AGAIN}{}",
                self.otherwise
            ));
        };
        let at = PortId::new(u32::from(port) - 1);
        let cabled = at.get() < self.topology.radix()
            && match self.topology.peer(switch, at) {
                Peer::None => false,
                Peer::Nic(there) => there == nic,
                Peer::Switch { .. } => true,
            };
        if cabled {
            return Ok(at);
        }
        let leads = match self.topology.names() {
            Some(names) if at.get() < self.topology.radix() => {
                match self.topology.peer(switch, at) {
                    Peer::Nic(there) => format!("which leads to {}", names.nic_label(there)),
                    _ => "to which nothing is connected".to_owned(),
                }
            }
            _ => "to which nothing is connected".to_owned(),
        };
        Err(format!(
            "{here} sends LID {lid} ({host}) out of port {port}, {leads}: a cable was moved, or the files \
             are of different times; {DUMP_AGAIN}{}",
            self.otherwise
        ))
    }

    /// "switch L003 (0x200003)".
    fn switch_name(&self, switch: SwitchId) -> String {
        let names = self.topology.names();
        match names.and_then(|names| names.switch(switch)) {
            Some(named) => format!("switch {} ({:#x})", named.name, named.guid),
            None => format!("switch {switch}"),
        }
    }
}
