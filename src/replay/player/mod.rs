//! Plays the program of one job.
//!
//! For the operations o₁, o₂, … of a stream
//!
//! ```text
//! start(o_k) = max(done(o_{k−1}), events in after) + compute
//! ```
//!
//! `done` of a marker is its start. `done` of a send is its start or its completion (see
//! [`SendCompletion`](super::job::SendCompletion)). `done` of a collective with an id is its
//! start; its completion is an event of its own. `done` of an MPI call is its return.

mod calls;
mod outcome;
mod streams;
mod waits;

use super::arrived::Arrived;
use super::collectives::Step;
use super::collectives::in_network::Switches;
use super::compute::Computing;
use super::job::{JobSpec, Repeat};
use super::link::{Link, ReplayContext};
use super::members::Carrier;
use super::mpi::{CommId, Protocol, RequestId};
use super::node::{Nodes, Seat};
use super::observer::StreamOf;
use super::pairs::PairCounts;
use super::plans::Plans;
use super::program::{Place, Program, RankId, StreamId};
use super::queue::{Act, What};
use super::rank::{Rank, Stream};
use anyhow::{Context, anyhow};
use flitwise_base::units::Ratio;
use flitwise_fabric::ids::NicId;
use std::sync::Arc;

/// A job being replayed.
pub(super) struct Player<'a> {
    pub name: String,
    program: Box<dyn Program + 'a>,
    /// As [`Program::follows_requests`] says.
    follows_requests: bool,
    /// The start; of a job that still waits for others, the earliest one.
    start_ps: u64,
    started: bool,
    repeat: Repeat,
    /// Start of the repetition in progress.
    began_ps: u64,
    /// Execution time of every complete repetition.
    repetitions_ps: Vec<u64>,
    /// Computation of all ranks, over all complete repetitions.
    repetitions_compute_ps: u128,
    computing: Computing,
    protocol: Protocol,
    reduction_ps_per_byte: Ratio,
    link: Link,
    pub ranks: Vec<Rank>,
    /// Messages with an id that arrived and that an operation will still wait for.
    arrived: Arrived,
    pub plans: Plans,
    /// Collectives that aggregation nodes have entered.
    in_network: u64,
    /// Steps of a collective; kept to reuse its memory.
    steps: Vec<Step>,
    /// Number of streams that are not over.
    unended: u32,
    /// Number of messages in flight that belong to no collective.
    in_flight: u64,
    point_to_point: u64,
    point_to_point_bytes: u64,
    /// Waits that messages ended, by the rank that waited and the other rank of the message.
    waits: PairCounts,
    /// Operations that were carried out.
    pub operations: u64,
}

impl<'a> Player<'a> {
    /// Job number `job`, before its [start](Self::start).
    pub(super) fn new(
        job: u32,
        spec: JobSpec<'a>,
        seed: u64,
        switches: Option<&Arc<Switches>>,
        nodes: &Nodes,
    ) -> Self {
        let start_ps = spec.start_ps;
        let count = spec.nics.len() as u32;
        let plans = Plans::new(&spec.nics, spec.collectives, switches);
        let mut seats = nodes.seats(spec.nics);
        let rank = |id| Rank::new(id, spec.program.streams(id), start_ps);
        let mut ranks: Vec<Rank> = RankId::all(count).map(rank).collect();
        let switches = plans.switches().map(Arc::clone);
        let in_network = switches.iter().flat_map(|switches| switches.nodes());
        for node in in_network.flat_map(|node| [node; 2]) {
            let id = RankId::new(ranks.len() as u32);
            ranks.push(Rank::new(id, 1, start_ps));
            seats.push(Seat::first_of(node));
        }
        Self {
            name: spec.name,
            start_ps,
            started: false,
            repeat: spec.repeat,
            began_ps: start_ps,
            repetitions_ps: Vec::new(),
            repetitions_compute_ps: 0,
            computing: Computing::new(spec.compute_scale, spec.compute, seed, spec.number),
            protocol: spec.protocol,
            reduction_ps_per_byte: spec.reduction_ps_per_byte,
            ranks,
            arrived: Arrived::default(),
            follows_requests: spec.program.follows_requests(),
            program: spec.program,
            link: Link {
                job,
                sl: spec.sl,
                ranks: count,
                sent_to_nodes: vec![0; seats.len()],
                seats,
                switches,
                send_completion: spec.send_completion,
                intra_node: spec.intra_node,
                sent: 0,
                bytes: 0,
                intra_node_sent: 0,
                pairs: PairCounts::new(count),
            },
            plans,
            in_network: 0,
            steps: Vec::new(),
            unended: 0,
            in_flight: 0,
            point_to_point: 0,
            point_to_point_bytes: 0,
            waits: PairCounts::new(count),
            operations: 0,
        }
    }

    /// The time of its start; of a job that still waits for others, the earliest one.
    pub(super) fn start_ps(&self) -> u64 {
        self.start_ps
    }

    /// Starts the job at the time of `context`.
    pub(super) fn start(&mut self, context: &mut ReplayContext<'_>) {
        self.start_ps = context.ps;
        self.started = true;
        for rank in &mut self.ranks {
            rank.last_ps = context.ps;
        }
        self.begin(context);
    }

    /// Schedules all streams at their first operation.
    fn begin(&mut self, context: &mut ReplayContext<'_>) {
        self.began_ps = context.ps;
        self.unended = 0;
        self.arrived.clear();
        for rank in &mut self.ranks {
            for (stream, state) in rank.streams() {
                if let (Some(observer), false) = (context.observer, state.regions.is_empty()) {
                    let at = StreamOf {
                        job: self.link.job,
                        rank: rank.id,
                        stream,
                    };
                    observer.region(context.ps, at, None);
                }
            }
            rank.restart(context.ps);
            if !self.link.is_of_trace(rank.id) {
                continue;
            }
            for (stream, _) in rank.streams() {
                self.unended += 1;
                let at = StreamOf {
                    job: self.link.job,
                    rank: rank.id,
                    stream,
                };
                schedule(context.ps, at, 0, context);
            }
        }
    }

    /// Begins the next repetition if the event ended one. Call this after every event of the job. Returns whether the job
    /// has now ended.
    pub(super) fn repeat_if_complete(
        &mut self,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<bool> {
        // An act at this time may still send a message: the answer to a clear to send.
        if !self.all_done() || self.ended() || context.queue.will_act(self.link.job) {
            return Ok(false);
        }
        let last_ps = self.last_ps();
        let took = last_ps.saturating_sub(self.began_ps);
        self.repetitions_ps.push(took);
        self.repetitions_compute_ps += self.computed_ps(last_ps);
        if self.ended() {
            return Ok(true);
        }
        if took == 0 && self.endless() {
            return Err(anyhow!(
                "job '{}' takes no time, so it would repeat for ever at the same moment; remove its repeat",
                self.name
            ));
        }
        let again = || {
            format!(
                "job '{}', repetition {}",
                self.name,
                self.repetitions_ps.len() + 1
            )
        };
        self.program.restart().with_context(again)?;
        self.begin(context);
        Ok(false)
    }

    /// Whether every operation of this repetition is done, every message was delivered
    /// and every collective is complete.
    fn all_done(&self) -> bool {
        self.unended == 0 && self.in_flight == 0 && self.plans.live() == 0
    }

    /// Whether the job repeats until the others end.
    pub(super) fn endless(&self) -> bool {
        self.repeat == Repeat::UntilOthersEnd
    }

    /// Whether all repetitions are complete.
    pub(super) fn ended(&self) -> bool {
        match self.repeat {
            Repeat::Times(times) => self.repetitions_ps.len() >= times as usize,
            Repeat::UntilOthersEnd => false,
        }
    }

    /// A rank, and the state that its members of collectives need to proceed.
    fn carrier<'c, 'b>(
        &'c mut self,
        rank: RankId,
        context: &'c mut ReplayContext<'b>,
    ) -> (&'c mut Rank, Carrier<'c, 'b>) {
        let carrier = Carrier {
            link: &mut self.link,
            reduction_ps_per_byte: self.reduction_ps_per_byte,
            steps: &mut self.steps,
            context,
        };
        (&mut self.ranks[rank.index()], carrier)
    }

    #[cold]
    fn error(&self, rank: RankId, place: Place, problem: &str) -> anyhow::Error {
        anyhow!("job '{}', rank {rank}, {place}: {problem}", self.name)
    }

    /// Messages created so far, collectives included.
    pub(super) fn messages(&self) -> u64 {
        self.link.sent
    }

    /// Its ranks, without the aggregation nodes.
    pub(super) fn ranks_of_trace(&self) -> &[Rank] {
        &self.ranks[..self.link.ranks as usize]
    }

    /// Whether a rank is one of the trace, not an aggregation node.
    pub(super) fn is_of_trace(&self, rank: RankId) -> bool {
        self.link.is_of_trace(rank)
    }

    /// The NICs of its ranks.
    pub(super) fn nics(&self) -> Vec<NicId> {
        self.link.nics()
    }

    /// A stream of `rank`.
    fn stream_of(&self, rank: RankId, stream: StreamId) -> StreamOf {
        StreamOf {
            job: self.link.job,
            rank,
            stream,
        }
    }

    /// The state of a stream.
    fn stream(&mut self, at: StreamOf) -> &mut Stream {
        self.ranks[at.rank.index()].stream_mut(at.stream)
    }

    /// The place in the trace of the operation of a request of `rank`.
    pub(super) fn place_of(&self, rank: RankId, request: RequestId) -> Option<Place> {
        self.program.place_of(rank, request)
    }

    /// The name of a communicator of `rank` in messages.
    pub(super) fn communicator(&self, rank: RankId, comm: CommId) -> String {
        self.program.communicator(rank, comm)
    }

    /// Notes the event of `context` as the job's last one if it is the last one of one of these `ranks`.
    pub(super) fn note_last(&self, ranks: &[RankId], context: &mut ReplayContext<'_>) {
        let is_last = |rank: &RankId| self.ranks[rank.index()].last_ps == context.ps;
        if let Some(causes) = &mut context.queue.causes
            && ranks.iter().any(is_last)
        {
            causes.is_last(self.number());
        }
    }

    /// Index of the job.
    pub(super) fn number(&self) -> u32 {
        self.link.job
    }
}

/// Schedules that a stream resumes at `ps`, for its operation `record`.
fn schedule(ps: u64, at: StreamOf, record: u64, context: &mut ReplayContext<'_>) {
    let act = Act::of_stream(at, record);
    context.queue.act(ps, act, What::Stream(at.stream));
}
