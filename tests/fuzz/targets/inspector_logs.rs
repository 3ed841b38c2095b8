#![no_main]

#[path = "../chakra.rs"]
mod chakra;

libfuzzer_sys::fuzz_target!(|data: &[u8]| chakra::inspector_logs(data));
