//! Reports what each rank waits for when no job can continue.

use super::key::Key;
use super::members::{Member, Phase};
use super::messages::{InFlight, Messages, Purpose};
use super::mpi::{Call, Owner};
use super::player::Player;
use super::program::{Action, Event, Op, RankId, StreamId};
use super::rank::{Rank, State};
use hashbrown::HashSet;
use std::fmt::Display;

/// Most lines of a report.
const MOST_LINES: usize = 20;

/// The lines of a report, the first [`MOST_LINES`] of them.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    left_out: u64,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line());
        } else {
            self.left_out += 1;
        }
    }

    /// The streams of `job` that wait.
    fn add_streams(&mut self, waiting: &Waiting<'_>) {
        let name = &waiting.job.name;
        for rank in waiting.job.ranks_of_trace() {
            let id = rank.id;
            for (number, stream) in rank.streams() {
                let which = match number.get() {
                    0 => String::new(),
                    number => format!(", stream {number},"),
                };
                if stream.state == State::Paused {
                    self.add(|| {
                        let open = waiting.open(rank);
                        format!("job '{name}': rank {id}{which} waits for {open}")
                    });
                }
                let Some(op) = &stream.op else { continue };
                let place = op.place;
                match stream.state {
                    State::Waiting => self.add(|| {
                        let awaited: Vec<String> = (op.after.events().iter())
                            .map(|&event| waiting.event(id, event))
                            .collect();
                        let awaited = awaited.join(" and ");
                        format!("job '{name}': rank {id}{which} waits for {awaited} ({place})")
                    }),
                    // Its wait in the collective has a line of its own.
                    State::Blocked if waiting.is_in_collective(rank, number) => {}
                    State::Blocked | State::InWait => self.add(|| {
                        let end = waiting.end_of(rank, number, op);
                        format!("job '{name}': rank {id}{which} waits for {end} ({place})")
                    }),
                    State::Between
                    | State::Computing
                    | State::Retrying
                    | State::Paused
                    | State::Ended => {}
                }
            }
        }
    }

    /// The members of collectives that wait: first those that wait for a rank that is not there, for all others wait for
    /// them.
    fn add_members(&mut self, waiting: &Waiting<'_>) {
        for causes in [true, false] {
            for rank in waiting.job.ranks_of_trace() {
                for member in rank.members.open() {
                    if waiting.misses(member) == causes {
                        self.add_member(waiting, rank, member);
                    }
                }
            }
        }
    }

    fn add_member(&mut self, waiting: &Waiting<'_>, rank: &Rank, member: &Member) {
        let (name, id) = (&waiting.job.name, rank.id);
        let (key, place) = (waiting.named(id, member.entry.key), member.entry.place);
        let awaited = match member.phase {
            Phase::Waiting { from, .. } => waiting.partner(member, from),
            Phase::Sending => String::from("the end of its sends"),
            Phase::Busy => return,
        };
        self.add(|| format!("job '{name}': rank {id} waits in {key} for {awaited} ({place})"));
    }
}

/// The lines of the report, one for everything that waits, jobs and ranks ascending, and a last line
/// that counts the omitted ones.
pub(super) fn report(jobs: &[Player], messages: &Messages) -> Vec<String> {
    let mut lines = Lines::default();
    let mut outstanding = 0;
    // The run does not wait for jobs that repeat until the others end.
    let awaited_jobs = jobs
        .iter()
        .zip(0..)
        .filter(|(job, _)| !job.ended() && !job.endless());
    for (job, number) in awaited_jobs {
        outstanding += messages.outstanding(number);
        let of_collectives = messages.in_flight(number).filter_map(|m| match m.purpose {
            Purpose::Collective { key, .. } => Some((m.ranks.from, key)),
            Purpose::PointToPoint { .. } | Purpose::Mpi(_) => None,
        });
        let waiting = Waiting {
            job,
            messages,
            of_collectives: of_collectives.collect(),
        };
        lines.add_members(&waiting);
        lines.add_streams(&waiting);
    }
    let Lines {
        mut lines,
        left_out,
    } = lines;
    if left_out > 0 {
        lines.push(format!("and {left_out} more"));
    }
    if outstanding > 0 {
        lines.push(format!("messages on their way: {outstanding}"));
    }
    lines
}

/// A job that can't continue, and the messages in flight.
struct Waiting<'a> {
    job: &'a Player<'a>,
    messages: &'a Messages,
    /// The senders of messages of collectives on their way, and the collectives.
    of_collectives: HashSet<(RankId, Key)>,
}

impl Waiting<'_> {
    /// Whether a message for which `fits` holds is in flight.
    fn under_way(&self, fits: impl Fn(&InFlight) -> bool) -> bool {
        let mut in_flight = self.messages.in_flight(self.job.number());
        in_flight.any(|message| fits(&message))
    }

    /// A text for the event that `rank` waits for.
    fn event(&self, rank: RankId, event: Event) -> String {
        match event {
            Event::Received(awaited) => {
                let named = |m: &InFlight| matches!(m.purpose, Purpose::PointToPoint { id, .. } if id == awaited);
                if self.under_way(named) {
                    format!("message {awaited}, which was sent but did not reach it")
                } else {
                    format!("message {awaited}, which no rank has sent")
                }
            }
            Event::Completed(id) => self.collective(rank, Key::Id(id)),
            Event::Started(label) => format!("the start of its operation {}", label.get()),
            Event::Done(label) => format!("the end of its operation {}", label.get()),
        }
    }

    /// A collective, as messages about `rank` call it.
    fn named(&self, rank: RankId, key: Key) -> String {
        match key {
            Key::Id(_) => key.to_string(),
            Key::Call { comm, number } => {
                let comm = self.job.communicator(rank, comm);
                format!("collective {number} of {comm}")
            }
        }
    }

    /// A text for an open collective of `rank`, with its missing members.
    fn collective(&self, rank: RankId, key: Key) -> String {
        let named = self.named(rank, key);
        let Some((members, done)) = self.job.plans.progress(key) else {
            return format!("{named}, which no rank has entered");
        };
        let ranks = self.job.ranks_of_trace().iter();
        let open = ranks.filter(|rank| rank.members.is_open(key)).count() as u32;
        match members.saturating_sub(done + open) {
            0 => format!("{named}, which all {members} members have entered"),
            missing => format!("{named}, which {missing} of {members} members have not entered"),
        }
    }

    /// The member of a collective from which `member` waits for a message.
    fn partner(&self, member: &Member, from: u32) -> String {
        let Some(rank) = member.entry.rank(from) else {
            return format!(
                "the switches ({})",
                self.collective(RankId::default(), member.entry.key)
            );
        };
        if !self.is_gone(member, rank) {
            return format!("rank {rank}");
        }
        if self.has_left(member, rank) {
            format!("rank {rank}, which has left it and sends nothing: their sizes differ")
        } else {
            format!("rank {rank}, which has not entered it")
        }
    }

    /// Whether `member` waits for a rank from which nothing will come.
    fn misses(&self, member: &Member) -> bool {
        match member.phase {
            Phase::Waiting { from, .. } => {
                let rank = member.entry.rank(from);
                rank.is_some_and(|rank| self.is_gone(member, rank))
            }
            Phase::Sending | Phase::Busy => false,
        }
    }

    /// Whether `rank` is not in the collective of `member`, and nothing of it is on its way.
    fn is_gone(&self, member: &Member, rank: RankId) -> bool {
        let key = member.entry.key;
        let state = self.job.ranks.get(rank.index());
        let open = state.is_some_and(|state| state.members.is_open(key));
        !open && !self.of_collectives.contains(&(rank, key))
    }

    /// Whether `rank`, which is not in the collective of `member`, was in it.
    fn has_left(&self, member: &Member, rank: RankId) -> bool {
        let Key::Call { comm, number } = member.entry.key else {
            return false;
        };
        let state = self.job.ranks.get(rank.index());
        let endpoint = state.and_then(Rank::endpoint_if_any);
        endpoint.is_some_and(|endpoint| endpoint.has_called(comm, number))
    }

    /// Whether a stream of `rank` is in a collective, in which it waits.
    fn is_in_collective(&self, rank: &Rank, stream: StreamId) -> bool {
        let mut open = rank.members.open().iter();
        open.any(|member| {
            member.entry.owner == Some(Owner::Stream(stream)) && member.phase != Phase::Busy
        })
    }

    /// A text for the operation of a rank that no stream waits for: the receive that was posted first.
    fn open(&self, rank: &Rank) -> String {
        let endpoint = rank.endpoint_if_any();
        let posted = endpoint.and_then(|endpoint| {
            let posted = endpoint.queues.posted();
            posted.min_by_key(|(_, number, _)| *number)
        });
        match posted {
            Some((pattern, _, owner)) => {
                let place = match owner {
                    Owner::Request(request) => self.job.place_of(rank.id, *request),
                    Owner::Stream(_) | Owner::None => None,
                };
                let place = place.map_or_else(String::new, |place| format!(" ({place})"));
                let tag = pattern.tag.map(|tag| tag.0.cast_unsigned());
                format!("{}{place}", message(pattern.from, tag))
            }
            None => "the end of its sends".into(),
        }
    }

    /// A text for the event that must happen before the operation of a blocked stream is done.
    fn end_of(&self, rank: &Rank, stream: StreamId, op: &Op) -> String {
        let call = match &op.action {
            Action::Send { id, to, .. } => {
                return format!("the end of its send of message {id} to rank {to}");
            }
            Action::Mpi(call) => call,
            Action::Marker
            | Action::Collective(..)
            | Action::EnterRegion(_)
            | Action::LeaveRegion(_) => return String::from("its operation"),
        };
        match &**call {
            Call::Send { to, tag, .. } => {
                format!("the end of its send to rank {to} (tag {})", tag.0)
            }
            Call::Receive { from, tag, .. } => {
                let posted = rank
                    .endpoint_if_any()
                    .is_some_and(|endpoint| endpoint.posted_by(Owner::Stream(stream)).is_some());
                let matched = if posted {
                    ""
                } else {
                    ", whose payload did not reach it"
                };
                format!("{}{matched}", message(*from, tag.map(|tag| tag.0)))
            }
            Call::Probe { from, tag, .. } => {
                let looked_for = message(*from, tag.map(|tag| tag.0));
                format!("{looked_for}, which it looks for")
            }
            Call::Free { .. } => String::from("its operation"),
            Call::Collective { comm, .. } => {
                let mut open = rank.members.open().iter();
                match open.find(|member| member.entry.owner == Some(Owner::Stream(stream))) {
                    Some(member) => self.collective(rank.id, member.entry.key),
                    None => format!(
                        "a collective of {}",
                        self.job.communicator(rank.id, comm.id)
                    ),
                }
            }
            Call::Wait { requests, .. } => {
                let open = rank.endpoint_if_any().map(|endpoint| {
                    let open = endpoint.incomplete(requests);
                    open.map(|request| request.0.to_string())
                        .collect::<Vec<_>>()
                });
                format!("requests {}", open.unwrap_or_default().join(", "))
            }
        }
    }
}

/// A text for a message from a rank with a tag, or from any rank with any tag.
fn message(from: Option<RankId>, tag: Option<impl Display>) -> String {
    let from = from.map_or_else(|| "any rank".into(), |from| format!("rank {from}"));
    let tag = tag.map_or_else(|| "any tag".into(), |tag| format!("tag {tag}"));
    format!("a message from {from} ({tag})")
}
