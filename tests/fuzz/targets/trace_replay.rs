#![no_main]

#[path = "../properties.rs"]
mod properties;
#[path = "../replays.rs"]
mod replays;

libfuzzer_sys::fuzz_target!(|data: &[u8]| replays::trace_replay(data));
