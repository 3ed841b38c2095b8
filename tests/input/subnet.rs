//! Small subnets as `ibnetdiscover` writes them.

use std::fmt::Write;

/// A port of a switch or of an adapter: index of the node, and port.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Switch(usize, u8),
    Host(usize, u8),
}

pub struct Switch {
    pub name: &'static str,
    pub lid: u16,
}

/// An adapter with one connected port.
pub struct Host {
    pub name: &'static str,
    /// GUID of the port.
    pub port_guid: u64,
    /// Ports of the adapter.
    pub ports: u8,
    pub lid: u16,
    pub lmc: u8,
}

/// Switches have the GUIDs 0x20, 0x21, …; adapters 0x10, 0x11, ….
pub struct Subnet<'a> {
    pub switches: &'a [Switch],
    pub hosts: &'a [Host],
    pub cables: &'a [([End; 2], &'static str)],
}

/// A switch `leaf` with host `a` and a switch `spine` with host `b`, by these cables between ports of both switches; `b` has
/// this LID and LMC.
pub fn two_switches(cables: &[([u8; 2], &'static str)], lid: u16, lmc: u8) -> String {
    let between = cables
        .iter()
        .map(|&([a, b], speed)| ([End::Switch(0, a), End::Switch(1, b)], speed));
    let hosts = [
        ([End::Switch(0, 1), End::Host(0, 1)], "4xSDR"),
        ([End::Switch(1, 1), End::Host(1, 2)], "4xSDR"),
    ];
    let host = |name, port_guid, ports, lid, lmc| Host {
        name,
        port_guid,
        ports,
        lid,
        lmc,
    };
    Subnet {
        switches: &[
            Switch {
                name: "leaf",
                lid: 6,
            },
            Switch {
                name: "spine",
                lid: 7,
            },
        ],
        hosts: &[host("a", 0x11, 1, 1, 0), host("b", 0x13, 2, lid, lmc)],
        cables: &between.chain(hosts).collect::<Vec<_>>(),
    }
    .text()
}

impl Subnet<'_> {
    /// The switches in their order, then the adapters from the last to the first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, Switch { name, lid }) in self.switches.iter().enumerate() {
            let guid = 0x20 + at;
            writeln!(
                text,
                "Switch\t8 \"S-{guid:x}\"\t# \"{name}\" base port 0 lid {lid} lmc 0"
            )
            .unwrap();
            for port in 1..=8 {
                if let Some((far, speed)) = self.far(End::Switch(at, port)) {
                    writeln!(text, "[{port}]\t{} {speed}", self.far_text(far)).unwrap();
                }
            }
            text.push('\n');
        }
        for (at, host) in self.hosts.iter().enumerate().rev() {
            let (
                Host {
                    name,
                    ports,
                    port_guid,
                    lid,
                    lmc,
                },
                guid,
            ) = (host, 0x10 + at);
            writeln!(text, "Ca\t{ports} \"H-{guid:x}\"\t\t# \"{name}\"").unwrap();
            for port in 1..=*ports {
                if let Some((End::Switch(switch, far), speed)) = self.far(End::Host(at, port)) {
                    let own = format!("[{port}]({port_guid:x}) \t\"S-{:x}\"[{far}]", 0x20 + switch);
                    let Switch {
                        name,
                        lid: of_switch,
                    } = &self.switches[switch];
                    let comment = format!("lid {lid} lmc {lmc} \"{name}\" lid {of_switch} {speed}");
                    writeln!(text, "{own}\t\t# {comment}").unwrap();
                }
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len() + 1);
        text
    }

    fn far(&self, near: End) -> Option<(End, &'static str)> {
        self.cables.iter().find_map(|&([a, b], speed)| match near {
            _ if near == a => Some((b, speed)),
            _ if near == b => Some((a, speed)),
            _ => None,
        })
    }

    /// What a line of a switch says of the far end of a cable.
    fn far_text(&self, far: End) -> String {
        match far {
            End::Switch(at, port) => {
                let Switch { name, lid } = &self.switches[at];
                format!("\"S-{:x}\"[{port}]\t\t# \"{name}\" lid {lid}", 0x20 + at)
            }
            End::Host(at, port) => {
                let Host {
                    name,
                    port_guid,
                    lid,
                    ..
                } = &self.hosts[at];
                format!(
                    "\"H-{:x}\"[{port}]({port_guid:x}) \t\t# \"{name}\" lid {lid}",
                    0x10 + at
                )
            }
        }
    }
}
