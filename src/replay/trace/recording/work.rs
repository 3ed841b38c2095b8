//! The operations of calls, before they have requests.

use super::communicators::Comm;
use super::outcomes::Outcome;
use crate::mpi::{Call as Does, CommId, Communicator, RequestId, SendMode, Tag};
use crate::program::{Contribution, RankId};
use flitwise_formats::recording::Peer;
use std::sync::Arc;

/// The problem of a call; the caller adds the place.
pub(super) type Problem = String;

/// Source and tag of the messages that a receive takes; `None` stands for any.
pub(super) type Pattern = (Option<RankId>, Option<Tag>);

/// An operation.
#[derive(Debug, Clone)]
pub(super) enum Work {
    Send {
        to: RankId,
        comm: CommId,
        tag: Tag,
        bytes: u64,
        mode: SendMode,
    },
    Receive(Receive, Option<Outcome>),
    Collective {
        comm: Arc<Communicator>,
        contribution: Contribution,
    },
}

/// A message as its receiver names it.
#[derive(Debug, Clone)]
pub(super) struct Receive {
    pub comm: Arc<Comm>,
    /// The number of its messages.
    pub id: CommId,
    pub peer: Peer,
    pub tag: Option<u32>,
}

impl Comm {
    /// The rank of the job that is number `peer`.
    pub fn peer(&self, peer: u32) -> Result<RankId, Problem> {
        self.peers.get(peer as usize).copied().ok_or_else(|| {
            let last = self.peers.len().saturating_sub(1);
            format!("there is no rank {peer} in the communicator: its ranks are 0 to {last}")
        })
    }
}

impl Receive {
    /// Source and tag of the messages that it takes, if it is known which message it got; `None` if it gets none.
    pub fn pattern(&self, outcome: Option<Outcome>) -> Result<Option<Pattern>, Problem> {
        let (peer, tag) = match outcome {
            Some(Outcome::Nothing) => return Ok(None),
            Some(Outcome::Message { source, tag }) => (Peer::Rank(source), Some(tag)),
            None | Some(Outcome::Unknown) => (self.peer, self.tag),
        };
        let from = match peer {
            Peer::Any => None,
            Peer::Rank(rank) => Some(self.comm.peer(rank)?),
            Peer::Null | Peer::Root => return Ok(None),
        };
        let tag = tag.map(|tag| Tag(tag.cast_signed()));
        Ok(Some((from, tag)))
    }
}

impl Work {
    /// The call that does it; `None` if there is nothing to do.
    pub fn call(self, request: Option<RequestId>) -> Result<Option<Does>, Problem> {
        Ok(match self {
            Self::Send {
                to,
                comm,
                tag,
                bytes,
                mode,
            } => Some(Does::Send {
                to,
                comm,
                tag,
                bytes,
                mode,
                nic: 0,
                request,
            }),
            Self::Receive(receive, outcome) => {
                let pattern = receive.pattern(outcome)?;
                pattern.map(|(from, tag)| Does::Receive {
                    from,
                    comm: receive.id,
                    tag,
                    request,
                })
            }
            Self::Collective { comm, contribution } => Some(Does::Collective {
                comm,
                contribution,
                request,
            }),
        })
    }
}
