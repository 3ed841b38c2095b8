#![no_main]

#[path = "../dumpi.rs"]
mod dumpi;

libfuzzer_sys::fuzz_target!(|data: &[u8]| dumpi::dumpi_set(data));
