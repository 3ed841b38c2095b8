//! The words of a line of a GOAL schedule.

use std::fmt::Display;

use flitwise_base::quote::quoted_bytes;
use nom::Parser;
use nom::bytes::complete::{tag, take_until, take_while, take_while1};
use nom::character::complete::digit0;
use nom::combinator::{value, verify};
use nom::multi::many0_count;
use nom::sequence::{delimited, preceded};

use crate::grammar::{self, decimal, fault, is_blank};

/// Where in a line something is wrong, and what.
pub(super) type Fault<'a> = grammar::Fault<&'a [u8], String>;

pub(super) type Parsed<'a, T> = grammar::Parsed<&'a [u8], T, String>;

/// Blanks, and comments that end on the line. There need not be any.
#[inline(always)]
pub(super) fn blanks(line: &[u8]) -> Parsed<'_, ()> {
    let end = line.iter().position(|&byte| !is_blank(byte));
    match &line[end.unwrap_or(line.len())..] {
        rest @ [b'/', ..] => comments(rest),
        rest => Ok((rest, ())),
    }
}

fn comments(line: &[u8]) -> Parsed<'_, ()> {
    let comment = delimited(tag("/*"), take_until("*/"), tag("*/"));
    value((), many0_count((comment, take_while(is_blank)))).parse(line)
}

/// `parser` behind any blanks.
#[inline]
pub(super) fn after_blanks<'a, P>(
    parser: P,
) -> impl Parser<&'a [u8], Output = P::Output, Error = Fault<'a>>
where
    P: Parser<&'a [u8], Error = Fault<'a>>,
{
    preceded(blanks, parser)
}

/// Whether the line says nothing more.
pub(super) fn is_end(rest: &[u8]) -> bool {
    rest.is_empty() || rest.starts_with(b"//") || rest.starts_with(b"/*")
}

/// A letter with letters, digits and underscores after it.
#[inline]
pub(super) fn name(line: &[u8]) -> Parsed<'_, &[u8]> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    verify(take_while1(part), |name: &[u8]| {
        name[0].is_ascii_alphabetic()
    })
    .parse(line)
}

/// The word `word`.
#[inline]
pub(super) fn word<'a>(
    word: &'static str,
) -> impl Parser<&'a [u8], Output = &'a [u8], Error = Fault<'a>> {
    verify(name, move |name: &[u8]| name == word.as_bytes())
}

/// A number up to `max`.
#[inline]
pub(super) fn number<'a>(what: &'static str, max: u64) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    move |line| {
        let (rest, digits) = digit0.parse(line)?;
        match decimal(digits) {
            Some(_) if digits.is_empty() => {
                let what = format!("a whole number for {what}");
                fault(line, expected(what, "see the format's description")(line))
            }
            Some(number) if number <= max => Ok((rest, number)),
            _ => {
                let what = format!("{what} of at most {max}");
                fault(line, expected(what, "correct it")(line))
            }
        }
    }
}

/// A number up to `max`, or −1 where `any` is allowed, which is `None`.
#[inline]
pub(super) fn number_or_any<'a>(
    what: &'static str,
    max: u64,
    any: bool,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<u64>> {
    move |line| match line.strip_prefix(b"-1") {
        Some(rest) if any && !rest.first().is_some_and(u8::is_ascii_digit) => Ok((rest, None)),
        _ => number(what, max).map(Some).parse(line),
    }
}

/// The message that `what` should be at the start of the rest.
pub(super) fn expected<'a>(what: impl Display, cure: impl Display) -> impl Fn(&'a [u8]) -> String {
    move |rest| {
        let found = match rest.first() {
            None => "the end of the line".to_owned(),
            Some(&byte) if is_blank(byte) => "a blank".to_owned(),
            Some(_) => {
                let word = rest.iter().position(|&byte| is_blank(byte));
                quoted_bytes(&rest[..word.unwrap_or(rest.len())], true)
            }
        };
        format!("expected {what}, found {found}; {cure}")
    }
}
