//! One switch.

use super::{
    Advice, Destination, Family, FamilyInfo, FamilyParameters, Ports, RingTie, RoutingName, Shape,
    Topology, invalid, port_of,
};
use crate::error::SpecError;
use crate::ids::SwitchId;

/// One switch with all NICs; NIC i at port i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Single;

impl Topology {
    /// One switch with `nics` NICs.
    ///
    /// # Errors
    /// If there is no NIC, or more than 120.
    pub fn single(nics: u32) -> Result<Self, SpecError> {
        if nics == 0 {
            return Err(invalid("a single switch needs at least 1 NIC".into()));
        }
        let shape = Shape::Single(Single);
        let mut topology = Self::unconnected(shape, 1, nics.into(), nics.into())?;
        for port in 0..nics {
            topology.attach_next(port_of(0, port));
        }
        Ok(topology)
    }
}

impl Single {
    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::{DModK, Destro};
        FamilyInfo {
            advice: Advice::Remove,
            ..FamilyInfo::new(
                &["single"],
                "a single switch",
                &[],
                &[Destro, DModK],
                &[("single", "nics=16")],
            )
        }
    };
}

impl Family for Single {
    /// None: there is no other switch.
    fn candidates(&self, _: RingTie, _: SwitchId, _: Destination) -> Ports {
        Ports::NONE
    }

    fn name(&self) -> String {
        "single switch".to_owned()
    }

    fn parameters(&self, _: &Topology) -> FamilyParameters {
        FamilyParameters::Single
    }
}
