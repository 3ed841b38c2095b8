//! How the commands name a fabric and its parts.

use super::CliError;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::topology::{Peer, Place, Topology};
use flitwise_formats::quote::cut;

/// "switch 5 (1,1)": with coordinates on cubes, level and position in trees.
pub(super) fn switch(topology: &Topology, switch: SwitchId) -> String {
    if let Some(names) = topology.names() {
        return format!("switch {switch} ({})", names.switch_label(switch));
    }
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
        Peer::Nic(at) => nic(topology, at),
        Peer::Switch { switch, port } => {
            let at = self::port(topology, SwitchPort { switch, port });
            format!("switch {switch} {at}")
        }
    }
}

/// "NIC 3", with the name that its operators have for it, if there is one.
pub(super) fn nic(topology: &Topology, nic: NicId) -> String {
    match topology.names() {
        Some(names) => format!("NIC {nic} ({})", names.nic_label(nic)),
        None => format!("NIC {nic}"),
    }
}

/// "port 2", with the name of the switch and the number on the device, if its operators have them.
pub(super) fn port(topology: &Topology, at: SwitchPort) -> String {
    match topology.names() {
        Some(names) => format!("port {} ({})", at.port, names.port_label(at)),
        None => format!("port {}", at.port),
    }
}

/// The NIC that the user calls `text`: by its number, or as its operators do.
pub(super) fn find(topology: &Topology, option: &str, text: &str) -> Result<NicId, CliError> {
    let bad = |problem: String| CliError::BadInput(format!("{option} {}: {problem}", cut(text)));
    let named = topology.names().map(|names| names.find(text));
    let number = text.parse::<u32>().ok();
    match (named, number) {
        // A host may be called by a number.
        (Some(Ok(nic)), _) => Ok(nic),
        (_, Some(number)) if number < topology.nics() => Ok(NicId::new(number)),
        (_, Some(_)) => Err(bad(format!("give a NIC below {}", topology.nics()))),
        (Some(Err(problem)), None) => Err(bad(problem)),
        (None, None) => Err(bad(
            "give the number of a NIC; only a topology from ibnetdiscover has names".into(),
        )),
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
