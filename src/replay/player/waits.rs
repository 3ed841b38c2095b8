//! What streams wait for: requests, and messages that a probe looks for.

use super::Player;
use super::calls::Calling;
use crate::link::Shared;
use crate::mpi::{Call, Look, Pattern, RequestId};
use crate::program::{Action, Op, RankId, StreamId};
use crate::rank::State;
use anyhow::Context;

impl Player<'_> {
    /// A stream is busy for a while, because a call of it received messages.
    pub(super) fn received(&mut self, rank: RankId, stream: StreamId, messages: u64) {
        let busy_ps = self.protocol.receive_overhead_ps.saturating_mul(messages);
        let stream = self.ranks[rank.index()].stream_mut(stream);
        stream.busy_ps = stream.busy_ps.saturating_add(busy_ps);
    }

    /// How long a stream computes before an operation, with what MPI does before a send and after messages that came; `None`
    /// beyond 64 bits.
    pub(super) fn computes_ps(&mut self, rank: RankId, stream: StreamId, op: &Op) -> Option<u64> {
        let sends = match &op.action {
            Action::Mpi(call) => matches!(**call, Call::Send { .. }),
            _ => false,
        };
        let overhead_ps = match sends {
            true => self.protocol.send_overhead_ps,
            false => 0,
        };
        let state = self.ranks[rank.index()].stream_mut(stream);
        let busy_ps = std::mem::take(&mut state.busy_ps);
        let scaled = self.computing.ps(rank, stream, op.compute_ps)?;
        scaled.checked_add(overhead_ps)?.checked_add(busy_ps)
    }

    /// Looks for an unexpected message; what a stream does that makes a probe.
    pub(super) fn probe(&mut self, calling: Calling, pattern: Pattern) -> State {
        let endpoint = self.ranks[calling.rank.index()].endpoint();
        if endpoint.queues.has(&pattern) {
            return State::Between;
        }
        endpoint.probes.push((pattern, calling.stream));
        State::Blocked
    }

    /// Looks again at the requests of a wait, at `ps`. True if the stream goes on waiting.
    pub(super) fn look(
        &mut self,
        rank: RankId,
        stream: StreamId,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<bool> {
        let state = &mut self.ranks[rank.index()];
        state.stream_mut(stream).state = State::InWait;
        let op = state.stream_mut(stream).op.take();
        let wait = |op: &Op| match &op.action {
            Action::Mpi(call) => match &**call {
                Call::Wait { requests, until } => Some((requests.clone(), *until)),
                _ => None,
            },
            Action::Marker | Action::Send { .. } | Action::Collective(..) => None,
        };
        if let Some((requests, until)) = op.as_ref().and_then(wait) {
            match state.endpoint().look(&requests, until) {
                Look::Waits => {
                    state.stream_mut(stream).op = op;
                    return Ok(true);
                }
                Look::Returns(received) => self.received(rank, stream, received),
            }
        }
        let state = &mut self.ranks[rank.index()];
        state.stream_mut(stream).state = State::Between;
        self.done(rank, op.and_then(|op| op.label), ps, shared)?;
        Ok(false)
    }

    /// A request completed at `ps`: streams that wait for it look again, or the program hears of it.
    pub(super) fn complete_request(
        &mut self,
        rank: RankId,
        request: RequestId,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let state = &mut self.ranks[rank.index()];
        state.touch(ps);
        if self.follows_requests {
            let completed = self.program.completed(rank, request);
            completed.with_context(|| format!("job '{}', rank {rank}", self.name))?;
            self.wake_paused(rank, ps, shared);
            return Ok(());
        }
        state.endpoint().complete(request);
        self.look_again(rank, request, ps, shared);
        Ok(())
    }

    /// The waits of `rank` for `request`, which is complete or no longer active, look at `ps` whether they are over.
    pub(super) fn look_again(
        &mut self,
        rank: RankId,
        request: RequestId,
        ps: u64,
        shared: &mut Shared<'_>,
    ) {
        let streams = self.ranks[rank.index()].streams().len() as u32;
        for stream in StreamId::all(streams) {
            let waiting = self.ranks[rank.index()].stream_mut(stream);
            let waits = waiting.state == State::InWait
                && waiting.op.as_ref().is_some_and(|op| names(op, request));
            if waits {
                waiting.state = State::Looking;
                let record = waiting.records - 1;
                shared.stream(ps, self.act_of(rank, stream, record), stream);
            }
        }
    }
}

/// True if `op` waits for `request`.
fn names(op: &Op, request: RequestId) -> bool {
    let Action::Mpi(call) = &op.action else {
        return false;
    };
    matches!(&**call, Call::Wait { requests, .. } if requests.contains(&request))
}
