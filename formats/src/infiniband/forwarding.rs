//! Reads forwarding tables: `opensm-lfts.dump`, the output of `dump_fts` (`dump_lfts`), `ibdiagnet.fdbs` and
//! `opensm.fdbs`.

use super::{after, hex};
use crate::limits::MAX_FORWARDING_ENTRIES;
use crate::{PlaceError, at_line};
use std::collections::BTreeMap;

/// Forwarding tables of switches, by GUID.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forwarding {
    /// The table of each switch.
    pub tables: BTreeMap<u64, SwitchTable>,
}

/// The forwarding table of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SwitchTable {
    /// Line of its heading.
    pub line: u32,
    /// Its entries, by LID.
    pub entries: Vec<Entry>,
}

/// An entry of a forwarding table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The destination.
    pub lid: u16,
    /// Port by which packets leave; 0 is the switch itself, 255 stands for no route.
    pub port: u8,
    /// Line of the file.
    pub line: u32,
}

impl SwitchTable {
    /// The entry for `lid`.
    #[must_use]
    pub fn entry(&self, lid: u16) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&lid, |entry| entry.lid);
        self.entries.get(at.ok()?)
    }
}

impl Forwarding {
    /// Reads the tables of one of the tools, which it tells by the headings. An unreachable LID has no entry.
    ///
    /// # Errors
    /// The first line that cannot be right.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let mut reader = ForwardingReader::default();
        text.lines().try_for_each(|line| reader.line(line))?;
        reader.end()
    }

    /// Puts entries in the order of their LIDs.
    fn sort(&mut self) -> Result<(), PlaceError> {
        let mut second: Option<Entry> = None;
        for table in self.tables.values_mut() {
            let entries = &mut table.entries;
            if !entries.is_sorted_by(|a, b| a.lid < b.lid) {
                entries.sort_by_key(|entry| (entry.lid, entry.line));
                let twice = entries.windows(2).filter(|two| two[0].lid == two[1].lid);
                let first = twice.map(|two| two[1]).min_by_key(|entry| entry.line);
                second = second.into_iter().chain(first).min_by_key(|e| e.line);
            }
        }
        match second {
            None => Ok(()),
            Some(Entry { lid, line, .. }) => at_line(
                line as usize,
                format!("a second entry for LID {lid} of this switch"),
            ),
        }
    }
}

/// Forwarding tables that are read line by line: dumps of large subnets have gigabytes.
#[derive(Debug, Default)]
pub struct ForwardingReader {
    found: Forwarding,
    /// The table that is read.
    current: Option<(u64, SwitchTable)>,
    /// Lines, and entries, read.
    lines: usize,
    entries: usize,
}

impl ForwardingReader {
    /// Reads the next line.
    ///
    /// # Errors
    /// If it cannot be right.
    pub fn line(&mut self, line: &str) -> Result<(), PlaceError> {
        self.lines += 1;
        let number = u32::try_from(self.lines).unwrap_or(u32::MAX);
        if line.starts_with("0x") {
            let (Some((lid, port)), Some((_, table))) = (row(line), &mut self.current) else {
                return at_line(
                    self.lines,
                    "no entry of a table: write `0x0001 005`, LID and port, below the heading of a switch",
                );
            };
            self.entries += 1;
            if self.entries > MAX_FORWARDING_ENTRIES {
                let problem = format!("more than {MAX_FORWARDING_ENTRIES} entries");
                return at_line(self.lines, problem);
            }
            if let Some(port) = port {
                let line = number;
                table.entries.push(Entry { lid, port, line });
            }
        } else if let Some(guid) = heading(line) {
            let Some(guid) = guid else {
                return at_line(self.lines, "a table without the GUID of its switch");
            };
            self.put_back();
            let mut table = self.found.tables.remove(&guid).unwrap_or_default();
            if table.line == 0 {
                table.line = number;
            }
            self.current = Some((guid, table));
        }
        Ok(())
    }

    /// The tables, after the last line.
    ///
    /// # Errors
    /// If there are none, or a switch has two entries for a LID.
    pub fn end(mut self) -> Result<Forwarding, PlaceError> {
        self.put_back();
        if self.entries == 0 {
            return at_line(
                1,
                "no forwarding table; this is not the output of opensm, dump_fts or ibdiagnet",
            );
        }
        self.found.sort()?;
        Ok(self.found)
    }

    fn put_back(&mut self) {
        if let Some((guid, mut table)) = self.current.take() {
            table.entries.shrink_to_fit();
            self.found.tables.insert(guid, table);
        }
    }
}

/// The GUID of the switch whose table follows, if `line` is a heading: of opensm and `dump_fts`
/// `Unicast lids [0-22] of switch … guid 0x20 …`, of ibdiagnet `osm_ucast_mgr_dump_ucast_routes: Switch 0x20`, in
/// `opensm.fdbs` without `osm_ucast_mgr_`.
fn heading(line: &str) -> Option<Option<u64>> {
    if line.starts_with("Unicast") {
        return Some(after(line, "guid").and_then(hex));
    }
    let line = line.strip_prefix("osm_ucast_mgr_").unwrap_or(line);
    let of_ibdiagnet = line.starts_with("dump_ucast_routes:");
    of_ibdiagnet.then(|| after(line, "Switch").and_then(hex))
}

/// An entry, of which ibdiagnet separates the columns by colons; `None` as the port of an LID that ibdiagnet calls
/// unreachable.
fn row(line: &str) -> Option<(u16, Option<u8>)> {
    let mut words = line.split_whitespace();
    let lid = u16::try_from(hex(words.next()?)?).ok()?;
    match words.next()? {
        ":" => match words.next()? {
            "UNREACHABLE" => Some((lid, None)),
            port => Some((lid, Some(port.parse().ok()?))),
        },
        port => Some((lid, Some(port.parse().ok()?))),
    }
}
