//! The departures of one buffer whose credits are not all counted back.

use super::train::Train;
use std::collections::VecDeque;

/// Departures in order. Two of them, nearly always enough, lie in place, so that
/// the whole is one cache line; the rest overflows.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Departures {
    near: [Train; 2],
    /// Departures after those in `near`; only in use while `near` is full.
    #[expect(
        clippy::box_collection,
        reason = "the whole is one cache line, and the rest is mostly absent"
    )]
    rest: Option<Box<VecDeque<Train>>>,
    len: u8,
}

impl Departures {
    #[inline]
    pub(super) fn push(&mut self, train: Train) {
        debug_assert!(
            self.iter().last().is_none_or(|last| last.end <= train.end),
            "one packet leaves a buffer at a time"
        );
        if self.len < 2 {
            self.near[usize::from(self.len)] = train;
            self.len += 1;
        } else {
            self.rest.get_or_insert_default().push_back(train);
        }
    }

    #[inline]
    pub(super) fn front(&mut self) -> Option<&mut Train> {
        if self.len == 0 {
            None
        } else {
            Some(&mut self.near[0])
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.near[0] = self.near[1];
        match self.rest.as_mut().and_then(|rest| rest.pop_front()) {
            Some(next) => self.near[1] = next,
            None => self.len -= 1,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Train> {
        self.near[..usize::from(self.len)]
            .iter()
            .chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_stay_in_order_through_overflow() {
        let train = |end| Train::link(0, (1, 1), end);
        let mut departures = Departures::default();
        let (mut pushed, mut popped) = (0, 0);
        for step in [3, -1, 2, -4, 1, 5, -6] {
            for _ in 0..i32::max(step, 0) {
                departures.push(train(pushed));
                pushed += 1;
            }
            for _ in 0..i32::max(-step, 0) {
                assert_eq!(departures.front().map(|t| t.end), Some(popped));
                departures.pop();
                popped += 1;
            }
            let ends: Vec<_> = departures.iter().map(|t| t.end).collect();
            assert_eq!(ends, (popped..pushed).collect::<Vec<_>>());
        }
        assert_eq!(departures.iter().count(), 0);
    }
}
