//! Collectives in the network: their times against closed forms and a publication, and what does not work with them.

use crate::common::result_json;
use flitwise::config::{Plan, load};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::unloaded::Unloaded;
use flitwise::fabric::workload::Message;
use flitwise::generate::{Kernel, Spec};
use flitwise::run::{Control, Status, run_plan};
use flitwise::units::Ratio;
use std::path::Path;

/// `configs/in-network.toml` with one all-reduce of `ranks` ranks in place of its trace.
fn plan(ranks: u32, bytes: u64, sets: &[&str]) -> (Plan, tempfile::TempDir) {
    let spec = Spec {
        kernel: Kernel::Allreduce { groups: 1 },
        ranks,
        size: bytes,
        iterations: 1,
        compute_ns: 0,
        imbalance: Ratio::ZERO,
        seed: 1,
    };
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("allreduce.vef");
    std::fs::write(&trace, spec.write(Vec::new()).unwrap().1).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/in-network.toml");
    let mut all = vec![format!("job.0.trace=\"{}\"", trace.display())];
    all.extend(sets.iter().map(|&set| set.to_owned()));
    (load(&file, &all).unwrap(), dir)
}

/// Picoseconds that the job takes.
fn time_ps(plan: &Plan) -> u64 {
    let result = run_plan(plan, &Control::default(), 1).unwrap();
    assert_eq!(result.status(plan), Status::Complete);
    let json = result_json(plan, &result);
    json["jobs"][0]["execution_time_ps"].as_u64().unwrap()
}

/// Ticks from NIC 0 through its switch to the root of the tree and back, and of a packet on a link.
fn there_and_back(spec: &FabricSpec, bytes: u64) -> (Tick, Tick, Tick) {
    let (topology, nic) = (&spec.topology, NicId::new(0));
    let all = topology.aggregation().unwrap();
    let own = topology.attachment(nic).switch;
    let root = all.parent(own).unwrap();
    assert_eq!(all.parent(root), None);
    let mut fabric = Unloaded::new(spec).unwrap();
    let mut lone = |from, to| {
        let message = Message::new(from, to, 0, bytes, 0);
        fabric.times(&message).unwrap().delivered
    };
    let up = lone(nic, all.node(own)) + lone(all.node(own), all.node(root));
    let down = lone(all.node(root), all.node(own)) + lone(all.node(own), nic);
    (
        up,
        down,
        spec.least_ticks(spec.link_units(bytes as u32).into()),
    )
}

#[test]
fn two_ranks_take_the_way_to_the_root_and_back() {
    let sets = [
        "job.0.placement={list=[0,16]}",
        "collectives.switch_reduction=\"777ns\"",
    ];
    let (plan, _dir) = plan(2, 8, &sets);
    let spec = &plan.experiment.fabric;
    let (up, down, packet) = there_and_back(spec, 8);
    // The two segments, and the two copies, follow one another on the links of the root's node.
    let ticks = up + packet + down + packet;
    let expected = spec.units.tick.ps(ticks) + 2 * 777_000;
    let (took, slack) = (time_ps(&plan), spec.units.tick.ps(4));
    assert!(
        took.abs_diff(expected) <= slack,
        "{took} ps, not {expected}"
    );
}

/// Segments follow one another at the pace of what limits them: the switch, or the results that members wait for.
#[test]
fn segments_come_at_the_pace_of_the_slowest_part() {
    let time = |bytes, operations: u32, reduction_ns: u64| {
        let operations = format!("collectives.switch_operations={operations}");
        let reduction = format!("collectives.switch_reduction=\"{reduction_ns}ns\"");
        let sets = ["job.0.placement={list=[0,16]}", &operations, &reduction];
        let (plan, _dir) = plan(2, bytes, &sets);
        time_ps(&plan)
    };
    let close = |took: u64, expected: u64| {
        assert!(
            took.abs_diff(expected) * 100 <= expected,
            "{took} ps, not {expected}"
        );
    };
    let one = time(256, 1, 2_000);
    // One at a time: each waits for the result of the one before.
    close(time(16 * 256, 1, 2_000), 16 * one);
    // With this many in flight only the switch limits the rate.
    close(time(16 * 256, 16, 2_000), one + 15 * 2_000_000);
    // Two at a time: the second of each pair a reduction behind the first.
    close(time(16 * 256, 2, 2_000), 8 * one + 2_000_000);
}

/// Graham et al. 2016: 2.83 us for 8 B and 14.48 us for 4 KiB on 128 hosts behind Switch-IB 2. `switch_reduction` is fitted to
/// the difference; MPI and the adapters take time in the measurements alone.
#[test]
fn sharp_on_128_hosts() {
    let time = |bytes| {
        let (plan, _dir) = plan(128, bytes, &["collectives.switch_reduction=\"700ns\""]);
        time_ps(&plan) as f64 / 1e6
    };
    let (short, long) = (time(8), time(4096));
    assert!((short - 2.349).abs() < 0.001, "{short} us for 8 B");
    let longer = long - short;
    assert!(
        (longer - 11.516).abs() < 0.001,
        "{longer} us more for 4 KiB"
    );
}

/// With reductions in no time, nothing is fitted: the switches are ahead for a packet, and the hosts for a vector that all
/// children send over the link of a node.
#[test]
fn switches_are_ahead_of_hosts_for_a_packet() {
    let factor = |bytes| {
        let time = |sets: &[&str]| {
            let (plan, _dir) = plan(128, bytes, sets);
            time_ps(&plan) as f64
        };
        let hosts = time(&["collectives={allreduce=\"recursive-doubling\"}"]);
        hosts / time(&["collectives.switch_reduction=\"0ns\""])
    };
    let [short, long] = [8, 4096].map(factor);
    assert!((short - 1.85).abs() < 0.01, "{short} times for 8 B");
    assert!((long - 0.60).abs() < 0.01, "{long} times for 4 KiB");
}
