//! VEF traces: parsed, written, checked, converted and cut.

#[path = "../support/data.rs"]
mod data;
#[path = "../support/mutate.rs"]
mod mutate;
#[path = "../support/mod.rs"]
mod support;

mod check;
mod collectives;
mod convert;
mod order;
mod properties;
mod slice;
mod traces;
