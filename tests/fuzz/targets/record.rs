#![no_main]

#[path = "../results.rs"]
mod results;

libfuzzer_sys::fuzz_target!(|data: &[u8]| results::record(data));
