//! All state of a replay, and how time passes.

use super::case::Case;
use super::in_network::{Neighbour, internal_links};
use super::matching::{Receive, Send};
use super::members::Member;
use super::message::{Message, Report};
use super::outcome::{End, Outcome, Times};
use flitwise::replay::mpi::{CommId, RequestId};
use flitwise::replay::program::{Op, RankId};
use std::collections::{BTreeMap, BTreeSet};

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpKey {
    pub rank: RankId,
    pub stream: u32,
    /// Position in the stream.
    pub index: usize,
}

/// What completes when a message or a member of a collective has got far enough.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    Op(OpKey),
    Request(RankId, RequestId),
    /// One of the sends of this entry of `World::members`.
    Member(usize),
}

/// A collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollectiveKey {
    WithId(u64),
    /// The k-th of a communicator.
    Call(CommId, usize),
}

/// A message of a collective; members are positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub collective: CollectiveKey,
    pub from: u32,
    pub to: u32,
    pub tag: u32,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    /// Operations that are done.
    pub next: usize,
    /// Start of the next one, once everything that it waits for has happened.
    pub begins_ps: Option<u64>,
}

/// Positions from which on scans look: what lies before takes part in nothing any more. Without them a recorded trace would
/// take hours.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open {
    pub sends: usize,
    pub receives: usize,
    pub members: usize,
}

/// The state of one repetition of a job.
pub struct World<'a> {
    pub case: &'a Case,
    pub now_ps: u64,
    pub ops: BTreeMap<OpKey, Times>,
    pub positions: BTreeMap<(RankId, u32), Position>,
    pub messages: Vec<Message>,
    /// What is still to be noted.
    pub reports: Vec<Report>,
    /// By node and the ends of a link: until when it serves messages.
    pub busy_until_ps: BTreeMap<(u32, [u32; 2]), u64>,
    /// Ids of the messages that have arrived.
    pub received: Vec<u64>,
    /// Sends of MPI in the order of their calls.
    pub sends: Vec<Send>,
    /// Envelopes that were taken up.
    pub taken: usize,
    /// Receives in the order of their calls.
    pub receives: Vec<Receive>,
    /// Active requests, and whether they are complete.
    pub requests: BTreeMap<(RankId, RequestId), bool>,
    /// Members of collectives in the order in which they entered.
    pub members: Vec<Member>,
    pub open: Open,
    /// Messages of collectives that have arrived and are not received yet.
    pub parts: Vec<Part>,
    /// Messages that each stream received since its last operation.
    pub received_since: BTreeMap<(RankId, u32), u64>,
    /// Start and end of each computation of a stream, and of each combining of data in a collective that it entered.
    pub computed: BTreeMap<(RankId, u32), Vec<[u64; 2]>>,
    /// Last event of each rank.
    pub last_ps: BTreeMap<RankId, u64>,
    pub error: Option<String>,
    /// Endpoints of the switches that carry out collectives.
    pub internal_links: BTreeMap<(u32, Neighbour), u32>,
    /// Requests that were used and taken before.
    pub used: BTreeSet<(RankId, RequestId)>,
    pub outcome: &'a mut Outcome,
}

/// Replays a job.
pub fn replay(case: &Case) -> Outcome {
    let mut outcome = Outcome {
        end: End::Complete,
        repetitions_ps: Vec::new(),
        end_ps: case.start_ps,
        compute_ps: 0,
        fabric: Vec::new(),
        messages: 0,
        intra_node_messages: 0,
        sent_to_nodes: BTreeMap::new(),
        bytes: 0,
        point_to_point: 0,
        point_to_point_bytes: 0,
        collectives: 0,
        times: BTreeMap::new(),
        features: BTreeMap::new(),
    };
    for _ in 0..case.repeat {
        let start_ps = outcome.end_ps;
        let mut world = World::new(case, start_ps, &mut outcome);
        world.run();
        if !world.finish() {
            return outcome;
        }
    }
    outcome
}

impl<'a> World<'a> {
    fn new(case: &'a Case, start_ps: u64, outcome: &'a mut Outcome) -> Self {
        let ranks = RankId::all(case.ranks.len() as u32);
        let streams = ranks.clone().flat_map(|rank| {
            let streams = case.ranks[rank.index()].len() as u32;
            (0..streams).map(move |stream| ((rank, stream), Position::default()))
        });
        let most = case.collectives.switch_links;
        let links = case.topology.as_ref().map(|all| internal_links(all, most));
        Self {
            case,
            now_ps: start_ps,
            ops: BTreeMap::new(),
            positions: streams.collect(),
            messages: Vec::new(),
            reports: Vec::new(),
            busy_until_ps: BTreeMap::new(),
            received: Vec::new(),
            sends: Vec::new(),
            taken: 0,
            receives: Vec::new(),
            requests: BTreeMap::new(),
            members: Vec::new(),
            open: Open::default(),
            parts: Vec::new(),
            received_since: BTreeMap::new(),
            computed: BTreeMap::new(),
            last_ps: ranks.map(|rank| (rank, start_ps)).collect(),
            error: None,
            internal_links: links.unwrap_or_default(),
            used: BTreeSet::new(),
            outcome,
        }
    }

    /// Until nothing happens any more.
    fn run(&mut self) {
        while self.error.is_none() {
            self.pass_over_what_is_over();
            self.note_reports();
            if self.a_rank_acts() {
                continue;
            }
            match self.next_ps() {
                Some(next_ps) => self.now_ps = next_ps,
                None => break,
            }
        }
    }

    fn pass_over_what_is_over(&mut self) {
        let open = &mut self.open;
        let sends = self.sends[open.sends..].iter();
        open.sends += sends.take_while(|send| send.is_over()).count();
        let receives = self.receives[open.receives..].iter();
        open.receives += receives.take_while(|receive| receive.matched).count();
        let members = self.members[open.members..].iter();
        open.members += members.take_while(|member| member.done).count();
    }

    /// The first rank that can do something now does it; false if none can.
    fn a_rank_acts(&mut self) -> bool {
        let ranks = self.case.ranks.len() as u32;
        let topology = self.case.topology.as_ref();
        let nodes = topology.map_or(0, |topology| 2 * topology.switches());
        RankId::all(ranks).any(|rank| self.act(rank))
            || (ranks..ranks + nodes).any(|node| self.take_steps(RankId::new(node), 0))
    }

    /// A rank does the first thing that it can do; false if there is nothing. What follows from it
    /// is noted before anything else is done.
    fn act(&mut self, rank: RankId) -> bool {
        let mut acted = self.take_up(rank);
        acted |= self.answer(rank);
        let mut streams = 0..self.case.ranks[rank.index()].len() as u32;
        acted || streams.any(|stream| self.take_steps(rank, stream) || self.go_on(rank, stream))
    }

    /// The next time at which something happens.
    fn next_ps(&self) -> Option<u64> {
        let reports = self.reports.iter().map(|report| report.at_ps);
        let streams = self
            .positions
            .values()
            .filter_map(|position| position.begins_ps);
        let members = self
            .members
            .iter()
            .filter_map(|member| member.busy_until_ps);
        let times = reports.chain(streams).chain(members);
        times.filter(|&at_ps| at_ps > self.now_ps).min()
    }

    /// The operations of a stream.
    pub fn stream(&self, rank: RankId, stream: u32) -> &'a [Op] {
        let case = self.case;
        &case.ranks[rank.index()][stream as usize]
    }

    /// Notes an event of a rank.
    pub fn touch(&mut self, rank: RankId) {
        if rank.index() < self.case.ranks.len() {
            self.last_ps.insert(rank, self.now_ps);
        }
    }

    /// Something is complete now.
    pub fn complete(&mut self, owner: Option<Owner>) {
        match owner {
            None => {}
            Some(Owner::Op(op)) => self.done(op),
            Some(Owner::Request(rank, request)) => {
                self.touch(rank);
                let complete = self.requests.get_mut(&(rank, request));
                // It may have been freed.
                if let Some(complete) = complete {
                    *complete = true;
                }
            }
            Some(Owner::Member(member)) => {
                self.touch(self.members[member].rank);
                self.members[member].open_sends -= 1;
            }
        }
    }

    /// Counts a feature if it is there.
    pub fn count_if(&mut self, there: bool, feature: &'static str) {
        if there {
            *self.outcome.features.entry(feature).or_default() += 1;
        }
    }

    /// Every operation is done, every message has arrived, every collective is complete.
    fn is_complete(&self) -> bool {
        let all_done = self
            .positions
            .iter()
            .all(|(&(rank, stream), position)| position.next == self.stream(rank, stream).len());
        all_done
            && self.reports.is_empty()
            && self
                .members
                .iter()
                .all(|member| self.all_members_done(member.collective, member.ranks.len()))
    }

    /// Writes the outcome; true if the repetition was complete.
    fn finish(mut self) -> bool {
        let complete = self.error.is_none() && self.is_complete();
        self.count_leftovers();
        let mut collectives: Vec<_> = self
            .members
            .iter()
            .map(|member| (member.collective, member.ranks.len()))
            .collect();
        collectives.sort_unstable();
        collectives.dedup();
        let done = collectives
            .iter()
            .filter(|&&(key, members)| self.all_members_done(key, members));
        self.outcome.collectives += done.count() as u64;
        let start_ps = self.outcome.end_ps;
        let end_ps = self.last_ps.values().max().copied().unwrap_or(start_ps);
        self.outcome.end_ps = end_ps;
        let times = self
            .ops
            .iter()
            .map(|(op, &times)| ((op.rank.get(), op.stream, op.index), times));
        self.outcome.times = times.collect();
        if complete {
            self.outcome.repetitions_ps.push(end_ps - start_ps);
            let mut longest = BTreeMap::new();
            for (&(rank, _), spans) in &self.computed {
                let of_rank: &mut u64 = longest.entry(rank).or_default();
                *of_rank = covered_ps(spans).max(*of_rank);
            }
            self.outcome.compute_ps += longest.values().sum::<u64>();
        } else {
            self.outcome.end = self.error.map_or(End::Stalled, End::Error);
        }
        complete
    }

    fn count_leftovers(&mut self) {
        let unmatched = self.sends.iter().any(|send| send.receive.is_none());
        self.count_if(unmatched, "replay that leaves unmatched messages");
        let complete = self.is_complete();
        let requests = !self.requests.is_empty();
        self.count_if(complete && requests, "complete with active requests");
        let pending = self.requests.values().any(|complete| !complete);
        self.count_if(complete && pending, "complete with pending requests");
    }
}

/// The time that is in at least one of these spans.
fn covered_ps(spans: &[[u64; 2]]) -> u64 {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut until_ps = 0;
    let mut covered = 0;
    for [start_ps, end_ps] in sorted {
        covered += end_ps.saturating_sub(start_ps.max(until_ps));
        until_ps = until_ps.max(end_ps);
    }
    covered
}
