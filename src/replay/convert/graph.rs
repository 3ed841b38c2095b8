//! The operations of all ranks of a trace, with dependencies: the form between two formats.

use crate::collectives::{Choices, Plan};
use crate::mpi::CommId;
use crate::program::{Collective, Contribution, Place, RankId};
use anyhow::Context;
use flitwise_formats::goal::DependencyKind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The operations of each rank. Operations that may start at the same time start in their order here.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub ranks: Vec<Vec<Node>>,
    /// The ranks that end within the region that a slice keeps.
    pub unended: Vec<u32>,
    /// Sends above the eager threshold wait for their receives.
    pub has_rendezvous: bool,
    /// Receives that no operation waits for may get no message.
    pub may_idle: bool,
}

/// An operation.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub task: Task,
    /// Its dependencies.
    pub after: Vec<After>,
    /// One CPU does one thing at a time.
    pub cpu: u8,
    /// Its place in the trace; `None` if the trace only implies it.
    pub place: Option<Place>,
    /// An end of the region that a slice keeps, which this operation is.
    pub edge: Option<Edge>,
}

/// An end of what a rank does in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Its first entry.
    Entry,
    /// Its last exit.
    Exit,
}

/// The communicator of messages that have none.
pub(super) const NO_COMM: CommId = CommId::new(0);

/// The communicator of the messages of collectives, which no other receive takes.
pub(super) const COLLECTIVES: CommId = CommId::new(u32::MAX);

/// A dependency on another operation of the rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct After {
    pub on: u32,
    pub kind: DependencyKind,
}

impl After {
    pub fn done(on: u32) -> Self {
        let kind = DependencyKind::Done;
        Self { on, kind }
    }

    pub fn started(on: u32) -> Self {
        let kind = DependencyKind::Started;
        Self { on, kind }
    }
}

/// The action of an operation.
#[derive(Debug, Clone)]
pub(super) enum Task {
    Calc {
        ps: u64,
    },
    Send {
        to: u32,
        comm: CommId,
        tag: u32,
        bytes: u64,
    },
    /// From any rank, with any tag where there is none.
    Recv {
        from: Option<u32>,
        comm: CommId,
        tag: Option<u32>,
        bytes: u64,
    },
    Collective(Arc<Entry>),
}

/// Tells the collectives of a trace apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Id(u64),
    /// Communicator, and number among the calls on it.
    Call(u32, u32),
}

/// A rank enters a collective.
#[derive(Debug)]
pub(super) struct Entry {
    pub key: Key,
    pub members: Arc<[RankId]>,
    /// Position among the members.
    pub me: u32,
    pub brings: Brings,
}

/// The knowledge of a member about its collective.
#[derive(Debug)]
pub(super) enum Brings {
    All(Arc<Collective>),
    Own(Contribution),
}

impl Entry {
    /// Its name, as MPI has it.
    pub fn name(&self) -> &'static str {
        match &self.brings {
            Brings::All(collective) => collective.kind.name(),
            Brings::Own(contribution) => contribution.name(),
        }
    }

    /// The messages of this member, by the usual algorithm.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        let (n, choices) = (self.members.len(), Choices::default());
        let plan = match &self.brings {
            Brings::All(collective) => Plan::new(&collective.kind, n, &choices),
            Brings::Own(contribution) => Plan::of_member(contribution, self.me, n, &choices),
        };
        plan.with_context(|| format!("a collective of {n} ranks"))
    }
}

/// The changes by a conversion, counted by kind.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Losses(BTreeMap<Cow<'static, str>, u64>);

impl Losses {
    /// Adds `count` changes of the kind that `what` describes.
    pub fn add(&mut self, count: u64, what: impl Into<Cow<'static, str>>) {
        if count > 0 {
            *self.0.entry(what.into()).or_default() += count;
        }
    }

    /// In order of their words.
    pub fn lines(&self) -> Vec<String> {
        let line = |(what, count): (&Cow<'static, str>, &u64)| {
            format!("{} {what}", flitwise_base::units::human_count(*count))
        };
        self.0.iter().map(line).collect()
    }
}
