//! One switch.

use super::{Shape, Topology, invalid};
use crate::fabric::spec::SpecError;

pub(super) fn build(nics: u32) -> Result<Topology, SpecError> {
    if nics == 0 {
        return Err(invalid("a single switch needs at least 1 NIC".into()));
    }
    let mut topology = Topology::unconnected(Shape::Single, 1, nics.into(), nics.into())?;
    for port in 0..nics {
        topology.attach_next(0, port);
    }
    Ok(topology)
}
