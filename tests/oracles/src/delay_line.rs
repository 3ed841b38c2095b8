//! A pipe of fixed length: what goes in comes out in the same order, at the
//! tick it is dated. Links, credit returns, crossbars and the pipelines that a
//! header passes are all delay lines.

use flitwise_fabric::spec::Tick;
use std::collections::VecDeque;

/// Things under way, each with the tick in which it comes out.
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

    /// Puts in `thing`, to come out at `date`.
    pub fn push(&mut self, date: Tick, thing: T) {
        if let Some((last, _)) = self.under_way.back() {
            assert!(
                *last <= date,
                "a delay line has one length, nothing overtakes"
            );
        }
        self.under_way.push_back((date, thing));
    }

    /// Takes out the next thing dated `now`, if there is one left.
    pub fn pop_due(&mut self, now: Tick) -> Option<T> {
        let (date, _) = self.under_way.front()?;
        assert!(*date >= now, "dated {date}, still under way at {now}");
        if *date > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, thing)| thing)
    }

    pub fn len(&self) -> usize {
        self.under_way.len()
    }
}
