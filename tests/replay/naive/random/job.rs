//! The settings of a random job.

use super::super::case::Case;
use super::dice::Dice;
use flitwise::fabric::topology::Topology;
use flitwise::replay::collectives::Choices;
use flitwise::replay::collectives::decide::{
    Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, Rooted,
};
use flitwise::replay::mpi::Protocol;
use flitwise::replay::{IntraNode, NicChoice, NodeGraph, NodeSpec, SendCompletion};
use flitwise::units::{Bytes, Picoseconds, Ratio, TickLength};

/// A job of 1 to 6 ranks without operations, each of 1 to 3 streams.
pub fn settings(dice: &mut Dice<'_>) -> Case {
    let ranks = dice.of(&[1, 2, 3, 4, 2, 3, 4, 5, 6]);
    let streams: Vec<usize> = (0..ranks).map(|_| dice.of(&[1, 1, 2, 3])).collect();
    let nics = 1 + dice.below(ranks);
    let thirds = TickLength::new(ratio(1000, 3)).expect("longer than 1 ps");
    Case {
        tick: dice.of(&[TickLength::whole(1000), TickLength::whole(1), thirds]),
        start_ps: dice.of(&[0, 0, 777, 42_000]),
        repeat: dice.of(&[1, 1, 1, 2]),
        nics: (0..ranks).map(|rank| (rank % nics) as u32).collect(),
        send_completion: dice.of(&[
            SendCompletion::Handed,
            SendCompletion::Injected,
            SendCompletion::Rendezvous {
                eager_threshold_bytes: 99,
            },
        ]),
        protocol: Protocol {
            eager_threshold_bytes: dice.of(&[64_000, 500, 99, 0]),
            control_bytes: dice.of(&[0, 0, 8, 100]),
            send_overhead_ps: dice.of(&[0, 0, 0, 40_000]),
            receive_overhead_ps: dice.of(&[0, 0, 0, 300]),
        },
        compute_scale: dice.of(&[
            Ratio::ONE,
            Ratio::ONE,
            ratio(1, 3),
            ratio(5, 2),
            Ratio::ZERO,
        ]),
        region_scales: dice.of(&[
            vec![],
            vec![Some(ratio(1, 7)), None, Some(ratio(3, 2))],
            vec![None, Some(Ratio::ZERO)],
        ]),
        intra_node: IntraNode {
            latency_ps: dice.of(&[500, 0, 0, 3000]),
            bytes_per_s: dice.of(&[
                Ratio::whole(1_000_000_000_000),
                Ratio::whole(3_000_000_000),
                ratio(70_000_000_000_000, 3),
            ]),
        },
        reduction_ps_per_byte: dice.of(&[Ratio::ZERO, Ratio::whole(25), ratio(1, 3)]),
        collectives: choices(dice),
        node: node(dice),
        topology: None,
        ..Case::of(
            streams
                .iter()
                .map(|&streams| vec![Vec::new(); streams])
                .collect(),
        )
    }
}

/// In one of three cases the switches of a tree or a torus carry out collectives; every NIC is a node then.
pub fn in_network(case: &mut Case, dice: &mut Dice<'_>) {
    if !dice.one_in(3) {
        return;
    }
    let tree = Topology::k_ary_n_tree(4, 3, None);
    let torus = Topology::cube(&[4, 4], true, 4, 1, None);
    let topology = if dice.one_in(2) { tree } else { torus };
    let switch_links = dice.of(&[None, Some(1), Some(2), Some(3)]);
    let nodes = topology.and_then(|topology| topology.with_aggregation(switch_links));
    case.topology = Some(nodes.expect("a port is free"));
    case.node = NodeSpec::default();
    // Some ranks share a NIC, some a switch.
    let apart = dice.of(&[1, 3, 9]);
    for nic in &mut case.nics {
        *nic *= apart;
    }
    let bcast = dice.of(&[Some(Bcast::InNetwork), None]);
    case.collectives = Choices {
        bcast,
        reduce: Some(Reduce::InNetwork),
        allreduce: Some(Allreduce::InNetwork),
        barrier: Some(Barrier::InNetwork),
        switch_payload: dice.of(&[None, Some(Bytes(99)), Some(Bytes(2_000))]),
        switch_operations: dice.of(&[None, Some(1), Some(2)]),
        switch_links,
        switch_reduction: dice.of(&[None, Some(Picoseconds(70)), Some(Picoseconds(5_000))]),
        ..Choices::default()
    };
}

/// Every NIC is a node in two of five cases.
fn node(dice: &mut Dice<'_>) -> NodeSpec {
    let nics = dice.of(&[1, 1, 2, 4, 2]);
    let places_per_nic = dice.of(&[1, 1, 2]);
    let places = nics * places_per_nic;
    let all = NodeGraph::all_to_all(places);
    let tree = NodeGraph::pcie_tree(places);
    let links = dice.of(&[None, Some(all), Some(tree)]);
    let dgx_1 = (places == 8).then(NodeGraph::dgx_1);
    let (latency_ps, bytes_per_s) = dice.of(&[
        (700, Ratio::whole(2_000_000_000)),
        (0, ratio(1_000_000_000_000, 7)),
    ]);
    let graph = |links| NodeGraph::new(places, links, latency_ps, bytes_per_s);
    let links = dice.of(&[links.clone(), links.clone(), dgx_1.or(links)]);
    NodeSpec {
        nics,
        places_per_nic,
        planes: dice.of(&[1, nics.min(2), nics]),
        choice: dice.of(&[
            NicChoice::ByRank,
            NicChoice::Hash,
            NicChoice::Stripe { above_bytes: 99 },
        ]),
        graph: links.map(|links| graph(links).expect("a graph")),
    }
}

fn ratio(num: u64, den: u64) -> Ratio {
    Ratio::new(num, den).expect("a fraction")
}

fn choices(dice: &mut Dice<'_>) -> Choices {
    let default = Choices::default();
    let chain = Choices {
        bcast: Some(Bcast::Chain),
        chain_segment: Some(Bytes(40)),
        allreduce: Some(Allreduce::Ring),
        ..default
    };
    let pairwise = Choices {
        alltoall: Some(Alltoall::Pairwise),
        ..default
    };
    // An alltoallv is linear all the same, and so are gatherv and scatterv.
    let known_only = Choices {
        alltoall: Some(Alltoall::Bruck),
        gather: Some(Rooted::Binomial),
        scatter: Some(Rooted::Binomial),
        allgather: Some(Allgather::Ring),
        ..default
    };
    dice.of(&[default, default, pairwise, known_only, chain])
}
