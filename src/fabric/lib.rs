//! The fabric: switches, NICs and links, exact to the flit.

pub mod analysis;
pub mod engine;
pub mod held_up;
pub mod ids;
pub mod parameters;
mod prefetch;
pub mod qos;
mod routing;
pub mod series;
pub mod spec;
pub mod stats;
pub mod switch;
pub mod topology;
pub mod unloaded;
pub mod workload;
