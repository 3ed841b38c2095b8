//! Checks that a queueing scheme fits the fabric (`docs/model/queueing.md`).

use crate::error::error;
use crate::spec::{FabricSpec, QueueingScheme, SchemeKind, SpecError};
use crate::topology::Shape;

impl QueueingScheme {
    /// Checks that the numbers of queues are some that the scheme can have, whatever the fabric.
    pub fn validate_queues(&self) -> Result<(), SpecError> {
        let name = self.kind.name();
        if self.queues == 0 || self.has_escape() && self.escape_queues == 0 {
            let key = match self.queues {
                0 => "qos.queues",
                _ => "qos.escape_queues",
            };
            return error(key, "is 0; a packet needs at least 1".into());
        }
        if self.kind == SchemeKind::OneQueue && self.queues > 1 {
            let problem = format!("{}; {name} has one queue: remove the key", self.queues);
            return error("qos.queues", problem);
        }
        if !self.has_escape() && self.escape_queues > 0 {
            let problem = format!("{name} has no escape queues; remove the key");
            return error("qos.escape_queues", problem);
        }
        Ok(())
    }
}

impl FabricSpec {
    /// Checks a scheme other than DBBM.
    pub(super) fn validate_queueing(&self, scheme: &QueueingScheme) -> Result<(), SpecError> {
        let name = scheme.kind.name();
        scheme.validate_queues()?;
        self.validate_scheme_topology(scheme)?;
        if scheme.is_local() {
            self.validate_local(name)?;
        }
        self.validate_scheme_vls(scheme)
    }

    /// The scheme can find its queues on this topology.
    fn validate_scheme_topology(&self, scheme: &QueueingScheme) -> Result<(), SpecError> {
        const KEY: &str = "qos.vl_policy";
        let (topology, name) = (&self.topology, scheme.kind.name());
        let problem = match (scheme.kind, topology.shape()) {
            (SchemeKind::Voqnet, _) if u32::from(scheme.queues) < topology.nics() => {
                let (queues, nics) = (scheme.queues, topology.nics());
                let problem = format!(
                    "{queues} queues for {nics} NICs; voqnet needs a queue for each NIC: take dbbm, \
                     which shares them, or a smaller fabric"
                );
                return error("qos.queues", problem);
            }
            (SchemeKind::Vftree, Shape::Tree(_) | Shape::Xgft(_)) => return Ok(()),
            (SchemeKind::Vftree, _) => "a tree",
            (SchemeKind::Iodet(_), _) if topology.dimensions() == 0 => {
                "a topology with dimensions, such as a torus"
            }
            (SchemeKind::H2lq(_), Shape::Dragonfly(_)) if self.routing.forwarding.is_none() => {
                return Ok(());
            }
            (SchemeKind::H2lq(_), _) => "a dragonfly without forwarding tables",
            (SchemeKind::Sf2lq, _) if self.classes_of_leg() != 2 => {
                "a topology whose packets have two VL classes, such as a slim fly"
            }
            _ => return Ok(()),
        };
        error(
            KEY,
            format!("{name} needs {problem}; take another scheme, such as dbbm"),
        )
    }

    /// The next switch's out-port follows from the destination.
    fn validate_local(&self, name: &str) -> Result<(), SpecError> {
        let Some(key) = self.key_beside_destination() else {
            return Ok(());
        };
        error(
            key,
            format!(
                "{name} takes the queue from the next switch's out-port, which the destination alone must \
                 decide; remove the key, or take a path-constant scheme such as dbbm"
            ),
        )
    }

    /// Every queue has a VL of its own.
    fn validate_scheme_vls(&self, scheme: &QueueingScheme) -> Result<(), SpecError> {
        let wanted = scheme.total(self.classes());
        for level in &self.qos.service_levels {
            let (name, have) = (&level.name, level.scs.len());
            if have != wanted {
                let problem = format!("{name} has {have} SCs; its queues take {wanted}");
                return error("qos.queues", problem);
            }
            let mut vls: Vec<_> = (level.scs.iter())
                .map(|&sc| self.qos.sc2vl[usize::from(sc)])
                .collect();
            vls.sort_unstable();
            vls.dedup();
            if vls.len() != have {
                let problem = format!("two queues of {name} share a VL; give each its own");
                return error("qos.sc2vl", problem);
            }
        }
        Ok(())
    }
}
