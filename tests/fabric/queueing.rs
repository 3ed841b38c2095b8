//! Queueing schemes: which queues packets take, worked out by hand from `docs/model/queueing.md`; that every
//! shipped combination with a topology is free of deadlock; and which ones are refused. That engine and oracle agree is in the random
//! comparisons of `engine_vs_oracle*`.

use crate::common::ids::pair;
use flitwise::config::load_fabric;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::spec::FabricSpec;

const TREE: &str = "kind=\"k-ary-n-tree\",k=4,n=3";
const TORUS: &str = "kind=\"torus\",dimensions=[4,3,3]";
const FLY: &str = "kind=\"dragonfly\",p=2,a=4,h=2";

/// A fabric with one service level and these keys of `[qos]`.
fn fabric(topology: &str, qos: &[&str]) -> Result<FabricSpec, String> {
    let mut sets = vec![
        "fabric.preset=opa-gen1".to_owned(),
        format!("fabric.topology={{{topology}}}"),
        "qos.service_levels=[{name=\"a\",mtu=\"256B\"}]".to_owned(),
    ];
    sets.extend(qos.iter().map(|set| format!("qos.{set}")));
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string())?;
    loaded.fabric.validate().map_err(|e| e.to_string())?;
    Ok(loaded.fabric)
}

/// VLs from the NIC to the destination.
fn vls(spec: &FabricSpec, src: u32, dst: u32) -> Vec<u8> {
    let path = path(spec, spec, pair(src, dst), 0, 64).unwrap();
    let behind = path.steps.iter().map(|step| step.channel.1);
    std::iter::once(path.injection.1).chain(behind).collect()
}

fn has_cycle(spec: &FabricSpec) -> bool {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    ChannelGraph::new(spec, &routes).unwrap().cycle().is_some()
}

#[test]
fn path_constant_schemes_keep_their_queue() {
    // 64 NICs: NIC 37 is in band 2 of 4, NIC 5 in band 0.
    let of = |scheme: &str| fabric(TREE, &[&format!("vl_policy={scheme}")]).unwrap();
    assert_eq!(vls(&of("one-queue"), 5, 37), [0; 6]);
    assert_eq!(vls(&of("bbq"), 5, 37), [2; 6]);
    assert_eq!(vls(&of("flow2sl"), 20, 37), [3; 6]);
    assert_eq!(vls(&of("flow2sl"), 37, 20), [3; 6]);
    // 37 / 4 = 9, 9 mod 4 = 1; within a leaf switch 0.
    assert_eq!(vls(&of("vftree"), 5, 37), [1; 6]);
    assert_eq!(vls(&of("vftree"), 36, 37), [0; 2]);
    let spec = fabric(TREE, &["vl_policy=flow2sl", "queue_rule=difference"]).unwrap();
    assert_eq!(vls(&spec, 20, 37), [1; 6]);
    assert_eq!(vls(&spec, 37, 20), [3; 6]);
    let small = "kind=\"k-ary-n-tree\",k=2,n=3";
    let spec = fabric(small, &["vl_policy=voqnet"]).unwrap();
    assert_eq!((spec.qos.vls, vls(&spec, 0, 7)), (8, vec![7; 6]));
}

#[test]
fn virtual_output_queues_of_switches_follow_the_next_port() {
    // NIC 37 = 2 1 1 in base 4: up by ports 4 + 1, 4 + 1, down by 2, 1, 1.
    let spec = fabric(TREE, &["vl_policy=voqsw"]).unwrap();
    assert_eq!(spec.qos.vls, 8);
    assert_eq!(vls(&spec, 5, 37), [5, 5, 2, 1, 1, 1]);
    let spec = fabric(TREE, &["vl_policy=obqa"]).unwrap();
    assert_eq!(vls(&spec, 5, 37), [1, 1, 2, 1, 1, 1]);
}

#[test]
fn iodet_follows_the_dimension_of_the_next_hop() {
    // From (0, 0, 0) to (1, 2, 0): + in dimension 0, − over the edge in dimension 1.
    let spec = fabric(TORUS, &["vl_policy=iodet"]).unwrap();
    assert_eq!(spec.qos.vls, 8);
    // Class 0: VL 0 to 3, class 1: VL 4 to 7. Class 1 on the link that closes a ring; the last switch's
    // queue, for NICs, is number 3.
    assert_eq!(vls(&spec, 0, 9), [0, 1, 4 + 3, 3]);
    // The coordinates of the destination: 1 in dimension 0, 2 in dimension 1, 0 in the last one.
    let spec = fabric(TORUS, &["vl_policy=iodet", "queue_rule=coordinate"]).unwrap();
    assert_eq!(vls(&spec, 0, 9), [1, 2, 4, 0]);
}

#[test]
fn h2lq_escapes_behind_global_links() {
    // Palm tree: from group 0 to group 8 by the first global port of switch 0, to switch 35. NIC 2 is at switch 1,
    // NIC 66 at switch 33, position 1 of group 8: local, global, local.
    let spec = fabric(FLY, &["vl_policy=h2lq"]).unwrap();
    assert_eq!(spec.qos.vls, 8);
    // Group 8 mod 6, twice; stored in its own group: position 1; behind the global link 6 + 1 mod 2.
    assert_eq!(vls(&spec, 2, 66), [2, 2, 1, 7, 7]);
    let spec = fabric(FLY, &["vl_policy=h2lq", "queue_rule=plain"]).unwrap();
    assert_eq!(vls(&spec, 2, 66), [0, 0, 0, 6, 6]);
    // Within a group nothing escapes.
    assert_eq!(vls(&spec, 0, 7), [1, 1, 1]);
}

#[test]
fn sf2lq_has_a_network_for_each_hop() {
    // 50 switches with 4 NICs each, and 4 queues in each of the two networks.
    let spec = fabric("kind=\"slim-fly\",q=5", &["vl_policy=sf2lq"]).unwrap();
    assert_eq!(spec.qos.vls, 8);
    for dst in [0, 7, 41, 120, 199] {
        let queue = (dst / 4 % 4) as u8;
        for src in (0..200).filter(|&src| src != dst) {
            // The first hop is in the standard network, the second in the escape network, and so is what follows it: towards a
            // NIC the class stays.
            let found = vls(&spec, src, dst);
            match found.len() {
                2 => assert_eq!(found, [queue; 2]),
                3 => assert_eq!(found, [queue; 3]),
                4 => assert_eq!(found, [queue, queue, 4 + queue, 4 + queue]),
                hops => panic!("{hops} links on a fabric of diameter 2"),
            }
        }
    }
}

#[test]
fn every_scheme_is_free_of_deadlock_where_it_fits() {
    let any = ["one-queue", "dbbm", "bbq", "flow2sl", "voqsw", "obqa"];
    let mesh = "kind=\"mesh\",dimensions=[3,3]";
    let xgft = "kind=\"xgft\",down=[3,4],up=[1,2]";
    for (topology, own) in [
        (TREE, vec!["vftree"]),
        (xgft, vec!["vftree"]),
        (TORUS, vec!["iodet", "sf2lq"]),
        (mesh, vec!["iodet"]),
        (FLY, vec!["h2lq", "sf2lq"]),
    ] {
        for scheme in any.iter().chain(&own) {
            let spec = fabric(topology, &[&format!("vl_policy={scheme}")]).unwrap();
            assert!(!has_cycle(&spec), "{scheme} on {topology}");
        }
    }
    // The control: H2LQ's classes are needed. Without the escape network a dragonfly has a cycle.
    let tables = fabric(FLY, &["vl_policy=one-queue"]).unwrap();
    let mut flat = tables.clone();
    let one = flat.qos.service_levels[0].scs[0];
    let vl = flat.qos.sc2vl[usize::from(one)];
    flat.qos.vl_policy = flitwise::fabric::spec::VlPolicy::ServiceChannels;
    for &sc in &flat.qos.service_levels[0].scs {
        flat.qos.sc2vl[usize::from(sc)] = vl;
    }
    assert!(has_cycle(&flat) && !has_cycle(&tables));
}

#[test]
fn what_cannot_work_is_refused_with_a_cure() {
    for (topology, qos, said) in [
        (TORUS, vec!["vl_policy=vftree"], "needs a tree"),
        (TREE, vec!["vl_policy=iodet"], "with dimensions"),
        (TREE, vec!["vl_policy=h2lq"], "a dragonfly"),
        (TREE, vec!["vl_policy=sf2lq"], "two VL classes"),
        (
            TREE,
            vec!["vl_policy=voqnet"],
            "64 VLs for 1 service level with 1 VL class of 64 queues; there are at most 31: take vl_policy",
        ),
        (
            TREE,
            vec!["vl_policy=voqnet", "queues=8"],
            "a queue for each NIC",
        ),
        (TREE, vec!["vl_policy=bbq", "queues=0"], "qos.queues"),
        (
            TREE,
            vec!["vl_policy=one-queue", "queues=15"],
            "has one queue",
        ),
        (
            TREE,
            vec!["vl_policy=dbbm", "escape_queues=2"],
            "no escape queues",
        ),
        (
            TREE,
            vec!["vl_policy=bbq", "queues=40"],
            "at most 31: --set qos.queues=31 or less",
        ),
        (
            TREE,
            vec!["vl_policy=bbq", "escape_queues=2"],
            "no escape queues",
        ),
        (
            FLY,
            vec!["vl_policy=h2lq", "escape_queues=0"],
            "qos.escape_queues",
        ),
        (
            TREE,
            vec!["vl_policy=bbq", "queue_rule=sum"],
            "qos.queue_rule",
        ),
        (TREE, vec!["queue_rule=sum"], "name one"),
        (
            FLY,
            vec!["vl_policy=h2lq", "queues=40"],
            "at most 31: --set qos.queues=29 or less",
        ),
    ] {
        let error = fabric(topology, &qos).unwrap_err();
        assert!(error.contains(said), "{qos:?}: {error}");
    }
    let sets = ["fabric.paths=valiant", "qos.vl_policy=voqsw"];
    let sets = ["fabric.topology={kind=\"torus\",dimensions=[4,4]}"]
        .iter()
        .chain(&sets);
    let sets: Vec<_> = sets.map(|&set| set.to_owned()).collect();
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string());
    let error = loaded.and_then(|l| l.fabric.validate().map_err(|e| e.to_string()));
    assert!(error.unwrap_err().contains("path-constant"));
}
