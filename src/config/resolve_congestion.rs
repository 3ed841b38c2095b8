//! `[congestion_control]`, and the generators of congestion control tables.

use super::error::{ConfigError, suggestion};
use super::presets_infiniband::CongestionDefaults;
use super::raw_infiniband::{
    RawCct, RawCctTable, RawCompare, RawCongestionControl, RawLevel, RawNotification,
    RawPortCongestion, RawTimerScope,
};
use super::resolve::read;
use super::resolve_fabric::small;
use crate::fabric::infiniband::{
    CctEntry, CongestionControl, FillComparison, FlowLevel, MAX_CCT_ENTRIES, MAX_CCT_MULTIPLIER,
    MAX_CCT_SHIFT, MAX_THRESHOLD, MIN_CCT_ENTRIES, Notification, PortCongestion, SlCongestion,
    TimerScope,
};
use crate::fabric::spec::ServiceLevel;
use crate::units::Ratio;
use std::collections::BTreeMap;
use std::path::Path;

/// All parameters, whether congestion control is switched on or not. Files are looked for
/// in `dir`.
pub(super) fn congestion(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    levels: &[ServiceLevel],
    tick_ps: u64,
    dir: &Path,
) -> Result<CongestionControl, ConfigError> {
    let all = RawPortCongestion {
        threshold: raw.threshold,
        victim_mask: raw.victim_mask,
        packet_size: raw.packet_size,
        marking_rate: raw.marking_rate,
    };
    // Ranges first, under the key that was written.
    settings(&all, d.host_ports, "congestion_control")?;
    let side = |own: &RawPortCongestion, default, key| {
        let general = settings(&all, default, "congestion_control")?;
        settings(own, general, key)
    };
    let host_ports = side(
        &raw.host_ports,
        d.host_ports,
        "congestion_control.host_ports",
    )?;
    let switch_ports = side(
        &raw.switch_ports,
        d.switch_ports,
        "congestion_control.switch_ports",
    )?;
    Ok(CongestionControl {
        host_ports,
        switch_ports,
        exceptions: BTreeMap::new(),
        compare: match raw.compare {
            None | Some(RawCompare::AnyQueue) => FillComparison::AnyQueue,
            Some(RawCompare::Sum) => FillComparison::Sum,
            Some(RawCompare::SumShared) => FillComparison::SumShared,
        },
        notification: match raw.notification {
            None | Some(RawNotification::Cnp) => Notification::Cnp {
                bytes: small(raw.cnp.map_or(d.cnp, |b| b.0), "congestion_control.cnp")?,
            },
            Some(RawNotification::Ack) => Notification::Ack,
        },
        level: match raw.level {
            None | Some(RawLevel::Qp) => FlowLevel::Qp,
            Some(RawLevel::Sl) => FlowLevel::Sl,
        },
        timer: match raw.timer {
            None | Some(RawTimerScope::PerFlow) => TimerScope::PerFlow,
            Some(RawTimerScope::PerSl) => TimerScope::PerSl,
        },
        cct: table(raw, d, dir)?,
        ccti_limit: raw.ccti_limit.unwrap_or(d.ccti_limit),
        service_levels: service_levels(raw, d, levels, tick_ps)?,
    })
}

/// Settings of single ports; what they leave out is as for all ports of their kind.
pub(super) fn exceptions(
    raw: &RawCongestionControl,
    control: &mut CongestionControl,
    topology: &crate::fabric::topology::Topology,
) -> Result<(), ConfigError> {
    for (i, one) in raw.port.iter().enumerate() {
        let key = format!("congestion_control.port.{i}");
        if one.switch >= topology.switches() || one.port >= topology.radix() {
            return Err(ConfigError::new(
                key,
                format!(
                    "there is no port {} at a switch {}: switches 0 to {}, ports 0 to {}",
                    one.port,
                    one.switch,
                    topology.switches() - 1,
                    topology.radix() - 1
                ),
            ));
        }
        let of_kind = control.port(topology, one.switch, one.port);
        let own = settings(&one.settings(), of_kind, &key)?;
        if control
            .exceptions
            .insert((one.switch, one.port), own)
            .is_some()
        {
            return Err(ConfigError::new(key, "this port is listed twice; keep one"));
        }
    }
    Ok(())
}

fn settings(
    raw: &RawPortCongestion,
    d: PortCongestion,
    key: &str,
) -> Result<PortCongestion, ConfigError> {
    let threshold = raw.threshold.unwrap_or(d.threshold);
    if threshold > MAX_THRESHOLD {
        return Err(ConfigError::new(
            format!("{key}.Threshold"),
            format!("a weight of {threshold}; it goes from 0 (never mark) to {MAX_THRESHOLD}"),
        ));
    }
    Ok(PortCongestion {
        threshold,
        victim_mask: raw.victim_mask.unwrap_or(d.victim_mask),
        packet_size: raw.packet_size.unwrap_or(d.packet_size),
        marking_rate: raw.marking_rate.unwrap_or(d.marking_rate),
    })
}

fn service_levels(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    levels: &[ServiceLevel],
    tick_ps: u64,
) -> Result<Vec<SlCongestion>, ConfigError> {
    let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let mut given = raw.service_levels.keys();
    if let Some(unknown) = given.find(|name| !names.contains(&name.as_str())) {
        return Err(ConfigError::new(
            format!("congestion_control.service_levels.{unknown}"),
            format!(
                "there is no service level `{unknown}`{}",
                suggestion(unknown, &names)
            ),
        ));
    }
    let limit = raw.ccti_limit.unwrap_or(d.ccti_limit);
    let level = |name: &&str| {
        let own = raw.service_levels.get(*name).copied().unwrap_or_default();
        let key = |own: bool, key: &str| match own {
            true => format!("congestion_control.service_levels.{name}.{key}"),
            false => format!("congestion_control.{key}"),
        };
        let timer = own.ccti_timer.or(raw.ccti_timer);
        let timer = timer.map_or(d.ccti_timer_ps, |timer| timer.0);
        if timer == 0 {
            return Err(ConfigError::new(
                key(own.ccti_timer.is_some(), "CCTI_Timer"),
                "is 0; a rate that was lowered would never rise again",
            ));
        }
        let ccti_min = own.ccti_min.or(raw.ccti_min).unwrap_or(d.ccti_min);
        if u16::from(ccti_min) > limit {
            return Err(ConfigError::new(
                key(own.ccti_min.is_some(), "CCTI_Min"),
                format!("{ccti_min} is above CCTI_Limit = {limit}"),
            ));
        }
        let increase = own.ccti_increase.or(raw.ccti_increase);
        Ok(SlCongestion {
            ccti_increase: increase.unwrap_or(d.ccti_increase),
            ccti_min,
            ccti_timer: timer.div_ceil(tick_ps.max(1)),
        })
    };
    names.iter().map(level).collect()
}

const CCT: &str = "congestion_control.CCT";

fn table(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    dir: &Path,
) -> Result<Vec<CctEntry>, ConfigError> {
    let entry = |&(multiplier, shift): &(u16, u8)| CctEntry { multiplier, shift };
    let limit = raw.ccti_limit.unwrap_or(d.ccti_limit);
    let usual = (usize::from(limit) + 1).max(MIN_CCT_ENTRIES);
    let table = match &raw.cct {
        None => linear(
            Ratio::new(d.cct_step.0, d.cct_step.1).unwrap_or(Ratio::ONE),
            usual,
            None,
        )?,
        Some(RawCct::Entries(list)) => list.iter().map(entry).collect(),
        Some(RawCct::Made(made)) => make(made, usual, dir)?,
    };
    check(&table)?;
    if usize::from(limit) >= table.len() {
        return Err(ConfigError::new(
            "congestion_control.CCTI_Limit",
            format!(
                "{limit} is no index of the {} entries of CCT; lower it or add entries",
                table.len()
            ),
        ));
    }
    Ok(table)
}

fn check(table: &[CctEntry]) -> Result<(), ConfigError> {
    let entries = table.len();
    if !(MIN_CCT_ENTRIES..=MAX_CCT_ENTRIES).contains(&entries) {
        return Err(ConfigError::new(
            CCT,
            format!("{entries} entries; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
        ));
    }
    let out = |e: &&CctEntry| e.multiplier > MAX_CCT_MULTIPLIER || e.shift > MAX_CCT_SHIFT;
    match table.iter().find(out) {
        None => Ok(()),
        Some(entry) => Err(ConfigError::new(
            CCT,
            format!(
                "[{}, {}]: a multiplier goes to {MAX_CCT_MULTIPLIER}, a shift to {MAX_CCT_SHIFT}",
                entry.multiplier, entry.shift
            ),
        )),
    }
}

fn make(made: &RawCctTable, usual: usize, dir: &Path) -> Result<Vec<CctEntry>, ConfigError> {
    let entries = made.entries.map_or(usual, |n| n as usize);
    if entries > MAX_CCT_ENTRIES {
        return Err(ConfigError::new(
            format!("{CCT}.entries"),
            format!("{entries}; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
        ));
    }
    if let Some(shift) = made.shift.filter(|&shift| shift > MAX_CCT_SHIFT) {
        return Err(ConfigError::new(
            format!("{CCT}.shift"),
            format!("{shift}; a shift has 2 bits, 0 to {MAX_CCT_SHIFT}"),
        ));
    }
    if made.first.is_some() && made.exponential.is_none() {
        return Err(ConfigError::new(
            format!("{CCT}.first"),
            "belongs to an exponential table; remove it or add `exponential`",
        ));
    }
    match (made.linear, made.exponential, &made.file) {
        (Some(step), None, None) => linear(step, entries, made.shift),
        (None, Some(factor), None) => {
            let first = made.first.ok_or_else(|| {
                ConfigError::new(
                    CCT,
                    "an exponential table needs `first`, e.g. first = \"1/4\"",
                )
            })?;
            exponential(first, factor, entries, made.shift)
        }
        (None, None, Some(_)) if made.entries.is_some() || made.shift.is_some() => {
            Err(ConfigError::new(
                CCT,
                "a file has its own entries and shifts; remove `entries` and `shift`",
            ))
        }
        (None, None, Some(file)) => from_file(&dir.join(file)),
        _ => Err(ConfigError::new(
            CCT,
            "give one of `linear`, `exponential` and `file`",
        )),
    }
}

/// An entry with a delay of `delay(shift)` / 2^shift: with the given shift, or the largest
/// that fits.
fn fitting(
    index: usize,
    shift: Option<u8>,
    delay: impl Fn(u8) -> Option<u64>,
) -> Result<CctEntry, ConfigError> {
    let shifts = match shift {
        Some(shift) => shift..=shift,
        None => 0..=MAX_CCT_SHIFT,
    };
    let fits = |shift: u8| {
        let multiplier = u16::try_from(delay(shift)?).ok()?;
        (multiplier <= MAX_CCT_MULTIPLIER).then_some(CctEntry { multiplier, shift })
    };
    shifts.rev().find_map(fits).ok_or_else(|| {
        ConfigError::new(
            CCT,
            format!(
                "entry {index} is a delay of more than {MAX_CCT_MULTIPLIER} / 2^shift packets, which \
                 14 bits do not hold; take a flatter table or fewer entries"
            ),
        )
    })
}

/// Entry i is a delay of i × step.
fn linear(step: Ratio, entries: usize, shift: Option<u8>) -> Result<Vec<CctEntry>, ConfigError> {
    let entry = |i: usize| {
        fitting(i, shift, |shift| {
            step.mul_round((i as u64).checked_shl(shift.into())?)
        })
    };
    (0..entries).map(entry).collect()
}

/// Bits after the point of the delays of an exponential table.
const POINT: u32 = 32;

/// Entry 0 is no delay, entry i one of first × factor^(i − 1), computed with 32 bits after
/// the point.
fn exponential(
    first: Ratio,
    factor: Ratio,
    entries: usize,
    shift: Option<u8>,
) -> Result<Vec<CctEntry>, ConfigError> {
    if first.is_zero() || factor < Ratio::ONE {
        return Err(ConfigError::new(
            CCT,
            format!(
                "exponential = {factor}, first = {first}: the factor is at least 1, the first delay \
                 above 0"
            ),
        ));
    }
    let times = |delay: u64, factor: Ratio| factor.mul_round(delay);
    let mut delay = first.mul_round(1 << POINT);
    let mut table = vec![CctEntry {
        multiplier: 0,
        shift: shift.unwrap_or(MAX_CCT_SHIFT),
    }];
    for i in 1..entries {
        let entry = fitting(i, shift, |shift| {
            let fixed = u128::from(delay?) << shift;
            u64::try_from((fixed + (1 << (POINT - 1))) >> POINT).ok()
        })?;
        table.push(entry);
        delay = delay.and_then(|delay| times(delay, factor));
    }
    Ok(table)
}

/// A line per entry: multiplier and shift; empty lines and what follows a # do not count.
fn from_file(path: &Path) -> Result<Vec<CctEntry>, ConfigError> {
    let key = format!("{CCT}.file");
    let text = read(path).map_err(|e| ConfigError::new(key.as_str(), e.problem))?;
    let mut table = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let numbers: Vec<&str> = line.split_whitespace().collect();
        let entry = match numbers[..] {
            [] => continue,
            [multiplier, shift] => multiplier.parse().ok().zip(shift.parse().ok()),
            _ => None,
        };
        let Some((multiplier, shift)) = entry else {
            return Err(ConfigError::new(
                key,
                format!(
                    "{}:{number}: `{}` is no entry; write a multiplier and a shift, as in `12 3`",
                    path.display(),
                    line.trim()
                ),
            ));
        };
        table.push(CctEntry { multiplier, shift });
    }
    Ok(table)
}
