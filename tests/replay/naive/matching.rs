//! Sends and receives of MPI: protocol and matching.

use super::message::{Message, Purpose};
use super::world::{OpKey, Owner, World};
use flitwise::replay::SendCompletion;
use flitwise::replay::mpi::{Call, CommId, SendMode, Tag};
use flitwise::replay::program::{Action, RankId};

/// A send of MPI.
#[derive(Debug, Clone)]
pub struct Send {
    pub from: RankId,
    pub to: RankId,
    pub comm: CommId,
    pub tag: Tag,
    pub bytes: u64,
    /// The NIC that its call names.
    pub nic: u8,
    /// Counts the sends from this rank to that rank in this communicator.
    pub number: usize,
    pub eager: bool,
    /// What is complete with it; nothing if the sender has a buffer.
    pub owner: Option<Owner>,
    /// The envelope has arrived.
    pub arrived: bool,
    /// When the receiver took the envelope up: how many envelopes were taken up before.
    pub taken: Option<usize>,
    /// The receive that has matched it, in `World::receives`.
    pub receive: Option<usize>,
    /// The clear to send has arrived.
    pub clear_arrived: bool,
    /// The clear to send is answered.
    pub answered: bool,
}

/// A receive of MPI; it is posted until it is matched.
#[derive(Debug, Clone)]
pub struct Receive {
    pub rank: RankId,
    pub from: Option<RankId>,
    pub comm: CommId,
    pub tag: Option<Tag>,
    pub owner: Owner,
    pub matched: bool,
}

impl Send {
    /// It is matched, and sends nothing more.
    pub fn is_over(&self) -> bool {
        self.receive.is_some() && (self.eager || self.answered)
    }
}

impl Receive {
    fn fits(&self, send: &Send) -> bool {
        self.rank == send.to
            && self.comm == send.comm
            && self.from.is_none_or(|from| from == send.from)
            && self.tag.is_none_or(|tag| tag == send.tag)
    }
}

/// What a probe looks for.
type Wanted = (Option<RankId>, CommId, Option<Tag>);

fn is_wanted(send: &Send, (from, comm, tag): Wanted) -> bool {
    send.comm == comm
        && from.is_none_or(|from| from == send.from)
        && tag.is_none_or(|tag| tag == send.tag)
}

impl World<'_> {
    /// True if a rank has an unexpected message that a receive of this would take.
    pub fn has_unexpected(&self, rank: RankId, wanted: Wanted) -> bool {
        self.sends[self.open.sends..].iter().any(|send| {
            let unexpected = send.taken.is_some() && send.receive.is_none();
            unexpected && send.to == rank && is_wanted(send, wanted)
        })
    }

    /// A message is unexpected: the probes of its receiver that look for it are done.
    fn found_by_probes(&mut self, rank: RankId, send: usize) {
        let probing = |key: &OpKey| {
            let op = &self.stream(rank, key.stream)[key.index];
            let Action::Mpi(call) = &op.action else {
                return false;
            };
            matches!(**call, Call::Probe { from, comm, tag } if is_wanted(&self.sends[send], (from, comm, tag)))
        };
        let open = self
            .ops_of(rank)
            .filter(|(_, times)| times.done_ps.is_none());
        let found: Vec<OpKey> = open.map(|(&key, _)| key).filter(probing).collect();
        for key in found {
            self.done(key);
        }
    }

    pub fn call_send(
        &mut self,
        from: RankId,
        (to, comm, tag): (RankId, CommId, Tag),
        bytes: u64,
        (mode, nic): (SendMode, u8),
        owner: Owner,
    ) {
        self.outcome.point_to_point += 1;
        self.outcome.point_to_point_bytes += bytes;
        let small = bytes <= self.case.protocol.eager_threshold_bytes;
        let eager = mode != SendMode::Synchronous && small;
        let buffered = mode == SendMode::Buffered;
        self.count_if(buffered && eager, "short buffered send");
        self.count_if(buffered && !eager, "long buffered send");
        let owner_later = (!buffered).then_some(owner);
        self.count_if(eager, "eager send");
        self.count_if(!eager && !small, "rendezvous");
        self.count_if(!eager && small, "short synchronous send");
        let before = |send: &&Send| (send.from, send.to, send.comm) == (from, to, comm);
        let last = self.sends.iter().rev().find(before);
        let number = last.map_or(0, |send| send.number + 1);
        let position = self.sends.len();
        self.sends.push(Send {
            from,
            to,
            comm,
            tag,
            bytes,
            nic,
            number,
            eager,
            owner: owner_later,
            arrived: false,
            taken: None,
            receive: None,
            clear_arrived: false,
            answered: false,
        });
        let waits = eager && !buffered && self.case.send_completion == SendCompletion::Injected;
        self.send(Message {
            from,
            to,
            bytes: if eager {
                bytes
            } else {
                self.case.protocol.control_bytes
            },
            nic,
            purpose: Purpose::Envelope(position),
            when_injected: waits.then_some(owner),
            when_arrived: None,
        });
        if buffered || (eager && !waits) {
            self.complete(Some(owner));
        }
    }

    pub fn call_receive(
        &mut self,
        rank: RankId,
        from: Option<RankId>,
        comm: CommId,
        tag: Option<Tag>,
        owner: Owner,
    ) {
        let position = self.receives.len();
        let receive = Receive {
            rank,
            from,
            comm,
            tag,
            owner,
            matched: false,
        };
        let unexpected = |send: &&Send| send.taken.is_some() && send.receive.is_none();
        let fitting: Vec<&Send> = self.sends[self.open.sends..]
            .iter()
            .filter(unexpected)
            .filter(|send| receive.fits(send))
            .collect();
        let other_source = fitting.iter().any(|send| send.from != fitting[0].from);
        let other_tag = fitting.iter().any(|send| send.tag != fitting[0].tag);
        let first = (self.open.sends..self.sends.len())
            .filter(|&send| unexpected(&&self.sends[send]) && receive.fits(&self.sends[send]))
            .min_by_key(|&send| self.sends[send].taken);
        self.count_if(other_source, "unexpected messages of several sources fit");
        self.count_if(other_tag, "unexpected messages of several tags fit");
        self.receives.push(receive);
        if let Some(send) = first {
            self.count_if(true, "unexpected message matched");
            self.count_if(!self.sends[send].eager, "unexpected rendezvous matched");
            self.match_up(send, position);
        }
    }

    /// Notes that an envelope has arrived.
    pub fn envelope_arrived(&mut self, send: usize) {
        self.sends[send].arrived = true;
        let overtakes = self.sends[self.open.sends..].iter().any(|earlier| {
            self.same_pair(earlier, send)
                && earlier.number < self.sends[send].number
                && !earlier.arrived
        });
        self.count_if(overtakes, "envelope that overtakes");
    }

    fn same_pair(&self, one: &Send, other: usize) -> bool {
        let other = &self.sends[other];
        (one.from, one.to, one.comm) == (other.from, other.to, other.comm)
    }

    /// A rank takes up the envelopes that have arrived; false if it can take up none.
    pub fn take_up(&mut self, rank: RankId) -> bool {
        let mut several = 0;
        loop {
            let can_be_taken = |&send: &usize| {
                let envelope = &self.sends[send];
                let earlier_taken = |earlier: &Send| {
                    !self.same_pair(earlier, send)
                        || earlier.number >= envelope.number
                        || earlier.taken.is_some()
                };
                envelope.to == rank
                    && envelope.arrived
                    && envelope.taken.is_none()
                    && self.sends[self.open.sends..].iter().all(earlier_taken)
            };
            let next = (self.open.sends..self.sends.len())
                .filter(can_be_taken)
                .min_by_key(|&send| {
                    let envelope = &self.sends[send];
                    (envelope.from, envelope.comm, envelope.number)
                });
            let Some(send) = next else {
                break;
            };
            self.take(rank, send);
            several += 1;
        }
        self.count_if(several > 1, "several envelopes taken up at one time");
        several > 0
    }

    fn take(&mut self, rank: RankId, send: usize) {
        self.sends[send].taken = Some(self.taken);
        self.taken += 1;
        let fitting: Vec<usize> = (self.open.receives..self.receives.len())
            .filter(|&receive| {
                let receive = &self.receives[receive];
                !receive.matched && receive.fits(&self.sends[send])
            })
            .collect();
        self.count_if(fitting.is_empty(), "unexpected message");
        self.count_if(fitting.len() > 1, "several posted receives fit");
        match fitting.first() {
            Some(&receive) => self.match_up(send, receive),
            None => self.found_by_probes(rank, send),
        }
    }

    fn match_up(&mut self, send: usize, receive: usize) {
        self.sends[send].receive = Some(receive);
        self.receives[receive].matched = true;
        self.count_if(
            self.receives[receive].from.is_none(),
            "receive from any source",
        );
        self.count_if(self.receives[receive].tag.is_none(), "receive with any tag");
        if self.sends[send].eager {
            let owner = self.receives[receive].owner;
            self.complete(Some(owner));
        } else {
            let Send { from, to, .. } = self.sends[send];
            self.send(Message {
                from: to,
                to: from,
                bytes: self.case.protocol.control_bytes,
                nic: 0,
                purpose: Purpose::Clear(send),
                when_injected: None,
                when_arrived: None,
            });
        }
    }

    /// A rank answers the clears to send that have arrived; false if there are none.
    pub fn answer(&mut self, rank: RankId) -> bool {
        let mut due: Vec<usize> = (self.open.sends..self.sends.len())
            .filter(|&send| {
                let send = &self.sends[send];
                send.from == rank && send.clear_arrived && !send.answered
            })
            .collect();
        due.sort_by_key(|&send| {
            let send = &self.sends[send];
            (send.to, send.comm, send.number)
        });
        self.count_if(due.len() > 1, "several clears to send answered at one time");
        for &send in &due {
            self.sends[send].answered = true;
            let Send {
                from,
                to,
                bytes,
                nic,
                owner,
                ..
            } = self.sends[send];
            self.send(Message {
                from,
                to,
                bytes,
                nic,
                purpose: Purpose::Payload(send),
                when_injected: owner,
                when_arrived: None,
            });
        }
        !due.is_empty()
    }
}
