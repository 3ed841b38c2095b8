//! The answers and the checks that need several settings of a fabric: each file extends [`FabricSpec`](super::FabricSpec)
//! by those about the setting of its name.

mod aggregation;
mod bit_errors;
mod outages;
mod paths;
mod planes;
mod power;
mod queueing;
mod routing;
mod source_routes;
mod vls;
