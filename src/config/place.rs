//! NICs, switches and ports as experiments write them: by number, or as the operators of the fabric call
//! them.

use crate::config::document::{Forms, forms, read_forms};
use crate::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::fabric::topology::{Names, Topology};
use flitwise_base::quote::quoted;
use schemars::JsonSchema;
use serde::de::Error;

/// A NIC or a switch: its number, or a name, GUID or LID.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub(crate) enum RawPlace {
    Number(u32),
    Name(String),
}

impl RawPlace {
    /// The NIC. A number may lie beyond the last NIC.
    pub(crate) fn nic(&self, topology: &Topology) -> Result<NicId, String> {
        match self {
            Self::Number(number) => Ok(NicId::new(*number)),
            Self::Name(name) => named(topology, name)?.find(name),
        }
    }

    /// The NIC, with the place of the mistake if there is none.
    pub(crate) fn nic_at(
        &self,
        topology: &Topology,
        key: &str,
    ) -> Result<NicId, super::ConfigError> {
        let nic = self.nic(topology);
        nic.map_err(|problem| super::ConfigError::new(key, problem))
    }

    /// The switch. A number may lie beyond the last switch.
    pub(crate) fn switch(&self, topology: &Topology) -> Result<SwitchId, String> {
        match self {
            Self::Number(number) => Ok(SwitchId::new(*number)),
            Self::Name(name) => named(topology, name)?.find_switch(name),
        }
    }
}

/// A port of a switch: `port` counts from 0 as everywhere in Flitwise, `device_port` from 1 as on the device.
pub(crate) fn port(
    topology: &Topology,
    switch: &RawPlace,
    port: Option<u32>,
    device_port: Option<u32>,
) -> Result<SwitchPort, String> {
    let switch = switch.switch(topology)?;
    let port = match (port, device_port) {
        (Some(port), None) => port,
        (None, Some(_)) if topology.names().is_none() => {
            return Err(
                "only switches of a topology from ibnetdiscover have device ports; give `port`, \
                 which counts from 0"
                    .to_owned(),
            );
        }
        (None, Some(port)) => port
            .checked_sub(1)
            .ok_or("device_port is 0; ports of a device count from 1, and port 0 has no cable")?,
        (None, None) => {
            return Err(
                "names no port; give `port`, which counts from 0, or `device_port`, which \
                        counts from 1 as on the device"
                    .to_owned(),
            );
        }
        (Some(_), Some(_)) => return Err("has both port and device_port; keep one".to_owned()),
    };
    let at = SwitchPort::new(switch, PortId::new(port));
    if topology.has_port(at.switch, at.port) {
        Ok(at)
    } else {
        Err(format!(
            "there is no port {port} at a switch {switch}: switches 0 to {}, ports 0 to {}",
            topology.switches() - 1,
            topology.radix() - 1
        ))
    }
}

/// The names of a topology, in which `name` is to be found.
fn named<'t>(topology: &'t Topology, name: &str) -> Result<&'t Names, String> {
    topology.names().ok_or_else(|| {
        format!(
            "{} is a name, and the NICs and switches of this topology have none; give numbers, or take \
             the topology from ibnetdiscover",
            quoted(name)
        )
    })
}

impl Forms for RawPlace {
    const EXPECTED: &'static str = "a number, or a name of the fabric's operators";

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        forms::whole::<Self, _, _>(value).map(Self::Number)
    }

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Ok(Self::Name(text.to_owned()))
    }
}

read_forms! { RawPlace }
