//! Lists and ranges of values and seeds.

use crate::units::Ratio;
use flitwise_base::quote::quoted;
use std::ops::Range;

/// Most values of one range.
const MOST: u64 = 100_000;

/// Seeds as written on the command line or in a text: `1..5` with both ends, or `1,2,7`.
pub(crate) fn seeds(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || {
        format!(
            "{} is not a range or list of seeds; write \"1..5\" (with both ends) or \"1,2,7\"",
            quoted(text)
        )
    };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let seeds = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            let Some(more) = last.checked_sub(first) else {
                return Err(format!(
                    "{} ends before it begins; write \"{last}..{first}\"",
                    quoted(text)
                ));
            };
            if more >= MOST {
                return Err(format!("{} are more than {MOST} seeds", quoted(text)));
            }
            (first..=last).collect()
        }
        None => text.split(',').map(number).collect::<Result<Vec<_>, _>>()?,
    };
    distinct(seeds)
}

/// The same seeds, if each is there once.
pub(crate) fn distinct(seeds: Vec<u64>) -> Result<Vec<u64>, String> {
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("seed {} is listed twice", pair[0])),
        None if seeds.is_empty() => Err("there is no seed; give at least one".to_owned()),
        None => Ok(seeds),
    }
}

/// The values of `A..B step C` or `A..B:C`, with both ends; of `A..B`, all whole numbers, and both ends are whole.
/// `None` if the text is no range.
pub(crate) fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (first, rest) = text.split_once("..")?;
    let given = rest.split_once(" step ").or_else(|| rest.split_once(':'));
    let (last, step) = given.unwrap_or((rest, "1"));
    let number = |text: &str| text.trim().parse::<Ratio>().ok();
    // Not every text with two dots is one, such as a path.
    let (first, last, step) = (number(first)?, number(last)?, number(step)?);
    if given.is_none() && [first, last].iter().any(|end| end.den() != 1) {
        return Some(Err(format!(
            "{} has no step; write \"{} step 0.05\" or {}:0.05 with the step that you mean",
            quoted(text),
            text.trim(),
            text.trim()
        )));
    }
    let values = steps(first, last, step);
    Some(values.map_err(|cause| format!("{} {cause}; write \"0..0.2 step 0.05\"", quoted(text))))
}

/// The values from `first` to `last`, or what is wrong with the range.
fn steps(first: Ratio, last: Ratio, step: Ratio) -> Result<Vec<String>, String> {
    if step.is_zero() {
        return Err("has a step of 0".to_owned());
    }
    if first > last {
        return Err(format!("ends at {last}, below its first value"));
    }
    let mut values = Vec::new();
    let (mut value, mut reached) = (first, first);
    while value <= last {
        if values.len() as u64 == MOST {
            return Err(format!("has more than {MOST} values"));
        }
        let text = value.to_string();
        if text.contains('/') {
            return Err(format!("has the value {text}, which is no decimal number"));
        }
        values.push(text);
        reached = value;
        let next = value.checked_add(step);
        value = next.ok_or("has numbers that are too large")?;
    }
    if reached < last {
        return Err(format!(
            "has {reached} as its last value, because its steps do not meet {last}; end it at {reached}, or take another step"
        ));
    }
    Ok(values)
}

/// The values of `v1,v2,…` or of a range, each with its place in the text. Commas inside of brackets and
/// quotes separate nothing.
pub(crate) fn values_of(list: &str) -> Result<Vec<(String, Range<usize>)>, String> {
    if let Some(values) = range(list.trim()) {
        let all = 0..list.len();
        return Ok(values?
            .into_iter()
            .map(|value| (value, all.clone()))
            .collect());
    }
    let (mut depth, mut quote, mut start) = (0_u32, None, 0);
    let mut spans = Vec::new();
    for (at, c) in list.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                spans.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    spans.push(start..list.len());
    let values = spans.into_iter().map(|span| {
        let value = list[span.clone()].trim();
        if value.is_empty() {
            Err("a value is empty; write KEY=v1,v2".to_owned())
        } else {
            Ok((value.to_owned(), span))
        }
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_both_ends() {
        let of = |text| range(text).unwrap();
        assert_eq!(
            of("0..0.2 step 0.05").unwrap(),
            ["0", "0.05", "0.1", "0.15", "0.2"]
        );
        assert_eq!(of("0..0.2:0.1").unwrap(), ["0", "0.1", "0.2"]);
        assert_eq!(of("1..3").unwrap(), ["1", "2", "3"]);
        assert_eq!(range("../a.vef"), None);
        for (wrong, cause) in [
            ("1..0", "ends at 0, below its first value"),
            ("0..1 step 0", "has a step of 0"),
            ("0..1 step 2", "has 0 as its last value"),
            ("0.1..0.5 step 0.15", "end it at 0.4, or take another step"),
            (
                "0..1 step 1/3",
                "has the value 1/3, which is no decimal number",
            ),
            ("0..1 step 0.0000001", "has more than 100000 values"),
            ("0..0.2", "has no step"),
            ("0.5..2", "has no step"),
        ] {
            let error = of(wrong).unwrap_err();
            assert!(error.contains(cause), "{error}");
        }
    }

    #[test]
    fn seeds_are_a_list_or_a_range() {
        assert_eq!(seeds("1..3").unwrap(), [1, 2, 3]);
        assert_eq!(seeds("7, 2").unwrap(), [7, 2]);
        for wrong in ["", "3..1", "1,1", "a", "0..99999999"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
        assert!(seeds("5..1").unwrap_err().contains("write \"1..5\""));
    }

    #[test]
    fn commas_in_brackets_separate_nothing() {
        let values = values_of("rr, { list = [1, 2] },\"a,b\"").unwrap();
        let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["rr", "{ list = [1, 2] }", "\"a,b\""]);
        assert_eq!(values[0].1, 0..2);
        assert!(values_of("a,,b").is_err());
    }
}
