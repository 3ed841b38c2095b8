//! The static congestion of routes: networks, routing engines, patterns and figures.

mod analysis;
mod failures;
mod figures;
mod hosts;
mod jobs;
mod patterns;
mod routing;
mod survey;

use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::topology::Topology;
use flitwise::oblivious::Network;

/// A tree of switches with k ports down, and k up, in two levels.
fn tree(k: u32) -> Network {
    let tree = Topology::k_ary_n_tree(k, 2, None).unwrap();
    Network::of_fabric(&FabricSpec::opa_gen1(tree).unwrap()).unwrap()
}
