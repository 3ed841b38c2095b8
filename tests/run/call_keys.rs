//! The keys of a job that say what computing and sending cost, on programs of a few lines whose times are plain
//! (`docs/reference/experiment.md`, `[[job]]`). The keys differ in what they do to the same program, so that none can stand for another.

use flitwise::config::resolve_text;
use flitwise::run::{Control, run_plan};
use std::path::Path;

/// The execution time of a TI trace in microseconds, on a switch with four NICs.
fn time_us(actions: &str, keys: &str) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("program.txt");
    std::fs::write(&trace, actions).unwrap();
    let text = format!(
        "[fabric]\npreset = \"ib-edr\"\ntopology = {{ kind = \"single\", nics = 4 }}\n\
         [baseline]\nenabled = false\n[[job]]\ntrace = '{}'\nhost_speed = 1e9\n{keys}\n",
        trace.display()
    );
    let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let job = result.main.jobs[0].clone().unwrap();
    assert!(job.complete);
    job.execution_ps as f64 * 1e-6
}

fn assert_us(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.001, "{found}, not {expected}");
}

/// Three ranks compute 3, 2 and 1 ms.
const COMPUTE: &str = "0 init\n1 init\n2 init\n0 compute 3e6\n1 compute 2e6\n2 compute 1e6\n\
                       0 finalize\n1 finalize\n2 finalize\n";

#[test]
fn computations_are_capped_then_scaled_then_weighted() {
    assert_us(time_us(COMPUTE, ""), 3000.0);
    assert_us(time_us(COMPUTE, "compute_cap = \"2500us\""), 2500.0);
    assert_us(time_us(COMPUTE, "compute_scale = 0.5"), 1500.0);
    // 3, 4 and 3 ms.
    assert_us(time_us(COMPUTE, "compute_factors = [1, 2, 3]"), 4000.0);
    // The list begins again at rank 2: 3, 4 and 1 ms.
    assert_us(time_us(COMPUTE, "compute_factors = [1, 2]"), 4000.0);
    // Capped to 1.5, 1.5 and 1 ms, halved, tripled at rank 2.
    let all = "compute_cap = \"1500us\"\ncompute_scale = 0.5\ncompute_factors = [1, 1, 3]";
    assert_us(time_us(COMPUTE, all), 1500.0);
}

/// Rank 0 sends to ranks 1 and 2, one after the other.
const SEND: &str = "0 init\n1 init\n2 init\n0 send 1 0 8\n0 send 2 0 8\n1 recv 0 0 8\n2 recv 0 0 8\n\
                    0 finalize\n1 finalize\n2 finalize\n";

#[test]
fn a_sender_pays_for_each_message_and_a_receiver_for_its_own() {
    let free = time_us(SEND, "");
    assert!(free < 10.0, "{free}");
    // The second message leaves after two overheads.
    let sending = time_us(SEND, "send_overhead = \"1ms\"") - free;
    assert!((sending - 2000.0).abs() < 10.0, "{sending}");
    // Both receivers are busy side by side.
    assert_us(time_us(SEND, "receive_overhead = \"1ms\"") - free, 1000.0);
    let both = "send_overhead = \"1ms\"\nreceive_overhead = \"1ms\"";
    assert!((time_us(SEND, both) - free - 3000.0).abs() < 10.0);
}

/// A send above the threshold waits for its receive, which comes after 1 ms.
#[test]
fn a_send_above_the_threshold_waits_for_its_receive() {
    let late = "0 init\n1 init\n0 send 1 0 1000\n0 compute 1e6\n1 compute 1e6\n1 recv 0 0 1000\n0 finalize\n1 finalize\n";
    let eager = time_us(late, "eager_threshold = \"10kB\"");
    assert!((eager - 1000.0).abs() < 10.0, "{eager}");
    let rendezvous = time_us(late, "eager_threshold = \"100B\"");
    assert!((rendezvous - 2000.0).abs() < 10.0, "{rendezvous}");
}
