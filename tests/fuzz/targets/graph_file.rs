#![no_main]

#[path = "../graphs.rs"]
mod graphs;

libfuzzer_sys::fuzz_target!(|data: &[u8]| graphs::graph_file(data));
