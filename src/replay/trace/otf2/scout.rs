//! Outcomes of the requests of a rank. An archive has them where requests complete; a replay needs them where requests are made.

use flitwise_formats::Error;
use flitwise_formats::otf2::{Collective, Event, Message, Reader, RequestNumber};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// The outcome of a receive or a collective.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// It received this message.
    Message(Message),
    /// It was this collective.
    Collective(Collective),
    /// It was cancelled, or never completed.
    Nothing,
}

/// The outcomes of requests, in the order in which they are made.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Of requests that were made and not given out.
    queue: VecDeque<Option<Outcome>>,
    /// Number of requests before the queue.
    before: u64,
    /// Requests that are under way, by their numbers in the order.
    open: HashMap<RequestNumber, u64>,
}

impl Outcomes {
    /// The next event.
    pub fn see(&mut self, event: &Event) {
        match *event {
            Event::IrecvRequest(request) | Event::CollectiveRequest(request) => {
                let number = self.before + self.queue.len() as u64;
                self.queue.push_back(None);
                if let Some(over) = self.open.insert(request, number) {
                    self.set(over, Outcome::Nothing);
                }
            }
            Event::Irecv(message, request) => self.complete(request, Outcome::Message(message)),
            Event::CollectiveComplete(call, request) => {
                self.complete(request, Outcome::Collective(call));
            }
            Event::RequestCancelled(request) => self.complete(request, Outcome::Nothing),
            // It stands in the order of collectives.
            Event::CollectiveEnd(call) => self.queue.push_back(Some(Outcome::Collective(call))),
            _ => {}
        }
    }

    fn complete(&mut self, request: RequestNumber, outcome: Outcome) {
        if let Some(number) = self.open.remove(&request) {
            self.set(number, outcome);
        }
    }

    fn set(&mut self, number: u64, outcome: Outcome) {
        let at = number.checked_sub(self.before);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(place) = at.and_then(|at| self.queue.get_mut(at)) {
            *place = Some(outcome);
        }
    }

    /// The next outcome, if it is known.
    pub fn next(&mut self) -> Option<Outcome> {
        let outcome = (*self.queue.front()?)?;
        self.queue.pop_front();
        self.before += 1;
        Some(outcome)
    }

    /// The next outcome after the last event.
    pub fn next_at_end(&mut self) -> Option<Outcome> {
        let outcome = self.queue.pop_front()?;
        self.before += 1;
        Some(outcome.unwrap_or(Outcome::Nothing))
    }
}

/// A second reader of a rank, which is ahead of the first one by as much as the next outcome needs.
#[derive(Debug)]
pub(super) struct Scout {
    reader: Reader,
    outcomes: Outcomes,
}

impl Scout {
    pub fn new(reader: Reader) -> Self {
        Self {
            reader,
            outcomes: Outcomes::default(),
        }
    }

    /// The outcome of the next receive with a request, or of the next collective, blocking or not.
    pub fn next(&mut self) -> Result<Outcome, Error> {
        loop {
            if let Some(outcome) = self.outcomes.next() {
                return Ok(outcome);
            }
            match self.reader.next_event()? {
                Some(next) => self.outcomes.see(&next.event),
                None => {
                    let last = self.outcomes.next_at_end();
                    return Ok(last.unwrap_or(Outcome::Nothing));
                }
            }
        }
    }
}
