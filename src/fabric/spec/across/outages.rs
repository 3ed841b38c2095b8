//! Outages and degradations: the answers that need the whole fabric.

use crate::error::error;
use crate::ids::SwitchPort;
use crate::spec::outages::{Degradation, MAX_OUTAGE_TICKS};
use crate::spec::{FabricSpec, SpecError, Tick, check_rate};
use crate::topology::Peer;
use flitwise_base::units::Ratio;

const KEY: &str = "event";

impl FabricSpec {
    /// Checks the outages and degradations, and that each change of the tables comes after the one before.
    pub(in crate::spec) fn validate_outages(&self) -> Result<(), SpecError> {
        for outage in &self.outages {
            self.validate_event(outage.at, outage.from, outage.until)?;
        }
        for degradation in &self.degraded {
            self.validate_event(degradation.at, degradation.from, degradation.until)?;
            self.validate_rate(degradation)?;
        }
        let has_events = !self.outages.is_empty() || !self.degraded.is_empty();
        if self.link_power.is_some() && has_events {
            let problem = "links that go down by power.policy have no events; remove the events or the policy";
            return error(KEY, problem.into());
        }
        let changes = &self.routing.changes;
        if !changes.is_empty() && self.routing.forwarding.is_none() {
            let problem = "only computed forwarding tables change; name fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \
                           \"dfsssp\"";
            return error("fabric.reroute_after", problem.into());
        }
        if !changes.is_sorted_by(|a, b| a.from < b.from) {
            return error(KEY, "two changes of the tables in one tick".into());
        }
        Ok(())
    }

    /// Checks a time in which something happens to the cable at `at`.
    fn validate_event(
        &self,
        at: SwitchPort,
        from: Tick,
        until: Option<Tick>,
    ) -> Result<(), SpecError> {
        let has_cable = at.switch.index() < self.topology.switches() as usize
            && self.topology.has_port(at.switch, at.port)
            && self.topology.peer(at.switch, at.port) != Peer::None;
        if !has_cable {
            let problem = format!("switch {} port {} has no cable", at.switch, at.port);
            return error(KEY, problem);
        }
        let last = until.unwrap_or(from.saturating_add(1));
        if last <= from || last >= MAX_OUTAGE_TICKS {
            let problem = format!(
                "an event from tick {from} to {last}: it must end after it begins, and before tick {MAX_OUTAGE_TICKS}"
            );
            return error(KEY, problem);
        }
        Ok(())
    }

    /// Checks that the cable can have the rate of `degradation`.
    fn validate_rate(&self, degradation: &Degradation) -> Result<(), SpecError> {
        let Degradation { at, rate, .. } = *degradation;
        let own = self.link_rate(at.switch, at.port);
        if rate > own {
            let problem = format!(
                "switch {} port {} sends {own} flits per tick, and {rate} in an event; give a rate below its own",
                at.switch, at.port
            );
            return error(KEY, problem);
        }
        check_rate(rate, KEY)
    }

    /// The rates of all degradations, each once.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn degraded_rates(&self) -> Vec<Ratio> {
        let mut rates: Vec<Ratio> = self.degraded.iter().map(|event| event.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }
}
