//! The macro that defines types of arguments.

/// Defines types of arguments, which stand in the bytes in the order of their fields. A field behind `where` is there if
/// the two fields named are equal. A field with `= all` is a single number unless the [`Layout`](crate::dumpi::Layout)
/// says that `all` are recorded.
macro_rules! shapes {
    ($($name:ident $(<$lt:lifetime>)? {
        $($(#[$doc:meta])* $field:ident: $ty:ty $(where $a:ident == $b:ident)? $(= $all:ident)?,)*
    })*) => {$(
        #[doc = concat!("Arguments `", stringify!($($field),*), "`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "fields are the arguments of the same name in the MPI standard")]
        pub struct $name $(<$lt>)? {
            $($(#[$doc])* pub $field: $ty,)*
        }

        impl<'a> crate::dumpi::wire::Decode<'a> for $name $(<$lt>)? {
            #[inline]
            fn decode(
                _cursor: &mut crate::dumpi::wire::Cursor<'a>,
            ) -> Result<Self, crate::dumpi::wire::Fault> {
                $(let $field: $ty = crate::dumpi::call::shapes::field!(_cursor $(, $a == $b)? $(, $all)?);)*
                Ok(Self { $($field,)* })
            }
        }

        impl $(<$lt>)? crate::dumpi::wire::Encode for $name $(<$lt>)? {
            fn encode(&self, _to: &mut crate::dumpi::wire::Encoder) {
                $(crate::dumpi::wire::Encode::encode(&self.$field, _to);)*
            }
        }
    )*};
}

/// The value of a field of [`shapes`].
macro_rules! field {
    ($cursor:ident) => {
        crate::dumpi::wire::Decode::decode($cursor)?
    };
    ($cursor:ident, $all:ident) => {
        crate::dumpi::call::versions::array_or_one($cursor, $cursor.layout().$all)?
    };
    ($cursor:ident, $a:ident == $b:ident) => {
        if $a == $b {
            Some(crate::dumpi::wire::Decode::decode($cursor)?)
        } else {
            None
        }
    };
}

pub(super) use {field, shapes};
