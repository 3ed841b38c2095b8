//! Resolves the tables that InfiniBand has: SL to VL, arbitration, forwarding.

use super::error::ConfigError;
use super::import::Imported;
use super::raw::{RawQos, RawScheduler};
use super::raw_fabric::RawFabric;
use super::raw_infiniband::{RawForwarding, RawSl2Vl, RawSl2VlTables, RawVlArb};
use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::spec::voq::{VlArb, VlWeight};
use crate::fabric::spec::{ForwardingTables, Hop, SlToVl};
use std::collections::BTreeMap;
use std::path::Path;

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
pub(super) fn sl2vl(
    raw: &RawFabric,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<SlToVl>, ConfigError> {
    const KEY: &str = "fabric.sl2vl";
    match &raw.sl2vl {
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
                let hca = NicId::new(own.hca);
                if tables.hcas.insert(hca, own.vls.clone()).is_some() {
                    return Err(twice("hca", i));
                }
            }
            for (i, own) in port.iter().enumerate() {
                let hop = Hop {
                    switch: SwitchId::new(own.switch),
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

/// The arbiters of switches and adapters.
pub(super) fn arbiters(
    raw: &RawQos,
    scheduler: RawScheduler,
) -> Result<(VlArb, VlArb), ConfigError> {
    match scheduler {
        RawScheduler::Rr | RawScheduler::RrVl => {
            return Ok((VlArb::RoundRobin, VlArb::RoundRobin));
        }
        RawScheduler::Sbt | RawScheduler::DTable => {
            return Err(ConfigError::new(
                "qos.scheduler",
                "belongs to the \"hierarchical\" kind of switch; take \"ib-vlarb\", with or \
                 without tables, or \"rr\"",
            ));
        }
        RawScheduler::IbVlarb => {}
    }
    let list = |entries: &[(u8, u8)]| -> Vec<VlWeight> {
        let entries = entries.iter();
        entries
            .map(|&(vl, weight)| VlWeight { vl, weight })
            .collect()
    };
    let tables = |raw: Option<&RawVlArb>| match raw {
        None => VlArb::RoundRobin,
        Some(raw) => VlArb::Tables {
            high: list(&raw.high),
            low: list(&raw.low),
            high_limit: raw.high_limit.unwrap_or(0),
        },
    };
    let hca = raw.hca_vlarb.as_ref().or(raw.vlarb.as_ref());
    Ok((tables(raw.vlarb.as_ref()), tables(hca)))
}

/// Linear forwarding tables, if there are any.
pub(super) fn forwarding(
    raw: &RawFabric,
    imported: Option<&Imported>,
    dir: &Path,
) -> Result<Option<ForwardingTables>, ConfigError> {
    match &raw.forwarding {
        None => Ok(None),
        Some(RawForwarding::Ports(ports)) => {
            let table = |row: &Vec<u16>| row.iter().map(|&p| PortId::new(p.into())).collect();
            Ok(Some(ForwardingTables {
                ports: ports.iter().map(table).collect(),
            }))
        }
        Some(RawForwarding::File(file)) => {
            let imported = of_fabric(imported, "fabric.forwarding", "forwarding tables")?;
            imported.forwarding(&dir.join(file)).map(Some)
        }
    }
}
