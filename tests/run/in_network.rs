//! Collectives in the network: their times against closed forms and a publication, and what does not work with them.

use crate::common::result_json;
use flitwise::config::{Plan, load};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::topology::Neighbour;
use flitwise::fabric::unloaded::Unloaded;
use flitwise::fabric::workload::Message;
use flitwise::generate::{Kernel, Spec};
use flitwise::run::{Control, Status, run_plan};
use flitwise::units::Ratio;
use serde_json::Value;
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
    let of_nic = all.facing(own, Neighbour::Nic(nic));
    let above = all.facing(own, Neighbour::Switch(root));
    let below = all.facing(root, Neighbour::Switch(own));
    let up = lone(nic, of_nic) + lone(above, below);
    let down = lone(below, above) + lone(of_nic, nic);
    (
        up,
        down,
        spec.least_ticks(spec.link_units(bytes as u32).into()),
    )
}

#[test]
fn two_ranks_take_the_way_to_the_root_and_back() {
    // On one internal link of the root the two segments, and the two copies, follow one another.
    for (links, turns) in [(1, 1), (2, 0)] {
        let links = format!("collectives.switch_links={links}");
        let sets = [
            "job.0.placement={list=[0,16]}",
            "collectives.switch_reduction=\"777ns\"",
            &links,
        ];
        let (plan, _dir) = plan(2, 8, &sets);
        let spec = &plan.experiment.fabric;
        let (up, down, packet) = there_and_back(spec, 8);
        let ticks = up + down + 2 * turns * packet;
        let expected = spec.units.tick.ps(ticks) + 2 * 777_000;
        let (took, slack) = (time_ps(&plan), spec.units.tick.ps(4));
        assert!(
            took.abs_diff(expected) <= slack,
            "{took} ps, not {expected}: {links}"
        );
    }
}

/// The switches that combine data are part of the network, which an ideal one takes no time for.
#[test]
fn switches_take_no_time_on_an_ideal_network() {
    let ideal = |reduction: &str| {
        let (mut plan, _dir) = plan(4, 4096, &[reduction]);
        plan.split = true;
        let result = run_plan(&plan, &Control::default(), 1).unwrap();
        result.ideal.unwrap().jobs[0].as_ref().unwrap().execution_ps
    };
    let none = ideal("collectives.switch_reduction=\"0ns\"");
    assert_eq!(ideal("collectives.switch_reduction=\"777ns\""), none);
}

/// Four adapters of a switch send 64 KiB each to its node, and get as much: with n internal links the packets of 4 / n of them
/// follow one another on each.
#[test]
fn children_take_turns_on_internal_links() {
    const BYTES: u64 = 64 << 10;
    for links in [1, 2, 4] {
        let links_set = format!("collectives.switch_links={links}");
        let sets = [
            "job.0.placement={list=[0,1,2,3]}",
            "collectives.switch_reduction=\"0ns\"",
            "collectives.switch_payload=\"64KiB\"",
            &links_set,
        ];
        let (plan, _dir) = plan(4, BYTES, &sets);
        let spec = &plan.experiment.fabric;
        let (nic, all) = (NicId::new(0), spec.topology.aggregation().unwrap());
        let node = all.facing(spec.topology.attachment(nic).switch, Neighbour::Nic(nic));
        let mut fabric = Unloaded::new(spec).unwrap();
        let mut lone = |from, to| {
            let message = Message::new(from, to, 0, BYTES, 0);
            fabric.times(&message).unwrap().delivered
        };
        let mtu = spec.qos.service_levels[0].mtu_bytes;
        let packets = BYTES / u64::from(mtu);
        assert!(packets > 10, "{packets} packets");
        let of_message = spec.least_ticks(packets * u64::from(spec.link_units(mtu)));
        let ticks = lone(nic, node) + lone(node, nic) + 2 * (4 / links - 1) * of_message;
        let (took, expected) = (time_ps(&plan), spec.units.tick.ps(ticks));
        assert!(
            took.abs_diff(expected) <= spec.units.tick.ps(8),
            "{took} ps with {links} links, not {expected}"
        );
    }
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
        let (plan, _dir) = plan(128, bytes, &[]);
        time_ps(&plan) as f64 / 1e6
    };
    let (short, long) = (time(8), time(4096));
    assert!((short - 2.371).abs() < 0.001, "{short} us for 8 B");
    let longer = long - short;
    assert!(
        (longer - 11.641).abs() < 0.001,
        "{longer} us more for 4 KiB"
    );
}

/// With reductions in no time, nothing is fitted. The switches are ahead: by their latency for a packet, and for a vector by as
/// many segments as may be on their way.
#[test]
fn switches_are_ahead_of_hosts() {
    let factor = |(bytes, operations): (u64, u32)| {
        let time = |sets: &[&str]| {
            let (plan, _dir) = plan(128, bytes, sets);
            time_ps(&plan) as f64
        };
        let hosts = time(&["collectives={allreduce=\"recursive-doubling\"}"]);
        let operations = format!("collectives.switch_operations={operations}");
        hosts / time(&["collectives.switch_reduction=\"0ns\"", &operations])
    };
    let [short, long, whole] = [(8, 4), (4096, 4), (4096, 16)].map(factor);
    assert!((short - 2.11).abs() < 0.01, "{short} times for 8 B");
    assert!((long - 1.26).abs() < 0.01, "{long} times for 4 KiB");
    assert!(
        (whole - 3.76).abs() < 0.01,
        "{whole} times for 4 KiB at once"
    );
}

/// Internal links are no cables, and what they carry reaches no NIC.
#[test]
fn switches_are_no_nics() {
    let result = |collectives: &str| {
        let collectives = format!("collectives={{{collectives}}}");
        let power = "power={link_watts=1,nic_watts=10,switch_watts=0}";
        let (plan, _dir) = plan(128, 4096, &[power, &collectives]);
        let result = run_plan(&plan, &Control::default(), 1).unwrap();
        result_json(&plan, &result)
    };
    let hosts = result("allreduce=\"recursive-doubling\"");
    let unused = result("allreduce=\"recursive-doubling\",barrier=\"in-network\"");
    for part in ["traffic", "service_levels", "energy"] {
        assert!(!hosts[part].is_null());
        assert_eq!(hosts[part], unused[part]);
    }
    let used = result("allreduce=\"in-network\"");
    let links = |of: &Value, kind: &str| of["energy"][kind]["links"].clone();
    for kind in ["host_links", "switch_links"] {
        assert_eq!(links(&used, kind), links(&hosts, kind));
    }
    // Each NIC sends a vector and receives one.
    assert_eq!(used["energy"]["delivered_bits"], 8.0 * 128.0 * 4096.0);
    assert_eq!(used["service_levels"][0]["bytes"], 128 * 4096);
    let traffic = &used["traffic"];
    assert_eq!(traffic["flits_injected"], traffic["flits_delivered"]);
    let flits = traffic["flits_injected"].as_u64().unwrap();
    assert_eq!(traffic["host_flit_hops"], 2 * flits);
}

#[test]
fn links_that_sleep_are_refused_by_their_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/in-network.toml");
    let power = "power={link_watts=1,policy=\"on-off\"}".to_owned();
    let refused = load(&file, &[power]).unwrap_err().to_string();
    assert!(
        refused.contains("managed links (`power.policy`)"),
        "{refused}"
    );
}
