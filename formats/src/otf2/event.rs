//! Events of a location.

use super::wire::{Fault, Fields};
use crate::recording::Operation;

/// The number of a request of a rank.
pub type RequestNumber = u64;

/// A message as an event names it. Its peer is a number in the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Receiver of a send, sender of a receive.
    pub peer: u32,
    /// Communicator.
    pub comm: u32,
    /// Tag.
    pub tag: u32,
    /// Payload.
    pub bytes: u64,
}

/// A collective as an event names it, when it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// The operation; the number of one that [makes or frees](Self::is_handle) handles, or that only a later version has.
    pub operation: Result<Operation, u8>,
    /// Communicator.
    pub comm: u32,
    /// Number of the root in the communicator; [`u32::MAX`] for none, and see [`ROOT_SELF`] and [`ROOT_THIS_GROUP`].
    pub root: u32,
    /// Bytes that the rank sent, to all members together.
    pub sent: u64,
    /// Bytes that the rank received, from all members together.
    pub received: u64,
}

/// The root of a collective between two groups is this rank.
pub const ROOT_SELF: u32 = u32::MAX - 1;
/// The root of a collective between two groups is in the group of this rank.
pub const ROOT_THIS_GROUP: u32 = u32::MAX - 2;

/// The operations by their numbers in archives.
const OPERATIONS: [Operation; 17] = [
    Operation::Barrier,
    Operation::Bcast,
    Operation::Gather,
    Operation::Gatherv,
    Operation::Scatter,
    Operation::Scatterv,
    Operation::Allgather,
    Operation::Allgatherv,
    Operation::Alltoall,
    Operation::Alltoallv,
    Operation::Alltoallw,
    Operation::Allreduce,
    Operation::Reduce,
    Operation::ReduceScatter,
    Operation::Scan,
    Operation::Exscan,
    Operation::ReduceScatterBlock,
];

impl Collective {
    /// True if it makes or frees communicators, windows or files, and moves no data.
    #[must_use]
    pub fn is_handle(&self) -> bool {
        matches!(self.operation, Err(17..=22))
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A region begins: a function or a part of one.
    Enter(u32),
    /// A region ends.
    Leave(u32),
    /// A message is sent, and the call blocks.
    Send(Message),
    /// A message is sent, and a request is made.
    Isend(Message, RequestNumber),
    /// A send is complete, or its request was freed.
    IsendComplete(RequestNumber),
    /// A receive is posted. Its [completion](Self::Irecv) says what it got.
    IrecvRequest(RequestNumber),
    /// A message was received by a call that blocks.
    Recv(Message),
    /// A message was received for a request.
    Irecv(Message, RequestNumber),
    /// A test found this request not complete.
    RequestTest(RequestNumber),
    /// A request was cancelled.
    RequestCancelled(RequestNumber),
    /// A collective begins.
    CollectiveBegin,
    /// A collective is complete.
    CollectiveEnd(Collective),
    /// A collective that does not block begins. Its [completion](Self::CollectiveComplete) says which.
    CollectiveRequest(RequestNumber),
    /// A collective that does not block is complete.
    CollectiveComplete(Collective, RequestNumber),
    /// A communicator was made.
    CommCreate(u32),
    /// A communicator is freed.
    CommDestroy(u32),
    /// A message was found, which has this number if it was taken out of the matching; its bytes are not known.
    Probe(Message, u64),
    /// The message with this number was received by a call that blocks.
    Mrecv(u64),
    /// A receive of the message with this number is posted.
    ImrecvRequest(u64, RequestNumber),
    /// A message was received for a request.
    Imrecv(RequestNumber),
    /// The recorder wrote to disk until this time.
    BufferFlush(u64),
    /// The recording was switched on or off.
    Measurement {
        /// On.
        on: bool,
    },
    /// One-sided communication that moves data.
    OneSided,
    /// Another kind of event.
    Other(u8),
}

/// Kinds of records.
mod kind {
    pub const BUFFER_FLUSH: u8 = 10;
    pub const MEASUREMENT: u8 = 11;
    pub const ENTER: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const SEND: u8 = 14;
    pub const ISEND: u8 = 15;
    pub const ISEND_COMPLETE: u8 = 16;
    pub const IRECV_REQUEST: u8 = 17;
    pub const RECV: u8 = 18;
    pub const IRECV: u8 = 19;
    pub const REQUEST_TEST: u8 = 20;
    pub const REQUEST_CANCELLED: u8 = 21;
    pub const COLLECTIVE_BEGIN: u8 = 22;
    pub const COLLECTIVE_END: u8 = 23;
    pub const PUT: u8 = 46;
    pub const GET: u8 = 47;
    pub const ATOMIC: u8 = 48;
    pub const COLLECTIVE_REQUEST: u8 = 85;
    pub const COLLECTIVE_COMPLETE: u8 = 86;
    pub const COMM_CREATE: u8 = 87;
    pub const COMM_DESTROY: u8 = 88;
    pub const PROBE: u8 = 89;
    pub const MRECV: u8 = 90;
    pub const IMRECV_REQUEST: u8 = 91;
    pub const IMRECV: u8 = 92;
}

/// Events of one number, which have no length: regions, requests, and three kinds of OpenMP.
pub(super) fn is_single(code: u8) -> bool {
    use kind::*;
    matches!(
        code,
        ENTER
            | LEAVE
            | ISEND_COMPLETE
            | IRECV_REQUEST
            | REQUEST_TEST
            | REQUEST_CANCELLED
            | OMP_FORK
            | OMP_TASK_CREATE..=OMP_TASK_COMPLETE
    )
}

const OMP_FORK: u8 = 24;
const OMP_TASK_CREATE: u8 = 28;
const OMP_TASK_COMPLETE: u8 = 30;

/// Events whose values are read.
pub(super) fn is_wanted(code: u8) -> bool {
    use kind::*;
    matches!(code, BUFFER_FLUSH..=COLLECTIVE_END | COLLECTIVE_REQUEST..=IMRECV)
}

/// The recording resumes.
const ON: u8 = 1;

impl Event {
    /// The event of this kind with these values.
    #[inline]
    pub(super) fn read(code: u8, fields: &mut Fields<'_>) -> Result<Self, Fault> {
        use kind::*;
        Ok(match code {
            ENTER => Self::Enter(fields.u32()?),
            LEAVE => Self::Leave(fields.u32()?),
            SEND => Self::Send(message(fields)?),
            ISEND => Self::Isend(message(fields)?, fields.u64()?),
            ISEND_COMPLETE => Self::IsendComplete(fields.u64()?),
            IRECV_REQUEST => Self::IrecvRequest(fields.u64()?),
            RECV => Self::Recv(message(fields)?),
            IRECV => Self::Irecv(message(fields)?, fields.u64()?),
            REQUEST_TEST => Self::RequestTest(fields.u64()?),
            REQUEST_CANCELLED => Self::RequestCancelled(fields.u64()?),
            COLLECTIVE_BEGIN => Self::CollectiveBegin,
            COLLECTIVE_END => Self::CollectiveEnd(collective(fields)?),
            COLLECTIVE_REQUEST => Self::CollectiveRequest(fields.u64()?),
            COLLECTIVE_COMPLETE => Self::CollectiveComplete(collective(fields)?, fields.u64()?),
            COMM_CREATE => Self::CommCreate(fields.u32()?),
            COMM_DESTROY => Self::CommDestroy(fields.u32()?),
            PROBE => {
                let (peer, comm, tag) = (fields.u32()?, fields.u32()?, fields.u32()?);
                let bytes = 0;
                let message = Message {
                    peer,
                    comm,
                    tag,
                    bytes,
                };
                Self::Probe(message, fields.u64()?)
            }
            MRECV => Self::Mrecv(fields.u64()?),
            IMRECV_REQUEST => Self::ImrecvRequest(fields.u64()?, fields.u64()?),
            IMRECV => Self::Imrecv(fields.u64()?),
            BUFFER_FLUSH => Self::BufferFlush(fields.full_u64()?),
            MEASUREMENT => Self::Measurement {
                on: fields.u8()? == ON,
            },
            PUT | GET | ATOMIC => Self::OneSided,
            other => Self::Other(other),
        })
    }

    /// True if the event is one of communication.
    #[must_use]
    pub fn is_communication(&self) -> bool {
        !matches!(
            self,
            Self::Enter(_)
                | Self::Leave(_)
                | Self::BufferFlush(_)
                | Self::Measurement { .. }
                | Self::RequestTest(_)
                | Self::CommCreate(_)
                | Self::CommDestroy(_)
                | Self::Other(_)
        )
    }
}

fn message(fields: &mut Fields<'_>) -> Result<Message, Fault> {
    Ok(Message {
        peer: fields.u32()?,
        comm: fields.u32()?,
        tag: fields.u32()?,
        bytes: fields.u64()?,
    })
}

fn collective(fields: &mut Fields<'_>) -> Result<Collective, Fault> {
    let number = fields.u8()?;
    let known = OPERATIONS.get(usize::from(number));
    Ok(Collective {
        operation: known.copied().ok_or(number),
        comm: fields.u32()?,
        root: fields.u32()?,
        sent: fields.u64()?,
        received: fields.u64()?,
    })
}
