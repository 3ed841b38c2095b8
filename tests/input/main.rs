//! Files that the program reads: what experiments, presets, dumps of subnets and traces mean, and
//! that each broken one is refused with its place and cause.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../formats/tests/support/mod.rs"]
mod support;

mod config_analysis;
mod config_congestion;
mod config_congestion_parts;
mod config_corpus;
mod config_infiniband;
mod config_presets;
mod config_ready;
mod fuzz_corpus;
mod graph_files;
mod import_infiniband;
mod limits;
mod network_export;
mod network_files;
mod network_routing;
mod numbers;
mod operators;
mod placements;
mod places;
mod presets_on_topologies;
mod quotes;
mod schemas;
mod subnet;
mod trace_check;
mod vef_corpus;
mod vef_program;
mod written;
