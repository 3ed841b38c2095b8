#![no_main]

#[path = "../jobs.rs"]
mod jobs;

libfuzzer_sys::fuzz_target!(|data: &[u8]| jobs::job_schedule(data));
