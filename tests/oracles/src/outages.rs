//! Outages and degradations of links (`docs/model/fabric.md` §10), tick by tick.

use crate::wiring::End;
use flitwise_fabric::ids::SwitchPort;
use flitwise_fabric::spec::{Degradation, FabricSpec, Outage, Tick};

/// The outages of a link.
#[derive(Debug, Clone)]
pub struct Outages(Vec<Outage>);

impl Outages {
    /// The outages of the link between these ends. Both directions of a cable have the same ones.
    pub fn new(spec: &FabricSpec, ends: (End, End)) -> Self {
        let own = |outage: &&Outage| is_of(outage.at, ends);
        Self(spec.outages.iter().filter(own).copied().collect())
    }

    /// The link starts no packet in tick `now`.
    pub fn is_down(&self, now: Tick) -> bool {
        let mut all = self.0.iter();
        all.any(|outage| outage.from <= now && outage.until.is_none_or(|until| now < until))
    }

    /// The link is down in tick `now` and will come up again.
    pub fn will_end(&self, now: Tick) -> bool {
        let lasts = self.0.iter().any(|o| o.from <= now && o.until.is_none());
        self.is_down(now) && !lasts
    }
}

/// Whether a port is one of these ends of a link.
fn is_of(at: SwitchPort, (from, to): (End, End)) -> bool {
    [from, to].into_iter().any(|end| match end {
        End::Nic(_) => false,
        End::Port { switch, port } => (at.switch.index(), at.port.index()) == (switch, port),
    })
}

/// The degradations of the link between these ends.
pub fn degradations(spec: &FabricSpec, ends: (End, End)) -> impl Iterator<Item = Degradation> {
    let own = move |event: &&Degradation| is_of(event.at, ends);
    spec.degraded.iter().filter(own).copied()
}
