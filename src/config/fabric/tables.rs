//! The tables of `[fabric]`, SL to VL and forwarding: as written, and resolved.

use crate::config::document::{ConfigError, Forms, form_schemas, forms, read_forms};
use crate::config::import::Imported;
use crate::config::place::RawPlace;
use crate::fabric::ids::PortId;
use crate::fabric::spec::{ForwardingTables, Hop, SlToVl};
use crate::fabric::topology::Topology;
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess};
use std::collections::BTreeMap;
use std::path::Path;

/// Output ports by switch and NIC, or a file that `opensm` wrote.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
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

/// The name of the source of tables that stand in the experiment itself.
const HERE: &str = "the experiment";

impl RawForwarding {
    /// The source of the tables.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Ports(_) => HERE.to_owned(),
            Self::File(file) => file.clone(),
        }
    }
}

impl RawSl2Vl {
    /// The source of the tables.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Tables(_) => HERE.to_owned(),
            Self::File(file) => file.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSl2VlTables {
    /// The VL of SL 0, 1, … everywhere else.
    pub default: Vec<u8>,
    /// Tables of single NICs.
    #[serde(default)]
    pub hca: Vec<RawHcaTable>,
    /// Tables of single ports of switches.
    #[serde(default)]
    pub port: Vec<RawPortTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawHcaTable {
    /// The NIC.
    pub hca: RawPlace,
    /// The VL of SL 0, 1, …
    pub vls: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPortTable {
    /// The switch.
    pub switch: RawPlace,
    /// The port by which packets come.
    #[serde(rename = "in")]
    pub input: u32,
    /// The port by which they leave.
    #[serde(rename = "out")]
    pub output: u32,
    /// The VL of SL 0, 1, …
    pub vls: Vec<u8>,
}

/// The fabric that a file of tables needs: the imported one, to which they belong.
fn of_fabric<'a>(
    imported: Option<&'a Imported>,
    key: &str,
    what: &str,
) -> Result<&'a Imported, ConfigError> {
    imported.filter(|imported| imported.is_dump).ok_or_else(|| {
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

impl Forms for RawForwarding {
    const EXPECTED: &'static str = "a file, or a list of ports per switch: [[0, 1, 4], [2, 0, 1]]";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Ok(Self::File(text.to_owned()))
    }

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        forms::elements(list).map(Self::Ports)
    }
}

read_forms! { RawForwarding }

impl Forms for RawSl2Vl {
    const EXPECTED: &'static str =
        "a list of VLs, { default = [0, 1], hca = [], port = [] }, or a file";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Ok(Self::File(text.to_owned()))
    }

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Ok(Self::Tables(RawSl2VlTables {
            default: forms::elements(list)?,
            hca: Vec::new(),
            port: Vec::new(),
        }))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        forms::keys(map).map(Self::Tables)
    }
}

read_forms! { RawSl2Vl }

form_schemas! {
    RawSl2Vl: |generator| json_schema!({ "anyOf": [
            generator.subschema_for::<Vec<u8>>(),
            generator.subschema_for::<RawSl2VlTables>(),
            generator.subschema_for::<String>(),
        ] });
}
