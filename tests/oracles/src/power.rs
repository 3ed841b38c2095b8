//! Power states of links (`docs/model/link-power.md`), tick by tick.

use crate::wiring::End;
use flitwise_fabric::spec::{LinkPower, ManagedLinks, Tick};
use std::ops::AddAssign;

/// Ticks of a link in each power state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateTicks {
    /// With all lanes.
    pub up: Tick,
    /// On the low lanes, or on none.
    pub down: Tick,
    /// Going up.
    pub waking: Tick,
    /// Going down.
    pub sleeping: Tick,
    /// The number of times that it had to go up.
    pub wakes: u64,
    /// Bytes of packets on the low lanes.
    pub low_bytes: u64,
}

impl AddAssign for StateTicks {
    fn add_assign(&mut self, other: Self) {
        self.up += other.up;
        self.down += other.down;
        self.waking += other.waking;
        self.sleeping += other.sleeping;
        self.wakes += other.wakes;
        self.low_bytes += other.low_bytes;
    }
}

/// The power state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Carries packets on all lanes; idle for this number of ticks.
    Up {
        idle: Tick,
    },
    /// Goes down for this number of further ticks.
    Sleeping {
        left: Tick,
    },
    Down,
    /// Goes up for this number of further ticks.
    Waking {
        left: Tick,
    },
}

/// The power state of a link at its sender.
#[derive(Debug, Clone)]
pub struct PowerState<'s> {
    power: &'s LinkPower,
    threshold: u64,
    state: State,
    /// It has to go up.
    must_wake: bool,
    /// Bytes that wait for the link.
    waiting: u64,
    pub counts: StateTicks,
    sampled: StateTicks,
}

impl<'s> PowerState<'s> {
    /// The state of the link between these ends; `None` if it is always up.
    pub fn new(power: Option<&'s LinkPower>, (from, to): (End, End)) -> Option<Self> {
        let power = power?;
        let (of_nic, to_nic) = (matches!(from, End::Nic(_)), matches!(to, End::Nic(_)));
        if power.links == ManagedLinks::Switches && (of_nic || to_nic) {
            return None;
        }
        Some(Self {
            power,
            threshold: power.low().map_or(0, |low| {
                if of_nic {
                    low.nic_threshold_bytes
                } else {
                    low.switch_threshold_bytes
                }
            }),
            state: State::Up { idle: 0 },
            must_wake: false,
            waiting: 0,
            counts: StateTicks::default(),
            sampled: StateTicks::default(),
        })
    }

    /// Begins a tick. `is_clear`: the packets for the low lanes have left.
    pub fn begin_tick(&mut self, is_clear: bool) {
        self.state = match self.state {
            State::Up { idle } if idle == self.power.down_after => State::Sleeping {
                left: self.power.sleep,
            },
            State::Waking { left: 0 } => State::Up { idle: 0 },
            state => state,
        };
        if self.state == (State::Sleeping { left: 0 }) {
            self.state = State::Down;
        }
        self.wake(is_clear);
    }

    /// Goes up, if it must and can.
    fn wake(&mut self, is_clear: bool) {
        if self.must_wake && self.state == State::Down && is_clear {
            self.must_wake = false;
            self.state = State::Waking {
                left: self.power.wake,
            };
        }
    }

    fn want(&mut self, is_clear: bool) {
        if matches!(self.state, State::Sleeping { .. } | State::Down) && !self.must_wake {
            self.must_wake = true;
            self.counts.wakes += 1;
        }
        self.wake(is_clear);
    }

    /// A packet begins to wait for the link.
    pub fn packet_waits(&mut self, bytes: u32, is_clear: bool) {
        self.observe(self.waiting + u64::from(bytes), is_clear);
    }

    /// So much waits for the link.
    pub fn observe(&mut self, waiting: u64, is_clear: bool) {
        self.waiting = waiting;
        if self.waiting > self.threshold {
            self.want(is_clear);
        }
    }

    /// A packet that waits is granted or, at a NIC, started.
    pub fn packet_leaves(&mut self, bytes: u32) {
        self.waiting -= u64::from(bytes);
        if self.is_slow() {
            self.counts.low_bytes += u64::from(bytes);
        }
    }

    /// An announcement comes.
    pub fn announced(&mut self, is_clear: bool) {
        match &mut self.state {
            State::Up { idle } => *idle = 0,
            _ => self.want(is_clear),
        }
    }

    /// Whether a packet that is granted now takes the low lanes.
    pub fn is_slow(&self) -> bool {
        let is_down = matches!(self.state, State::Sleeping { .. } | State::Down);
        is_down && !self.must_wake
    }

    /// A packet may start, on the low lanes if `slow`.
    pub fn may_start(&self, slow: bool) -> bool {
        match self.state {
            State::Up { .. } => {
                assert!(!slow, "what is to go on the low lanes has gone");
                true
            }
            State::Down => slow && self.power.low().is_some(),
            State::Sleeping { .. } | State::Waking { .. } => false,
        }
    }

    /// The end of a tick. `is_empty`: all packets granted have left the link.
    pub fn end_tick(&mut self, is_empty: bool) {
        match &mut self.state {
            State::Up { idle } => {
                self.counts.up += 1;
                *idle = if is_empty && self.waiting == 0 {
                    *idle + 1
                } else {
                    0
                };
            }
            State::Sleeping { left } => {
                self.counts.sleeping += 1;
                *left -= 1;
            }
            State::Down => self.counts.down += 1,
            State::Waking { left } => {
                self.counts.waking += 1;
                *left -= 1;
            }
        }
    }

    /// The counts since the sample before.
    pub fn sample(&mut self) -> StateTicks {
        let (now, before) = (self.counts, self.sampled);
        self.sampled = now;
        StateTicks {
            up: now.up - before.up,
            down: now.down - before.down,
            waking: now.waking - before.waking,
            sleeping: now.sleeping - before.sleeping,
            wakes: now.wakes - before.wakes,
            low_bytes: now.low_bytes - before.low_bytes,
        }
    }

    /// It goes up or down by time alone.
    pub fn is_changing(&self) -> bool {
        self.must_wake || matches!(self.state, State::Sleeping { .. } | State::Waking { .. })
    }
}
