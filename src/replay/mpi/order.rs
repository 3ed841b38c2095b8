//! Restores the order of envelopes that overtook each other.

use super::call::CommId;
use super::matching::Envelope;
use crate::ids::RankId;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// A peer in a communicator: envelopes between two ranks are ordered in each.
pub type Peer = (RankId, CommId);

/// Numbers the envelopes that a rank sends, and puts in order those that arrive at it.
#[derive(Debug, Default)]
pub struct Order {
    /// Number of the next envelope to each destination.
    next: HashMap<Peer, u32>,
    incoming: HashMap<Peer, Incoming>,
}

#[derive(Debug, Default)]
struct Incoming {
    /// Number of the next envelope to be taken up.
    expected: u32,
    /// The envelopes that overtook it, if any ever did: few do, and a rank has many peers.
    #[expect(clippy::box_collection, reason = "it is small while there are none")]
    early: Option<Box<BTreeMap<u32, Envelope>>>,
}

impl Order {
    /// The number of the next envelope to `to`. `None` after 2³² of them.
    pub fn number(&mut self, to: Peer) -> Option<u32> {
        let next = self.next.entry(to).or_default();
        let number = *next;
        *next = next.checked_add(1)?;
        Some(number)
    }

    /// Adds to `out` the envelopes that can be taken up now that this one has arrived, each with
    /// its number.
    pub fn arrived(&mut self, envelope: Envelope, number: u32, out: &mut Vec<(Envelope, u32)>) {
        let incoming = self
            .incoming
            .entry((envelope.from, envelope.comm))
            .or_default();
        if number != incoming.expected {
            let early = incoming.early.get_or_insert_default();
            early.insert(number, envelope);
            return;
        }
        out.push((envelope, number));
        incoming.expected += 1;
        let Some(early) = &mut incoming.early else {
            return;
        };
        while let Some(next) = early.remove(&incoming.expected) {
            out.push((next, incoming.expected));
            incoming.expected += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::Tag;
    use super::super::matching::Transfer;
    use super::*;

    #[test]
    fn envelopes_wait_for_those_they_overtook() {
        let mut order = Order::default();
        let envelope = |tag| Envelope {
            from: RankId::new(4),
            comm: CommId::new(0),
            tag: Tag(tag),
            number: tag as u32,
            transfer: Transfer::Eager,
        };
        let mut out = Vec::new();
        for number in [2, 1] {
            order.arrived(envelope(number), number as u32, &mut out);
            assert!(out.is_empty());
        }
        order.arrived(envelope(0), 0, &mut out);
        let expected = [0, 1, 2].map(|n| (envelope(n), n as u32));
        assert_eq!(out, expected);
        let peer = (RankId::new(1), CommId::new(3));
        assert_eq!(order.number(peer), Some(0));
        assert_eq!(order.number(peer), Some(1));
    }
}
