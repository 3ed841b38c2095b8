//! Asks serde for the variants of an enum of structures, and for the fields of each variant.

use serde::de::value::Error;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

type NameList = &'static [&'static str];

/// A kind by its name in the file, and the keys that it takes.
pub(crate) struct TableKind {
    pub name: &'static str,
    pub keys: NameList,
}

/// The kinds of `T`, an enum whose variants hold a structure each. The function takes them from
/// the `Deserialize` of `T`, so no list of keys repeats the structures.
pub(crate) fn kinds_of<'de, T: Deserialize<'de>>() -> Vec<TableKind> {
    let names = |variant| {
        let mut names: NameList = &[];
        // This gives no value: the probe takes the names and ends with an error.
        let _ = T::deserialize(Probe {
            variant,
            names: &mut names,
        });
        names
    };
    let keys = |&name| TableKind {
        name,
        keys: names(Some(name)),
    };
    names(None).iter().map(keys).collect()
}

/// Poses as a document, and notes the variants of an enum, or the fields of one of them, for
/// which serde asks.
struct Probe<'a> {
    variant: Option<&'static str>,
    names: &'a mut NameList,
}

fn done<T>() -> Result<T, Error> {
    Err(Error::custom("the names are known"))
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        done()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: NameList,
        _: V,
    ) -> Result<V::Value, Error> {
        *self.names = fields;
        done()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: NameList,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.variant.is_some() {
            return visitor.visit_enum(self);
        }
        *self.names = variants;
        done()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Probe<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = self.variant.unwrap_or_default();
        Ok((seed.deserialize(name.into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Probe<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        done()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        done()
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: NameList, _: V) -> Result<V::Value, Error> {
        *self.names = fields;
        done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Round {
        #[serde(rename = "radius")]
        _radius: u32,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Shape {
        #[expect(dead_code, reason = "only its names are asked for")]
        FullCircle(Round),
        #[expect(dead_code, reason = "only its names are asked for")]
        Box { width: u32, height: Option<u32> },
    }

    #[test]
    fn kinds_are_as_serde_reads_them() {
        let kinds = kinds_of::<Shape>();
        let found: Vec<(&str, NameList)> = kinds.iter().map(|k| (k.name, k.keys)).collect();
        let expected: Vec<(&str, NameList)> =
            vec![("full-circle", &["radius"]), ("box", &["width", "height"])];
        assert_eq!(found, expected);
    }
}
