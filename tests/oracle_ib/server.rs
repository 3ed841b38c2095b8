//! Whatever moves flits at an exact rate: links, send engines, sinks (section 1).

use flitwise::fabric::spec::Tick;
use flitwise::units::Ratio;

/// A server of p/q flits per tick; moments are in units of 1/p tick.
#[derive(Debug, Clone)]
pub struct Server {
    p: u128,
    q: u128,
    free: u128,
}

/// The packet that a server is at.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    start: u128,
    p: u128,
    q: u128,
}

impl Server {
    pub fn new(rate: Ratio) -> Self {
        Self {
            p: rate.num().into(),
            q: rate.den().into(),
            free: 0,
        }
    }

    pub fn is_free(&self, tick: Tick) -> bool {
        self.free < (u128::from(tick) + 1) * self.p
    }

    /// A packet starts in `tick`.
    pub fn start(&self, tick: Tick) -> Line {
        assert!(self.is_free(tick), "a server serves one packet at a time");
        Line {
            start: self.free.max(u128::from(tick) * self.p),
            p: self.p,
            q: self.q,
        }
    }

    /// The packet of `line` has `flits` flits, the last of which was available in tick
    /// `available`.
    pub fn finish(&mut self, line: Line, flits: u32, available: Tick) {
        let by_rate = line.start + u128::from(flits) * self.q;
        self.free = by_rate.max(u128::from(available) * self.p + self.q);
    }

    /// First tick at whose beginning the server is free.
    pub fn end(&self) -> Tick {
        self.free.div_ceil(self.p) as Tick
    }

    /// ⌈q/p⌉: ticks of one flit.
    pub fn flit_ticks(&self) -> Tick {
        self.q.div_ceil(self.p) as Tick
    }
}

impl Line {
    /// Earliest tick of flit `index`.
    pub fn tick(&self, index: u32) -> Tick {
        ((self.start + u128::from(index) * self.q) / self.p) as Tick
    }
}
