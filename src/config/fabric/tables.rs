//! The tables of `[fabric]`, SL to VL and forwarding: as written, and resolved.

use crate::config::document::error::ConfigError;
use crate::config::import::Imported;
use crate::config::place::RawPlace;
use crate::fabric::ids::PortId;
use crate::fabric::spec::{ForwardingTables, Hop, SlToVl};
use crate::fabric::topology::Topology;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Output ports by switch and NIC, or a file that `opensm` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawForwarding {
    Ports(Vec<Vec<u16>>),
    File(String),
}

/// The default table, tables of adapters and ports as well, or a file of `opensm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawSl2Vl {
    Tables(RawSl2VlTables),
    File(String),
}

/// Where tables are from that stand in the experiment itself.
const HERE: &str = "the experiment";

impl RawForwarding {
    /// Where the tables are from.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Ports(_) => HERE.to_owned(),
            Self::File(file) => file.clone(),
        }
    }
}

impl RawSl2Vl {
    /// Where the tables are from.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Tables(_) => HERE.to_owned(),
            Self::File(file) => file.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSl2VlTables {
    pub default: Vec<u8>,
    #[serde(default)]
    pub hca: Vec<RawHcaTable>,
    #[serde(default)]
    pub port: Vec<RawPortTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawHcaTable {
    pub hca: RawPlace,
    pub vls: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPortTable {
    pub switch: RawPlace,
    #[serde(rename = "in")]
    pub input: u32,
    #[serde(rename = "out")]
    pub output: u32,
    pub vls: Vec<u8>,
}

/// What a file of tables needs: the fabric that they belong to.
fn of_fabric<'a>(
    imported: Option<&'a Imported>,
    key: &str,
    what: &str,
) -> Result<&'a Imported, ConfigError> {
    imported.ok_or_else(|| {
        ConfigError::new(
            key,
            format!(
                "a file of {what} names nodes by GUID and LID; take the topology from the same \
                 fabric, kind \"ibnetdiscover\""
            ),
        )
    })
}

/// SL-to-VL tables, if there are any.
pub(crate) fn sl2vl(
    raw: Option<&RawSl2Vl>,
    topology: &Topology,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<SlToVl>, ConfigError> {
    const KEY: &str = "fabric.sl2vl";
    match raw {
        None => Ok(None),
        Some(RawSl2Vl::File(file)) => {
            let imported = of_fabric(imported, KEY, "SL-to-VL tables")?;
            imported.sl2vl(&dir.join(file)).map(Some)
        }
        Some(RawSl2Vl::Tables(RawSl2VlTables { default, hca, port })) => {
            let mut tables = SlToVl {
                default: default.clone(),
                hcas: BTreeMap::new(),
                ports: BTreeMap::new(),
            };
            let twice = |what: &str, i: usize| {
                ConfigError::new(format!("{KEY}.{what}.{i}"), "is listed twice; keep one")
            };
            for (i, own) in hca.iter().enumerate() {
                let hca = own.hca.nic_at(topology, &format!("{KEY}.hca.{i}"))?;
                if tables.hcas.insert(hca, own.vls.clone()).is_some() {
                    return Err(twice("hca", i));
                }
            }
            for (i, own) in port.iter().enumerate() {
                let switch = own.switch.switch(topology);
                let hop = Hop {
                    switch: switch
                        .map_err(|problem| ConfigError::new(format!("{KEY}.port.{i}"), problem))?,
                    in_port: PortId::new(own.input),
                    out_port: PortId::new(own.output),
                };
                if tables.ports.insert(hop, own.vls.clone()).is_some() {
                    return Err(twice("port", i));
                }
            }
            Ok(Some(tables))
        }
    }
}

/// Linear forwarding tables, if there are any.
pub(crate) fn forwarding(
    raw: Option<&RawForwarding>,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<ForwardingTables>, ConfigError> {
    match raw {
        None => Ok(None),
        Some(RawForwarding::Ports(ports)) => {
            let table = |row: &Vec<u16>| row.iter().map(|&p| PortId::new(p.into())).collect();
            Ok(Some(ForwardingTables {
                ports: ports.iter().map(table).collect(),
                engine: None,
            }))
        }
        Some(RawForwarding::File(file)) => {
            let imported = of_fabric(imported, "fabric.forwarding", "forwarding tables")?;
            imported.forwarding(&dir.join(file)).map(Some)
        }
    }
}

impl<'de> Deserialize<'de> for RawForwarding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawForwarding;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file, or a list of ports per switch: [[0, 1, 4], [2, 0, 1]]")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawForwarding, E> {
                Ok(RawForwarding::File(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawForwarding, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(RawForwarding::Ports)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawSl2Vl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawSl2Vl;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of VLs, { default = [0, 1], hca = [], port = [] }, or a file")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawSl2Vl, E> {
                Ok(RawSl2Vl::File(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawSl2Vl, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Ok(RawSl2Vl::Tables(RawSl2VlTables {
                    default: Vec::deserialize(list)?,
                    hca: Vec::new(),
                    port: Vec::new(),
                }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawSl2Vl, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                RawSl2VlTables::deserialize(table).map(RawSl2Vl::Tables)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
