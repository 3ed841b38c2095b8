//! Cables that differ from the others of their fabric.

use flitwise::fabric::ids::SwitchPort;
use flitwise::fabric::spec::Tick;
use flitwise::fabric::topology::{Peer, Topology};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Ticks of flight over cables that differ; in most fabrics none does.
pub fn flights() -> BoxedStrategy<Vec<Tick>> {
    prop_oneof![2 => Just(Vec::new()), 1 => vec(1u64..=30, 1..12)].boxed()
}

/// Gives every second connected port, one after the other, what `own` says of its link, until that ends.
pub fn differing<T: Copy>(topology: &Topology, own: &[T]) -> BTreeMap<SwitchPort, T> {
    let mut found = BTreeMap::new();
    let mut own = own.iter();
    for switch in topology.switch_ids() {
        for port in topology.port_ids().step_by(2) {
            let far = match topology.peer(switch, port) {
                Peer::None => continue,
                Peer::Nic(_) => None,
                Peer::Switch { switch, port } => Some(SwitchPort { switch, port }),
            };
            if far.is_some_and(|end| found.contains_key(&end)) {
                continue;
            }
            if let Some(&own) = own.next() {
                found.insert(SwitchPort { switch, port }, own);
            }
        }
    }
    found
}
