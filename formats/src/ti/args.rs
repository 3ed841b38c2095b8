//! The arguments of an action.

use flitwise_base::quote::quoted_bytes;
use nom::Parser;
use nom::multi::many0_count;

use super::action::Elements;
use super::datatype::Datatype;
use crate::grammar::{self, decimal, fault, word};
use crate::limits::MAX_TI_COUNT;

/// The next argument that a line should have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Expected {
    /// Another action before them.
    #[default]
    Action,
    /// One more argument, which is this.
    Argument(&'static str),
    /// Another value of this argument: such a number.
    Value(&'static str, &'static str),
    /// A rank of the trace for this argument.
    Rank(&'static str),
    /// The number of a datatype for this argument.
    Datatype(&'static str),
    /// Their end.
    End,
}

pub(super) type Parsed<'a, T> = grammar::Parsed<&'a [u8], T, Expected>;

/// Number of arguments in `args`.
pub(super) fn left(args: &[u8]) -> usize {
    let words = many0_count(word::<Expected>).parse(args);
    words.map_or(0, |(_, count)| count)
}

/// The message that says what is wrong with `args` of `action` in a trace of `ranks` ranks.
#[cold]
pub(super) fn message(
    action: &[u8],
    args: &[u8],
    ranks: u32,
    fault: grammar::Fault<&[u8], Expected>,
) -> String {
    let taken = left(&args[..args.len() - fault.rest.len()]);
    let found = word::<Expected>(fault.rest).map_or(&b""[..], |(_, word)| word);
    let shown = quoted_bytes(found, true);
    let wrong = |what, value: &str| {
        let argument = taken + 1;
        format!("expected {value} for {what} (argument {argument}), found {shown}; correct it")
    };
    let problem = match fault.expected {
        Expected::Action => return unknown(action),
        Expected::Argument(what) => {
            format!("{what} is missing: it has {taken} arguments; complete the line")
        }
        Expected::Value(what, value) => wrong(what, value),
        Expected::Rank(what) => match digits(found) {
            Some(rank) if ranks == 1 => format!(
                "{what} is rank {rank}, but these are the lines of rank 0 alone; if other files have the lines of the \
                 other ranks, give the list of the files or their directory; otherwise correct it"
            ),
            _ => wrong(
                what,
                &format!("a rank from 0 to {}", ranks.saturating_sub(1)),
            ),
        },
        Expected::Datatype(what) => wrong(what, &format!("a number from -1 to {}", Datatype::MAX)),
        Expected::End => format!(
            "has at most {taken} arguments in a trace of {ranks} ranks, found {shown} behind them; remove it"
        ),
    };
    format!("{}: {problem}", quoted_bytes(action, true))
}

/// The message that there is no such action, or none that can be replayed.
fn unknown(action: &[u8]) -> String {
    const RECORDED: [&str; 9] = [
        "io",
        "win_",
        "put",
        "get",
        "rput",
        "rget",
        "accumulate",
        "start",
        "fetch",
    ];
    let name = String::from_utf8_lossy(action).to_ascii_lowercase();
    let shown = quoted_bytes(action, true);
    if RECORDED.iter().any(|start| name.starts_with(start)) {
        format!(
            "{shown} is recorded, but a replay does not know what it does; record a program that does not use it"
        )
    } else {
        format!("{shown} is no action of a TI trace; correct it")
    }
}

/// A number of at most 19 digits.
#[inline]
pub(super) fn digits(word: &[u8]) -> Option<u64> {
    decimal(word).filter(|_| (1..=19).contains(&word.len()))
}

fn float(word: &[u8]) -> Option<f64> {
    // Rust accepts `inf`, `nan` and their kin as well.
    if word
        .iter()
        .any(|b| !matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
    {
        return None;
    }
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// The next argument, if there is one: what `value` makes of its word, else `expected`.
#[inline]
fn maybe<'a, T>(
    value: impl Fn(&'a [u8]) -> Option<T>,
    expected: Expected,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<T>> {
    move |args| match word::<Expected>(args) {
        Err(_) => Ok((args, None)),
        Ok((rest, word)) => match value(word) {
            Some(value) => Ok((rest, Some(value))),
            None => fault(args, expected),
        },
    }
}

/// The next argument, which is `what`.
#[inline]
fn needed<'a, T>(
    what: &'static str,
    value: impl Fn(&'a [u8]) -> Option<T>,
    expected: Expected,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, T> {
    let mut argument = maybe(value, expected);
    move |args| match argument(args)? {
        (rest, Some(value)) => Ok((rest, value)),
        (rest, None) => fault(rest, Expected::Argument(what)),
    }
}

/// The `value` of a word; `None` for any number below 0, all of which mean any.
#[inline]
fn or_any<T>(value: impl Fn(&[u8]) -> Option<T>) -> impl Fn(&[u8]) -> Option<Option<T>> {
    move |word| match word.strip_prefix(b"-").and_then(digits) {
        Some(_) => Some(None),
        None => value(word).map(Some),
    }
}

/// A number of at least 0, whole or not.
pub(super) fn amount<'a>(what: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, f64> {
    needed(what, float, Expected::Value(what, "a number of at least 0"))
}

const COUNT: &str = "a number from 0 to 2^53";

/// A number of elements. It may have a fraction or an exponent, and is rounded.
#[inline]
fn count_of(word: &[u8]) -> Option<u64> {
    // Cannot truncate: it is at least 0, and a conversion saturates.
    let count = digits(word).or_else(|| float(word).map(|value| value.round() as u64));
    count.filter(|&count| count <= MAX_TI_COUNT)
}

/// A number of elements.
#[inline]
pub(super) fn count<'a>(what: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    needed(what, count_of, Expected::Value(what, COUNT))
}

/// A number of elements, if there is one.
pub(super) fn maybe_count<'a>(
    what: &'static str,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<u64>> {
    maybe(count_of, Expected::Value(what, COUNT))
}

/// A list with an entry for each of `ranks` ranks.
pub(super) fn counts<'a>(
    what: &'static str,
    ranks: u32,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Box<[u64]>> {
    move |mut rest| {
        // The line has as many words, or this fails before it takes more.
        let mut counts = Vec::new();
        for _ in 0..ranks {
            let (after, number) = count(what)(rest)?;
            counts.push(number);
            rest = after;
        }
        Ok((rest, counts.into()))
    }
}

#[inline]
fn rank_of(ranks: u32) -> impl Fn(&[u8]) -> Option<u32> {
    move |word| match digits(word) {
        Some(rank) if rank < u64::from(ranks) => Some(rank as u32),
        _ => None,
    }
}

/// A rank, or `MPI_PROC_NULL` as recorders write it and by its number in SimGrid.
#[inline]
pub(super) fn rank_or_proc_null<'a>(
    what: &'static str,
    ranks: u32,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<u32>> {
    let of = move |word: &[u8]| match word {
        b"-333" | b"-666" => Some(None),
        word => rank_of(ranks)(word).map(Some),
    };
    needed(what, of, Expected::Rank(what))
}

/// A rank, or any.
#[inline]
pub(super) fn rank_or_any<'a>(
    what: &'static str,
    ranks: u32,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<u32>> {
    needed(what, or_any(rank_of(ranks)), Expected::Rank(what))
}

/// The root, 0 if there is none.
pub(super) fn root(args: &[u8], ranks: u32) -> Parsed<'_, u32> {
    let root = maybe(rank_of(ranks), Expected::Rank("the root"));
    root.map(Option::unwrap_or_default).parse(args)
}

const TAG: Expected = Expected::Value("the tag", "a number from 0 to 2^31 - 1");

#[inline]
fn tag_of(word: &[u8]) -> Option<u32> {
    let tag = digits(word).filter(|&tag| tag <= i32::MAX as u64)?;
    Some(tag as u32)
}

/// A tag.
#[inline]
pub(super) fn tag(args: &[u8]) -> Parsed<'_, u32> {
    needed("the tag", tag_of, TAG)(args)
}

/// A tag, or any.
#[inline]
pub(super) fn tag_or_any(args: &[u8]) -> Parsed<'_, Option<u32>> {
    needed("the tag", or_any(tag_of), TAG)(args)
}

/// A datatype; bytes if there is none.
#[inline]
pub(super) fn datatype<'a>(what: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, Datatype> {
    let datatype = |word: &[u8]| match word {
        b"-1" => Datatype::of_id(-1),
        _ => Datatype::of_id(digits(word)?.try_into().ok()?),
    };
    let mut argument = maybe(datatype, Expected::Datatype(what));
    move |args| argument(args).map(|(rest, datatype)| (rest, datatype.unwrap_or(Datatype::BYTE)))
}

/// A count, then a datatype if there is one.
#[inline]
pub(super) fn elements(args: &[u8]) -> Parsed<'_, Elements> {
    let of = |(count, datatype)| Elements { count, datatype };
    (count("the number of elements"), datatype("the datatype"))
        .map(of)
        .parse(args)
}
