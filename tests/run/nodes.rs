//! Whole runs on nodes of several NICs and on rails.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::explain::Part;
use flitwise::generate::{Kernel, Spec};
use flitwise::run::{Control, RunResult, Status, run_plan};
use flitwise::units::Ratio;
use std::path::Path;

fn plan(text: &str, dir: &Path) -> Plan {
    let mut plan = resolve_text("test.toml", text, dir, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.split = false;
    plan.baselines.clear();
    plan
}

fn run(plan: &Plan, threads: usize) -> RunResult {
    let result = run_plan(plan, &Control::default(), threads).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    result
}

/// A trace in which ranks 0 to 3 send each of ranks 4 to 7 eight messages of 64 KiB, which it answers.
fn halves(dir: &Path) {
    let spec = Spec {
        kernel: Kernel::Bandwidth { window: 8 },
        ranks: 8,
        size: 65_536,
        iterations: 1,
        compute_ns: 0,
        imbalance: Ratio::whole(0),
        seed: 1,
    };
    let file = std::fs::File::create(dir.join("halves.vef")).unwrap();
    spec.write(file).unwrap();
}

/// A rank on the first NIC of every second node of a tree.
fn on_tree(node: &str, nics: u32) -> String {
    let list: Vec<String> = (0..8).map(|rank| (rank * 2 * nics).to_string()).collect();
    format!(
        "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n[node]\n{node}\n\
         [[job]]\ntrace = \"halves.vef\"\nplacement = {{ list = [{}] }}\n",
        list.join(", ")
    )
}

#[test]
fn rails_double_the_bisection() {
    let dir = tempfile::tempdir().unwrap();
    halves(dir.path());
    let time = |node: &str, nics| {
        let plan = plan(&on_tree(node, nics), dir.path());
        let result = run(&plan, 1);
        result.main.jobs[0].as_ref().unwrap().execution_ps as f64
    };
    let one = time("rails = 1", 1);
    let two = time("rails = 2\nnic_choice = \"stripe\"", 2);
    let four = time("rails = 4\nnic_choice = \"stripe\"", 4);
    // The rest is latency: of 43 us, 1 us.
    assert!((1.9..=2.0).contains(&(one / two)), "{one} {two}");
    assert!((1.85..=2.0).contains(&(two / four)), "{two} {four}");
    // By rank half of the NICs are idle, and a second rail changes nothing.
    assert!((one - time("rails = 2", 2)).abs() < 1.0);
}

/// A message in parts counts with the part that ends last; a last step is a message inside the node.
#[test]
fn messages_in_parts_and_last_steps_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    halves(dir.path());
    let explained = |node: &str, list: &str| {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n[node]\nrails = 2\n{node}\
             [[job]]\ntrace = \"halves.vef\"\nplacement = {{ list = [{list}] }}\n"
        );
        let mut plan = plan(&text, dir.path());
        plan.explain = true;
        let result = run(&plan, 1);
        result.main.explanation.unwrap().remove(0)
    };
    let first = "0, 2, 4, 6, 8, 10, 12, 14";
    let whole = explained("", first);
    let parts = explained("nic_choice = \"stripe\"\n", first);
    assert_eq!(whole.messages, parts.messages);
    assert_eq!(parts.parts.of(Part::InsideNodes), 0);
    let [one, half] = [&whole, &parts].map(|all| all.parts.of(Part::Serialisation));
    assert!(half * 19 < one * 10 && half * 21 > one * 10, "{one} {half}");
    // Ranks 4 to 7 are on the other rail: the last steps to them, and back, take 100 ns and 20 GB/s.
    let steps = explained("", "0, 2, 4, 6, 9, 11, 13, 15");
    assert_eq!(steps.messages, 2 * whole.messages);
    let inside = steps.parts.of(Part::InsideNodes);
    let data = 100_000 + 65_536 * 50;
    assert!(inside > data && inside < 2 * data, "{inside}");
}

#[test]
fn planes_are_alike() {
    let dir = tempfile::tempdir().unwrap();
    halves(dir.path());
    let json = |node: &str, placement: &str| {
        let text = on_tree(node, 1);
        let job = text.find("placement").unwrap();
        let plan = plan(
            &format!("{}placement = {placement}\n", &text[..job]),
            dir.path(),
        );
        let job = run(&plan, 1).main.jobs[0].clone().unwrap();
        (job.execution_ps, job.latency)
    };
    let one = json("rails = 1", "{ list = [0, 3, 5, 9, 12, 1, 2, 7] }");
    let first = json("rails = 2", "{ list = [0, 6, 10, 18, 24, 2, 4, 14] }");
    let second = json("rails = 2", "{ list = [1, 7, 11, 19, 25, 3, 5, 15] }");
    assert_eq!((&first, &second), (&one, &one));
}

#[test]
fn the_example_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("configs/rails.toml")).unwrap();
    let plan = plan(&text, &root.join("configs"));
    assert_eq!(plan.experiment.fabric.topology.nics(), 256);
    let result = run(&plan, 2);
    let jobs: Vec<_> = result.main.jobs.iter().flatten().collect();
    assert_eq!(jobs.len(), 4);
    // In each of two iterations a rank sends three parts in its node, and then twice what it has to a partner there.
    assert_eq!(jobs[0].intra_node_messages, 2 * 192 * (3 + 2));
    assert_eq!(jobs[2].nics[0].get(), 200);
    assert!(jobs.iter().all(|job| job.complete));
}

#[test]
fn threads_change_nothing_on_rails() {
    let dir = tempfile::tempdir().unwrap();
    halves(dir.path());
    let text = "[fabric]\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 3 }\n\
                [node]\nrails = 2\nnics = 4\nfabric = \"all-to-all\"\n\
                [[job]]\ntrace = \"halves.vef\"\nplacement = \"random-switches\"\n";
    let plan = plan(text, dir.path());
    let json = |threads| {
        let mut json = result_json(&plan, &run(&plan, threads));
        json.as_object_mut().unwrap().remove("engine");
        json.to_string()
    };
    assert_eq!(json(1), json(3));
}
