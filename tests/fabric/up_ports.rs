//! The choice of up-ports on trees by their queues: what it is for, and that analysis sees all
//! candidates. That engine and oracle agree on it is in `engine_vs_oracle*`.

use crate::common::ids::pair;
use crate::common::infiniband::voq_of;
use crate::common::random::config;
use crate::common::random_infiniband;
use crate::common::random_queueing::choose_up_ports;
use crate::common::script::{Cue, Script, accepted_load, message};
use flitwise::config::load_fabric;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::voq::InputQueues;
use flitwise::fabric::spec::{Channel, FabricSpec, Hop, LegAt, Paths, UpPorts};
use flitwise::fabric::topology::{Peer, Ports, Topology};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The fabric of a preset with these settings.
fn fabric(preset: &str, topology: &str, up_ports: &str) -> Result<FabricSpec, String> {
    let sets = [
        format!("fabric.preset={preset}"),
        format!("fabric.topology={{{topology}}}"),
        format!("fabric.up_ports={up_ports}"),
    ];
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string())?;
    loaded.fabric.validate().map_err(|e| e.to_string())?;
    Ok(loaded.fabric)
}

/// Three NICs of every leaf of a 4-ary 2-tree send to one of each other leaf. The destinations of a
/// leaf have the same last digit, so D-mod-k leads all three through one up-port.
fn collisions() -> Script {
    let pairs = (0..4).flat_map(|leaf| (0..3).map(move |nic| (leaf, nic)));
    let lines = (0..).zip(pairs).map(|(token, (leaf, nic))| {
        let dst = 4 * ((leaf + nic + 1) % 4) + leaf;
        (Cue::At(0), message(token, 4 * leaf + nic, dst, 0, 400_000))
    });
    Script::new(lines)
}

#[test]
fn the_choice_resolves_collisions_of_d_mod_k() {
    let tree = "kind=\"k-ary-n-tree\",k=4,n=2";
    let xgft = "kind=\"xgft\",down=[4,4],up=[1,4]";
    for (preset, topology) in [("opa-gen1", tree), ("ib-qdr", tree), ("ib-qdr", xgft)] {
        let [before, after] = ["destination", "least-queued"].map(|up_ports| {
            accepted_load(&fabric(preset, topology, up_ports).unwrap(), collisions())
        });
        println!("{preset}, {topology}: by destination {before:.3}, least queued {after:.3}");
        assert!((0.30..0.34).contains(&before), "{preset}: {before}");
        assert!(after > 0.75, "{preset}: {after}");
    }
}

#[test]
fn only_trees_have_up_ports() {
    let torus = "kind=\"torus\",dimensions=[4]";
    let error = fabric("opa-gen1", torus, "least-queued").unwrap_err();
    assert!(error.contains("fabric.up_ports"), "{error}");
    assert!(fabric("opa-gen1", torus, "destination").is_ok());
    let tree = "kind=\"k-ary-n-tree\",k=2,n=2";
    let error = fabric("opa-gen1", tree, "least").unwrap_err();
    assert!(error.contains("least-queued"), "{error}");
    let tables = [
        "fabric.preset=ib-qdr".to_owned(),
        format!("fabric.topology={{{tree}}}"),
        "fabric.up_ports=least-queued".to_owned(),
        "fabric.forwarding=[[0,1,2,3],[2,3,0,1],[0,0,1,1],[0,0,1,1]]".to_owned(),
    ];
    let spec = load_fabric(None, &tables).map(|loaded| loaded.fabric.validate());
    let refused = match &spec {
        Ok(valid) => valid.as_ref().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refused.contains("forwarding tables name"), "{refused}");
}

#[test]
fn a_2_ary_3_tree_spreads_over_all_up_ports() {
    let tree = "kind=\"k-ary-n-tree\",k=2,n=3";
    let spec = fabric("opa-gen1", tree, "least-queued").unwrap();
    // Leaf 0 goes up by ports 2 and 3; NIC 1 is below it, and switch 8 is at the top.
    let leaf = SwitchId::new(0);
    let [one, six, seven] = [1, 6, 7].map(NicId::new);
    let port = PortId::new;
    assert_eq!(spec.candidates(leaf, seven), Ports::range(port(2), 2));
    assert_eq!(spec.candidates(leaf, one), Ports::one(port(1)));
    assert_eq!(spec.candidates(SwitchId::new(8), seven).count(), 1);
    // Alone a packet goes as D-mod-k leads it: 7 is 111 in base 2.
    assert_eq!(spec.preferred(leaf, seven), Some(port(3)));
    assert_eq!(spec.preferred(leaf, six), Some(port(2)));
    let routes = RouteAnalysis::new(&spec, &spec).unwrap();
    assert_eq!(routes.share, 4);
    assert_eq!((routes.connected(), routes.pairs), (56, 56));
    assert_eq!(routes.pairs_by_hops, [8, 0, 16, 0, 32]);
    // Two NICs of a leaf send to 6 others, half of it by each up-port.
    let up = |switch: u32, port: u32| routes.link_pairs[(switch * 8 + port) as usize];
    assert_eq!((up(0, 2), up(0, 3)), (6 * 4, 6 * 4));
    // Of four NICs 4 destinations each go to the top, by two switches with two up-ports.
    assert_eq!((up(4, 2), up(4, 3)), (4 * 4, 4 * 4));
    let graph = ChannelGraph::new(&spec, &routes).unwrap();
    assert_eq!(graph.cycle(), None);
}

/// All that packets of all pairs may do, candidate by candidate.
#[derive(Default)]
struct AllRoutes {
    /// Pairs over each link by its switch and port, as a share of all.
    links: BTreeMap<SwitchPort, f64>,
    /// Dependencies between queues: switch, in-port and VL of both.
    edges: BTreeSet<[(SwitchId, PortId, u8); 2]>,
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct OnTheWay {
    switch: SwitchId,
    in_port: PortId,
    channel: Channel,
    class: u8,
    from_switch: bool,
    share: f64,
}

impl AllRoutes {
    fn of(spec: &FabricSpec) -> Self {
        let mut all = Self::default();
        let (nics, sls) = (spec.topology.nic_ids(), spec.qos.service_levels.len());
        let pairs = nics
            .clone()
            .flat_map(|src| nics.clone().map(move |dst| (src, dst)));
        for (src, dst) in pairs {
            for sl in (0..sls).filter(|_| src != dst) {
                let SwitchPort {
                    switch,
                    port: in_port,
                } = spec.topology.attachment(src);
                let channel = spec.channel_at_nic(src, dst, sl).unwrap();
                let packet = OnTheWay {
                    switch,
                    in_port,
                    channel,
                    class: 0,
                    from_switch: false,
                    share: 1.0 / sls as f64,
                };
                all.follow(spec, dst, sl, packet);
            }
        }
        all
    }

    fn follow(&mut self, spec: &FabricSpec, dst: NicId, sl: usize, at: OnTheWay) {
        let choices = spec.choices(at.switch, dst);
        let share = at.share / f64::from(choices.count());
        for out_port in choices.iter() {
            let hop = Hop {
                switch: at.switch,
                in_port: at.in_port,
                out_port,
            };
            let before = (at.channel, at.class);
            let (channel, class) = spec
                .channel_behind(hop, sl, dst, LegAt::default(), before)
                .unwrap();
            let Peer::Switch { switch, port } = spec.topology.peer(at.switch, out_port) else {
                continue;
            };
            let link = SwitchPort::new(at.switch, out_port);
            *self.links.entry(link).or_default() += share;
            if at.from_switch {
                let here = (at.switch, at.in_port, at.channel.vl);
                self.edges.insert([here, (switch, port, channel.vl)]);
            }
            let next = OnTheWay {
                switch,
                in_port: port,
                channel,
                class,
                from_switch: true,
                share,
            };
            self.follow(spec, dst, sl, next);
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// Loads and dependencies are those of all candidates, followed one by one.
    #[test]
    fn the_analysis_sees_all_candidates(mut spec in random_infiniband::tree_fabric()) {
        // Paths with two legs: see `tests/fabric/fabric_analysis.rs`.
        prop_assume!(spec.routing.paths == Paths::Minimal);
        choose_up_ports(&mut spec);
        // Queues of each destination have a graph of their own: see `infiniband_analysis`.
        let queues = &mut voq_of(&mut spec).input_queues;
        if *queues == InputQueues::PerFlow {
            *queues = InputQueues::Fifo;
        }
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        let all = AllRoutes::of(&spec);
        prop_assert_eq!(routes.connected(), routes.pairs);
        for (at, &pairs) in (0u32..).zip(&routes.link_pairs) {
            let radix = spec.topology.radix();
            let link = SwitchPort::of_index(at, radix);
            let expected = all.links.get(&link).copied().unwrap_or(0.0);
            let found = pairs as f64 / routes.share as f64;
            prop_assert!((found - expected).abs() < 1e-9, "{at}: {found}, not {expected}");
        }
        let graph = ChannelGraph::new(&spec, &routes).unwrap();
        prop_assert_eq!(graph.dependencies(), all.edges.len() as u64);
        prop_assert_eq!(graph.cycle(), None);
    }

    /// A packet alone goes the way that D-mod-k would lead it.
    #[test]
    fn a_lone_packet_goes_as_the_destination_says(
        mut spec in random_infiniband::tree_fabric(), pick in any::<[u32; 2]>(),
    ) {
        let nics = spec.topology.nics();
        prop_assume!(nics > 1);
        let src = pick[0] % nics;
        let dst = (src + 1 + pick[1] % (nics - 1)) % nics;
        let ways = [UpPorts::Destination, UpPorts::LeastQueued].map(|up_ports| {
            spec.routing.up_ports = up_ports;
            let path = path(&spec, &spec, pair(src, dst), 0, 1).unwrap();
            path.steps.iter().map(|step| step.port_out).collect::<Vec<_>>()
        });
        prop_assert_eq!(&ways[0], &ways[1]);
    }
}

/// Trees only: what the comparisons above are about.
#[test]
fn trees_have_up_ports() {
    let xgft = Topology::xgft(&[3, 2], &[1, 2], &[1, 2], None).unwrap();
    let family = xgft.family();
    let first = SwitchId::new(0);
    assert_eq!(family.up_ports(first), Ports::range(PortId::new(3), 4));
    assert_eq!(family.up_ports(SwitchId::new(2)), Ports::NONE);
    let torus = Topology::cube(&[4], true, 1, 2, None).unwrap();
    assert_eq!(torus.family().up_ports(first), Ports::NONE);
}
