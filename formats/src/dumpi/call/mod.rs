//! The calls of MPI functions that a file can have, each with its arguments.
//!
//! Variants are called as the functions are, fields as the MPI standard calls the arguments. Functions with the same
//! arguments share a type: `MPI_Bsend` has a [`Send`] too. Output arguments have the value that they got.
//! Flags are numbers as in C: 0 is false.
//!
//! An argument that ranks write differently, or some do not write at all, is an [`Option`]: the arguments that MPI reads
//! at the root only. The types of `MPI_Gatherv` (`recvtype`) and `MPI_Scatterv` (`sendtype`) are written by all ranks.

mod collective;
mod communicator;
mod completion;
mod datatype;
mod environment;
mod file;
mod one_sided;
mod point_to_point;
mod process;
mod roles;
mod shapes;
mod table;
mod topology;
mod versions;

use std::fmt;

pub use self::collective::*;
pub use self::communicator::*;
pub use self::datatype::*;
pub use self::environment::*;
pub use self::file::*;
pub use self::one_sided::*;
pub use self::point_to_point::*;
pub use self::process::*;
pub use self::roles::{Collective, Message};
pub use self::table::Call;
pub use self::topology::*;
pub use self::versions::*;

/// An MPI function, or the enter and exit of an instrumented one of the program, by its number in the format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function(u16);

impl Function {
    /// One more than the largest number of a function.
    pub const END: u16 = 293;

    /// The function with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        table::name(number).map(|_| Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }

    /// Its name, such as `MPI_Send`.
    #[must_use]
    pub fn name(self) -> &'static str {
        table::name(self.0).unwrap_or_default()
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Defines [`Call`] from numbers, functions, variants and types of arguments.
macro_rules! calls {
    ($($number:literal $function:ident $variant:ident($shape:ty),)*) => {
        /// A call of an MPI function.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Call<'a> {
            $(
                #[doc = concat!("`", stringify!($function), "`.")]
                $variant($shape),
            )*
        }

        impl<'a> Call<'a> {
            /// The function that was called.
            #[must_use]
            pub fn function(&self) -> Function {
                Function(match self {
                    $(Self::$variant(_) => $number,)*
                })
            }

            #[inline]
            pub(in crate::dumpi) fn decode(
                number: u16,
                cursor: &mut crate::dumpi::wire::Cursor<'a>,
            ) -> Result<Self, crate::dumpi::wire::Fault> {
                use crate::dumpi::wire::{Decode, Fault};
                Ok(match number {
                    $($number => Self::$variant(Decode::decode(cursor)?),)*
                    _ => return Err(Fault::Function(number)),
                })
            }
        }

        impl crate::dumpi::wire::Encode for Call<'_> {
            fn encode(&self, to: &mut crate::dumpi::wire::Encoder) {
                match self {
                    $(Self::$variant(arguments) => crate::dumpi::wire::Encode::encode(arguments, to),)*
                }
            }
        }

        /// Name of the function with this number.
        pub(super) fn name(number: u16) -> Option<&'static str> {
            Some(match number {
                $($number => stringify!($function),)*
                _ => return None,
            })
        }
    };
}

use calls;
