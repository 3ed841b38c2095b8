//! The calls of a rank, of all its threads.

use std::path::Path;
use std::sync::Arc;

use super::call::{Call, Reference, References};
use super::header::Header;
use super::reader::{Reader, made};
use super::record::{Item, Record};
use crate::error::Error;

/// The part of a call that a [`RankReader`] shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// All of a call of the only thread, or a record that is no call.
    Whole,
    /// The begin of a call of one of several threads.
    Begin,
    /// Its end.
    End,
}

/// The calls of one rank. The calls of several threads, which overlap, are shown twice: where they begin and where they
/// end, in the order of time.
#[derive(Debug)]
pub struct RankReader {
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    reader: Reader,
    /// Of its clock, in nanoseconds since the first one of the rank.
    start_ns: u64,
    /// The begin of its call was shown.
    begun: bool,
}

impl Thread {
    /// Requests that were shown so far.
    fn requests(&self) -> u64 {
        let of_call = match self.begun.then(|| self.reader.item()) {
            Some(Ok(item)) => made(&item)[0],
            _ => 0,
        };
        self.reader.requests().saturating_add(of_call)
    }

    /// The time of the next phase to show.
    fn time_ns(&self) -> u64 {
        let [begin, end] = self.reader.span_ns();
        let span = if self.begun { end } else { begin };
        self.start_ns.saturating_add(span)
    }
}

impl RankReader {
    pub(super) fn new(readers: Vec<Reader>) -> Self {
        let starts = readers.iter().map(|reader| reader.header().started_ns);
        let first = starts.min().unwrap_or(0);
        let thread = |reader: Reader| Thread {
            start_ns: reader.header().started_ns - first,
            reader,
            begun: false,
        };
        Self {
            threads: readers.into_iter().map(thread).collect(),
        }
    }

    /// The number of threads that call MPI.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The header of the first stream.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.threads.first().map(|thread| thread.reader.header())
    }

    /// Each stream, and the byte up to which it was read.
    pub fn places(&self) -> impl Iterator<Item = (&Arc<Path>, u64)> {
        let readers = self.threads.iter().map(|thread| &thread.reader);
        readers.map(|reader| (reader.path(), reader.offset()))
    }

    /// Shows the next record, and the part of it, to `read`; returns what that returns; `None` after the last one.
    ///
    /// # Errors
    /// If a stream can't be read or is damaged, as of [`Reader::next`].
    #[inline]
    pub fn next<R>(
        &mut self,
        read: impl FnOnce(Phase, &Item<'_>) -> R,
    ) -> Result<Option<R>, Error> {
        match &mut self.threads[..] {
            [only] => only.reader.next(|item| read(Phase::Whole, item)),
            _ => self.merged(read),
        }
    }

    fn merged<R>(&mut self, read: impl FnOnce(Phase, &Item<'_>) -> R) -> Result<Option<R>, Error> {
        let mut first: Option<(u64, usize)> = None;
        for (at, thread) in self.threads.iter_mut().enumerate() {
            if thread.reader.load()? {
                let key = (thread.time_ns(), at);
                first = Some(first.map_or(key, |first| first.min(key)));
            }
        }
        let Some((_, at)) = first else {
            return Ok(None);
        };
        let at = self.before(at)?;
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(None);
        };
        let item = thread.reader.item()?;
        let is_call = matches!(item, Item::Call(_));
        if is_call && !thread.begun {
            let shown = read(Phase::Begin, &item);
            thread.begun = true;
            return Ok(Some(shown));
        }
        let shown = read(if is_call { Phase::End } else { Phase::Whole }, &item);
        let made = made(&item);
        thread.begun = false;
        thread.reader.advance(made);
        Ok(Some(shown))
    }

    /// The thread to show in place of thread `at`, whose call may name a request that another thread makes: clocks of
    /// threads are not exact.
    fn before(&mut self, mut at: usize) -> Result<usize, Error> {
        for _ in 0..self.threads.len() {
            let Some(thread) = self.threads.get(at) else {
                break;
            };
            let maker = match thread.reader.item()? {
                Item::Call(record) => self.maker(&record),
                _ => None,
            };
            match maker {
                Some(maker) if maker != at => at = maker,
                _ => break,
            }
        }
        Ok(at)
    }

    /// A thread that has yet to make a request that the call names.
    fn maker(&self, record: &Record<'_>) -> Option<usize> {
        let late = |reference: Reference| {
            let Reference::Other { thread, n } = reference else {
                return None;
            };
            let at = thread as usize;
            let maker = &self.threads.get(at)?;
            let has_more = maker.reader.is_loaded();
            (has_more && maker.requests() <= n).then_some(at)
        };
        let all = |references: &References<'_>| references.iter().find_map(late);
        match &record.call {
            Call::Complete(completion) => all(&completion.requests()),
            Call::Start(requests) | Call::Free(requests) | Call::Cancel(requests) => all(requests),
            Call::Ready(request, _) | Call::Arrived(request, ..) | Call::Status(request, _) => {
                late(*request)
            }
            _ => None,
        }
    }
}
