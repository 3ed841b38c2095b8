//! Resolves `[[background]]` and `[measure]`.

use super::error::ConfigError;
use super::experiment::{Background, Measure};
use super::presets::OPA_5SL;
use super::raw_place::RawPlace;
use super::raw_traffic::{
    RawBackground, RawFlow, RawInjection, RawInjectionRate, RawMeasure, RawMessage, RawPattern,
    RawPatternName, RawPatternTable, RawTrafficPreset,
};
use super::resolve_jobs::service_level;
use crate::fabric::spec::{FabricSpec, Tick, flits_per_tick};
use crate::fabric::topology::Topology;
use crate::replay::background::{Injection, MAX_FLOWS, MAX_SIZES, Pattern};
use crate::units::{Latency, Ratio};

/// Most loads in one experiment.
const MAX_LOADS: usize = 10_000;
/// Most ticks of a warm-up or a window: ten minutes at 640 ps.
const MAX_TICKS: Tick = 1 << 40;
/// Most batches that must agree.
const MAX_BATCHES: u32 = 1000;
/// Defaults of `[measure]` in picoseconds: warm-up, its end at the latest, batch, window.
const WARM_UP_PS: u64 = 20_000_000;
const MAX_WARM_UP_PS: u64 = 500_000_000;
const BATCH_PS: u64 = 5_000_000;
const WINDOW_PS: u64 = 50_000_000;
const BATCHES: u32 = 4;

/// The synthetic flows: an entry gives one, or several with a preset or a list of flows.
pub(super) fn background(
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
            return Err(ConfigError::new(key, problem));
        }
        for (index, flow) in flows.iter().enumerate().skip(before) {
            let senders = flow.pattern.senders(&fabric.topology, seed, index as u64);
            senders.map_err(|e| ConfigError::new(format!("{key}.pattern"), e.to_string()))?;
        }
    }
    Ok(flows)
}

/// What the flows of an entry have in common.
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
        injection: match entry.injection {
            None | Some(RawInjection::Cbr) => Injection::Cbr,
            Some(RawInjection::Bernoulli) => Injection::Bernoulli,
        },
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

/// A flow of a list; what it does not say is as in its entry.
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
    let taken = [
        ("sl", entry.sl.is_some()),
        ("message", entry.message.is_some()),
    ];
    if let Some((name, _)) = taken.iter().find(|(_, given)| *given) {
        return Err(ConfigError::new(
            format!("{key}.{name}"),
            "is decided by the preset; remove one of the two",
        ));
    }
    if let Some(RawPattern::With(RawPatternTable { flows: Some(_), .. })) = &entry.pattern {
        return Err(ConfigError::new(
            format!("{key}.pattern"),
            "a list of flows has no preset; remove `preset` or take another pattern",
        ));
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
        Some(stop) if stop <= start => Err(ConfigError::new(
            format!("{key}.stop"),
            "is not after the start; the flow would never send",
        )),
        _ => Ok(()),
    }
}

fn too_fine(key: &str) -> ConfigError {
    ConfigError::new(
        key,
        "is no fraction of 64-bit numbers; take a rounder number",
    )
}

/// In flits per cycle, the time of a flit on the fastest link.
fn rate(raw: RawInjectionRate, fabric: &FabricSpec, key: &str) -> Result<Ratio, ConfigError> {
    let load = match raw {
        RawInjectionRate::Load(load) => load,
        RawInjectionRate::Absolute(rate) => {
            let bits = rate.0.checked_mul(Ratio::whole(8));
            let (units, fastest) = (fabric.units, fabric.fastest_link());
            let load = bits.and_then(|bits| {
                let flits = flits_per_tick(bits, units.tick, units.flit_bytes, "background");
                flits.ok()?.checked_div(fastest)
            });
            load.ok_or_else(|| too_fine(key))?
        }
    };
    if load > Ratio::ONE {
        return Err(ConfigError::new(
            key,
            format!("{load} flits per cycle and NIC; it must be at most 1"),
        ));
    }
    Ok(load)
}

/// Sizes in bytes with whole weights.
fn sizes(raw: Option<&RawMessage>, mtu: u64, key: &str) -> Result<Vec<(u64, u64)>, ConfigError> {
    let mix = match raw {
        None => return Ok(vec![(mtu, 1)]),
        Some(RawMessage::One(bytes)) => return Ok(vec![(bytes.0, 1)]),
        Some(RawMessage::Mix(mix)) => mix,
    };
    let bad = |problem: String| ConfigError::new(key, problem);
    if mix.is_empty() || mix.len() > MAX_SIZES {
        return Err(bad(format!(
            "lists {} sizes; list 1 to {MAX_SIZES}",
            mix.len()
        )));
    }
    if mix.iter().any(|part| part.share.is_zero()) {
        return Err(bad("a share is 0; leave this size out".to_owned()));
    }
    // The common denominator of the shares.
    let unit = mix.iter().try_fold(1_u64, |unit, part| {
        let shared = Ratio::new(unit, part.share.den())?;
        unit.checked_mul(shared.den())
    });
    let weight = |share: Ratio| share.checked_mul(Ratio::whole(unit?)).map(Ratio::num);
    let weights: Option<Vec<u64>> = mix.iter().map(|part| weight(part.share)).collect();
    let sum = weights
        .as_ref()
        .and_then(|all| all.iter().try_fold(0_u64, |sum, &w| sum.checked_add(w)));
    let (Some(unit), Some(weights), Some(sum)) = (unit, weights, sum) else {
        return Err(too_fine(key));
    };
    if sum != unit {
        let sum = Ratio::new(sum, unit).map_or(0.0, Ratio::to_f64);
        return Err(bad(format!("the shares add up to {sum}; they must to 1")));
    }
    Ok(mix.iter().map(|part| part.size.0).zip(weights).collect())
}

fn pattern(
    raw: Option<&RawPattern>,
    topology: &Topology,
    key: &str,
) -> Result<Pattern, ConfigError> {
    let table = match raw {
        None => return Ok(Pattern::Uniform),
        Some(RawPattern::Named(name)) => {
            return Ok(match name {
                RawPatternName::Uniform => Pattern::Uniform,
                RawPatternName::BitReversal => Pattern::BitReversal,
                RawPatternName::BitComplement => Pattern::BitComplement,
                RawPatternName::Transpose => Pattern::Transpose,
                RawPatternName::Shuffle => Pattern::Shuffle,
                RawPatternName::Tornado => Pattern::Tornado,
                RawPatternName::Neighbour => Pattern::Neighbour { offset: 1 },
                RawPatternName::Permutation => Pattern::Permutation,
            });
        }
        Some(RawPattern::With(table)) => table,
    };
    let RawPatternTable {
        neighbour,
        group_shift,
        hotspot,
        fraction,
        permutation,
        flows,
    } = table;
    match (
        neighbour,
        group_shift,
        hotspot,
        fraction,
        permutation,
        flows,
    ) {
        (&Some(offset), None, None, None, None, None) => Ok(Pattern::Neighbour { offset }),
        (None, &Some(shift), None, None, None, None) => Ok(Pattern::GroupShift { shift }),
        (None, None, Some(node), &Some(fraction), None, None) => Ok(Pattern::Hotspot {
            node: node.nic_at(topology, &format!("{key}.pattern.hotspot"))?,
            fraction,
        }),
        (None, None, Some(_), None, None, None) => Err(ConfigError::new(
            format!("{key}.pattern"),
            "`fraction` is missing, the share of the NICs that send to the hotspot: { hotspot = 0, fraction = 0.1 }",
        )),
        (None, None, None, None, Some(list), None) => {
            let nic = |(i, nic): (usize, &RawPlace)| {
                nic.nic_at(topology, &format!("{key}.pattern.permutation.{i}"))
            };
            let list = list.iter().enumerate().map(nic);
            Ok(Pattern::List(list.collect::<Result<_, _>>()?))
        }
        // Each flow has a pattern of its own.
        (None, None, None, None, None, Some(list)) if !list.is_empty() => Ok(Pattern::Uniform),
        _ => Err(ConfigError::new(
            format!("{key}.pattern"),
            "must be one of { neighbour = 1 }, { group_shift = 1 }, { hotspot = 0, fraction = 0.1 }, \
             { permutation = [1, 0, ...] } and { flows = [{ from = 0, to = 1 }, ...] }",
        )),
    }
}

/// The measurement of an experiment without a job.
pub(super) fn measure(
    raw: &RawMeasure,
    fabric: &FabricSpec,
    flows: &[Background],
) -> Result<Measure, ConfigError> {
    let tick = fabric.units.tick;
    let ticks = |name: &str, given: Option<Latency>, default_ps: u64, least: Tick| {
        let ticks = given.unwrap_or(Latency::Time(default_ps)).ticks(tick);
        if (least..=MAX_TICKS).contains(&ticks) {
            return Ok(ticks);
        }
        Err(ConfigError::new(
            format!("measure.{name}"),
            format!("{ticks} ticks; it must be {least} to 2^40 ticks"),
        ))
    };
    let warm_up = ticks("warm_up", raw.warm_up, WARM_UP_PS, 0)?;
    let batches = raw.batches.unwrap_or(BATCHES);
    if !(2..=MAX_BATCHES).contains(&batches) {
        return Err(ConfigError::new(
            "measure.batches",
            format!("is {batches}; at least 2 and at most {MAX_BATCHES} batches are compared"),
        ));
    }
    let latest = Latency::Time(MAX_WARM_UP_PS).ticks(tick).max(warm_up);
    let max_warm_up = match raw.max_warm_up {
        None => latest,
        given => ticks("max_warm_up", given, 0, warm_up)?,
    };
    // Where the file gives no batch, a shorter warm-up has shorter batches.
    let share = warm_up / Tick::from(batches);
    let default = Latency::Time(BATCH_PS).ticks(tick).min(share).max(1);
    let batch = match raw.batch {
        None => default,
        given => ticks("batch", given, 0, 1)?,
    };
    if max_warm_up > warm_up && batch.saturating_mul(batches.into()) > warm_up {
        return Err(ConfigError::new(
            "measure.warm_up",
            format!(
                "{warm_up} ticks are shorter than {batches} batches of {batch} ticks; take \
                 a longer warm-up, or max_warm_up = warm_up for none to be compared"
            ),
        ));
    }
    Ok(Measure {
        loads: loads(raw, flows)?,
        warm_up,
        max_warm_up,
        batch,
        batches,
        tolerance: raw.tolerance.or(Ratio::new(1, 20)).unwrap_or(Ratio::ZERO),
        window: ticks("window", raw.window, WINDOW_PS, 1)?,
    })
}

/// The loads to measure, with which no rate of `flows` may exceed its range.
fn loads(raw: &RawMeasure, flows: &[Background]) -> Result<Vec<Ratio>, ConfigError> {
    let loads = raw.loads.clone().unwrap_or_else(|| vec![Ratio::ONE]);
    if loads.is_empty() || loads.len() > MAX_LOADS {
        let problem = format!("lists {} loads; list 1 to {MAX_LOADS}", loads.len());
        return Err(ConfigError::new("measure.loads", problem));
    }
    for (i, &load) in loads.iter().enumerate() {
        let key = format!("measure.loads.{i}");
        for flow in flows {
            let rate = flow.rate.checked_mul(load).ok_or_else(|| too_fine(&key))?;
            if rate > Ratio::ONE {
                return Err(ConfigError::new(
                    key,
                    format!(
                        "a rate of {} times {load} is {rate} flits per cycle and NIC; it must be \
                         at most 1",
                        flow.rate
                    ),
                ));
            }
        }
    }
    Ok(loads)
}
