//! Operations, as a test writes them.

use flitwise::replay::mpi::{Call, CommId, Communicator, RequestId, SendMode, Tag, Until};
use flitwise::replay::program::{
    Action, After, Collective, CollectiveKind, Contribution, Event, Label, Op, Place, RankId,
};
use std::sync::Arc;

/// An operation without anything around it.
pub fn op(action: Action) -> Op {
    Op {
        after: After::Previous,
        compute_ps: 0,
        action,
        label: None,
        place: Place::line(1),
    }
}

/// What surrounds an action.
pub trait Around {
    /// After this computation.
    fn compute(self, compute_ps: u64) -> Self;
    /// After these events as well.
    fn after<const N: usize>(self, events: [Event; N]) -> Self;
    /// With this label.
    fn label(self, number: u64) -> Self;
    /// With this request; for calls only.
    fn request(self, number: u64) -> Self;
}

impl Around for Op {
    fn compute(mut self, compute_ps: u64) -> Self {
        self.compute_ps = compute_ps;
        self
    }

    fn after<const N: usize>(mut self, events: [Event; N]) -> Self {
        let mut all = self.after.events().to_vec();
        all.extend(events);
        self.after = after(all);
        self
    }

    fn label(mut self, number: u64) -> Self {
        self.label = Label::new(number);
        self
    }

    fn request(mut self, number: u64) -> Self {
        let Action::Mpi(call) = &mut self.action else {
            panic!("only calls have requests");
        };
        match &mut **call {
            Call::Send { request, .. }
            | Call::Receive { request, .. }
            | Call::Collective { request, .. } => *request = Some(RequestId(number)),
            Call::Wait { .. } | Call::Probe { .. } | Call::Free { .. } => {
                panic!("it has no request")
            }
        }
        self
    }
}

/// These events.
pub fn after(events: Vec<Event>) -> After {
    match events[..] {
        [] => After::Previous,
        [event] => After::Event(event),
        _ => After::All(events.into()),
    }
}

pub fn started(number: u64) -> Event {
    Event::Started(Label::new(number).expect("a small number"))
}

pub fn done(number: u64) -> Event {
    Event::Done(Label::new(number).expect("a small number"))
}

pub fn marker() -> Op {
    op(Action::Marker)
}

/// A message with an id for which an operation waits.
pub fn message(id: u64, to: u32, bytes: u64) -> Op {
    op(Action::Send {
        id,
        to: RankId::new(to),
        bytes,
        awaited: true,
    })
}

pub fn call(call: Call) -> Op {
    op(Action::Mpi(Box::new(call)))
}

fn send_in_mode(to: u32, comm: u32, tag: i32, bytes: u64, mode: SendMode) -> Op {
    call(Call::Send {
        to: RankId::new(to),
        comm: CommId::new(comm),
        tag: Tag(tag),
        bytes,
        mode,
        nic: 0,
        request: None,
    })
}

/// The send takes another NIC.
pub fn by_nic(mut op: Op, by: u8) -> Op {
    if let Action::Mpi(call) = &mut op.action
        && let Call::Send { nic, .. } = &mut **call
    {
        *nic = by;
    }
    op
}

/// A standard send that blocks.
pub fn send(to: u32, comm: u32, tag: i32, bytes: u64) -> Op {
    send_in_mode(to, comm, tag, bytes, SendMode::Standard)
}

/// A synchronous send that blocks.
pub fn ssend(to: u32, comm: u32, tag: i32, bytes: u64) -> Op {
    send_in_mode(to, comm, tag, bytes, SendMode::Synchronous)
}

/// A buffered send that blocks.
pub fn bsend(to: u32, comm: u32, tag: i32, bytes: u64) -> Op {
    send_in_mode(to, comm, tag, bytes, SendMode::Buffered)
}

/// A receive that blocks; `None` for any source or tag.
pub fn receive(from: Option<u32>, comm: u32, tag: Option<i32>) -> Op {
    call(Call::Receive {
        from: from.map(RankId::new),
        comm: CommId::new(comm),
        tag: tag.map(Tag),
        request: None,
    })
}

/// A probe; `None` for any source or tag.
pub fn probe(from: Option<u32>, comm: u32, tag: Option<i32>) -> Op {
    call(Call::Probe {
        from: from.map(RankId::new),
        comm: CommId::new(comm),
        tag: tag.map(Tag),
    })
}

pub fn free(requests: &[u64]) -> Op {
    call(Call::Free {
        requests: requests.iter().copied().map(RequestId).collect(),
    })
}

pub fn wait(until: Until, requests: &[u64]) -> Op {
    call(Call::Wait {
        requests: requests.iter().copied().map(RequestId).collect(),
        until,
    })
}

pub fn ranks(members: &[u32]) -> Arc<[RankId]> {
    members.iter().copied().map(RankId::new).collect()
}

pub fn communicator(id: u32, members: &[u32]) -> Arc<Communicator> {
    Arc::new(Communicator {
        id: CommId::new(id),
        members: ranks(members),
    })
}

/// A call of a collective that blocks.
pub fn collective(comm: &Arc<Communicator>, contribution: Contribution) -> Op {
    call(Call::Collective {
        comm: Arc::clone(comm),
        contribution,
        request: None,
    })
}

/// A collective with an id.
pub fn with_id(id: u64, members: &[u32], kind: CollectiveKind) -> Arc<Collective> {
    Arc::new(Collective {
        id,
        members: ranks(members),
        kind,
    })
}

/// The entry of a collective with an id.
pub fn enter(collective: &Arc<Collective>, rank: u32) -> Op {
    let position = collective
        .members
        .iter()
        .position(|member| member.get() == rank);
    let position = position.expect("the rank is a member") as u32;
    op(Action::Collective(Arc::clone(collective), position))
}
