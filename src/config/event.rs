//! Resolves `[[event]]`: links that go down, come up or send at a lower rate during a run, and the routes around those that
//! are down (`docs/model/fabric.md` §10).

use crate::config::document::{ConfigError, refused};
use crate::config::fabric::voq::RawSpeed;
use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::{
    Degradation, FabricSpec, Outage, SpecError, TableChange, Tick, check_rate, flits_per_tick,
};
use crate::oblivious::{Failure, RoutingEngine};
use crate::units::{Latency, Ratio, TickLength};
use flitwise_base::quote::quoted;
use flitwise_base::units::human_time;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;

const REROUTE: &str = "fabric.reroute_after";

/// Lanes of a link of which `event.lanes` are left.
const LANES: u32 = 4;

/// A time in which links go down, come up or get another rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawEvent {
    /// Time of the event, such as `"100us"`, rounded up to ticks.
    pub at: Latency,
    /// Links, named as a [failure](#failures): `"s4 - s17"`, `"s4 port 7"`; all of a switch, `"s20"`; the one of a NIC, `"n3"`.
    pub what: String,
    /// `"down"`: they start no packet any more; `"up"`: all that events did to them ends. This, `rate` or `lanes`.
    pub action: Option<RawAction>,
    /// Lower rate from then on, such as `"25Gb/s"` or `"QDR x1"`.
    pub rate: Option<RawSpeed>,
    /// The same in lanes, 1 to 3 of 4.
    pub lanes: Option<u32>,
    /// Length; without it the event lasts until one `"up"`.
    #[serde(rename = "for")]
    pub length: Option<Latency>,
}

/// `event.action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawAction {
    /// The links start no packet any more.
    Down,
    /// All that events did to them ends.
    Up,
}

/// The effect of an event on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Down,
    Up,
    /// A rate in flits per tick.
    Rate(Ratio),
    Lanes(u32),
}

/// An event whose links are known.
struct Event {
    key: String,
    at: Tick,
    change: Change,
    until: Option<Tick>,
    links: Vec<SwitchPort>,
}

/// Gives `fabric` its outages and degradations and, `reroute_after` them, the tables that `engine` computes around them.
pub(crate) fn outages(
    events: &[RawEvent],
    reroute_after: Option<Latency>,
    engine: Option<RoutingEngine>,
    fabric: &mut FabricSpec,
) -> Result<(), ConfigError> {
    let events = events.iter().enumerate();
    let events = events.map(|(i, event)| resolved(event, format!("event.{i}"), fabric));
    let mut events: Vec<Event> = events.collect::<Result<_, _>>()?;
    // In one tick links come up before they go down.
    events.sort_by_key(|event| (event.at, event.change != Change::Up));
    for event in &events {
        match event.change {
            Change::Down => fabric.outages.extend(event.links.iter().map(|&at| Outage {
                at,
                from: event.at,
                until: event.until,
            })),
            Change::Up => end(event, fabric)?,
            Change::Rate(_) | Change::Lanes(_) => degrade(event, fabric)?,
        }
    }
    fabric.outages.sort_unstable();
    fabric.degraded.sort_unstable();
    match reroute_after {
        None => Ok(()),
        Some(after) => reroute(after.ticks(fabric.units.tick), engine, fabric),
    }
}

/// Refuses a time to reroute without an event.
pub(crate) fn unused(
    events: &[RawEvent],
    reroute_after: Option<Latency>,
) -> Result<(), ConfigError> {
    let goes_down = |event: &RawEvent| event.action == Some(RawAction::Down);
    if reroute_after.is_none() || events.iter().any(goes_down) {
        return Ok(());
    }
    let problem =
        "no link goes down during the run; remove it, or add an [[event]] with action = \"down\"";
    refused(REROUTE, problem)
}

fn resolved(raw: &RawEvent, key: String, fabric: &FabricSpec) -> Result<Event, ConfigError> {
    let tick = fabric.units.tick;
    let at = raw.at.ticks(tick);
    let change = change(raw, &key, fabric)?;
    let until = match (change, raw.length) {
        (_, None) => None,
        (Change::Up, Some(_)) => {
            let problem = "is the length of an outage, and this event ends some; remove it";
            return refused(format!("{key}.for"), problem);
        }
        (_, Some(length)) => match length.ticks(tick) {
            0 => return refused(format!("{key}.for"), "is 0; an event lasts a tick or more"),
            ticks => Some(at.saturating_add(ticks)),
        },
    };
    let links = Failure::parse(&raw.what).and_then(|what| what.ports(&fabric.topology));
    let links = links.map_err(|problem| ConfigError::new(format!("{key}.what"), problem))?;
    Ok(Event {
        key,
        at,
        change,
        until,
        links,
    })
}

/// The effect of the event `key` on its links.
fn change(raw: &RawEvent, key: &str, fabric: &FabricSpec) -> Result<Change, ConfigError> {
    match (raw.action, raw.rate, raw.lanes) {
        (Some(RawAction::Down), None, None) => Ok(Change::Down),
        (Some(RawAction::Up), None, None) => Ok(Change::Up),
        (None, Some(RawSpeed(bits)), None) => {
            let units = fabric.units;
            let rate = flits_per_tick(bits, units.tick, units.flit_bytes, "event");
            let rate = rate.map_err(|e| ConfigError::new(format!("{key}.rate"), e.problem))?;
            Ok(Change::Rate(rate))
        }
        (None, None, Some(lanes)) => {
            if !(1..LANES).contains(&lanes) {
                let problem = format!(
                    "{lanes} lanes are left of {LANES}; write 1 to {}, or give the rate as `rate`",
                    LANES - 1
                );
                return refused(format!("{key}.lanes"), problem);
            }
            Ok(Change::Lanes(lanes))
        }
        _ => {
            let problem = "an event has one of `action`, `rate` and `lanes`";
            refused(key.to_owned(), problem)
        }
    }
}

/// Gives the links of `event` its rate.
fn degrade(event: &Event, fabric: &mut FabricSpec) -> Result<(), ConfigError> {
    for &at in &event.links {
        let own = fabric.link_rate(at.switch, at.port);
        let (key, rate) = match event.change {
            Change::Lanes(lanes) => {
                let part = Ratio::new(lanes.into(), LANES.into());
                ("lanes", part.and_then(|part| own.checked_mul(part)))
            }
            Change::Rate(rate) => ("rate", Some(rate)),
            Change::Down | Change::Up => return Ok(()),
        };
        let key = format!("{}.{key}", event.key);
        let Some(rate) = rate.filter(|&rate| rate < own) else {
            let topology = &fabric.topology;
            let problem = format!(
                "{} of {} is no faster; give a lower rate, or name other links",
                topology.port_text(at),
                topology.switch_text(at.switch)
            );
            return refused(key, problem);
        };
        check_rate(rate, "event").map_err(|e| ConfigError::new(key, e.problem))?;
        let ends = |until: Option<Tick>| until.unwrap_or(Tick::MAX);
        let covers = |other: &Degradation| {
            let lasts = other.from <= event.at && ends(other.until) >= ends(event.until);
            other.at == at && other.rate <= rate && lasts
        };
        if fabric.degraded.iter().any(covers) {
            let problem = format!(
                "{} of {} is slower already, and the lowest rate holds; end that event first, with `for` or action = \"up\"",
                fabric.topology.port_text(at),
                fabric.topology.switch_text(at.switch)
            );
            return refused(event.key.clone(), problem);
        }
        fabric.degraded.push(Degradation {
            at,
            from: event.at,
            until: event.until,
            rate,
        });
    }
    Ok(())
}

/// Ends the outages and degradations of the links of `event`.
fn end(event: &Event, fabric: &mut FabricSpec) -> Result<(), ConfigError> {
    let mut is_any = false;
    let mut end = |at: SwitchPort, from: Tick, until: &mut Option<Tick>| {
        let lasts = from < event.at && until.is_none_or(|until| until > event.at);
        if lasts && event.links.contains(&at) {
            *until = Some(event.at);
            is_any = true;
        }
    };
    for outage in &mut fabric.outages {
        end(outage.at, outage.from, &mut outage.until);
    }
    for degradation in &mut fabric.degraded {
        end(degradation.at, degradation.from, &mut degradation.until);
    }
    if is_any {
        return Ok(());
    }
    let problem = "brings up links that are up; remove the event, or let it come later than the one that takes them down \
                   or slows them";
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
