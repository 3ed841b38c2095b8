//! Handles: small numbers that the recorder gives to communicators, datatypes, requests and the like in the order of
//! their first use in a process, so that the same communicator may have another number on another rank.

use std::fmt;

use super::wire::{Cursor, Decode, Element, Encode, Encoder, Fault};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl<'a> Decode<'a> for $name {
            #[inline]
            fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
                Ok(Self(<$number>::decode(cursor)?))
            }
        }

        impl Encode for $name {
            fn encode(&self, to: &mut Encoder) {
                self.0.encode(to);
            }
        }

        impl Element for $name {
            const SIZE: usize = <$number as Element>::SIZE;

            #[inline]
            fn of(bytes: &[u8]) -> Self {
                Self(<$number>::of(bytes))
            }
        }
    )*};
}

handles! {
    /// A communicator.
    Comm(i16);
    /// A group of ranks.
    Group(i16);
    /// A datatype.
    Datatype(i16);
    /// An operation of a reduction.
    Op(u8);
    /// A request. Several operations in flight may have the same one: an MPI library may return one shared request for
    /// all small sends, which are complete at once.
    Request(i32);
    /// A request of a file operation. The recorder numbers them like [`Request`] or otherwise.
    IoRequest(i32);
    /// A window of one-sided communication.
    Win(i16);
    /// An info object.
    Info(i16);
    /// An open file.
    File(i16);
    /// A key of attributes.
    Keyval(i16);
    /// An error handler.
    Errhandler(i16);
}

/// Rank `MPI_ANY_SOURCE`. MPICH writes `MPI_PROC_NULL` as this number: as a destination it is that.
pub const ANY_SOURCE: i32 = -1;
/// Tag `MPI_ANY_TAG`.
pub const ANY_TAG: i32 = -1;
/// Rank `MPI_ROOT`. Open MPI writes `MPI_PROC_NULL` as this number.
pub const ROOT: i32 = -2;

impl Comm {
    /// `MPI_COMM_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_COMM_WORLD`.
    pub const WORLD: Self = Self(2);
    /// `MPI_COMM_SELF`.
    pub const SELF: Self = Self(3);
    /// The first that a program makes.
    pub const USER: Self = Self(4);
}

impl fmt::Display for Comm {
    /// Its name in MPI, or the number that the file of its rank gives to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NULL => f.write_str("MPI_COMM_NULL"),
            Self::WORLD => f.write_str("MPI_COMM_WORLD"),
            Self::SELF => f.write_str("MPI_COMM_SELF"),
            Self(number) => write!(f, "communicator {number}"),
        }
    }
}

impl Group {
    /// `MPI_GROUP_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_GROUP_EMPTY`.
    pub const EMPTY: Self = Self(2);
}

impl Request {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: Self = Self(1);
}

impl Datatype {
    /// `MPI_DATATYPE_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_BYTE`.
    pub const BYTE: Self = Self(5);
    /// `MPI_INT`.
    pub const INT: Self = Self(9);
    /// `MPI_DOUBLE`.
    pub const DOUBLE: Self = Self(14);
    /// `MPI_LONG_DOUBLE`.
    pub const LONG_DOUBLE: Self = Self(15);
    /// The first that a program makes, or that is no type of C in MPI-1: types of Fortran and fixed-size types get
    /// numbers from here on when they are first seen.
    pub const USER: Self = Self(28);

    /// Bytes of a predefined type on a machine whose `long` has 64 bits; `None` for other types.
    #[must_use]
    pub fn predefined(self) -> Option<u64> {
        /// By number.
        const BYTES: [u64; 28] = [
            0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
        ];
        let number = usize::try_from(self.0).ok()?;
        BYTES.get(number).copied().filter(|_| self > Self::NULL)
    }
}

impl Op {
    /// `MPI_SUM`.
    pub const SUM: Self = Self(3);
    /// The first that a program makes.
    pub const USER: Self = Self(15);

    /// The order of operands may change its result: an operation that a program made may say so.
    #[must_use]
    pub fn is_user(self) -> bool {
        self >= Self::USER
    }
}
