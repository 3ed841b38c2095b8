//! What receives got that would take a message from anyone, or that were cancelled. A call that does not block returns before it
//! is known, so that it is looked up in advance: while the trace is checked.

use super::requests::Requests;
use flitwise_formats::dumpi::Status;
use flitwise_formats::dumpi::handle::{ANY_SOURCE, ANY_TAG};
use flitwise_formats::dumpi::{Call, Message, Request};

/// What a receive got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// No message: it was cancelled, or from no process.
    Nothing,
    /// A message of this rank of the communicator, with this tag if it is known.
    Message { source: i32, tag: Option<i32> },
}

impl Outcome {
    /// What the status of a receive from anyone, or with any tag, says.
    pub fn of(status: Status) -> Self {
        match status.cancelled || status.source < 0 {
            true => Self::Nothing,
            false => Self::Message {
                source: status.source,
                tag: status.tag.filter(|&tag| tag >= 0),
            },
        }
    }
}

/// True if a receive does not say which message it takes.
pub(super) fn is_open(message: &Message) -> bool {
    message.peer == ANY_SOURCE || message.tag == ANY_TAG
}

/// The outcomes of a rank, each with the number of its receive among those that do not block, ascending.
pub(super) type Outcomes = Box<[(u64, Outcome)]>;

/// A receive under way.
struct Started {
    number: u64,
    open: bool,
    cancelled: bool,
}

/// Looks the outcomes of a rank up.
#[derive(Default)]
pub(super) struct Lookup {
    /// Sends are there only to keep the order behind a number; of a persistent receive it is known whether it is open.
    requests: Requests<Option<Started>, Option<bool>>,
    /// Receives so far that do not block.
    receives: u64,
    found: Vec<(u64, Outcome)>,
}

impl Lookup {
    /// The next call of the rank.
    pub fn see(&mut self, call: &Call<'_>) {
        match call {
            Call::Irecv(_) => {
                if let (Some(message), Some(request)) = (call.received(), call.made_request()) {
                    let started = self.receive(is_open(&message));
                    self.requests.start(request, true, Some(started));
                }
            }
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
                    let open = (!sends).then(|| is_open(&message));
                    self.requests.make_persistent(request, open);
                }
                (None, Some(request)) => {
                    self.requests.start(request, false, None);
                }
                _ => call.completed(&mut |request, status| self.complete(request, status)),
            },
        }
    }

    fn receive(&mut self, open: bool) -> Started {
        let number = self.receives;
        self.receives += 1;
        Started {
            number,
            open,
            cancelled: false,
        }
    }

    fn start(&mut self, request: Request) {
        match self.requests.persistent(request) {
            Some(&Some(open)) => {
                let started = self.receive(open);
                self.requests.start_persistent(request, true, Some(started));
            }
            Some(None) => {
                self.requests.start_persistent(request, false, None);
            }
            None => {}
        }
    }

    fn complete(&mut self, request: Request, status: Option<Status>) {
        if let Some(started) = self.requests.take(request).flatten() {
            self.over(&started, status);
        }
    }

    fn over(&mut self, started: &Started, status: Option<Status>) {
        let outcome = match status {
            // A receive that says what it takes may have been cancelled all the same.
            Some(status) if started.open || status.cancelled => Outcome::of(status),
            None if started.cancelled => Outcome::Nothing,
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
