//! Congestion control, the same for both kinds of switch (`docs/model-infiniband.md`,
//! §9 and §11): the Port VLs of switches and the sources at adapters.

mod port_vls;
mod sources;

pub(super) use port_vls::PortVls;
pub(super) use sources::{FlowId, Sources};
