//! Members of collectives, and how they take their steps.

use super::message::{Message, Purpose};
use super::steps;
use super::world::{CollectiveKey, Owner, Part, World};
use flitwise::replay::SendCompletion;
use flitwise::replay::collectives::Step;
use flitwise::replay::mpi::Communicator;
use flitwise::replay::program::{Collective, Contribution, RankId};
use std::sync::Arc;

/// A rank in a collective.
#[derive(Debug, Clone)]
pub struct Member {
    pub collective: CollectiveKey,
    pub rank: RankId,
    /// The stream that entered it.
    pub stream: u32,
    pub position: u32,
    /// All members.
    pub ranks: Arc<[RankId]>,
    pub steps: Vec<Step>,
    /// Steps that it has taken.
    pub taken: usize,
    /// End of the computation that it is at.
    pub busy_until_ps: Option<u64>,
    /// Sends that are not done.
    pub open_sends: usize,
    /// It has taken all steps, and its sends are done.
    pub done: bool,
    /// What is complete then, for a call.
    pub owner: Option<Owner>,
}

impl World<'_> {
    /// A rank enters a collective with an id.
    pub fn enter_with_id(
        &mut self,
        (rank, stream): (RankId, u32),
        collective: &Collective,
        position: u32,
    ) {
        self.count_if(true, "collective with an id");
        let members = collective.members.len();
        let key = CollectiveKey::WithId(collective.id);
        let of_tree = self.steps_in_network(key, &collective.kind, &collective.members, position);
        let choices = &self.case.collectives;
        let steps =
            of_tree.unwrap_or_else(|| steps::known(&collective.kind, members, position, choices));
        self.enter(Member {
            collective: key,
            rank,
            stream,
            position,
            ranks: Arc::clone(&collective.members),
            steps,
            taken: 0,
            busy_until_ps: None,
            open_sends: 0,
            done: false,
            owner: None,
        });
    }

    /// A rank calls a collective: its k-th of the communicator.
    pub fn enter_call(
        &mut self,
        (rank, stream): (RankId, u32),
        comm: &Communicator,
        contribution: &Contribution,
        owner: Owner,
    ) {
        let is_call =
            |collective| matches!(collective, CollectiveKey::Call(of, _) if of == comm.id);
        let before = self.members.iter();
        let before = before.filter(|member| member.rank == rank && is_call(member.collective));
        let collective = CollectiveKey::Call(comm.id, before.count());
        let position = comm.members.iter().position(|&member| member == rank);
        let position = position.expect("a rank calls collectives of its communicators") as u32;
        let members = comm.members.len();
        let of_tree = match contribution {
            Contribution::Known(kind) => {
                self.steps_in_network(collective, kind, &comm.members, position)
            }
            _ => None,
        };
        let choices = &self.case.collectives;
        let steps =
            of_tree.unwrap_or_else(|| steps::steps(contribution, members, position, choices));
        self.count_call(contribution, owner);
        self.enter(Member {
            collective,
            rank,
            stream,
            position,
            ranks: Arc::clone(&comm.members),
            steps,
            taken: 0,
            busy_until_ps: None,
            open_sends: 0,
            done: false,
            owner: Some(owner),
        });
    }

    fn count_call(&mut self, contribution: &Contribution, owner: Owner) {
        let pairwise = steps::is_pairwise(&self.case.collectives);
        let feature = match contribution {
            Contribution::Known(_) => "collective of known sizes",
            Contribution::Gatherv { .. } => "gatherv",
            Contribution::Scatterv { .. } => "scatterv",
            Contribution::Alltoallv { .. } if pairwise => "pairwise alltoallv",
            Contribution::Alltoallv { .. } => "linear alltoallv",
        };
        self.count_if(true, feature);
        let blocks = matches!(owner, Owner::Op(_));
        self.count_if(blocks, "collective that blocks");
        self.count_if(!blocks, "collective with a request");
    }

    pub fn enter(&mut self, member: Member) {
        let number = self.members.len();
        self.members.push(member);
        self.advance(number);
    }

    /// A rank goes on in the first collective in which it can, of those that this stream entered;
    /// false if it has to wait in all of them.
    pub fn take_steps(&mut self, rank: RankId, stream: u32) -> bool {
        (self.open.members..self.members.len()).any(|number| {
            let member = &self.members[number];
            (member.rank, member.stream) == (rank, stream) && !member.done && self.advance(number)
        })
    }

    /// A member takes steps until it has to wait; false if it has to at once.
    fn advance(&mut self, number: usize) -> bool {
        let mut moved = false;
        loop {
            let member = &mut self.members[number];
            if member
                .busy_until_ps
                .is_some_and(|until_ps| until_ps > self.now_ps)
            {
                return moved;
            }
            moved |= member.busy_until_ps.take().is_some();
            match member.steps.get(member.taken).copied() {
                None => return self.end(number) || moved,
                Some(Step::Send { to, bytes, tag }) => self.send_part(number, to, bytes, tag),
                Some(Step::Recv { from, tag }) => {
                    let awaited = Part {
                        collective: member.collective,
                        from,
                        to: member.position,
                        tag,
                    };
                    let arrived = self.parts.iter().position(|part| *part == awaited);
                    let Some(arrived) = arrived else {
                        return moved;
                    };
                    self.parts.remove(arrived);
                }
                Some(Step::Pause { ps: 0 }) => {}
                Some(Step::Pause { ps }) => {
                    member.busy_until_ps = Some(self.now_ps + ps);
                    member.taken += 1;
                    return true;
                }
                Some(Step::Compute { bytes }) => {
                    let cost_ps = self.case.reduction_ps_per_byte.mul_round(bytes);
                    let cost_ps = cost_ps.expect("reductions are short");
                    if !self.case.reduction_ps_per_byte.is_zero() {
                        // Going on is another act, even if the time rounds to 0.
                        let until_ps = self.now_ps + cost_ps;
                        member.busy_until_ps = Some(until_ps);
                        member.taken += 1;
                        let stream = (member.rank, member.stream);
                        let computed = self.computed.entry(stream).or_default();
                        computed.push([self.now_ps, until_ps]);
                        self.count_if(cost_ps > 0, "reduction that takes time");
                        return true;
                    }
                }
            }
            self.members[number].taken += 1;
            moved = true;
        }
    }

    /// A member has taken all its steps: it is done if its sends are.
    fn end(&mut self, number: usize) -> bool {
        let member = &mut self.members[number];
        if member.open_sends > 0 {
            return false;
        }
        member.done = true;
        let (rank, owner) = (member.rank, member.owner);
        self.touch(rank);
        self.complete(owner);
        true
    }

    fn send_part(&mut self, number: usize, to: u32, bytes: u64, tag: u32) {
        let member = &self.members[number];
        let (from, ranks) = (member.rank, Arc::clone(&member.ranks));
        let part = Part {
            collective: member.collective,
            from: member.position,
            to,
            tag,
        };
        let owner = Owner::Member(number);
        let [when_injected, when_arrived] = match member.collective {
            CollectiveKey::WithId(_) => self.when_done(bytes, owner),
            // Eager.
            CollectiveKey::Call(..) => {
                let waits = self.case.send_completion == SendCompletion::Injected;
                [waits.then_some(owner), None]
            }
        };
        if when_injected.is_some() || when_arrived.is_some() {
            self.members[number].open_sends += 1;
        }
        self.send(Message {
            from,
            to: self.rank_at(&ranks, to),
            bytes,
            nic: 0,
            purpose: Purpose::Part(part),
            when_injected,
            when_arrived,
        });
    }

    /// True if all members of a collective have completed it.
    pub fn all_members_done(&self, collective: CollectiveKey, members: usize) -> bool {
        let ranks = self.case.ranks.len();
        let done = |member: &&Member| {
            member.collective == collective && member.done && member.rank.index() < ranks
        };
        self.members.iter().filter(done).count() == members
    }
}
