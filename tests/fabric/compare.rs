//! Runs engine and oracle on the same script, and compares all that they tell.

use crate::common::script::Script;
use crate::in_blocks;
use flitwise::fabric::engine::{Deadlock, Engine, Place, Progress, RunEnd, Waiting};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::series::{
    FlowSample, PortVlSample, PowerSample, Sample, Sampling, SourceSample,
};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::{
    CctStats, CongestionStats, FabricStats, Latency, LinkEnd, LinkStateTicks, TurnStats,
};
use flitwise_oracles::hierarchical::{
    self as oracle, Blocked, CongestionCounts, End, FlowKey, LevelCounts, OracleRun,
};
use flitwise_oracles::{StateTicks, Turns};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// More ticks than any script here takes.
const TICKS: u64 = 2_000_000;

/// Runs both and compares all that they tell the workload, how they end, what
/// they counted, and who waits for whom. Returns what the engine said.
pub fn compare(spec: &FabricSpec, script: &Script) -> Result<RunEnd, TestCaseError> {
    compare_sampled(spec, script, None)
}

/// The same, with samples every `interval` ticks compared too.
pub fn compare_sampled(
    spec: &FabricSpec,
    script: &Script,
    interval: Option<Tick>,
) -> Result<RunEnd, TestCaseError> {
    let mut for_oracle = script.clone();
    let oracle = oracle::run_sampled(spec, &mut for_oracle, TICKS, interval);
    let engine = run_engine(spec, script, interval, (oracle.end, &for_oracle))?;
    let EngineRun {
        end,
        stats,
        samples,
    } = engine;
    if oracle.end == oracle::RunEnd::Stalled {
        // The model leaves open when a deadlock is noticed.
        prop_assert!(
            stats.end_tick <= oracle.end_tick,
            "the engine noticed at {}, the oracle at {}",
            stats.end_tick,
            oracle.end_tick
        );
    } else {
        prop_assert_eq!(stats.end_tick, oracle.end_tick, "end_tick");
    }
    let stalled = oracle.end == oracle::RunEnd::Stalled;
    prop_assert!(samples.len() == oracle.samples.len() || stalled);
    for (sample, expected) in samples.iter().zip(&oracle.samples) {
        prop_assert_eq!(sample, &expected_sample(expected));
    }
    let congestion = spec.congestion_control.as_ref();
    prop_assert_eq!(
        stats.congestion,
        congestion.map(|_| as_stats(oracle.congestion))
    );
    compare_counts(&stats, &oracle)?;
    // A head behind a link that stays down waits as well, but not in a cycle.
    let all_come_up = spec.outages.iter().all(|outage| outage.until.is_some());
    if let RunEnd::Deadlock(deadlock) = &end
        && all_come_up
    {
        check_deadlock(deadlock, &oracle.blocked)?;
    }
    Ok(end)
}

/// The results of the engine.
pub struct EngineRun {
    pub end: RunEnd,
    pub stats: FabricStats,
    pub samples: Vec<Sample>,
}

/// Runs the engine on a script, in one block and in several, and compares what it tells the workload and how it ends with the
/// `oracle`.
pub fn run_engine(
    spec: &FabricSpec,
    script: &Script,
    interval: Option<Tick>,
    oracle: (oracle::RunEnd, &Script),
) -> Result<EngineRun, TestCaseError> {
    let mut for_engine = script.clone();
    let mut engine = Engine::new(spec).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let mut samples = Vec::new();
    let take = &mut |sample: &Sample| samples.push(sample.clone());
    let sampling = interval.map(|interval| Sampling { interval, take });
    let go_on = &mut |_: &Progress, _: &_| ControlFlow::Continue(());
    let end = engine.run_sampled(&mut for_engine, go_on, sampling);
    let same_end = match end {
        RunEnd::Finished => oracle::RunEnd::Finished,
        RunEnd::Drained => oracle::RunEnd::Drained,
        RunEnd::Deadlock(_) | RunEnd::LinksDown(_) => oracle::RunEnd::Stalled,
        RunEnd::Interrupted | RunEnd::Exhausted => panic!("nobody asked for {end:?}"),
    };
    in_blocks::compare(
        spec,
        script,
        interval,
        &engine,
        (&end, &for_engine, &samples),
    )?;
    let (told_oracle, told_engine) = (oracle.1.told(), for_engine.told());
    let first = told_engine
        .packets
        .iter()
        .zip(&told_oracle.packets)
        .find(|(e, o)| e != o);
    prop_assert_eq!(
        first,
        None,
        "the first packet that differs: (engine, oracle)"
    );
    prop_assert_eq!(told_engine, told_oracle);
    prop_assert_eq!(same_end, oracle.0);
    Ok(EngineRun {
        end,
        stats: engine.stats(),
        samples,
    })
}

/// The counters of the oracle as the engine gives them.
pub fn as_stats(counts: CongestionCounts) -> CongestionStats {
    CongestionStats {
        marked: counts.marked,
        notifications_sent: counts.notifications_sent,
        notifications_received: counts.notifications_received,
        level_sum: counts.level_sum,
        packets: counts.packets,
        level_max: counts.level_max,
        cct: counts.cct.map(|cct| CctStats {
            threshold_events: cct.threshold_events,
        }),
    }
}

/// Everything of `docs/model/fabric.md` §9.
fn compare_counts(stats: &FabricStats, oracle: &OracleRun) -> Result<(), TestCaseError> {
    prop_assert_eq!(stats.messages, oracle.messages);
    prop_assert_eq!(stats.messages_delivered, oracle.messages_delivered);
    prop_assert_eq!(stats.packets, oracle.packets_injected);
    prop_assert_eq!(stats.flits_injected, oracle.flits_injected);
    prop_assert_eq!(stats.flits_delivered, oracle.flits_delivered);
    let in_flight = oracle.flits_injected - oracle.flits_delivered;
    prop_assert_eq!(stats.flits_in_flight, in_flight);
    prop_assert_eq!(stats.flit_hops, oracle.flit_hops);
    prop_assert_eq!(stats.host_flit_hops, oracle.host_flit_hops);

    prop_assert_eq!(stats.service_levels.len(), oracle.levels.len());
    for (sl, (level, expected)) in stats.service_levels.iter().zip(&oracle.levels).enumerate() {
        let LevelCounts {
            bytes,
            flits,
            end_to_end,
            network,
        } = expected;
        prop_assert_eq!(level.bytes, *bytes, "bytes of SL {}", sl);
        prop_assert_eq!(level.flits, *flits, "flits of SL {}", sl);
        prop_assert_eq!(level.messages, end_to_end.len() as u64);
        prop_assert_eq!(level.packets, network.len() as u64);
        compare_latency(&level.end_to_end, end_to_end)?;
        compare_latency(&level.network, network)?;
    }

    prop_assert_eq!(stats.links.len(), oracle.links.len());
    // NICs first, then switch ports.
    let mut links: Vec<_> = oracle.links.iter().collect();
    links.sort_by_key(|link| match link.from {
        End::Nic(nic) => (0, nic, 0),
        End::Port { switch, port } => (1, switch, port),
    });
    for (link, expected) in stats.links.iter().zip(links) {
        let from = link_end(expected.from);
        prop_assert_eq!(link.from, from);
        prop_assert_eq!(link.to, link_end(expected.to), "link from {:?}", from);
        prop_assert_eq!(link.flits, expected.flits, "flits from {:?}", from);
        prop_assert_eq!(link.packets, expected.packets, "packets from {:?}", from);
        let (queue, credit) = (expected.queue_wait, expected.credit_wait(stats.end_tick));
        prop_assert_eq!(link.queue_wait_ticks, queue, "queue wait of {:?}", from);
        prop_assert_eq!(link.credit_wait_ticks, credit, "credit wait of {:?}", from);
        let retries = link.retries.map(|_| expected.retries.unwrap_or(0));
        prop_assert_eq!(link.retries, retries, "retries from {:?}", from);
        // A deadlock is noticed at different times, up to which states go on.
        if stats.end_tick == oracle.end_tick {
            let states = expected.states.map(states_of);
            prop_assert_eq!(link.states, states, "power states of {:?}", from);
        }
    }
    prop_assert_eq!(turns_of(stats), oracle.turns.clone());
    Ok(())
}

/// A sample of the oracle as the engine gives it.
pub fn expected_sample(sample: &oracle::Sample) -> Sample {
    let flow = |(&(src, dst, sl), &bytes): (&(u32, u32, u8), &u64)| FlowSample {
        src: NicId::new(src),
        dst: NicId::new(dst),
        sl,
        bytes,
    };
    let port_vl =
        |(&(switch, port, vl), &(flits, marked)): (&(usize, usize, usize), &_)| PortVlSample {
            switch: SwitchId::new(switch as u32),
            port: PortId::new(port as u32),
            vl: vl as u8,
            flits,
            marked,
        };
    let source = |(&(nic, key), flow): (&(u32, FlowKey), &oracle::FlowSample)| {
        let (sl, dst) = match key {
            FlowKey::Qp { sl, dst } => (sl, Some(dst)),
            FlowKey::Sl { sl } => (sl, None),
        };
        SourceSample {
            nic: NicId::new(nic),
            sl,
            dst: dst.map(NicId::new),
            level: flow.ccti,
            delay: flow.delay,
        }
    };
    let flows = sample.payload.iter().map(flow);
    Sample {
        tick: sample.tick,
        flows: flows.filter(|flow| flow.bytes > 0).collect(),
        port_vls: sample.port_vls.iter().map(port_vl).collect(),
        sources: sample.flows.iter().map(source).collect(),
        power: sample.power.map(|[switch_links, nic_links]| PowerSample {
            switch_links: states_of(switch_links),
            nic_links: states_of(nic_links),
        }),
    }
}

/// Ticks in power states as the engine gives them.
pub fn states_of(ticks: StateTicks) -> LinkStateTicks {
    let StateTicks {
        up,
        down,
        waking,
        sleeping,
        wakes,
        low_bytes,
    } = ticks;
    LinkStateTicks {
        up,
        down,
        waking,
        sleeping,
        wakes,
        low_bytes,
    }
}

/// The turns as the oracles count them.
pub fn turns_of(stats: &FabricStats) -> Turns {
    let turn = |turn: &TurnStats| {
        let (switch, port) = (turn.input.switch, turn.input.port);
        let at = (switch.index(), port.index(), turn.out_port.index());
        (at, (turn.flits, turn.wait_ticks))
    };
    stats.turns.iter().map(turn).collect()
}

/// An end of a link as the engine names it.
pub fn link_end(end: End) -> LinkEnd {
    match end {
        End::Nic(nic) => LinkEnd::Nic(NicId::new(nic as u32)),
        End::Port { switch, port } => LinkEnd::Port {
            switch: SwitchId::new(switch as u32),
            port: PortId::new(port as u32),
        },
    }
}

fn compare_latency(counted: &Latency, expected: &[Tick]) -> Result<(), TestCaseError> {
    let sum: u128 = expected.iter().map(|&ticks| u128::from(ticks)).sum();
    let max = expected.iter().copied().max().unwrap_or(0);
    prop_assert_eq!(counted.count(), expected.len() as u64);
    prop_assert_eq!(counted.sum(), sum);
    prop_assert_eq!(counted.max(), max);
    for q in [0.0, 0.25, 0.5, 0.9, 0.99, 1.0] {
        let (counted, exact) = (counted.quantile(q), oracle::quantile(expected, q));
        // The histogram keeps three digits, and rounds quantile 0 down, others up.
        let close = counted <= max && counted.abs_diff(exact) <= exact / 1000;
        prop_assert!(close, "quantile {} is {}, not {}", q, counted, exact);
    }
    Ok(())
}

/// The engine found the heads that can never move, and each packet of its cycle
/// waits for credits that the next one holds, in the state that the oracle is in.
pub fn check_deadlock(deadlock: &Deadlock, blocked: &[Blocked]) -> Result<(), TestCaseError> {
    prop_assert_eq!(deadlock.blocked, blocked.len(), "blocked heads");
    prop_assert!(!deadlock.cycle.is_empty());
    let heads = |waiting: &Waiting| -> Vec<&Blocked> {
        let same = |head: &&Blocked| is_at(waiting, head);
        blocked.iter().filter(same).collect()
    };
    for (i, waiting) in deadlock.cycle.iter().enumerate() {
        let next = heads(&deadlock.cycle[(i + 1) % deadlock.cycle.len()]);
        let waits = heads(waiting)
            .iter()
            .any(|head| next.iter().any(|next| head.holders.contains(&next.at)));
        prop_assert!(
            waits,
            "{waiting:?} does not wait for the next of {deadlock:?}"
        );
    }
    Ok(())
}

fn is_at(waiting: &Waiting, head: &Blocked) -> bool {
    let port = waiting.port.index();
    let place = match waiting.place {
        Place::Input => oracle::Place::Input(port),
        // Port 4m + j stands for central buffer 2m + j.
        Place::Central => oracle::Place::Central(port / 4 * 2 + port % 4),
        Place::Output => oracle::Place::Output(port),
    };
    (head.at.switch, head.at.place) == (waiting.switch.index(), place)
        && (head.vl, head.dst, head.flits)
            == (waiting.vl as usize, waiting.dst.get(), waiting.flits)
}
