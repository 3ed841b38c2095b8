//! The MPI calls of a job: the messages that its ranks send for them, and the operations that these complete.

use super::Player;
use crate::key::Key;
use crate::link::ReplayContext;
use crate::members::Entry;
use crate::messages::{Purpose, RankPair, Release};
use crate::mpi::{
    Call, Cleared, Communicator, Envelope, Owner, Packet, Pattern, RequestId, SendMode, Sending,
    Transfer, Until, WaitOutcome,
};
use crate::observer::{MatchedBy, StreamOf};
use crate::program::{Contribution, Place, RankId};
use crate::queue::{Act, Actor, What};
use crate::rank::State;

/// A problem; the caller adds the place.
type Problem = String;

const TOO_MANY: &str = "more than 2^32 messages are under way";

impl Player<'_> {
    /// Makes a call. Returns the next state of its stream.
    pub(super) fn call(
        &mut self,
        at: StreamOf,
        call: &Call,
        place: Place,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<State> {
        let (request, started) = match *call {
            Call::Wait {
                ref requests,
                until,
            } => return Ok(self.wait(at, requests, until)),
            Call::Probe { from, comm, tag } => {
                let pattern = Pattern { comm, from, tag };
                return Ok(self.probe(at, pattern));
            }
            Call::Free { ref requests } => {
                for &request in requests {
                    self.ranks[at.rank.index()].endpoint().forget(request);
                    self.retry_waits(at.rank, request, context);
                }
                return Ok(State::Between);
            }
            Call::Send { request, .. } => (request, self.send_call(at, call, context)),
            Call::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let pattern = Pattern { comm, from, tag };
                (request, self.receive(at, pattern, request, context))
            }
            Call::Collective {
                ref comm,
                ref contribution,
                request,
            } => {
                let owner = self.owner(at, request, false);
                let entered = owner.and_then(|owner| {
                    self.collective(at, comm, contribution, (owner, place), context)
                });
                (request, entered)
            }
        };
        let complete = started.map_err(|problem| self.error(at.rank, place, &problem))?;
        if request.is_none() && complete && matches!(call, Call::Receive { .. }) {
            self.received(at, 1);
        }
        match (request, complete) {
            (Some(request), true) => {
                self.complete_request(at.rank, request, context)?;
                Ok(State::Between)
            }
            (Some(_), false) | (None, true) => Ok(State::Between),
            (None, false) => Ok(State::Blocked),
        }
    }

    #[inline]
    fn wait(&mut self, at: StreamOf, requests: &[RequestId], until: Until) -> State {
        let endpoint = self.ranks[at.rank.index()].endpoint();
        match endpoint.try_wait(requests, until) {
            WaitOutcome::Pending => State::InWait,
            WaitOutcome::Complete(received) => {
                self.received(at, received);
                State::Between
            }
        }
    }

    /// Returns the owner of a call: its request, which becomes active if waits may name it, or its stream.
    fn owner(
        &mut self,
        at: StreamOf,
        request: Option<RequestId>,
        receives: bool,
    ) -> Result<Owner, Problem> {
        let Some(request) = request else {
            return Ok(Owner::Stream(at.stream));
        };
        if self.follows_requests {
            return Ok(Owner::Request(request));
        }
        let endpoint = self.ranks[at.rank.index()].endpoint();
        if endpoint.activate(request, receives) {
            Ok(Owner::Request(request))
        } else {
            Err(format!("request {} is still active", request.0))
        }
    }

    /// Sends by the protocol that fits the message. Returns whether the send is complete at once.
    fn send_call(
        &mut self,
        at: StreamOf,
        call: &Call,
        context: &mut ReplayContext<'_>,
    ) -> Result<bool, Problem> {
        let Call::Send {
            to,
            comm,
            tag,
            bytes,
            mode,
            nic,
            request,
        } = *call
        else {
            return Ok(true);
        };
        let owner = self.owner(at, request, false)?;
        self.check_receiver(to, || "a message".to_owned())?;
        let rendezvous =
            mode == SendMode::Synchronous || bytes > self.protocol.eager_threshold_bytes;
        let release = match (rendezvous, self.link.release(0)) {
            (false, Release::Injected) => Release::Injected,
            _ => Release::Handed,
        };
        let endpoint = self.ranks[at.rank.index()].endpoint();
        let number = endpoint.order.number((to, comm)).ok_or(TOO_MANY)?;
        // An eager send that is complete when handed over is over for its sender.
        let over = !rendezvous && release == Release::Handed;
        let buffered = mode == SendMode::Buffered;
        let owner = if buffered { Owner::None } else { owner };
        let send = if over {
            0
        } else {
            let sending = Sending {
                to: (to, comm),
                number,
                bytes,
                nic,
                owner,
            };
            endpoint.sends.insert(sending).ok_or(TOO_MANY)?
        };
        let packet = Packet::Envelope {
            comm,
            tag,
            number,
            send,
            rendezvous,
        };
        let control = self.protocol.control_bytes;
        let size = if rendezvous { control } else { bytes };
        self.count(bytes);
        let ranks = RankPair { from: at.rank, to };
        self.post(ranks, size, (packet, nic), release, context)?;
        Ok(over || buffered)
    }

    fn post(
        &mut self,
        ranks: RankPair,
        bytes: u64,
        (packet, nic): (Packet, u8),
        release: Release,
        context: &mut ReplayContext<'_>,
    ) -> Result<(), Problem> {
        let purpose = Purpose::Mpi(packet);
        self.link
            .post(ranks, bytes, (purpose, nic), release, context)?;
        self.in_flight += 1;
        Ok(())
    }

    /// Matches a receive or posts it. Returns whether it is complete at once.
    fn receive(
        &mut self,
        at: StreamOf,
        pattern: Pattern,
        request: Option<RequestId>,
        context: &mut ReplayContext<'_>,
    ) -> Result<bool, Problem> {
        let owner = self.owner(at, request, true)?;
        let endpoint = self.ranks[at.rank.index()].endpoint();
        match endpoint.queues.receive(pattern, owner) {
            None => Ok(false),
            Some((owner, envelope)) => self.matched(at.rank, envelope, owner, context),
        }
    }

    /// Handles the match of a message and a receive of `rank`. Returns whether the receive is complete.
    fn matched(
        &mut self,
        rank: RankId,
        envelope: Envelope,
        owner: Owner,
        context: &mut ReplayContext<'_>,
    ) -> Result<bool, Problem> {
        if let Some(observer) = context.observer {
            let ranks = RankPair {
                from: envelope.from,
                to: rank,
            };
            let by = MatchedBy::envelope(ranks, envelope.comm, envelope.number);
            observer.matched(context.ps, self.link.job, by);
        }
        let Transfer::Rendezvous { send } = envelope.transfer else {
            return Ok(true);
        };
        let endpoint = self.ranks[rank.index()].endpoint();
        let receive = endpoint.receives.insert(owner).ok_or(TOO_MANY)?;
        let packet = Packet::ClearToSend { send, receive };
        let ranks = RankPair {
            from: rank,
            to: envelope.from,
        };
        let bytes = self.protocol.control_bytes;
        self.post(ranks, bytes, (packet, 0), Release::Handed, context)?;
        Ok(false)
    }

    /// Enters a collective. Returns whether it is complete at once.
    fn collective(
        &mut self,
        at: StreamOf,
        comm: &Communicator,
        contribution: &Contribution,
        (owner, place): (Owner, Place),
        context: &mut ReplayContext<'_>,
    ) -> Result<bool, Problem> {
        let state = &mut self.ranks[at.rank.index()];
        let record = state.stream(at.stream).records - 1;
        let endpoint = state.endpoint();
        let Some((me, number)) = endpoint.next_collective(at.rank, comm.id, &comm.members) else {
            return Err(format!("the rank is not in communicator {}", comm.id));
        };
        let key = Key::Call {
            comm: comm.id,
            number,
        };
        let (plan, first) = self.plans.own(key, contribution, me, &comm.members)?;
        let entry = Entry {
            key,
            ranks: comm.members.clone(),
            me,
            plan,
            act: Act::of_stream(at, record),
            place,
            owner: Some(owner),
        };
        if first {
            self.enter_nodes(&entry, context)?;
        }
        let (state, mut carrier) = self.carrier(at.rank, context);
        let number = state.members.enter(entry)?;
        let completed = state.proceed(number, &mut carrier);
        let completed = completed.map_err(|(_, problem)| problem)?.is_some();
        if completed {
            self.plans.completed(key);
        }
        Ok(completed)
    }

    /// Handles a packet that arrived at its receiver.
    pub(super) fn packet_arrived(
        &mut self,
        ranks: RankPair,
        packet: Packet,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let RankPair { from, to } = ranks;
        let state = &mut self.ranks[to.index()];
        state.touch(context.ps);
        let endpoint = state.endpoint();
        let due = match packet {
            Packet::Envelope {
                comm,
                tag,
                number,
                send,
                rendezvous,
            } => {
                let transfer = if rendezvous {
                    Transfer::Rendezvous { send }
                } else {
                    Transfer::Eager
                };
                let envelope = Envelope {
                    from,
                    comm,
                    tag,
                    number,
                    transfer,
                };
                endpoint.arrived(envelope, number)
            }
            Packet::ClearToSend { send, receive } => endpoint.cleared(Cleared { send, receive }),
            Packet::Payload { receive, .. } => {
                return match endpoint.receives.remove(receive) {
                    Some(owner) => self.complete(to, owner, context),
                    None => Ok(()),
                };
            }
        };
        if due {
            let act = Act {
                job: self.link.job,
                rank: to,
                actor: Actor::Endpoint,
                record: 0,
            };
            context.queue.act(context.ps, act, What::Progress);
        }
        Ok(())
    }

    /// Handles the injection of a packet that `rank` waits for.
    pub(super) fn packet_injected(
        &mut self,
        rank: RankId,
        packet: Packet,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let (Packet::Envelope { send, .. } | Packet::Payload { send, .. }) = packet else {
            return Ok(());
        };
        match self.ranks[rank.index()].endpoint().sends.remove(send) {
            Some(sending) => self.complete(rank, sending.owner, context),
            None => Ok(()),
        }
    }

    /// Lets `rank` take up the MPI messages that have arrived.
    pub(crate) fn progress(
        &mut self,
        rank: RankId,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let arrivals = self.ranks[rank.index()].endpoint().take_up();
        let failed = |player: &Self, problem: Problem| {
            anyhow::anyhow!("job '{}', rank {rank}: {problem}", player.name)
        };
        for envelope in arrivals.envelopes {
            context.message = Some(RankPair {
                from: envelope.from,
                to: rank,
            });
            let endpoint = self.ranks[rank.index()].endpoint();
            let Some(owner) = endpoint.queues.arrive(envelope) else {
                for stream in endpoint.found(&envelope) {
                    self.complete(rank, Owner::Stream(stream), context)?;
                }
                continue;
            };
            let matched = self.matched(rank, envelope, owner, context);
            if matched.map_err(|problem| failed(self, problem))? {
                self.complete(rank, owner, context)?;
            }
        }
        for Cleared { send, receive } in arrivals.cleared {
            let endpoint = self.ranks[rank.index()].endpoint();
            let Some(&sending) = endpoint.sends.get(send) else {
                continue;
            };
            let packet = Packet::Payload { send, receive };
            let ranks = RankPair {
                from: rank,
                to: sending.to.0,
            };
            self.post(
                ranks,
                sending.bytes,
                (packet, sending.nic),
                Release::Injected,
                context,
            )
            .map_err(|problem| failed(self, problem))?;
        }
        Ok(())
    }
}
