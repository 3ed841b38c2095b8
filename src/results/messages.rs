//! The table of the messages of all jobs (`docs/reference/timeline.md`), written during the run: in memory are the messages on
//! their way, and those that arrived and that no operation has taken.

use super::table::extension;
use crate::fabric::ids::NicId;
use crate::fabric::spec::Tick;
use crate::fabric::stats::LinkStats;
use crate::fabric::topology::{Names, Topology};
use crate::figure::tables::{Cell, Column, ColumnKind, MissingFeature, TableFiles, TableFormat};
use crate::replay::program::RankId;
use crate::replay::{Doing, MatchedBy, Observer, Sent, StreamOf};
use crate::run::Timeline;
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const COLUMNS: [Column<'static>; 12] = [
    Column::full("message", ColumnKind::Integer),
    Column::full("job", ColumnKind::Text),
    Column::full("sent_for", ColumnKind::Text),
    Column::full("from_rank", ColumnKind::Integer),
    Column::full("to_rank", ColumnKind::Integer),
    Column::full("from_nic", ColumnKind::Integer),
    Column::full("to_nic", ColumnKind::Integer),
    Column::full("bytes", ColumnKind::Integer),
    Column::full("posted_ps", ColumnKind::Integer),
    Column::optional("injected_ps", ColumnKind::Integer),
    Column::optional("delivered_ps", ColumnKind::Integer),
    Column::optional("matched_ps", ColumnKind::Integer),
];

/// Two more columns, where the operators of the fabric have names.
const NAMES: [Column; 2] = [
    Column::full("from_name", ColumnKind::Text),
    Column::full("to_name", ColumnKind::Text),
];

/// The table of the messages of a run. Unfinished, its file disappears.
pub struct MessageFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

struct Seen {
    /// The names that the operators of the fabric give its NICs.
    names: Option<Names>,
    /// `None` after an error.
    table: Option<TableFiles>,
    error: Option<anyhow::Error>,
    jobs: Vec<Job>,
    /// Messages on their way, by slot.
    in_flight: Vec<Option<Row>>,
    /// Messages that arrived and that no operation has taken, by job.
    waiting: BTreeMap<(u32, MatchedBy), Row>,
    /// Messages so far.
    count: u64,
}

struct Job {
    name: String,
    nics: Vec<NicId>,
}

/// A message that is not in the table yet.
struct Row {
    number: u64,
    sent: Sent,
    posted_ps: u64,
    injected_ps: Option<u64>,
    delivered_ps: Option<u64>,
}

impl MessageFile {
    /// The format that the name of a file asks for: `.csv`, compressed with `.gz` or `.zst` behind it, or `.parquet`.
    #[must_use]
    pub fn format_of_name(path: &Path) -> Option<TableFormat> {
        let (extension, is_packed) = extension(path);
        match extension.as_str() {
            "csv" => Some(TableFormat::Csv),
            "parquet" if !is_packed => Some(TableFormat::Parquet),
            _ => None,
        }
    }

    /// Begins a table of messages between NICs of `topology`.
    ///
    /// # Errors
    /// If the file cannot be created; a [`MissingFeature`] if this build cannot write the format.
    pub fn create(path: &Path, format: TableFormat, topology: &Topology) -> anyhow::Result<Self> {
        format.check(MissingFeature::MESSAGES)?;
        let names = topology.names().cloned();
        let named: &[Column] = names.as_ref().map_or(&[], |_| &NAMES);
        let columns = [&COLUMNS[..], named].concat();
        let table = TableFiles::create_file(path, "messages", format, &columns)?;
        Ok(Self {
            path: path.to_owned(),
            seen: Mutex::new(Seen {
                names,
                table: Some(table),
                error: None,
                jobs: Vec::new(),
                in_flight: Vec::new(),
                waiting: BTreeMap::new(),
                count: 0,
            }),
        })
    }

    /// Completes the file of a run that has ended, with the messages that did not arrive or were not taken.
    ///
    /// # Errors
    /// If something could not be written, now or during the run.
    pub fn finish(self) -> anyhow::Result<()> {
        let seen = self.seen.into_inner();
        let write = |mut seen: Seen| {
            let left = seen.in_flight.drain(..).flatten();
            let mut left: Vec<Row> = left
                .chain(std::mem::take(&mut seen.waiting).into_values())
                .collect();
            left.sort_by_key(|row| row.number);
            for row in left {
                seen.write(&row, None);
            }
            if let Some(error) = seen.error {
                return Err(error);
            }
            seen.table.context("nothing was written")?.finish()
        };
        let written = write(seen.unwrap_or_else(PoisonError::into_inner));
        written.with_context(|| format!("cannot write `{}`", self.path.display()))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn of_slot(&mut self, slot: u32) -> Option<&mut Option<Row>> {
        self.in_flight.get_mut(slot as usize)
    }

    /// Writes a row. An error ends the table, not the run.
    fn write(&mut self, row: &Row, matched_ps: Option<u64>) {
        let (Some(table), Some(job)) = (&mut self.table, self.jobs.get(row.sent.job as usize))
        else {
            return;
        };
        let sent = &row.sent;
        let [from, to] = [sent.from, sent.to]
            .map(|rank: RankId| job.nics.get(rank.index()).copied().unwrap_or(NicId::new(0)));
        let nic = |nic: NicId| Cell::Integer(nic.get().into());
        let ps = |ps: Option<u64>| ps.map_or(Cell::Empty, Cell::Integer);
        let mut cells = vec![
            Cell::Integer(row.number),
            Cell::Text(&job.name),
            Cell::Text(sent.sent_for.name()),
            Cell::Integer(sent.from.get().into()),
            Cell::Integer(sent.to.get().into()),
            nic(from),
            nic(to),
            Cell::Integer(sent.bytes),
            Cell::Integer(row.posted_ps),
            ps(row.injected_ps),
            ps(row.delivered_ps),
            ps(matched_ps),
        ];
        if let Some(names) = &self.names {
            cells.extend([from, to].map(|nic| Cell::Text(names.nic_label(nic))));
        }
        if let Err(e) = table.row(&cells) {
            self.error = Some(e);
            self.table = None;
        }
    }
}

impl Observer for MessageFile {
    fn job(&self, _: u32, name: &str, nics: &[NicId]) {
        self.seen().jobs.push(Job {
            name: name.to_owned(),
            nics: nics.to_vec(),
        });
    }

    fn stream(&self, _: u64, _: StreamOf, _: Doing) {}

    fn region(&self, _: u64, _: StreamOf, _: Option<&str>) {}

    fn waited_for(&self, _: u64, _: StreamOf, _: RankId) {}

    fn follows_messages(&self) -> bool {
        true
    }

    fn sent(&self, ps: u64, slot: u32, message: Sent) {
        let mut seen = self.seen();
        let at = slot as usize;
        if seen.in_flight.len() <= at {
            seen.in_flight.resize_with(at + 1, || None);
        }
        let number = seen.count;
        seen.count += 1;
        seen.in_flight[at] = Some(Row {
            number,
            sent: message,
            posted_ps: ps,
            injected_ps: None,
            delivered_ps: None,
        });
    }

    fn injected(&self, ps: u64, slot: u32) {
        if let Some(Some(row)) = self.seen().of_slot(slot) {
            row.injected_ps = Some(ps);
        }
    }

    fn delivered(&self, ps: u64, slot: u32) {
        let mut seen = self.seen();
        let Some(mut row) = seen.of_slot(slot).and_then(Option::take) else {
            return;
        };
        row.delivered_ps = Some(ps);
        match row.sent.matched_by {
            Some(by) => {
                seen.waiting.insert((row.sent.job, by), row);
            }
            None => seen.write(&row, None),
        }
    }

    fn matched(&self, ps: u64, job: u32, by: MatchedBy) {
        let mut seen = self.seen();
        if let Some(row) = seen.waiting.remove(&(job, by)) {
            seen.write(&row, Some(ps));
        }
    }
}

impl Timeline for MessageFile {
    fn interval(&self) -> Option<Tick> {
        None
    }

    fn links(&self, _: Tick, _: &[LinkStats]) {}
}

/// A timeline and a table of messages that watch the same run.
pub struct WatchedByBoth<'a> {
    /// The timeline.
    pub timeline: &'a dyn Timeline,
    /// The table of messages.
    pub messages: &'a MessageFile,
}

impl Observer for WatchedByBoth<'_> {
    fn job(&self, job: u32, name: &str, nics: &[NicId]) {
        self.timeline.job(job, name, nics);
        self.messages.job(job, name, nics);
    }

    fn stream(&self, ps: u64, stream: StreamOf, doing: Doing) {
        self.timeline.stream(ps, stream, doing);
    }

    fn region(&self, ps: u64, stream: StreamOf, name: Option<&str>) {
        self.timeline.region(ps, stream, name);
    }

    fn waited_for(&self, ps: u64, stream: StreamOf, peer: RankId) {
        self.timeline.waited_for(ps, stream, peer);
    }

    fn follows_messages(&self) -> bool {
        true
    }

    fn sent(&self, ps: u64, slot: u32, message: Sent) {
        self.timeline.sent(ps, slot, message);
        self.messages.sent(ps, slot, message);
    }

    fn injected(&self, ps: u64, slot: u32) {
        self.timeline.injected(ps, slot);
        self.messages.injected(ps, slot);
    }

    fn delivered(&self, ps: u64, slot: u32) {
        self.timeline.delivered(ps, slot);
        self.messages.delivered(ps, slot);
    }

    fn matched(&self, ps: u64, job: u32, by: MatchedBy) {
        self.timeline.matched(ps, job, by);
        self.messages.matched(ps, job, by);
    }
}

impl Timeline for WatchedByBoth<'_> {
    fn interval(&self) -> Option<Tick> {
        self.timeline.interval()
    }

    fn links(&self, tick: Tick, links: &[LinkStats]) {
        self.timeline.links(tick, links);
    }
}
