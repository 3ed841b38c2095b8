//! `links` of `result.json`: directed links and what they did.

use super::schema::{Nullable, in_unit};
use crate::config::Plan;
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStateTicks, LinkStats};
use crate::results::link_ends::link_end;
use crate::results::links::held_up_share;
use crate::results::measures::utilisation;
use schemars::JsonSchema;
use serde::Serialize;

/// A directed link.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Link {
    /// The sending end: `nic 3` or `switch 2 port 7`.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// Flits sent.
    pub flits: u64,
    /// Packets sent.
    pub packets: u64,
    /// Time in which the link was busy; at most 1.
    ///
    /// The part of the counted ticks, the first and the last included: on hierarchical switches `flits` / ticks; on
    /// InfiniBand the bytes of the packets at the rate of the link. All of a packet counts in the tick in which it
    /// starts; the part is cut at 1.
    #[schemars(extend("unit" = "fraction"))]
    pub utilisation: f64,
    /// Time in which packets were ready and the link free, but credits lacking (like XmitWait).
    pub credit_wait_ns: f64,
    /// Time down while packets waited, if any.
    ///
    /// It was asleep, going up or down, or in an outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down_wait_ns: Option<f64>,
    /// Time from ready to leaving, sum over packets.
    pub queue_wait_ns: f64,
    /// Time that packets waited for this link, sum over packets.
    ///
    /// In input buffers of its switch, in front of it, and at a NIC for credits.
    pub waited_ns: f64,
    /// Time that packets waited because of this link, sum over packets.
    pub held_up_ns: f64,
    /// Its part of the sum of `held_up_ns` over all links.
    pub held_up_share: f64,
    /// Where links have power states: time in each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = in_unit("ns"))]
    pub states_ns: Option<ByState>,
    /// Where links have power states: number of times that it had to go up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes: Option<u64>,
    /// With bit errors: tries to send a packet that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// With [names of operators](../reference/fabric-command.md#names-of-operators): the sending end.
    ///
    /// The host, or switch and port as on the device. Only where the topology has these names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// With these names: the GUID of its device; null if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Nullable<String>", extend("unit" = "`0x` and 16 hex digits"))]
    pub from_guid: Option<Option<String>>,
    /// As `links[].from_name`, of the receiving end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_name: Option<String>,
    /// As `links[].from_guid`, of the receiving end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Nullable<String>", extend("unit" = "`0x` and 16 hex digits"))]
    pub to_guid: Option<Option<String>>,
}

/// A number for each power state of links ([link power](../model/link-power.md#1-states)).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
#[non_exhaustive]
pub struct ByState {
    /// Up.
    pub up: f64,
    /// Down.
    pub down: f64,
    /// On the way up.
    pub waking: f64,
    /// On the way down.
    pub sleeping: f64,
}

impl ByState {
    /// Returns the time in each state, converted by `of`.
    pub(super) fn of(ticks: LinkStateTicks, of: impl Fn(Tick) -> f64) -> Self {
        Self {
            up: of(ticks.up),
            down: of(ticks.down),
            waking: of(ticks.waking),
            sleeping: of(ticks.sleeping),
        }
    }
}

/// These links, in their order.
pub(super) fn links(plan: &Plan, stats: &FabricStats, links: &[&LinkStats]) -> Vec<Link> {
    links.iter().map(|link| of(plan, stats, link)).collect()
}

fn of(plan: &Plan, stats: &FabricStats, link: &LinkStats) -> Link {
    let LinkStats {
        from,
        to,
        flits,
        // For the utilisation.
        units: _,
        packets,
        credit_wait_ticks,
        down_wait_ticks,
        queue_wait_ticks,
        waited_ticks,
        held_up_ticks,
        states,
        retries,
        // For the utilisation.
        longer_ticks: _,
    } = *link;
    let fabric = &plan.experiment.fabric;
    let ns = |ticks: u64| fabric.units.tick.ns(ticks.into());
    let names = fabric.topology.names();
    let label = |end: LinkEnd| names.map(|names| names.end_label(end));
    let guid = |end: LinkEnd| names.map(|names| names.end_guid(end));
    Link {
        from: link_end(from),
        to: link_end(to),
        flits,
        packets,
        utilisation: utilisation(&plan.experiment, stats, link),
        credit_wait_ns: ns(credit_wait_ticks),
        down_wait_ns: (down_wait_ticks > 0).then(|| ns(down_wait_ticks)),
        queue_wait_ns: ns(queue_wait_ticks),
        waited_ns: ns(waited_ticks),
        held_up_ns: ns(held_up_ticks),
        held_up_share: held_up_share(stats, link),
        states_ns: states.map(|states| ByState::of(states, ns)),
        wakes: states.map(|states| states.wakes),
        retries,
        from_name: label(from),
        from_guid: guid(from),
        to_name: label(to),
        to_guid: guid(to),
    }
}
