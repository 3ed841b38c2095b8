//! Values of a record: numbers behind their length, in either byte order, and texts that end with a zero.

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The least significant one first.
    Little,
    /// The most significant one first.
    Big,
}

impl Order {
    /// The order that this byte of a chunk header names.
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            b'B' => Some(Self::Little),
            b'#' => Some(Self::Big),
            _ => None,
        }
    }

    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// The reason why the bytes of a record are no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The record ends within a value.
    Short,
    /// A number has more bytes than fit.
    Length(u8),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("it ends within a value"),
            Self::Length(length) => write!(f, "a number has {length} bytes, more than it may"),
        }
    }
}

/// The length that stands for a number all of whose bits are set: the undefined one.
pub(super) const UNDEFINED: u8 = 0xff;

/// The values of a record, read one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8], order: Order) -> Self {
        Self { bytes, order }
    }

    /// True if no value is left: those that later versions added are missing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Number of bytes left.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or(Fault::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (&taken, rest) = self.bytes.split_first_chunk().ok_or(Fault::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// A number of 32 bits that has all its bytes.
    pub fn full_u32(&mut self) -> Result<u32, Fault> {
        Ok(self.order.u32(self.array()?))
    }

    /// A number of 64 bits that has all its bytes.
    pub fn full_u64(&mut self) -> Result<u64, Fault> {
        Ok(self.order.u64(self.array()?))
    }

    /// A number of 64 bits behind its length.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.number(8, u64::MAX)
    }

    /// A signed number of 64 bits behind its length.
    pub fn i64(&mut self) -> Result<i64, Fault> {
        self.u64().map(u64::cast_signed)
    }

    /// A number of 32 bits behind its length.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        let value = self.number(4, u64::from(u32::MAX))?;
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }

    #[inline]
    fn number(&mut self, most: u8, undefined: u64) -> Result<u64, Fault> {
        let length = self.u8()?;
        if length == UNDEFINED {
            return Ok(undefined);
        }
        if length > most {
            return Err(Fault::Length(length));
        }
        let given = self.bytes(length.into())?;
        let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(match self.order {
            Order::Little => given.iter().rev().fold(0, join),
            Order::Big => given.iter().fold(0, join),
        })
    }

    /// A text that ends with a zero. It has no stated encoding.
    pub fn text(&mut self) -> Result<String, Fault> {
        let end = memchr::memchr(0, self.bytes).ok_or(Fault::Short)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_length_and_an_order() {
        let bytes = [0, 1, 7, 2, 1, 2, 0xff, 4, 1, 2, 3, 4];
        let read = |order| {
            let mut fields = Fields::new(&bytes, order);
            let mut next = || fields.u32().unwrap();
            [next(), next(), next(), next(), next()]
        };
        assert_eq!(read(Order::Little), [0, 7, 0x0201, u32::MAX, 0x0403_0201]);
        assert_eq!(read(Order::Big), [0, 7, 0x0102, u32::MAX, 0x0102_0304]);
    }

    #[test]
    fn wrong_numbers_are_faults() {
        let u32 = |bytes: &[u8]| Fields::new(bytes, Order::Little).u32();
        let u64 = |bytes: &[u8]| Fields::new(bytes, Order::Big).u64();
        assert_eq!(u32(&[]), Err(Fault::Short));
        assert_eq!(u32(&[2, 1]), Err(Fault::Short));
        assert_eq!(u32(&[5, 1, 2, 3, 4, 5]), Err(Fault::Length(5)));
        assert_eq!(u64(&[5, 0, 0, 0, 1, 5]), Ok(261));
        assert_eq!(u64(&[9, 1, 2, 3, 4, 5, 6, 7, 8, 9]), Err(Fault::Length(9)));
        assert_eq!(u64(&[0xff]), Ok(u64::MAX));
    }
}
