//! Calls that cannot be replayed.

use super::collective::contribution;
use super::communicators::Comm;
use flitwise_formats::recording::{Call, Collective, Outside};

/// The reason why a call can't be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsupportedKind {
    OneSided,
    File,
    Dynamic,
    Unknown,
    /// Its communicator has processes that are not in the recording.
    Outside,
    BetweenGroups,
}

/// The calls of each kind.
pub(super) const KINDS: [&str; 6] = [
    "of one-sided communication",
    "that read or write files",
    "that start or meet other processes",
    "of functions that have no messages of their own",
    "on communicators with processes that are not in the recording",
    "that are reductions with scattered results between two groups",
];

impl UnsupportedKind {
    /// The reason of a call whose communicator is known.
    pub fn of(call: &Call<'_>, comm: Option<&Comm>) -> Option<Self> {
        match call {
            Call::Outside(outside) => Some(match outside {
                Outside::OneSided => Self::OneSided,
                Outside::File => Self::File,
                Outside::Dynamic => Self::Dynamic,
                Outside::Unknown => Self::Unknown,
            }),
            _ if comm.is_some_and(|comm| !comm.is_whole) => Some(Self::Outside),
            Call::Collective(collective) => {
                let is_between = comm.is_some_and(|comm| comm.others_are_second.is_some());
                let lacks = is_between && !says_enough(collective, comm);
                lacks.then_some(Self::BetweenGroups)
            }
            _ => None,
        }
    }
}

fn says_enough(collective: &Collective<'_>, comm: Option<&Comm>) -> bool {
    comm.is_some_and(|comm| contribution(collective, comm).is_some())
}
