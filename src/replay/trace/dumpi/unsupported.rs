//! Calls that cannot be replayed.

use flitwise_formats::dumpi::{Call, Comm};

/// The reason why a call can't be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsupportedKind {
    /// It reads or writes the memory of another process.
    OneSided,
    /// It starts or meets processes that are not in the trace.
    Dynamic,
    /// The members of its communicator are not known.
    UnknownComm,
    /// It is a collective between two groups, and the recording has too little information on it.
    BetweenGroups,
}

/// The calls of each kind.
pub(super) const KINDS: [&str; 4] = [
    "of one-sided communication",
    "that start or meet other processes",
    "on communicators that no recorded call makes",
    "that are collectives between two groups with a root or uneven sizes, which recordings describe too briefly",
];

/// Whether a call is of a kind that cannot be replayed, whatever its communicator.
pub(super) fn kind_of(call: &Call<'_>) -> Option<UnsupportedKind> {
    Some(match call {
        Call::Accumulate(_)
        | Call::Get(_)
        | Call::Put(_)
        | Call::WinComplete(_)
        | Call::WinCreate(_)
        | Call::WinFence(_)
        | Call::WinFree(_)
        | Call::WinLock(_)
        | Call::WinPost(_)
        | Call::WinStart(_)
        | Call::WinTest(_)
        | Call::WinUnlock(_)
        | Call::WinWait(_) => UnsupportedKind::OneSided,
        Call::CommAccept(_)
        | Call::CommConnect(_)
        | Call::CommJoin(_)
        | Call::CommSpawn(_)
        | Call::CommSpawnMultiple(_) => UnsupportedKind::Dynamic,
        Call::CommGetParent(call) if call.parent != Comm::NULL => UnsupportedKind::Dynamic,
        _ => return None,
    })
}
