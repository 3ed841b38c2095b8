//! Messages as calls name them.

use super::communicators::Resolved;
use super::outcomes::Outcome;
use crate::mpi::{SendMode, Tag};
use crate::program::RankId;
use flitwise_formats::dumpi::Call;
use flitwise_formats::dumpi::handle::{ANY_SOURCE, ANY_TAG};
use std::sync::Arc;

/// The problem of a call; the caller adds the place.
pub(super) type Problem = String;

/// A message as its sender or its receiver names it.
#[derive(Clone)]
pub(super) struct Envelope {
    pub comm: Arc<Resolved>,
    pub peer: i32,
    pub tag: i32,
    pub bytes: u64,
}

/// The mode in which a call sends.
pub(super) fn mode(call: &Call<'_>) -> SendMode {
    match call {
        Call::Ssend(_) | Call::Issend(_) | Call::SsendInit(_) => SendMode::Synchronous,
        Call::Bsend(_) | Call::Ibsend(_) | Call::BsendInit(_) => SendMode::Buffered,
        _ => SendMode::Standard,
    }
}

/// The rank of the job that is number `peer` of a communicator.
pub(super) fn peer(comm: &Resolved, peer: i32) -> Result<RankId, Problem> {
    let peers = comm.peers();
    let found = usize::try_from(peer).ok().and_then(|at| peers.get(at));
    found.copied().ok_or_else(|| {
        let last = peers.len().saturating_sub(1);
        format!("there is no rank {peer} in the communicator: its ranks are 0 to {last}")
    })
}

/// Source and tag of the messages that a receive takes; `None` stands for any.
pub(super) type Pattern = (Option<RankId>, Option<Tag>);

/// The messages that a receive takes, if it is known which message it got; `None` if it gets none.
pub(super) fn pattern(
    message: &Envelope,
    outcome: Option<Outcome>,
) -> Result<Option<Pattern>, Problem> {
    let (source, tag) = match outcome {
        None => (message.peer, message.tag),
        Some(Outcome::Nothing | Outcome::Unknown) => return Ok(None),
        Some(Outcome::Message { source, tag }) => (source, tag.unwrap_or(message.tag)),
    };
    let from = match source {
        ANY_SOURCE => None,
        // `MPI_PROC_NULL` of Open MPI.
        ..0 => return Ok(None),
        source => Some(peer(&message.comm, source)?),
    };
    Ok(Some((from, (tag != ANY_TAG).then_some(Tag(tag)))))
}
