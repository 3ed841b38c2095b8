//! The definitions of a location: the meaning of its numbers, and its clock.

use super::clock::Clock;
use super::records::{Layout, Records};
use super::wire::{Fault, Fields};
use crate::error::Error;

/// The numbers that a location has for definitions of the archive.
#[derive(Debug, Clone, Default)]
pub(super) struct IdMap {
    /// Local and global numbers, ascending.
    pairs: Vec<(u64, u64)>,
}

impl IdMap {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let count = fields.u64()?;
        let dense = fields.u8()? == 0;
        let mut pairs = Vec::new();
        // A count that is too large ends at the end of the record.
        for i in 0..count {
            let local = if dense { i } else { fields.u64()? };
            pairs.push((local, fields.u64()?));
        }
        pairs.sort_by_key(|&(local, _)| local);
        Ok(Self { pairs })
    }

    /// The number in the archive of a number of the location; numbers that no map has stay as they are.
    #[inline]
    pub fn global(&self, local: u32) -> u32 {
        let wide = u64::from(local);
        // Maps of recorders have all numbers from 0 on.
        let found = match self.pairs.get(local as usize) {
            Some(&(at, global)) if at == wide => Some(global),
            _ => self.search(wide),
        };
        found.map_or(local, |global| u32::try_from(global).unwrap_or(u32::MAX))
    }

    fn search(&self, local: u64) -> Option<u64> {
        let at = self.pairs.binary_search_by_key(&local, |&(local, _)| local);
        Some(self.pairs.get(at.ok()?)?.1)
    }
}

/// The definitions of a location that its events need.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    pub regions: IdMap,
    pub comms: IdMap,
    pub clock: Clock,
}

const MAPPING: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
/// The kinds of maps that events need.
const OF_REGIONS: u8 = 3;
const OF_COMMS: u8 = 6;

impl Local {
    pub fn layout(chunk: u64) -> Layout {
        Layout {
            chunk,
            events: false,
            single: |_| false,
            wanted: |kind| matches!(kind, MAPPING | CLOCK_OFFSET),
        }
    }

    /// Reads a file of definitions.
    pub fn read(records: &mut Records) -> Result<Self, Error> {
        let mut local = Self::default();
        while let Some(raw) = records.next_record()? {
            let (offset, kind) = (raw.offset, raw.kind);
            match local.add(kind, raw.fields) {
                Ok(true) => {}
                Ok(false) => {
                    let problem = "two clock offsets are of one time, or of descending times; record the program again";
                    return Err(records.problem(offset, problem));
                }
                Err(fault) => return Err(records.fault(offset, "definition", fault)),
            }
        }
        Ok(local)
    }

    /// Adds a definition; false if its time is not after the last.
    fn add(&mut self, kind: u8, mut fields: Fields<'_>) -> Result<bool, Fault> {
        if kind == CLOCK_OFFSET {
            let time = fields.full_u64()?;
            return Ok(self.clock.add(time, fields.i64()?));
        }
        match fields.u8()? {
            OF_REGIONS => self.regions = IdMap::read(&mut fields)?,
            OF_COMMS => self.comms = IdMap::read(&mut fields)?,
            _ => {}
        }
        Ok(true)
    }
}
