//! Versions of the recorder, and how their records differ.

use std::fmt;

/// Version of the recorder that wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8, pub u8, pub u8);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The differences between versions in the records of calls. All versions from 0.6.9 on are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// `MPI_Init` has the number of arguments twice: before 0.6.2.
    pub(super) argc_twice: bool,
    /// A status has a tag: from 0.6.3 on.
    pub(super) status_tags: bool,
    /// `MPI_Cart_get` has all coordinates, not only one: from 0.6.8 on.
    pub(super) all_coords: bool,
    /// `MPI_Type_struct` has all displacements, not only one: from 0.6.9 on.
    pub(super) all_displacements: bool,
}

impl Layout {
    /// The layout of this version.
    #[must_use]
    pub fn of(version: Version) -> Self {
        let from = |minor, patch| version >= Version(0, minor, patch);
        Self {
            argc_twice: !from(6, 2),
            status_tags: from(6, 3),
            all_coords: from(6, 8),
            all_displacements: from(6, 9),
        }
    }
}

impl Default for Layout {
    /// Of all versions from 0.6.9 on.
    fn default() -> Self {
        Self::of(Version(1, 0, 0))
    }
}
