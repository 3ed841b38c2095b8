//! The names that the operators of a fabric give its parts, as far as a tool has reported them: names,
//! GUIDs, LIDs and the numbers on the devices. Names decide nothing.

use crate::ids::{LinkEnd, NicId, SwitchId, SwitchPort};
use flitwise_base::near::nearest;
use flitwise_base::quote::quoted;
use std::collections::BTreeMap;

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchName {
    /// Its description; may be empty, and others may have the same.
    pub name: String,
    /// Its GUID.
    pub guid: u64,
    /// LID of its port 0, if it was told.
    pub lid: Option<u16>,
}

/// A NIC: a port of an HCA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicName {
    /// Description of the HCA; may be empty, and others may have the same.
    pub name: String,
    /// GUID of the HCA.
    pub guid: u64,
    /// Port of the HCA, from 1.
    pub port: u8,
    /// LID of the port.
    pub lid: u16,
}

/// The names of all switches and NICs, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    switches: Vec<SwitchName>,
    nics: Vec<NicName>,
    /// A label of each that no other one has.
    switch_labels: Vec<String>,
    nic_labels: Vec<String>,
}

impl Names {
    /// These names.
    #[must_use]
    pub fn new(switches: Vec<SwitchName>, nics: Vec<NicName>) -> Self {
        let switch_labels = labels(switches.iter().map(|s| (s.name.clone(), s.guid, None)));
        let mut ports: BTreeMap<u64, u32> = BTreeMap::new();
        for nic in &nics {
            *ports.entry(nic.guid).or_default() += 1;
        }
        let nic_labels = labels(nics.iter().map(|nic| {
            let several = ports.get(&nic.guid).is_some_and(|&ports| ports > 1);
            (nic.name.clone(), nic.guid, several.then_some(nic.port))
        }));
        Self {
            switches,
            nics,
            switch_labels,
            nic_labels,
        }
    }

    /// Names without addresses, each of which no other part has.
    #[must_use]
    pub fn plain(switches: Vec<String>, nics: Vec<String>) -> Self {
        Self {
            switches: Vec::new(),
            nics: Vec::new(),
            switch_labels: switches,
            nic_labels: nics,
        }
    }

    /// The name and addresses of a switch; `None` if it has a label alone, or there is no such switch.
    #[must_use]
    pub fn switch(&self, switch: SwitchId) -> Option<&SwitchName> {
        self.switches.get(switch.index())
    }

    /// The name and addresses of a NIC; `None` if it has a label alone, or there is no such NIC.
    #[must_use]
    pub fn nic(&self, nic: NicId) -> Option<&NicName> {
        self.nics.get(nic.index())
    }

    /// The name of a switch, with its GUID if another switch has the same.
    #[must_use]
    pub fn switch_label(&self, switch: SwitchId) -> &str {
        self.switch_labels
            .get(switch.index())
            .map_or("", |label| label)
    }

    /// The name of a NIC, with the port if its HCA has several, and with the GUID if another NIC
    /// has the same.
    #[must_use]
    pub fn nic_label(&self, nic: NicId) -> &str {
        self.nic_labels.get(nic.index()).map_or("", |label| label)
    }

    /// A port as on the device, where they are counted from 1: `L003 port 5`.
    #[must_use]
    pub fn port_label(&self, at: SwitchPort) -> String {
        format!(
            "{} port {}",
            self.switch_label(at.switch),
            at.port.get() + 1
        )
    }

    /// An end of a link.
    #[must_use]
    pub fn end_label(&self, end: LinkEnd) -> String {
        match end {
            LinkEnd::Nic(nic) => self.nic_label(nic).to_owned(),
            LinkEnd::Port { switch, port } => self.port_label(SwitchPort::new(switch, port)),
        }
    }

    /// The GUID of the device at an end of a link, in hex with 16 digits.
    #[must_use]
    pub fn end_guid(&self, end: LinkEnd) -> Option<String> {
        let guid = match end {
            LinkEnd::Nic(nic) => self.nic(nic)?.guid,
            LinkEnd::Port { switch, .. } => self.switch(switch)?.guid,
        };
        Some(format!("{guid:#018x}"))
    }

    /// The NIC that `text` names: by its label, by its name or the first word of it, by the GUID of its
    /// HCA (`0x…`), or by its LID (`lid 19`).
    ///
    /// # Errors
    /// If none or several have that name, with the names that exist.
    pub fn find(&self, text: &str) -> Result<NicId, String> {
        let all = self.nic_labels.iter().enumerate();
        let all = all.map(|(at, label)| match self.nics.get(at) {
            Some(nic) => Named {
                label,
                name: &nic.name,
                guid: Some(nic.guid),
                lid: Some(nic.lid),
            },
            None => Named::plain(label),
        });
        let found = find(text, &all.collect::<Vec<_>>(), ["host", "ports"])?;
        Ok(NicId::new(found as u32))
    }

    /// The switch that `text` names, as [`find`](Self::find) does for NICs.
    ///
    /// # Errors
    /// If none or several have that name, with the names that exist.
    pub fn find_switch(&self, text: &str) -> Result<SwitchId, String> {
        let all = self.switch_labels.iter().enumerate();
        let all = all.map(|(at, label)| match self.switches.get(at) {
            Some(switch) => Named {
                label,
                name: &switch.name,
                guid: Some(switch.guid),
                lid: switch.lid,
            },
            None => Named::plain(label),
        });
        let found = find(text, &all.collect::<Vec<_>>(), ["switch", "switches"])?;
        Ok(SwitchId::new(found as u32))
    }
}

/// A part with the names by which a text may mean it.
struct Named<'a> {
    label: &'a str,
    name: &'a str,
    guid: Option<u64>,
    lid: Option<u16>,
}

impl<'a> Named<'a> {
    fn plain(label: &'a str) -> Self {
        Self {
            label,
            name: label,
            guid: None,
            lid: None,
        }
    }
}

/// Tells whether a text means something.
type Means<'a> = &'a dyn Fn(&Named<'_>) -> bool;

/// The number in `all` of the part that `text` means. `kind`: the noun for a part, singular and plural.
fn find(text: &str, all: &[Named<'_>], kind: [&str; 2]) -> Result<usize, String> {
    let text = text.trim();
    let lid = text.strip_prefix("lid").map(str::trim);
    let lid = lid.and_then(|lid| lid.parse::<u16>().ok());
    let guid = text.strip_prefix("0x");
    let guid = guid.and_then(|guid| u64::from_str_radix(guid, 16).ok());
    // From the most to the least exact.
    let means: [Means<'_>; 5] = [
        &|one| one.label == text,
        &|one| one.name == text,
        &|one| one.name.split_whitespace().next() == Some(text),
        &|one| one.lid.is_some() && one.lid == lid,
        &|one| one.guid.is_some() && one.guid == guid,
    ];
    let found = |means: &Means<'_>| -> Vec<usize> {
        let meant = all.iter().enumerate().filter(|(_, one)| means(one));
        meant.map(|(at, _)| at).collect()
    };
    match means.iter().map(found).find(|found| !found.is_empty()) {
        Some(found) if found.len() == 1 => Ok(found[0]),
        Some(found) => {
            let labels: Vec<&str> = found.iter().take(4).map(|&at| all[at].label).collect();
            let more = if found.len() > labels.len() {
                ", …"
            } else {
                ""
            };
            let lid = match all[found[0]].lid {
                Some(lid) => format!("its LID as `lid {lid}`"),
                None => format!("its GUID as `{:#x}`", all[found[0]].guid.unwrap_or(0)),
            };
            Err(format!(
                "{} {} are called {}: {}{more}; name one of them, or give {lid}",
                found.len(),
                kind[1],
                quoted(text),
                labels.join(", "),
            ))
        }
        None => {
            let has_addresses = all.iter().any(|one| one.guid.is_some());
            let cure = if has_addresses {
                "a name, a GUID (0x…) or a LID (`lid 19`) from the output of ibnetdiscover"
            } else {
                "a name from the file of the topology"
            };
            let near = near(text, all);
            Err(format!(
                "no {} is called {}{near}; give {cure}",
                kind[0],
                quoted(text)
            ))
        }
    }
}

/// A name that may be meant, as part of a message.
fn near(text: &str, all: &[Named<'_>]) -> String {
    let words = all
        .iter()
        .filter_map(|one| one.label.split_whitespace().next());
    let names = all.iter().map(|one| one.label).chain(words);
    nearest(text, names).map_or_else(String::new, |name| {
        format!("; did you mean {}?", quoted(name))
    })
}

/// Labels that tell all apart: names, with the port where one is given, and with the GUID where that is
/// not enough.
fn labels(all: impl Iterator<Item = (String, u64, Option<u8>)>) -> Vec<String> {
    let with_port = |(name, guid, port): (String, u64, Option<u8>)| {
        let name = match name.trim() {
            "" => format!("{guid:#x}"),
            name => name.to_owned(),
        };
        let port = port.map_or(String::new(), |port| format!(" port {port}"));
        (name, port, guid)
    };
    let all: Vec<_> = all.map(with_port).collect();
    let mut uses: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (name, port, _) in &all {
        *uses.entry((name, port)).or_default() += 1;
    }
    let label = |(name, port, guid): &(String, String, u64)| match uses.get(&(&name[..], &port[..]))
    {
        Some(1) | None => format!("{name}{port}"),
        Some(_) => format!("{name} ({guid:#x}){port}"),
    };
    all.iter().map(label).collect()
}
