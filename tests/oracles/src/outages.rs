//! Outages of links (`docs/model/fabric.md` §10), tick by tick.

use crate::wiring::End;
use flitwise_fabric::spec::{FabricSpec, Outage, Tick};

/// The outages of a link.
#[derive(Debug, Clone)]
pub struct Outages(Vec<Outage>);

impl Outages {
    /// The outages of the link between these ends. Both directions of a cable have the same ones.
    pub fn new(spec: &FabricSpec, (from, to): (End, End)) -> Self {
        let is_at = |outage: &Outage, end: End| match end {
            End::Nic(_) => false,
            End::Port { switch, port } => {
                (outage.at.switch.index(), outage.at.port.index()) == (switch, port)
            }
        };
        let own = |outage: &&Outage| is_at(outage, from) || is_at(outage, to);
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
