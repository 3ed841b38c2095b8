//! The oracles connect ports as the topology does: two ways to the same cables.

use crate::common::random::config;
use crate::common::random_topology::topology;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::topology::{Arrangement, DragonflySize, Peer, Topology};
use flitwise_oracles::End;
use flitwise_oracles::wiring::Wiring;
use proptest::prelude::*;

/// What the wiring of the oracles says of a port.
fn peer(wiring: &Wiring, switch: SwitchId, port: PortId) -> Peer {
    match wiring.ports[switch.index()][port.index()] {
        None => Peer::None,
        Some(End::Nic(nic)) => Peer::Nic(NicId::new(nic as u32)),
        Some(End::Port { switch, port }) => Peer::Switch {
            switch: SwitchId::new(switch as u32),
            port: PortId::new(port as u32),
        },
    }
}

/// A port whose peer is another one.
type Difference = (SwitchId, PortId, Peer);

fn difference(topology: &Topology) -> Option<Difference> {
    let wiring = Wiring::new(topology);
    assert_eq!(wiring.ports.len(), topology.switches() as usize);
    assert_eq!(wiring.radix(), topology.radix() as usize);
    let homes = wiring.homes.iter().map(|&(switch, port)| {
        let (switch, port) = (SwitchId::new(switch as u32), PortId::new(port as u32));
        SwitchPort::new(switch, port)
    });
    assert!(homes.eq(topology.nic_ids().map(|nic| topology.attachment(nic))));
    let ports = |switch| topology.port_ids().map(move |port| (switch, port));
    let all = topology.switch_ids().flat_map(ports);
    all.map(|(switch, port)| (switch, port, peer(&wiring, switch, port)))
        .find(|&(switch, port, peer)| peer != topology.peer(switch, port))
}

#[test]
fn whole_fabrics_are_wired_alike() {
    let size = DragonflySize {
        p: 2,
        a: 4,
        h: 2,
        groups: None,
    };
    let fly = |by| Topology::dragonfly(size, by, None).unwrap();
    for topology in [
        Topology::cube(&[8, 8, 4], true, 4, 4, None).unwrap(),
        Topology::cube(&[5, 4], false, 3, 2, Some(50)).unwrap(),
        Topology::k_ary_n_tree(8, 3, None).unwrap(),
        Topology::k_ary_n_tree(3, 4, Some(70)).unwrap(),
        Topology::xgft(&[18, 36], &[1, 18], &[1, 1], None).unwrap(),
        Topology::xgft(&[4, 3, 2], &[1, 2, 1], &[1, 2, 3], None).unwrap(),
        fly(Arrangement::PalmTree),
        fly(Arrangement::Consecutive),
        fly(Arrangement::Relative),
    ] {
        assert_eq!(difference(&topology), None, "{:?}", topology.shape());
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn random_fabrics_are_wired_alike(topology in topology()) {
        prop_assert_eq!(difference(&topology), None);
    }
}
