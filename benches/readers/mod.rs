//! Speed of the readers and checks of traces, on generated ones. Files are in the page cache. The CPU time is the calling
//! thread's, which a busy machine disturbs less than the clock.

mod dumpi;
mod goal_ti;
mod recording;
mod vef;

use crate::measure::Bench;

/// The group `readers`.
pub fn run(bench: &mut Bench) {
    println!("millions per second: minimum / median / maximum");
    for (name, run) in [
        ("VEF", vef::run as fn(&mut Bench)),
        ("DUMPI", dumpi::run),
        ("GOAL TI", goal_ti::run),
        ("recording", recording::run),
    ] {
        if bench.wants(name) {
            run(bench);
        }
    }
}
