//! Speed of the ready traces as they were recorded, on 64 and 4,096 NICs: the cost follows the messages, not the simulated
//! time.
//!
//! Each case is run with the computations as recorded and with 100 times as long ones. The second takes about as long as
//! the first, because nothing is simulated while no message is under way.

use crate::measure::{Bench, Spread, timed};
use flitwise::config::resolve_text;
use flitwise::run::{Control, Status, run_plan};
use std::path::Path;

const TRACES: [&str; 6] = [
    "gromacs_water-16.vef.gz",
    "hpl-16.vef.gz",
    "hpl-64.vef.gz",
    "lammps_melt-16.vef.gz",
    "lulesh-27.vef.gz",
    "randomaccess-16.vef.gz",
];

/// Fat trees by the number of their NICs.
const TREES: [(u32, &str); 2] = [(64, "k = 8, n = 2"), (4096, "k = 16, n = 3")];

const PRESETS: [&str; 2] = ["opa-gen1", "ib-edr"];

/// The CPU time of a run, in seconds.
fn seconds(text: &str) -> f64 {
    let traces = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/traces"));
    let (seconds, result) = timed(|| {
        let plan = resolve_text("benchmark", text, traces, &[]).expect("an experiment");
        run_plan(&plan, &Control::default(), 1).expect("a run")
    });
    assert_eq!(result.main.status, Status::Complete);
    seconds
}

/// The group `traces`.
pub fn run(bench: &mut Bench) {
    println!("CPU seconds: minimum / median / maximum, as recorded and with computation x 100");
    for trace in TRACES {
        for (nics, tree) in TREES {
            for preset in PRESETS {
                let name = format!("{trace} {nics} {preset}");
                if !bench.wants(&name) {
                    continue;
                }
                let of = |scale: u32| {
                    let text = format!(
                        "fabric = {{ preset = \"{preset}\", topology = {{ kind = \"k-ary-n-tree\", {tree} }} }}\n\
                         baseline = {{ enabled = false }}\n\
                         job = [{{ trace = \"{trace}\", compute_scale = {scale} }}]\n"
                    );
                    Spread::new((0..bench.runs(3)).map(|_| seconds(&text)))
                };
                let (recorded, longer) = (of(1), of(100));
                println!("{name:<42} {recorded:.2}   {longer:.2}");
                bench.note(&name, "CPU s", &recorded);
            }
        }
    }
}
