//! Parses an operation of the text.

use nom::Parser;
use nom::combinator::opt;
use nom::sequence::{preceded, terminated};

use super::record::{Op, Task};
use super::words::{Parsed, after_blanks, expected, number, number_or_any, word};
use crate::grammar::{expect, fault};

/// The word with which an operation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Send,
    Recv,
    Calc,
}

impl Verb {
    pub fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"send" => Some(Self::Send),
            b"recv" => Some(Self::Recv),
            b"calc" => Some(Self::Calc),
            _ => None,
        }
    }
}

/// The operation behind its first word, in a schedule of `ranks` ranks.
#[inline]
pub(super) fn operation(line: &[u8], verb: Verb, ranks: u32) -> Parsed<'_, Op> {
    let (rest, task) = match verb {
        Verb::Calc => {
            let time = number("the time", u64::MAX);
            let mut calc = after_blanks(time).map(|time| Task::Calc { time });
            calc.parse(line)?
        }
        Verb::Send => {
            let (rest, bytes) = size("to", "`to` and a rank").parse(line)?;
            let (rest, to) = peer(rest, false, ranks)?;
            let (rest, tag) = message_tag(rest, false)?;
            let (to, tag) = (to.unwrap_or_default(), tag.unwrap_or_default());
            (rest, Task::Send { bytes, to, tag })
        }
        Verb::Recv => {
            let (rest, bytes) = size("from", "`from` and a rank").parse(line)?;
            let (rest, from) = peer(rest, true, ranks)?;
            let (rest, tag) = message_tag(rest, true)?;
            (rest, Task::Recv { bytes, from, tag })
        }
    };
    let (rest, cpu) = part_number("cpu", "the CPU")(rest)?;
    let (rest, nic) = match verb {
        Verb::Calc => (rest, 0),
        Verb::Send | Verb::Recv => part_number("nic", "the NIC")(rest)?,
    };
    Ok((rest, Op { task, cpu, nic }))
}

/// `64b to` or `64b from`.
#[inline]
fn size<'a>(
    direction: &'static str,
    and_rank: &'static str,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    move |line| {
        let unit = word("b");
        let unit = expect(unit, |at| {
            expected("`b` directly after the size", "sizes are bytes: `64b`")(at)
        });
        let direction = expect(word(direction), |at| {
            expected(and_rank, "a send goes `to` a rank, a recv comes `from` one")(at)
        });
        let bytes = after_blanks(number("the size in bytes", u64::MAX));
        terminated(bytes, (unit, after_blanks(direction))).parse(line)
    }
}

/// The other rank.
#[inline]
fn peer(line: &[u8], any: bool, ranks: u32) -> Parsed<'_, Option<u32>> {
    let peer = |line| match number_or_any("the rank", u32::MAX.into(), any)(line)? {
        (_, Some(rank)) if rank >= u64::from(ranks) => {
            let what = format!("a rank from 0 to {}", ranks - 1);
            fault(
                line,
                expected(what, "correct the rank, or `num_ranks`")(line),
            )
        }
        (rest, rank) => Ok((rest, rank.map(|rank| rank as u32))),
    };
    after_blanks(peer).parse(line)
}

/// The tag, 0 if there is none.
#[inline]
fn message_tag(line: &[u8], any: bool) -> Parsed<'_, Option<u32>> {
    let tag = number_or_any("the tag", u64::from(u32::MAX) - 1, any);
    let tag = opt(preceded(after_blanks(word("tag")), after_blanks(tag)));
    tag.map(|tag| tag.unwrap_or(Some(0)).map(|tag| tag as u32))
        .parse(line)
}

/// The number after `name`, 0 if there is none.
#[inline]
fn part_number<'a>(
    name: &'static str,
    what: &'static str,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, u8> {
    move |line| {
        let part = after_blanks(number(what, u8::MAX.into()));
        opt(preceded(after_blanks(word(name)), part))
            .map(|part| part.unwrap_or(0) as u8)
            .parse(line)
    }
}
