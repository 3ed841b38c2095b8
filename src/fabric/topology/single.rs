//! One switch.

use super::{
    Advice, Cabling, Destination, Family, FamilyInfo, FamilyParameters, LaidOut, Ports, RingTie,
    RoutingName, invalid, port_of,
};
use crate::ids::SwitchId;

/// One switch with all NICs; NIC i at port i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Single;

impl Single {
    /// As [`Topology::single`](super::Topology::single).
    pub(super) fn laid_out(nics: u32) -> LaidOut<Self> {
        if nics == 0 {
            return Err(invalid("a single switch needs at least 1 NIC".into()));
        }
        let mut cabling = Cabling::unconnected(1, nics.into(), nics.into())?;
        for port in 0..nics {
            cabling.attach_next(port_of(0, port));
        }
        Ok((Single, cabling))
    }

    /// The names of the family and its routings.
    pub const INFO: FamilyInfo = {
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

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        FamilyParameters::Single
    }
}
