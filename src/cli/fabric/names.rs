//! How the commands name a fabric and its parts.

use flitwise::fabric::ids::{PortId, SwitchId};
use flitwise::fabric::topology::{Peer, Place, Topology};

/// "switch 5 (1,1)": with coordinates on cubes, level and position in trees.
pub(super) fn switch(topology: &Topology, switch: SwitchId) -> String {
    match topology.family().place(switch) {
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
    }
}

/// "switch 5 port 2", "NIC 3" or "nothing": what a port is connected to.
pub(super) fn peer(topology: &Topology, switch: SwitchId, port: PortId) -> String {
    match topology.peer(switch, port) {
        Peer::None => "nothing".into(),
        Peer::Nic(nic) => format!("NIC {nic}"),
        Peer::Switch { switch, port } => format!("switch {switch} port {port}"),
    }
}

/// "1 link", "2 links", "3 switches", "4 dependencies".
pub(super) fn counted(n: u64, what: &str) -> String {
    let count = flitwise::units::human_count(n);
    match what.strip_suffix('y') {
        _ if n == 1 => format!("{count} {what}"),
        Some(stem) => format!("{count} {stem}ies"),
        None if what.ends_with("ch") => format!("{count} {what}es"),
        None => format!("{count} {what}s"),
    }
}
