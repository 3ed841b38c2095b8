//! Reads SL-to-VL tables, `opensm-sl2vl.dump`.

use super::{Parsed, SERVICE_LEVELS, after, blanks, hex, number};
use crate::{PlaceError, at_line};
use nom::Parser;
use nom::bytes::complete::take_until;
use nom::character::complete::char;
use nom::combinator::all_consuming;
use nom::multi::fill;
use std::collections::BTreeMap;

/// SL-to-VL tables, a VL per service level.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VlTables {
    /// By switch, input and output port.
    pub switches: BTreeMap<(u64, u8, u8), [u8; SERVICE_LEVELS]>,
    /// By LID of the port of a channel adapter.
    pub adapters: BTreeMap<u16, [u8; SERVICE_LEVELS]>,
}

impl VlTables {
    /// Reads `opensm-sl2vl.dump`.
    ///
    /// # Errors
    /// The first line that cannot be right.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        #[derive(Clone, Copy)]
        enum Owner {
            Switch(u64),
            Adapter(u16),
        }
        let mut tables = Self::default();
        let mut current = None;
        for (number, line) in (1..).zip(text.lines()) {
            let head = line.strip_prefix("Switch ");
            if let Some(head) = head.or_else(|| line.strip_prefix("Channel Adapter ")) {
                let guid = head.split(',').next().and_then(hex);
                let lid = after(head, "LID").map(|lid| lid.trim_end_matches(','));
                let lid = lid.and_then(|lid| lid.parse().ok());
                current = if line.starts_with("Switch") {
                    guid.map(Owner::Switch)
                } else {
                    lid.map(Owner::Adapter)
                };
                if current.is_none() {
                    return at_line(number, "a node without its GUID and base LID");
                }
            } else if line.contains(':') && !line.starts_with('#') {
                let (Ok((_, (input, output, table))), Some(owner)) = (row(line), current) else {
                    return at_line(
                        number,
                        format!("no table: there must be `in out : ` and {SERVICE_LEVELS} VLs"),
                    );
                };
                let twice = match owner {
                    Owner::Switch(guid) => {
                        let at = (guid, input, output);
                        tables.switches.insert(at, table).is_some()
                    }
                    Owner::Adapter(lid) => tables.adapters.insert(lid, table).is_some(),
                };
                if twice {
                    return at_line(number, "a second table for these ports");
                }
            }
        }
        if tables.switches.is_empty() && tables.adapters.is_empty() {
            return at_line(1, "no table; this is not an opensm-sl2vl.dump");
        }
        Ok(tables)
    }
}

/// `in out : VL…`, a VL for each service level.
fn row(line: &str) -> Parsed<'_, (u8, u8, [u8; SERVICE_LEVELS])> {
    let mut vls = [0; SERVICE_LEVELS];
    let ports = all_consuming((number, number, blanks));
    let (rest, (input, output, _)) = take_until(":").and_then(ports).parse(line)?;
    let table = (char(':'), fill(number, &mut vls), blanks);
    let (rest, _) = all_consuming(table).parse(rest)?;
    Ok((rest, (input, output, vls)))
}
