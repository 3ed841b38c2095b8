//! Degradations of links (`docs/model/fabric.md` §10), tick by tick.

use super::server::Server;
use crate::outages::degradations;
use crate::wiring::End;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::{Degradation, FabricSpec, Tick};

/// The servers that a link is over time: one of its own rate, and one for each degradation.
#[derive(Debug, Clone)]
pub struct Servers {
    own: Server,
    /// In the order of their rates, the lowest first.
    degraded: Vec<(Degradation, Server)>,
}

impl Servers {
    /// The servers of the link between these ends, of the rate `own`.
    pub fn new(spec: &FabricSpec, ends: (End, End), own: Ratio) -> Self {
        let flit_bytes = spec.units.flit_bytes;
        let mut degraded: Vec<_> = degradations(spec, ends)
            .filter(|event| event.rate < own)
            .map(|event| (event, Server::new(event.rate, flit_bytes)))
            .collect();
        degraded.sort_by_key(|(event, _)| event.rate);
        Self {
            own: Server::new(own, flit_bytes),
            degraded,
        }
    }

    /// The rate of a packet that starts in tick `now`; `None`: the link's own.
    fn rate_in(&self, now: Tick) -> Option<Ratio> {
        let lasts =
            |event: &Degradation| event.from <= now && event.until.is_none_or(|until| now < until);
        let found = self.degraded.iter().find(|(event, _)| lasts(event));
        found.map(|(event, _)| event.rate)
    }

    /// The server of a packet that starts in tick `now`: the first of its rate.
    pub fn at(&mut self, now: Tick) -> &mut Server {
        let rate = self.rate_in(now);
        let found = self.degraded.iter_mut();
        let mut found = found.filter(|(event, _)| Some(event.rate) == rate);
        found.next().map_or(&mut self.own, |(_, server)| server)
    }

    /// Whether a packet may start in tick `now`: at once behind one of the same rate, behind others on a whole tick.
    pub fn are_free(&self, now: Tick) -> bool {
        let rate = self.rate_in(now);
        let is_free = |own: Option<Ratio>, server: &Server| {
            if own == rate {
                server.is_free(now)
            } else {
                server.end() <= now
            }
        };
        let mut degraded = self.degraded.iter();
        is_free(None, &self.own)
            && degraded.all(|(event, server)| is_free(Some(event.rate), server))
    }

    /// First tick at whose beginning they are free.
    pub fn end(&self) -> Tick {
        let ends = self.degraded.iter().map(|(_, server)| server.end());
        ends.fold(self.own.end(), Tick::max)
    }

    /// Ticks of one flit at the slowest, rounded up.
    pub fn flit_ticks(&self) -> Tick {
        let ticks = self.degraded.iter().map(|(_, server)| server.flit_ticks());
        ticks.fold(self.own.flit_ticks(), Tick::max)
    }
}
