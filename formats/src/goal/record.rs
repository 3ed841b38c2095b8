//! The contents of a GOAL schedule.

use crate::collective::Operation;

/// An operation of a rank. Operations have numbers, from 0 in each rank, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op {
    /// Its task.
    pub task: Task,
    /// The CPU (or GPU stream) of the rank that does it; one does one thing at a time.
    pub cpu: u8,
    /// The NIC of the rank that a message passes; 0 for a [`Task::Calc`].
    pub nic: u8,
}

/// The task of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// Sends a message.
    Send {
        /// Its payload in bytes.
        bytes: u64,
        /// Receiving rank.
        to: u32,
        /// Tag; less than 2^32 − 1.
        tag: u32,
    },
    /// Receives a message.
    Recv {
        /// Its payload in bytes.
        bytes: u64,
        /// Sending rank; `None` for any.
        from: Option<u32>,
        /// Tag, less than 2^32 − 1; `None` for any.
        tag: Option<u32>,
    },
    /// Computes.
    Calc {
        /// For how long, in nanoseconds by LogGOPSim's convention; the file names no unit.
        time: u64,
    },
    /// Takes part in a collective. No GOAL file has one: schedules of [other formats](crate::chakra) do.
    Collective {
        /// Its operation.
        operation: Operation,
        /// The bytes that the rank brings.
        bytes: u64,
        /// The number of the group of ranks that take part.
        group: u32,
        /// The position of the root in the group.
        root: u32,
    },
    /// Computes, at the speed of the rank. No GOAL file has one either.
    Work {
        /// Number of operations.
        operations: u64,
    },
}

impl Op {
    /// A task on CPU 0 and NIC 0.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            task,
            cpu: 0,
            nic: 0,
        }
    }

    /// The word by which the text calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.task {
            Task::Send { .. } => "send",
            Task::Recv { .. } => "recv",
            Task::Calc { .. } | Task::Work { .. } => "calc",
            Task::Collective { .. } => "collective",
        }
    }
}

/// The event of another operation that an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DependencyKind {
    /// `requires`: the end of the other operation.
    Done,
    /// `irequires`: the start of the other operation.
    Started,
}

/// One operation waits for another of its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependency {
    /// The operation that waits.
    pub of: u32,
    /// The operation that it waits for.
    pub on: u32,
    /// Whether for its start or its end.
    pub kind: DependencyKind,
}
