//! The layer between the grammars of the text formats and [`nom`]: faults that know where they are and what was
//! expected, lines of a stream, words and numbers.

use nom::bytes::complete::{take_till1, take_while};
use nom::bytes::streaming::take_until;
use nom::error::{ErrorKind, ParseError};
use nom::sequence::preceded;
use nom::{Err, IResult, Parser};

/// A text that does not match: the input from there on, and what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault<I, E> {
    pub rest: I,
    pub expected: E,
}

impl<I, E: Default> ParseError<I> for Fault<I, E> {
    fn from_error_kind(rest: I, _: ErrorKind) -> Self {
        let expected = E::default();
        Self { rest, expected }
    }

    fn append(_: I, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// The outcome of a parser: what follows and what it found, or a fault.
pub(crate) type Parsed<I, O, E> = IResult<I, O, Fault<I, E>>;

/// The fault at `rest`, which ends the parse.
#[cold]
pub(crate) fn fault<I, O, E>(rest: I, expected: E) -> Parsed<I, O, E> {
    Err(Err::Failure(Fault { rest, expected }))
}

/// Parses what must be there: where `parser` does not match, the parse ends with what was `expected`.
#[inline]
pub(crate) fn expect<I: Clone, P, E>(
    mut parser: P,
    expected: impl Fn(I) -> E,
) -> impl FnMut(I) -> Parsed<I, P::Output, E>
where
    P: Parser<I, Error = Fault<I, E>>,
{
    move |input| match parser.parse(input.clone()) {
        Err(Err::Error(_)) => fault(input.clone(), expected(input)),
        parsed => parsed,
    }
}

/// Parses the start of `input`; no parser of a whole line waits for more.
#[inline]
pub(crate) fn run<I: Clone, P, E: Default>(
    mut parser: P,
    input: I,
) -> Result<(I, P::Output), Fault<I, E>>
where
    P: Parser<I, Error = Fault<I, E>>,
{
    parser.parse(input.clone()).map_err(|e| match e {
        Err::Error(fault) | Err::Failure(fault) => fault,
        Err::Incomplete(_) => Fault::from_error_kind(input, ErrorKind::Complete),
    })
}

/// The line at the start of `buf` without its line feed, and what follows; `eof` says that nothing follows `buf`, so that
/// the last line may lack its line feed. Incomplete until the line has its end, an error if it has more than `longest`
/// bytes.
#[inline]
pub(crate) fn line(buf: &[u8], eof: bool, longest: usize) -> IResult<&[u8], &[u8], ()> {
    let head = &buf[..buf.len().min(longest + 1)];
    match take_until::<_, _, ()>(&b"\n"[..])(head) {
        Ok((_, line)) => Ok((&buf[line.len() + 1..], line)),
        Err(_) if head.len() > longest => Err(Err::Error(())),
        Err(_) if eof => Ok((&[], buf)),
        Err(more) => Err(more),
    }
}

/// Whether `byte` separates words of a line.
#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c')
}

/// The next word of a line, behind any blanks.
#[inline]
pub(crate) fn word<E: Default>(input: &[u8]) -> Parsed<&[u8], &[u8], E> {
    preceded(take_while(is_blank), take_till1(is_blank)).parse(input)
}

/// The number that decimal digits write; `None` if it does not fit 64 bits, or if there is another character.
#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    // Nineteen digits can't overflow.
    let (safe, further) = digits.split_at(digits.len().min(19));
    let mut value = 0u64;
    for byte in safe {
        value = value * 10 + digit(*byte)?;
    }
    further.iter().try_fold(value, |value, byte| {
        value.checked_mul(10)?.checked_add(digit(*byte)?)
    })
}

#[inline]
fn digit(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(u64::from(digit))
}
