//! The messages of jobs of an experiment.

use flitwise::config::resolve_text;
use flitwise::run::{Control, job_matrix, run_plan};
use flitwise::stop::Stop;
use std::path::Path;

/// The bytes between NICs are the same as in a run, whatever keys decide them.
#[test]
fn the_matrix_of_a_job_has_the_bytes_of_its_run() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let of = |keys: &str| {
        let text = format!(
            "baseline = {{ enabled = false }}\n[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n{keys}"
        );
        let plan = resolve_text("e", &text, &dir, &[]).unwrap();
        let matrix = job_matrix(&plan, 0, Stop::never());
        (plan, matrix)
    };
    const HPL: &str = "[[job]]\ntrace = \"hpl-16.vef.gz\"\n";
    const SUM: &str = "[[job]]\ntrace = \"allreduce-128.vef.gz\"\nranks_per_nic = 8\n";
    let mut all = Vec::new();
    for keys in [
        format!("{HPL}placement = \"random\""),
        format!("{HPL}ranks_per_nic = 2"),
        format!("{HPL}repeat = 2"),
        format!("[node]\nnics = 2\n{HPL}"),
        format!("[node]\nnics = 4\nnic_choice = \"stripe\"\n{HPL}ranks_per_nic = 2"),
        SUM.to_owned(),
        format!("{SUM}[collectives]\nallreduce = \"ring\""),
    ] {
        let (plan, matrix) = of(&keys);
        let matrix = matrix.unwrap();
        let run = run_plan(&plan, &Control::default(), 1).unwrap().main;
        let sum: u64 = matrix.given.levels[0].weights.iter().sum();
        assert_eq!(sum, run.stats.service_levels[0].bytes, "{keys}");
        assert_eq!(matrix.given.ranks as usize, matrix.nics.len());
        all.push(sum);
    }
    all.sort_unstable();
    all.dedup();
    // Two ranks to a NIC leave the fabric as much as two to a node.
    assert_eq!(all.len(), 6);
    let refused = |keys: &str| of(keys).1.unwrap_err().to_string();
    let e = refused(&format!("[node]\nrails = 2\n{HPL}"));
    assert!(e.contains("node.rails: a run has 2 copies"), "{e}");
    let e = refused(&format!("{SUM}[collectives]\nallreduce = \"in-network\""));
    assert!(e.contains("\"in-network\""), "{e}");
}
