//! The fabric: the engine against the oracles and against what can be worked out by hand, and what
//! follows from a specification without a run.

#[path = "../common/mod.rs"]
mod common;

mod analysis;
mod compare;

mod bit_errors;
mod bursts;
mod bytes_on_links;
mod check_matrix;
mod dbbm;
mod deadlock;
mod dragonfly;
mod dtable;
mod engine_vs_oracle;
mod engine_vs_oracle_ib;
mod fabric_analysis;
mod fabric_analysis_random;
mod gaps;
mod gaps_naive;
mod in_blocks;
mod in_network;
mod infiniband_analysis;
mod infiniband_spec;
mod input_queues;
mod link_power;
mod names;
mod oracle_allocation;
mod oracle_congestion;
mod oracle_ib_congestion;
mod oracle_ib_flows;
mod oracle_ib_random;
mod oracle_ib_scripts;
mod oracle_ib_testbed;
mod oracle_random;
mod oracle_scripts;
mod outages;
mod probe;
mod queueing;
mod random;
mod routes;
mod saturation;
mod source_routes;
mod speeds;
mod static_congestion;
mod static_routing;
mod synthetic;
mod tables;
mod topologies;
mod units;
mod unloaded;
mod up_ports;
mod valiant;
mod wiring;
