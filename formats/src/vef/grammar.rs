//! The careful parser of single lines: it finds where and why a line is not VEF.

use std::borrow::Cow;

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1};
use nom::combinator::{opt, value};
use nom::multi::many0;
use nom::sequence::{preceded, terminated};

use super::record::{Comm, Dep, DepId, Header, Member, Message, Record, Version};
use crate::grammar::{self, decimal, expect, fault};
use crate::limits::{MAX_COMMS, MAX_DIGITS, MAX_TASKS};

/// The text that a line should have, and the cure if it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub what: Cow<'static, str>,
    pub cure: &'static str,
}

/// Where and why a line is not VEF.
pub(super) type Fault<'a> = grammar::Fault<&'a [u8], Expected>;

type Parsed<'a, T> = grammar::Parsed<&'a [u8], T, Expected>;

const SEE: &str = "see the format's description";
const DIGITS_ONLY: &str = "fields are separated by single spaces and hold digits only";
const OUT_OF_RANGE: &str = "the value is out of range: correct it or record the trace again";
const TOO_MANY_DIGITS: &str = "write the number without zeros before it, or record the trace again";
const FIELDS: &str = "a point-to-point record has 7 fields, a collective record 9, separated by \
                      single spaces";
const LAST_FIELD: &str = "remove what follows the last field";

/// A file that starts with anything else is not VEF.
pub(super) const MAGIC: Expected = text("`VEF` or `VEF3`");

const fn text(what: &'static str) -> Expected {
    Expected {
        what: Cow::Borrowed(what),
        cure: SEE,
    }
}

#[cold]
fn expected(what: String, cure: &'static str) -> Expected {
    let what = what.into();
    Expected { what, cure }
}

/// A number up to `max` of at most [`MAX_DIGITS`] digits, which the line calls `name`.
#[inline]
fn number<'a, T: TryFrom<u64>>(
    name: &'static str,
    max: u64,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, T> {
    move |input| {
        let none = |_| expected(format!("a whole number for {name}"), DIGITS_ONLY);
        let (rest, digits) = expect(digit1, none)(input)?;
        let first = &digits[..digits.len().min(MAX_DIGITS)];
        let (most, cure) = match decimal(first) {
            None => (u64::MAX.to_string(), OUT_OF_RANGE),
            Some(_) if digits.len() > MAX_DIGITS => {
                (format!("{MAX_DIGITS} digits"), TOO_MANY_DIGITS)
            }
            Some(value) => match T::try_from(value) {
                Ok(number) if value <= max => return Ok((rest, number)),
                _ => (max.to_string(), OUT_OF_RANGE),
            },
        };
        fault(input, expected(format!("{name} of at most {most}"), cure))
    }
}

const WIDE: u64 = u64::MAX;
const NARROW: u64 = u32::MAX as u64;

/// The one space after the field `name`.
fn space<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, char> {
    expect(char(' '), move |_| {
        expected(format!("a single space after {name}"), FIELDS)
    })
}

/// The line feed after the field `name`, the last one.
fn line_end<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, char> {
    let what = move |_| expected(format!("a line feed after {name}"), LAST_FIELD);
    expect(char('\n'), what)
}

/// A number and the space after it.
fn field<'a, T: TryFrom<u64>>(
    name: &'static str,
    max: u64,
) -> impl Parser<&'a [u8], Output = T, Error = Fault<'a>> {
    terminated(number(name, max), space(name))
}

/// A record and its line feed.
pub(super) fn record(line: &[u8]) -> Parsed<'_, Record> {
    match line {
        [b'G', member_line @ ..] => member.map(Record::Member).parse(member_line),
        _ => message.map(Record::Message).parse(line),
    }
}

fn message(line: &[u8]) -> Parsed<'_, Message> {
    let (rest, (id, src, dst, size)) = (
        field("the message ID", WIDE),
        field("the source", NARROW),
        field("the destination", NARROW),
        field("the size", WIDE),
    )
        .parse(line)?;
    let (rest, (dep, time, after)) = tail(rest)?;
    let message = Message {
        id,
        src,
        dst,
        size,
        dep,
        time,
        after,
    };
    Ok((rest, message))
}

fn member(line: &[u8]) -> Parsed<'_, Member> {
    let (rest, (id, comm, op, task, send, recv)) = (
        field("the collective's ID", WIDE),
        preceded(opt(char('C')), field("the communicator", NARROW)),
        field("the operation", NARROW),
        field("the task", NARROW),
        field("the send size", WIDE),
        field("the receive size", WIDE),
    )
        .parse(line)?;
    let (rest, (dep, time, after)) = tail(rest)?;
    let member = Member {
        id,
        comm,
        op,
        task,
        send,
        recv,
        dep,
        time,
        after,
    };
    Ok((rest, member))
}

/// `Dep time IDdep LF`.
fn tail(line: &[u8]) -> Parsed<'_, (Dep, u64, DepId)> {
    (
        field("Dep", u8::MAX.into()).map(Dep),
        field("the time", WIDE),
        terminated(dep_id, line_end("IDdep")),
    )
        .parse(line)
}

fn dep_id(line: &[u8]) -> Parsed<'_, DepId> {
    const ID: Expected = text("`-1`, a message ID or `G<number>` for IDdep");
    match line {
        // The line is cut off behind the dash.
        b"-" => fault(&line[1..], ID),
        [b'-', ..] => expect(value(DepId::None, tag("-1")), |_| ID)(line),
        [b'G', id @ ..] => number("IDdep", WIDE).map(DepId::Collective).parse(id),
        _ => number("IDdep", WIDE).map(DepId::Message).parse(line),
    }
}

/// The first line and its line feed.
pub(super) fn header(line: &[u8]) -> Parsed<'_, Header> {
    let (tasks_on, version) = version(line)?;
    let (rest, (tasks, messages, comms, collectives, members, only_send_deps)) = (
        field("the number of tasks", MAX_TASKS.into()),
        field("the number of messages", WIDE),
        field("the number of communicators", MAX_COMMS.into()),
        field("the number of collectives", WIDE),
        field("the number of collective lines", WIDE),
        only_send_deps,
    )
        .parse(tasks_on)?;
    let (rest, ps_per_unit) = match version {
        Version::Vef => value(1000, line_end("onlySendDeps")).parse(rest)?,
        Version::Vef3 => {
            const UNIT: &str = "the picoseconds per unit of time";
            let (unit_on, _) = space("onlySendDeps")(rest)?;
            match number(UNIT, WIDE)(unit_on)? {
                (_, 0) => {
                    return fault(unit_on, text("at least 1 picosecond per unit of time"));
                }
                (rest, unit) => value(unit, line_end(UNIT)).parse(rest)?,
            }
        }
    };
    if tasks == 0 {
        return fault(tasks_on, text("at least 1 task"));
    }
    let header = Header {
        version,
        tasks,
        messages,
        comms,
        collectives,
        members,
        only_send_deps,
        ps_per_unit,
    };
    Ok((rest, header))
}

/// The magic at the start of the file.
fn version(line: &[u8]) -> Parsed<'_, Version> {
    if b"VEF3 ".starts_with(line) {
        // Too short to tell.
        return fault(&line[line.len()..], MAGIC);
    }
    let vef = value(Version::Vef, tag("VEF "));
    let vef3 = value(Version::Vef3, tag("VEF3 "));
    expect(alt((vef3, vef)), |_| MAGIC)(line)
}

fn only_send_deps(line: &[u8]) -> Parsed<'_, bool> {
    let no = value(false, alt((tag("0"), tag("FALSE"))));
    let yes = value(true, alt((tag("1"), tag("TRUE"))));
    expect(alt((no, yes)), |_| {
        text("`0`, `1`, `TRUE` or `FALSE` for onlySendDeps")
    })(line)
}

/// The line of communicator `index` and its line feed; `room` bounds the number of its members.
pub(super) fn comm(line: &[u8], index: u32, mut room: usize) -> Parsed<'_, Comm> {
    let (rest, _) = expect(char('C'), |_| {
        text("a communicator line, `C<number> task …`")
    })(line)?;
    let (rest, number_found) = number::<u32>("the communicator's number", NARROW)(rest)?;
    if number_found != index {
        let what = "communicators numbered from `C0` upwards without a gap";
        return fault(line, text(what));
    }
    let task = |input| match room.checked_sub(1) {
        Some(left) => {
            room = left;
            number("a task of the communicator", NARROW)(input)
        }
        None => fault(
            input,
            text("at most 2^24 members of all communicators together"),
        ),
    };
    let (rest, members) = many0(preceded(char(' '), task)).parse(rest)?;
    if members.is_empty() {
        let what = "a single space after the communicator's number".to_owned();
        return fault(rest, expected(what, FIELDS));
    }
    let (rest, _) = line_end("the communicator's tasks")(rest)?;
    let members = members.into();
    Ok((rest, Comm { members }))
}

#[cfg(test)]
mod tests {
    use super::super::fast;
    use super::record;
    use crate::grammar::run;
    use proptest::prelude::*;

    proptest! {
        /// The careful parser accepts every record of the hot path, with the same result. A
        /// record that the hot path leaves is broken, incomplete or has a number of 20 digits.
        #[test]
        fn the_hot_path_and_the_careful_parser_agree(
            line in "(G?[0-9]{1,3} C?[0-9]{1,11} [0-9] ([0-9]{1,20} ){1,6}(-1|G?[0-9]{1,20})\n|\
                     [0-9G C\n-]{0,40})",
        ) {
            let careful = run(record, line.as_bytes())
                .map(|(rest, record)| (record, line.len() - rest.len()));
            match fast::record(line.as_bytes()) {
                Some(fast) => prop_assert_eq!(careful, Ok(fast)),
                None => {
                    let long = line.split(|c: char| !c.is_ascii_digit()).any(|n| n.len() > 19);
                    prop_assert!(careful.is_err() || long, "{:?}", line);
                }
            }
        }
    }
}
