//! Values that a file may write in several forms, such as a number or a text.

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A value that may be written in several forms. A form that it does not have is of the wrong type.
pub(crate) trait Forms: Sized {
    /// The description of the forms in messages.
    const EXPECTED: &'static str;

    /// As [`Self::EXPECTED`], where that depends on more.
    fn expected() -> String {
        Self::EXPECTED.to_owned()
    }

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Err(E::invalid_type(Unexpected::Str(text), &Reader::<Self>::NEW))
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Err(E::invalid_type(
            Unexpected::Signed(value),
            &Reader::<Self>::NEW,
        ))
    }

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        Err(E::invalid_type(
            Unexpected::Float(value),
            &Reader::<Self>::NEW,
        ))
    }

    fn list<'de, A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(
            Unexpected::Seq,
            &Reader::<Self>::NEW,
        ))
    }

    fn table<'de, A: MapAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(
            Unexpected::Map,
            &Reader::<Self>::NEW,
        ))
    }
}

/// Reads a value in one of its forms.
pub(crate) struct Reader<T>(PhantomData<T>);

impl<T> Reader<T> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<'de, T: Forms> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::expected())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::text(text)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::integer(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        T::number(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::table(map)
    }
}

/// Returns the names of the keys that are given, of those listed.
macro_rules! given {
    ($keys:expr, $($key:ident),+) => {
        [$($keys.$key.is_some().then_some(stringify!($key))),+].into_iter().flatten()
    };
}

/// Reads values of types that implement [`Forms`].
macro_rules! read_forms {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::config::document::forms::Reader::NEW)
            }
        }
    )+};
}

/// The schemas of types that are read in several forms.
macro_rules! form_schemas {
    ($($type:ident: |$generator:ident| $schema:expr;)+) => {$(
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    )+};
}

pub(crate) use {form_schemas, given, read_forms};

/// The error of a value out of range.
pub(crate) fn unfit<T: Forms, E: Error>(value: Unexpected<'_>) -> E {
    E::invalid_value(value, &Reader::<T>::NEW)
}

/// A whole number of a type of limited range.
pub(crate) fn whole<T: Forms, N: TryFrom<i64>, E: Error>(value: i64) -> Result<N, E> {
    N::try_from(value).map_err(|_| unfit::<T, E>(Unexpected::Signed(value)))
}

/// The elements of a list.
pub(crate) fn elements<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
    list: A,
) -> Result<Vec<T>, A::Error> {
    Vec::deserialize(SeqAccessDeserializer::new(list))
}

/// The keys of a table.
pub(crate) fn keys<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}
