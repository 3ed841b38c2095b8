//! How far the ranks of a killed program come: some streams hold more calls than others.
//!
//! The ranks make their calls on a network that takes no time. Sends complete at once; receives, waits, probes and
//! collectives wait for their counterparts. A rank that waits to the end lacks a call of another one.

use crate::agreement::SPARE;
use crate::mpi::{
    Call, CommId, Communicator, Envelope, MatchQueues, Pattern, RequestId, Tag, Transfer,
};
use crate::program::{Action, Op, Place, Program, RankId, StreamId};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::limits::MAX_UNMATCHED;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// The operations of the ranks that have all their counterparts. Operations have numbers from 0; [spare](SPARE) receives
/// have none.
pub(super) struct Reach {
    /// By rank: the operation before which it ends; `None` if it comes to the end of its streams.
    pub ends: Vec<Option<u32>>,
    /// Operations before that, which lack their counterpart, but for which no rank waits.
    pub left_out: HashSet<(RankId, u32)>,
    /// A sentence for each kind of loss.
    pub remarks: Vec<String>,
}

/// Operations of a rank before it is the turn of others: their messages need no room for long.
const TURN: u32 = 1 << 10;

/// Finds how far the ranks of a program come; `None` if they come to their ends and lack nothing, or if too many messages
/// are under way to follow them.
///
/// # Errors
/// If the trace can't be read, or the user stops the search.
pub(super) fn reach(program: &mut dyn Program, stop: Stop<'_>) -> anyhow::Result<Option<Reach>> {
    let mut ranks: Vec<Rank> = Vec::new();
    ranks.resize_with(program.ranks() as usize, Rank::default);
    ranks.iter_mut().for_each(|rank| rank.is_queued = true);
    let mut job = Job {
        turns: RankId::all(program.ranks()).collect(),
        ranks,
        collectives: HashMap::new(),
        unmatched: HashSet::new(),
    };
    while let Some(rank) = job.turns.pop_front() {
        stop.check()?;
        if !job.turn(program, rank)? {
            return Ok(None);
        }
    }
    Ok(job.finish(program))
}

/// Whether the operation is a receive that may have got nothing.
pub(super) fn is_spare(op: &Op) -> bool {
    let is_beyond = |request: &RequestId| request.0 >= SPARE;
    match op.action.call() {
        Some(Call::Receive { request, .. }) => request.as_ref().is_some_and(is_beyond),
        _ => false,
    }
}

/// The progress of a rank.
#[derive(Default)]
struct Rank {
    /// The number of its operations so far.
    count: u32,
    queues: MatchQueues<u32>,
    /// The number of collectives that it called on each communicator.
    called: HashMap<CommId, u32>,
    /// The operations of its active requests.
    requests: HashMap<RequestId, u32>,
    /// Operations without their counterpart.
    open: HashMap<u32, Doing>,
    /// The operations that it waits for now, or the probe.
    waits: Vec<u32>,
    probes: Option<Pattern>,
    /// The place of its last operation.
    place: Option<Place>,
    /// It has its turn, will have it, or is at its end.
    is_queued: bool,
}

impl Rank {
    fn is_waiting(&self) -> bool {
        !self.waits.is_empty() || self.probes.is_some()
    }

    /// The operation for which it waits.
    fn waits_for(&self) -> Option<Doing> {
        match self.probes {
            Some(pattern) => Some(Doing::Receive(pattern)),
            None => self.open.get(self.waits.first()?).copied(),
        }
    }
}

/// An operation that needs others.
#[derive(Debug, Clone, Copy)]
enum Doing {
    Receive(Pattern),
    Collective(CommId, u32, &'static str),
}

/// The members that have entered a collective, with the operation of each.
struct Entered {
    comm: Arc<Communicator>,
    by: Vec<(RankId, u32)>,
}

struct Job {
    ranks: Vec<Rank>,
    /// Ranks that can continue.
    turns: VecDeque<RankId>,
    collectives: HashMap<(CommId, u32), Entered>,
    /// Sends without a receive: rank and operation.
    unmatched: HashSet<(RankId, u32)>,
}

impl Job {
    fn rank(&mut self, rank: RankId) -> Option<&mut Rank> {
        self.ranks.get_mut(rank.index())
    }

    /// Lets a rank carry out some operations; false if there are too many to follow.
    fn turn(&mut self, program: &mut dyn Program, rank: RankId) -> anyhow::Result<bool> {
        for _ in 0..TURN {
            let Some(op) = program.next(rank, StreamId::new(0))? else {
                return Ok(true);
            };
            if is_spare(&op) {
                continue;
            }
            if !self.act(rank, op) || self.unmatched.len() > MAX_UNMATCHED {
                return Ok(false);
            }
            if let Some(state) = self.rank(rank)
                && state.is_waiting()
            {
                state.is_queued = false;
                return Ok(true);
            }
        }
        self.turns.push_back(rank);
        Ok(true)
    }

    fn wake(&mut self, rank: RankId) {
        if let Some(state) = self.rank(rank)
            && !std::mem::replace(&mut state.is_queued, true)
        {
            self.turns.push_back(rank);
        }
    }

    /// Carries out an operation; false if there are too many.
    fn act(&mut self, rank: RankId, op: Op) -> bool {
        let Some(state) = self.rank(rank) else {
            return false;
        };
        let number = state.count;
        state.place = Some(op.place);
        let Some(next) = number.checked_add(1) else {
            return false;
        };
        state.count = next;
        if let Action::Mpi(call) = op.action {
            self.call(rank, number, *call);
        }
        true
    }

    fn call(&mut self, rank: RankId, number: u32, call: Call) {
        match call {
            Call::Send { to, comm, tag, .. } => self.send(rank, number, to, (comm, tag)),
            Call::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let pattern = Pattern { comm, from, tag };
                self.begin(rank, number, Doing::Receive(pattern), request);
                let state = self.rank(rank);
                if let Some((_, envelope)) = state.and_then(|r| r.queues.receive(pattern, number)) {
                    if let Transfer::Rendezvous { send } = envelope.transfer {
                        self.unmatched.remove(&(envelope.from, send));
                    }
                    self.complete(rank, number);
                }
            }
            Call::Collective {
                comm,
                contribution,
                request,
            } => self.enter(rank, number, comm, contribution.name(), request),
            Call::Probe { from, comm, tag } => {
                let pattern = Pattern { comm, from, tag };
                if let Some(state) = self.rank(rank)
                    && !state.queues.has(&pattern)
                {
                    state.probes = Some(pattern);
                }
            }
            Call::Free { requests } => {
                if let Some(state) = self.rank(rank) {
                    requests.iter().for_each(|request| {
                        state.requests.remove(request);
                    });
                }
            }
            // The waits of a recording name what they found complete.
            Call::Wait { requests, .. } => {
                if let Some(state) = self.rank(rank) {
                    let all = requests.iter().filter_map(|one| state.requests.remove(one));
                    let open = all.filter(|number| state.open.contains_key(number));
                    state.waits = open.collect();
                }
            }
        }
    }

    fn send(&mut self, rank: RankId, number: u32, to: RankId, (comm, tag): (CommId, Tag)) {
        let envelope = Envelope {
            from: rank,
            comm,
            tag,
            number: 0,
            transfer: Transfer::Rendezvous { send: number },
        };
        let Some(receiver) = self.rank(to) else {
            return;
        };
        if let Some(receive) = receiver.queues.arrive(envelope) {
            self.complete(to, receive);
            return;
        }
        if receiver
            .probes
            .is_some_and(|probe| probe.accepts(&envelope))
        {
            receiver.probes = None;
            self.wake(to);
        }
        self.unmatched.insert((rank, number));
    }

    /// Begins an operation, for which a call without a request waits.
    fn begin(&mut self, rank: RankId, number: u32, doing: Doing, request: Option<RequestId>) {
        let Some(state) = self.rank(rank) else {
            return;
        };
        state.open.insert(number, doing);
        match request {
            Some(request) => {
                state.requests.insert(request, number);
            }
            None => state.waits = vec![number],
        }
    }

    fn enter(
        &mut self,
        rank: RankId,
        number: u32,
        comm: Arc<Communicator>,
        name: &'static str,
        request: Option<RequestId>,
    ) {
        let Some(state) = self.rank(rank) else {
            return;
        };
        let called = state.called.entry(comm.id).or_default();
        let nth = *called;
        *called = nth.saturating_add(1);
        self.begin(rank, number, Doing::Collective(comm.id, nth, name), request);
        let key = (comm.id, nth);
        let by = Vec::new();
        let entered = self.collectives.entry(key).or_insert(Entered { comm, by });
        entered.by.push((rank, number));
        if entered.by.len() == entered.comm.members.len() {
            let all = self.collectives.remove(&key);
            for (member, number) in all.into_iter().flat_map(|entered| entered.by) {
                self.complete(member, number);
            }
        }
    }

    fn complete(&mut self, rank: RankId, number: u32) {
        let Some(state) = self.rank(rank) else {
            return;
        };
        state.open.remove(&number);
        if let Some(at) = state.waits.iter().position(|&awaited| awaited == number) {
            state.waits.swap_remove(at);
            if state.waits.is_empty() {
                self.wake(rank);
            }
        }
    }

    fn finish(self, program: &dyn Program) -> Option<Reach> {
        let end = |rank: &Rank| rank.is_waiting().then(|| rank.count.saturating_sub(1));
        let ends: Vec<Option<u32>> = self.ranks.iter().map(end).collect();
        let of_rank = |(rank, state): (RankId, &Rank)| {
            let end = end(state).unwrap_or(u32::MAX);
            let open = state.open.keys().filter(move |&&number| number < end);
            open.map(move |&number| (rank, number)).collect::<Vec<_>>()
        };
        let mut left_out: HashSet<(RankId, u32)> = self.each().flat_map(of_rank).collect();
        let others = left_out.len();
        left_out.extend(&self.unmatched);
        if ends.iter().all(Option::is_none) && left_out.is_empty() {
            return None;
        }
        let mut remarks: Vec<String> = self.stopped(program).into_iter().collect();
        for (count, what) in [
            (self.unmatched.len(), "messages that no rank received"),
            (others, "receives and collectives that others lack"),
        ] {
            if count > 0 {
                let count = human_count(count as u64);
                remarks.push(format!(
                    "{count} {what}, because streams end early, are left out"
                ));
            }
        }
        Some(Reach {
            ends,
            left_out,
            remarks,
        })
    }

    fn each(&self) -> impl Iterator<Item = (RankId, &Rank)> {
        RankId::all(self.ranks.len() as u32).zip(&self.ranks)
    }

    /// The ranks that end early, with a call that one of them lacks.
    fn stopped(&self, program: &dyn Program) -> Option<String> {
        let stopped = || self.each().filter(|(_, state)| state.is_waiting());
        let verb = match stopped().count() as u64 {
            0 => return None,
            1 => "1 rank ends".to_owned(),
            n => format!("{} ranks end", human_count(n)),
        };
        let example = |(rank, state): (RankId, &Rank), is_cause: bool| {
            let (what, lacking) = self.lacking(program, rank, state.waits_for()?);
            let state_of = |other: &RankId| self.ranks.get(other.index());
            let waits = |other: &RankId| state_of(other).is_some_and(Rank::is_waiting);
            let first = lacking.iter().find(|other| !is_cause || !waits(other))?;
            let at = (state.place).map_or(String::new(), |place| format!(" at {place}"));
            let more = match lacking.len() as u64 {
                1 => String::new(),
                n => format!(" and {} more", human_count(n - 1)),
            };
            Some(format!(
                ": rank {rank} ends{at}, where the recording lacks {what} of rank {first}{more}"
            ))
        };
        // The cause is a rank that does not wait itself.
        let mut examples =
            (stopped().map(|one| (one, true))).chain(stopped().map(|one| (one, false)));
        let example = examples.find_map(|(one, is_cause)| example(one, is_cause));
        Some(format!(
            "{verb} before the streams do, because other streams end earlier{}",
            example.unwrap_or_default()
        ))
    }

    /// The call that a rank lacks, and the ranks that have not made it.
    fn lacking(&self, program: &dyn Program, rank: RankId, doing: Doing) -> (String, Vec<RankId>) {
        match doing {
            Doing::Receive(pattern) => {
                let comm = program.communicator(rank, pattern.comm);
                let tag = pattern
                    .tag
                    .map_or(String::new(), |Tag(tag)| format!(" with tag {tag}"));
                let what = format!("a message{tag} on {comm}");
                (what, pattern.from.into_iter().collect())
            }
            Doing::Collective(comm, nth, name) => {
                let entered = self.collectives.get(&(comm, nth));
                let by = |member: &RankId| {
                    let mut by = entered.into_iter().flat_map(|entered| &entered.by);
                    by.any(|(rank, _)| rank == member)
                };
                let members = entered
                    .into_iter()
                    .flat_map(|entered| &*entered.comm.members);
                let lacking = members.copied().filter(|member| !by(member));
                let what = format!("{name} {nth} on {}", program.communicator(rank, comm));
                (what, lacking.collect())
            }
        }
    }
}
