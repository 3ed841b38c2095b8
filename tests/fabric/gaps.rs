//! Gaps that are skipped: the replay on the engine against the naive workload on the oracle.

use crate::common::infiniband::voq_fabric;
use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband;
use crate::common::specs::opasim;
use crate::gaps_naive::{Naive, Pair, Told, is_of_job};
use flitwise::fabric::engine::{Engine, Progress, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Switch, Tick};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::{AppQueue, Message, PacketReport, Workload};
use flitwise::replay::background::{
    BackgroundFlow, Injection, MessageSize, NicQueueing, Rate, Sender, Target, message_units,
};
use flitwise::replay::program::{Action, After, Event, Listed, Op, Place, Program, RankId};
use flitwise::replay::{IntraNode, JobSpec, NodeSpec, Replay, ReplaySpec};
use flitwise::units::Ratio;
use flitwise_oracles::{hierarchical, voq};
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::ControlFlow;

/// More ticks than any run here takes.
const TICKS: Tick = 8_000;

/// The pairs as a program. Message `hop` of pair `at` has the id 1000 `at` + `hop`.
fn program(pairs: &[Pair]) -> impl Program + use<> {
    let mut ranks = vec![Vec::new(); 2 * pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let id = |hop: usize| (1000 * at + hop) as u64;
        for hop in 0..=pair.hops.len() {
            let op = |compute_ps, action| Op {
                after: match hop {
                    0 => After::Previous,
                    _ => After::Event(Event::Received(id(hop - 1))),
                },
                compute_ps,
                action,
                label: None,
                place: Place::line(1),
            };
            let op = match pair.hops.get(hop) {
                Some(&(compute_ps, bytes)) => {
                    let to = RankId::new((2 * at + 1 - hop % 2) as u32);
                    let awaited = true;
                    op(
                        compute_ps,
                        Action::Send {
                            id: id(hop),
                            to,
                            bytes,
                            awaited,
                        },
                    )
                }
                None => op(pair.last_ps, Action::Marker),
            };
            ranks[2 * at + hop % 2].push(op);
        }
    }
    Listed::new(ranks.len(), move |rank, at| {
        ranks[rank.index()].get(at).cloned()
    })
}

fn replay(
    spec: &FabricSpec,
    pairs: &[Pair],
    sl: u8,
    flows: &[BackgroundFlow],
    gap_skip: Option<Tick>,
) -> Replay<'static> {
    let nics = pairs.iter().flat_map(|pair| pair.nics);
    let job = JobSpec {
        sl,
        intra_node: IntraNode {
            latency_ps: 0,
            bytes_per_s: Ratio::ONE,
        },
        ..JobSpec::new(
            "pairs",
            Box::new(program(pairs)),
            nics.map(NicId::new).collect(),
        )
    };
    Replay::new(ReplaySpec {
        tick: spec.units.tick,
        nics: spec.topology.nics(),
        node: NodeSpec::default(),
        switches: None,
        queueing: spec.queueing(),
        nic_queueing: NicQueueing::Fifo,
        seed: 1,
        jobs: vec![job],
        background: flows.to_vec(),
        background_until: None,
        gap_skip,
    })
    .unwrap()
}

/// Writes down what the fabric tells a replay.
struct Recorded(Replay<'static>, Told);

impl Workload for Recorded {
    fn next_tick(&mut self) -> Option<Tick> {
        self.0.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.0.act(now, out);
    }

    fn has_more(&self) -> bool {
        self.0.has_more()
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        self.0.replenish(now, queue)
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.1.messages.push((now, is_of_job(token)));
        self.0.delivered(now, token);
    }

    fn packet(&mut self, report: &PacketReport) {
        self.1.packet(report);
    }

    fn finished(&self) -> bool {
        self.0.finished()
    }
}

/// Traffic before it fits a fabric.
#[derive(Debug, Clone)]
struct Raw {
    /// Hops as (1/16 ticks of computation, bytes), and those behind the last one.
    pairs: Vec<(Vec<(u64, u64)>, u64)>,
    /// Service level, bytes, ticks per unit, destination, Bernoulli.
    flows: Vec<(u8, u64, u64, Option<u32>, bool)>,
    first_nic: u32,
    warm_up: Tick,
}

prop_compose! {
    fn raw()(
        pairs in vec((vec((0_u64..9_000, 0_u64..500), 0..5), 0_u64..6_000), 1..4),
        flows in vec((0_u8..8, 0_u64..600, 10_u64..80, any::<Option<u32>>(), any::<bool>()), 1..4),
        first_nic in any::<u32>(),
        warm_up in 1_u64..150,
    ) -> Raw {
        Raw { pairs, flows, first_nic, warm_up }
    }
}

/// Pairs, their service level and the flows, for a fabric of two NICs or more.
fn fitted(spec: &FabricSpec, raw: &Raw) -> (Vec<Pair>, u8, Vec<BackgroundFlow>) {
    let nics = spec.topology.nics();
    let levels = &spec.qos.service_levels;
    let tick_ps = spec.units.tick.ps(16);
    let pairs = raw.pairs.iter().enumerate().map(|(at, (hops, last))| {
        let ps = |sixteenths: u64| sixteenths * tick_ps / 256;
        let from = (raw.first_nic % nics + 2 * at as u32) % nics;
        Pair {
            nics: [from, (from + 1) % nics],
            hops: hops
                .iter()
                .map(|&(compute, bytes)| (ps(compute), bytes))
                .collect(),
            last_ps: ps(*last),
        }
    });
    let flow = |&(sl, bytes, ticks, to, bernoulli): &(u8, u64, u64, Option<u32>, bool)| {
        let sl = sl % levels.len() as u8;
        let units = message_units(spec, levels[usize::from(sl)].mtu_bytes, bytes).max(1);
        let target = |nic: NicId| match to.map(|to| NicId::new(to % nics)) {
            Some(to) if to != nic => Target::Nic(to),
            _ => Target::Uniform { planes: 1 },
        };
        BackgroundFlow {
            sl,
            sizes: vec![MessageSize {
                bytes,
                units,
                weight: 1,
            }],
            rate: Rate {
                units: u64::from(spec.link_units_per_flit()),
                ticks,
            },
            injection: if bernoulli && units * ticks > 1000 {
                Injection::Bernoulli
            } else {
                Injection::Cbr
            },
            start: ticks * 20,
            stop: if ticks % 3 == 0 {
                ticks * 200
            } else {
                Tick::MAX
            },
            senders: NicId::all(nics)
                .map(|nic| Sender {
                    nic,
                    target: target(nic),
                })
                .collect(),
        }
    };
    (pairs.collect(), 0, raw.flows.iter().map(flow).collect())
}

/// Compares both on `spec`. Returns what was skipped.
fn compare(spec: &FabricSpec, raw: &Raw) -> Result<[u64; 3], TestCaseError> {
    prop_assume!(spec.topology.nics() >= 2);
    let (pairs, sl, flows) = fitted(spec, raw);
    let replay = replay(spec, &pairs, sl, &flows, Some(raw.warm_up));
    let mut recorded = Recorded(replay, Told::default());
    let mut engine = Engine::new(spec).map_err(|e| TestCaseError::fail(e.to_string()))?;
    // Saturated flows may keep a pair waiting for longer than the oracle should run, or for ever.
    let mut control = |progress: &Progress, _: &_| {
        if progress.tick < TICKS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let end = engine.run_sampled(&mut recorded, &mut control, None);
    prop_assume!(end != RunEnd::Interrupted);
    prop_assert_eq!(end, RunEnd::Finished);
    let Recorded(replay, mut told) = recorded;
    let skipped = replay.gaps_skipped().unwrap();
    told.skipped = [skipped.gaps, skipped.ticks, skipped.messages];
    prop_assume!(replay.tick_of(engine.stats().end_tick) < TICKS);
    let mut naive = Naive::new(spec, &pairs, sl, &flows, raw.warm_up, TICKS);
    let (oracle_ended, end_tick) = match &spec.switch {
        Switch::Hierarchical(_) => {
            let run = hierarchical::run(spec, &mut naive, TICKS);
            (run.end == hierarchical::RunEnd::Finished, run.end_tick)
        }
        Switch::Voq(_) => {
            let run = voq::run(spec, &mut naive, TICKS);
            (run.end == voq::RunEnd::Finished, run.end_tick)
        }
    };
    let (last, of_naive) = (engine.stats().end_tick, naive.told.skipped);
    prop_assert!(
        oracle_ended,
        "the engine ended at {last}: {:?}, the oracle at {end_tick}: {of_naive:?}",
        told.skipped
    );
    prop_assert_eq!(engine.stats().end_tick, end_tick);
    prop_assert_eq!(replay.tick_of(end_tick), end_tick + skipped.ticks);
    prop_assert_eq!(told.sorted(), naive.told.sorted());
    Ok([skipped.gaps, skipped.ticks, skipped.messages])
}

/// Gaps there are: a page of numbers by hand.
#[test]
fn gaps_are_skipped_on_both_kinds_of_switch() {
    let raw = Raw {
        pairs: vec![
            (vec![(8_000, 300), (9_000, 0), (16_000, 500)], 12_000),
            (vec![(8_100, 64), (24_000, 200)], 3_000),
        ],
        flows: vec![(0, 256, 13, None, false), (0, 500, 14, Some(3), true)],
        first_nic: 1,
        warm_up: 60,
    };
    for spec in [
        opasim(Topology::single(8).unwrap()),
        voq_fabric(Topology::single(8).unwrap()),
    ] {
        let [gaps, ticks, messages] = compare(&spec, &raw).unwrap();
        assert!(
            gaps >= 3 && ticks > 1_000 && messages > 20,
            "{gaps} {ticks} {messages}"
        );
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn hierarchical_fabrics_agree(spec in random::fabric(Kind::Sound), raw in raw()) {
        compare(&spec, &raw)?;
    }

    #[test]
    fn infiniband_fabrics_agree(mut spec in random_infiniband::fabric(), raw in raw()) {
        spec.congestion_control = None;
        compare(&spec, &raw)?;
    }
}
