//! Resolves `[[event]]`: links that go down and come up during a run, and the routes around them
//! (`docs/model/fabric.md` §10).

use crate::config::document::{ConfigError, refused};
use crate::config::keys::RawExperiment;
use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::{FabricSpec, Outage, SpecError, TableChange, Tick};
use crate::oblivious::{Failure, RoutingEngine};
use crate::units::{Latency, TickLength};
use flitwise_base::quote::quoted;
use flitwise_base::units::human_time;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;

const REROUTE: &str = "fabric.reroute_after";

/// A time in which links go down or come up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawEvent {
    /// Time of the event, such as `"100us"`, rounded up to ticks.
    pub at: Latency,
    /// Links, named as a [failure](#failures): `"s4 - s17"`, `"s4 port 7"`; all of a switch, `"s20"`; the one of a NIC, `"n3"`.
    pub what: String,
    /// `"down"`: they start no packet any more; `"up"`: all their outages end.
    pub action: RawAction,
    /// Length of the outage; without it the links stay down until an event `"up"`.
    #[serde(rename = "for")]
    pub length: Option<Latency>,
}

/// `event.action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawAction {
    /// The links start no packet any more.
    Down,
    /// All their outages end.
    Up,
}

/// An event whose links are known.
struct Event {
    key: String,
    at: Tick,
    action: RawAction,
    until: Option<Tick>,
    links: Vec<SwitchPort>,
}

/// Gives `fabric` its outages and, with `fabric.reroute_after`, the tables that `engine` computes around them.
pub(crate) fn outages(
    raw: &RawExperiment,
    engine: Option<RoutingEngine>,
    fabric: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let events = raw.event.iter().enumerate();
    let events = events.map(|(i, event)| resolved(event, format!("event.{i}"), fabric));
    let mut events: Vec<Event> = events.collect::<Result<_, _>>()?;
    // In one tick links come up before they go down.
    events.sort_by_key(|event| (event.at, event.action == RawAction::Down));
    for event in &events {
        match event.action {
            RawAction::Down => fabric.outages.extend(event.links.iter().map(|&at| Outage {
                at,
                from: event.at,
                until: event.until,
            })),
            RawAction::Up => end(event, fabric)?,
        }
    }
    fabric.outages.sort_unstable();
    match raw.fabric.reroute_after {
        None => Ok(()),
        Some(after) => reroute(after.ticks(fabric.units.tick), engine, fabric),
    }
}

/// Refuses a time to reroute without an event.
pub(crate) fn unused(raw: &RawExperiment) -> Result<(), ConfigError> {
    if raw.fabric.reroute_after.is_none() || !raw.event.is_empty() {
        return Ok(());
    }
    let problem = "no link goes down during the run; remove it, or add an [[event]]";
    refused(REROUTE, problem)
}

fn resolved(raw: &RawEvent, key: String, fabric: &FabricSpec) -> Result<Event, ConfigError> {
    let tick = fabric.units.tick;
    let at = raw.at.ticks(tick);
    let until = match (raw.action, raw.length) {
        (_, None) => None,
        (RawAction::Up, Some(_)) => {
            let problem = "is the length of an outage, and this event ends some; remove it";
            return refused(format!("{key}.for"), problem);
        }
        (RawAction::Down, Some(length)) => match length.ticks(tick) {
            0 => return refused(format!("{key}.for"), "is 0; an outage takes a tick or more"),
            ticks => Some(at.saturating_add(ticks)),
        },
    };
    let links = Failure::parse(&raw.what).and_then(|what| what.ports(&fabric.topology));
    let links = links.map_err(|problem| ConfigError::new(format!("{key}.what"), problem))?;
    Ok(Event {
        key,
        at,
        action: raw.action,
        until,
        links,
    })
}

/// Ends the outages of the links of `event`.
fn end(event: &Event, fabric: &mut FabricSpec) -> Result<(), ConfigError> {
    let mut is_any = false;
    for outage in &mut fabric.outages {
        let lasts = outage.from < event.at && outage.until.is_none_or(|until| until > event.at);
        if lasts && event.links.contains(&outage.at) {
            outage.until = Some(event.at);
            is_any = true;
        }
    }
    if is_any {
        return Ok(());
    }
    let problem = "brings up links that are up; remove the event, or let it come later than the one that takes them down";
    refused(format!("{}.action", event.key), problem)
}

/// The tables that take over `after` ticks after a link goes down or comes up.
fn reroute(
    after: Tick,
    engine: Option<RoutingEngine>,
    fabric: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let Some(engine) = engine else {
        let problem = "needs a routing that computes tables; name fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \
                       \"dfsssp\", and no fabric.forwarding";
        return refused(REROUTE, problem);
    };
    let ends = |outage: &Outage| [Some(outage.from), outage.until];
    let times: BTreeSet<Tick> = fabric.outages.iter().flat_map(ends).flatten().collect();
    let mut before = BTreeSet::new();
    for time in times {
        let lasts = |o: &&Outage| o.from <= time && o.until.is_none_or(|until| until > time);
        let down: BTreeSet<SwitchPort> = fabric
            .outages
            .iter()
            .filter(lasts)
            .map(|outage| outage.at)
            .collect();
        if down == before {
            continue;
        }
        let failed = fabric.routing.failed.iter().map(|link| link[0]);
        let failures = failed
            .chain(down.iter().copied())
            .map(|at| Failure::at(&fabric.topology, at));
        let failures: Vec<Failure> = failures.collect();
        let routed = engine.tables_of(&fabric.topology, &failures, 0);
        let routed = routed.map_err(|e| without_routes(e, time, fabric.units.tick))?;
        fabric.routing.changes.push(TableChange {
            from: time.saturating_add(after),
            tables: routed.tables,
            failed: routed.failed,
        });
        before = down;
    }
    Ok(())
}

/// The error that there are no tables around the links that are down from tick `time` on.
fn without_routes(error: SpecError, time: Tick, tick: TickLength) -> ConfigError {
    let problem = format!(
        "the links that are down from {} on leave no tables: {}; let fewer go down at a time, or remove \
         fabric.reroute_after",
        quoted(&human_time(tick.ps(time))),
        error.problem
    );
    ConfigError::new("event", problem)
}
