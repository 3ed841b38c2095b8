//! Power states of links (`docs/model/link-power.md`): the engine against the oracle on random fabrics, and
//! times that were worked out by hand.

use crate::common::infiniband::{static_pool, voq_fabric, voq_of};
use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband::{fabric, script, traffic};
use crate::common::random_power::{link_power, set_link_power};
use crate::common::random_traffic;
use crate::common::script::{Cue, Script, message};
use crate::compare::compare_sampled;
use crate::engine_vs_oracle_ib::compare;
use flitwise::fabric::spec::{DownState, FabricSpec, LinkPower, LowState, ManagedLinks, Tick};
use flitwise::fabric::topology::Topology;
use flitwise_oracles::StateTicks;
use flitwise_oracles::voq::{End, IbRun};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn random_power_states_agree(
        spec in fabric(),
        power in link_power(),
        traffic in traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let mut spec = spec;
        set_link_power(&mut spec, power);
        compare(&spec, &script(&spec, &traffic), interval)?;
    }

    #[test]
    fn random_power_states_of_hierarchical_switches_agree(
        spec in prop_oneof![random::fabric(Kind::Sound), random::controlled_fabric(Kind::Any)],
        power in link_power(),
        traffic in random_traffic::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let power = LinkPower {
            down: DownState::Off,
            wake_ahead: 0,
            ..power
        };
        let spec = FabricSpec {
            link_power: Some(Box::new(power)),
            ..spec
        };
        compare_sampled(&spec, &random_traffic::script(&spec, &traffic), interval)?;
    }
}

/// Two switches, one NIC each; every link one flit per tick.
fn pair(down: DownState) -> FabricSpec {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 1, 1, None).unwrap());
    voq_of(&mut spec).buffers.input = static_pool(2, 64);
    spec.link_power = Some(Box::new(LinkPower {
        down,
        wake: 100,
        sleep: 0,
        down_after: 50,
        wake_ahead: 0,
        links: ManagedLinks::All,
    }));
    spec
}

/// Runs messages of one packet from NIC 0 to NIC 1, created in these ticks.
fn run(spec: &FabricSpec, ticks: &[Tick]) -> IbRun {
    let messages = (0..).zip(ticks);
    let lines = messages.map(|(i, &tick)| (Cue::At(tick), message(i, 0, 1, 0, 64)));
    compare(spec, &Script::new(lines), None).unwrap()
}

fn states(run: &IbRun, from: End) -> StateTicks {
    let link = run.links.iter().find(|link| link.from == from);
    link.and_then(|link| link.states).unwrap()
}

/// How long the packet that is created in tick 10,000 takes, all links down.
fn late_packet(spec: &FabricSpec) -> Tick {
    run(spec, &[10_000]).reports[0].delivered - 10_000
}

#[test]
fn every_link_on_the_way_wakes_in_turn() {
    let spec = pair(DownState::Off);
    let mut always_up = spec.clone();
    always_up.link_power = None;
    let up = late_packet(&always_up);
    // Three links, each a transition; a packet at a switch waits from joining on, and would have
    // started the grant and the crossing later.
    let stages = voq_of(&mut spec.clone()).stages;
    let inside = stages.allocation + stages.crossbar + stages.output_store;
    assert!(inside < 100);
    assert_eq!(late_packet(&spec), up + 100 + 2 * (100 - inside));
}

/// A packet without bytes, of an empty message where packets have no headers, has to be sent, too.
#[test]
fn a_packet_without_bytes_wakes_links() {
    let mut spec = pair(DownState::Off);
    spec.units.header_bytes = 0;
    let lines = [(Cue::At(1000), message(0, 0, 1, 0, 0))];
    let run = compare(&spec, &Script::new(lines), None).unwrap();
    assert_eq!(states(&run, End::Nic(0)).wakes, 1);
}

#[test]
fn announcements_wake_links_side_by_side() {
    let mut spec = pair(DownState::Off);
    let mut always_up = spec.clone();
    always_up.link_power = None;
    let up = late_packet(&always_up);
    spec.link_power.as_mut().unwrap().wake_ahead = 2;
    // The other links wake while the packet waits for the first.
    assert_eq!(late_packet(&spec), up + 100);
}

#[test]
fn a_link_goes_down_after_its_idle_ticks() {
    let spec = pair(DownState::Off);
    let run = run(&spec, &[10_000]);
    let nic = states(&run, End::Nic(0));
    // Up for 50 idle ticks, at first and behind the packet, which takes a tick for each flit.
    let flits = run
        .links
        .iter()
        .find(|link| link.from == End::Nic(0))
        .unwrap()
        .flits;
    assert_eq!((nic.up, nic.waking, nic.wakes), (50 + flits + 50, 100, 1));
    let other = states(&run, End::Nic(1));
    assert_eq!((other.up, other.wakes), (50, 0));
    for link in &run.links {
        let StateTicks {
            up,
            down,
            waking,
            sleeping,
            ..
        } = link.states.unwrap();
        assert_eq!(up + down + waking + sleeping, run.end_tick + 1);
    }
}

#[test]
fn a_link_in_use_stays_up() {
    let spec = pair(DownState::Off);
    let ticks: Vec<Tick> = (0..20).map(|i| i * 40).collect();
    let run = run(&spec, &ticks);
    assert_eq!(states(&run, End::Nic(0)).wakes, 0);
}

#[test]
fn small_messages_go_on_the_low_lanes_and_large_ones_have_the_link_go_up() {
    let low = |threshold| {
        DownState::Low(LowState {
            lanes: 4,
            low_lanes: 1,
            switch_threshold_bytes: threshold,
            nic_threshold_bytes: threshold,
        })
    };
    let patient = run(&pair(low(1 << 20)), &[10_000]);
    assert_eq!(states(&patient, End::Nic(0)).wakes, 0);
    let hasty = run(&pair(low(0)), &[10_000]);
    assert_eq!(states(&hasty, End::Nic(0)).wakes, 1);
    // Without a threshold links go up as with on-off.
    let off = run(&pair(DownState::Off), &[10_000]);
    assert_eq!(hasty.reports, off.reports);
    assert!(patient.reports[0].delivered < hasty.reports[0].delivered);
}
