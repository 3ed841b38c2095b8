//! The MPI state of one rank: its match queues, requests, and transfers in progress.

use super::call::{CommId, RequestId, Until};
use super::matching::{Envelope, MatchQueues, Pattern};
use super::order::{Order, Peer};
use crate::ids::{RankId, StreamId};
use crate::slots::Slots;
use hashbrown::HashMap;

/// The owner of an operation, which its completion completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The blocking call of a stream.
    Stream(StreamId),
    /// A request.
    Request(RequestId),
    /// Nothing: the send was complete at its start.
    None,
}

/// A send that is not over for its sender.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    /// Receiver and communicator.
    pub to: Peer,
    /// Number of its envelope.
    pub number: u32,
    /// Payload.
    pub bytes: u64,
    /// The NIC that it names, as [`Call::Send`](super::Call::Send) does.
    pub nic: u8,
    /// The owner that its completion completes.
    pub owner: Owner,
}

/// A clear to send that arrived: the slots of the send and of the receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// Slot of the send, here.
    pub send: u32,
    /// Slot of the receive, at the receiver.
    pub receive: u32,
}

/// An active request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Active {
    complete: bool,
    /// It is one of a receive.
    receives: bool,
}

/// The outcome of trying a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It still waits.
    Pending,
    /// It returned, and took this number of receives.
    Complete(u64),
}

/// The part of a rank in the MPI layer.
#[derive(Debug, Default)]
pub struct Endpoint {
    /// Posted receives and unexpected messages.
    pub queues: MatchQueues<Owner>,
    /// Numbers of envelopes.
    pub order: Order,
    /// The patterns of streams in a probe.
    pub probes: Vec<(Pattern, StreamId)>,
    /// Sends in progress.
    pub sends: Slots<Sending>,
    /// Receives that wait for the payload of a rendezvous.
    pub receives: Slots<Owner>,
    requests: HashMap<RequestId, Active>,
    /// Envelopes that arrived at this time, and their numbers.
    inbox: Vec<(Envelope, u32)>,
    cleared: Vec<Cleared>,
    /// An event will take up the arrivals.
    due: bool,
    /// This rank's position in each communicator, and the number of its next collective there.
    collectives: HashMap<CommId, (u32, u32)>,
}

/// The messages to take up, in order.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// By source, communicator and number.
    pub envelopes: Vec<Envelope>,
    /// By destination, communicator and number of their sends.
    pub cleared: Vec<Cleared>,
}

impl Endpoint {
    /// Makes a request active, of a receive or not; false if it is active already.
    pub fn activate(&mut self, request: RequestId, receives: bool) -> bool {
        let active = Active {
            complete: false,
            receives,
        };
        self.requests.insert(request, active).is_none()
    }

    /// Completes a request.
    pub fn complete(&mut self, request: RequestId) {
        if let Some(active) = self.requests.get_mut(&request) {
            active.complete = true;
        }
    }

    /// Makes a request inactive.
    pub fn forget(&mut self, request: RequestId) {
        self.requests.remove(&request);
    }

    /// Takes the streams whose probe looks for `envelope`, which is unexpected.
    pub fn found(&mut self, envelope: &Envelope) -> Vec<StreamId> {
        let found = self
            .probes
            .extract_if(.., |(pattern, _)| pattern.accepts(envelope));
        found.map(|(_, stream)| stream).collect()
    }

    /// Tries a wait for `requests`. If it is complete, this has taken the requests that it returns.
    pub fn try_wait(&mut self, requests: &[RequestId], until: Until) -> WaitOutcome {
        let state = |request: &RequestId| Some(self.requests.get(request)?.complete);
        let mut active = requests.iter().filter_map(state).peekable();
        if active.peek().is_none() {
            return WaitOutcome::Complete(0);
        }
        let returns = match until {
            Until::All => active.all(|complete| complete),
            Until::Any | Until::Some => active.any(|complete| complete),
        };
        if !returns {
            return WaitOutcome::Pending;
        }
        let mut received = 0;
        for request in requests {
            if let Some(active) = self.requests.get(request).filter(|active| active.complete) {
                received += u64::from(active.receives);
                self.requests.remove(request);
                if until == Until::Any {
                    break;
                }
            }
        }
        WaitOutcome::Complete(received)
    }

    /// Handles an envelope that arrived. Returns whether to schedule an event that takes up the arrivals.
    pub fn arrived(&mut self, envelope: Envelope, number: u32) -> bool {
        self.order.arrived(envelope, number, &mut self.inbox);
        !self.inbox.is_empty() && !std::mem::replace(&mut self.due, true)
    }

    /// Handles a clear to send that arrived. Returns whether to schedule an event, as for an envelope.
    pub fn cleared(&mut self, cleared: Cleared) -> bool {
        self.cleared.push(cleared);
        !std::mem::replace(&mut self.due, true)
    }

    /// Takes the messages that have arrived, in the order in which the rank takes them up.
    pub fn take_up(&mut self) -> Arrivals {
        self.due = false;
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.sort_unstable_by_key(|(envelope, number)| (envelope.from, envelope.comm, *number));
        let mut cleared = std::mem::take(&mut self.cleared);
        let key = |cleared: &Cleared| self.sends.get(cleared.send).map(|s| (s.to, s.number));
        cleared.sort_unstable_by_key(key);
        Arrivals {
            envelopes: inbox.into_iter().map(|(envelope, _)| envelope).collect(),
            cleared,
        }
    }

    /// Position of `rank` in a communicator and the number of its next collective there. `None`
    /// if it is not a member.
    pub fn next_collective(
        &mut self,
        rank: RankId,
        comm: CommId,
        members: &[RankId],
    ) -> Option<(u32, u32)> {
        if !self.collectives.contains_key(&comm) {
            let position = members.iter().position(|&member| member == rank)?;
            self.collectives.insert(comm, (position as u32, 0));
        }
        let (position, next) = self.collectives.get_mut(&comm)?;
        let number = *next;
        *next = next.wrapping_add(1);
        Some((*position, number))
    }

    /// Whether the rank has called collective `number` of a communicator.
    pub fn has_called(&self, comm: CommId, number: u32) -> bool {
        let of_comm = self.collectives.get(&comm);
        of_comm.is_some_and(|&(_, next)| number < next)
    }

    /// The requests of a list that are active and not complete.
    pub fn incomplete<'a>(
        &'a self,
        requests: &'a [RequestId],
    ) -> impl Iterator<Item = RequestId> + 'a {
        let open = |request: &&RequestId| {
            let active = self.requests.get(*request);
            active.is_some_and(|active| !active.complete)
        };
        requests.iter().filter(open).copied()
    }

    /// The pattern that a blocked stream or a request tries to receive, if it is posted.
    pub fn posted_by(&self, owner: Owner) -> Option<Pattern> {
        let mut of_owner = self.queues.posted().filter(|(_, _, o)| **o == owner);
        of_owner.next().map(|(pattern, ..)| *pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_take_what_they_say() {
        use WaitOutcome::{Complete, Pending};
        let [a, b, c, never] = [1, 2, 3, 9].map(RequestId);
        let mut endpoint = Endpoint::default();
        for request in [a, b, c] {
            assert!(endpoint.activate(request, request != c));
        }
        assert!(!endpoint.activate(a, true));
        // None is complete; requests that are not active don't count.
        for until in [Until::All, Until::Any, Until::Some] {
            assert_eq!(endpoint.try_wait(&[never, a, b], until), Pending);
        }
        endpoint.complete(b);
        assert_eq!(endpoint.try_wait(&[a, b], Until::All), Pending);
        assert_eq!(endpoint.try_wait(&[a, b], Until::Any), Complete(1));
        assert_eq!(endpoint.incomplete(&[a, b, c]).count(), 2);
        endpoint.complete(a);
        endpoint.complete(c);
        assert_eq!(endpoint.try_wait(&[c, a], Until::Any), Complete(0));
        assert!(endpoint.activate(c, false));
        assert_eq!(endpoint.try_wait(&[c, a, b], Until::Some), Complete(1));
        assert_eq!(endpoint.incomplete(&[a, b, c]).collect::<Vec<_>>(), [c]);
        // Only requests that are not active are left.
        assert_eq!(endpoint.try_wait(&[a, b], Until::All), Complete(0));
        assert_eq!(endpoint.try_wait(&[], Until::Any), Complete(0));
    }
}
