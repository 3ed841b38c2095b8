//! Which request a wait means: traces name requests by their messages, not by a number.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::action::Request;

/// The requests of one rank that no wait has taken yet, by number: 0 for the first `isend` or `irecv` of the rank.
///
/// # Examples
/// ```
/// use flitwise_formats::ti::{Request, Requests};
///
/// let from = |src| Request { src, dst: Some(0), tag: Some(7) };
/// let mut requests = Requests::default();
/// let (first, second) = (requests.start(from(Some(1))), requests.start(from(None)));
/// // A wait names the message that came, although its receive accepted any.
/// assert_eq!(requests.take(from(Some(2))), Some(second));
/// assert_eq!(requests.take_all(), [first]);
/// // Recorders name requests again that a waitall has taken: they are done.
/// assert_eq!(requests.take(from(Some(1))), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Requests {
    next: u64,
    pending: HashMap<Request, VecDeque<u64>>,
}

impl Requests {
    /// Starts a request for a message as the `isend` or `irecv` names it; its number.
    pub fn start(&mut self, message: Request) -> u64 {
        let number = self.next;
        self.next += 1;
        self.pending.entry(message).or_default().push_back(number);
        number
    }

    /// Takes the oldest request with this message, or else one that accepts it; `None` if there is none, which means
    /// that it is done already.
    pub fn take(&mut self, message: Request) -> Option<u64> {
        let Request { src, dst, tag } = message;
        let accepting = [
            message,
            Request {
                src: None,
                ..message
            },
            Request {
                tag: None,
                ..message
            },
            Request {
                src: None,
                dst,
                tag: None,
            },
        ];
        let found = accepting
            .into_iter()
            .find(|key| self.pending.contains_key(key));
        let found = match found {
            None if src.is_none() || dst.is_none() || tag.is_none() => self.oldest(message),
            found => found,
        };
        let key = found?;
        let queue = self.pending.get_mut(&key)?;
        let number = queue.pop_front();
        if queue.is_empty() {
            self.pending.remove(&key);
        }
        number
    }

    /// The message of the oldest request that `any` accepts.
    fn oldest(&self, any: Request) -> Option<Request> {
        let accepts = |any: Option<u32>, one: Option<u32>| any.is_none() || any == one;
        let fits = |key: &&Request| {
            accepts(any.src, key.src) && accepts(any.dst, key.dst) && accepts(any.tag, key.tag)
        };
        let oldest = self.pending.keys().filter(fits);
        oldest
            .min_by_key(|key| self.pending.get(*key).and_then(|q| q.front()))
            .copied()
    }

    /// Takes all requests, the oldest first.
    pub fn take_all(&mut self) -> Vec<u64> {
        let mut all: Vec<u64> = self.pending.drain().flat_map(|(_, queue)| queue).collect();
        all.sort_unstable();
        all
    }

    /// All requests, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.pending.values().flatten().copied().collect();
        all.sort_unstable();
        all
    }

    /// Number of requests that no wait has taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.values().map(VecDeque::len).sum()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
