//! Reads the files in which InfiniBand tools describe a fabric: `ibnetdiscover` (the cables),
//! `opensm-lfts.dump`, `dump_fts` or `ibdiagnet.fdbs` (the forwarding tables), `opensm-sl2vl.dump` (the
//! SL-to-VL tables). GUIDs identify nodes, LIDs identify destinations.

mod forwarding;
mod vl_tables;
mod write;

use crate::{PlaceError, at_line};
pub use forwarding::{Entry, Forwarding, ForwardingReader, SwitchTable};
pub use vl_tables::VlTables;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till1, take_until, take_while};
use nom::character::complete::char;
use nom::combinator::{map_opt, rest, value};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};
use std::collections::BTreeMap;

/// Entries of an SL-to-VL table: one per service level.
pub const SERVICE_LEVELS: usize = 16;

/// A port of a node, numbered from 1 as on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// GUID of the node.
    pub node: u64,
    /// Port number.
    pub port: u8,
}

/// Other end of a cable, and the line that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// The other end.
    pub to: Port,
    /// Line of the file.
    pub line: usize,
}

/// A fabric as `ibnetdiscover` saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discovery {
    /// GUIDs of the switches, with their names.
    pub switches: BTreeMap<u64, String>,
    /// GUIDs of the channel adapters, with their names.
    pub adapters: BTreeMap<u64, String>,
    /// Cables of switches and channel adapters; a cable between two nodes is listed twice.
    pub cables: BTreeMap<Port, Cable>,
    /// LIDs of the ports of channel adapters.
    pub lids: BTreeMap<Port, u16>,
    /// LMC of the ports of channel adapters, where it is not 0: such a port has 2^LMC LIDs, from its LID on.
    pub lmcs: BTreeMap<Port, u8>,
    /// LIDs of switches, of those that name one.
    pub switch_lids: BTreeMap<u64, u16>,
    /// Speeds of links as their ports state them, such as `4xQDR`.
    pub speeds: BTreeMap<Port, String>,
}

/// A part of a line and what follows it, or nothing.
type Parsed<'a, T> = IResult<&'a str, T, ()>;

/// A GUID or an LID.
fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

fn blanks(text: &str) -> Parsed<'_, &str> {
    take_while(char::is_whitespace).parse(text)
}

/// The next word, behind any blanks.
fn word(text: &str) -> Parsed<'_, &str> {
    preceded(blanks, take_till1(char::is_whitespace)).parse(text)
}

/// The next word, which is a number.
fn number(text: &str) -> Parsed<'_, u8> {
    map_opt(word, |number| number.parse().ok()).parse(text)
}

/// The number in brackets at the start of `text`.
fn bracketed(text: &str) -> Parsed<'_, u8> {
    let number = map_opt(take_until("]"), |number: &str| number.parse().ok());
    delimited(char('['), number, char(']')).parse(text)
}

/// The text between the first two quotation marks.
fn quoted(text: &str) -> Parsed<'_, &str> {
    let opening = (take_until("\""), char('"'));
    delimited(opening, take_until("\""), char('"')).parse(text)
}

/// `"S-0000000000200003"` or `"H-…"`: true for a switch, and the GUID.
fn node(text: &str) -> Parsed<'_, (bool, u64)> {
    let is_switch = alt((value(true, tag("S-")), value(false, tag("H-"))));
    quoted.and_then((is_switch, map_opt(rest, hex))).parse(text)
}

/// The word after `word`.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|&w| w == word)?;
    words.next()
}

/// The last word of a port, if it has the form of a speed: `4xQDR`.
fn speed(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next_back()?;
    let (width, generation) = word.split_once('x')?;
    let digits = !width.is_empty() && width.bytes().all(|b| b.is_ascii_digit());
    let named = !generation.is_empty() && !generation.contains(['"', '#']);
    (digits && named).then_some(word)
}

/// The node whose ports follow.
#[derive(Debug, Clone, Copy)]
struct Node {
    line: usize,
    switch: bool,
    guid: u64,
    ports: u8,
}

impl Discovery {
    /// Reads what `ibnetdiscover` printed.
    ///
    /// # Errors
    /// The first line that cannot be right.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let mut found = Self::default();
        let mut current: Option<Node> = None;
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with("Switch") || line.starts_with("Ca") {
                let node = found.add_node(number, line)?;
                found.check_connected(current)?;
                current = Some(node);
            } else if line.starts_with('[') {
                let Some(node) = current else {
                    return at_line(number, "a port before the first node");
                };
                found.port(number, line, node)?;
            } else if line.starts_with("Rt") {
                return at_line(number, "a router; only switches and HCAs are read");
            }
        }
        found.check_connected(current)?;
        if found.switches.is_empty() || found.adapters.is_empty() {
            return at_line(
                1,
                format!(
                    "{} switches and {} HCAs; this is not the output of ibnetdiscover",
                    found.switches.len(),
                    found.adapters.len()
                ),
            );
        }
        Ok(found)
    }

    /// Adds the node that a line describes.
    fn add_node(&mut self, number: usize, line: &str) -> Result<Node, PlaceError> {
        let Ok((rest, (switch, guid))) = node(line) else {
            return at_line(number, "a node without its \"S-GUID\" or \"H-GUID\"");
        };
        if switch != line.starts_with("Switch") {
            return at_line(number, "a switch is called \"S-GUID\", an HCA \"H-GUID\"");
        }
        let ports = line.split_whitespace().nth(1);
        let ports = ports.and_then(|ports| ports.parse().ok());
        let Some(ports) = ports.filter(|&ports: &u8| ports > 0) else {
            return at_line(
                number,
                "a node without its number of ports, 1 to 255, as in `Switch 36 \"S-GUID\"`; \
                 leave out a node of 0 ports, nothing can be connected to it",
            );
        };
        let (rest, name) = quoted(rest).unwrap_or(("", ""));
        let name = name.to_owned();
        if let Some(lid) = after(rest, "lid").and_then(|lid| lid.parse().ok()) {
            self.switch_lids.insert(guid, lid);
        }
        let (nodes, others) = if switch {
            (&mut self.switches, &self.adapters)
        } else {
            (&mut self.adapters, &self.switches)
        };
        // Cables and tables name nodes by GUID only, whatever their kind.
        if nodes.insert(guid, name).is_some() || others.contains_key(&guid) {
            return at_line(number, format!("node {guid:#x} stands in the file twice"));
        }
        Ok(Node {
            line: number,
            switch,
            guid,
            ports,
        })
    }

    /// Refuses a switch of which no port is listed: no packet gets there, or out of it.
    fn check_connected(&self, node: Option<Node>) -> Result<(), PlaceError> {
        let Some(Node { line, guid, .. }) = node.filter(|node| node.switch) else {
            return Ok(());
        };
        let port = |port| Port { node: guid, port };
        match self.cables.range(port(0)..=port(u8::MAX)).next() {
            Some(_) => Ok(()),
            None => at_line(line, "a switch of which no port is connected; leave it out"),
        }
    }

    /// `[1] "H-GUID"[1](GUID) # "name" lid 19 4xSDR`, or for a channel adapter
    /// `[1](GUID) "S-GUID"[4] # lid 22 lmc 0 "name" lid 6 4xSDR`.
    fn port(&mut self, line: usize, text: &str, of: Node) -> Result<(), PlaceError> {
        let guid = of.guid;
        let parts = (bracketed, node, bracketed).parse(text);
        let Ok((rest, (port, (_, far_node), far))) = parts else {
            return at_line(line, "a port without the \"GUID\"[port] at its other end");
        };
        let own = Port { node: guid, port };
        let to = Port {
            node: far_node,
            port: far,
        };
        if port > of.ports {
            let has = of.ports;
            return at_line(
                line,
                format!("port {port} of node {guid:#x}, which has {has} according to its own line"),
            );
        }
        if port == 0 || self.cables.insert(own, Cable { to, line }).is_some() {
            return at_line(
                line,
                format!("port {port} of node {guid:#x} is 0, or given twice"),
            );
        }
        if let Some(speed) = speed(rest) {
            self.speeds.insert(own, speed.to_owned());
        }
        if !of.switch {
            let comment = rest.split_once('#').map_or("", |(_, comment)| comment);
            // Only the first words: the LID after the name belongs to the other end.
            let words = comment.trim_start().strip_prefix("lid ");
            let lid = words.and_then(|words| words.split_whitespace().next()?.parse().ok());
            let Some(lid) = lid.filter(|&lid: &u16| lid > 0) else {
                return at_line(line, "the port of an HCA without its LID (`# lid 22`)");
            };
            self.lids.insert(own, lid);
            if let Some(lmc) = words.and_then(|words| after(words, "lmc")) {
                let last = |lmc: u8| lid.checked_add((1 << lmc) - 1);
                match lmc.parse().ok().filter(|&lmc: &u8| lmc <= 7) {
                    Some(0) => {}
                    Some(lmc) if last(lmc).is_some() => {
                        self.lmcs.insert(own, lmc);
                    }
                    _ => {
                        return at_line(
                            line,
                            "an LMC is 0 to 7, and the last of its 2^LMC LIDs at most 65535",
                        );
                    }
                }
            }
        }
        Ok(())
    }
}
