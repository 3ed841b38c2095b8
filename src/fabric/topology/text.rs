//! The texts for the parts of a fabric in messages and tables: their numbers, with the names that its operators
//! give them, or with their places in the topology.

use super::{Peer, Place, Topology};
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};

impl Topology {
    /// `switch 5 (1,1)`: with its name, or its coordinates on cubes and its level and position in trees.
    #[must_use]
    pub fn switch_text(&self, switch: SwitchId) -> String {
        if let Some(names) = self.names() {
            return format!("switch {switch} ({})", names.switch_label(switch));
        }
        match self.family().place(switch) {
            Place::None => format!("switch {switch}"),
            Place::Coordinates(all) => {
                let all: Vec<String> = all.iter().map(u32::to_string).collect();
                format!("switch {switch} ({})", all.join(","))
            }
            Place::Within {
                part,
                number,
                position,
            } => format!("switch {switch} ({part} {number}, {position})"),
            Place::OnLine {
                dimension,
                line,
                level,
                position,
            } => {
                format!(
                    "switch {switch} (dimension {dimension}, line {line}, level {level}, {position})"
                )
            }
        }
    }

    /// The name that the operators give a switch; [`switch_text`](Self::switch_text) if it has none.
    #[must_use]
    pub fn switch_label(&self, switch: SwitchId) -> String {
        match self.names() {
            Some(names) => names.switch_label(switch).to_owned(),
            None => self.switch_text(switch),
        }
    }

    /// The number of a port: as on the device, from 1, if the operators have names; else from 0.
    #[must_use]
    pub fn device_port(&self, port: PortId) -> u32 {
        port.get() + u32::from(self.names().is_some())
    }

    /// The switch whose aggregation node an endpoint belongs to, if it does to one.
    fn switch_of_node(&self, endpoint: NicId) -> Option<SwitchId> {
        self.aggregation()?.link(endpoint).map(|(switch, _)| switch)
    }

    /// `NIC 3`, with its name if it has one.
    #[must_use]
    pub fn nic_text(&self, nic: NicId) -> String {
        if let Some(switch) = self.switch_of_node(nic) {
            return format!("aggregation node of {}", self.switch_text(switch));
        }
        match self.names() {
            Some(names) => format!("NIC {nic} ({})", names.nic_label(nic)),
            None => format!("NIC {nic}"),
        }
    }

    /// The name that the operators give a NIC; `NIC 3` if it has none.
    #[must_use]
    pub fn nic_label(&self, nic: NicId) -> String {
        if let Some(switch) = self.switch_of_node(nic) {
            return format!("aggregation node of {}", self.switch_label(switch));
        }
        match self.names() {
            Some(names) => names.nic_label(nic).to_owned(),
            None => format!("NIC {nic}"),
        }
    }

    /// `port 2`, with the name of the switch and the number on the device if they are known.
    #[must_use]
    pub fn port_text(&self, at: SwitchPort) -> String {
        match self.names() {
            Some(names) => format!("port {} ({})", at.port, names.port_label(at)),
            None => format!("port {}", at.port),
        }
    }

    /// `switch 5 port 2`, or the name of the switch and the number on the device if they are known: `L003 port 5`.
    #[must_use]
    pub fn port_label(&self, at: SwitchPort) -> String {
        match self.names() {
            Some(names) => names.port_label(at),
            None => format!("switch {} port {}", at.switch, at.port),
        }
    }

    /// The peer of a port: `switch 5 port 2`, `NIC 3` or `nothing`; by the names of the operators if they are known.
    #[must_use]
    pub fn peer_text(&self, switch: SwitchId, port: PortId) -> String {
        match self.peer(switch, port) {
            Peer::None => "nothing".into(),
            Peer::Nic(nic) => self.nic_label(nic),
            Peer::Switch { switch, port } => self.port_label(SwitchPort { switch, port }),
        }
    }
}
