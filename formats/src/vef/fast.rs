//! The hot path: parses correct records, and leaves all others, including incomplete ones, to
//! the careful parser, which explains the error.

use super::record::{Dep, DepId, Member, Message, Record};

/// Most digits of a number that can't overflow; the careful parser reads longer numbers.
const SAFE_DIGITS: usize = 19;

/// The record at the start of `buf` and its length with the line feed.
#[inline]
pub(super) fn record(buf: &[u8]) -> Option<(Record, usize)> {
    let mut c = Cursor { rest: buf };
    let record = if *buf.first()? == b'G' {
        c.skip(1);
        let id = c.number(b' ')?;
        if *c.rest.first()? == b'C' {
            c.skip(1);
        }
        let comm = c.narrow()?;
        let op = c.narrow()?;
        let task = c.narrow()?;
        let send = c.number(b' ')?;
        let recv = c.number(b' ')?;
        let (dep, time, after) = c.tail()?;
        Record::Member(Member {
            id,
            comm,
            op,
            task,
            send,
            recv,
            dep,
            time,
            after,
        })
    } else {
        let id = c.number(b' ')?;
        let src = c.narrow()?;
        let dst = c.narrow()?;
        let size = c.number(b' ')?;
        let (dep, time, after) = c.tail()?;
        Record::Message(Message {
            id,
            src,
            dst,
            size,
            dep,
            time,
            after,
        })
    };
    Some((record, buf.len() - c.rest.len()))
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    #[inline(always)]
    fn skip(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or_default();
    }

    /// A number and the byte after it.
    #[inline(always)]
    fn number(&mut self, end: u8) -> Option<u64> {
        let mut rest = self.rest;
        let mut value = 0u64;
        let mut digits = 0;
        loop {
            let (&byte, tail) = rest.split_first()?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                if byte != end || digits == 0 {
                    return None;
                }
                self.rest = tail;
                return Some(value);
            }
            if digits == SAFE_DIGITS {
                return None;
            }
            value = value * 10 + u64::from(digit);
            digits += 1;
            rest = tail;
        }
    }

    /// A number of 32 bits and a space.
    #[inline(always)]
    fn narrow(&mut self) -> Option<u32> {
        u32::try_from(self.number(b' ')?).ok()
    }

    /// `Dep time IDdep LF`.
    #[inline(always)]
    fn tail(&mut self) -> Option<(Dep, u64, DepId)> {
        let dep = Dep(u8::try_from(self.number(b' ')?).ok()?);
        let time = self.number(b' ')?;
        let after = match *self.rest.first()? {
            b'-' => {
                if !self.rest.starts_with(b"-1\n") {
                    return None;
                }
                self.skip(3);
                DepId::None
            }
            b'G' => {
                self.skip(1);
                DepId::Collective(self.number(b'\n')?)
            }
            _ => DepId::Message(self.number(b'\n')?),
        };
        Some((dep, time, after))
    }
}
