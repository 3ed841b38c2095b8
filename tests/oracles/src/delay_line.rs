//! A pipe of fixed length: things leave it in the order in which they entered, each in its
//! tick. Links, credit returns, crossbars and the pipelines that a
//! header passes are all delay lines.

use flitwise_fabric::spec::Tick;
use std::collections::VecDeque;

/// Things under way, each with the tick in which it leaves.
#[derive(Debug, Clone)]
pub struct DelayLine<T> {
    under_way: VecDeque<(Tick, T)>,
}

impl<T> DelayLine<T> {
    pub fn new() -> Self {
        Self {
            under_way: VecDeque::new(),
        }
    }

    /// Puts in `thing`, to leave in tick `at`.
    pub fn push(&mut self, at: Tick, thing: T) {
        if let Some((last, _)) = self.under_way.back() {
            assert!(
                *last <= at,
                "a delay line has one length, nothing overtakes"
            );
        }
        self.under_way.push_back((at, thing));
    }

    /// Takes the next thing that leaves in tick `now`, if there is one.
    pub fn pop_due(&mut self, now: Tick) -> Option<T> {
        let (at, _) = self.under_way.front()?;
        assert!(
            *at >= now,
            "due in tick {at}, still under way in tick {now}"
        );
        if *at > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, thing)| thing)
    }

    pub fn len(&self) -> usize {
        self.under_way.len()
    }
}
