//! Sizes of datatypes, as a rank makes and frees them.

use std::sync::Arc;

use super::call::Call;
use super::handle::Datatype;
use super::trailer::Trailer;
use super::wire::Array;

/// Payload bytes of the datatypes of one rank at a moment of its program.
///
/// A recorder gives the number of a freed type to a later one, so that a number means different types over time: give
/// every call of the rank, in order, to [`Types::note`]. The size of a type is, in this order, what its constructor
/// makes of the sizes of others, what `MPI_Type_size` returned, the table of the file
/// ([`Trailer::sizes`](super::Trailer)), and for predefined types the size of the C type on a machine of 64 bits.
#[derive(Debug, Clone)]
pub struct Types {
    trailer: Arc<Trailer>,
    /// By number, of those that were made and not freed.
    made: Vec<Option<u64>>,
}

impl Types {
    /// The datatypes before the first call.
    #[must_use]
    pub fn new(trailer: Arc<Trailer>) -> Self {
        let made = Vec::new();
        Self { trailer, made }
    }

    /// Bytes of one element of `datatype`; `None` if nothing says how many.
    #[must_use]
    pub fn size(&self, datatype: Datatype) -> Option<u64> {
        let number = usize::try_from(datatype.0).ok()?;
        let made = self.made.get(number).copied().flatten();
        let known = made.or_else(|| self.trailer.size(datatype));
        known.or_else(|| datatype.predefined())
    }

    /// Bytes of `count` elements; `None` if their size is not known, `count` is negative, or the product is beyond the
    /// range of 64 bits.
    #[must_use]
    pub fn bytes(&self, datatype: Datatype, count: i32) -> Option<u64> {
        match u64::try_from(count).ok()? {
            // A buffer of no elements may have any type.
            0 => Some(0),
            count => self.size(datatype)?.checked_mul(count),
        }
    }

    /// Follows a call that makes, frees or measures a type.
    pub fn note(&mut self, call: &Call<'_>) {
        match call {
            Call::TypeFree(call) => self.set(call.datatype, None),
            Call::TypeSize(call) => {
                let size = u64::try_from(call.size).ok();
                self.learn(call.datatype, size);
            }
            Call::TypeMatchSize(call) => {
                let size = u64::try_from(call.size).ok();
                self.learn(call.datatype, size);
            }
            _ => {
                if let Some((newtype, size)) = self.constructed(call) {
                    self.set(newtype, size);
                }
            }
        }
    }

    /// The type that a constructor makes, and its size if the sizes of its parts are known.
    fn constructed(&self, call: &Call<'_>) -> Option<(Datatype, Option<u64>)> {
        let sum = |lengths: &Array<'_, i32>| {
            lengths.iter().try_fold(0_u64, |sum, length| {
                sum.checked_add(u64::try_from(length).ok()?)
            })
        };
        let times = |count: i32, length: i32| {
            let count = u64::try_from(count).ok()?;
            count.checked_mul(u64::try_from(length).ok()?)
        };
        let of = |elements: Option<u64>, oldtype| elements?.checked_mul(self.size(oldtype)?);
        Some(match call {
            Call::TypeContiguous(t) => (t.newtype, of(times(t.count, 1), t.oldtype)),
            Call::TypeVector(t) | Call::TypeHvector(t) | Call::TypeCreateHvector(t) => {
                (t.newtype, of(times(t.count, t.blocklength), t.oldtype))
            }
            Call::TypeIndexed(t) | Call::TypeHindexed(t) => {
                (t.newtype, of(sum(&t.lengths), t.oldtype))
            }
            Call::TypeCreateHindexed(t) => (t.newtype, of(sum(&t.blocklengths), t.oldtype)),
            Call::TypeCreateIndexedBlock(t) => {
                (t.newtype, of(times(t.count, t.blocklength), t.oldtype))
            }
            Call::TypeStruct(t) => (t.newtype, self.members(&t.lengths, &t.oldtypes)),
            Call::TypeCreateStruct(t) => (t.newtype, self.members(&t.blocklengths, &t.oldtypes)),
            Call::TypeCreateSubarray(t) => (t.newtype, of(product(&t.subsizes), t.oldtype)),
            Call::TypeCreateResized(t) => (t.newtype, self.size(t.oldtype)),
            Call::TypeDup(t) => (t.newtype, self.size(t.oldtype)),
            // The share of a process in a distributed array: left to the table of the file.
            Call::TypeCreateDarray(t) => (t.newtype, None),
            _ => return None,
        })
    }

    /// Bytes of a structure.
    fn members(&self, lengths: &Array<'_, i32>, oldtypes: &Array<'_, Datatype>) -> Option<u64> {
        lengths
            .iter()
            .zip(oldtypes.iter())
            .try_fold(0_u64, |sum, (length, oldtype)| {
                sum.checked_add(self.bytes(oldtype, length)?)
            })
    }

    fn set(&mut self, datatype: Datatype, size: Option<u64>) {
        let Ok(number) = usize::try_from(datatype.0) else {
            return;
        };
        if number >= self.made.len() {
            self.made.resize(number + 1, None);
        }
        if let Some(place) = self.made.get_mut(number) {
            *place = size;
        }
    }

    /// Takes a size that the program asked for, unless a constructor says it already.
    fn learn(&mut self, datatype: Datatype, size: Option<u64>) {
        let number = usize::try_from(datatype.0).unwrap_or(0);
        if self.made.get(number).copied().flatten().is_none() {
            self.set(datatype, size);
        }
    }
}

fn product(sizes: &Array<'_, i32>) -> Option<u64> {
    sizes.iter().try_fold(1_u64, |product, size| {
        product.checked_mul(u64::try_from(size).ok()?)
    })
}
