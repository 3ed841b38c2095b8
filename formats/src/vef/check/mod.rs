//! Checks a whole trace in one streaming pass.
//!
//! Memory: the ends of the last [`MAX_TRACKED_IDS`] messages, the communicator of each
//! collective, and the records in flight.
//!
//! [`MAX_TRACKED_IDS`]: crate::limits::MAX_TRACKED_IDS

mod dependency;
mod end;
mod groups;
mod ids;
mod observer;
mod order;

use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problems};
use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use self::dependency::Reference;
use self::groups::Rule;
pub use self::ids::Awaited;
use self::ids::Ends;
pub use self::observer::Observer;
use self::order::{Event, Order, Pending, Starts};
use super::collective::Gathering;
use super::comms::Positions;
use super::reader::Reader;
use super::record::{Comm, Header, Member, Message, Record, Version};
use crate::error::Error;
use crate::limits::MAX_WAITING;

/// Result of checking a trace, and the numbers that its replay needs beforehand.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Check {
    /// The first line.
    pub header: Header,
    /// Problems that prevent a replay, in order of discovery.
    pub errors: Problems,
    /// Oddities that do not prevent one.
    pub warnings: Problems,
    /// Collectives whose root is taken for granted, because all their sizes are 0.
    pub guessed_roots: u64,
    /// Records of each task; tasks without any may be missing at the end.
    pub records: Vec<u64>,
    /// Point-to-point messages, markers not included.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Entries of receives and waits, and ends.
    pub markers: u64,
    /// Distinct collectives.
    pub collectives: u64,
    /// Lines of collectives.
    pub members: u64,
    /// Dependencies on records so old that only their existence was checked.
    pub unverified: u64,
    /// Dependencies on messages of a later line.
    pub forward: u64,
    /// Largest number of records that were read and could not start yet.
    pub max_waiting: usize,
    /// The messages that records wait to receive; of a clean trace.
    pub awaited: Arc<Awaited>,
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Communication that is doubtful: a sentence for each kind, with its number.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let roots = (self.guessed_roots > 0).then(|| {
            format!(
                "{} collectives have only sizes of 0, which tell no root; the first member of each is taken for it",
                self.guessed_roots
            )
        });
        roots.into_iter().collect()
    }

    fn new(header: Header) -> Self {
        Self {
            header,
            errors: Problems::default(),
            warnings: Problems::default(),
            guessed_roots: 0,
            records: Vec::new(),
            messages: 0,
            bytes: 0,
            markers: 0,
            collectives: 0,
            members: 0,
            unverified: 0,
            forward: 0,
            max_waiting: 0,
            awaited: Arc::default(),
        }
    }
}

/// Checks a file.
///
/// # Errors
/// If the file can't be read, or its header and communicators are not VEF. Errors after
/// these are in [`Check::errors`].
pub fn check_file(path: impl AsRef<Path>) -> Result<Check, Error> {
    observe(&mut Reader::open(path)?, (), Stop::never()).map(|(check, ())| check)
}

/// Checks the rest of `reader` and tells `observer` what happens.
///
/// # Errors
/// If the file can't be read, or the user stops the check.
pub fn observe<O: Observer>(
    reader: &mut Reader,
    observer: O,
    stop: Stop<'_>,
) -> Result<(Check, O), Error> {
    let mut checker = Checker::new(reader, observer);
    loop {
        match reader.next_record() {
            Ok(Some((line, record))) => {
                if line.is_multiple_of(ASK_EVERY) {
                    stop.check()?;
                }
                if !checker.record(line, &record) {
                    return Ok(checker.stop());
                }
            }
            Ok(None) => return Ok(checker.finish(reader.ignored_traffic())),
            Err(e) => return Ok(checker.unreadable(e.into_problem()?)),
        }
    }
}

/// Lines between two checks whether the user stops [`observe`].
pub const ASK_EVERY: u64 = 1 << 16;

const TOO_MANY_WAITING: &str = "too many records wait for later lines: sort the lines by the \
                                time of recording";

/// Checks a trace record by record; [`check_file`] does so with a whole file.
pub struct Checker<O: Observer> {
    path: Arc<Path>,
    check: Check,
    comms: Vec<Comm>,
    positions: Positions,
    order: Order<O>,
    /// Dependencies on messages not read yet, by message.
    forward: HashMap<u64, Vec<Reference>>,
    /// Computation of each task so far, in picoseconds.
    compute: Vec<u64>,
    warned_traffic: bool,
    warned_root: bool,
}

impl<O: Observer> Checker<O> {
    /// Begins after the communicators of `trace`.
    #[must_use]
    pub fn new(trace: &Reader, observer: O) -> Self {
        let comms = trace.comms().to_vec();
        let mut check = Self {
            path: trace.path().into(),
            check: Check::new(trace.header().clone()),
            positions: Positions::new(&comms),
            comms,
            order: Order::new(observer),
            forward: HashMap::new(),
            compute: Vec::new(),
            warned_traffic: false,
            warned_root: false,
        };
        check.communicators();
        check
    }

    #[cold]
    fn error(&mut self, line: u64, message: impl Into<String>) {
        let problem = || PlaceError::line(line, message).of(&self.path);
        self.check.errors.add(problem);
    }

    #[cold]
    fn warning(&mut self, line: u64, message: impl Into<String>) {
        let problem = || PlaceError::line(line, message).of(&self.path);
        self.check.warnings.add(problem);
    }

    fn communicators(&mut self) {
        let tasks = self.check.header.tasks;
        for k in 0..self.comms.len() as u32 {
            let members = self.comms[k as usize].members.clone();
            let line = u64::from(k) + 2;
            if let Some(task) = members.iter().find(|&&t| t >= tasks) {
                self.error(line, format!("C{k} has task {task}, but {}", range(tasks)));
            }
            if let Some(task) = self.positions.twice(k) {
                self.error(line, format!("C{k} lists task {task} twice"));
            }
            if k == 0 && members.len() != tasks as usize {
                let n = members.len();
                self.error(
                    line,
                    format!("C0 is the world: expected all {tasks} tasks, found {n}"),
                );
            }
        }
    }

    /// Checks the record of a line. False if the trace is refused because too many records
    /// wait for later lines; the caller then stops.
    pub fn record(&mut self, line: u64, record: &Record) -> bool {
        self.check_record(line, record);
        let room = self.order.waiting <= MAX_WAITING;
        if !room {
            self.error(line, TOO_MANY_WAITING);
        }
        room
    }

    /// Ends before the end of the file.
    #[must_use]
    pub fn stop(self) -> (Check, O) {
        (self.check, self.order.observer)
    }

    /// The result so far.
    #[must_use]
    pub fn so_far(&self) -> &Check {
        &self.check
    }

    fn check_record(&mut self, line: u64, record: &Record) {
        let task = record.task();
        let known_task = task < self.check.header.tasks;
        if known_task {
            let at = task as usize;
            if at >= self.check.records.len() {
                self.check.records.resize(at + 1, 0);
                self.compute.resize(at + 1, 0);
            }
            self.check.records[at] += 1;
            let ps = record.time().checked_mul(self.check.header.ps_per_unit);
            match ps.and_then(|ps| self.compute[at].checked_add(ps)) {
                Some(sum) => self.compute[at] = sum,
                None => self.error(
                    line,
                    format!("the computation of task {task} exceeds 2^64 picoseconds here"),
                ),
            }
        } else {
            let tasks = self.check.header.tasks;
            self.error(
                line,
                format!("task {task} does not exist: {}", range(tasks)),
            );
        }
        let after = if known_task {
            self.dependency(line, record)
        } else {
            Event::Nothing
        };
        let starts = match record {
            Record::Message(m) => self.message(line, m),
            Record::Member(m) => self.member(line, m),
        };
        if known_task {
            let note = self.order.observer.read(line, record);
            let pending = Pending {
                line,
                after,
                starts,
                note,
            };
            self.order.push(task, pending, &self.comms);
            let waiting = self.order.waiting;
            self.check.max_waiting = self.check.max_waiting.max(waiting);
        } else if let Starts::Message { id, .. } = starts {
            self.order.ids.start(id);
        }
        if let Record::Member(m) = record
            && starts != Starts::Nothing
        {
            self.settle(line, m);
        }
    }

    fn message(&mut self, line: u64, m: &Message) -> Starts {
        let tasks = self.check.header.tasks;
        let vef3 = self.check.header.version == Version::Vef3;
        if m.dst >= tasks {
            let dst = m.dst;
            self.error(line, format!("task {dst} does not exist: {}", range(tasks)));
        }
        if m.src != m.dst && !m.dep.traffic() && vef3 {
            let dep = m.dep.0;
            self.error(
                line,
                format!("Dep {dep} lacks the traffic bit (4) on a message to another task"),
            );
        }
        let ends = if m.is_marker() {
            self.check.markers += 1;
            Ends::marker(m.src)
        } else {
            self.check.messages += 1;
            self.check.bytes = self.check.bytes.saturating_add(m.size);
            Ends::message(m.src, m.dst)
        };
        let messages = self.check.header.messages;
        if m.id >= messages {
            let id = m.id;
            self.error(
                line,
                format!(
                    "message ID {id} is out of range: the header announces {messages} messages"
                ),
            );
        }
        if !self.order.ids.insert(m.id, ends) {
            self.error(line, format!("message ID {} is used twice", m.id));
            return Starts::Nothing;
        }
        if !self.forward.is_empty()
            && let Some(references) = self.forward.remove(&m.id)
        {
            for r in references {
                self.ends(r, m.id, ends);
            }
        }
        let (id, dst) = (m.id, m.dst);
        Starts::Message { id, dst }
    }

    fn warn_traffic(&mut self, line: u64, text: &str) {
        if !self.warned_traffic {
            self.warned_traffic = true;
            self.warning(line, text);
        }
    }

    fn member(&mut self, line: u64, m: &Member) -> Starts {
        self.check.members += 1;
        if m.dep.traffic() {
            self.warn_traffic(line, "a collective has no traffic bit (4) in Dep: ignored");
        }
        if m.comm as usize >= self.comms.len() {
            let (comm, n) = (m.comm, self.comms.len());
            self.error(
                line,
                format!("communicator C{comm} does not exist: the file has {n}"),
            );
            return Starts::Nothing;
        }
        let Some(position) = self.positions.of(m.comm, m.task) else {
            let (task, comm) = (m.task, m.comm);
            self.error(line, format!("task {task} is not a member of C{comm}"));
            return Starts::Nothing;
        };
        if self.order.groups.done(m.id).is_some() {
            let (g, task) = (m.id, m.task);
            self.error(
                line,
                format!("G{g} is complete already: task {task} enters it once more"),
            );
            return Starts::Nothing;
        }
        if !self.order.groups.live.contains_key(&m.id) {
            match Gathering::new(line, m) {
                Ok(gathering) => self.order.groups.begin(m.id, gathering),
                Err((line, text)) => {
                    self.error(line, text);
                    return Starts::Nothing;
                }
            }
        }
        if let Some(live) = self.order.groups.live.get_mut(&m.id)
            && let Err((line, text)) = live.gathering.add(line, position, m)
        {
            self.error(line, text);
            return Starts::Nothing;
        }
        Starts::Member(m.id)
    }

    /// Resolves the collective of `m` if that was its last line.
    fn settle(&mut self, line: u64, m: &Member) {
        let comms = &self.comms;
        let Some(live) = self.order.groups.live.get(&m.id) else {
            return;
        };
        let Some(comm) = comms.get(live.gathering.comm() as usize) else {
            return;
        };
        if live.gathering.len() < comm.members.len() {
            return;
        }
        let (rule, misfit, guessed) = match live.gathering.resolve(m.id, comm) {
            Ok(resolved) => {
                let rule = Rule::of(&resolved.kind, comm);
                self.order.observer.resolved(m.id, &resolved);
                (rule, None, resolved.root_guessed)
            }
            Err(misfit) => (Rule::Waived, Some(misfit), false),
        };
        if let Some((line, text)) = misfit {
            self.error(line, text);
        }
        self.check.guessed_roots += u64::from(guessed);
        if guessed && !self.warned_root {
            self.warned_root = true;
            let g = m.id;
            self.warning(
                line,
                format!("all sizes of G{g} are 0: its first member is taken for the root"),
            );
        }
        self.order.settle(m.id, rule, &self.comms);
    }
}

fn range(tasks: u32) -> String {
    match tasks {
        1 => "the only task is 0".into(),
        _ => format!("the tasks are 0 to {}", tasks - 1),
    }
}
