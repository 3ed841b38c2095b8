//! `[[background]]` and `[measure]` as written.

pub(super) mod message;
pub(super) mod pattern;

use crate::config::background::message::{RawInjectionRate, RawMessage, rate, sizes, too_fine};
use crate::config::background::pattern::{RawFlow, RawPattern, RawPatternTable, pattern};
use crate::config::document::{ConfigError, given, refused};
use crate::config::qos::presets::OPA_5SL;
use crate::config::qos::service_level;
use crate::fabric::spec::FabricSpec;
use crate::replay::background::{Injection, MAX_FLOWS, Pattern};
use crate::units::{Picoseconds, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBackground {
    /// `"opa-5sl"`: a flow per service level of Hiperion; `"opa-5sl-equal"`: with equal rates.
    ///
    /// The flows replace `sl` and `message`: VO, VI, CL, BE and BK with the message sizes of Hiperion's Table 8. Their
    /// parts of `rate` are 10, 30, 50, 5 and 5 % with `"opa-5sl"` (Table 10, Inj.), 20 % each with `"opa-5sl-equal"`.
    /// Service levels of these names must exist.
    pub preset: Option<RawTrafficPreset>,
    /// Service level.
    #[schemars(extend("x-default" = "the only one, or `CL`"))]
    pub sl: Option<String>,
    /// Offered load of every sending NIC: flits per cycle, 0 to 1, exact; or a rate such as `"3.3GB/s"`.
    ///
    /// With 0 the flow sends nothing, and all other results are as without it. A cycle is the time of a flit on the
    /// fastest link, the largest of `link_speed`, `host_link_speed` and `link_speeds` on `voq` switches. Headers count;
    /// on hierarchical switches so does the padding of packets to whole flits.
    pub rate: RawInjectionRate,
    /// `"cbr"`: constant rate, random phase; `"bernoulli"`: equal probability in every tick.
    ///
    /// `"cbr"`: the next message follows one of m flits after m / `rate` cycles, exactly; each source has a random
    /// phase. `"bernoulli"` gives `rate` in the mean.
    #[schemars(extend("default" = "cbr"))]
    pub injection: Option<Injection>,
    /// Message size; or a mix: `[{ size = "128B", share = 0.8 }, { size = "4KiB", share = 0.2 }]`.
    ///
    /// Shares are of the messages, not of the bytes. The size is drawn anew for every message. OpaSim has
    /// SHORT_MESSAGE_SIZE and LONG_MESSAGE_SIZE, and the percentages of both.
    #[schemars(extend("x-default" = "the MTU of its service level"))]
    pub message: Option<RawMessage>,
    /// Destinations of each NIC.
    ///
    /// Messages that the fabric cannot take yet wait in the application queue of their NIC and service level, or, on
    /// `voq` fabrics and under congestion control, of their queue pair (NIC, service level, destination). The number of
    /// messages that wait has no limit, and they take no memory: Flitwise stores only the time of each source's next
    /// message, and makes the message when the NIC has room for it. Where a source draws its destinations (`uniform`)
    /// and each destination has a queue, Flitwise stores about 200 B for every pair of a source and a destination with
    /// waiting messages, however many there are, and finds the next message by drawing again, which takes about as many
    /// draws as there are destinations.
    #[schemars(extend("default" = "uniform"))]
    pub pattern: Option<RawPattern>,
    /// Time from which the flow creates messages.
    #[schemars(extend("default" = "0s"))]
    pub start: Option<Picoseconds>,
    /// Time from which the flow creates none.
    #[schemars(extend("x-default" = "never"))]
    pub stop: Option<Picoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum RawTrafficPreset {
    /// The five service levels of Hiperion with 10, 30, 50, 5 and 5 % of the rate.
    #[serde(rename = "opa-5sl")]
    Opa5Sl,
    /// The same with 20 % each.
    #[serde(rename = "opa-5sl-equal")]
    Opa5SlEqual,
}

/// A synthetic flow. It serialises as an entry of `experiment.background` in `docs/reference/result.md`, but for
/// the service level, which has a name there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Background {
    /// Service level.
    #[schemars(with = "String")]
    pub sl: u8,
    /// Offered load in flits per cycle (the time of a flit on the fastest link) and sending NIC,
    /// at most 1; with 0 the flow sends nothing.
    #[serde(rename = "rate_flits_per_cycle_per_nic")]
    pub rate: Ratio,
    /// How it is spread over time.
    pub injection: Injection,
    /// Sizes of the messages in bytes, each with its weight among all.
    #[serde(rename = "messages", serialize_with = "message::sizes_json")]
    #[schemars(with = "Vec<message::SizeForm>")]
    pub sizes: Vec<(u64, u64)>,
    /// The sources and destinations of the messages.
    #[serde(serialize_with = "pattern::pattern_json")]
    #[schemars(with = "pattern::PatternForm<'_>")]
    pub pattern: Pattern,
    /// Start in picoseconds.
    pub start_ps: u64,
    /// End of the creation of messages in picoseconds; `None`: never.
    pub stop_ps: Option<u64>,
}

/// The synthetic flows: an entry gives one, or several with a preset or a list of flows.
pub(crate) fn background(
    raw: &[RawBackground],
    fabric: &FabricSpec,
    seed: u64,
) -> Result<Vec<Background>, ConfigError> {
    let mut flows = Vec::new();
    for (i, entry) in raw.iter().enumerate() {
        let key = format!("background.{i}");
        let before = flows.len();
        match entry.preset {
            None => one_entry(entry, fabric, &key, &mut flows)?,
            Some(preset) => five_levels(preset, entry, fabric, &key, &mut flows)?,
        }
        if flows.len() > MAX_FLOWS {
            let problem = format!("there are more than {MAX_FLOWS} flows; leave some out");
            return refused(key, problem);
        }
        for (index, flow) in flows.iter().enumerate().skip(before) {
            let senders = flow.pattern.senders(&fabric.topology, seed, index as u64);
            senders.map_err(|e| ConfigError::new(format!("{key}.pattern"), e.to_string()))?;
        }
    }
    Ok(flows)
}

/// The settings that the flows of an entry have in common.
fn common(
    entry: &RawBackground,
    key: &str,
    fabric: &FabricSpec,
) -> Result<Background, ConfigError> {
    let start_ps = entry.start.map_or(0, |t| t.0);
    let stop_ps = entry.stop.map(|t| t.0);
    stop_after_start(start_ps, stop_ps, key)?;
    Ok(Background {
        sl: 0,
        rate: rate(entry.rate, fabric, &format!("{key}.rate"))?,
        injection: entry.injection.unwrap_or(Injection::Cbr),
        sizes: Vec::new(),
        pattern: Pattern::Uniform,
        start_ps,
        stop_ps,
    })
}

fn one_entry(
    entry: &RawBackground,
    fabric: &FabricSpec,
    key: &str,
    flows: &mut Vec<Background>,
) -> Result<(), ConfigError> {
    let sl = service_level(entry.sl.as_deref(), &fabric.qos, &format!("{key}.sl"))?;
    let mtu = fabric.qos.service_levels[usize::from(sl)].mtu_bytes.into();
    let sizes = sizes(entry.message.as_ref(), mtu, &format!("{key}.message"))?;
    let flow = Background {
        sl,
        sizes,
        ..common(entry, key, fabric)?
    };
    if let Some(RawPattern::With(RawPatternTable {
        flows: Some(list), ..
    })) = &entry.pattern
    {
        pattern(entry.pattern.as_ref(), &fabric.topology, key)?;
        for (j, pair) in list.iter().enumerate() {
            let key = format!("{key}.pattern.flows.{j}");
            flows.push(one_pair(&flow, pair, fabric, mtu, &key)?);
        }
        return Ok(());
    }
    flows.push(Background {
        pattern: pattern(entry.pattern.as_ref(), &fabric.topology, key)?,
        ..flow
    });
    Ok(())
}

/// A flow of a list; keys that it leaves out are taken from its entry.
fn one_pair(
    entry: &Background,
    pair: &RawFlow,
    fabric: &FabricSpec,
    mtu: u64,
    key: &str,
) -> Result<Background, ConfigError> {
    let mut flow = entry.clone();
    flow.pattern = Pattern::Pair {
        from: pair.from.nic_at(&fabric.topology, &format!("{key}.from"))?,
        to: pair.to.nic_at(&fabric.topology, &format!("{key}.to"))?,
    };
    if let Some(given) = pair.rate {
        flow.rate = rate(given, fabric, &format!("{key}.rate"))?;
    }
    if pair.message.is_some() {
        flow.sizes = sizes(pair.message.as_ref(), mtu, &format!("{key}.message"))?;
    }
    flow.start_ps = pair.start.map_or(flow.start_ps, |t| t.0);
    flow.stop_ps = pair.stop.map(|t| t.0).or(flow.stop_ps);
    stop_after_start(flow.start_ps, flow.stop_ps, key)?;
    Ok(flow)
}

/// The five service levels of Hiperion's Table 8, each with its share of the rate.
fn five_levels(
    preset: RawTrafficPreset,
    entry: &RawBackground,
    fabric: &FabricSpec,
    key: &str,
    flows: &mut Vec<Background>,
) -> Result<(), ConfigError> {
    if let Some(name) = given!(entry, sl, message).next() {
        return refused(
            format!("{key}.{name}"),
            "is decided by the preset; remove one of the two",
        );
    }
    if let Some(RawPattern::With(RawPatternTable { flows: Some(_), .. })) = &entry.pattern {
        return refused(
            format!("{key}.pattern"),
            "a list of flows has no preset; remove `preset` or take another pattern",
        );
    }
    let all = common(entry, key, fabric)?;
    for (name, _, message, percent, _) in OPA_5SL {
        let share = match preset {
            RawTrafficPreset::Opa5Sl => Ratio::new(percent, 100),
            RawTrafficPreset::Opa5SlEqual => Ratio::new(1, OPA_5SL.len() as u64),
        };
        let rate = share.and_then(|share| all.rate.checked_mul(share));
        flows.push(Background {
            sl: service_level(Some(name), &fabric.qos, &format!("{key}.preset"))?,
            rate: rate.ok_or_else(|| too_fine(&format!("{key}.rate")))?,
            sizes: vec![(message, 1)],
            pattern: pattern(entry.pattern.as_ref(), &fabric.topology, key)?,
            ..all.clone()
        });
    }
    Ok(())
}

fn stop_after_start(start: u64, stop: Option<u64>, key: &str) -> Result<(), ConfigError> {
    match stop {
        Some(stop) if stop <= start => refused(
            format!("{key}.stop"),
            "is not after the start; the flow would never send",
        ),
        _ => Ok(()),
    }
}

/// Refuses keys of an entry that every flow of its list overrides.
pub(crate) fn unused(entry: &RawBackground, key: &str) -> Result<(), ConfigError> {
    let flows = match &entry.pattern {
        Some(RawPattern::With(table)) => table.flows.as_deref().unwrap_or_default(),
        _ => &[],
    };
    if flows.is_empty() {
        return Ok(());
    }
    let overridden = [
        (
            "message",
            entry.message.is_some() && flows.iter().all(|flow| flow.message.is_some()),
        ),
        (
            "start",
            entry.start.is_some() && flows.iter().all(|flow| flow.start.is_some()),
        ),
        (
            "stop",
            entry.stop.is_some() && flows.iter().all(|flow| flow.stop.is_some()),
        ),
    ];
    match overridden.iter().find(|(_, all)| *all) {
        None => Ok(()),
        Some((name, _)) => refused(
            format!("{key}.{name}"),
            "every flow of the list has its own, which wins; remove it",
        ),
    }
}
