//! The messages of receives that would take a message from anyone, and the cancelled sends and receives. A call that does not
//! block returns before it is known, so that it is looked up in advance: while the recording is checked.

use flitwise_formats::recording::{Call, Message, Outcome as Said, Peer, Phase, Record, Request};
use hashbrown::HashMap;

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// No message: it was cancelled, or is from no process.
    Nothing,
    /// A receive that was cancelled, of which the recording does not say whether a message had come before: it takes one
    /// that no other receive takes.
    Unknown,
    /// A message of this rank of the communicator, with this tag.
    Message { source: u32, tag: u32 },
}

/// Whether a receive or a probe does not say which message it takes.
pub(super) fn is_open(message: &Message) -> bool {
    message.peer == Peer::Any || (message.tag.is_none() && message.peer != Peer::Null)
}

impl Outcome {
    /// The outcome of an open receive or probe; `None` if the recording does not say it.
    pub fn of(message: &Message, said: &Said) -> Option<Self> {
        if said.cancelled {
            return Some(Self::Nothing);
        }
        if !is_open(message) {
            return None;
        }
        match (said.peer.unwrap_or(message.peer), said.tag.or(message.tag)) {
            (Peer::Null, _) => Some(Self::Nothing),
            (Peer::Rank(source), Some(tag)) => Some(Self::Message { source, tag }),
            _ => None,
        }
    }
}

/// The outcomes of a rank, each with the number of its request among those that the rank starts, ascending.
pub(super) type Outcomes = Box<[(u64, Outcome)]>;

/// A request that receives a message, or sends one.
#[derive(Clone, Copy)]
struct Entry {
    /// The message that it receives, if it does.
    receives: Option<Message>,
    number: u64,
    cancelled: bool,
}

/// Looks the outcomes of a rank up.
#[derive(Default)]
pub(super) struct Lookup {
    requests: HashMap<Request, (Entry, bool)>,
    /// Requests started so far.
    started: u64,
    found: Vec<(u64, Outcome)>,
}

/// The requests that a call starts at once, or later if it is persistent; `None` if it makes none.
pub(super) fn starts_at_once(record: &Record<'_>) -> Option<bool> {
    record.made_request()?;
    Some(!record.is_persistent())
}

impl Lookup {
    /// The next call of the rank.
    pub fn see(&mut self, phase: Phase, record: &Record<'_>) {
        match &record.call {
            Call::Complete(_) if phase == Phase::Begin => {}
            Call::Complete(completion) => completion.each(|reference, said| {
                if let Some(request) = record.request(reference) {
                    self.completed(request, &said);
                }
            }),
            _ if phase == Phase::End => {}
            Call::Start(all) => {
                for reference in all.iter() {
                    let number = self.next();
                    let request = record.request(reference);
                    let entry = request.and_then(|request| self.requests.get_mut(&request));
                    if let Some((entry, _)) = entry {
                        (entry.number, entry.cancelled) = (number, false);
                    }
                }
            }
            Call::Cancel(all) => {
                for request in all.iter().filter_map(|one| record.request(one)) {
                    if let Some((entry, _)) = self.requests.get_mut(&request) {
                        entry.cancelled = true;
                    }
                }
            }
            Call::Free(all) => {
                for request in all.iter().filter_map(|one| record.request(one)) {
                    if let Some((entry, _)) = self.requests.remove(&request) {
                        self.unknown(entry);
                    }
                }
            }
            call => self.makes(call, record),
        }
    }

    fn next(&mut self) -> u64 {
        self.started += 1;
        self.started - 1
    }

    fn makes(&mut self, call: &Call<'_>, record: &Record<'_>) {
        let (Some(request), Some(at_once)) = (record.made_request(), starts_at_once(record)) else {
            return;
        };
        let number = if at_once { self.next() } else { 0 };
        let receives = match call {
            Call::Receive(message, ..) => Some(*message),
            Call::SendReceive { received, .. } => Some(*received),
            // Only messages can be cancelled.
            Call::Send(..) => None,
            _ => return,
        };
        let entry = Entry {
            receives,
            number,
            cancelled: false,
        };
        self.requests.insert(request, (entry, at_once));
    }

    fn completed(&mut self, request: Request, said: &Said) {
        let Some(&(entry, once)) = self.requests.get(&request) else {
            return;
        };
        let outcome = match &entry.receives {
            Some(message) => Outcome::of(message, said),
            None => said.cancelled.then_some(Outcome::Nothing),
        };
        self.found
            .extend(outcome.map(|outcome| (entry.number, outcome)));
        if once {
            self.requests.remove(&request);
        } else if let Some((entry, _)) = self.requests.get_mut(&request) {
            // A cancellation ends with this start of a persistent request.
            entry.cancelled = false;
        }
    }

    fn unknown(&mut self, entry: Entry) {
        if entry.cancelled && entry.receives.is_some() {
            self.found.push((entry.number, Outcome::Unknown));
        }
    }

    /// Outcomes found so far.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// After the last call: all of them.
    pub fn finish(mut self) -> Outcomes {
        for (_, (entry, _)) in std::mem::take(&mut self.requests) {
            self.unknown(entry);
        }
        self.found.sort_unstable();
        self.found.dedup_by_key(|(number, _)| *number);
        self.found.into()
    }
}
