//! The calls of a rank as operations.

use super::collective::{between, contribution};
use super::communicators::{Resolved, only, world};
use super::envelope::{Envelope, Problem, mode, pattern, peer};
use super::gaps::Gaps;
use super::outcomes::{Outcome, is_open};
use super::program::Settings;
use super::requests::Requests;
use super::survey::Known;
use crate::agreement::SPARE;
use crate::mpi::{Call as Does, RequestId, SendMode, Tag, Until};
use crate::program::{Action, Op, Place, RankId};
use crate::trace::Wording;
use crate::trace::recorded::{Cancelled, Started};
use flitwise_formats::dumpi::handle::{ANY_SOURCE, ANY_TAG};
use flitwise_formats::dumpi::{Call, Comm, Message, Record, Request, Status, Types};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

const TOO_LATE: &str = "a computation that ends beyond the range of time";

/// A rank that makes its calls.
pub(super) struct Caller {
    pub id: RankId,
    known: Arc<Known>,
    skip_unsupported: bool,
    wording: Wording,
    cancelled: Cancelled,
    types: Types,
    comms: HashMap<Comm, Arc<Resolved>>,
    /// Constructors of communicators so far.
    constructed: usize,
    /// Operations under way: their request here, unless there is nothing to wait for.
    requests: Requests<Option<RequestId>, Option<Persistent>>,
    next_request: u64,
    /// Sends and receives that do not block.
    started: Started,
    gaps: Option<Gaps>,
    place: Place,
    /// Operations of the calls that were read.
    pub ready: VecDeque<Op>,
    pub ended: bool,
}

/// The message that a persistent request starts.
#[derive(Clone)]
struct Persistent {
    message: Envelope,
    /// `None` for a receive.
    sends: Option<SendMode>,
}

impl Caller {
    pub fn new(
        id: RankId,
        ranks: u32,
        types: Types,
        known: Arc<Known>,
        settings: Settings,
    ) -> Self {
        let comms = [(Comm::WORLD, world(ranks)), (Comm::SELF, only(id))];
        Self {
            id,
            known,
            skip_unsupported: settings.skip_unsupported,
            wording: settings.wording,
            cancelled: settings.cancelled,
            types,
            comms: comms.into_iter().collect(),
            constructed: 0,
            requests: Requests::default(),
            next_request: 0,
            started: Started::default(),
            gaps: settings.clock.map(|clock| Gaps::new(clock, settings.loops)),
            place: Place::byte(0),
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// The next call of the rank.
    pub fn call(&mut self, record: &Record<'_>) -> Result<(), Problem> {
        if let Some(gaps) = &mut self.gaps {
            gaps.see(record);
        }
        self.place = Place::byte(record.offset);
        let call = &record.call;
        self.types.note(call);
        if call.made_comm().is_some() {
            self.comm_made(call);
            return Ok(());
        }
        if let Some(request) = call.made_request() {
            return self.request(call, request);
        }
        match call {
            Call::Send(_) | Call::Bsend(_) | Call::Ssend(_) | Call::Rsend(_) => {
                self.send_call(call)
            }
            Call::Recv(c) => self.receive_call(call, c.status.first()),
            Call::Sendrecv(c) => self.both(call, c.status.first()),
            Call::SendrecvReplace(c) => self.both(call, c.status.first()),
            Call::Start(c) => self.start(c.request),
            Call::Startall(c) => c
                .requests
                .iter()
                .try_for_each(|request| self.start(request)),
            Call::RequestFree(c) => {
                let freed = self.requests.free(c.request).flatten();
                self.forget(freed.into_iter().collect())
            }
            Call::Probe(c) => self.probe((c.comm, c.source, c.tag), c.status.first()),
            Call::Iprobe(c) if c.flag != 0 => {
                self.probe((c.comm, c.source, c.tag), c.status.first())
            }
            Call::CommFree(c) | Call::CommDisconnect(c) => {
                self.comms.remove(&c.comm);
                Ok(())
            }
            Call::Finalize(_) => self.end(),
            _ if call.collective().is_some() => self.collective(call),
            _ => self.wait(call),
        }
    }

    /// Ends the rank; its computation after its last call counts.
    pub fn end(&mut self) -> Result<(), Problem> {
        self.ended = true;
        self.does(Action::Marker)
    }

    fn does(&mut self, action: Action) -> Result<(), Problem> {
        let compute_ps = match &mut self.gaps {
            Some(gaps) => gaps.take_ps().ok_or(TOO_LATE)?,
            None => 0,
        };
        self.ready
            .push_back(Op::next(compute_ps, action, self.place));
        Ok(())
    }

    fn calls(&mut self, call: Does) -> Result<(), Problem> {
        self.does(Action::Mpi(Box::new(call)))
    }

    /// A constructor made a communicator.
    fn comm_made(&mut self, call: &Call<'_>) {
        let made = self.known.communicators.get(self.id.index());
        let made = made.and_then(|made| made.get(self.constructed));
        self.constructed += 1;
        let Some(new) = call.made_comm() else { return };
        match made {
            Some(Some((_, made))) => self.comms.insert(new, Arc::clone(made)),
            _ => self.comms.remove(&new),
        };
    }

    /// The communicator of this number; `None` if it is not known and that does not matter.
    fn comm(&self, comm: Comm) -> Result<Option<Arc<Resolved>>, Problem> {
        match self.comms.get(&comm) {
            Some(comm) => Ok(Some(Arc::clone(comm))),
            None if self.skip_unsupported => Ok(None),
            None => Err(format!(
                "the members of {comm} are not known; {} leaves the call out",
                self.wording.skip_unsupported()
            )),
        }
    }

    /// The message of a call; `None` if its communicator is not known and that does not matter.
    fn envelope(&self, message: &Message) -> Result<Option<Envelope>, Problem> {
        let Some(comm) = self.comm(message.comm)? else {
            return Ok(None);
        };
        let bytes = self.types.bytes(message.datatype, message.count);
        let bytes = bytes.ok_or_else(|| {
            format!(
                "nothing says how many bytes {} elements of datatype {} have",
                message.count, message.datatype.0
            )
        })?;
        Ok(Some(Envelope {
            comm,
            peer: message.peer,
            tag: message.tag,
            bytes,
        }))
    }

    /// A request that is in use nowhere else.
    fn fresh(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    /// Operations that no other one waits for.
    fn forget(&mut self, requests: Vec<RequestId>) -> Result<(), Problem> {
        if requests.is_empty() {
            Ok(())
        } else {
            self.calls(Does::Free {
                requests: requests.into(),
            })
        }
    }

    /// A call that makes a request.
    fn request(&mut self, call: &Call<'_>, request: Request) -> Result<(), Problem> {
        let over = if let Some((message, sends)) = call.persistent() {
            let sends = sends.then(|| mode(call));
            let kept = self.envelope(&message)?;
            let kept = kept.map(|message| Persistent { message, sends });
            self.requests.make_persistent(request, kept)
        } else if let Some(message) = call.sent() {
            let outcome = self.next_outcome();
            let id = match self.envelope(&message)? {
                Some(message) => self.send_later(&message, mode(call), outcome)?,
                None => None,
            };
            self.requests.start(request, false, id)
        } else if let Some(message) = call.received() {
            let outcome = self.next_outcome();
            let id = match self.envelope(&message)? {
                Some(message) => self.receive_later(&message, outcome)?,
                None => None,
            };
            self.requests.start(request, true, id)
        } else {
            // The program completes it by itself.
            self.requests.start(request, false, None)
        };
        self.forget(over.into_iter().flatten().collect())
    }

    /// A persistent request starts.
    fn start(&mut self, request: Request) -> Result<(), Problem> {
        let Some(kept) = self.requests.persistent(request).cloned() else {
            return Ok(());
        };
        let outcome = self.next_outcome();
        // Operations on a communicator that is not known are left out.
        let Some(Persistent { message, sends }) = kept else {
            return Ok(());
        };
        let id = match sends {
            Some(mode) => self.send_later(&message, mode, outcome)?,
            None => self.receive_later(&message, outcome)?,
        };
        let over = self.requests.start_persistent(request, sends.is_none(), id);
        self.forget(over.into_iter().flatten().collect())
    }

    fn send_later(
        &mut self,
        message: &Envelope,
        mode: SendMode,
        outcome: Option<Outcome>,
    ) -> Result<Option<RequestId>, Problem> {
        if outcome == Some(Outcome::Nothing) {
            return Ok(None);
        }
        let id = self.fresh();
        let sent = self.send(message, mode, Some(id))?;
        Ok(sent.then_some(id))
    }

    /// The outcome of the message that the rank sends or receives next without blocking, if it was looked up. To be called
    /// once for each.
    fn next_outcome(&mut self) -> Option<Outcome> {
        let outcomes = self.known.outcomes.get(self.id.index());
        self.started.next(outcomes.map(|outcomes| &**outcomes))
    }

    fn receive_later(
        &mut self,
        message: &Envelope,
        outcome: Option<Outcome>,
    ) -> Result<Option<RequestId>, Problem> {
        let number = self.started.last();
        let outcome = match (outcome, &self.cancelled) {
            (Some(Outcome::Unknown), Cancelled::Spare) => {
                self.receive(message, None, Some(RequestId(SPARE + number)))?;
                return Ok(None);
            }
            (Some(Outcome::Unknown), Cancelled::Took(all)) => {
                let took = all.contains(&(self.id, number));
                (!took).then_some(Outcome::Nothing)
            }
            (outcome, _) => outcome,
        };
        let id = self.fresh();
        let posted = self.receive(message, outcome, Some(id))?;
        Ok(posted.then_some(id))
    }

    /// Sends a message; false if it has no receiver.
    fn send(
        &mut self,
        message: &Envelope,
        mode: SendMode,
        request: Option<RequestId>,
    ) -> Result<bool, Problem> {
        // MPI libraries have different negative numbers for `MPI_PROC_NULL`.
        if message.peer < 0 {
            return Ok(false);
        }
        self.calls(Does::Send {
            to: peer(&message.comm, message.peer)?,
            comm: message.comm.own.id,
            tag: Tag(message.tag),
            bytes: message.bytes,
            mode,
            nic: 0,
            request,
        })?;
        Ok(true)
    }

    /// Receives a message; false if it gets none.
    fn receive(
        &mut self,
        message: &Envelope,
        outcome: Option<Outcome>,
        request: Option<RequestId>,
    ) -> Result<bool, Problem> {
        let Some((from, tag)) = pattern(message, outcome)? else {
            return Ok(false);
        };
        self.calls(Does::Receive {
            from,
            comm: message.comm.own.id,
            tag,
            request,
        })?;
        Ok(true)
    }

    fn send_call(&mut self, call: &Call<'_>) -> Result<(), Problem> {
        let Some(message) = call.sent() else {
            return Ok(());
        };
        if let Some(message) = self.envelope(&message)? {
            self.send(&message, mode(call), None)?;
        }
        Ok(())
    }

    fn receive_call(&mut self, call: &Call<'_>, status: Option<Status>) -> Result<(), Problem> {
        let Some(message) = call.received() else {
            return Ok(());
        };
        let outcome = status.filter(|_| is_open(&message)).map(Outcome::of);
        if let Some(message) = self.envelope(&message)? {
            self.receive(&message, outcome, None)?;
        }
        Ok(())
    }

    /// Sends and receives at once.
    fn both(&mut self, call: &Call<'_>, status: Option<Status>) -> Result<(), Problem> {
        let (Some(sent), Some(received)) = (call.sent(), call.received()) else {
            return Ok(());
        };
        let outcome = status.filter(|_| is_open(&received)).map(Outcome::of);
        let mut requests = Vec::new();
        if let Some(message) = self.envelope(&received)? {
            let id = self.fresh();
            let posted = self.receive(&message, outcome, Some(id))?;
            requests.extend(posted.then_some(id));
        }
        if let Some(message) = self.envelope(&sent)? {
            requests.extend(self.send_later(&message, SendMode::Standard, None)?);
        }
        self.wait_for(requests)
    }

    /// Waits for the operations that a call found complete: the time of the search is progress, not computation.
    fn wait(&mut self, call: &Call<'_>) -> Result<(), Problem> {
        let mut requests = Vec::new();
        call.completed(&mut |request, _| {
            requests.extend(self.requests.take(request).flatten());
        });
        self.wait_for(requests)
    }

    fn wait_for(&mut self, requests: Vec<RequestId>) -> Result<(), Problem> {
        if requests.is_empty() {
            Ok(())
        } else {
            self.calls(Does::Wait {
                requests: requests.into(),
                until: Until::All,
            })
        }
    }

    /// A probe that found a message.
    fn probe(
        &mut self,
        (comm, source, tag): (Comm, i32, i32),
        status: Option<Status>,
    ) -> Result<(), Problem> {
        let Some(comm) = self.comm(comm)? else {
            return Ok(());
        };
        let message = Envelope {
            comm,
            peer: source,
            tag,
            bytes: 0,
        };
        let open = source == ANY_SOURCE || tag == ANY_TAG;
        let outcome = status.filter(|_| open).map(Outcome::of);
        let Some((from, tag)) = pattern(&message, outcome)? else {
            return Ok(());
        };
        let comm = message.comm.own.id;
        self.calls(Does::Probe { from, comm, tag })
    }

    fn collective(&mut self, call: &Call<'_>) -> Result<(), Problem> {
        let Some(collective) = call.collective() else {
            return Ok(());
        };
        let Some(comm) = self.comm(collective.comm)? else {
            return Ok(());
        };
        let (comm, brings) = match &comm.others {
            Some(others) => (&others.both, between(call, others, &self.types)),
            None => {
                let n = comm.own.members.len() as u32;
                (&comm.own, contribution(call, n, &self.types))
            }
        };
        match brings {
            Some(contribution) => self.calls(Does::Collective {
                comm: Arc::clone(comm),
                contribution,
                request: None,
            }),
            // `unsupported` has counted it.
            None => Ok(()),
        }
    }
}
