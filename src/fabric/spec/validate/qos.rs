//! Whether service levels, channels and VLs agree with each other.

use super::{MANAGEMENT_SC, MAX_CLASS_TURNS, MAX_LEVELS, error};
use crate::fabric::spec::{FabricSpec, Hop, Qos, SlToVl, SpecError, VlPolicy};

impl FabricSpec {
    /// Checks service levels and VLs. `datelines`: the VL classes of a service level must have
    /// VLs of their own.
    pub(super) fn validate_qos(&self, datelines: bool) -> Result<(), SpecError> {
        let classes = self.needs_classes();
        let most_scs = match self.qos.vl_policy {
            VlPolicy::ServiceChannels if classes => usize::from(self.classes()),
            _ => usize::MAX,
        };
        self.qos.validate_levels(most_scs)?;
        if let VlPolicy::Dbbm { queues } = self.qos.vl_policy {
            self.validate_queues(queues)?;
        }
        if datelines && classes {
            self.validate_datelines()?;
        }
        Ok(())
    }

    /// Every service level has `queues` SCs in each VL class.
    fn validate_queues(&self, queues: u8) -> Result<(), SpecError> {
        const KEY: &str = "qos.queues";
        let classes = u32::from(self.classes());
        if queues == 0 {
            return error(KEY, "is 0; a packet needs at least 1".into());
        }
        let most = MAX_CLASS_TURNS / (classes * classes);
        if classes > 1 && u32::from(queues) > most {
            let problem = format!(
                "{queues} queues in each of {classes} VL classes; at most {most} are supported on \
                 tori and dragonflies"
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

    /// On rings every SL needs two dateline classes, on VLs of their own.
    fn validate_datelines(&self) -> Result<(), SpecError> {
        let (qos, classes) = (&self.qos, usize::from(self.classes()));
        let mut levels = qos.service_levels.iter();
        levels.try_for_each(|level| validate_classes(qos, &level.name, &level.scs, classes))
    }

    /// Checks SL-to-VL tables against the fabric.
    pub(super) fn validate_sl2vl(&self, tables: &SlToVl) -> Result<(), SpecError> {
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
            return error("fabric.sl2vl", format!("there is no adapter {hca}"));
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

impl Qos {
    /// Checks service levels, each with at most `most_scs` SCs, and VLs; not the scheduler.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    pub(crate) fn validate_levels(&self, most_scs: usize) -> Result<(), SpecError> {
        let sls = &self.service_levels;
        if sls.is_empty() || sls.len() > MAX_LEVELS {
            let n = sls.len();
            return error(
                "qos.service_levels",
                format!("{n} service levels; there must be 1 to {MAX_LEVELS}"),
            );
        }
        if self.vls == 0 || usize::from(self.vls) > MAX_LEVELS {
            return error(
                "qos.sc2vl",
                format!("{} VLs; there must be 1 to {MAX_LEVELS}", self.vls),
            );
        }
        let mut owner: [Option<&str>; MAX_LEVELS] = [None; MAX_LEVELS];
        for level in sls {
            let name = level.name.as_str();
            if level.scs.is_empty() {
                return error(
                    "qos.service_levels",
                    format!("{name} has no SC; give it at least one"),
                );
            }
            if level.mtu_bytes == 0 {
                return error(
                    "qos.service_levels",
                    format!("{name}: an MTU of 0 bytes carries nothing"),
                );
            }
            for &sc in &level.scs {
                self.validate_sc(name, sc, &mut owner)?;
            }
            if level.scs.len() > most_scs {
                return error("qos.service_levels", wrong_classes(name, level.scs.len()));
            }
        }
        Ok(())
    }

    fn validate_sc<'a>(
        &self,
        name: &'a str,
        sc: u8,
        owner: &mut [Option<&'a str>; MAX_LEVELS],
    ) -> Result<(), SpecError> {
        let Some(slot) = owner.get_mut(usize::from(sc)) else {
            return error("qos.service_levels", format!("{name}: SC {sc} is above 31"));
        };
        if sc == MANAGEMENT_SC {
            let problem =
                format!("{name}: SC {sc} is reserved for fabric management; take another SC");
            return error("qos.service_levels", problem);
        }
        if let Some(other) = slot.replace(name) {
            return error(
                "qos.service_levels",
                format!(
                    "SC {sc} is listed by {other} and by {name}; an SC belongs to one SL, once"
                ),
            );
        }
        match self.sc2vl[usize::from(sc)] {
            Some(vl) if vl < self.vls => Ok(()),
            Some(vl) => error(
                "qos.sc2vl",
                format!(
                    "SC {sc} of {name}: VL {vl} is not below the {} VLs",
                    self.vls
                ),
            ),
            None => error(
                "qos.sc2vl",
                format!(
                    "SC {sc} of {name} has no VL; the list needs {} entries",
                    sc + 1
                ),
            ),
        }
    }
}

fn wrong_classes(name: &str, scs: usize) -> String {
    format!(
        "{name} has {scs} SCs; on a torus it needs exactly 2, the dateline classes, and so it does on a \
         dragonfly"
    )
}

/// On a ring the SCs of a service level are as many for each dateline class, and no two classes
/// share a VL.
fn validate_classes(qos: &Qos, name: &str, scs: &[u8], classes: usize) -> Result<(), SpecError> {
    let queues = scs.len() / classes;
    if queues == 0 || scs.len() != classes * queues {
        return error("qos.service_levels", wrong_classes(name, scs.len()));
    }
    let vl = |sc: u8| qos.sc2vl.get(usize::from(sc)).copied().flatten();
    for (i, &zero) in scs.iter().enumerate() {
        let others = &scs[(i / queues + 1) * queues..];
        if let Some(one) = others.iter().find(|&&one| vl(zero) == vl(one)) {
            return error(
                "qos.sc2vl",
                format!(
                    "SC {zero} and SC {one} of {name} share a VL; on a torus they need two, else it deadlocks, \
                     and so does a dragonfly"
                ),
            );
        }
    }
    Ok(())
}
