//! The fabric: switches, NICs and links at flit accuracy.

pub mod qos;
pub mod spec;
pub mod stats;
pub mod topology;
pub mod validate;
pub mod workload;
