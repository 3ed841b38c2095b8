//! The waits of streams: for requests, and for messages that a probe looks for.

use super::Player;
use super::calls::Calling;
use crate::link::ReplayContext;
use crate::mpi::{Call, Pattern, RequestId, WaitOutcome};
use crate::program::{Action, Op, RankId, StreamId};
use crate::rank::State;
use anyhow::Context;

impl Player<'_> {
    /// Adds the overhead of the messages that a call of a stream received.
    pub(super) fn received(&mut self, rank: RankId, stream: StreamId, messages: u64) {
        let busy_ps = self.protocol.receive_overhead_ps.saturating_mul(messages);
        let stream = self.ranks[rank.index()].stream_mut(stream);
        stream.busy_ps = stream.busy_ps.saturating_add(busy_ps);
    }

    /// Returns how long a stream computes before an operation, including the overheads of a send and of received messages;
    /// `None` beyond 64 bits.
    pub(super) fn computes_ps(&mut self, rank: RankId, stream: StreamId, op: &Op) -> Option<u64> {
        let sends = match &op.action {
            Action::Mpi(call) => matches!(**call, Call::Send { .. }),
            _ => false,
        };
        let overhead_ps = if sends {
            self.protocol.send_overhead_ps
        } else {
            0
        };
        let state = self.ranks[rank.index()].stream_mut(stream);
        let busy_ps = std::mem::take(&mut state.busy_ps);
        let scaled = self.computing.ps(rank, stream, op.compute_ps)?;
        scaled.checked_add(overhead_ps)?.checked_add(busy_ps)
    }

    /// Looks for an unexpected message. Returns the state of the stream that makes the probe.
    pub(super) fn probe(&mut self, calling: Calling, pattern: Pattern) -> State {
        let endpoint = self.ranks[calling.rank.index()].endpoint();
        if endpoint.queues.has(&pattern) {
            return State::Between;
        }
        endpoint.probes.push((pattern, calling.stream));
        State::Blocked
    }

    /// Tries the wait of a stream again. Returns whether the stream still waits.
    pub(super) fn retry_wait(
        &mut self,
        rank: RankId,
        stream: StreamId,
        context: &mut ReplayContext<'_>,
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
            match state.endpoint().try_wait(&requests, until) {
                WaitOutcome::Pending => {
                    state.stream_mut(stream).op = op;
                    return Ok(true);
                }
                WaitOutcome::Complete(received) => self.received(rank, stream, received),
            }
        }
        let state = &mut self.ranks[rank.index()];
        state.stream_mut(stream).state = State::Between;
        self.done(rank, op.and_then(|op| op.label), context)?;
        Ok(false)
    }

    /// Completes a request: tries the waits for it again, or tells the program if it follows requests.
    pub(super) fn complete_request(
        &mut self,
        rank: RankId,
        request: RequestId,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let state = &mut self.ranks[rank.index()];
        state.touch(context.ps);
        if self.follows_requests {
            let completed = self.program.completed(rank, request);
            completed.with_context(|| format!("job '{}', rank {rank}", self.name))?;
            self.wake_paused(rank, context);
            return Ok(());
        }
        state.endpoint().complete(request);
        self.retry_waits(rank, request, context);
        Ok(())
    }

    /// Schedules that the waits of `rank` for `request`, which is complete or no longer active, are tried again.
    pub(super) fn retry_waits(
        &mut self,
        rank: RankId,
        request: RequestId,
        context: &mut ReplayContext<'_>,
    ) {
        let streams = self.ranks[rank.index()].streams().len() as u32;
        for stream in StreamId::all(streams) {
            let waiting = self.ranks[rank.index()].stream_mut(stream);
            let waits = waiting.state == State::InWait
                && waiting.op.as_ref().is_some_and(|op| names(op, request));
            if waits {
                waiting.state = State::Retrying;
                let record = waiting.records - 1;
                self.schedule(context.ps, (rank, stream), record, context);
            }
        }
    }
}

/// Whether `op` waits for `request`.
fn names(op: &Op, request: RequestId) -> bool {
    let Action::Mpi(call) = &op.action else {
        return false;
    };
    matches!(&**call, Call::Wait { requests, .. } if requests.contains(&request))
}
