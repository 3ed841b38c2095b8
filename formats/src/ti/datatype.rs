//! The datatypes of SimGrid, which traces name by number.

/// Size of the datatype with each number, in bytes.
///
/// Numbers as in SimGrid since 3.28. Sizes as of the MPI types on a 64-bit Linux; SimGrid itself takes 4 bytes for
/// 45 (INTEGER1) and 16 for 44 (COMPLEX32).
const SIZES: [u8; 58] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1,
    1, // DOUBLE INT CHAR SHORT LONG FLOAT BYTE LONG_LONG S_CHAR U_CHAR
    2, 4, 8, 8, 16, 4, 1, // U_SHORT UNSIGNED U_LONG U_LONG_LONG LONG_DOUBLE WCHAR C_BOOL
    1, 2, 4, 8, 1, 2, 4, 8, // INT8_T … INT64_T UINT8_T … UINT64_T
    8, 16, 32, 8, 8, // C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX AINT OFFSET
    8, 16, 16, 8, 8, 8, 16,
    16, // FLOAT_INT LONG_INT DOUBLE_INT SHORT_INT 2INT 2FLOAT 2DOUBLE 2LONG
    4, 4, 8, 16, 8, 16, 32, // REAL REAL4 REAL8 REAL16 COMPLEX8 COMPLEX16 COMPLEX32
    1, 2, 4, 8, 16, 32, // INTEGER1 INTEGER2 INTEGER4 INTEGER8 INTEGER16 LONG_DOUBLE_INT
    1, 8, 16, 32, 0, 0,
    1, // CXX_BOOL CXX_FLOAT_COMPLEX CXX_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX UB LB PACKED
];

/// A datatype by its number in SimGrid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datatype(i8);

impl Datatype {
    /// `MPI_BYTE`, which is meant where a trace names none.
    pub const BYTE: Self = Self(6);
    /// A datatype that has no number, because the program made it: its size is not in the trace.
    pub const UNKNOWN: Self = Self(-1);
    /// The largest number.
    pub const MAX: u8 = SIZES.len() as u8 - 1;

    /// The datatype with this number; `None` if there is none.
    #[must_use]
    pub fn of_id(id: i64) -> Option<Self> {
        match id {
            -1 => Some(Self::UNKNOWN),
            _ => usize::try_from(id)
                .ok()
                .filter(|&id| id < SIZES.len())
                .map(|id| Self(id as i8)),
        }
    }

    /// Its number; −1 for [`Datatype::UNKNOWN`].
    #[must_use]
    pub fn id(self) -> i8 {
        self.0
    }

    /// The size of an element in bytes, if it is known.
    #[must_use]
    pub fn size(self) -> Option<u64> {
        let size = usize::try_from(self.0).ok().and_then(|id| SIZES.get(id));
        size.map(|&size| u64::from(size))
    }

    /// The size of `count` elements in bytes; an element of unknown size counts as none.
    #[must_use]
    pub fn bytes(self, count: u64) -> u64 {
        count.saturating_mul(self.size().unwrap_or(0))
    }
}

impl Default for Datatype {
    fn default() -> Self {
        Self::BYTE
    }
}
