//! Arguments that versions write differently; see [`Layout`](crate::dumpi::Layout).

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

/// Arguments of `MPI_Cart_get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "fields are the arguments of the same name in the MPI standard"
)]
pub struct CartGet<'a> {
    pub ndim: i32,
    pub comm: Comm,
    pub maxdims: i32,
    pub dims: Array<'a, i32>,
    pub periods: Array<'a, i32>,
    /// Only the first one before version 0.6.8.
    pub coords: Array<'a, i32>,
}

impl<'a> Decode<'a> for CartGet<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(Self {
            ndim: i32::decode(cursor)?,
            comm: Comm::decode(cursor)?,
            maxdims: i32::decode(cursor)?,
            dims: Array::decode(cursor)?,
            periods: Array::decode(cursor)?,
            coords: array_or_one(cursor, cursor.layout().all_coords)?,
        })
    }
}

impl Encode for CartGet<'_> {
    fn encode(&self, to: &mut Encoder) {
        self.ndim.encode(to);
        self.comm.encode(to);
        self.maxdims.encode(to);
        [self.dims, self.periods, self.coords]
            .iter()
            .for_each(|array| array.encode(to));
    }
}

/// Arguments of `MPI_Type_struct`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "fields are the arguments of the same name in the MPI standard"
)]
pub struct TypeStruct<'a> {
    pub count: i32,
    pub lengths: Array<'a, i32>,
    /// Only the first one before version 0.6.9. Recorders on machines of 64 bits wrote these displacements as if
    /// they had 32 bits: they are wrong.
    pub indices: Array<'a, i32>,
    pub oldtypes: Array<'a, Datatype>,
    pub newtype: Datatype,
}

impl<'a> Decode<'a> for TypeStruct<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(Self {
            count: i32::decode(cursor)?,
            lengths: Array::decode(cursor)?,
            indices: array_or_one(cursor, cursor.layout().all_displacements)?,
            oldtypes: Array::decode(cursor)?,
            newtype: Datatype::decode(cursor)?,
        })
    }
}

impl Encode for TypeStruct<'_> {
    fn encode(&self, to: &mut Encoder) {
        self.count.encode(to);
        self.lengths.encode(to);
        self.indices.encode(to);
        self.oldtypes.encode(to);
        self.newtype.encode(to);
    }
}

/// An array, or a single number without a count.
fn array_or_one<'a>(cursor: &mut Cursor<'a>, all: bool) -> Result<Array<'a, i32>, Fault> {
    if all {
        Array::decode(cursor)
    } else {
        Ok(Array::of(cursor.bytes(i32::SIZE)?))
    }
}
