//! Congestion control, the same for both kinds of switch: the Port VLs of switches
//! (`docs/model-infiniband.md` §9) and the sources at NICs (§11). Notifications (§10) are packets,
//! so each kind of fabric creates its own.

mod port_vls;
mod sources;

pub(super) use port_vls::PortVls;
pub(super) use sources::{FlowId, Sources};
