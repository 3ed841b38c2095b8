//! The events of a rank as MPI calls.

use super::gaps::Gaps;
use super::scout::{Outcome, Scout};
use super::sizes::between;
use super::survey::{Known, member};
use crate::mpi::{Call as Does, RequestId, SendMode, Tag, Until};
use crate::program::{Action, Op, Place, RankId};
use flitwise_formats::limits::MAX_OTF2_DEPTH;
use flitwise_formats::otf2::{
    Archive, Called, Collective, Event, Message, RequestNumber, Stamped, View,
};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The reason why the events of a rank can't be replayed; the program adds the place.
pub(super) type Problem = String;

const TOO_LATE: &str = "a computation ends beyond the range of time";

/// The calls of a rank.
pub(super) struct Caller {
    pub id: RankId,
    archive: Arc<Archive>,
    known: Arc<Known>,
    view: View,
    gaps: Gaps,
    /// Entries and exits of regions, with their times, of which the next call decides whether they are in a loop of polls.
    undecided: Vec<(u64, Action)>,
    /// The regions that it is in, and how many more are too deep.
    depth: [usize; 2],
    /// The functions of MPI that the rank is in, and whether each has found what it looks for.
    inside: Vec<(Called, bool)>,
    /// A collective has begun outside of any function.
    collective: bool,
    /// The blocking part of the present function.
    present: Present,
    /// Operations under way: their request here, unless there is nothing to wait for.
    requests: HashMap<RequestNumber, Option<RequestId>>,
    next_request: u64,
    /// The receives of messages that were taken out of the matching.
    found: HashMap<u64, RequestId>,
    /// Collectives by communicator.
    counts: HashMap<u32, usize>,
    place: Place,
    /// Operations of the events that were read.
    pub ready: VecDeque<Op>,
    pub ended: bool,
}

/// The part of a function that blocks: it ends when all of it is complete.
#[derive(Default)]
struct Present {
    sends: Vec<Message>,
    receives: Vec<Message>,
    complete: Vec<RequestId>,
}

/// An event that can't be replayed, or a file that can't be read.
pub(super) enum Failure {
    Problem(Problem),
    Error(flitwise_formats::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<flitwise_formats::Error> for Failure {
    fn from(error: flitwise_formats::Error) -> Self {
        Self::Error(error)
    }
}

impl Caller {
    pub fn new(archive: Arc<Archive>, known: Arc<Known>, id: RankId, poll_gap_ps: u64) -> Self {
        Self {
            id,
            view: archive.view(id.get()),
            gaps: Gaps::new(archive.definitions().ticks_per_second, poll_gap_ps),
            archive,
            known,
            undecided: Vec::new(),
            depth: [0; 2],
            inside: Vec::new(),
            collective: false,
            present: Present::default(),
            requests: HashMap::new(),
            next_request: 0,
            found: HashMap::new(),
            counts: HashMap::new(),
            place: Place::byte(0),
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// The next event of the rank.
    pub fn event(&mut self, next: &Stamped, scout: &mut Scout) -> Result<(), Failure> {
        self.place = Place::byte(next.offset);
        match next.event {
            Event::Enter(region) => {
                let called = self.archive.called(region);
                if called.is_mpi() {
                    self.flush()?;
                    if self.inside.is_empty() {
                        self.begin(next.time, called == Called::Poll)?;
                    }
                    self.inside.push((called, false));
                } else {
                    self.region(next, region, true)?;
                }
                Ok(())
            }
            Event::Leave(region) => {
                if self.archive.called(region).is_mpi() {
                    self.leave(next.time)?;
                } else {
                    self.region(next, region, false)?;
                }
                Ok(())
            }
            Event::BufferFlush(until) => {
                if self.inside.is_empty() {
                    self.gaps.recorder(until.saturating_sub(next.time));
                }
                Ok(())
            }
            event if event.is_communication() => self.outside(next.time, &event, scout),
            _ => Ok(()),
        }
    }

    /// A region of the program begins or ends. After the last call no computation follows that a replay has.
    fn region(&mut self, next: &Stamped, number: u32, enters: bool) -> Result<(), Problem> {
        let known = Arc::clone(&self.known);
        let id = known.regions.id(number);
        let Some(id) = id.filter(|_| self.inside.is_empty()) else {
            return Ok(());
        };
        if !known.calls_after(self.id, next.offset) || self.is_too_deep(enters) {
            return Ok(());
        }
        let action = if enters {
            Action::EnterRegion(id)
        } else {
            Action::LeaveRegion(id)
        };
        if self.gaps.may_loop(next.time) {
            self.undecided.push((next.time, action));
            return Ok(());
        }
        self.decide(false)?;
        self.changes(next.time, action)
    }

    /// Whether an entry or exit is one of regions that are not followed, because the rank is in too many.
    fn is_too_deep(&mut self, enters: bool) -> bool {
        let [depth, deeper] = &mut self.depth;
        let count = match (*deeper > 0, enters) {
            (false, true) if *depth < MAX_OTF2_DEPTH => depth,
            (false, false) => depth,
            _ => {
                *deeper = if enters { *deeper + 1 } else { *deeper - 1 };
                return true;
            }
        };
        *count = if enters {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        false
    }

    /// The rank computed in a region up to now.
    fn changes(&mut self, time: u64, action: Action) -> Result<(), Problem> {
        self.gaps.split(time);
        self.region_is(action)
    }

    fn region_is(&mut self, action: Action) -> Result<(), Problem> {
        let compute_ps = self.gaps.take_part_ps().ok_or(TOO_LATE)?;
        self.ready
            .push_back(Op::next(compute_ps, action, self.place));
        Ok(())
    }

    /// The time since the last call is, or is not, part of a loop of polls.
    fn decide(&mut self, loops: bool) -> Result<(), Problem> {
        let mut undecided = std::mem::take(&mut self.undecided);
        for (time, action) in undecided.drain(..) {
            if loops {
                self.region_is(action)?;
            } else {
                self.changes(time, action)?;
            }
        }
        self.undecided = undecided;
        Ok(())
    }

    /// A call begins.
    fn begin(&mut self, time: u64, is_poll: bool) -> Result<(), Problem> {
        self.decide(is_poll && self.gaps.may_loop(time))?;
        self.gaps.begin(time, is_poll);
        Ok(())
    }

    fn leave(&mut self, time: u64) -> Result<(), Problem> {
        self.flush()?;
        // Without an entry the recording was switched on within the call.
        let (called, found) = self.inside.pop().unwrap_or((Called::Mpi, true));
        if self.inside.is_empty() {
            self.gaps.end(time, called == Called::Poll && !found);
        }
        Ok(())
    }

    /// An event of communication, which is a call by itself if it is in no function.
    fn outside(&mut self, time: u64, event: &Event, scout: &mut Scout) -> Result<(), Failure> {
        let alone = self.inside.is_empty();
        if alone && !std::mem::take(&mut self.collective) {
            self.begin(time, false)?;
        }
        self.communicate(event, scout)?;
        if alone {
            self.collective = matches!(event, Event::CollectiveBegin);
            self.flush()?;
            self.gaps.end(time, false);
        }
        Ok(())
    }

    fn communicate(&mut self, event: &Event, scout: &mut Scout) -> Result<(), Failure> {
        match *event {
            Event::Send(message) => self.present.sends.push(message),
            Event::Recv(message) => self.present.receives.push(message),
            Event::Mrecv(number) => {
                let id = self.taken(number)?;
                self.present.complete.push(id);
            }
            Event::Isend(message, request) => {
                let id = self.fresh();
                self.send(message, Some(id))?;
                self.started(request, Some(id))?;
            }
            Event::IrecvRequest(request) => {
                let id = match scout.next()? {
                    Outcome::Message(message) => Some(self.receive_later(message)?),
                    _ => None,
                };
                self.started(request, id)?;
            }
            Event::ImrecvRequest(number, request) => {
                let id = self.taken(number)?;
                self.started(request, Some(id))?;
            }
            Event::CollectiveRequest(request) => {
                let id = match scout.next()? {
                    Outcome::Collective(call) => {
                        let id = self.fresh();
                        self.collective(&call, Some(id))?.then_some(id)
                    }
                    _ => None,
                };
                self.started(request, id)?;
            }
            Event::CollectiveEnd(call) => {
                scout.next()?;
                self.collective(&call, None)?;
            }
            Event::IsendComplete(request)
            | Event::Irecv(_, request)
            | Event::Imrecv(request)
            | Event::CollectiveComplete(_, request) => self.complete(request),
            Event::RequestCancelled(request) => {
                let cancelled = self.requests.remove(&request).flatten();
                self.forget(cancelled.into_iter().collect())?;
            }
            Event::Probe(message, number) => self.probe(message, number)?,
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, request: RequestNumber) {
        let id = self.requests.remove(&request).flatten();
        self.present.complete.extend(id);
        if let Some((_, found)) = self.inside.last_mut() {
            *found = true;
        }
    }

    /// A request stands for this operation from now on; one that it stood for before is complete.
    fn started(&mut self, request: RequestNumber, id: Option<RequestId>) -> Result<(), Problem> {
        let before = self.requests.insert(request, id).flatten();
        self.forget(before.into_iter().collect())
    }

    /// The receive of the message of this number, which a probe took out of the matching.
    fn taken(&mut self, number: u64) -> Result<RequestId, Problem> {
        let found = self.found.remove(&number);
        found.ok_or_else(|| format!("receives message {number}, which no probe found"))
    }

    fn fresh(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    /// Does what the present function has done that blocks.
    fn flush(&mut self) -> Result<(), Problem> {
        let Present {
            sends,
            receives,
            mut complete,
        } = std::mem::take(&mut self.present);
        if sends.len() + receives.len() == 1 && complete.is_empty() {
            for message in receives {
                self.receive(message, None)?;
            }
            for message in sends {
                self.send(message, None)?;
            }
            return Ok(());
        }
        // As in `MPI_Sendrecv`, all are under way at once.
        for message in receives {
            complete.push(self.receive_later(message)?);
        }
        for message in sends {
            let id = self.fresh();
            self.send(message, Some(id))?;
            complete.push(id);
        }
        if complete.is_empty() {
            return Ok(());
        }
        let frees = matches!(self.inside.last(), Some((Called::RequestFree, _)));
        let requests = complete.into();
        let until = Until::All;
        self.calls(if frees {
            Does::Free { requests }
        } else {
            Does::Wait { requests, until }
        })
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

    /// Ends the rank.
    pub fn end(&mut self) -> Result<(), Problem> {
        self.flush()?;
        self.ended = true;
        self.does(Action::Marker)
    }

    /// Operations that no other one waits for.
    fn forget(&mut self, requests: Vec<RequestId>) -> Result<(), Problem> {
        if requests.is_empty() {
            return Ok(());
        }
        self.calls(Does::Free {
            requests: requests.into(),
        })
    }

    fn send(&mut self, message: Message, request: Option<RequestId>) -> Result<(), Problem> {
        let seen = self.view.get(self.archive.comms(), message.comm)?;
        let to = RankId::new(seen.peer(message.peer)?);
        let comm = self.known.communicators.of_messages(seen, self.id);
        let mode = match self.inside.last() {
            Some((Called::Synchronous, _)) => SendMode::Synchronous,
            Some((Called::Buffered, _)) => SendMode::Buffered,
            _ => SendMode::Standard,
        };
        self.calls(Does::Send {
            to,
            comm,
            tag: Tag(message.tag.cast_signed()),
            bytes: message.bytes,
            mode,
            nic: 0,
            request,
        })
    }

    fn receive(&mut self, message: Message, request: Option<RequestId>) -> Result<(), Problem> {
        let seen = self.view.get(self.archive.comms(), message.comm)?;
        let from = Some(RankId::new(seen.peer(message.peer)?));
        let comm = self.known.communicators.of_messages(seen, self.id);
        let tag = Some(Tag(message.tag.cast_signed()));
        self.calls(Does::Receive {
            from,
            comm,
            tag,
            request,
        })
    }

    fn receive_later(&mut self, message: Message) -> Result<RequestId, Problem> {
        let id = self.fresh();
        self.receive(message, Some(id))?;
        Ok(id)
    }

    fn probe(&mut self, message: Message, number: u64) -> Result<(), Problem> {
        let seen = self.view.get(self.archive.comms(), message.comm)?;
        let from = Some(RankId::new(seen.peer(message.peer)?));
        let comm = self.known.communicators.of_messages(seen, self.id);
        let tag = Some(Tag(message.tag.cast_signed()));
        if let Some((_, found)) = self.inside.last_mut() {
            *found = true;
        }
        self.calls(Does::Probe { from, comm, tag })?;
        if number != u64::MAX {
            let id = self.receive_later(message)?;
            self.found.insert(number, id);
        }
        Ok(())
    }

    /// Calls a collective; false if it is none that a replay has.
    fn collective(
        &mut self,
        call: &Collective,
        request: Option<RequestId>,
    ) -> Result<bool, Problem> {
        let Ok(operation) = call.operation else {
            return Ok(false);
        };
        let seen = Arc::clone(self.view.get(self.archive.comms(), call.comm)?);
        let contribution = match &seen.others {
            Some((others, first)) => between(operation, call, seen.own.len(), others.len(), *first),
            // A rank by itself sends nothing.
            None if seen.own.len() < 2 => None,
            None => {
                let number = self.counts.entry(seen.place).or_default();
                let this = *number;
                *number += 1;
                let sizes = self.known.sizes.get(&seen.place);
                sizes.map(|sizes| sizes.contribution(this, member(&seen, call), operation, call))
            }
        };
        let Some(contribution) = contribution else {
            return Ok(false);
        };
        self.calls(Does::Collective {
            comm: self.known.communicators.of_collectives(&seen, self.id),
            contribution,
            request,
        })?;
        Ok(true)
    }
}
