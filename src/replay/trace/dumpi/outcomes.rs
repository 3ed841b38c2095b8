//! The messages of receives that would take a message from anyone, and the cancelled sends and receives. A call that does not
//! block returns before it is known, so that it is looked up in advance: while the trace is checked.

use super::requests::Requests;
use flitwise_formats::dumpi::Status;
use flitwise_formats::dumpi::handle::{ANY_SOURCE, ANY_TAG};
use flitwise_formats::dumpi::{Call, Message, Request};

/// The outcome of a receive or of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// No message: it was cancelled, or is from no process.
    Nothing,
    /// A receive that was cancelled, of which the recording does not say whether a message had come before: it takes one
    /// that no other receive takes.
    Unknown,
    /// A message of this rank of the communicator, with this tag if it is known.
    Message { source: i32, tag: Option<i32> },
}

impl Outcome {
    /// The status of a receive from anyone, or with any tag.
    pub fn of(status: Status) -> Self {
        if status.cancelled || status.source < 0 {
            Self::Nothing
        } else {
            Self::Message {
                source: status.source,
                tag: status.tag.filter(|&tag| tag >= 0),
            }
        }
    }
}

/// Whether a receive does not say which message it takes.
pub(super) fn is_open(message: &Message) -> bool {
    message.peer == ANY_SOURCE || message.tag == ANY_TAG
}

/// The outcomes of a rank, each with the number of its message among those that the rank sends and receives without blocking,
/// ascending.
pub(super) type Outcomes = Box<[(u64, Outcome)]>;

/// A send or a receive.
#[derive(Clone, Copy)]
enum TransferKind {
    Send,
    Receive { open: bool },
}

impl TransferKind {
    fn of(message: &Message, sends: bool) -> Self {
        if sends {
            Self::Send
        } else {
            Self::Receive {
                open: is_open(message),
            }
        }
    }

    fn receives(self) -> bool {
        matches!(self, Self::Receive { .. })
    }
}

/// A send or a receive under way.
struct Started {
    number: u64,
    kind: TransferKind,
    cancelled: bool,
}

/// Looks the outcomes of a rank up.
#[derive(Default)]
pub(super) struct Lookup {
    /// `None`: the program completes it by itself.
    requests: Requests<Option<Started>, TransferKind>,
    /// Sends and receives so far that do not block.
    started: u64,
    found: Vec<(u64, Outcome)>,
}

impl Lookup {
    /// The next call of the rank.
    pub fn see(&mut self, call: &Call<'_>) {
        match call {
            Call::Start(c) => self.start(c.request),
            Call::Startall(c) => c.requests.iter().for_each(|request| self.start(request)),
            Call::Cancel(c) => {
                if let Some(Some(started)) = self.requests.first_mut(c.request) {
                    started.cancelled = true;
                }
            }
            Call::RequestFree(c) => {
                let freed = self.requests.free(c.request).flatten();
                freed
                    .into_iter()
                    .for_each(|started| self.over(&started, None));
            }
            _ => match (call.persistent(), call.made_request()) {
                (Some((message, sends)), Some(request)) => {
                    let kind = TransferKind::of(&message, sends);
                    self.requests.make_persistent(request, kind);
                }
                (None, Some(request)) => self.makes(call, request),
                _ => call.completed(&mut |request, status| self.complete(request, status)),
            },
        }
    }

    /// A call makes a request that is not persistent.
    fn makes(&mut self, call: &Call<'_>, request: Request) {
        let sent = call.sent().map(|message| TransferKind::of(&message, true));
        let received = || {
            call.received()
                .map(|message| TransferKind::of(&message, false))
        };
        let kind = sent.or_else(received);
        let receives = kind.is_some_and(TransferKind::receives);
        let started = kind.map(|kind| self.message(kind));
        self.requests.start(request, receives, started);
    }

    fn message(&mut self, kind: TransferKind) -> Started {
        let number = self.started;
        self.started += 1;
        Started {
            number,
            kind,
            cancelled: false,
        }
    }

    fn start(&mut self, request: Request) {
        if let Some(&kind) = self.requests.persistent(request) {
            let started = self.message(kind);
            self.requests
                .start_persistent(request, kind.receives(), Some(started));
        }
    }

    fn complete(&mut self, request: Request, status: Option<Status>) {
        if let Some(started) = self.requests.take(request).flatten() {
            self.over(&started, status);
        }
    }

    fn over(&mut self, started: &Started, status: Option<Status>) {
        let outcome = match (started.kind, status) {
            // Whatever a message says, it may have been cancelled.
            (_, Some(status)) if status.cancelled => Outcome::Nothing,
            (TransferKind::Receive { open: true }, Some(status)) => Outcome::of(status),
            // Few libraries cancel sends: without a status it counts as sent.
            (TransferKind::Receive { .. }, None) if started.cancelled => Outcome::Unknown,
            _ => return,
        };
        self.found.push((started.number, outcome));
    }

    /// Outcomes found so far.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// After the last call: all of them.
    pub fn finish(mut self) -> Outcomes {
        let requests = std::mem::take(&mut self.requests);
        for started in requests.into_operations().flatten() {
            self.over(&started, None);
        }
        self.found.sort_unstable();
        self.found.into()
    }
}
