//! Fabrics and workloads for the tests.

// Every test program compiles its own copy and uses its own part of it.
#![allow(dead_code)]

pub mod bless;
pub mod collision;
#[path = "../../formats/tests/support/data.rs"]
pub mod data;
pub mod ids;
pub mod infiniband;
pub mod lone_packet;
pub mod markup;
pub mod paths;
pub mod random;
pub mod random_buffers;
pub mod random_cables;
pub mod random_infiniband;
pub mod random_outages;
pub mod random_power;
pub mod random_queueing;
pub mod random_tables;
pub mod random_topology;
pub mod random_traffic;
pub mod reasons;
pub mod resolved;
pub mod script;
pub mod specs;

/// `result.json` as a program reads it.
pub fn result_json(
    plan: &flitwise::config::Plan,
    result: &flitwise::run::RunResult,
) -> serde_json::Value {
    serde_json::to_value(flitwise::results::result_json(plan, result)).unwrap()
}
