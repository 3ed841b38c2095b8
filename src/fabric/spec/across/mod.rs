//! Answers and checks that need several settings of a fabric. Each file extends [`FabricSpec`](super::FabricSpec) with
//! the ones about a setting.

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
