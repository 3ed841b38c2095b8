//! What the analysis says of random fabrics: all routes one by one, every packet followed by itself,
//! and the engine as judge of deadlocks.

use crate::analysis::{self, Cuts, SlowGraph, mixed_fabric, overload};
use crate::common::lone_packet::lone_packet;
use crate::common::random::{Kind, config, fabric};
use crate::fabric_analysis::{cycle_of, mesh, port_to, routes_of};
use flitwise::fabric::analysis::Routes;
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::path::{path, path_via};
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::RunEnd;
use flitwise::fabric::ids::{NicId, SwitchId};
use flitwise::fabric::spec::{
    DetourRule, FabricSpec, Intermediate, Paths, TrunkSelection, UpPorts,
};
use flitwise::fabric::topology::{Ports, Shape};
use proptest::prelude::*;

/// Dimension order, but for packets between opposite corners of one square of a
/// mesh, which all go round it clockwise.
struct Planted<'a> {
    spec: &'a FabricSpec,
    /// Switches of the square, clockwise.
    square: [SwitchId; 4],
}

impl Routes for Planted<'_> {
    fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let home = self.spec.topology.attachment(dst).switch;
        let at = |s: SwitchId| self.square.iter().position(|&c| c == s);
        match (at(switch), at(home)) {
            (Some(from), Some(to)) if (from + 2) % 4 == to => {
                port_to(self.spec, switch, self.square[(from + 1) % 4])
            }
            _ => self.spec.candidates(switch, dst),
        }
    }
}

proptest! {
    #![proptest_config(config(115))]

    /// What `check` passes never deadlocks.
    #[test]
    fn a_fabric_without_a_cycle_never_deadlocks(spec in mixed_fabric()) {
        if cycle_of(&spec).is_none() {
            prop_assert_eq!(overload(&spec, 24), RunEnd::Drained);
        }
    }

    /// Fabrics built to be sound have no cycle.
    #[test]
    fn sound_fabrics_pass(spec in fabric(Kind::Sound)) {
        prop_assert_eq!(cycle_of(&spec), None);
    }

    /// All routes at once are the sum of the routes one by one.
    #[test]
    fn the_walk_agrees_with_single_routes(mut spec in fabric(Kind::Any)) {
        // Packets that choose have more than a single route: see `tests/fabric/up_ports.rs`.
        spec.routing.up_ports = UpPorts::Destination;
        let routes = routes_of(&spec);
        let topology = &spec.topology;
        let mut by_hops = vec![0; routes.pairs_by_hops.len()];
        let mut links = vec![0; routes.link_pairs.len()];
        // Of paths with two legs the hops of one leg count, and the links of both.
        let mut one_leg = spec.clone();
        one_leg.routing.paths = Paths::Minimal;
        let over_nics = spec.routing.paths.detours().is_some_and(|detours| {
            (detours.rule, detours.intermediate) == (DetourRule::Valiant, Intermediate::Nic)
        });
        // Elsewhere the loads are those of minimal paths.
        let (vias, loaded): (Vec<NicId>, _) = if over_nics {
            (topology.nic_ids().collect(), &spec)
        } else {
            (vec![NicId::new(0)], &one_leg)
        };
        for pair in analysis::all_pairs(&spec) {
            let route = path(&one_leg, &one_leg, pair, 0, 1).unwrap();
            by_hops[route.steps.len() - 1] += 1;
            for &via in &vias {
                let route = path_via(loaded, loaded, pair, via, 0, 1).unwrap();
                for step in &route.steps[..route.steps.len() - 1] {
                    let candidates = match spec.routing.trunk {
                        TrunkSelection::Destination => Ports::one(step.port_out),
                        _ => step.candidates,
                    };
                    let share = routes.share / vias.len() as u64 / u64::from(candidates.count());
                    for port in candidates.iter() {
                        links[topology.port_index(step.switch, port)] += share;
                    }
                }
            }
        }
        prop_assert_eq!(&routes.pairs_by_hops, &by_hops);
        prop_assert_eq!(&routes.link_pairs, &links);
        prop_assert_eq!(routes.connected(), routes.pairs);
        let distances = Distances::new(&spec).unwrap();
        if let Shape::Dragonfly(_) = topology.shape() {
            // Two global links may be a short cut, which minimal routing does not take.
            prop_assert!(routes.diameter() <= 3);
            prop_assert!(routes.total_hops() >= distances.total_hops());
        } else {
            // These routings take shortest paths.
            prop_assert_eq!(&routes.pairs_by_hops, &distances.pairs_by_hops);
        }
    }

    /// The latency of a route is what the engine measures.
    #[test]
    fn a_lone_packet_takes_as_long_as_its_route_says(
        spec in fabric(Kind::Any), pick in any::<[u32; 4]>(),
    ) {
        let found = lone_packet(&spec, pick);
        prop_assume!(found.is_some());
        let (route, end, packet) = found.unwrap();
        prop_assert_eq!(end, RunEnd::Drained);
        prop_assert_eq!(packet.flits, route.flits);
        prop_assert_eq!(packet.delivered - packet.injected, route.tail);
    }

    /// The dependency graph is the one that following every packet gives.
    #[test]
    fn the_graph_agrees_with_single_packets(mut spec in mixed_fabric()) {
        spec.routing.trunk = TrunkSelection::Destination;
        spec.routing.up_ports = UpPorts::Destination;
        let routes = routes_of(&spec);
        let graph = ChannelGraph::new(&spec, &routes).unwrap();
        let slow = SlowGraph::new(&spec);
        let cycle = graph.cycle();
        if spec.routing.paths != Paths::Minimal {
            // Where the only source behind a port is the only destination before another, the graph
            // has a turn from one to the other that no packet takes.
            prop_assert!(graph.dependencies() >= slow.edges.len() as u64);
            prop_assert!(graph.queues >= slow.queues.len() as u64);
            prop_assert!(cycle.is_some() || !slow.cyclic());
            return Ok(());
        }
        prop_assert_eq!(graph.dependencies(), slow.edges.len() as u64);
        prop_assert_eq!(graph.queues, slow.queues.len() as u64);
        prop_assert_eq!(cycle.is_some(), slow.cyclic());
        for (i, channel) in cycle.iter().flatten().enumerate() {
            let cycle = cycle.as_ref().unwrap();
            let next = &cycle[(i + 1) % cycle.len()];
            let edge = (analysis::key(channel), analysis::key(next));
            prop_assert!(slow.edges.contains(&edge), "{:?}", edge);
        }
    }

    /// Wherever four packets chase each other, the cycle is found.
    #[test]
    fn a_planted_cycle_is_found(
        (width, height) in (2u32..=6, 2u32..=6), (x, y) in (any::<u32>(), any::<u32>()),
    ) {
        let mut spec = mesh(&[width, height]);
        // One VL, which all destinations share.
        spec.qos.service_levels.truncate(1);
        spec.qos.service_levels[0].scs.truncate(1);
        prop_assert_eq!(cycle_of(&spec), None);
        let corner = x % (width - 1) + y % (height - 1) * width;
        let square = [corner, corner + 1, corner + 1 + width, corner + width].map(SwitchId::new);
        let routes = RouteAnalysis::new(&spec, &Planted { spec: &spec, square }).unwrap();
        prop_assert_eq!(routes.connected(), routes.pairs);
        let cycle = ChannelGraph::new(&spec, &routes).unwrap().cycle().unwrap();
        prop_assert!(cycle.iter().all(|channel| square.contains(&channel.switch)), "{:?}", cycle);
    }

    /// A bound on the bisection is never below the least cut.
    #[test]
    fn bounds_of_the_bisection_are_bounds(spec in fabric(Kind::Any)) {
        prop_assume!(spec.topology.switches() <= 12);
        let Some(bound) = Bisection::bound(&spec) else {
            let switch_of = |nic| spec.topology.attachment(nic).switch;
            let first = switch_of(NicId::new(0));
            let mut nics = spec.topology.nic_ids();
            prop_assert!(nics.all(|nic| switch_of(nic) == first));
            return Ok(());
        };
        prop_assert!(bound.links >= Cuts::least_with(&spec, bound.half));
    }
}
