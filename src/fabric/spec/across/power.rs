//! Power states of links: the answers that need the whole fabric.

use crate::error::error;
use crate::ids::{PortId, SwitchId};
use crate::spec::power::{DownState, LinkPower, LowState};
use crate::spec::{FabricSpec, Routing, SpecError, Tick};

/// Most lanes of a link.
const MAX_LANES: u32 = 64;

/// Longest transition, and longest time before a link goes down, in ticks: 2^40, far beyond what
/// hardware takes.
const MAX_TICKS: Tick = 1 << 40;

impl LinkPower {
    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        for (key, ticks, least) in [
            ("power.transition", self.wake, 1),
            ("power.sleep", self.sleep, 0),
            ("power.down_after", self.down_after, 1),
        ] {
            if !(least..=MAX_TICKS).contains(&ticks) {
                let problem =
                    format!("{ticks} ticks; it must be from {least} to {MAX_TICKS} ticks");
                return error(key, problem);
            }
        }
        self.validate_kind(spec)?;
        match &self.down {
            DownState::Off => self.validate_ahead(spec),
            DownState::Low(_) if self.wake_ahead > 0 => error(
                "power.wake_ahead",
                "has no effect with policy \"high-low\": how much waits decides when a link goes \
                 up; leave it out or write policy = \"on-off\""
                    .into(),
            ),
            DownState::Low(low) => low.validate(spec),
        }
    }

    /// Links of hierarchical switches move one flit per tick, on all lanes or not at all.
    fn validate_kind(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        const CURE: &str = "take fabric.kind = \"voq\" or \"input-queued\"";
        match spec.switch.kind().links() {
            Some(_) => Ok(()),
            None if self.low().is_some() => error(
                "power.policy",
                format!(
                    "\"high-low\" needs links that can be slower, and the links of hierarchical switches move a flit in each tick; {CURE}, or policy = \"on-off\""
                ),
            ),
            None if self.wake_ahead > 0 => error(
                "power.wake_ahead",
                format!("hierarchical switches have no announcements; remove it, or {CURE}"),
            ),
            None => Ok(()),
        }
    }

    /// Announcements need a route that is known in advance.
    fn validate_ahead(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        match spec.key_beside_destination() {
            Some(key) if self.wake_ahead > 0 => error(
                key,
                "power.wake_ahead announces packets to links further on, which the destination \
                 alone must decide; remove the key, or power.wake_ahead"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}

impl LowState {
    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        if !(2..=MAX_LANES).contains(&self.lanes) {
            let problem = format!("{}; a link has from 2 to {MAX_LANES} lanes", self.lanes);
            return error("power.lanes", problem);
        }
        if !(1..self.lanes).contains(&self.low_lanes) {
            let problem = format!(
                "{}; it must be from 1 to {}, fewer than power.lanes",
                self.low_lanes,
                self.lanes - 1
            );
            return error("power.low_lanes", problem);
        }
        let ports = (0..spec.topology.switches()).flat_map(|switch| {
            let ports = 0..spec.topology.radix();
            ports.map(move |port| (SwitchId::new(switch), PortId::new(port)))
        });
        for (switch, port) in ports {
            if self.rate(spec.link_rate(switch, port)).is_none() {
                let problem = "the rate of a link on its low lanes is too fine a fraction";
                return error("power.low_lanes", problem.into());
            }
        }
        Ok(())
    }
}

impl FabricSpec {
    /// Whether a link can be down: asleep, going up or down, or in an outage.
    #[must_use]
    pub fn links_go_down(&self) -> bool {
        self.link_power.is_some() || !self.outages.is_empty()
    }

    /// Whether it is its own [`FabricSpec::always_up`].
    #[must_use]
    pub fn is_always_up(&self) -> bool {
        let unhampered = self.degraded.is_empty() && self.bit_errors.is_none();
        !self.links_go_down() && unhampered && self.routing.changes.is_empty()
    }

    /// The same fabric with links that are always up, at full speed and free of errors, and without changes of its tables.
    #[must_use]
    pub fn always_up(&self) -> Self {
        Self {
            link_power: None,
            outages: Vec::new(),
            degraded: Vec::new(),
            bit_errors: None,
            routing: Routing {
                changes: Vec::new(),
                ..self.routing.clone()
            },
            ..self.clone()
        }
    }

    /// Checks the power states of links; every kind of switch has them.
    pub(in crate::spec) fn validate_link_power(&self) -> Result<(), SpecError> {
        match &self.link_power {
            Some(power) => power.validate(self),
            None => Ok(()),
        }
    }
}
