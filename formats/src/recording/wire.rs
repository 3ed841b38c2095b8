//! Numbers, texts and sequences as streams have them.

/// Adds an unsigned number.
pub(super) fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Adds a signed number.
pub(super) fn put_signed(to: &mut Vec<u8>, number: i64) {
    put(to, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Adds a text.
pub(super) fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

/// A place in a payload or a tuple, and what is wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// Bytes before it.
    pub at: usize,
    pub problem: &'static str,
}

/// Bytes, and a place in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    /// The same bytes from `pos` on.
    pub fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    pub fn pos(&self) -> usize {
        self.pos
    }

    /// The bytes from `start` to this place.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.pos).unwrap_or_default()
    }

    /// The problem at this place.
    #[cold]
    pub fn fault<T>(&self, problem: &'static str) -> Result<T, Fault> {
        let at = self.pos;
        Err(Fault { at, problem })
    }

    pub fn is_at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// An unsigned number.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Fault> {
        match self.bytes.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        for (at, &byte) in rest.iter().enumerate() {
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has the last bit.
            if at > 9 || (at == 9 && bits > 1) {
                return self.fault("a number of more than 64 bits");
            }
            value |= bits << (7 * at);
            if byte < 0x80 {
                self.pos += at + 1;
                return Ok(value);
            }
        }
        self.fault("a number is cut off")
    }

    /// A signed number.
    #[inline]
    pub fn signed(&mut self) -> Result<i64, Fault> {
        let number = self.number()?;
        let half = (number >> 1).cast_signed();
        Ok(if number & 1 == 0 { half } else { -half - 1 })
    }

    /// A number of at most 31 bits, which a rank or an id has.
    #[inline]
    pub fn small(&mut self) -> Result<u32, Fault> {
        let here = *self;
        let number = self.number()?;
        match u32::try_from(number) {
            Ok(number) if number <= i32::MAX.cast_unsigned() => Ok(number),
            _ => here.fault("a number beyond the range of an int of MPI"),
        }
    }

    /// A number that is 0 or 1.
    #[inline]
    pub fn flag(&mut self) -> Result<bool, Fault> {
        let here = *self;
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => here.fault("a flag that is neither 0 nor 1"),
        }
    }

    /// The next bytes, as many as a number says that comes first.
    pub fn counted(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.number()?;
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match rest.get(..length) {
            Some(bytes) => {
                self.pos += length;
                Ok(bytes)
            }
            None => self.fault("a length beyond the end of the record"),
        }
    }

    pub fn text(&mut self) -> Result<&'a str, Fault> {
        let here = *self;
        match std::str::from_utf8(self.counted()?) {
            Ok(text) => Ok(text),
            Err(_) => here.fault("a text that is not in UTF-8"),
        }
    }

    /// A sequence of at most `most` numbers.
    pub fn sequence(&mut self, most: u64) -> Result<Sequence<'a>, Fault> {
        let count = self.number()?;
        let start = self.pos;
        let mut len = 0_u64;
        for _ in 0..count {
            let run = self.run()?;
            len = len.saturating_add(run.count);
            if len > most {
                return self.fault("a sequence of too many numbers");
            }
        }
        let runs = self.since(start);
        Ok(Sequence { runs, len })
    }

    fn run(&mut self) -> Result<Run, Fault> {
        let count = self.number()?;
        if count == 0 {
            return self.fault("a run of no numbers");
        }
        let first = self.signed()?;
        let stride = if count > 1 { self.signed()? } else { 0 };
        let span = i64::try_from(count - 1).ok();
        let span = span.and_then(|steps| stride.checked_mul(steps));
        match span.and_then(|span| first.checked_add(span)) {
            Some(_) => Ok(Run {
                count,
                first,
                stride,
            }),
            None => self.fault("a run beyond the range of 64 bits"),
        }
    }
}

/// Numbers of equal distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub count: u64,
    pub first: i64,
    pub stride: i64,
}

impl Run {
    /// One number.
    fn of(first: i64) -> Self {
        Self {
            count: 1,
            first,
            stride: 0,
        }
    }

    pub fn numbers(self) -> impl Iterator<Item = i64> {
        // Its last number was computed when it was read.
        (0..self.count.cast_signed()).map(move |at| self.first + at * self.stride)
    }
}

/// A sequence of numbers, in arithmetic runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sequence<'a> {
    /// The runs, which were read once.
    runs: &'a [u8],
    len: u64,
}

impl<'a> Sequence<'a> {
    /// The number of its numbers.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + use<'a> {
        self.runs().flat_map(Run::numbers)
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + use<'a> {
        let mut cursor = Cursor::new(self.runs);
        std::iter::from_fn(move || {
            if cursor.is_at_end() {
                None
            } else {
                cursor.run().ok()
            }
        })
    }

    /// The bytes of the runs: equal bytes are equal sequences.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.runs
    }
}

/// A sequence that is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers {
    runs: Vec<u8>,
    len: u64,
}

impl Numbers {
    /// The numbers as a call has them.
    #[must_use]
    pub fn sequence(&self) -> Sequence<'_> {
        Sequence {
            runs: &self.runs,
            len: self.len,
        }
    }

    fn put_run(&mut self, run: Run) {
        put(&mut self.runs, run.count);
        put_signed(&mut self.runs, run.first);
        if run.count > 1 {
            put_signed(&mut self.runs, run.stride);
        }
        self.len += run.count;
    }
}

impl FromIterator<i64> for Numbers {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Self {
        let mut all = Self::default();
        let mut open: Option<(Run, i64)> = None;
        for number in numbers {
            open = Some(match open {
                Some((run, last)) => match number.checked_sub(last) {
                    Some(stride) if run.count == 1 || stride == run.stride => {
                        let count = run.count + 1;
                        (
                            Run {
                                count,
                                stride,
                                ..run
                            },
                            number,
                        )
                    }
                    _ => {
                        all.put_run(run);
                        (Run::of(number), number)
                    }
                },
                None => (Run::of(number), number),
            });
        }
        open.into_iter().for_each(|(run, _)| all.put_run(run));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_64_bits() {
        let read = |bytes: &[u8]| Cursor::new(bytes).number();
        assert_eq!(read(&[0x7f]), Ok(127));
        assert_eq!(read(&[0x80, 1]), Ok(128));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(read(&most), Ok(u64::MAX));
        most[9] = 2;
        assert!(read(&most).is_err());
        assert!(read(&[0x80; 11]).is_err());
        assert!(read(&[0x80]).is_err());
        assert!(read(&[]).is_err());
        assert_eq!(Cursor::new(&[1]).signed(), Ok(-1));
        assert_eq!(Cursor::new(&[2]).signed(), Ok(1));
        most[9] = 1;
        assert_eq!(Cursor::new(&most).signed(), Ok(i64::MIN));
    }

    #[test]
    fn sequences_are_runs() {
        // Three numbers from -1 in steps of 2, then 7.
        let bytes = [2, 3, 1, 4, 1, 14];
        let sequence = Cursor::new(&bytes).sequence(4).unwrap();
        assert_eq!(sequence.iter().collect::<Vec<_>>(), [-1, 1, 3, 7]);
        assert!(Cursor::new(&bytes).sequence(3).is_err());
        for broken in [&[1, 0, 2][..], &[1, 2, 2], &[2, 1, 2]] {
            assert!(Cursor::new(broken).sequence(9).is_err(), "{broken:?}");
        }
        let mut beyond = vec![1, 3];
        beyond.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2]);
        assert!(Cursor::new(&beyond).sequence(9).is_err());
    }
    #[test]
    fn what_is_written_is_read() {
        for numbers in [
            &[][..],
            &[7],
            &[1, 2, 3, 5, 7, 7, 7, -3],
            &[i64::MIN, i64::MAX, 0],
            &[-1, -1],
        ] {
            let written: Numbers = numbers.iter().copied().collect();
            assert_eq!(written.sequence().len(), numbers.len() as u64);
            let mut bytes = Vec::new();
            put(&mut bytes, written.sequence().runs().count() as u64);
            bytes.extend(&written.runs);
            let read = Cursor::new(&bytes).sequence(9).unwrap();
            assert_eq!(read.iter().collect::<Vec<_>>(), numbers);
        }
        let mut bytes = Vec::new();
        for number in [0, 1, -1, i64::MAX, i64::MIN] {
            bytes.clear();
            put_signed(&mut bytes, number);
            assert_eq!(Cursor::new(&bytes).signed(), Ok(number));
        }
    }
}
