//! The ideal clock is a lower bound: no replay of a trace ends before its last record starts on that
//! clock, nor does a replay of a slice. A run on an ideal network is in turn a lower bound of a run on a
//! fabric: the replay of a trace only ever waits for the latest of some events, so a message that
//! takes longer can make nothing earlier.

use crate::support::{Trace, generate};
use flitwise::config::resolve_text;
use flitwise::run::{Control, RunResult, Status, run_plan};
use flitwise_formats::vef::{Cut, Info, Plan, SliceError};
use proptest::prelude::*;
use std::path::Path;

/// The span of a trace on the ideal clock.
fn span_ps(trace: &Path) -> u64 {
    let info = Info::read(trace).unwrap();
    info.ideal
        .expect("a clean trace has an ideal clock")
        .span_ps
}

/// Runs a trace of `ranks` ranks on a small fabric and on the ideal network.
fn run(trace: &Path, ranks: u32, job: &str) -> RunResult {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = {} }}\n\
         [[job]]\ntrace = {trace:?}\n{job}\n[baseline]\nenabled = false\n",
        ranks.max(2),
    );
    let mut plan = resolve_text("test.toml", &text, Path::new(""), &[]).unwrap();
    plan.split = true;
    run_plan(&plan, &Control::default(), 1).unwrap()
}

/// Ideal clock, run on the ideal network, run on the fabric.
fn times_ps(trace: &Path, ranks: u32, job: &str) -> [u64; 3] {
    let result = run(trace, ranks, job);
    let [ideal, main] = [result.ideal.unwrap(), result.main].map(|run| {
        assert_eq!(run.status, Status::Complete);
        run.jobs[0].as_ref().unwrap().execution_ps
    });
    [span_ps(trace), ideal, main]
}

/// The sends, and the algorithms of operations that have several.
fn job() -> impl Strategy<Value = String> {
    let sends = prop::sample::select(&["handed", "injected", "rendezvous"]);
    let algorithms: [(&str, &[&str]); 8] = [
        ("bcast", &["binomial", "scatter-allgather", "chain"]),
        ("reduce", &["binomial", "reduce-scatter-gather"]),
        ("allreduce", &["recursive-doubling", "ring", "rabenseifner"]),
        ("gather", &["binomial", "linear"]),
        ("scatter", &["binomial", "linear"]),
        ("allgather", &["ring", "bruck", "recursive-doubling"]),
        ("alltoall", &["pairwise", "linear", "bruck"]),
        ("barrier", &["dissemination", "recursive-doubling"]),
    ];
    let chosen = algorithms.map(|(operation, names)| {
        prop::option::of(prop::sample::select(names))
            .prop_map(move |name| name.map(|name| format!("{operation} = \"{name}\"")))
    });
    (sends, Vec::from(chosen), 1u32..4).prop_map(|(sends, chosen, per_node)| {
        let chosen: Vec<String> = chosen.into_iter().flatten().collect();
        format!(
            "send_completion = \"{sends}\"\ntasks_per_node = {per_node}\n\
             collectives = {{ {} }}",
            chosen.join(", ")
        )
    })
}

/// A window, in hundredths of the span, of the ranks whose bit is set.
fn sliced(trace: &Path, [a, b]: [u64; 2], pick: u8) -> Option<tempfile::NamedTempFile> {
    let ranks = Trace::read(trace).header.tasks;
    let hundredth = span_ps(trace) / 100;
    let cut = Cut {
        from_ps: hundredth * a.min(b),
        to_ps: Some(hundredth * a.max(b) + 1000),
        ranks: Some((0..ranks).filter(|rank| pick >> rank & 1 == 1).collect()),
        ..Cut::default()
    };
    let plan = match Plan::make(trace, &cut) {
        Ok(plan) => plan,
        Err(SliceError::Nothing { .. }) => return None,
        Err(e) => panic!("{e}"),
    };
    let out = tempfile::NamedTempFile::with_suffix(".vef").unwrap();
    std::fs::write(out.path(), plan.write(Vec::new()).unwrap()).unwrap();
    Some(out)
}

proptest! {
    #[test]
    fn no_replay_is_shorter_than_the_ideal_clock(
        seed in any::<u64>(),
        ranks in 1u32..8,
        job in job(),
        window in prop::array::uniform2(0u64..=100),
        pick in any::<u8>(),
    ) {
        let whole = generate(seed, ranks, 120).file();
        let slice = sliced(whole.path(), window, pick);
        for trace in [Some(&whole), slice.as_ref()].into_iter().flatten() {
            let ranks = Trace::read(trace.path()).header.tasks;
            let [clock, ideal, run] = times_ps(trace.path(), ranks, &job);
            prop_assert!(clock <= ideal, "clock {clock} ps, ideal network {ideal} ps");
            prop_assert!(ideal <= run, "ideal network {ideal} ps, fabric {run} ps");
        }
    }
}

/// Times of a trace of two ranks that compute 1 ms and 2 ms, enter an operation, and end.
fn two_ranks(op: u32, [first, second]: [&str; 2]) -> [u64; 3] {
    let text = format!(
        "VEF3 2 2 1 1 2 0 1000\nC0 0 1\nG0 C0 {op} 0 {first} 0 1000000 -1\n\
         G0 C0 {op} 1 {second} 0 2000000 -1\n0 0 0 0 3 5000000 G0\n1 1 1 0 3 0 G0\n"
    );
    let file = tempfile::NamedTempFile::with_suffix(".vef").unwrap();
    std::fs::write(file.path(), text).unwrap();
    times_ps(file.path(), 2, "")
}

/// Rank 0 computes 5 ms more once it has completed the operation: 6 ms in all if it waited for nobody, 7 ms
/// if it waited for rank 1.
#[test]
fn an_empty_part_synchronises_nobody() {
    const MS: u64 = 1_000_000_000;
    for (op, sizes) in [
        // Bcast, reduce and allreduce of nothing; rank 1 is the root where the sizes say so.
        (0, ["0 0", "0 0"]),
        (1, ["0 0", "0 0"]),
        (2, ["0 0", "0 0"]),
        // Gather to rank 0, which has the only block; scatter by rank 1, which keeps it.
        (3, ["8 8", "0 0"]),
        (4, ["0 0", "8 8"]),
        // Rank 1 has nothing for rank 0.
        (5, ["8 8", "0 8"]),
        (7, ["8 0", "0 0"]),
        (7, ["8 1", "0 1"]),
    ] {
        let [clock, ideal, _] = two_ranks(op, sizes);
        assert_eq!((clock, ideal), (6 * MS, 6 * MS), "{op} {sizes:?}");
    }
    for (op, sizes) in [
        (0, ["0 8", "8 0"]),
        (1, ["0 8", "8 0"]),
        (2, ["8 8", "8 8"]),
        (3, ["0 8", "8 0"]),
        (4, ["0 8", "8 0"]),
        (5, ["0 8", "8 8"]),
        (6, ["0 0", "0 0"]),
        (7, ["0 0", "8 0"]),
        (7, ["0 1", "1 1"]),
    ] {
        let [clock, ideal, _] = two_ranks(op, sizes);
        assert_eq!((clock, ideal), (7 * MS, 7 * MS), "{op} {sizes:?}");
    }
}
