//! The MPI calls of a job: what its ranks send for them, and what their messages complete.

use super::Player;
use crate::link::Shared;
use crate::members::{Entry, Key};
use crate::messages::{Purpose, RankPair, Release};
use crate::mpi::{
    Call, Cleared, CommId, Communicator, Envelope, Look, Owner, Packet, Pattern, RequestId,
    SendMode, Sending, Tag, Transfer,
};
use crate::program::{Contribution, Place, RankId, StreamId};
use crate::queue::{Act, Actor, What};
use crate::rank::State;

/// What went wrong; the caller adds the place.
type Problem = String;

const TOO_MANY: &str = "more than 2^32 messages are under way";

/// A call that a rank makes at a time.
#[derive(Clone, Copy)]
pub(super) struct Calling {
    pub rank: RankId,
    pub stream: StreamId,
    ps: u64,
    place: Place,
}

/// A send that a rank calls.
#[derive(Clone, Copy)]
struct Outgoing {
    to: RankId,
    comm: CommId,
    tag: Tag,
    bytes: u64,
    mode: SendMode,
}

impl Player<'_> {
    /// Makes a call at `ps`; returns what its stream does next.
    pub(super) fn call(
        &mut self,
        rank: RankId,
        stream: StreamId,
        ps: u64,
        call: &Call,
        place: Place,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<State> {
        let calling = Calling {
            rank,
            stream,
            ps,
            place,
        };
        let (request, complete) = match *call {
            Call::Wait {
                ref requests,
                until,
            } => {
                return Ok(
                    match self.ranks[rank.index()].endpoint().look(requests, until) {
                        Look::Waits => State::InWait,
                        Look::Returns(received) => {
                            self.received(rank, stream, received);
                            State::Between
                        }
                    },
                );
            }
            Call::Probe { from, comm, tag } => {
                let pattern = Pattern { comm, from, tag };
                return Ok(self.probe(calling, pattern));
            }
            Call::Free { ref requests } => {
                for &request in requests {
                    self.ranks[rank.index()].endpoint().forget(request);
                    self.look_again(rank, request, ps, shared);
                }
                return Ok(State::Between);
            }
            Call::Send { request, .. }
            | Call::Receive { request, .. }
            | Call::Collective { request, .. } => (request, self.start(calling, call, shared)?),
        };
        if request.is_none() && complete && matches!(call, Call::Receive { .. }) {
            self.received(rank, stream, 1);
        }
        match (request, complete) {
            (Some(request), true) => {
                self.complete_request(rank, request, ps, shared)?;
                Ok(State::Between)
            }
            (Some(_), false) | (None, true) => Ok(State::Between),
            (None, false) => Ok(State::Blocked),
        }
    }

    /// Starts the operation of a call that is no wait. True if it is complete at once.
    fn start(
        &mut self,
        calling: Calling,
        call: &Call,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<bool> {
        let Calling { rank, place, .. } = calling;
        let error = |player: &Self, problem: Problem| player.error(rank, place, &problem);
        match *call {
            Call::Send {
                to,
                comm,
                tag,
                bytes,
                mode,
                request,
            } => {
                let outgoing = Outgoing {
                    to,
                    comm,
                    tag,
                    bytes,
                    mode,
                };
                let owner = self.owner(calling, request, false);
                let sent = owner.and_then(|owner| self.send_call(calling, outgoing, owner, shared));
                sent.map_err(|problem| error(self, problem))
            }
            Call::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let pattern = Pattern { comm, from, tag };
                let owner = self.owner(calling, request, true);
                let posted = owner.and_then(|owner| self.receive(calling, pattern, owner, shared));
                posted.map_err(|problem| error(self, problem))
            }
            Call::Collective {
                ref comm,
                ref contribution,
                request,
            } => self.collective(calling, comm, contribution, request, shared),
            Call::Wait { .. } | Call::Probe { .. } | Call::Free { .. } => Ok(true),
        }
    }

    /// What a call completes: its request, which becomes active if waits may name it, or its stream.
    fn owner(
        &mut self,
        calling: Calling,
        request: Option<RequestId>,
        receives: bool,
    ) -> Result<Owner, Problem> {
        let Some(request) = request else {
            return Ok(Owner::Stream(calling.stream));
        };
        if self.follows_requests {
            return Ok(Owner::Request(request));
        }
        let endpoint = self.ranks[calling.rank.index()].endpoint();
        match endpoint.activate(request, receives) {
            true => Ok(Owner::Request(request)),
            false => Err(format!("request {} is still active", request.0)),
        }
    }

    /// Sends by the protocol that fits the message. True if the send is complete at once.
    fn send_call(
        &mut self,
        calling: Calling,
        outgoing: Outgoing,
        owner: Owner,
        shared: &mut Shared<'_>,
    ) -> Result<bool, Problem> {
        let Outgoing {
            to,
            comm,
            tag,
            bytes,
            mode,
        } = outgoing;
        self.check_receiver(to, || "a message".to_owned())?;
        let rendezvous =
            mode == SendMode::Synchronous || bytes > self.protocol.eager_threshold_bytes;
        let release = match (rendezvous, self.link.release(0)) {
            (false, Release::Injected) => Release::Injected,
            _ => Release::Handed,
        };
        let endpoint = self.ranks[calling.rank.index()].endpoint();
        let number = endpoint.order.number((to, comm)).ok_or(TOO_MANY)?;
        // An eager send that is complete when handed over has nothing to do or to hear later.
        let over = !rendezvous && release == Release::Handed;
        let buffered = mode == SendMode::Buffered;
        let owner = if buffered { Owner::Nobody } else { owner };
        let send = match over {
            true => 0,
            false => {
                let to = (to, comm);
                let sending = Sending {
                    to,
                    number,
                    bytes,
                    owner,
                };
                endpoint.sends.insert(sending).ok_or(TOO_MANY)?
            }
        };
        let packet = Packet::Envelope {
            comm,
            tag,
            number,
            send,
            rendezvous,
        };
        let size = match rendezvous {
            true => self.protocol.control_bytes,
            false => bytes,
        };
        self.count(bytes);
        let ranks = RankPair {
            from: calling.rank,
            to,
        };
        self.post(calling.ps, ranks, size, packet, release, shared)?;
        Ok(over || buffered)
    }

    fn post(
        &mut self,
        ps: u64,
        ranks: RankPair,
        bytes: u64,
        packet: Packet,
        release: Release,
        shared: &mut Shared<'_>,
    ) -> Result<(), Problem> {
        let purpose = Purpose::Mpi(packet);
        self.link.post(ps, ranks, bytes, purpose, release, shared)?;
        self.in_flight += 1;
        Ok(())
    }

    /// Matches a receive or posts it. True if it is complete at once.
    fn receive(
        &mut self,
        calling: Calling,
        pattern: Pattern,
        owner: Owner,
        shared: &mut Shared<'_>,
    ) -> Result<bool, Problem> {
        let endpoint = self.ranks[calling.rank.index()].endpoint();
        match endpoint.queues.receive(pattern, owner) {
            None => Ok(false),
            Some((owner, envelope)) => {
                self.matched(calling.rank, envelope, owner, calling.ps, shared)
            }
        }
    }

    /// A message and a receive of `rank` found each other. True if the receive is complete.
    fn matched(
        &mut self,
        rank: RankId,
        envelope: Envelope,
        owner: Owner,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> Result<bool, Problem> {
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
        self.post(ps, ranks, bytes, packet, Release::Handed, shared)?;
        Ok(false)
    }

    /// Enters a collective. True if it is complete at once.
    fn collective(
        &mut self,
        calling: Calling,
        comm: &Communicator,
        contribution: &Contribution,
        request: Option<RequestId>,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<bool> {
        let Calling {
            rank,
            stream,
            ps,
            place,
        } = calling;
        let owner = self.owner(calling, request, false);
        let owner = owner.map_err(|problem| self.error(rank, place, &problem))?;
        let state = &mut self.ranks[rank.index()];
        let record = state.stream(stream).records - 1;
        let Some((me, number)) = state
            .endpoint()
            .next_collective(rank, comm.id, &comm.members)
        else {
            let problem = format!("the rank is not in communicator {}", comm.id);
            return Err(self.error(rank, place, &problem));
        };
        let comm_id = comm.id;
        let key = Key::Call {
            comm: comm_id,
            number,
        };
        let plan = self.plans.own(key, contribution, me, &comm.members);
        let plan = plan.map_err(|problem| self.error(rank, place, &problem))?;
        let entry = Entry {
            key,
            ranks: comm.members.clone(),
            me,
            plan,
            stream,
            record,
            place,
            owner: Some(owner),
        };
        let (state, mut carrier) = self.carrier(rank, shared);
        let entered = state
            .members
            .enter(entry)
            .map_err(|problem| (place, problem));
        let completed = entered.and_then(|number| state.members.proceed(number, ps, &mut carrier));
        let completed = completed.map_err(|(place, problem)| self.error(rank, place, &problem))?;
        if completed.is_some() {
            self.plans.completed(key);
        }
        Ok(completed.is_some())
    }

    /// A packet arrived at its receiver at `ps`.
    pub(super) fn packet_arrived(
        &mut self,
        ranks: RankPair,
        packet: Packet,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let RankPair { from, to } = ranks;
        let state = &mut self.ranks[to.index()];
        state.touch(ps);
        let endpoint = state.endpoint();
        let due = match packet {
            Packet::Envelope {
                comm,
                tag,
                number,
                send,
                rendezvous,
            } => {
                let transfer = match rendezvous {
                    true => Transfer::Rendezvous { send },
                    false => Transfer::Eager,
                };
                let envelope = Envelope {
                    from,
                    comm,
                    tag,
                    transfer,
                };
                endpoint.arrived(envelope, number)
            }
            Packet::ClearToSend { send, receive } => endpoint.cleared(Cleared { send, receive }),
            Packet::Payload { receive, .. } => {
                return match endpoint.receives.remove(receive) {
                    Some(owner) => self.complete(to, owner, ps, shared),
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
            shared.queue.act(ps, act, What::Progress);
        }
        Ok(())
    }

    /// A packet of which `rank` waits for the injection was injected at `ps`.
    pub(super) fn packet_injected(
        &mut self,
        rank: RankId,
        packet: Packet,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let (Packet::Envelope { send, .. } | Packet::Payload { send, .. }) = packet else {
            return Ok(());
        };
        match self.ranks[rank.index()].endpoint().sends.remove(send) {
            Some(sending) => self.complete(rank, sending.owner, ps, shared),
            None => Ok(()),
        }
    }

    /// Lets `rank` take up the MPI messages that have arrived, at `ps`.
    pub(crate) fn progress(
        &mut self,
        rank: RankId,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let arrivals = self.ranks[rank.index()].endpoint().take_up();
        let failed = |player: &Self, problem: Problem| {
            anyhow::anyhow!("job '{}', rank {rank}: {problem}", player.name)
        };
        for envelope in arrivals.envelopes {
            let endpoint = self.ranks[rank.index()].endpoint();
            let Some(owner) = endpoint.queues.arrive(envelope) else {
                for stream in endpoint.found(&envelope) {
                    self.complete(rank, Owner::Stream(stream), ps, shared)?;
                }
                continue;
            };
            let matched = self.matched(rank, envelope, owner, ps, shared);
            if matched.map_err(|problem| failed(self, problem))? {
                self.complete(rank, owner, ps, shared)?;
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
            self.post(ps, ranks, sending.bytes, packet, Release::Injected, shared)
                .map_err(|problem| failed(self, problem))?;
        }
        Ok(())
    }
}
