//! The interface for code that follows a trace while the check reads it.

use crate::vef::collective::Resolved;
use crate::vef::record::Record;

/// Hears of every record when the record can start, in an order that respects program order,
/// dependencies and collectives. Of a broken trace it may hear of some records only.
pub trait Observer {
    /// The data that the observer keeps of a record between reading and start.
    type Note;

    /// A record was read.
    fn read(&mut self, line: u64, record: &Record) -> Self::Note;

    /// The record of `task` can start.
    fn started(&mut self, task: u32, note: Self::Note);

    /// All lines of collective `g` were read. Its members may have started before, but no
    /// record that must wait for them has.
    fn resolved(&mut self, g: u64, collective: &Resolved);
}

/// No observer.
impl Observer for () {
    type Note = ();

    fn read(&mut self, _: u64, _: &Record) {}

    fn started(&mut self, _: u32, (): ()) {}

    fn resolved(&mut self, _: u64, _: &Resolved) {}
}
