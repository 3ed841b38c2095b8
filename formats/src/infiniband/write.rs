//! Writes a subnet as `ibnetdiscover` prints it, which `ibsim` reads as well.

use super::{Discovery, Port};
use std::io::{self, Write};

impl Discovery {
    /// Writes switches and adapters with their cables, so that [`parse`](Discovery::parse) reads them again, and `ibsim`
    /// simulates them. A node has as many ports as the number of its last cabled one; the GUID of the port of an
    /// adapter is the GUID of the adapter plus the number of the port.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write<W: Write>(&self, mut out: W) -> io::Result<()> {
        writeln!(out, "# Topology file: for ibsim")?;
        for (&guid, name) in &self.switches {
            let lid = self.switch_lids.get(&guid);
            let lid = lid.map_or(String::new(), |lid| format!(" base port 0 lid {lid} lmc 0"));
            writeln!(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}")?;
            writeln!(out, "switchguid={guid:#x}({guid:x})")?;
            let ports = self.ports(guid);
            writeln!(
                out,
                "Switch\t{ports} \"S-{guid:016x}\"\t\t# \"{}\"{lid}",
                plain(name)
            )?;
            self.write_ports(&mut out, guid, false)?;
        }
        for (&guid, name) in &self.adapters {
            writeln!(
                out,
                "\nvendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}\ncaguid={guid:#x}"
            )?;
            let ports = self.ports(guid);
            writeln!(
                out,
                "Ca\t{ports} \"H-{guid:016x}\"\t\t# \"{}\"",
                plain(name)
            )?;
            self.write_ports(&mut out, guid, true)?;
        }
        out.flush()
    }

    /// The last cabled port of a node.
    fn ports(&self, node: u64) -> u8 {
        let all = Port { node, port: 0 }..=Port {
            node,
            port: u8::MAX,
        };
        let last = self.cables.range(all).next_back();
        last.map_or(1, |(port, _)| port.port)
    }

    fn write_ports(&self, out: &mut impl Write, node: u64, adapter: bool) -> io::Result<()> {
        let all = Port { node, port: 0 }..=Port {
            node,
            port: u8::MAX,
        };
        for (own, cable) in self.cables.range(all) {
            let to = cable.to;
            let port_guid = |port: Port| port.node.wrapping_add(u64::from(port.port));
            write!(out, "[{}]", own.port)?;
            if adapter {
                write!(out, "({:x}) ", port_guid(*own))?;
            }
            match self.switches.get(&to.node) {
                Some(name) => {
                    write!(out, "\t\"S-{:016x}\"[{}]\t\t#", to.node, to.port)?;
                    if let Some(lid) = self.lids.get(own) {
                        let lmc = self.lmcs.get(own).unwrap_or(&0);
                        write!(out, " lid {lid} lmc {lmc}")?;
                    }
                    write!(out, " \"{}\"", plain(name))?;
                    if let Some(lid) = self.switch_lids.get(&to.node) {
                        write!(out, " lid {lid}")?;
                    }
                }
                None => {
                    let name = self.adapters.get(&to.node).map_or("", |name| name);
                    let guid = port_guid(to);
                    write!(out, "\t\"H-{:016x}\"[{}]({guid:x}) \t\t#", to.node, to.port)?;
                    write!(out, " \"{}\"", plain(name))?;
                    if let Some(lid) = self.lids.get(&to) {
                        write!(out, " lid {lid}")?;
                    }
                }
            }
            match self.speeds.get(own) {
                Some(speed) => writeln!(out, " {speed}")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

/// A name as it can stand between quotation marks.
fn plain(name: &str) -> String {
    let odd = |c: char| c == '"' || c.is_control();
    name.replace(odd, "_")
}
