//! Arguments that versions write differently; see [`Layout`](crate::dumpi::Layout).

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype};
use crate::dumpi::wire::{Array, Cursor, Decode, Element, Encode, Encoder, Fault, List, Text};

/// Arguments of `MPI_Init`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init<'a> {
    /// The command line.
    pub argc_argv: List<'a, Text<'a>>,
}

impl<'a> Decode<'a> for Init<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        if cursor.layout().argc_twice {
            i32::decode(cursor)?;
        }
        let argc_argv = List::decode(cursor)?;
        Ok(Self { argc_argv })
    }
}

impl Encode for Init<'_> {
    fn encode(&self, to: &mut Encoder) {
        self.argc_argv.encode(to);
    }
}

shapes! {
    CartGet<'a> {
        ndim: i32,
        comm: Comm,
        maxdims: i32,
        dims: Array<'a, i32>,
        periods: Array<'a, i32>,
        /// Only the first one before version 0.6.8.
        coords: Array<'a, i32> = all_coords,
    }
    TypeStruct<'a> {
        count: i32,
        lengths: Array<'a, i32>,
        /// Only the first one before version 0.6.9. Recorders on machines of 64 bits wrote these displacements as if
        /// they had 32 bits: they are wrong.
        indices: Array<'a, i32> = all_displacements,
        oldtypes: Array<'a, Datatype>,
        newtype: Datatype,
    }
}

/// An array, or a single number without a count.
pub(super) fn array_or_one<'a>(
    cursor: &mut Cursor<'a>,
    all: bool,
) -> Result<Array<'a, i32>, Fault> {
    if all {
        Array::decode(cursor)
    } else {
        Ok(Array::of(cursor.bytes(i32::SIZE)?))
    }
}
