//! The operations that remain.

use super::collective::{Members, restricted};
use super::course::{Counted, Timed};
use super::{Part, Step, is_never_entered, takes_no_time};
use crate::mpi::{Call, CommId, RequestId, Tag};
use crate::program::{Action, Op, RankId, RegionId};
use crate::trace::TraceFile;
use anyhow::bail;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;

/// Operations behind a probe among which its receive is looked for.
const NEAR: usize = 4096;
/// Picoseconds in the unit of a recording's times.
const UNIT: u64 = 1000;

/// A window of the ideal clock, in picoseconds.
pub(super) struct Window {
    from: u64,
    /// `u64::MAX`: to the end.
    to: u64,
    /// Exits at the end of the window that belong to it: rank and step.
    closing: BTreeSet<(u32, usize)>,
}

impl Window {
    /// The window that `part` asks for.
    pub fn of(
        part: &Part,
        file: &dyn TraceFile,
        numbers: &[Option<u32>],
        ranks: &[Vec<Step>],
        starts: &[Vec<u64>],
    ) -> anyhow::Result<Self> {
        if let Some(region) = part.region {
            let name = file.regions().get(region.index()).map_or("", |name| name);
            let visits = (0..).zip(numbers).zip(ranks.iter().zip(starts));
            let visits = visits.filter(|((_, number), _)| number.is_some());
            return Self::of_region(region, name, visits.map(|((rank, _), steps)| (rank, steps)));
        }
        let to_ps = part.to_ps.map_or(u64::MAX, rounded);
        let from_ps = rounded(part.from_ps);
        if from_ps >= to_ps {
            bail!("the window is empty: no time in units of {UNIT} ps lies between its ends");
        }
        Ok(Self {
            from: from_ps,
            to: to_ps,
            closing: BTreeSet::new(),
        })
    }

    /// From the first entry of one of these ranks into a region to the last exit.
    fn of_region<'a>(
        region: RegionId,
        name: &str,
        ranks: impl Iterator<Item = (u32, (&'a Vec<Step>, &'a Vec<u64>))>,
    ) -> anyhow::Result<Self> {
        let (mut from, mut to, mut closing) = (None, None, BTreeSet::new());
        for (rank, (steps, starts)) in ranks {
            let (mut depth, mut exit) = (0_u64, None);
            for (at, (step, &start)) in steps.iter().zip(starts).enumerate() {
                match step.op.action {
                    Action::EnterRegion(entered) if entered == region => {
                        depth += 1;
                        from = Some(from.map_or(start, |from: u64| from.min(start)));
                    }
                    Action::LeaveRegion(left) if left == region => {
                        if depth == 1 {
                            exit = Some((at, start));
                        }
                        depth = depth.saturating_sub(1);
                    }
                    _ => {}
                }
            }
            if let Some((at, start)) = exit {
                closing.insert((rank, at));
                to = to.max(Some(start));
            }
            if depth > 0 {
                to = Some(u64::MAX);
            }
        }
        match (from, to) {
            (Some(from), to) if to != Some(from) => Ok(Self {
                from,
                to: to.unwrap_or(u64::MAX),
                closing,
            }),
            (None, _) => bail!(is_never_entered(name)),
            _ => bail!(takes_no_time(name)),
        }
    }

    /// Start and end.
    pub fn ends(&self) -> (u64, Option<u64>) {
        (self.from, Some(self.to).filter(|to| *to != u64::MAX))
    }

    fn covers(&self, start: u64) -> bool {
        (self.from..self.to).contains(&start)
    }

    fn is_past(&self, start: u64) -> bool {
        start >= self.to
    }
}

/// The first whole unit from `ps` on.
fn rounded(ps: u64) -> u64 {
    ps.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX)
}

/// A collective, as far as ranks that remain have entered it.
#[derive(Default)]
struct Entered {
    latest: u64,
    root: Option<RankId>,
}

/// Selects operations.
pub(super) struct Selection<'a> {
    timed: &'a Timed,
    ranks: &'a [Vec<Step>],
    starts: &'a [Vec<u64>],
    numbers: &'a [Option<u32>],
    window: &'a Window,
    entered: HashMap<(CommId, u32), Entered>,
    members: HashMap<CommId, Members>,
}

/// The part of a rank that remains so far.
#[derive(Default)]
struct Rank {
    rank: u32,
    steps: Vec<Step>,
    /// Receives of messages of the window that the rank posts behind it.
    late: Vec<Step>,
    own_ps: [u64; 2],
    /// Requests of operations that remain, and are not complete.
    active: BTreeSet<RequestId>,
    /// Regions in which it is, before the window.
    within: Vec<RegionId>,
    has_begun: bool,
    /// Whether it has computed since the last operation that is a record of VEF.
    has_computed: bool,
    /// Operations that receive, or are collectives, by request.
    awaited: HashSet<RequestId>,
    /// The number of steps up to the last one that is a record of VEF: what comes behind takes no time.
    records: usize,
    counted: Counted,
}

impl<'a> Selection<'a> {
    pub fn new(
        timed: &'a Timed,
        ranks: &'a [Vec<Step>],
        starts: &'a [Vec<u64>],
        numbers: &'a [Option<u32>],
        window: &'a Window,
    ) -> Self {
        let mut selection = Self {
            timed,
            ranks,
            starts,
            numbers,
            window,
            entered: HashMap::new(),
            members: HashMap::new(),
        };
        (0..)
            .zip(numbers)
            .filter(|(_, number)| number.is_some())
            .for_each(|(rank, _)| selection.enter(rank));
        selection
    }

    /// The steps of a rank, and when they begin.
    fn steps(&self, rank: u32) -> impl Iterator<Item = (&'a Step, u64)> + use<'a> {
        let (ranks, starts) = (self.ranks, self.starts);
        let steps = ranks.get(rank as usize).into_iter().flatten();
        let starts = starts.get(rank as usize).into_iter().flatten();
        steps.zip(starts.copied())
    }

    fn number(&self, rank: RankId) -> Option<u32> {
        self.numbers.get(rank.index()).copied().flatten()
    }

    /// Follows the collectives of a rank.
    fn enter(&mut self, rank: u32) {
        let mut counted = Counted::default();
        for (step, start) in self.steps(rank) {
            let Some(Call::Collective {
                comm, contribution, ..
            }) = step.op.action.call()
            else {
                continue;
            };
            let entered = self.entered.entry(counted.next(comm.id)).or_default();
            entered.latest = entered.latest.max(start);
            let root = contribution.root();
            entered.root = root.and_then(|root| comm.members.get(root as usize).copied());
            let numbers = self.numbers;
            self.members
                .entry(comm.id)
                .or_insert_with(|| Members::of(&comm.members, numbers));
        }
    }

    /// The steps of the ranks that remain, if any of them begins in the window, and the members of communicators.
    pub fn all(self) -> (Option<Vec<Vec<Step>>>, HashMap<CommId, Members>) {
        let ranks = (0..)
            .zip(self.numbers)
            .filter(|(_, number)| number.is_some());
        let ranks: Vec<Rank> = ranks.map(|(rank, _)| self.of_rank(rank)).collect();
        let remains = ranks.iter().any(|rank| rank.records > 0);
        let all = ranks.into_iter().map(|rank| rank.steps);
        (remains.then(|| all.collect()), self.members)
    }

    fn of_rank(&self, number: u32) -> Rank {
        let mut rank = Rank {
            rank: number,
            ..Rank::default()
        };
        for (at, (step, start)) in self.steps(number).enumerate() {
            if start < self.window.from {
                rank.own_ps = [0; 2];
            } else {
                rank.begin();
                let sums = rank.own_ps.iter().zip(step.own_ps);
                let mut sums = sums.map(|(sum, own)| sum.saturating_add(own));
                rank.own_ps = [sums.next().unwrap_or(0), sums.next().unwrap_or(0)];
            }
            self.step(&mut rank, at, step, start);
        }
        rank.begin();
        for step in rank.steps.iter_mut().skip(rank.records) {
            step.op.compute_ps = 0;
        }
        rank.steps.append(&mut rank.late);
        let requests: Box<[RequestId]> = rank.active.iter().copied().collect();
        if !requests.is_empty() {
            rank.add(Action::Mpi(Box::new(Call::Free { requests })), 0, 0);
        }
        rank
    }

    fn step(&self, rank: &mut Rank, at: usize, step: &Step, start: u64) {
        let after = start.saturating_sub(self.window.from);
        let covered = self.window.covers(start);
        let is_record = rank.is_record(step);
        match &step.op.action {
            Action::Mpi(call) => {
                if let Some((call, bytes)) = self.call(rank, at, call, start) {
                    let communicates = matches!(call, Call::Send { .. } | Call::Collective { .. });
                    rank.add(Action::Mpi(Box::new(call)), after, bytes);
                    rank.is_at_record(covered && is_record || communicates);
                } else if covered && is_record && is_wait(&step.op.action) {
                    // The computation before it remains.
                    rank.add(Action::Marker, after, 0);
                    rank.is_at_record(true);
                }
            }
            Action::EnterRegion(region) if start < self.window.from => rank.within.push(*region),
            Action::LeaveRegion(region) if start < self.window.from => {
                let entered = rank.within.iter().rposition(|within| within == region);
                entered.map(|entered| rank.within.remove(entered));
            }
            action => {
                let closes =
                    start == self.window.to && self.window.closing.contains(&(rank.rank, at));
                if covered || closes {
                    rank.add(action.clone(), after, 0);
                    rank.is_at_record(true);
                }
            }
        }
    }

    /// The call in the slice, if it remains, and the payload of the message that it receives.
    fn call(&self, rank: &mut Rank, at: usize, call: &Call, start: u64) -> Option<(Call, u64)> {
        let is_past = self.window.is_past(start);
        let mut call = call.clone();
        let mut payload = 0;
        match &mut call {
            Call::Send { to, request, .. } => {
                let number = self.number(*to).filter(|_| self.window.covers(start))?;
                *to = RankId::new(number);
                rank.active.extend(*request);
            }
            Call::Receive { .. } => {
                let (receive, bytes) = self.receive(rank.rank, at, &call)?;
                return rank.receive(receive, bytes, is_past);
            }
            Call::Collective {
                comm,
                contribution,
                request,
            } => {
                let entered = self.entered.get(&rank.counted.next(comm.id))?;
                let has_root = entered.root.is_none_or(|root| self.number(root).is_some());
                if !has_root || !self.window.covers(entered.latest) {
                    return None;
                }
                let members = self.members.get(&comm.id)?;
                *contribution = restricted(contribution, members);
                *comm = members.communicator(comm.id);
                rank.active.extend(*request);
            }
            Call::Wait { requests, .. } | Call::Free { requests } => {
                if is_past {
                    return None;
                }
                let kept = requests
                    .iter()
                    .copied()
                    .filter(|one| rank.active.remove(one));
                *requests = kept.collect();
                if requests.is_empty() {
                    return None;
                }
            }
            Call::Probe { .. } => {
                let (probe, bytes) = self.probe(rank.rank, at, &call).filter(|_| !is_past)?;
                (call, payload) = (probe, bytes);
            }
        }
        Some((call, payload))
    }

    /// A receive of a message that remains names that message.
    fn receive(&self, rank: u32, at: usize, call: &Call) -> Option<(Call, u64)> {
        let Call::Receive { comm, request, .. } = *call else {
            return None;
        };
        let op = &self.ranks.get(rank as usize)?.get(at)?.op;
        let taken = self.timed.taken(rank, at, op)?;
        let from = self
            .number(RankId::new(taken.from))
            .filter(|_| self.window.covers(taken.sent_ps))?;
        let call = Call::Receive {
            from: Some(RankId::new(from)),
            comm,
            tag: Some(Tag(taken.tag.cast_signed())),
            request,
        };
        Some((call, taken.bytes))
    }

    /// A probe of the message that the next receive of its kind takes, if the rank posts that in the window.
    fn probe(&self, rank: u32, at: usize, call: &Call) -> Option<(Call, u64)> {
        let Call::Probe { from, comm, tag } = *call else {
            return None;
        };
        let behind = self.steps(rank).enumerate().skip(at + 1).take(NEAR);
        for (at, (step, start)) in behind {
            let Some(Call::Receive { comm: of, .. }) = step.op.action.call() else {
                continue;
            };
            let Some(taken) = self.timed.taken(rank, at, &step.op) else {
                continue;
            };
            let is_it = *of == comm
                && from.is_none_or(|from| from.get() == taken.from)
                && tag.is_none_or(|tag| tag.0.cast_unsigned() == taken.tag);
            if is_it {
                let number = self.number(RankId::new(taken.from))?;
                let remains = self.window.covers(taken.sent_ps) && !self.window.is_past(start);
                let probe = Call::Probe {
                    from: Some(RankId::new(number)),
                    comm,
                    tag: Some(Tag(taken.tag.cast_signed())),
                };
                return remains.then_some((probe, taken.bytes));
            }
        }
        None
    }
}

/// Whether a rank waits for a message or a collective.
fn is_wait(action: &Action) -> bool {
    let waits = |call: &Call| {
        let receives = matches!(call, Call::Receive { request: None, .. });
        receives || matches!(call, Call::Wait { .. })
    };
    action.call().is_some_and(waits)
}

impl Rank {
    /// The window begins: the rank is in the regions that it has entered before.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let own_ps = std::mem::take(&mut self.own_ps);
            for region in std::mem::take(&mut self.within) {
                self.add(Action::EnterRegion(region), 0, 0);
            }
            self.own_ps = own_ps;
        }
    }

    /// Whether a step becomes a record of VEF: a wait does if there is a computation before it.
    fn is_record(&mut self, step: &Step) -> bool {
        self.has_computed |= step.op.compute_ps > 0;
        let is_record = match step.op.action.call() {
            Some(Call::Receive { request, .. }) => {
                self.awaited.extend(*request);
                request.is_none() && self.has_computed
            }
            Some(Call::Collective { request, .. }) => {
                self.awaited.extend(*request);
                true
            }
            Some(Call::Wait { requests, .. }) => {
                let awaited = requests.iter().filter(|one| self.awaited.remove(*one));
                awaited.count() > 0 && self.has_computed
            }
            Some(Call::Probe { .. } | Call::Free { .. }) => false,
            Some(Call::Send { .. }) => true,
            None => !matches!(
                step.op.action,
                Action::EnterRegion(_) | Action::LeaveRegion(_)
            ),
        };
        self.has_computed &= !is_record;
        is_record
    }

    /// The steps so far have a record.
    fn is_at_record(&mut self, is: bool) {
        if is {
            self.records = self.steps.len();
        }
    }

    fn add(&mut self, action: Action, after_ps: u64, bytes: u64) {
        let place = crate::program::Place::byte(0);
        self.steps.push(Step {
            op: Op::next(after_ps, action, place),
            own_ps: std::mem::take(&mut self.own_ps),
            bytes,
        });
    }

    /// A receive that remains. One that is posted behind the window waits for nothing.
    fn receive(&mut self, mut call: Call, bytes: u64, is_past: bool) -> Option<(Call, u64)> {
        let Call::Receive { request, .. } = &mut call else {
            return None;
        };
        if is_past {
            // No request of a recording is near these.
            let own = RequestId(u64::MAX - self.late.len() as u64);
            self.active.insert(*request.get_or_insert(own));
            self.late.push(Step {
                op: Op::next(
                    0,
                    Action::Mpi(Box::new(call)),
                    crate::program::Place::byte(0),
                ),
                own_ps: [0; 2],
                bytes,
            });
            return None;
        }
        self.active.extend(*request);
        Some((call, bytes))
    }
}
