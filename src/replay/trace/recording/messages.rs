//! The work of calls that communicate.

use super::caller::Caller;
use super::collective::{contribution, to_neighbours};
use super::communicators::{Comm, Context};
use super::outcomes::Outcome;
use super::work::{Problem, Receive, Work};
use crate::mpi::{SendMode, Tag};
use flitwise_formats::recording::{Collective, How, Message, Mode, Outcome as Said, Peer};
use std::sync::Arc;

/// The tag of messages between neighbours in a collective: no other messages of their context have tags.
const OF_NEIGHBOURS: Tag = Tag(1 << 29);

impl Caller {
    pub(super) fn comm(&self, id: u32) -> Result<&Arc<Comm>, Problem> {
        let found = self.known.comms.get(self.id, id);
        found.ok_or_else(|| format!("no record describes communicator {id}"))
    }

    /// The outcome of a receive that is known when it starts.
    pub(super) fn said(&self, how: How, message: &Message, said: &Said) -> Option<Outcome> {
        match how {
            How::Blocking => Outcome::of(message, said),
            How::Later | How::Persistent => None,
        }
    }

    pub(super) fn send(
        &self,
        message: &Message,
        mode: Mode,
        context: Context,
    ) -> Result<Vec<Work>, Problem> {
        let comm = self.comm(message.comm)?;
        let Peer::Rank(peer) = message.peer else {
            return Ok(Vec::new());
        };
        let tag = message.tag.and_then(|tag| i32::try_from(tag).ok());
        Ok(vec![Work::Send {
            to: comm.peer(peer)?,
            comm: self.known.comms.within(comm.id, context),
            tag: Tag(tag.unwrap_or_default()),
            bytes: message.data.bytes(),
            mode: match mode {
                Mode::Standard => SendMode::Standard,
                Mode::Synchronous => SendMode::Synchronous,
                Mode::Buffered => SendMode::Buffered,
            },
        }])
    }

    pub(super) fn receive(&self, message: &Message, context: Context) -> Result<Receive, Problem> {
        let comm = self.comm(message.comm)?;
        Ok(Receive {
            id: self.known.comms.within(comm.id, context),
            comm: Arc::clone(comm),
            peer: message.peer,
            tag: message.tag,
        })
    }

    pub(super) fn collective(&self, call: &Collective<'_>) -> Result<Vec<Work>, Problem> {
        let comm = self.comm(call.comm)?;
        if call.operation.is_of_neighbours() {
            return self.neighbours(call, comm);
        }
        Ok(match contribution(call, comm) {
            Some(contribution) => vec![Work::Collective {
                comm: Arc::clone(&comm.all),
                contribution,
            }],
            // `unsupported` has counted it.
            None => Vec::new(),
        })
    }

    /// A collective of neighbours: a message to and from each.
    pub(super) fn neighbours(
        &self,
        call: &Collective<'_>,
        comm: &Arc<Comm>,
    ) -> Result<Vec<Work>, Problem> {
        let Some([sources, destinations]) = &comm.neighbours else {
            return Err(format!("communicator {} has no topology", call.comm));
        };
        let sizes = to_neighbours(call, destinations.len());
        if sizes.len() != destinations.len() {
            return Err(format!(
                "{} sizes for {} neighbours",
                sizes.len(),
                destinations.len()
            ));
        }
        let id = self.known.comms.within(comm.id, Context::Neighbours);
        let mut work = Vec::with_capacity(sources.len() + destinations.len());
        for source in sources.iter().flatten() {
            let receive = Receive {
                id,
                comm: Arc::clone(comm),
                peer: Peer::Rank(*source),
                tag: Some(OF_NEIGHBOURS.0.cast_unsigned()),
            };
            work.push(Work::Receive(receive, None));
        }
        for (to, &bytes) in destinations.iter().zip(&sizes) {
            if let Some(to) = to {
                work.push(Work::Send {
                    to: comm.peer(*to)?,
                    comm: id,
                    tag: OF_NEIGHBOURS,
                    bytes,
                    mode: SendMode::Standard,
                });
            }
        }
        Ok(work)
    }
}
