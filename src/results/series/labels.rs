//! Names of the lines of time series.

use super::power;
use crate::config::Experiment;
use crate::config::experiment::SeriesKind;
use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::stats::{LinkEnd, LinkStats};
use crate::figure::tables::{Key, NONE};

/// The names of the parts of a fabric.
pub(crate) trait Labels {
    /// A NIC.
    fn nic(&self, nic: u32) -> String;
    /// A port of a switch.
    fn port(&self, switch: u32, port: u32) -> String;
    /// The NIC or the switch at the far end of a port's link, if it is known.
    fn behind(&self, switch: u32, port: u32) -> Option<String>;
    /// A service level; `None` if it is the only one, because its name would add nothing.
    fn level(&self, sl: u32) -> Option<&str>;
}

/// The name of a line.
pub(crate) fn name(kind: SeriesKind, labels: &dyn Labels, [a, b, c]: Key) -> String {
    let flow = |from: u32, to: u32, sl: u32| {
        let level = labels.level(sl).map(|name| format!(" ({name})"));
        let to = if to == NONE {
            String::new()
        } else {
            format!(" → {}", labels.nic(to))
        };
        format!("{}{to}{}", labels.nic(from), level.unwrap_or_default())
    };
    match kind {
        SeriesKind::Flows => flow(a, b, c),
        SeriesKind::Sources => flow(a, c, b),
        SeriesKind::PortVls => {
            let to = labels.behind(a, b).map(|to| format!(" → {to}"));
            let port = labels.port(a, b);
            format!("{port}{}, VL {c}", to.unwrap_or_default())
        }
        SeriesKind::Power => format!("{}: {}", power::links(a), power::state(b)),
    }
}

/// The labels of an experiment's fabric.
pub(super) struct FabricLabels<'a> {
    pub experiment: &'a Experiment,
    /// Links of the fabric, which show where switch ports lead.
    pub links: &'a [LinkStats],
}

/// An end of a link without a name of its own.
pub(crate) fn unnamed_port(switch: u32, port: u32) -> String {
    format!("S{switch} port {port}")
}

impl FabricLabels<'_> {
    fn port_end(switch: u32, port: u32) -> LinkEnd {
        LinkEnd::Port {
            switch: SwitchId::new(switch),
            port: PortId::new(port),
        }
    }
}

impl Labels for FabricLabels<'_> {
    fn nic(&self, nic: u32) -> String {
        let topology = &self.experiment.fabric.topology;
        topology.nic_label(NicId::new(nic))
    }

    fn port(&self, switch: u32, port: u32) -> String {
        match self.experiment.fabric.topology.names() {
            Some(names) => names.end_label(Self::port_end(switch, port)),
            None => unnamed_port(switch, port),
        }
    }

    fn behind(&self, switch: u32, port: u32) -> Option<String> {
        let from = Self::port_end(switch, port);
        let link = self.links.iter().find(|link| link.from == from)?;
        Some(match link.to {
            LinkEnd::Nic(to) => self.nic(to.get()),
            LinkEnd::Port { switch, .. } => match self.experiment.fabric.topology.names() {
                Some(names) => names.switch_label(switch).to_owned(),
                None => format!("S{switch}"),
            },
        })
    }

    fn level(&self, sl: u32) -> Option<&str> {
        let levels = &self.experiment.fabric.qos.service_levels;
        let level = levels.get(sl as usize).filter(|_| levels.len() > 1);
        level.map(|level| level.name.as_str())
    }
}
