#![no_main]

#[path = "../archives.rs"]
mod archives;

libfuzzer_sys::fuzz_target!(|data: &[u8]| archives::otf2_edits(data));
