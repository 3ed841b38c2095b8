//! Makes congestion control tables: from formulas, files and lists.

use crate::config::congestion_control::keys::{RawCct, RawCctTable, RawCongestionControl};
use crate::config::congestion_control::presets::CongestionDefaults;
use crate::config::document::{ConfigError, read, refused};
use crate::fabric::spec::FabricSpec;
use crate::fabric::spec::congestion::{
    CctEntry, MAX_CCT_ENTRIES, MAX_CCT_MULTIPLIER, MAX_CCT_SHIFT, MIN_CCT_ENTRIES,
};
use crate::units::Ratio;
use flitwise_base::quote::quoted;
use std::path::Path;

const CCT: &str = "congestion_control.CCT";

/// The table of `raw` for adapters of `spec`. Files are looked for in `dir`.
pub(crate) fn table(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    spec: &FabricSpec,
    dir: &Path,
) -> Result<Vec<CctEntry>, ConfigError> {
    let entry = |&(multiplier, shift): &(u16, u8)| CctEntry { multiplier, shift };
    let limit = raw.ccti_limit.unwrap_or(d.ccti_limit);
    let maker = Maker { limit, spec, dir };
    let table = match &raw.cct {
        None => maker.make(&(d.cct)())?,
        Some(RawCct::Entries(list)) => list.iter().map(entry).collect(),
        Some(RawCct::Made(made)) => maker.make(made)?,
    };
    check(&table)?;
    if usize::from(limit) >= table.len() {
        return refused(
            "congestion_control.CCTI_Limit",
            format!(
                "{limit} is no index of the {} entries of CCT; lower it or add entries",
                table.len()
            ),
        );
    }
    Ok(table)
}

fn check(table: &[CctEntry]) -> Result<(), ConfigError> {
    let entries = table.len();
    if !(MIN_CCT_ENTRIES..=MAX_CCT_ENTRIES).contains(&entries) {
        return refused(
            CCT,
            format!("{entries} entries; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
        );
    }
    let out = |e: &&CctEntry| !e.is_valid();
    match table.iter().find(out) {
        None => Ok(()),
        Some(entry) => refused(
            CCT,
            format!(
                "[{}, {}]: a multiplier goes to {MAX_CCT_MULTIPLIER}, a shift to {MAX_CCT_SHIFT}",
                entry.multiplier, entry.shift
            ),
        ),
    }
}

/// The values, beside its own keys, that a table may depend on.
struct Maker<'a> {
    /// `CCTI_Limit`.
    limit: u16,
    spec: &'a FabricSpec,
    dir: &'a Path,
}

impl Maker<'_> {
    fn make(&self, made: &RawCctTable) -> Result<Vec<CctEntry>, ConfigError> {
        let usual = (usize::from(self.limit) + 1).max(MIN_CCT_ENTRIES);
        let entries = made.entries.map_or(usual, |n| n as usize);
        if entries > MAX_CCT_ENTRIES {
            return refused(
                format!("{CCT}.entries"),
                format!("{entries}; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
            );
        }
        if let Some(shift) = made.shift.filter(|&shift| shift > MAX_CCT_SHIFT) {
            return refused(
                format!("{CCT}.shift"),
                format!("{shift}; a shift has 2 bits, 0 to {MAX_CCT_SHIFT}"),
            );
        }
        if made.first.is_some() && made.exponential.is_none() {
            return refused(
                format!("{CCT}.first"),
                "belongs to an exponential table; remove it or add `exponential`",
            );
        }
        let given = [
            made.linear.is_some(),
            made.last.is_some(),
            made.quadratic.is_some(),
            made.exponential.is_some(),
            made.file.is_some(),
        ];
        if given.into_iter().filter(|&given| given).count() != 1 {
            return refused(
                CCT,
                "give one of `linear`, `last`, `quadratic`, `exponential` and `file`",
            );
        }
        if let Some(step) = made.linear {
            return linear(step, entries, made.shift);
        }
        if let Some(last) = made.last {
            return self.linear_to(last.0, entries, made.shift.unwrap_or(MAX_CCT_SHIFT));
        }
        if let Some(factor) = made.quadratic {
            return quadratic(factor, entries, made.shift.unwrap_or(0));
        }
        if let Some(factor) = made.exponential {
            let first = made.first.ok_or_else(|| {
                ConfigError::new(
                    CCT,
                    "an exponential table needs `first`, e.g. first = \"1/4\"",
                )
            })?;
            return exponential(first, factor, entries, made.shift);
        }
        if made.entries.is_some() || made.shift.is_some() {
            return refused(
                CCT,
                "a file has its own entries and shifts; remove `entries` and `shift`",
            );
        }
        from_file(&self.dir.join(made.file.as_deref().unwrap_or_default()))
    }

    /// Entry i has i/`CCTI_Limit` of the multiplier, rounded down, with which the largest
    /// data packet is delayed by `last` picoseconds.
    fn linear_to(
        &self,
        last: u64,
        entries: usize,
        shift: u8,
    ) -> Result<Vec<CctEntry>, ConfigError> {
        let rate = self.spec.host_link_rate();
        let units = self.spec.units;
        let ticks = Ratio::new(
            self.spec.largest_data_bytes().into(),
            units.flit_bytes.into(),
        );
        let packet = ticks
            .and_then(|flits| flits.checked_div(rate))
            .and_then(|ticks| ticks.checked_mul(units.tick.length_ps()));
        let packet = packet.unwrap_or(Ratio::ONE);
        // Times of the packet, rounded to the nearest.
        let (num, den) = (u128::from(packet.num()).max(1), u128::from(packet.den()));
        let scaled = (u128::from(last) << shift) * den;
        let longest = (scaled + num / 2) / num;
        if longest > u128::from(MAX_CCT_MULTIPLIER) || longest == 0 {
            return refused(
                format!("{CCT}.last"),
                format!(
                    "{last} ps are {longest} / 2^{shift} times the largest packet, which is no \
                     multiplier from 1 to {MAX_CCT_MULTIPLIER}; take another time or shift"
                ),
            );
        }
        let limit = u128::from(self.limit.max(1));
        let entry = |i: usize| CctEntry {
            multiplier: (i as u128 * longest / limit).min(u128::from(MAX_CCT_MULTIPLIER)) as u16,
            shift,
        };
        Ok((0..entries).map(entry).collect())
    }
}

/// The multiplier of entry i is ⌊factor · i²⌋, whatever the shift.
fn quadratic(factor: Ratio, entries: usize, shift: u8) -> Result<Vec<CctEntry>, ConfigError> {
    let entry = |i: usize| {
        let square = (i as u128) * (i as u128);
        let multiplier = square
            .checked_mul(factor.num().into())
            .map(|scaled| scaled / u128::from(factor.den()))
            .filter(|&multiplier| multiplier <= MAX_CCT_MULTIPLIER.into());
        multiplier
            .map(|multiplier| CctEntry {
                multiplier: multiplier as u16,
                shift,
            })
            .ok_or_else(|| {
                ConfigError::new(
                    CCT,
                    format!(
                        "entry {i} has a multiplier above {MAX_CCT_MULTIPLIER}, which 14 bits do not \
                         hold; take a smaller factor or fewer entries"
                    ),
                )
            })
    };
    (0..entries).map(entry).collect()
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
        return refused(
            CCT,
            format!(
                "exponential = {factor}, first = {first}: the factor is at least 1, the first delay \
                 above 0"
            ),
        );
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

/// A line per entry: multiplier and shift. Empty lines and text after a # are ignored.
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
            return refused(
                key,
                format!(
                    "{}:{number}: {} is no entry; write a multiplier and a shift, as in `12 3`",
                    path.display(),
                    quoted(line.trim())
                ),
            );
        };
        table.push(CctEntry { multiplier, shift });
    }
    Ok(table)
}
