//! Calls that cannot be replayed.

use flitwise_formats::dumpi::{Call, Comm, Problem};

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

const KINDS: [(UnsupportedKind, &str); 4] = [
    (UnsupportedKind::OneSided, "of one-sided communication"),
    (
        UnsupportedKind::Dynamic,
        "that start or meet other processes",
    ),
    (
        UnsupportedKind::UnknownComm,
        "on communicators that no recorded call makes",
    ),
    (
        UnsupportedKind::BetweenGroups,
        "that are collectives between two groups with a root or uneven sizes, which recordings describe too briefly",
    ),
];

/// The number of calls of each kind, and the place of the first.
#[derive(Debug, Default)]
pub(super) struct Unsupported {
    found: [Option<(u64, Problem)>; KINDS.len()],
}

impl Unsupported {
    pub fn add(&mut self, kind: UnsupportedKind, place: impl FnOnce() -> Problem) {
        if let Some(found) = self.found.get_mut(kind as usize) {
            found.get_or_insert_with(|| (0, place())).0 += 1;
        }
    }

    /// A text for each kind that there is.
    pub fn kinds(&self) -> Vec<String> {
        let kinds = KINDS.iter().zip(&self.found);
        kinds
            .filter_map(|((_, what), found)| {
                let (count, first) = found.as_ref()?;
                let s = if *count == 1 { "" } else { "s" };
                let function = first.within.unwrap_or_default();
                Some(format!(
                    "{count} call{s} {what} (the first is {function} of rank {} at byte {})",
                    first.rank, first.offset
                ))
            })
            .collect()
    }
}

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
