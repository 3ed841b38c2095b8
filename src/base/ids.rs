//! Ids of parts that are numbered from 0, each kind a type of its own.

/// Defines ids that count from 0. They print and serialise as their bare numbers.
#[macro_export]
macro_rules! define_ids {
    ($($(#[$text:meta])* $name:ident;)+) => {$(
        $(#[$text])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, $crate::serde::Serialize, $crate::serde::Deserialize, $crate::schemars::JsonSchema)]
        #[serde(crate = "flitwise_base::serde", transparent)]
        #[schemars(crate = "flitwise_base::schemars", inline)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            #[inline]
            #[must_use]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The number.
            #[inline]
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The number as an index into a list by id.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The first `count` ids, ascending.
            #[must_use]
            pub fn all(
                count: u32,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (0..count).map(Self)
            }

            /// The ids of a range, ascending.
            #[must_use]
            pub fn within(
                range: ::std::ops::Range<Self>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (range.start.0..range.end.0).map(Self)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}
