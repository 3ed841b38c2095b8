//! Match queues: receives that are posted, and messages that came unexpected.
//!
//! Every entry has a number in the order of its queue. Entries are found through their exact
//! values and their wildcards, so a long queue costs no more than a short one.

use super::call::{CommId, Tag};
use crate::ids::RankId;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// The pattern of envelopes that a receive accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Communicator.
    pub comm: CommId,
    /// Sending rank; `None` for any.
    pub from: Option<RankId>,
    /// Tag; `None` for any.
    pub tag: Option<Tag>,
}

/// The envelope of a message, by which it is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Sending rank.
    pub from: RankId,
    /// Communicator.
    pub comm: CommId,
    /// Tag.
    pub tag: Tag,
    /// Number among the envelopes of the sender to the receiver in the communicator.
    pub number: u32,
    /// The transfer of its payload.
    pub transfer: Transfer,
}

/// The transfer of the payload of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// With the envelope.
    Eager,
    /// After a clear to send for this slot of the sender.
    Rendezvous {
        /// Slot of the send.
        send: u32,
    },
}

impl Pattern {
    /// Whether a receive of this would take `envelope`.
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        envelope.patterns().contains(self)
    }

    fn is_wildcard(&self) -> bool {
        self.from.is_none() || self.tag.is_none()
    }
}

impl Envelope {
    /// The patterns that accept it; the first has no wildcard.
    fn patterns(&self) -> [Pattern; 4] {
        let comm = self.comm;
        let pattern = |from, tag| Pattern { comm, from, tag };
        let (from, tag) = (Some(self.from), Some(self.tag));
        [
            pattern(from, tag),
            pattern(None, tag),
            pattern(from, None),
            pattern(None, None),
        ]
    }
}

/// A queue whose first entry needs no memory of its own: most patterns have one receive or message.
#[derive(Debug)]
struct Line<T> {
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }
}

impl<T> Line<T> {
    fn push(&mut self, entry: T) {
        match self.first {
            None => self.first = Some(entry),
            Some(_) => self.rest.push_back(entry),
        }
    }

    fn pop(&mut self) -> Option<T> {
        std::mem::replace(&mut self.first, self.rest.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

/// The two queues of a rank. `R` is the data that the rank keeps for a posted receive.
#[derive(Debug)]
pub struct MatchQueues<R> {
    /// Posted receives by their patterns, each with its number.
    posted: HashMap<Pattern, Line<(u64, R)>>,
    /// Number of those that have a wildcard.
    posted_wildcards: usize,
    /// Unexpected messages by number.
    unexpected: HashMap<u64, Envelope>,
    /// Numbers of unexpected messages, ascending, by the patterns that accept them: by every one
    /// [if wildcards are indexed](Self::index_wildcards), else by the exact one. They may name messages
    /// that were taken through another pattern.
    index: HashMap<Pattern, Line<u64>>,
    /// The rank has asked with a wildcard.
    wildcards: bool,
    next: u64,
}

impl<R> Default for MatchQueues<R> {
    fn default() -> Self {
        Self {
            posted: HashMap::new(),
            posted_wildcards: 0,
            unexpected: HashMap::new(),
            index: HashMap::new(),
            wildcards: false,
            next: 0,
        }
    }
}

impl<R> MatchQueues<R> {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Takes the receive that was posted first of those that accept `envelope`. If there is
    /// none, keeps it as unexpected.
    pub fn arrive(&mut self, envelope: Envelope) -> Option<R> {
        let patterns = envelope.patterns();
        let asked = match self.posted_wildcards {
            0 => &patterns[..1],
            _ => &patterns[..],
        };
        let first =
            |pattern: &Pattern| Some((self.posted.get(pattern)?.first.as_ref()?.0, *pattern));
        let Some((_, pattern)) = asked.iter().filter_map(first).min_by_key(|first| first.0) else {
            let number = self.number();
            self.unexpected.insert(number, envelope);
            for &pattern in self.indexed(&patterns) {
                self.index.entry(pattern).or_default().push(number);
            }
            return None;
        };
        let queue = self.posted.get_mut(&pattern)?;
        let (_, receive) = queue.pop()?;
        if queue.is_empty() {
            self.posted.remove(&pattern);
        }
        self.posted_wildcards -= usize::from(pattern.is_wildcard());
        Some(receive)
    }

    /// Takes the unexpected message that was taken up first of those that `pattern` accepts. If
    /// there is none, posts the receive.
    pub fn receive(&mut self, pattern: Pattern, receive: R) -> Option<(R, Envelope)> {
        self.index_wildcards(&pattern);
        while let Some(number) = self.index.get_mut(&pattern).and_then(Line::pop) {
            if let Some(envelope) = self.unexpected.remove(&number) {
                self.drop_taken(envelope);
                return Some((receive, envelope));
            }
        }
        let number = self.number();
        let queue = self.posted.entry(pattern).or_default();
        queue.push((number, receive));
        self.posted_wildcards += usize::from(pattern.is_wildcard());
        None
    }

    /// Whether a receive of `pattern` would take a message at once.
    pub fn has(&mut self, pattern: &Pattern) -> bool {
        self.index_wildcards(pattern);
        let mut numbers = self.index.get(pattern).into_iter().flat_map(Line::iter);
        numbers.any(|number| self.unexpected.contains_key(number))
    }

    /// The patterns of an envelope by which unexpected messages are indexed.
    fn indexed<'p>(&self, patterns: &'p [Pattern; 4]) -> &'p [Pattern] {
        if self.wildcards {
            patterns
        } else {
            &patterns[..1]
        }
    }

    /// Indexes the unexpected messages by patterns with wildcards from the first such `pattern` on:
    /// many ranks never use one.
    fn index_wildcards(&mut self, pattern: &Pattern) {
        if self.wildcards || !pattern.is_wildcard() {
            return;
        }
        self.wildcards = true;
        let mut numbers: Vec<u64> = self.unexpected.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            for &pattern in &self.unexpected[&number].patterns()[1..] {
                self.index.entry(pattern).or_default().push(number);
            }
        }
    }

    /// Shortens the lists that may name `envelope`, which was taken, so that they don't grow for
    /// ever under patterns that no receive uses.
    fn drop_taken(&mut self, envelope: Envelope) {
        for pattern in self.indexed(&envelope.patterns()) {
            let Some(queue) = self.index.get_mut(pattern) else {
                continue;
            };
            let taken = |number: &u64| !self.unexpected.contains_key(number);
            while queue.first.as_ref().is_some_and(taken) {
                queue.pop();
            }
            if queue.is_empty() {
                self.index.remove(pattern);
            }
        }
    }

    /// The posted receives with their numbers, in no particular order.
    pub fn posted(&self) -> impl Iterator<Item = (&Pattern, u64, &R)> {
        let of_pattern = |(pattern, queue)| {
            let queue: &Line<(u64, R)> = queue;
            queue.iter().map(move |(number, r)| (pattern, *number, r))
        };
        self.posted.iter().flat_map(of_pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern() -> impl Strategy<Value = Pattern> {
        let from = prop::option::of(0_u32..3);
        let tag = prop::option::of(0_i32..3);
        (0_u32..2, from, tag).prop_map(|(comm, from, tag)| Pattern {
            comm: CommId::new(comm),
            from: from.map(RankId::new),
            tag: tag.map(Tag),
        })
    }

    fn envelope() -> impl Strategy<Value = Envelope> {
        (0_u32..2, 0_u32..3, 0_i32..3, any::<u32>()).prop_map(|(comm, from, tag, send)| Envelope {
            comm: CommId::new(comm),
            from: RankId::new(from),
            tag: Tag(tag),
            number: send,
            transfer: Transfer::Rendezvous { send },
        })
    }

    fn accepts(pattern: &Pattern, e: &Envelope) -> bool {
        pattern.comm == e.comm
            && pattern.from.is_none_or(|from| from == e.from)
            && pattern.tag.is_none_or(|tag| tag == e.tag)
    }

    proptest! {
        /// The queues match as two plain lists do, and keep nothing that was taken.
        #[test]
        fn queues_match_like_lists(
            steps in prop::collection::vec((any::<bool>(), pattern(), envelope()), 0..200),
        ) {
            let mut queues = MatchQueues::default();
            let (mut posted, mut unexpected) = (Vec::new(), Vec::new());
            for (number, (receives, pattern, envelope)) in steps.into_iter().enumerate() {
                if receives {
                    let at = unexpected.iter().position(|e| accepts(&pattern, e));
                    prop_assert_eq!(queues.has(&pattern), at.is_some());
                    let expected = at.map(|at| unexpected.remove(at));
                    let got = queues.receive(pattern, number).map(|(_, envelope)| envelope);
                    prop_assert_eq!(got, expected);
                    if expected.is_none() {
                        posted.push((pattern, number));
                    }
                } else {
                    let at = posted.iter().position(|(p, _)| accepts(p, &envelope));
                    let expected = at.map(|at| posted.remove(at).1);
                    prop_assert_eq!(queues.arrive(envelope), expected);
                    if expected.is_none() {
                        unexpected.push(envelope);
                    }
                }
                prop_assert_eq!(queues.unexpected.len(), unexpected.len());
                prop_assert_eq!(queues.posted().count(), posted.len());
                let wildcards = posted.iter().filter(|(p, _)| p.is_wildcard()).count();
                prop_assert_eq!(queues.posted_wildcards, wildcards);
            }
        }
    }

    #[test]
    fn patterns_that_no_receive_uses_do_not_pile_up() {
        let mut queues = MatchQueues::default();
        let (comm, from, tag) = (CommId::new(0), RankId::new(1), Tag(2));
        let transfer = Transfer::Eager;
        let envelope = Envelope {
            comm,
            from,
            tag,
            number: 0,
            transfer,
        };
        let (from, tag) = (Some(from), Some(tag));
        let exact = Pattern { comm, from, tag };
        for _ in 0..1000 {
            assert_eq!(queues.arrive(envelope), None);
            assert!(queues.receive(exact, ()).is_some());
        }
        assert!(queues.index.is_empty() && queues.unexpected.is_empty());
    }
}
