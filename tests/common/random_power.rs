//! Random power states of links, with times and thresholds that small fabrics and short traffic reach.

use super::infiniband::voq_of;
use flitwise::fabric::spec::{DownState, FabricSpec, LinkPower, LowState, ManagedLinks};
use proptest::prelude::*;

/// Power states for any fabric.
pub fn link_power() -> BoxedStrategy<LinkPower> {
    let low = (2u32..=12, 0u64..3000, 0u64..1500).prop_flat_map(|(lanes, switch, nic)| {
        (1..lanes).prop_map(move |low_lanes| {
            DownState::Low(LowState {
                lanes,
                low_lanes,
                switch_threshold_bytes: switch,
                nic_threshold_bytes: nic,
            })
        })
    });
    let down = prop_oneof![Just(DownState::Off), low];
    let sleep = prop_oneof![Just(0u64), 1u64..60];
    let links = prop_oneof![
        3 => Just(ManagedLinks::All),
        1 => Just(ManagedLinks::Switches)
    ];
    (down, 1u64..300, sleep, 1u64..200, 0u32..4, links)
        .prop_map(
            |(down, wake, sleep, down_after, wake_ahead, links)| LinkPower {
                down,
                wake,
                sleep,
                down_after,
                wake_ahead: match down {
                    DownState::Off => wake_ahead,
                    DownState::Low(_) => 0,
                },
                links,
            },
        )
        .boxed()
}

/// Gives `spec`, of `voq` switches, the power states; without what it has no use for.
pub fn set_link_power(spec: &mut FabricSpec, mut power: LinkPower) {
    if power.low().is_some() {
        // Few enough different rates for the engine.
        voq_of(spec).links.exceptions.clear();
    }
    spec.link_power = Some(Box::new(power.clone()));
    if spec.validate().is_err() {
        // The destination alone does not decide its routes.
        power.wake_ahead = 0;
        spec.link_power = Some(Box::new(power));
    }
}
