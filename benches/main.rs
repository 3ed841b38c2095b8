//! The benchmarks: one program, in the profile and with the panic strategy of what ships.
//!
//! ```text
//! cargo run --profile dist --example bench -- [--runs N] [--scale X] [--record FILE.csv] [WORD …]
//! cargo run --profile dist --example bench -- fabric 1a      # of the group "fabric", cases with "1a" in their name
//! ```
//!
//! The groups are `fabric`, `replay`, `traces`, `readers`, `peers` (other simulators, see `peers.rs`) and `stream`; all
//! but `stream`, which takes minutes and gigabytes, without a word. `--scale` is a factor on the length of each case.
//! `--record` writes what was measured. Records by day lie in `benches/records`; `just bless tidy` makes the tables and
//! the figure of `docs/evidence/performance.md` from the newest.

mod all_to_all;
#[path = "../formats/tests/dumpi/write.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod dumpi_files;
mod fabric;
mod halo;
mod measure;
mod peers;
mod readers;
mod replay;
mod stream;
mod traces;

use flitwise::huge_pages::HugePages;
use measure::Bench;

// As in the program.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// A group of cases: its name, whether it runs without being asked for, and what it does.
type Group = (&'static str, bool, fn(&mut Bench));

const GROUPS: [Group; 6] = [
    ("fabric", true, fabric::run),
    ("replay", true, replay::run),
    ("traces", true, traces::run),
    ("readers", true, readers::run),
    ("peers", true, peers::run),
    ("stream", false, stream::run),
];

fn main() -> std::io::Result<()> {
    let mut bench = Bench::read(&GROUPS.map(|(name, ..)| name));
    for (name, unasked, run) in GROUPS {
        if bench.begin(name, unasked) {
            run(&mut bench);
        }
    }
    bench.write_record()
}
