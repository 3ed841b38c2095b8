#![no_main]

#[path = "../schedules.rs"]
mod schedules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| schedules::goal_schedule(data));
