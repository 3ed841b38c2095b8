//! The actions of a trace as MPI calls.

use super::collective::contribution;
use crate::mpi::{Call, CommId, Communicator, RequestId, SendMode, Tag, Until};
use crate::program::{Action as Does, Op, Place, Program, RankId, StreamId};
use crate::trace::Reading;
use anyhow::Context;
use flitwise_base::units::PS_PER_S;
use flitwise_formats::ti::{Action, Actions, Elements, Mode, Request, Requests, Trace};
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests of collectives and of `sendRecv` have numbers of their own, from these on.
const OF_COLLECTIVES: u64 = 1 << 62;
const OF_SENDRECV: u64 = 1 << 63;

/// The tag of a `sendRecv`, which has none in the trace.
const NO_TAG: Tag = Tag(0);

/// A trace being replayed, read as its ranks progress.
pub struct TiProgram {
    trace: Trace,
    speed: Speed,
    world: Arc<Communicator>,
    ranks: Vec<Rank>,
}

/// The speed of the ranks.
#[derive(Clone, Copy)]
struct Speed {
    flops_per_s: f64,
    /// Its name in messages.
    name: &'static str,
}

/// The progress of a rank.
struct Rank {
    id: RankId,
    actions: Actions,
    requests: Requests,
    /// Collectives that were started and that no wait took.
    collectives: VecDeque<u64>,
    next_collective: u64,
    /// Requests that `waitany`s took, of those that the program counts as pending: it does not know which.
    taken_by_any: usize,
    flops: f64,
    seconds: f64,
    /// Flops of the collective that is being called: they count behind it.
    of_collective: f64,
    /// Calls of the action that was read last.
    ready: VecDeque<Op>,
    line: u64,
    ended: bool,
}

impl Rank {
    fn new(trace: &Trace, id: u32) -> anyhow::Result<Self> {
        Ok(Self {
            id: RankId::new(id),
            actions: trace.rank(id)?,
            requests: Requests::default(),
            collectives: VecDeque::new(),
            next_collective: OF_COLLECTIVES,
            taken_by_any: 0,
            flops: 0.0,
            seconds: 0.0,
            of_collective: 0.0,
            ready: VecDeque::new(),
            line: 0,
            ended: false,
        })
    }

    /// The computation since the last call, in picoseconds.
    fn compute_ps(&mut self, speed: Speed) -> anyhow::Result<u64> {
        let seconds = std::mem::take(&mut self.seconds);
        let ps = (std::mem::take(&mut self.flops) / speed.flops_per_s + seconds) * PS_PER_S as f64;
        anyhow::ensure!(
            ps < u64::MAX as f64,
            "{}:{}: a computation that ends beyond the range of time; raise {}",
            self.actions.path().display(),
            self.line,
            speed.name
        );
        Ok(ps.round() as u64)
    }

    fn does(&mut self, action: Does, speed: Speed) -> anyhow::Result<()> {
        let compute_ps = self.compute_ps(speed)?;
        self.ready
            .push_back(Op::next(compute_ps, action, Place::line(self.line)));
        Ok(())
    }

    /// Reads actions until there is a call, or they end.
    fn read(&mut self, world: &Arc<Communicator>, speed: Speed) -> anyhow::Result<()> {
        while self.ready.is_empty() && !self.ended {
            let Some((line, action)) = self.actions.next_action()? else {
                self.ended = true;
                // The computation at the end of a rank counts.
                return self.does(Does::Marker, speed);
            };
            self.line = line;
            match action {
                Action::Compute { flops } => self.flops += flops,
                Action::Sleep { seconds } => self.seconds += seconds,
                action => {
                    for call in self.calls(&action, world) {
                        self.does(Does::Mpi(Box::new(call)), speed)?;
                    }
                    self.flops += std::mem::take(&mut self.of_collective);
                }
            }
        }
        Ok(())
    }

    /// The calls that an action stands for. A test that may have found nothing is none: the program looked, and went on.
    fn calls(&mut self, action: &Action, world: &Arc<Communicator>) -> Vec<Call> {
        match *action {
            Action::Send {
                to: Some(to),
                tag,
                elements,
                mode,
                immediate,
            } => {
                let (src, dst, known) = (Some(self.id.get()), Some(to), Some(tag));
                let message = Request {
                    src,
                    dst,
                    tag: known,
                };
                let request = immediate.then(|| RequestId(self.requests.start(message)));
                vec![send(to, tag_of(tag), elements, mode, request)]
            }
            Action::Recv {
                from,
                tag,
                immediate,
                ..
            } => {
                let dst = Some(self.id.get());
                let message = Request {
                    src: from,
                    dst,
                    tag,
                };
                let request = immediate.then(|| RequestId(self.requests.start(message)));
                vec![receive(from, tag.map(tag_of), request)]
            }
            Action::SendRecv {
                to,
                send: sent,
                from,
                ..
            } => {
                let requests = [RequestId(OF_SENDRECV), RequestId(OF_SENDRECV + 1)];
                let mut calls = vec![receive(from, Some(NO_TAG), Some(requests[0]))];
                calls
                    .extend(to.map(|to| send(to, NO_TAG, sent, Mode::Standard, Some(requests[1]))));
                let started = requests[..calls.len()].to_vec();
                calls.push(wait(started, Until::All));
                calls
            }
            Action::Wait(request) => self.wait(request).into_iter().collect(),
            Action::WaitAll { .. } => self.wait_all().into_iter().collect(),
            Action::WaitAny { .. } => self.wait_any().into_iter().collect(),
            Action::Collective {
                ref call,
                immediate,
            } => vec![self.collective(call, immediate, world)],
            _ => Vec::new(),
        }
    }

    fn wait(&mut self, request: Request) -> Option<Call> {
        let found = self.requests.take(request);
        // Traces name only messages: a request without a name is a collective.
        let found = found.or_else(|| self.collectives.pop_front())?;
        if self.taken_by_any == 0 || self.pending() > self.taken_by_any {
            return Some(wait(vec![RequestId(found)], Until::All));
        }
        // All others are taken: so the program knew, and what is pending here is complete there.
        let mut all = self.take_all();
        all.push(found);
        Some(wait(all.into_iter().map(RequestId).collect(), Until::All))
    }

    /// Requests that count as pending.
    fn pending(&self) -> usize {
        self.requests.len() + self.collectives.len()
    }

    /// Takes all requests.
    fn take_all(&mut self) -> Vec<u64> {
        self.taken_by_any = 0;
        let mut all = self.requests.take_all();
        all.extend(self.collectives.drain(..));
        all
    }

    fn wait_all(&mut self) -> Option<Call> {
        let all: Vec<_> = self.take_all().into_iter().map(RequestId).collect();
        (!all.is_empty()).then(|| wait(all, Until::All))
    }

    /// A `waitany` does not say which request it took, so that all of them stay pending; a later wait for one that is taken
    /// already is over at once. As many `waitany`s as there are requests have taken all: the last one waits for all.
    fn wait_any(&mut self) -> Option<Call> {
        if self.pending() == 0 {
            return None;
        }
        self.taken_by_any += 1;
        let (all, until) = if self.taken_by_any >= self.pending() {
            (self.take_all(), Until::All)
        } else {
            let mut all = self.requests.all();
            all.extend(&self.collectives);
            (all, Until::Any)
        };
        let all = all.into_iter().map(RequestId).collect();
        Some(wait(all, until))
    }

    fn collective(
        &mut self,
        call: &flitwise_formats::ti::Collective,
        immediate: bool,
        world: &Arc<Communicator>,
    ) -> Call {
        let n = world.members.len() as u32;
        let (contribution, flops) = contribution(call, self.id.get(), n);
        let request = immediate.then(|| {
            let number = self.next_collective;
            self.next_collective += 1;
            self.collectives.push_back(number);
            RequestId(number)
        });
        self.of_collective = flops;
        Call::Collective {
            comm: Arc::clone(world),
            contribution,
            request,
        }
    }
}

fn tag_of(tag: u32) -> Tag {
    Tag(tag.cast_signed())
}

fn send(to: u32, tag: Tag, elements: Elements, mode: Mode, request: Option<RequestId>) -> Call {
    Call::Send {
        to: RankId::new(to),
        comm: CommId::new(0),
        tag,
        bytes: elements.bytes(),
        mode: match mode {
            Mode::Standard => SendMode::Standard,
            Mode::Synchronous => SendMode::Synchronous,
            Mode::Buffered => SendMode::Buffered,
        },
        nic: 0,
        request,
    }
}

fn receive(from: Option<u32>, tag: Option<Tag>, request: Option<RequestId>) -> Call {
    Call::Receive {
        from: from.map(RankId::new),
        comm: CommId::new(0),
        tag,
        request,
    }
}

fn wait(requests: Vec<RequestId>, until: Until) -> Call {
    Call::Wait {
        requests: requests.into(),
        until,
    }
}

impl TiProgram {
    /// A trace from its start. Its ranks compute at the speed in `reading`.
    ///
    /// # Errors
    /// If the trace can't be read.
    pub fn new(trace: Trace, reading: &Reading) -> anyhow::Result<Self> {
        let count = trace.ranks();
        let ranks = (0..count).map(|rank| Rank::new(&trace, rank));
        Ok(Self {
            speed: Speed {
                flops_per_s: reading.host_speed.to_f64(),
                name: reading.wording.host_speed(),
            },
            world: Arc::new(Communicator {
                id: CommId::new(0),
                members: RankId::all(count).collect(),
            }),
            ranks: ranks.collect::<Result<_, _>>()?,
            trace,
        })
    }
}

impl Program for TiProgram {
    fn ranks(&self) -> u32 {
        self.trace.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        state.read(&self.world, self.speed)?;
        Ok(state.ready.pop_front())
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let again = (0..self.trace.ranks()).map(|rank| Rank::new(&self.trace, rank));
        self.ranks = again.collect::<Result<_, _>>()?;
        Ok(())
    }
}
