//! Whatever moves flits at an exact rate: links, send engines, sinks (section 1).

use flitwise_base::units::Ratio;
use flitwise_fabric::spec::Tick;

/// A server of `byte / tick` bytes per tick; moments are counted in parts of a tick, `tick`
/// of them, in which a byte takes `byte` parts.
#[derive(Debug, Clone)]
pub struct Server {
    tick: u128,
    byte: u128,
    flit_bytes: u128,
    free: u128,
}

/// The service of a packet by a server.
#[derive(Debug, Clone)]
pub struct Service {
    /// The tick in which each flit leaves.
    pub leaves: Vec<Tick>,
    /// The last tick of the packet on the server.
    pub last: Tick,
}

impl Server {
    /// A server of `rate` flits of `flit_bytes` per tick.
    #[must_use]
    pub fn new(rate: Ratio, flit_bytes: u32) -> Self {
        Self {
            tick: u128::from(rate.num()) * u128::from(flit_bytes),
            byte: rate.den().into(),
            flit_bytes: flit_bytes.into(),
            free: 0,
        }
    }

    /// Whether a packet may start in `tick`.
    #[must_use]
    pub fn is_free(&self, tick: Tick) -> bool {
        self.free < (u128::from(tick) + 1) * self.tick
    }

    /// A packet of `bytes` bytes and `flits` flits starts in `tick`; the flits are available from
    /// the ticks of `available` on, or all of them.
    pub fn serve(
        &mut self,
        tick: Tick,
        (bytes, flits): (u32, u32),
        available: Option<&[Tick]>,
    ) -> Service {
        assert!(self.is_free(tick), "a server serves one packet at a time");
        let start = self.free.max(u128::from(tick) * self.tick);
        let flit = self.byte * self.flit_bytes;
        let line = |i: u32| ((start + u128::from(i) * flit) / self.tick) as Tick;
        let here = |i: u32| available.map_or(0, |ticks| ticks[i as usize]);
        let leaves = (0..flits).map(|i| line(i).max(here(i))).collect();
        let parts = u128::from(bytes) * self.byte;
        self.free = start + parts.max(self.tick);
        if let Some(ticks) = available {
            let mut after = |i: usize| {
                let rest = parts.saturating_sub(i as u128 * flit);
                let end = u128::from(ticks[i]) * self.tick + rest;
                self.free = self.free.max(end);
            };
            // The last flit follows the one before.
            let last = flits as usize - 1;
            after(last);
            if last > 0 {
                after(last - 1);
            }
        }
        Service {
            leaves,
            last: self.end() - 1,
        }
    }

    /// The packet just served takes `ticks` ticks longer before it leaves.
    pub fn hold(&mut self, ticks: Tick, service: &mut Service) {
        self.free += u128::from(ticks) * self.tick;
        service.last += ticks;
        for leaves in &mut service.leaves {
            *leaves += ticks;
        }
    }

    /// First tick at whose beginning the server is free.
    #[must_use]
    pub fn end(&self) -> Tick {
        self.free.div_ceil(self.tick) as Tick
    }

    /// Ticks of one flit, rounded up.
    pub(crate) fn flit_ticks(&self) -> Tick {
        (self.byte * self.flit_bytes).div_ceil(self.tick) as Tick
    }
}
