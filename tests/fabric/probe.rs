//! What a probe sees, held against what the engine counts: every packet passes the steps in order,
//! the sums per link are the statistics of that link, and nothing changes by watching.

use crate::common::infiniband::voq_fabric;
use crate::common::random::{self, Kind, config, controlled_fabric};
use crate::common::random_infiniband;
use crate::common::random_traffic;
use crate::common::script::{Cue, Script, message};
use crate::common::specs::opasim;
use flitwise::fabric::engine::probe::{Obstacle, OutputId, PacketSeen, Probe};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicId, PortId};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::{FabricStats, LinkEnd};
use flitwise::fabric::topology::Topology;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The last step of a packet that is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Injected,
    Queued(OutputId),
    Granted(OutputId),
    /// On the link that is free again at the tick.
    Started(OutputId),
}

/// Sums per link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    flits: u64,
    packets: u64,
    waited: u64,
    credit_wait: u64,
    /// First tick in which the link is free.
    free: Tick,
}

/// Checks the steps of all packets, and adds up.
#[derive(Debug, Default)]
struct Ledger {
    steps: BTreeMap<u32, (Step, Tick)>,
    links: BTreeMap<OutputId, Sums>,
    injected: u64,
    delivered: u64,
    delivered_tokens: BTreeSet<u64>,
    marked: u64,
    /// Outputs at which something was blocked, and why.
    blocked: BTreeSet<(OutputId, Obstacle)>,
    /// What was out of order.
    faults: Vec<String>,
}

impl Ledger {
    /// Packet `seen` takes `step` in tick `at`; `may_follow` says which steps may come before.
    fn step(
        &mut self,
        seen: PacketSeen,
        at: Tick,
        step: Step,
        may_follow: impl FnOnce(Option<Step>) -> bool,
    ) {
        let before = self.steps.insert(seen.number, (step, at));
        let in_time = before.is_none_or(|(_, tick)| tick <= at);
        if !in_time || !may_follow(before.map(|(step, _)| step)) {
            self.faults
                .push(format!("{seen:?}: {step:?} in {at} after {before:?}"));
        }
    }
}

impl Probe for Ledger {
    fn injected(&mut self, now: Tick, packet: PacketSeen, _: NicId, token: Option<u64>) {
        if token.is_some() {
            self.injected += u64::from(packet.flits);
        }
        self.step(packet, now, Step::Injected, |before| before.is_none());
    }

    fn queued(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        let follows = |before| matches!(before, Some(Step::Started(_)));
        self.step(packet, now, Step::Queued(output), follows);
    }

    fn blocked(&mut self, _: Tick, output: OutputId, vls: u32, obstacle: Obstacle) {
        assert_ne!(vls, 0);
        self.blocked.insert((output, obstacle));
    }

    fn granted(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        let follows = |before| before == Some(Step::Queued(output));
        self.step(packet, now, Step::Granted(output), follows);
    }

    fn started(
        &mut self,
        start: Tick,
        end: Tick,
        packet: PacketSeen,
        output: OutputId,
        waited: Tick,
    ) {
        let follows = |before| match before {
            // A NIC sends it.
            Some(Step::Injected) => true,
            Some(Step::Granted(at)) => at == output,
            None | Some(_) => false,
        };
        self.step(packet, start, Step::Started(output), follows);
        let link = self.links.entry(output).or_default();
        // The last tick of a packet and the first of the next may be one: links know parts of ticks.
        if start + 1 < link.free || end <= start {
            self.faults.push(format!("{output:?} is busy in {start}"));
        }
        link.free = end;
        link.flits += u64::from(packet.flits);
        link.packets += 1;
        link.waited += waited;
    }

    fn credit_wait(&mut self, output: OutputId, from: Tick, until: Tick) {
        assert!(from < until);
        self.links.entry(output).or_default().credit_wait += until - from;
    }

    fn marked(&mut self, _: Tick, _: PacketSeen, _: OutputId) {
        self.marked += 1;
    }

    fn delivered(&mut self, now: Tick, packet: PacketSeen, token: Option<u64>) {
        if let Some(token) = token {
            self.delivered += u64::from(packet.flits);
            self.delivered_tokens.insert(token);
        }
        let before = self.steps.remove(&packet.number);
        if !matches!(before, Some((Step::Started(_), at)) if at <= now) {
            self.faults
                .push(format!("{packet:?} delivered after {before:?}"));
        }
    }
}

/// Runs `script` with and without a probe, and compares.
fn check(spec: &FabricSpec, script: &Script) -> Result<(), TestCaseError> {
    let mut unwatched = (script.clone(), Engine::new(spec).unwrap());
    let end = unwatched.1.run(&mut unwatched.0);
    let mut watched = (
        script.clone(),
        Engine::watched(spec, Ledger::default()).unwrap(),
    );
    prop_assert_eq!(&end, &watched.1.run(&mut watched.0));
    prop_assert_eq!(unwatched.0.told(), watched.0.told());
    let (stats, same) = (watched.1.stats(), unwatched.1.stats());
    prop_assert_eq!(&stats.links, &same.links);
    let seen = watched.1.probe();
    prop_assert_eq!(&seen.faults, &Vec::<String>::new());
    if matches!(end, RunEnd::Finished | RunEnd::Drained) {
        compare_sums(spec, &seen, &stats)?;
    }
    Ok(())
}

/// The sums of the probe are the statistics, as nothing is on its way any more but CNPs and ACKs.
fn compare_sums(
    spec: &FabricSpec,
    seen: &Ledger,
    stats: &FabricStats,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(seen.injected, stats.flits_injected);
    prop_assert_eq!(seen.delivered, stats.flits_delivered);
    prop_assert_eq!(seen.delivered_tokens.len() as u64, stats.messages_delivered);
    prop_assert_eq!(
        seen.marked,
        stats.congestion.map_or(0, |counts| counts.marked)
    );
    let links = |(&output, sums): (&OutputId, &Sums)| (output.end(&spec.topology), *sums);
    let links: Vec<_> = seen.links.iter().map(links).collect();
    for link in &stats.links {
        let sums = links.iter().find(|(from, _)| *from == link.from);
        let sums = sums.map_or(Sums::default(), |&(_, sums)| sums);
        // What links start, or wait for, later than the last tick is not counted yet.
        let open = stats.end_tick + 1;
        if sums.free <= open {
            prop_assert_eq!(sums.flits, link.flits, "{:?}", link.from);
            prop_assert_eq!(sums.packets, link.packets, "{:?}", link.from);
            prop_assert_eq!(sums.waited, link.queue_wait_ticks, "{:?}", link.from);
        }
        prop_assert!(
            sums.credit_wait <= link.credit_wait_ticks,
            "{:?}",
            link.from
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn hierarchical_fabrics_are_seen_as_they_are_counted(
        spec in random::fabric(Kind::Any), traffic in random_traffic::traffic(),
    ) {
        check(&spec, &random_traffic::script(&spec, &traffic))?;
    }

    #[test]
    fn so_are_they_with_congestion_control(
        spec in controlled_fabric(Kind::Any), traffic in random_traffic::traffic(),
    ) {
        check(&spec, &random_traffic::script(&spec, &traffic))?;
    }

    #[test]
    fn infiniband_fabrics_are_seen_as_they_are_counted(
        spec in random_infiniband::fabric(), traffic in random_infiniband::traffic(),
    ) {
        check(&spec, &random_infiniband::script(&spec, &traffic))?;
    }
}

/// Two NICs send to a third one, through one switch: the packets obstruct each other there and
/// nowhere else. A lone sender meets no obstacle but its own packets.
#[test]
fn obstacles_are_where_packets_meet() {
    let topology = Topology::single(4).unwrap();
    let fabrics = [opasim(topology.clone()), voq_fabric(topology)];
    for spec in fabrics {
        let obstacles = |senders: &[u32]| {
            let lines = senders.iter().map(|&src| {
                let token = src.into();
                (Cue::At(0), message(token, src, 3, 0, 100_000))
            });
            let mut engine = Engine::watched(&spec, Ledger::default()).unwrap();
            assert_eq!(engine.run(&mut Script::new(lines)), RunEnd::Drained);
            engine.probe().blocked.clone()
        };
        let alone = obstacles(&[0]);
        assert!(
            !alone.iter().any(|&(_, why)| why == Obstacle::Arbiter),
            "{alone:?}"
        );
        let meeting = obstacles(&[0, 1]);
        let at_switch = |output: &OutputId| match output.end(&spec.topology) {
            LinkEnd::Port { port, .. } => Some(port),
            LinkEnd::Nic(_) => None,
        };
        let ports: BTreeSet<_> = meeting.iter().filter_map(|(at, _)| at_switch(at)).collect();
        assert_eq!(ports, BTreeSet::from([PortId::new(3)]), "{meeting:?}");
        let between_packets = [Obstacle::Arbiter, Obstacle::Crossbar];
        assert!(
            meeting.iter().any(|(_, why)| between_packets.contains(why)),
            "{meeting:?}"
        );
    }
}
