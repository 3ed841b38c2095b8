//! The calls of a rank as operations.

use super::communicators::Context;
use super::gaps::Gaps;
use super::outcomes::{Outcome, is_open, starts_at_once};
use super::program::Settings;
use super::survey::{Known, mark};
use super::work::{Problem, Work};
use crate::agreement::SPARE;
use crate::mpi::{Call as Does, RequestId, Until};
use crate::program::{Action, Op, Place, RankId};
use crate::trace::recorded::{Cancelled, Started};
use flitwise_formats::recording::{
    Call, Completion, Data, How, Message, Mode, Outcome as Said, Peer, Phase, Record, Reference,
    References, Request,
};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

const TOO_LATE: &str = "a computation that ends beyond the range of time";

/// A rank that makes its calls.
pub(super) struct Caller {
    pub id: RankId,
    pub(super) known: Arc<Known>,
    settings: Settings,
    requests: HashMap<Request, Entry>,
    /// The receives of messages that a probe has taken.
    taken: HashMap<Request, RequestId>,
    /// By thread, the operations of the call that has begun.
    open: Vec<Vec<RequestId>>,
    next_request: u64,
    started: Started,
    gaps: Gaps,
    place: Place,
    /// Operations of the calls that were read.
    pub ready: VecDeque<Op>,
}

/// A request of the program.
#[derive(Default)]
struct Entry {
    /// Its operations under way.
    active: Vec<RequestId>,
    /// The work of a persistent request each time that it starts.
    kept: Option<Arc<[Work]>>,
    /// Of a message in partitions that is sent: their number, and how many are not ready yet.
    partitions: Option<[u64; 2]>,
}

impl Caller {
    pub fn new(id: RankId, known: Arc<Known>, settings: Settings, threads: usize) -> Self {
        Self {
            id,
            gaps: Gaps::new(settings.clock, settings.poll_gap_ps, threads),
            known,
            settings,
            requests: HashMap::new(),
            taken: HashMap::new(),
            open: vec![Vec::new(); threads],
            next_request: 0,
            started: Started::default(),
            place: Place::byte(0),
            ready: VecDeque::new(),
        }
    }

    /// The next call of the rank, or a phase of it.
    pub fn call(&mut self, phase: Phase, record: &Record<'_>) -> Result<(), Problem> {
        if phase != Phase::End {
            self.gaps.begin(record);
        }
        self.place = Place::byte(record.offset);
        let done = match (phase, self.is_left_out(&record.call)) {
            (_, true) => self.left_out(phase, record),
            (Phase::Whole, _) => self.begin(phase, record).and_then(|()| self.end(record)),
            (Phase::Begin, _) => self.begin(phase, record),
            (Phase::End, _) => self.end(record),
        };
        if phase != Phase::Begin {
            self.gaps.end(record);
        }
        done
    }

    /// Ends the rank; its computation after its last call counts.
    pub fn finish(&mut self) -> Result<(), Problem> {
        self.does(Action::Marker)
    }

    /// Whether it can't be replayed: `unsupported` has counted it.
    fn is_left_out(&self, call: &Call<'_>) -> bool {
        let comm = call.comm().and_then(|id| self.known.comms.get(self.id, id));
        super::unsupported::UnsupportedKind::of(call, comm.map(|comm| &**comm)).is_some()
    }

    /// A request that does nothing.
    fn left_out(&mut self, phase: Phase, record: &Record<'_>) -> Result<(), Problem> {
        match starts_at_once(record) {
            Some(at_once) if phase != Phase::End => {
                self.started.count += u64::from(at_once);
                let kept = (!at_once).then(|| Arc::from([]));
                self.keep(
                    record,
                    Entry {
                        kept,
                        ..Entry::default()
                    },
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn does(&mut self, action: Action) -> Result<(), Problem> {
        let compute_ps = self.gaps.take_ps().ok_or(TOO_LATE)?;
        self.ready
            .push_back(Op::next(compute_ps, action, self.place));
        Ok(())
    }

    fn calls(&mut self, call: Does) -> Result<(), Problem> {
        self.does(Action::Mpi(Box::new(call)))
    }

    /// Starts operations. The end of a blocking call waits for its operations.
    fn begin(&mut self, phase: Phase, record: &Record<'_>) -> Result<(), Problem> {
        match &record.call {
            Call::Send(message, mode, how) => {
                let work = self.send(message, *mode, Context::Messages)?;
                self.work(phase, record, *how, work)
            }
            Call::Receive(message, how, said) => {
                let receive = self.receive(message, Context::Messages)?;
                let work = Work::Receive(receive, self.said(*how, message, said));
                self.work(phase, record, *how, vec![work])
            }
            Call::SendReceive {
                sent,
                received,
                how,
                outcome,
            } => {
                let receive = self.receive(received, Context::Messages)?;
                let mut work = vec![Work::Receive(receive, self.said(*how, received, outcome))];
                work.extend(self.send(sent, Mode::Standard, Context::Messages)?);
                self.work(phase, record, *how, work)
            }
            Call::ReceiveTaken(message, _, how, _) => {
                let taken = record.message(*message);
                let taken = taken.and_then(|taken| self.taken.remove(&taken));
                self.take(record, *how, taken);
                Ok(())
            }
            Call::Partitioned {
                message,
                partitions,
                sends,
            } => self.partitioned(record, message, *partitions, *sends),
            Call::Collective(collective) => {
                let work = self.collective(collective)?;
                self.work(phase, record, collective.how, work)
            }
            Call::MakeComm { how, .. } => self.work(phase, record, *how, Vec::new()),
            Call::Start(all) => self.each(record, all, Self::start),
            Call::Ready(request, partitions) => {
                self.partitions_ready(record, *request, partitions.len())
            }
            Call::Free(all) => {
                let active = all
                    .iter()
                    .filter_map(|one| self.requests.remove(&record.request(one)?));
                let active: Vec<RequestId> = active.flat_map(|entry| entry.active).collect();
                if active.is_empty() {
                    return Ok(());
                }
                self.calls(Does::Free {
                    requests: active.into(),
                })
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, record: &Record<'_>) -> Result<(), Problem> {
        match &record.call {
            Call::Probe {
                message,
                found: Some(said),
                ..
            } => self.probe(record, message, said),
            Call::Complete(completion) => self.complete(record, completion),
            Call::Control(level, text) => self.mark(*level, text),
            _ => {
                let open = self.open.get_mut(record.thread as usize);
                let open = open.map(std::mem::take).unwrap_or_default();
                self.wait_for(open)
            }
        }
    }

    /// A mark of the program.
    fn mark(&mut self, level: i64, text: &str) -> Result<(), Problem> {
        let Some((name, enters)) = mark(level, text) else {
            return Ok(());
        };
        match (self.known.regions.id(&name), enters) {
            (Some(region), true) => self.does(Action::EnterRegion(region)),
            (Some(region), false) => self.does(Action::LeaveRegion(region)),
            (None, _) => Ok(()),
        }
    }

    fn each(
        &mut self,
        record: &Record<'_>,
        all: &References<'_>,
        mut act: impl FnMut(&mut Self, Option<Request>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut all = all.iter();
        all.try_for_each(|reference| act(self, record.request(reference)))
    }

    /// Does the work of a call, or keeps it for a persistent request.
    fn work(
        &mut self,
        phase: Phase,
        record: &Record<'_>,
        how: How,
        work: Vec<Work>,
    ) -> Result<(), Problem> {
        match how {
            How::Blocking => self.block(phase, record.thread, work),
            How::Later => {
                let outcome = self.next_outcome();
                let active = self.begin_all(work, outcome)?;
                self.keep(
                    record,
                    Entry {
                        active,
                        ..Entry::default()
                    },
                );
                Ok(())
            }
            How::Persistent => {
                let kept = Some(work.into());
                self.keep(
                    record,
                    Entry {
                        kept,
                        ..Entry::default()
                    },
                );
                Ok(())
            }
        }
    }

    /// Receives the message that a probe has taken: its receive is under way.
    fn take(&mut self, record: &Record<'_>, how: How, taken: Option<RequestId>) {
        let active: Vec<RequestId> = taken.into_iter().collect();
        if how == How::Blocking {
            self.opens(record.thread, active);
        } else {
            self.started.count += 1;
            self.keep(
                record,
                Entry {
                    active,
                    ..Entry::default()
                },
            );
        }
    }

    /// The call of a thread that has begun waits for these at its end.
    fn opens(&mut self, thread: u32, active: Vec<RequestId>) {
        if let Some(open) = self.open.get_mut(thread as usize) {
            open.extend(active);
        }
    }

    fn keep(&mut self, record: &Record<'_>, entry: Entry) {
        if let Some(request) = record.made_request() {
            self.requests.insert(request, entry);
        }
    }

    /// A blocking call. Only if its begin and end are apart, or if it does several things at once, it needs requests.
    fn block(&mut self, phase: Phase, thread: u32, mut work: Vec<Work>) -> Result<(), Problem> {
        if phase == Phase::Whole && work.len() == 1 {
            return match work
                .pop()
                .map(|work| work.call(None))
                .transpose()?
                .flatten()
            {
                Some(call) => self.calls(call),
                None => Ok(()),
            };
        }
        let active = self.begin_all(work, None)?;
        self.opens(thread, active);
        Ok(())
    }

    /// Starts work that is waited for later.
    fn begin_all(
        &mut self,
        work: Vec<Work>,
        outcome: Option<Outcome>,
    ) -> Result<Vec<RequestId>, Problem> {
        let mut active = Vec::with_capacity(work.len());
        for one in work {
            active.extend(self.begin_one(one, outcome)?);
        }
        Ok(active)
    }

    fn begin_one(
        &mut self,
        mut work: Work,
        outcome: Option<Outcome>,
    ) -> Result<Option<RequestId>, Problem> {
        let number = self.started.last();
        let mut id = RequestId(self.next_request + 1);
        match (&mut work, outcome) {
            (Work::Receive(_, said), Some(Outcome::Unknown)) => match &self.settings.cancelled {
                Cancelled::Spare => id = RequestId(SPARE + number),
                Cancelled::Took(all) if all.contains(&(self.id, number)) => {}
                Cancelled::Took(_) => *said = Some(Outcome::Nothing),
            },
            (Work::Receive(_, said), Some(outcome)) => *said = Some(outcome),
            (Work::Send { .. }, Some(Outcome::Nothing)) => return Ok(None),
            _ => {}
        }
        let Some(call) = work.call(Some(id))? else {
            return Ok(None);
        };
        self.calls(call)?;
        if id.0 >= SPARE {
            return Ok(None);
        }
        self.next_request += 1;
        Ok(Some(id))
    }

    /// The outcome of the request that starts next, if it was looked up. To be called once for each.
    fn next_outcome(&mut self) -> Option<Outcome> {
        let outcomes = self.known.outcomes.get(self.id.index());
        self.started.next(outcomes.map(|outcomes| &**outcomes))
    }

    /// A persistent request starts.
    fn start(&mut self, request: Option<Request>) -> Result<(), Problem> {
        let outcome = self.next_outcome();
        let Some(entry) = request.and_then(|request| self.requests.get_mut(&request)) else {
            return Ok(());
        };
        if let Some([all, missing]) = &mut entry.partitions {
            *missing = *all;
            if *missing > 0 {
                return Ok(());
            }
        }
        let kept = entry.kept.clone().unwrap_or_else(|| Arc::from([]));
        self.run(request, &kept, outcome)
    }

    /// The work of a persistent request.
    fn run(
        &mut self,
        request: Option<Request>,
        kept: &[Work],
        outcome: Option<Outcome>,
    ) -> Result<(), Problem> {
        let active = self.begin_all(kept.to_vec(), outcome)?;
        if let Some(entry) = request.and_then(|request| self.requests.get_mut(&request)) {
            entry.active.extend(active);
        }
        Ok(())
    }

    /// A message in partitions travels as a whole, when the last of them is ready.
    fn partitioned(
        &mut self,
        record: &Record<'_>,
        message: &Message,
        partitions: u64,
        sends: bool,
    ) -> Result<(), Problem> {
        let bytes = message.data.bytes().saturating_mul(partitions);
        let data = Data {
            count: bytes,
            size: 1,
        };
        let whole = Message { data, ..*message };
        let context = Context::Partitioned;
        let work = if sends {
            self.send(&whole, Mode::Standard, context)?
        } else {
            vec![Work::Receive(self.receive(&whole, context)?, None)]
        };
        self.keep(
            record,
            Entry {
                kept: Some(work.into()),
                partitions: sends.then_some([partitions, 0]),
                ..Entry::default()
            },
        );
        Ok(())
    }

    fn partitions_ready(
        &mut self,
        record: &Record<'_>,
        request: Reference,
        ready: u64,
    ) -> Result<(), Problem> {
        let request = record.request(request);
        let entry = request.and_then(|request| self.requests.get_mut(&request));
        let Some(Entry {
            kept: Some(kept),
            partitions: Some([_, missing]),
            ..
        }) = entry
        else {
            return Ok(());
        };
        let before = std::mem::replace(missing, missing.saturating_sub(ready));
        if before == 0 || *missing > 0 {
            return Ok(());
        }
        let kept = Arc::clone(kept);
        self.run(request, &kept, None)
    }

    /// Waits for the operations that a call found complete: the time of the search is progress, not computation.
    fn complete(
        &mut self,
        record: &Record<'_>,
        completion: &Completion<'_>,
    ) -> Result<(), Problem> {
        let mut done = Vec::new();
        completion.each(|reference, _| {
            let Some(request) = record.request(reference) else {
                return;
            };
            let Some(entry) = self.requests.get_mut(&request) else {
                return;
            };
            done.append(&mut entry.active);
            if entry.kept.is_none() {
                self.requests.remove(&request);
            }
        });
        self.wait_for(done)
    }

    fn wait_for(&mut self, requests: Vec<RequestId>) -> Result<(), Problem> {
        if requests.is_empty() {
            return Ok(());
        }
        self.calls(Does::Wait {
            requests: requests.into(),
            until: Until::All,
        })
    }

    /// A probe that found a message.
    fn probe(
        &mut self,
        record: &Record<'_>,
        message: &Message,
        said: &Said,
    ) -> Result<(), Problem> {
        let mut receive = self.receive(message, Context::Messages)?;
        let outcome = is_open(message)
            .then(|| Outcome::of(message, said))
            .flatten();
        let Some((from, tag)) = receive.pattern(outcome)? else {
            return Ok(());
        };
        if let Some(Outcome::Message { source, tag }) = outcome {
            (receive.peer, receive.tag) = (Peer::Rank(source), Some(tag));
        }
        let comm = receive.id;
        self.calls(Does::Probe { from, comm, tag })?;
        // It takes the message out of the matching.
        if let Some(taken) = record.taken_message() {
            let receive = self.begin_one(Work::Receive(receive, None), None)?;
            self.taken.extend(receive.map(|receive| (taken, receive)));
        }
        Ok(())
    }
}
