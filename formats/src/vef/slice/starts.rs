//! When messages and markers start.

use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use super::SliceError;
use crate::source::Input;
use crate::vef::check::{Observer, observe};
use crate::vef::clock::Clock;
use crate::vef::collective::Resolved;
use crate::vef::reader::Reader;
use crate::vef::record::Record;

/// The starts of the messages and markers with these ids on the [ideal clock](Clock), in picoseconds. Those that the trace
/// does not have are left out.
///
/// # Errors
/// If the trace can't be read or is broken, or its clock can't be followed.
pub fn starts(
    source: &Input,
    ids: impl IntoIterator<Item = u64>,
) -> Result<HashMap<u64, u64>, SliceError> {
    let mut reader = Reader::of(source.open()?)?;
    let unit = reader.header().ps_per_unit;
    let starts = Starts {
        clock: Clock::new(reader.comms()),
        asked: ids.into_iter().map(|id| (id, None)).collect(),
    };
    let (check, starts) = observe(&mut reader, starts, Stop::never())?;
    if !check.is_clean() {
        return Err(SliceError::Broken(Box::new(check)));
    }
    if let Some(failure) = starts.clock.failure() {
        return Err(SliceError::Refused(failure.into()));
    }
    let found = starts.asked.into_iter();
    let in_ps = |(id, start): (u64, Option<u64>)| Some((id, start?.saturating_mul(unit)));
    Ok(found.filter_map(in_ps).collect())
}

/// Follows the clock.
struct Starts {
    clock: Clock,
    asked: HashMap<u64, Option<u64>>,
}

impl Observer for Starts {
    type Note = Record;

    fn read(&mut self, _: u64, record: &Record) -> Record {
        *record
    }

    fn started(&mut self, _: u32, record: Record) {
        let start = self.clock.start(&record);
        if let Record::Message(m) = record
            && let Some(asked) = self.asked.get_mut(&m.id)
        {
            *asked = Some(start);
        }
    }

    fn resolved(&mut self, g: u64, collective: &Resolved) {
        self.clock.resolved(g, collective);
    }
}
