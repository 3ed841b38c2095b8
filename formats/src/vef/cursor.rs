//! A cursor over the bytes of a line; every step is checked.

use crate::limits::MAX_DIGITS;

/// Why a line does not parse, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// Byte offset in the line.
    pub at: usize,
    pub expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A number in this field.
    Number(&'static str),
    /// A number up to this maximum in this field.
    Fitting(&'static str, u64),
    /// A number of at most [`MAX_DIGITS`] digits in this field.
    Digits(&'static str),
    /// One space after this field.
    Space(&'static str),
    /// The end of the line after this field.
    LineEnd(&'static str),
    /// Something else.
    Text(&'static str),
}

pub(super) struct Cursor<'a> {
    buf: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(buf: &'a [u8]) -> Self {
        Self { buf, pos: 0 }
    }

    #[inline]
    pub fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.buf.get(self.pos).copied()
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.buf[self.pos..]
    }

    /// Steps over `byte` if it is next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.pos += usize::from(hit);
        hit
    }

    pub fn skip(&mut self, n: usize) {
        self.pos = (self.pos + n).min(self.buf.len());
    }

    #[inline]
    pub fn fault<T>(&self, expected: Expected) -> Result<T, Fault> {
        Err(Fault {
            at: self.pos,
            expected,
        })
    }

    /// A number of at most 20 digits that fits 64 bits.
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, Fault> {
        let digits = self.rest();
        let mut value = 0u64;
        let mut n = 0;
        // Nineteen digits can't overflow.
        while n < MAX_DIGITS - 1 {
            let Some(d) = digits.get(n).and_then(digit) else {
                if n == 0 {
                    return self.fault(Expected::Number(field));
                }
                self.pos += n;
                return Ok(value);
            };
            value = value * 10 + d;
            n += 1;
        }
        self.long(field, value)
    }

    /// The end of a number whose first 19 digits are `value`.
    #[cold]
    fn long(&mut self, field: &'static str, mut value: u64) -> Result<u64, Fault> {
        let start = self.pos;
        let mut n = MAX_DIGITS - 1;
        while let Some(d) = self.buf.get(start + n).and_then(digit) {
            let next = value.checked_mul(10).and_then(|v| v.checked_add(d));
            if n == MAX_DIGITS {
                return self.fault(Expected::Digits(field));
            }
            let Some(next) = next else {
                return self.fault(Expected::Fitting(field, u64::MAX));
            };
            value = next;
            n += 1;
        }
        self.pos += n;
        Ok(value)
    }

    /// A number up to `max`.
    #[inline]
    pub fn up_to(&mut self, field: &'static str, max: u64) -> Result<u64, Fault> {
        let start = self.pos;
        let value = self.u64(field)?;
        if value > max {
            self.pos = start;
            return self.fault(Expected::Fitting(field, max));
        }
        Ok(value)
    }

    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Fault> {
        // Cannot truncate: `up_to` checks the range.
        Ok(self.up_to(field, u64::from(u32::MAX))? as u32)
    }

    /// The one space after `field`.
    #[inline]
    pub fn space(&mut self, field: &'static str) -> Result<(), Fault> {
        if self.eat(b' ') {
            Ok(())
        } else {
            self.fault(Expected::Space(field))
        }
    }

    /// The line feed after `field`.
    #[inline]
    pub fn line_end(&mut self, field: &'static str) -> Result<(), Fault> {
        if self.eat(b'\n') {
            Ok(())
        } else {
            self.fault(Expected::LineEnd(field))
        }
    }
}

#[inline]
fn digit(byte: &u8) -> Option<u64> {
    let d = byte.wrapping_sub(b'0');
    (d <= 9).then_some(u64::from(d))
}
