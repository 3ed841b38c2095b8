//! VEF traces: parsed, written, checked, converted and cut.

#[path = "../support/mod.rs"]
mod support;

mod convert;
mod order;
mod properties;
mod slice;
mod traces;
