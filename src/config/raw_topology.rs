//! `[fabric.topology]` as written. Its `kind` decides which keys it has: see `tagged`.

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawTopology {
    Single(RawSingle),
    Torus(RawCube),
    Mesh(RawCube),
    KAryNTree(RawTree),
    Xgft(RawXgft),
    Dragonfly(RawDragonfly),
    Hyperx(RawCube),
    SlimFly(RawSlimFly),
    Megafly(RawMegafly),
    FatTree(RawFatTree),
    Kns(RawKns),
    Graph(RawGraph),
    Ibnetdiscover(RawDiscovery),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSingle {
    pub nics: Option<RawNics>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCube {
    pub dimensions: Option<Vec<u32>>,
    pub concentration: Option<u32>,
    pub trunk: Option<u32>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTree {
    pub k: Option<u32>,
    pub n: Option<u32>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawXgft {
    pub down: Option<Vec<u32>>,
    pub up: Option<Vec<u32>>,
    pub parallel: Option<Vec<u32>>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDragonfly {
    pub p: Option<u32>,
    pub a: Option<u32>,
    pub h: Option<u32>,
    pub groups: Option<u32>,
    pub arrangement: Option<RawArrangement>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSlimFly {
    pub q: Option<u32>,
    pub p: Option<u32>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMegafly {
    pub p: Option<u32>,
    pub s: Option<u32>,
    pub h: Option<u32>,
    pub groups: Option<u32>,
    pub arrangement: Option<RawArrangement>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFatTree {
    pub nodes: Option<u32>,
    pub levels: Option<u32>,
    pub radix: Option<u32>,
    pub oversubscription: Option<u32>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKns {
    pub k: Option<u32>,
    pub n: Option<u32>,
    pub s: Option<u32>,
    pub concentration: Option<u32>,
    pub hosts: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawArrangement {
    PalmTree,
    #[serde(alias = "absolute")]
    Consecutive,
    Relative,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGraph {
    pub switches: Option<u32>,
    /// Switch and port of the one end, then of the other one.
    pub links: Option<Vec<[u32; 4]>>,
    pub nics: Option<RawNics>,
}

/// A fabric that `ibnetdiscover` found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDiscovery {
    pub file: Option<String>,
}

/// How many NICs there are, or the [switch, port] of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawNics {
    Count(u32),
    At(Vec<[u32; 2]>),
}

impl<'de> Deserialize<'de> for RawNics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawNics;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of NICs, or [switch, port] of each: [[0, 0], [0, 1]]")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawNics, E> {
                let unfit = |_| E::invalid_value(Unexpected::Signed(value), &self);
                u32::try_from(value).map(RawNics::Count).map_err(unfit)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawNics, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(RawNics::At)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
