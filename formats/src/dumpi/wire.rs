//! Values as they stand in the bytes: big-endian, unaligned, arrays behind their count.
//!
//! An array is a view of the bytes that were given to the parser, so no count of a file ever decides the size of
//! an allocation.

use std::fmt;
use std::marker::PhantomData;

use super::layout::Layout;

/// Why bytes are no value: not yet, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// At least this many bytes of the buffer are needed.
    Short(usize),
    /// The array that begins at this byte has a negative count.
    Count(usize, i32),
    /// The time at this byte has that many nanoseconds, a second or more.
    Nanoseconds(usize, u32),
    /// The record at the start of the buffer is of no function.
    Function(u16),
    /// The record at the start of the buffer has parts that are unknown.
    Mask(u8),
    /// The time at this byte lies beyond the range of 64 bits.
    Time(usize),
}

/// The bytes of a record and a place in them.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    buf: &'a [u8],
    pos: usize,
    layout: Layout,
    /// The record has statuses.
    statuses: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(buf: &'a [u8], layout: Layout) -> Self {
        Self {
            buf,
            pos: 0,
            layout,
            statuses: false,
        }
    }

    pub fn pos(&self) -> usize {
        self.pos
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    pub fn statuses(&mut self, present: bool) {
        self.statuses = present;
    }

    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let end = self.pos.saturating_add(n);
        let Some(bytes) = self.buf.get(self.pos..end) else {
            return Err(Fault::Short(end));
        };
        self.pos = end;
        Ok(bytes)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let rest = self.buf.get(self.pos..).unwrap_or_default();
        let Some(&chunk) = rest.first_chunk() else {
            return Err(Fault::Short(self.pos + N));
        };
        self.pos += N;
        Ok(chunk)
    }

    /// The count of an array.
    #[inline]
    fn count(&mut self) -> Result<usize, Fault> {
        let at = self.pos;
        let count = i32::decode(self)?;
        usize::try_from(count).map_err(|_| Fault::Count(at, count))
    }

    /// The bytes of an array whose elements have `size` bytes each.
    #[inline]
    fn elements(&mut self, size: usize) -> Result<&'a [u8], Fault> {
        let count = self.count()?;
        self.bytes(count.saturating_mul(size))
    }
}

/// A value of a record.
pub trait Decode<'a>: Sized {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault>;
}

/// The bytes of a record that is written.
#[derive(Debug, Default)]
pub struct Encoder {
    pub bytes: Vec<u8>,
    /// The record has statuses.
    pub statuses: bool,
}

impl Encoder {
    /// An array of `count` elements with these bytes.
    fn array(&mut self, count: usize, bytes: &[u8]) {
        // No record has 2^31 bytes.
        (count as i32).encode(self);
        self.bytes.extend_from_slice(bytes);
    }
}

/// A value of a record that is written.
pub trait Encode {
    fn encode(&self, to: &mut Encoder);
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, to: &mut Encoder) {
        if let Some(value) = self {
            value.encode(to);
        }
    }
}

/// A value of `SIZE` bytes.
pub trait Element: Copy {
    const SIZE: usize;

    /// Its value; `bytes` has `SIZE` of them.
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl<'a> Decode<'a> for $number {
            #[inline]
            fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
                Ok(Self::from_be_bytes(cursor.chunk()?))
            }
        }

        impl Encode for $number {
            fn encode(&self, to: &mut Encoder) {
                to.bytes.extend(self.to_be_bytes());
            }
        }

        impl Element for $number {
            const SIZE: usize = size_of::<$number>();

            #[inline]
            fn of(bytes: &[u8]) -> Self {
                Self::from_be_bytes(bytes.try_into().unwrap_or_default())
            }
        }
    )*};
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64);

/// An array of numbers or handles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Array<'a, T> {
    bytes: &'a [u8],
    element: PhantomData<fn() -> T>,
}

impl<'a, T: Element> Array<'a, T> {
    /// An array of these elements, as they stand in a file.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            element: PhantomData,
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// True if it has none. A null pointer and an array of no elements are written alike.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Element `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(T::SIZE)?;
        let bytes = self.bytes.get(start..start.checked_add(T::SIZE)?)?;
        Some(T::of(bytes))
    }

    /// The elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        self.bytes.chunks_exact(T::SIZE).map(T::of)
    }
}

impl<'a, T: Element> Decode<'a> for Array<'a, T> {
    #[inline]
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(Self::of(cursor.elements(T::SIZE)?))
    }
}

impl<T: Element> Encode for Array<'_, T> {
    fn encode(&self, to: &mut Encoder) {
        to.array(self.len(), self.bytes);
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The bytes of an array that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elements<T> {
    bytes: Vec<u8>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element + Encode> Elements<T> {
    /// The array.
    #[must_use]
    pub fn array(&self) -> Array<'_, T> {
        Array::of(&self.bytes)
    }
}

impl<T: Encode> FromIterator<T> for Elements<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut to = Encoder::default();
        all.into_iter().for_each(|one| one.encode(&mut to));
        Self {
            bytes: to.bytes,
            element: PhantomData,
        }
    }
}

/// A text: bytes of no stated encoding.
pub type Text<'a> = Array<'a, u8>;

impl<'a> Text<'a> {
    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A list of arrays, each behind a count of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct List<'a, T> {
    bytes: &'a [u8],
    len: usize,
    entry: PhantomData<fn() -> T>,
}

impl<'a, T: Decode<'a>> List<'a, T> {
    /// No entry.
    pub const NONE: Self = Self {
        bytes: &[],
        len: 0,
        entry: PhantomData,
    };

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let mut cursor = Cursor::new(self.bytes, Layout::default());
        // They were decoded once before, so that none of them fails.
        (0..self.len).map_while(move |_| T::decode(&mut cursor).ok())
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for List<'a, T> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let len = cursor.count()?;
        let start = cursor.pos;
        // Each entry has a count at least: what is too long for the buffer is not looked at.
        let least = start.saturating_add(len.saturating_mul(i32::SIZE));
        if least > cursor.buf.len() {
            return Err(Fault::Short(least));
        }
        for _ in 0..len {
            T::decode(cursor)?;
        }
        let bytes = cursor.buf.get(start..cursor.pos).unwrap_or_default();
        Ok(Self {
            bytes,
            len,
            entry: PhantomData,
        })
    }
}

impl<T> Encode for List<'_, T> {
    fn encode(&self, to: &mut Encoder) {
        to.array(self.len, self.bytes);
    }
}

impl<'a, T: Decode<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The status that a receive, a wait, a test or a probe returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Bytes received. 0 as well where the recorder could not tell.
    pub bytes: i32,
    /// Rank of the sender, or the raw number of `MPI_ANY_SOURCE` or `MPI_PROC_NULL` in the MPI library.
    pub source: i32,
    /// True if the operation was cancelled.
    pub cancelled: bool,
    /// Error code. MPI libraries leave it as it was for single operations: it means nothing there.
    pub error: i8,
    /// Tag; `None` before version 0.6.3, which did not record it.
    pub tag: Option<i32>,
}

/// The statuses of a call: one of a wait for one request, one for each request of a wait for all.
///
/// There is none if the program passed `MPI_STATUS_IGNORE`, or if the recorder was told to leave statuses out: then
/// the number of bytes received is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Statuses<'a> {
    bytes: &'a [u8],
    /// Each has a tag.
    tags: bool,
}

impl<'a> Statuses<'a> {
    /// No status.
    pub const NONE: Self = Self {
        bytes: &[],
        tags: true,
    };

    /// Bytes of one with a tag, and of a tag.
    const SIZE: usize = 14;
    const TAG: usize = 4;

    fn size(tags: bool) -> usize {
        if tags {
            Self::SIZE
        } else {
            Self::SIZE - Self::TAG
        }
    }

    /// Number of statuses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / Self::size(self.tags)
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The statuses in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Status> + use<'a> {
        self.bytes
            .chunks_exact(Self::size(self.tags))
            .map(|one| Status {
                bytes: i32::of(one.get(..4).unwrap_or_default()),
                source: i32::of(one.get(4..8).unwrap_or_default()),
                cancelled: one.get(8).is_some_and(|&b| b != 0),
                error: i8::of(one.get(9..10).unwrap_or_default()),
                tag: one.get(10..Self::SIZE).map(i32::of),
            })
    }

    /// The first status.
    #[must_use]
    pub fn first(&self) -> Option<Status> {
        self.iter().next()
    }
}

impl<'a> Decode<'a> for Statuses<'a> {
    #[inline]
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let tags = cursor.layout.status_tags;
        let bytes = if cursor.statuses {
            cursor.elements(Self::size(tags))?
        } else {
            &[]
        };
        Ok(Self { bytes, tags })
    }
}

impl Encode for Statuses<'_> {
    fn encode(&self, to: &mut Encoder) {
        if to.statuses {
            to.array(self.len(), self.bytes);
        }
    }
}

impl fmt::Debug for Statuses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
