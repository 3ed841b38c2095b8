//! Numbers, times and sizes as people read them, in tables, figures and messages.

use super::PS_PER_S;

/// Picoseconds as a human would write them: `"1.250 us"`.
#[must_use]
pub fn human_time(ps: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (PS_PER_S, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
    ];
    for (size, unit) in UNITS {
        if ps >= size {
            return format!("{:.3} {unit}", ps as f64 / size as f64);
        }
    }
    format!("{ps} ps")
}

/// Picoseconds with three significant digits: `"1.25 us"`.
#[must_use]
pub fn short_time(ps: u64) -> String {
    let text = human_time(ps);
    let Some((number, unit)) = text.split_once(' ') else {
        return text;
    };
    match number.split_once('.') {
        Some((whole, part)) => {
            let digits = 3_usize.saturating_sub(whole.len());
            match digits {
                0 => format!("{whole} {unit}"),
                _ => format!("{whole}.{} {unit}", &part[..digits.min(part.len())]),
            }
        }
        None => text,
    }
}

/// Bytes as a human would write them: `"1.5 MiB"`.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    match byte_unit(bytes) {
        (1, unit) => format!("{bytes} {unit}"),
        (size, unit) => format!("{:.1} {unit}", bytes as f64 / size as f64),
    }
}

/// Returns the largest unit that `bytes` bytes fill, with its size.
#[must_use]
pub fn byte_unit(bytes: u64) -> (u64, &'static str) {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let filled = UNITS.into_iter().find(|&(size, _)| bytes >= size);
    filled.unwrap_or((1, "B"))
}

/// The indefinite article of a spoken number: "an" 8, 11, 18, 80 to 89, 800, 11,000; else "a".
#[must_use]
pub fn article(number: u64) -> &'static str {
    let mut leading = number;
    while leading >= 1000 {
        leading /= 1000;
    }
    match leading {
        8 | 11 | 18 | 80..=89 | 800..=899 => "an",
        _ => "a",
    }
}

/// A count with thin groups of three digits: `"12,345,678"`.
#[must_use]
pub fn human_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count with the noun `one`, in the plural unless it is 1: `"1 link"`, `"2,000 switches"`, `"3 dependencies"`.
#[must_use]
pub fn counted(count: u64, one: &str) -> String {
    let number = human_count(count);
    match one.strip_suffix('y') {
        _ if count == 1 => format!("{number} {one}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if one.ends_with("ch") || one.ends_with("ss") => format!("{number} {one}es"),
        None => format!("{number} {one}s"),
    }
}

/// A number for people: up to four significant digits, large and small ones with a power of ten.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.1e}");
        return text.replace(".0e", "e");
    }
    let exponent = size.log10().floor() as i32;
    let decimals = (3 - exponent).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Returns the unit in which `ps` picoseconds have few digits, with the factor to it.
#[must_use]
pub fn time_unit(ps: f64) -> (f64, &'static str) {
    match ps {
        ps if ps >= 10e12 => (1e-12, "s"),
        ps if ps >= 10e9 => (1e-9, "ms"),
        ps if ps >= 10e6 => (1e-6, "µs"),
        _ => (1e-3, "ns"),
    }
}

/// A number with four digits, at most four of them decimals: `"6.250"`.
#[must_use]
pub fn four_digits(value: f64) -> String {
    let decimals = match value {
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A share of 1 in percent, to a tenth: `"45.0 %"`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The share that `part` is of `whole` in percent, to a tenth: `"45.0 %"`.
#[must_use]
pub fn percent_of(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}
