//! Checks that the VL policy fits the service levels and the fabric.

use super::MAX_CLASS_TURNS;
use crate::error::error;
use crate::spec::{FabricSpec, Hop, SchemeKind, SlToVl, SpecError, VlPolicy};

impl FabricSpec {
    /// Most SCs of a service level.
    pub(super) fn most_scs(&self) -> usize {
        match self.qos.vl_policy {
            VlPolicy::ServiceChannels if self.needs_classes() => usize::from(self.classes()),
            _ => usize::MAX,
        }
    }

    /// Checks the requirements of the VL policy.
    pub(super) fn validate_vl_policy(&self) -> Result<(), SpecError> {
        match &self.qos.vl_policy {
            VlPolicy::ServiceChannels => Ok(()),
            VlPolicy::Queueing(scheme) if scheme.kind == SchemeKind::Dbbm => {
                scheme.validate_queues()?;
                self.validate_dbbm(scheme.queues)
            }
            VlPolicy::Queueing(scheme) => self.validate_queueing(scheme),
            VlPolicy::SlToVl(tables) => self.validate_sl2vl(tables),
        }
    }

    /// Every service level has `queues` SCs in each VL class.
    fn validate_dbbm(&self, queues: u8) -> Result<(), SpecError> {
        const KEY: &str = "qos.queues";
        let classes = u32::from(self.classes());
        let most = MAX_CLASS_TURNS / self.class_turns().count() as u32;
        if classes > 1 && u32::from(queues) > most {
            let paths = match self.routing.paths.detours() {
                None => String::new(),
                Some(detours) => format!(" with fabric.paths = \"{}\"", detours.rule.name()),
            };
            let topology = serde_json::json!(self.topology);
            let kind = topology["kind"].as_str().unwrap_or("topology");
            let problem = format!(
                "{queues} queues in each of {classes} VL classes; on kind = \"{kind}\"{paths} dbbm can have at \
                 most {most} in each: set qos.queues = {most}"
            );
            return error(KEY, problem);
        }
        let scs = classes as usize * usize::from(queues);
        let mut levels = self.qos.service_levels.iter();
        match levels.find(|level| level.scs.len() != scs) {
            None => Ok(()),
            Some(level) => {
                let (name, have) = (&level.name, level.scs.len());
                let problem =
                    format!("{name} has {have} SCs; {queues} queues per VL class take {scs}");
                error(KEY, problem)
            }
        }
    }

    /// Checks SL-to-VL tables against the fabric.
    fn validate_sl2vl(&self, tables: &SlToVl) -> Result<(), SpecError> {
        let levels = self.qos.service_levels.len();
        for table in tables.all() {
            if table.len() < levels {
                return error(
                    "fabric.sl2vl",
                    format!("{} entries for {levels} service levels", table.len()),
                );
            }
            if let Some(vl) = table[..levels].iter().find(|&&vl| vl >= self.qos.vls) {
                return error(
                    "fabric.sl2vl",
                    format!("VL {vl} is not below the {} VLs", self.qos.vls),
                );
            }
        }
        let nics = self.topology.nics();
        if let Some(hca) = tables.hcas.keys().find(|hca| hca.get() >= nics) {
            return error("fabric.sl2vl", format!("there is no NIC {hca}"));
        }
        let exists = |hop: &Hop| {
            let has = |port| self.topology.has_port(hop.switch, port);
            has(hop.in_port) && has(hop.out_port)
        };
        if let Some(hop) = tables.ports.keys().find(|hop| !exists(hop)) {
            let Hop {
                switch,
                in_port,
                out_port,
            } = hop;
            return error(
                "fabric.sl2vl",
                format!("switch {switch} has no ports {in_port} and {out_port}"),
            );
        }
        Ok(())
    }
}
