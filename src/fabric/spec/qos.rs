//! Quality of service as plain data: service levels, channels and VLs.

use super::{SlToVl, Units, VlPolicy};
use serde::Serialize;

/// Most SLs, SCs, VLs and traffic classes (Hiperion, section 2.1).
pub const MAX_LEVELS: usize = 32;

/// Quality of service: SL → SC → VL (Hiperion, section 2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// VLs per buffer: the highest VL in use plus one, at most 32.
    pub vls: u8,
    /// The service levels, indexed by SL, at most 32.
    pub service_levels: Vec<ServiceLevel>,
    /// SC2VL: VL of each SC, `None` where the SC is not used; 32 entries.
    pub sc2vl: [Option<u8>; 32],
    /// Which VL a packet takes.
    pub vl_policy: VlPolicy,
}

/// One service level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ServiceLevel {
    /// Name used in experiments and results, e.g. `CL`.
    pub name: String,
    /// Traffic class that this SL belongs to, below 32.
    #[serde(rename = "tc")]
    pub traffic_class: u8,
    /// SL2SC: the SCs of this SL, sorted by VL class. Within a class the destination selects one
    /// SC ([`FabricSpec::channel`](super::FabricSpec::channel)).
    pub scs: Vec<u8>,
    /// Largest payload of one packet in bytes.
    pub mtu_bytes: u32,
}

impl Qos {
    /// A single service level with an SC for each of `vls` VLs, at most 15.
    #[must_use]
    pub fn one_level(vls: u8, mtu_bytes: u32) -> Self {
        let mut sc2vl = [None; 32];
        let scs: Vec<u8> = (0..vls).collect();
        for &sc in &scs {
            sc2vl[usize::from(sc)] = Some(sc);
        }
        Self {
            vls,
            service_levels: vec![ServiceLevel {
                name: "default".into(),
                traffic_class: 0,
                scs,
                mtu_bytes,
            }],
            sc2vl,
            vl_policy: VlPolicy::ServiceChannels,
        }
    }

    /// VLs that packets of service level `sl` may use, some of them several times: one per SC of
    /// the SL, or one per SL-to-VL table if these decide.
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn vls_of(&self, sl: usize) -> impl Iterator<Item = u8> + '_ {
        let tables = self.vl_policy.tables();
        let scs = match tables {
            None => self.service_levels[sl].scs.as_slice(),
            Some(_) => &[],
        };
        let by_channel = scs
            .iter()
            .filter_map(|&sc| self.sc2vl.get(usize::from(sc)).copied().flatten());
        let by_table = tables
            .into_iter()
            .flat_map(SlToVl::all)
            .filter_map(move |table| table.get(sl).copied());
        by_channel.chain(by_table)
    }

    /// Credits of the largest data packet that may use `vl`; 0 if none may.
    #[must_use]
    pub(crate) fn data_credits_on_vl(&self, units: Units, vl: u8) -> u32 {
        (0..self.service_levels.len())
            .filter(|&sl| self.vls_of(sl).any(|v| v == vl))
            .map(|sl| units.credits(units.data_flits(self.service_levels[sl].mtu_bytes)))
            .max()
            .unwrap_or(0)
    }

    /// True for each VL that packets may travel on.
    #[must_use]
    pub(crate) fn vls_used(&self) -> Vec<bool> {
        let mut used = vec![false; usize::from(self.vls)];
        let mut note = |vl: u8| {
            if let Some(used) = used.get_mut(usize::from(vl)) {
                *used = true;
            }
        };
        for sl in 0..self.service_levels.len() {
            self.vls_of(sl).for_each(&mut note);
        }
        used
    }
}
