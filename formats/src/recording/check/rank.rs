//! Checks the records of one rank.

use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;

use super::{Check, RankInfo, located};
use crate::limits::MAX_REQUESTS;
use crate::recording::call::{Call, Message, Peer, Reference};
use crate::recording::rank::{Phase, RankReader};
use crate::recording::reader::DAMAGED;
use crate::recording::record::{Communicator, End, Item, Reason, Record, Request};
use crate::recording::set::Set;
use flitwise_base::quote::cut;

/// A request that no call has completed.
#[derive(Debug, Clone, Copy)]
struct Pending {
    persistent: bool,
    active: bool,
    offset: u64,
}

/// Checks the records of one rank in order.
pub(super) struct RankCheck<'a> {
    pub rank: u32,
    set: &'a Set,
    pub info: RankInfo,
    requests: HashMap<Request, Pending>,
    /// Messages that probes have taken.
    taken: HashMap<Request, u64>,
    /// The numbers of ranks that peers may be, by communicator.
    sizes: HashMap<u32, u64>,
    begun: bool,
    ended: Vec<u32>,
    thread: u32,
    offset: u64,
    function: Option<Arc<str>>,
}

impl<'a> RankCheck<'a> {
    pub fn new(rank: u32, set: &'a Set) -> Self {
        Self {
            rank,
            set,
            info: RankInfo::default(),
            requests: HashMap::new(),
            taken: HashMap::new(),
            sizes: HashMap::new(),
            begun: false,
            ended: Vec::new(),
            thread: 0,
            offset: 0,
            function: None,
        }
    }

    fn path(&self) -> Arc<Path> {
        let path = self.set.stream(self.rank, self.thread);
        path.map_or_else(|| self.set.path().into(), Arc::clone)
    }

    #[cold]
    pub fn error(&self, check: &mut Check, message: String) {
        check.errors.add(|| {
            let within = self.function.as_ref();
            let within = within.map_or(String::new(), |name| format!(" ({})", cut(name)));
            let message = format!("rank {}{within}: {message}", self.rank);
            located(&self.path(), self.offset, message)
        });
    }

    /// Checks a record.
    pub fn record(&mut self, phase: Phase, item: &Item<'_>, check: &mut Check) {
        match item {
            Item::Call(record) => self.called(phase, record, check),
            Item::Communicator(comm) => self.communicator(comm),
            Item::Note(text) => {
                *check.notes.entry(cut(text).to_string()).or_default() += 1;
            }
            Item::End(end) => self.end(end),
        }
    }

    fn communicator(&mut self, comm: &Communicator<'_>) {
        let size = comm.others.unwrap_or(comm.members).len();
        self.sizes.insert(comm.id, size);
    }

    fn end(&mut self, end: &End) {
        self.info.threads_cpu_ns = (self.info.threads_cpu_ns).saturating_add(end.thread_cpu_ns);
        // Streams end one after the other.
        self.info.process_cpu_ns = self.info.process_cpu_ns.max(end.process_cpu_ns);
        self.ended.push(end.thread);
        if self.ended.len() == 1 || end.reason != Reason::Thread {
            self.info.reason = Some(end.reason);
        }
    }

    fn called(&mut self, phase: Phase, record: &Record<'_>, check: &mut Check) {
        (self.offset, self.thread) = (record.offset, record.thread);
        self.function = Some(Arc::clone(&record.function.name));
        if phase != Phase::End {
            self.count(record, check);
            self.peers(record, check);
        }
        // Requests are made where a call begins, and complete where it ends.
        match &record.call {
            Call::Complete(_) if phase == Phase::Begin => {}
            Call::Complete(completion) => completion.each(|reference, _| {
                self.completed(record, reference, check);
            }),
            _ if phase == Phase::End => {}
            Call::Start(all) => {
                for reference in all.iter() {
                    self.with(record, reference, check, |pending| pending.active = true);
                }
            }
            Call::Free(all) => {
                for reference in all.iter() {
                    self.with(record, reference, check, |_| {});
                    if let Some(request) = record.request(reference) {
                        self.requests.remove(&request);
                    }
                }
            }
            Call::Cancel(all) => {
                for reference in all.iter() {
                    self.with(record, reference, check, |_| {});
                }
            }
            Call::Ready(one, _) | Call::Arrived(one, ..) | Call::Status(one, _)
                if one.is_some() =>
            {
                self.with(record, *one, check, |_| {});
            }
            Call::ReceiveTaken(message, ..) if message.is_some() => {
                let taken = record.message(*message);
                if taken.and_then(|taken| self.taken.remove(&taken)).is_none() {
                    self.error(
                        check,
                        format!("it receives a message that no call took; {DAMAGED}"),
                    );
                }
            }
            _ => {}
        }
        if phase != Phase::End {
            self.makes(record);
        }
    }

    /// The requests and messages that a call makes.
    fn makes(&mut self, record: &Record<'_>) {
        let offset = record.offset;
        if let Some(request) = record.made_request() {
            let persistent = record.is_persistent();
            let active = !persistent;
            if self.requests.len() < MAX_REQUESTS {
                self.requests.insert(
                    request,
                    Pending {
                        persistent,
                        active,
                        offset,
                    },
                );
            }
        }
        if let Some(message) = record.taken_message()
            && self.taken.len() < MAX_REQUESTS
        {
            self.taken.insert(message, offset);
        }
    }

    /// Changes a request that a call names.
    fn with(
        &mut self,
        record: &Record<'_>,
        reference: Reference,
        check: &mut Check,
        change: impl FnOnce(&mut Pending),
    ) {
        let is_full = self.requests.len() >= MAX_REQUESTS;
        let request = record.request(reference);
        let pending = request.and_then(|request| self.requests.get_mut(&request));
        match pending {
            Some(pending) => change(pending),
            // Beyond that number it is unknown.
            None if is_full => {}
            None => self.error(
                check,
                format!("it names a request that no call made, or that is complete; {DAMAGED}"),
            ),
        }
    }

    fn completed(&mut self, record: &Record<'_>, reference: Reference, check: &mut Check) {
        let mut persistent = true;
        self.with(record, reference, check, |pending| {
            pending.active = false;
            persistent = pending.persistent;
        });
        if let (false, Some(request)) = (persistent, record.request(reference)) {
            self.requests.remove(&request);
        }
    }

    fn count(&mut self, record: &Record<'_>, check: &mut Check) {
        let info = &mut self.info;
        info.records += 1;
        info.calls = info.calls.saturating_add(record.repeats);
        let add = |to: &mut u64, ns: u64| *to = to.saturating_add(ns);
        // The recording begins with MPI_Init.
        if !matches!(record.call, Call::Init(_)) {
            add(&mut info.cpu_ns, record.times.cpu_ns);
            add(&mut info.wall_ns, record.times.wall_ns);
        }
        add(&mut info.inside_ns, record.times.inside_ns);
        match &record.call {
            Call::Failed => info.failed = info.failed.saturating_add(record.repeats),
            Call::Collective(_) => info.collectives += 1,
            Call::Init(_) => self.begun = true,
            Call::Outside(_) => check.has_outside = true,
            _ => {}
        }
        let name = &record.function.name;
        match check.calls_by_name.get_mut(name) {
            Some(count) => *count = count.saturating_add(record.repeats),
            None => {
                check.calls_by_name.insert(Arc::clone(name), record.repeats);
            }
        }
    }

    fn peers(&self, record: &Record<'_>, check: &mut Check) {
        let mut wrong = |message: &Message| match self.sizes.get(&message.comm) {
            None => self.error(
                check,
                format!(
                    "no record describes communicator {}; {DAMAGED}",
                    message.comm
                ),
            ),
            Some(&size) => {
                if let Peer::Rank(rank) = message.peer
                    && u64::from(rank) >= size
                {
                    self.error(
                        check,
                        format!(
                            "rank {rank} does not exist in communicator {}, which has {size}; {DAMAGED}",
                            message.comm
                        ),
                    );
                }
            }
        };
        match &record.call {
            Call::Send(message, ..)
            | Call::Receive(message, ..)
            | Call::Probe { message, .. }
            | Call::Partitioned { message, .. } => wrong(message),
            Call::SendReceive { sent, received, .. } => {
                wrong(sent);
                wrong(received);
            }
            Call::Collective(collective) => wrong(&Message {
                comm: collective.comm,
                peer: collective.root,
                tag: None,
                data: Default::default(),
            }),
            _ => {}
        }
    }

    /// After the last record.
    pub fn finish(&mut self, reader: &RankReader, check: &mut Check) {
        let rank = self.rank;
        let streams = reader.places().enumerate();
        let cut: Vec<(Arc<Path>, u64)> = streams
            .filter(|(thread, _)| !self.ended.contains(&(*thread as u32)))
            .map(|(_, (path, offset))| (Arc::clone(path), offset))
            .collect();
        self.info.cut = cut.len() as u32;
        for (path, offset) in cut {
            check.warnings.add(|| {
                let message = format!(
                    "rank {rank}: the stream has no end: the program was killed, or ended while this thread was in a call; it is read up to here"
                );
                located(&path, offset, message)
            });
        }
        if !self.begun {
            let message = "there is no MPI_Init: the stream was cut".to_owned();
            check
                .warnings
                .add(|| located(&self.path(), self.offset, format!("rank {rank}: {message}")));
        }
        self.ends_early(check);
        self.unfinished(check);
    }

    fn ends_early(&self, check: &mut Check) {
        let rank = self.rank;
        let what = match self.info.reason {
            Some(Reason::Exit) => "without MPI_Finalize",
            Some(Reason::Abort) => "with MPI_Abort",
            _ => return,
        };
        check.warnings.add(|| {
            let message = format!("rank {rank}: the program ends {what}");
            located(&self.path(), self.offset, message)
        });
    }

    fn unfinished(&mut self, check: &mut Check) {
        let active = self.requests.values().filter(|pending| pending.active);
        let Some(first) = active.clone().map(|pending| pending.offset).min() else {
            return;
        };
        let count = active.count() as u64;
        self.info.unfinished = count;
        let rank = self.rank;
        check.warnings.add(|| {
            let never = if count == 1 {
                "request never completes"
            } else {
                "requests never complete"
            };
            let message = format!("rank {rank}: {count} {never}, of which this makes the first");
            located(&self.path(), first, message)
        });
    }
}
