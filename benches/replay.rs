//! Speed of the replay: budgets 1e and 1g of `docs/evidence/performance.md`.
//!
//! Every case is run in two ways: as the product does it, and once more with the
//! messages of that run read from a list, so that nothing but the fabric is left.
//! Both give the same counters of the fabric, which is checked. The difference of
//! their CPU times is what everything but the fabric costs: reading and checking the
//! trace, matching, collectives, the agenda, the background generator.

use crate::all_to_all::{self, Order};
use crate::measure::{Bench, Spread, peak_mb, reset_peak, timed};
use flitwise::config::{Experiment, Plan, resolve_text};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::Tick;
use flitwise::fabric::stats::FabricStats;
use flitwise::fabric::workload::{AppQueue, Message, Queueing, Workload};
use flitwise::replay::background::NicQueueing;
use flitwise::replay::program::{
    Action, After, AlltoallBlocks, Collective, CollectiveKind, Event, Op, Place, Program, RankId,
    StreamId,
};
use flitwise::replay::{IntraNode, JobSpec, NodeSpec, Replay, ReplaySpec};
use flitwise::run::{Control, Status, run_plan, workload};
use flitwise::units::Ratio;
use std::path::Path;
use std::sync::Arc;

/// Budget 1e: HPL among 64 ranks in CL on a full 8-ary 2-tree, with its baseline.
const HPL: &str = r#"
fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 8, n = 2 } }
qos = { preset = "opa-5sl", scheduler = "dtable" }
job = [{ trace = "hpl-64.vef.gz", sl = "CL", placement = "random" }]
"#;

/// The same with the background of the ready experiments.
const BACKGROUND: &str = "background = [{ sl = \"BK\", rate = 0.05, message = \"1024B\" }]\n";

/// Budget 1g: 8×8 torus of 12.5 GB/s links, 64 B flits, 1 KiB packets; the latencies
/// are those of `opa-gen1` in nanoseconds.
const TORUS: &str = r#"
baseline = { enabled = false }
job = [{ trace = "hpl-64.vef.gz" }]
[fabric]
preset = "opa-gen1"
topology = { kind = "torus", dimensions = [8, 8] }
flit = "64B"
link_latency = "5.12ns"
host_link_latency = "5.12ns"
input_latency = "32ns"
routing_latency = "20.48ns"
allocation_latency = "5.12ns"
crossbar_latency = "1.28ns"
output_latency = "32ns"
"#;

const RANKS: u32 = 64;
/// Side of the square of ranks.
const SIDE: u32 = 8;

fn plan(text: &str) -> Plan {
    let traces = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/traces"));
    resolve_text("benchmark", text, traces, &[]).expect("an experiment")
}

/// A replay whose messages are written down.
struct Recorder {
    replay: Replay<'static>,
    messages: Vec<(Tick, Message)>,
    end: Tick,
}

impl Workload for Recorder {
    fn next_tick(&mut self) -> Option<Tick> {
        self.replay.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.replay.act(now, out);
        self.messages.extend(out.iter().map(|&m| (now, m)));
        self.end = now;
    }

    fn has_more(&self) -> bool {
        self.replay.has_more()
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let message = self.replay.replenish(now, queue)?;
        self.messages.push((now, message));
        Some(message)
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.replay.delivered(now, token);
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.replay.injected(now, token);
    }

    fn finished(&self) -> bool {
        self.replay.finished()
    }
}

/// The same messages at the same ticks, whatever the fabric says.
struct Playback<'a> {
    messages: &'a [(Tick, Message)],
    end: Tick,
    over: bool,
}

impl Workload for Playback<'_> {
    fn next_tick(&mut self) -> Option<Tick> {
        Some(self.messages.first().map_or(self.end, |m| m.0))
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        let due = self.messages.iter().take_while(|m| m.0 <= now).count();
        out.extend(self.messages[..due].iter().map(|m| m.1));
        self.messages = &self.messages[due..];
        self.over = now >= self.end;
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        self.over
    }
}

fn simulate(experiment: &Experiment, workload: &mut impl Workload) -> FabricStats {
    let mut engine = Engine::new(&experiment.fabric).expect("a fabric");
    assert_eq!(engine.run(workload), RunEnd::Finished);
    engine.stats()
}

/// One simulation with everything, written down for its repetition without replay.
struct Recorded {
    experiment: Experiment,
    messages: Vec<(Tick, Message)>,
    end: Tick,
    stats: FabricStats,
    /// Messages of jobs.
    job_messages: u64,
    execution_ps: u64,
}

impl Recorded {
    fn new(experiment: Experiment, replay: Replay<'static>) -> Self {
        let mut recorder = Recorder {
            replay,
            messages: Vec::new(),
            end: 0,
        };
        let stats = simulate(&experiment, &mut recorder);
        let outcome = recorder.replay.outcomes().remove(0);
        assert!(outcome.complete);
        Self {
            experiment,
            messages: recorder.messages,
            end: recorder.end,
            stats,
            job_messages: outcome.messages,
            execution_ps: outcome.execution_ps,
        }
    }

    /// The fabric alone.
    fn play_back(&self) {
        let mut playback = Playback {
            messages: &self.messages,
            end: self.end,
            over: false,
        };
        let stats = simulate(&self.experiment, &mut playback);
        assert_eq!(counters(&stats), counters(&self.stats));
    }
}

fn counters(stats: &FabricStats) -> [u64; 4] {
    [
        stats.end_tick,
        stats.packets,
        stats.flit_hops,
        stats.flits_delivered,
    ]
}

/// Runs a case both ways, in turn, and prints a line.
fn report(bench: &mut Bench, name: &str, recorded: &[Recorded], mut whole: impl FnMut()) {
    reset_peak();
    whole();
    let peak = peak_mb();
    let times: Vec<(f64, f64)> = (0..bench.runs(5))
        .map(|_| {
            let (all, ()) = timed(&mut whole);
            let (fabric, ()) = timed(|| recorded.iter().for_each(Recorded::play_back));
            (all, fabric)
        })
        .collect();
    let all = Spread::new(times.iter().map(|t| t.0));
    let fabric = Spread::new(times.iter().map(|t| t.1));
    // Of the minima: what disturbs a run only adds.
    let rest = all.min() - fabric.min();
    let messages: u64 = recorded.iter().map(|r| r.job_messages).sum();
    let hops: u64 = recorded.iter().map(|r| r.stats.flit_hops).sum();
    println!(
        "{name:16} {all:.3} s; fabric {fabric:.3} s; the rest {:.1} %, {:.0} ns per message; \
         {messages} messages, {:.1} M flit-hops, peak {peak:.0} MB, simulated {:.3} ms",
        rest / all.min() * 100.0,
        rest * 1e9 / messages as f64,
        hops as f64 / 1e6,
        recorded[0].execution_ps as f64 * 1e-9,
    );
    bench.note(name, "CPU s", &all);
}

/// Programs in memory.
struct Script {
    ops: Vec<std::vec::IntoIter<Op>>,
}

impl Program for Script {
    fn ranks(&self) -> u32 {
        self.ops.len() as u32
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        Ok(self.ops[rank.index()].next())
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        anyhow::bail!("scripts run once")
    }
}

fn op(after: After, action: Action) -> Op {
    Op {
        after,
        compute_ps: 0,
        action,
        label: None,
        place: Place::line(1),
    }
}

/// All-to-alls of 4 KiB, each after the one before.
fn all_to_alls(rounds: u64) -> Vec<Vec<Op>> {
    let members: Arc<[RankId]> = RankId::all(RANKS).collect();
    let collectives: Vec<Arc<Collective>> = (0..rounds)
        .map(|id| {
            let blocks = vec![AlltoallBlocks::Each(4096); RANKS as usize];
            let kind = CollectiveKind::Alltoall { blocks };
            let members = Arc::clone(&members);
            Arc::new(Collective { id, members, kind })
        })
        .collect();
    let rank = |rank| {
        let enter = |collective: &Arc<Collective>| {
            let before = collective.id.checked_sub(1);
            let after = before.map_or(After::Previous, |id| After::Event(Event::Completed(id)));
            op(after, Action::Collective(Arc::clone(collective), rank))
        };
        collectives.iter().map(enter).collect()
    };
    (0..RANKS).map(rank).collect()
}

/// Exchanges of 8 KiB with the four neighbours on a closed 8×8 grid: four sends, then
/// the four receives.
fn halo_exchanges(rounds: u64) -> Vec<Vec<Op>> {
    // Sides 0 and 1, 2 and 3 lie opposite.
    let neighbour = |rank: u32, side: u64| {
        let (x, y) = (rank % SIDE, rank / SIDE);
        let (x, y) = match side {
            0 => ((x + 1) % SIDE, y),
            1 => ((x + SIDE - 1) % SIDE, y),
            2 => (x, (y + 1) % SIDE),
            _ => (x, (y + SIDE - 1) % SIDE),
        };
        y * SIDE + x
    };
    let id =
        |round: u64, rank: u32, side: u64| (round * u64::from(RANKS) + u64::from(rank)) * 4 + side;
    let rank = |rank: u32| {
        let mut ops = Vec::new();
        for round in 0..rounds {
            for side in 0..4 {
                let to = neighbour(rank, side);
                let (id, to, bytes) = (id(round, rank, side), RankId::new(to), 8192);
                ops.push(op(
                    After::Previous,
                    Action::Send {
                        id,
                        to,
                        bytes,
                        awaited: true,
                    },
                ));
            }
            for side in 0..4 {
                let from = neighbour(rank, side);
                let after = After::Event(Event::Received(id(round, from, side ^ 1)));
                ops.push(op(after, Action::Marker));
            }
        }
        ops
    };
    (0..RANKS).map(rank).collect()
}

/// A replay of `ops` with rank r on NIC r.
fn script_replay(experiment: &Experiment, ops: Vec<Vec<Op>>) -> Replay<'static> {
    let program = Script {
        ops: ops.into_iter().map(Vec::into_iter).collect(),
    };
    let job = JobSpec {
        intra_node: IntraNode {
            latency_ps: 500_000,
            bytes_per_s: Ratio::whole(10_000_000_000),
        },
        ..JobSpec::new("script", Box::new(program), NicId::all(RANKS).collect())
    };
    Replay::new(ReplaySpec {
        tick: experiment.fabric.units.tick,
        nics: experiment.fabric.topology.nics(),
        node: NodeSpec::default(),
        switches: None,
        queueing: Queueing::PerLevel,
        nic_queueing: NicQueueing::Fifo,
        seed: 1,
        jobs: vec![job],
        background: Vec::new(),
        background_until: None,
        gap_skip: None,
    })
    .expect("a replay")
}

fn hpl(bench: &mut Bench, name: &str, background: &str) {
    if bench.wants(name) {
        product(bench, name, &format!("{background}{HPL}"));
    }
}

/// A trace, which `write` writes to the path that it is given, on the torus.
fn recorded(bench: &mut Bench, name: &str, write: impl Fn(&Path)) {
    if !bench.wants(name) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let trace = dir.path().join("trace");
    write(&trace);
    let trace = trace.display().to_string();
    product(bench, name, &TORUS.replace("hpl-64.vef.gz", &trace));
}

/// The experiment `text`, as the product runs it.
fn product(bench: &mut Bench, name: &str, text: &str) {
    let of = plan(text);
    let baselines = of.baselines.into_iter().map(|b| b.experiment);
    let recorded: Vec<Recorded> = std::iter::once(of.experiment)
        .chain(baselines)
        .map(|e| {
            let replay = workload(&e, None).expect("a replay");
            Recorded::new(e, replay)
        })
        .collect();
    report(bench, name, &recorded, || {
        let control = Control::default();
        let result = run_plan(&plan(text), &control, 1).expect("a run");
        let baselines = result.baselines.iter();
        for (run, recorded) in std::iter::once(&result.main)
            .chain(baselines)
            .zip(&recorded)
        {
            assert_eq!(run.status, Status::Complete);
            assert_eq!(counters(&run.stats), counters(&recorded.stats));
        }
    });
}

fn script(bench: &mut Bench, name: &str, ops: impl Fn() -> Vec<Vec<Op>>) {
    if !bench.wants(name) {
        return;
    }
    let experiment = plan(TORUS).experiment;
    let replay = script_replay(&experiment, ops());
    let recorded = [Recorded::new(experiment.clone(), replay)];
    report(bench, name, &recorded, || {
        let mut replay = script_replay(&experiment, ops());
        let stats = simulate(&experiment, &mut replay);
        assert_eq!(counters(&stats), counters(&recorded[0].stats));
    });
}

/// The group `replay`.
pub fn run(bench: &mut Bench) {
    println!("CPU seconds: minimum / median / maximum");
    hpl(bench, "1e hpl", "");
    hpl(bench, "1e background", BACKGROUND);
    let rounds = bench.scaled(100);
    script(bench, "1g all-to-all", || all_to_alls(rounds));
    for (name, order) in [
        ("1g from GOAL", Order::Linear),
        ("1g from GOAL, pairwise", Order::Pairwise),
    ] {
        recorded(bench, name, |path| {
            all_to_all::write_goal(path, RANKS, rounds, order);
        });
    }
    recorded(bench, "1g from DUMPI", |dir| {
        std::fs::create_dir(dir).expect("a directory");
        all_to_all::write_dumpi(dir, RANKS, rounds);
    });
    let rounds = bench.scaled(1000);
    script(bench, "1g halo", || halo_exchanges(rounds));
}
