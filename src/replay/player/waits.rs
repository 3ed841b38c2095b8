//! The waits of streams: for requests, and for messages that a probe looks for.

use super::{Player, schedule};
use crate::compute::Drawn;
use crate::link::ReplayContext;
use crate::messages::RankPair;
use crate::mpi::{Call, Pattern, RequestId, WaitOutcome};
use crate::observer::StreamOf;
use crate::program::{Op, RankId, StreamId};
use crate::rank::State;
use anyhow::Context;

impl Player<'_> {
    /// Counts the wait of a stream that ends, if a message of `peer` ends it: the part in which the rank waits.
    pub(super) fn wait_ends(
        &mut self,
        at: StreamOf,
        peer: Option<RankId>,
        context: &ReplayContext<'_>,
    ) {
        let Some(peer) = peer else { return };
        let waited_ps = context.ps.saturating_sub(self.stream(at).waits_since_ps);
        if waited_ps == 0 {
            return;
        }
        let rank_ps = self.ranks[at.rank.index()].waited_ps(at.stream, context.ps);
        if rank_ps > 0 {
            let ranks = RankPair {
                from: at.rank,
                to: peer,
            };
            self.waits.count(ranks, rank_ps);
        }
        if let Some(observer) = context.observer {
            observer.waited_for(context.ps, at, peer);
        }
    }

    /// Adds the overhead of the messages that a call of a stream received.
    pub(super) fn received(&mut self, at: StreamOf, messages: u64) {
        let busy_ps = self.protocol.receive_overhead_ps.saturating_mul(messages);
        let stream = self.stream(at);
        stream.busy_ps = stream.busy_ps.saturating_add(busy_ps);
    }

    /// Returns how long a stream computes before an operation, including the overheads of a send and of received messages;
    /// `None` beyond 64 bits.
    pub(super) fn computes_ps(&mut self, at: StreamOf, op: &Op) -> Option<u64> {
        let overhead_ps = match op.action.call() {
            Some(Call::Send { .. }) => self.protocol.send_overhead_ps,
            _ => 0,
        };
        let stream = self.ranks[at.rank.index()].stream_mut(at.stream);
        let busy_ps = std::mem::take(&mut stream.busy_ps);
        let number = self.program.number(at.rank, at.stream);
        let drawn = Drawn {
            rank: at.rank,
            stream: at.stream,
            repetition: self.repetitions_ps.len() as u64,
            number: number.unwrap_or(stream.records),
        };
        let scaled = self.computing.ps(drawn, &stream.regions, op.compute_ps)?;
        scaled.checked_add(overhead_ps)?.checked_add(busy_ps)
    }

    /// Looks for an unexpected message. Returns the state of the stream that makes the probe.
    pub(super) fn probe(&mut self, at: StreamOf, pattern: Pattern) -> State {
        let endpoint = self.ranks[at.rank.index()].endpoint();
        if endpoint.queues.has(&pattern) {
            return State::Between;
        }
        endpoint.probes.push((pattern, at.stream));
        State::Blocked
    }

    /// Tries the wait of a stream again. Returns whether the stream still waits.
    pub(super) fn retry_wait(
        &mut self,
        at: StreamOf,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<bool> {
        let state = &mut self.ranks[at.rank.index()];
        state.stream_mut(at.stream).state = State::InWait;
        let peer = state.stream(at.stream).woken_by;
        let op = state.stream_mut(at.stream).op.take();
        if let Some(Call::Wait { requests, until }) = op.as_ref().and_then(|op| op.action.call()) {
            match state.endpoint().try_wait(requests, *until) {
                WaitOutcome::Pending => {
                    state.stream_mut(at.stream).op = op;
                    return Ok(true);
                }
                WaitOutcome::Complete(received) => {
                    self.wait_ends(at, peer, context);
                    self.received(at, received);
                }
            }
        }
        self.stream(at).state = State::Between;
        self.done(at.rank, op.and_then(|op| op.label), context)?;
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
            let at = self.stream_of(rank, stream);
            let waiting = self.stream(at);
            let named = waiting.op.as_ref().is_some_and(|op| names(op, request));
            if named && matches!(waiting.state, State::InWait | State::Retrying) {
                waiting.note_peer(context.ps, context.peer_of(rank));
            }
            if named && waiting.state == State::InWait {
                waiting.state = State::Retrying;
                let record = waiting.records - 1;
                schedule(context.ps, at, record, context);
            }
        }
    }
}

/// Whether `op` waits for `request`.
fn names(op: &Op, request: RequestId) -> bool {
    matches!(op.action.call(), Some(Call::Wait { requests, .. }) if requests.contains(&request))
}
