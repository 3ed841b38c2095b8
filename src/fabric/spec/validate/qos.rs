//! Checks that service levels, service channels and VLs agree with each other.

use super::{MANAGEMENT_SC, MAX_LEVELS};
use crate::error::error;
use crate::spec::{FabricSpec, Qos, SpecError};

impl FabricSpec {
    /// Checks service levels and VLs. `datelines`: the VL classes of a service level must have
    /// VLs of their own.
    pub(super) fn validate_qos(&self, datelines: bool) -> Result<(), SpecError> {
        let classes = self.needs_classes();
        self.qos.validate_levels(self.most_scs())?;
        self.validate_vl_policy()?;
        // Queueing schemes but DBBM have a VL for each queue of each class.
        if datelines && classes && self.queueing_by_more().is_none() {
            self.validate_datelines()?;
        }
        Ok(())
    }

    /// On rings every SL needs two VL classes, on VLs of their own.
    fn validate_datelines(&self) -> Result<(), SpecError> {
        let (qos, classes) = (&self.qos, usize::from(self.classes()));
        let mut levels = qos.service_levels.iter();
        levels.try_for_each(|level| validate_classes(qos, &level.name, &level.scs, classes))
    }
}

impl Qos {
    /// Checks service levels, each with at most `most_scs` SCs, and VLs; not the scheduler.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    pub fn validate_levels(&self, most_scs: usize) -> Result<(), SpecError> {
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
                return error(
                    "qos.service_levels",
                    wrong_classes(name, level.scs.len(), most_scs),
                );
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

fn wrong_classes(name: &str, scs: usize, classes: usize) -> String {
    format!(
        "{name} has {scs} SCs; it needs exactly {classes}, one for each VL class (2 on a torus, \
         dragonfly or slim fly, else 1; more if fabric.paths is not \"minimal\"): take qos.preset = \"single\", or \
         list {classes} SCs for every service level, each with a VL of its own in qos.sc2vl"
    )
}

/// On a ring the SCs of a service level are as many for each VL class, and no two classes
/// share a VL.
fn validate_classes(qos: &Qos, name: &str, scs: &[u8], classes: usize) -> Result<(), SpecError> {
    let queues = scs.len() / classes;
    if queues == 0 || scs.len() != classes * queues {
        return error(
            "qos.service_levels",
            wrong_classes(name, scs.len(), classes),
        );
    }
    let vl = |sc: u8| qos.sc2vl.get(usize::from(sc)).copied().flatten();
    for (i, &zero) in scs.iter().enumerate() {
        let others = &scs[(i / queues + 1) * queues..];
        if let Some(one) = others.iter().find(|&&one| vl(zero) == vl(one)) {
            return error(
                "qos.sc2vl",
                format!(
                    "SC {zero} and SC {one} of {name} share a VL; on a torus they need two, else it deadlocks, \
                     and so does a dragonfly or slim fly"
                ),
            );
        }
    }
    Ok(())
}
