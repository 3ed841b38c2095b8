//! Parts that calls have in common, whatever their function: messages, requests, communicators, collective operations.

use super::Call;
use crate::dumpi::handle::{Comm, Datatype, Request};

/// The message that a call sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Elements; at most this many of a receive.
    pub count: i32,
    /// Type of each.
    pub datatype: Datatype,
    /// Rank of the other side in `comm`, as recorded: see [`ANY_SOURCE`](crate::dumpi::handle::ANY_SOURCE).
    pub peer: i32,
    /// Tag.
    pub tag: i32,
    /// Communicator.
    pub comm: Comm,
}

macro_rules! message {
    ($call:ident, $peer:ident) => {
        message!($call, count, datatype, $peer, tag)
    };
    ($call:ident, $count:ident, $datatype:ident, $peer:ident, $tag:ident) => {
        Message {
            count: $call.$count,
            datatype: $call.$datatype,
            peer: $call.$peer,
            tag: $call.$tag,
            comm: $call.comm,
        }
    };
}

impl<'a> Call<'a> {
    /// The message that the call sends, or starts to send; none for a persistent request, which only
    /// [`Call::Start`] makes a message of.
    #[must_use]
    pub fn sent(&self) -> Option<Message> {
        Some(match self {
            Self::Send(m) | Self::Bsend(m) | Self::Ssend(m) | Self::Rsend(m) => message!(m, dest),
            Self::Isend(m) | Self::Ibsend(m) | Self::Issend(m) | Self::Irsend(m) => {
                message!(m, dest)
            }
            Self::Sendrecv(m) => message!(m, sendcount, sendtype, dest, sendtag),
            Self::SendrecvReplace(m) => message!(m, count, datatype, dest, sendtag),
            _ => return None,
        })
    }

    /// The message that the call receives, or starts to receive; none for a persistent request.
    #[must_use]
    pub fn received(&self) -> Option<Message> {
        Some(match self {
            Self::Recv(m) => message!(m, source),
            Self::Irecv(m) => message!(m, source),
            Self::Sendrecv(m) => message!(m, recvcount, recvtype, source, recvtag),
            Self::SendrecvReplace(m) => message!(m, count, datatype, source, recvtag),
            _ => return None,
        })
    }

    /// The message of a persistent request that the call makes, and true if it is one to send.
    #[must_use]
    pub fn persistent(&self) -> Option<(Message, bool)> {
        match self {
            Self::SendInit(m) | Self::BsendInit(m) | Self::SsendInit(m) | Self::RsendInit(m) => {
                Some((message!(m, dest), true))
            }
            Self::RecvInit(m) => Some((message!(m, source), false)),
            _ => None,
        }
    }

    /// The request that the call makes.
    #[must_use]
    pub fn made_request(&self) -> Option<Request> {
        match self {
            Self::Isend(m) | Self::Ibsend(m) | Self::Issend(m) | Self::Irsend(m) => Some(m.request),
            Self::SendInit(m) | Self::BsendInit(m) | Self::SsendInit(m) | Self::RsendInit(m) => {
                Some(m.request)
            }
            Self::Irecv(m) | Self::RecvInit(m) => Some(m.request),
            Self::GrequestStart(call) => Some(call.request),
            _ => None,
        }
    }

    /// Shows `see` each request that the call uses: starts, completes, tests, cancels or frees.
    pub fn used_requests(&self, see: &mut dyn FnMut(Request)) {
        match self {
            Self::Wait(call) => see(call.request),
            Self::Test(call) | Self::RequestGetStatus(call) => see(call.request),
            Self::Start(call)
            | Self::Cancel(call)
            | Self::RequestFree(call)
            | Self::GrequestComplete(call) => see(call.request),
            Self::Waitall(call) => call.requests.iter().for_each(see),
            Self::Waitany(call) => call.requests.iter().for_each(see),
            Self::Waitsome(call) | Self::Testsome(call) => call.requests.iter().for_each(see),
            Self::Testall(call) => call.requests.iter().for_each(see),
            Self::Testany(call) => call.requests.iter().for_each(see),
            Self::Startall(call) => call.requests.iter().for_each(see),
            _ => {}
        }
    }

    /// The communicator that the call makes. [`Comm::NULL`] where this rank is not a member.
    #[must_use]
    pub fn made_comm(&self) -> Option<Comm> {
        Some(match self {
            Self::CommDup(call) => call.newcomm,
            Self::CommCreate(call) => call.newcomm,
            Self::CommSplit(call) => call.newcomm,
            Self::IntercommCreate(call) => call.newcomm,
            Self::IntercommMerge(call) => call.newcomm,
            Self::CartCreate(call) => call.newcomm,
            Self::CartSub(call) => call.newcomm,
            Self::GraphCreate(call) => call.newcomm,
            Self::CommAccept(call) | Self::CommConnect(call) => call.newcomm,
            Self::CommSpawn(call) => call.newcomm,
            Self::CommSpawnMultiple(call) => call.newcomm,
            Self::CommJoin(call) => call.comm,
            Self::CommGetParent(call) => call.parent,
            _ => return None,
        })
    }

    /// The communicator in which the call communicates, or from which it makes another one.
    #[must_use]
    pub fn comm(&self) -> Option<Comm> {
        let message = || self.sent().or(self.received());
        if let Some(message) = message().or(self.persistent().map(|(message, _)| message)) {
            return Some(message.comm);
        }
        Some(match self {
            Self::Probe(call) => call.comm,
            Self::Iprobe(call) => call.comm,
            Self::CommDup(call) => call.oldcomm,
            Self::CommCreate(call) => call.oldcomm,
            Self::CommSplit(call) => call.oldcomm,
            Self::IntercommCreate(call) => call.localcomm,
            Self::IntercommMerge(call) => call.comm,
            Self::CartCreate(call) => call.oldcomm,
            Self::CartSub(call) => call.oldcomm,
            Self::GraphCreate(call) => call.oldcomm,
            Self::CommFree(call) | Self::CommDisconnect(call) => call.comm,
            Self::WinCreate(call) => call.comm,
            _ => return self.collective().map(|collective| collective.comm),
        })
    }
}

/// A collective operation on a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// The communicator.
    pub comm: Comm,
    /// The root, where there is one: a rank of `comm`, or, between two groups, a number below 0.
    pub root: Option<i32>,
}

impl Call<'_> {
    /// The collective that the call takes part in: those that synchronise ranks or move data. The constructors of
    /// communicators, windows and files, which all members call as well, are not among them.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        let of = |comm, root| Some(Collective { comm, root });
        match self {
            Self::Barrier(c) => of(c.comm, None),
            Self::Bcast(c) => of(c.comm, Some(c.root)),
            Self::Gather(c) => of(c.comm, Some(c.root)),
            Self::Gatherv(c) => of(c.comm, Some(c.root)),
            Self::Scatter(c) => of(c.comm, Some(c.root)),
            Self::Scatterv(c) => of(c.comm, Some(c.root)),
            Self::Reduce(c) => of(c.comm, Some(c.root)),
            Self::Allgather(c) | Self::Alltoall(c) => of(c.comm, None),
            Self::Allgatherv(c) => of(c.comm, None),
            Self::Alltoallv(c) => of(c.comm, None),
            Self::Alltoallw(c) => of(c.comm, None),
            Self::Allreduce(c) | Self::Scan(c) | Self::Exscan(c) => of(c.comm, None),
            Self::ReduceScatter(c) => of(c.comm, None),
            _ => None,
        }
    }

    /// Shows `see` the count and the type of each part of the buffers of a message, a persistent request or a collective:
    /// of `MPI_Alltoallw` two for each rank. `MPI_IN_PLACE` is not
    /// recorded: beside it MPI ignores count and type, and they are what the program passed, often [`Datatype::NULL`] or less.
    pub fn buffers(&self, see: &mut dyn FnMut(i32, Datatype)) {
        let messages = [
            self.sent(),
            self.received(),
            self.persistent().map(|(m, _)| m),
        ];
        for message in messages.into_iter().flatten() {
            see(message.count, message.datatype);
        }
        match self {
            Self::Bcast(c) => see(c.count, c.datatype),
            Self::Reduce(c) => see(c.count, c.datatype),
            Self::Allreduce(c) | Self::Scan(c) | Self::Exscan(c) => see(c.count, c.datatype),
            Self::Allgather(c) | Self::Alltoall(c) => {
                see(c.sendcount, c.sendtype);
                see(c.recvcount, c.recvtype);
            }
            Self::Gather(c) => {
                see(c.sendcount, c.sendtype);
                if let (Some(count), Some(datatype)) = (c.recvcount, c.recvtype) {
                    see(count, datatype);
                }
            }
            Self::Scatter(c) => {
                see(c.recvcount, c.recvtype);
                if let (Some(count), Some(datatype)) = (c.sendcount, c.sendtype) {
                    see(count, datatype);
                }
            }
            _ => self.uneven_buffers(see),
        }
    }

    /// The same of collectives with a count for each rank.
    fn uneven_buffers(&self, see: &mut dyn FnMut(i32, Datatype)) {
        match self {
            Self::Gatherv(c) => {
                see(c.sendcount, c.sendtype);
                let counts = c.recvcounts.iter().flat_map(|counts| counts.iter());
                counts.for_each(|count| see(count, c.recvtype));
            }
            Self::Scatterv(c) => {
                see(c.recvcount, c.recvtype);
                let counts = c.sendcounts.iter().flat_map(|counts| counts.iter());
                counts.for_each(|count| see(count, c.sendtype));
            }
            Self::Allgatherv(c) => {
                see(c.sendcount, c.sendtype);
                c.recvcounts.iter().for_each(|count| see(count, c.recvtype));
            }
            Self::Alltoallv(c) => {
                c.sendcounts.iter().for_each(|count| see(count, c.sendtype));
                c.recvcounts.iter().for_each(|count| see(count, c.recvtype));
            }
            Self::Alltoallw(c) => {
                for (count, datatype) in c.sendcounts.iter().zip(c.sendtypes.iter()) {
                    see(count, datatype);
                }
                for (count, datatype) in c.recvcounts.iter().zip(c.recvtypes.iter()) {
                    see(count, datatype);
                }
            }
            Self::ReduceScatter(c) => {
                c.recvcounts.iter().for_each(|count| see(count, c.datatype));
            }
            _ => {}
        }
    }
}
