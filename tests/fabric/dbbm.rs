//! Destination-based buffer management: which VLs packets take, worked out by hand, and what it is
//! for. That engine and oracle agree on it is in the random comparisons of `engine_vs_oracle*`.

use crate::common::ids::pair;
use crate::common::script::{Cue, Script, message};
use flitwise::config::load_fabric;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::Engine;
use flitwise::fabric::spec::{FabricSpec, QueueingScheme, SchemeKind, VlPolicy};

const PRESETS: [&str; 2] = ["opa-gen1", "ib-qdr"];

fn dbbm(queues: u8) -> VlPolicy {
    VlPolicy::Queueing(QueueingScheme::new(SchemeKind::Dbbm, queues))
}

/// The fabric of a preset with these settings.
fn fabric(preset: &str, topology: &str, qos: &[&str]) -> Result<FabricSpec, String> {
    let mut sets = vec![
        format!("fabric.preset={preset}"),
        format!("fabric.topology={{{topology}}}"),
    ];
    sets.extend(qos.iter().map(|set| format!("qos.{set}")));
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string())?;
    loaded.fabric.validate().map_err(|e| e.to_string())?;
    Ok(loaded.fabric)
}

/// One service level with this many queues.
fn with_queues(preset: &str, topology: &str, queues: u8) -> FabricSpec {
    let levels = "service_levels=[{name=\"a\",mtu=\"1KiB\"}]";
    let queues = format!("queues={queues}");
    fabric(preset, topology, &[levels, "vl_policy=dbbm", &queues]).unwrap()
}

/// VLs from the NIC to the destination.
fn vls(spec: &FabricSpec, src: u32, dst: u32, sl: usize) -> Vec<u8> {
    let path = path(spec, spec, pair(src, dst), sl, 64).unwrap();
    let behind = path.steps.iter().map(|step| step.channel.1);
    std::iter::once(path.injection.1).chain(behind).collect()
}

fn cycle(spec: &FabricSpec) -> bool {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    ChannelGraph::new(spec, &routes).unwrap().cycle().is_some()
}

#[test]
fn the_queue_is_the_destination_modulo_queues() {
    for preset in PRESETS {
        let spec = with_queues(preset, "kind=\"k-ary-n-tree\",k=4,n=2", 3);
        assert_eq!(spec.qos.vl_policy, dbbm(3));
        assert_eq!(spec.qos.vls, 3);
        assert_eq!(vls(&spec, 0, 5, 0), [2, 2, 2, 2]);
        assert_eq!(vls(&spec, 9, 15, 0), [0, 0, 0, 0]);
        assert_eq!(vls(&spec, 9, 10, 0), [1, 1]);
        assert!(!cycle(&spec));
        // The second service level has the VLs behind those of the first.
        let levels = "service_levels=[{name=\"a\",mtu=\"1KiB\"},{name=\"b\",mtu=\"1KiB\"}]";
        let tree = "kind=\"k-ary-n-tree\",k=4,n=2";
        let spec = fabric(preset, tree, &[levels, "vl_policy=dbbm"]).unwrap();
        assert_eq!(spec.qos.vl_policy, dbbm(4));
        assert_eq!((vls(&spec, 0, 6, 0)[0], vls(&spec, 0, 6, 1)[0]), (2, 6));
    }
}

#[test]
fn every_vl_class_has_queues_of_its_own() {
    for preset in PRESETS {
        let spec = with_queues(preset, "kind=\"torus\",dimensions=[4]", 3);
        assert_eq!(spec.qos.vls, 6);
        // The link from switch 3 to switch 0 closes the ring: class 1. To a NIC it is class 0.
        assert_eq!(vls(&spec, 3, 0, 0), [0, 3, 0]);
        assert_eq!(vls(&spec, 3, 1, 0), [1, 4, 4, 1]);
        assert_eq!(vls(&spec, 1, 2, 0), [2, 2, 2]);
        assert_eq!(vls(&spec, 2, 0, 0), [0, 0, 3, 0]);
        assert!(!cycle(&spec));
        let spec = with_queues(preset, "kind=\"dragonfly\",p=2,a=4,h=2", 7);
        assert!(!cycle(&spec));
        // A group has 8 NICs; the last one of another group is three hops away at most.
        let ways: Vec<_> = (0..8).map(|src| vls(&spec, src, 71, 0)).collect();
        // 71 mod 7 = 1; behind the global link the class is 1.
        for way in &ways {
            let (first, last) = (way[0], way[way.len() - 1]);
            assert_eq!((first, last), (1, 8), "{way:?}");
        }
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let tree = "kind=\"k-ary-n-tree\",k=4,n=2";
    let ring = "kind=\"torus\",dimensions=[4]";
    let levels = "service_levels=[{name=\"a\",scs=[0,1]}]";
    for (topology, qos, expected) in [
        (tree, vec!["queues=3"], "qos.queues"),
        (tree, vec!["vl_policy=dbbm", "queues=0"], "qos.queues"),
        (tree, vec!["vl_policy=dbbm", "queues=40"], "at most 31"),
        (ring, vec!["vl_policy=dbbm", "queues=9"], "at most 8"),
        (tree, vec!["vl_policy=dbbm", "sc2vl=[0]"], "qos.sc2vl"),
        (tree, vec!["vl_policy=dbbm", levels], "service_levels.0.scs"),
        (tree, vec!["vl_policy=dbm"], "dbbm"),
    ] {
        let qos: Vec<&str> = [vec!["preset=single"], qos].concat();
        let with_levels = qos.contains(&levels);
        let qos = if with_levels { &qos[1..] } else { &qos[..] };
        let error = fabric("opa-gen1", topology, qos).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let both = [
        "fabric.preset=ib-qdr",
        "fabric.sl2vl=[0]",
        "qos.vl_policy=dbbm",
    ];
    let error = load_fabric(None, &both.map(String::from)).unwrap_err();
    assert!(error.to_string().contains("qos.vl_policy"), "{error}");
    let many = ["preset=ib", "vl_policy=dbbm", "queues=16"];
    let error = fabric("ib-qdr", tree, &many).unwrap_err();
    assert!(error.contains("at most 15"), "{error}");
}

/// Two switches with four NICs each.
const PAIR: &str = "kind=\"mesh\",dimensions=[2],concentration=4";

/// NICs 0 to 2 behind one switch, and 5 to 7 behind the other, keep NIC 4 busy. NIC 3 sends to NIC
/// 5, whose link is free, over the link that packets for NIC 4 need too, for long after buffers are full.
fn hotspot() -> Script {
    let hot =
        [0, 1, 2, 5, 6, 7].map(|nic| (Cue::At(0), message(nic.into(), nic, 4, 0, 10_000_000)));
    let victim = (Cue::At(0), message(VICTIM, 3, 5, 0, 1_000_000));
    Script::new(hot.into_iter().chain([victim])).stop_after(1)
}

const VICTIM: u64 = 100;

/// Load that is accepted of the victim, in flits per cycle.
fn victims_load(spec: &FabricSpec) -> f64 {
    let mut script = hotspot();
    Engine::new(spec).unwrap().run(&mut script);
    let (end, token) = script.delivered[0];
    assert_eq!(token, VICTIM, "the message of the victim is the shortest");
    let own = script
        .packets
        .iter()
        .filter(|packet| packet.token == VICTIM);
    let flits: u32 = own.map(|packet| packet.flits).sum();
    let fastest = spec.fastest_link();
    f64::from(flits) * fastest.den() as f64 / fastest.num() as f64 / end as f64
}

#[test]
fn a_hotspot_holds_up_its_own_queue_only() {
    for preset in PRESETS {
        let load = |queues| victims_load(&with_queues(preset, PAIR, queues));
        let (one, four) = (load(1), load(4));
        // Behind the hotspot a link carries a quarter of what it could, and the victim has a
        // quarter of what passes beside it. With a queue of its own it may have all the rest.
        assert!(one < 0.2, "{preset}: {one}");
        assert!(four > 0.5, "{preset}: {four}");
        println!("{preset}: 1 queue {one:.3}, 4 queues {four:.3}");
    }
}

/// The control: one queue is no DBBM.
#[test]
fn one_queue_is_the_same_as_one_service_channel() {
    for preset in PRESETS {
        let plain = "service_levels=[{name=\"a\",mtu=\"1KiB\",scs=[0]}]";
        let plain = fabric(preset, PAIR, &[plain]).unwrap();
        let dbbm = with_queues(preset, PAIR, 1);
        let told = [plain, dbbm].map(|spec| {
            let mut script = hotspot();
            Engine::new(&spec).unwrap().run(&mut script);
            script.told()
        });
        assert_eq!(told[0], told[1]);
    }
}
