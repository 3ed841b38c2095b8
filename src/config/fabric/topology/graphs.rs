//! A single switch, graphs that list their links, and graphs that `ibnetdiscover` found.

use crate::config::document::error::ConfigError;
use crate::config::fabric::topology::needed::{NICS_KEY, need};
use crate::config::import::Imported;
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::topology::Topology;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::path::Path;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSingle {
    pub nics: Option<RawNics>,
}

impl RawSingle {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        match need(self.nics.as_ref(), "single", "nics", "")? {
            RawNics::Count(count) => Ok(Topology::single(*count)?),
            RawNics::At(_) => {
                let problem = "kind \"single\" takes the number of NICs";
                Err(ConfigError::new(NICS_KEY, problem))
            }
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGraph {
    pub switches: Option<u32>,
    /// Switch and port of the one end, then of the other one.
    pub links: Option<Vec<[u32; 4]>>,
    pub nics: Option<RawNics>,
}

impl RawGraph {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let switches = need(self.switches, "graph", "switches", "")?;
        let nics = need(
            self.nics.as_ref(),
            "graph",
            "nics",
            ", e.g. [[0, 0], [1, 0]]",
        )?;
        let RawNics::At(nics) = nics else {
            return Err(ConfigError::new(
                NICS_KEY,
                "kind \"graph\" takes [switch, port] of every NIC, as in [[0, 0], [1, 0]]",
            ));
        };
        let links = self.links.as_deref().unwrap_or_default();
        let end = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
        let links = links.iter().map(|&[a, p, b, q]| [end(a, p), end(b, q)]);
        let links: Vec<_> = links.collect();
        let nics: Vec<_> = nics.iter().map(|&[s, p]| end(s, p)).collect();
        Ok(Topology::graph(switches, &nics, &links)?)
    }
}

/// A fabric that `ibnetdiscover` found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDiscovery {
    pub file: Option<String>,
}

impl RawDiscovery {
    /// Its file is looked for in `dir`.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<Imported, ConfigError> {
        let file = need(self.file.as_ref(), "ibnetdiscover", "file", "")?;
        Imported::read(&dir.join(file))
    }
}

/// How many NICs there are, or the [switch, port] of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawNics {
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
