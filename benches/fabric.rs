//! Speed of the engine: budgets 1a, 1b, 1c, 1f and 3a to 3c of `docs/evidence/performance.md`.
//!
//! ```text
//! valgrind --tool=callgrind target/dist/examples/bench --runs 1 --scale 0.05 fabric "1a 0.4"
//! ```
//!
//! Every case is an experiment file as a user would write it: the product's presets,
//! its own background traffic, no job. A repetition builds the fabric and runs a fixed
//! number of ticks from empty buffers on; its CPU time covers both. Repetitions give
//! the same counters, which is checked.

use crate::measure::{Bench, Spread, peak_mb, reset_peak, timed};
use flitwise::config::{Experiment, resolve_text};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::Tick;
use flitwise::fabric::stats::{FabricStats, LinkEnd};
use flitwise::fabric::workload::Workload;
use flitwise::run::workload;
use std::fmt::Write as _;
use std::path::Path;

/// A benchmark: a fabric with background traffic for some ticks.
struct Case {
    name: &'static str,
    /// The `[fabric]` and `[qos]` tables.
    fabric: String,
    /// Flows by service level: flits per tick and NIC.
    flows: Vec<(&'static str, String)>,
    /// Time that is simulated: a cycle is the time of a flit on the fastest link.
    cycles: Tick,
}

/// Budget 1a: 16-flit packets on two VLs, one for each side of the dateline.
const TORUS: &str = r#"
fabric = { preset = "opasim", topology = { kind = "torus", dimensions = [8, 8] } }
qos = { preset = "single", scheduler = "rr-vl" }
"#;

/// Budget 1b: the five SLs of Hiperion with their packet sizes and DTable.
const FIVE_SL: &str = r#"
fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 8, n = 3 } }
qos = { preset = "opa-5sl", scheduler = "dtable" }
"#;

/// Budget 1c: 16-flit packets on eight VLs; `N` stands for the levels of the tree.
const TREE: &str = r#"
fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 8, n = N } }
qos = { preset = "single", scheduler = "rr-vl", mtu = "128B" }
"#;

/// Its sizes: 64, 512 and 4,096 NICs.
const LEVELS: [(&str, &str, Tick); 3] = [
    ("1c tree 64", "2", 320_000),
    ("1c tree 512", "3", 40_000),
    ("1c tree 4096", "4", 10_000),
];

/// Budget 3c: the case of 1a on InfiniBand switches, with crossbars as fast as the links.
const VOQ_TORUS: &str = r#"
fabric = { preset = "ib-qdr-648", topology = { kind = "torus", dimensions = [8, 8] }, header = "0B", crossbar_speedup = 1 }
qos = { mtu = "1024B" }
"#;

/// The case of 1a on input-queued switches.
const INPUT_QUEUED_TORUS: &str = r#"
fabric = { kind = "input-queued", topology = { kind = "torus", dimensions = [8, 8] }, header = "0B" }
"#;

/// Budget 3a: the 648-port Clos network with congestion control, a hundredth of its time: 1 GB.
const CLOS: &str = r#"
fabric = { preset = "ib-qdr-648" }
congestion_control = { kind = "ib" }
"#;

/// Budget 3b: 1,944 hosts on three levels of 36-port switches, for 20 us.
const BIG_TREE: &str = r#"
fabric = { preset = "ib-qdr-648", topology = { kind = "xgft", down = [18, 18, 6], up = [1, 18, 3], parallel = [1, 1, 6] } }
"#;

/// Budget 1f: 65,536 NICs, idle.
const IDLE: &str = r#"
fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 16, n = 4 }, central_buffer = "128KiB" }
qos = { preset = "opa-5sl", scheduler = "dtable" }
"#;

/// Injection per service level in percent (Hiperion Table 10).
const SHARES: [(&str, u32); 5] = [("VO", 10), ("VI", 30), ("CL", 50), ("BE", 5), ("BK", 5)];

fn cases() -> Vec<Case> {
    let uniform = |load: &str| vec![("default", load.to_owned())];
    let mut cases = vec![
        Case {
            name: "1a 0.4",
            fabric: TORUS.to_owned(),
            flows: uniform("0.4"),
            cycles: 400_000,
        },
        Case {
            name: "1a 0.1",
            fabric: TORUS.to_owned(),
            flows: uniform("0.1"),
            cycles: 1_600_000,
        },
        Case {
            name: "1b 0.7",
            fabric: FIVE_SL.to_owned(),
            flows: SHARES
                .map(|(sl, percent)| (sl, format!("{}/1000", 7 * percent)))
                .into(),
            cycles: 100_000,
        },
    ];
    cases.extend(
        [
            ("3a 1 %", CLOS, "0.4", 62_500),
            ("3b", BIG_TREE, "0.5", 1_250),
            ("3c 0.4", VOQ_TORUS, "0.4", 400_000),
            ("3c 0.1", VOQ_TORUS, "0.1", 1_600_000),
            ("iq 0.4", INPUT_QUEUED_TORUS, "0.4", 400_000),
        ]
        .map(|(name, fabric, load, cycles)| Case {
            name,
            fabric: fabric.to_owned(),
            flows: uniform(load),
            cycles,
        }),
    );
    cases.extend(LEVELS.map(|(name, levels, cycles)| Case {
        name,
        fabric: TREE.replace("n = N", &format!("n = {levels}")),
        flows: uniform("0.4"),
        cycles,
    }));
    cases
}

fn experiment(case: &Case) -> Experiment {
    let mut text = case.fabric.clone();
    for (sl, rate) in &case.flows {
        writeln!(text, "[[background]]\nsl = \"{sl}\"\nrate = \"{rate}\"").expect("a string");
    }
    let plan = resolve_text(case.name, &text, Path::new(""), &[]);
    plan.unwrap_or_else(|e| panic!("{}: {e}", case.name))
        .experiment
}

/// Time and memory to read the experiment and build its fabric.
fn build(bench: &mut Bench) {
    let case = Case {
        name: "1f idle 65536",
        fabric: IDLE.to_owned(),
        flows: vec![("CL", "1/1000".to_owned())],
        cycles: 0,
    };
    if !bench.wants(case.name) {
        return;
    }
    reset_peak();
    let build = || drop(Engine::new(&experiment(&case).fabric).expect("a fabric"));
    let seconds = Spread::new((0..bench.runs(5)).map(|_| timed(build).0));
    let peak = peak_mb();
    println!(
        "{:13} {seconds:.2} s to build, peak {peak:.0} MB",
        case.name
    );
    bench.note(case.name, "s", &seconds);
}

fn simulate(experiment: &Experiment, ticks: Tick) -> FabricStats {
    let mut traffic = workload(experiment, Some(ticks)).expect("a workload");
    let mut engine = Engine::new(&experiment.fabric).expect("a fabric");
    assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
    engine.stats()
}

/// CPU time of the traffic generator without a fabric.
fn generate(experiment: &Experiment, ticks: Tick) -> f64 {
    let mut traffic = workload(experiment, Some(ticks)).expect("a workload");
    let mut out = Vec::new();
    timed(|| {
        while let Some(tick) = traffic.next_tick() {
            traffic.act(tick, &mut out);
            for message in out.drain(..) {
                let queue = experiment.fabric.queueing().queue_of(&message);
                while traffic.replenish(tick, queue).is_some() {}
            }
        }
    })
    .0
}

/// Packets over links between switches.
fn packet_hops(stats: &FabricStats) -> u64 {
    let between = |end: LinkEnd| matches!(end, LinkEnd::Port { .. });
    let links = stats.links.iter();
    links
        .filter(|link| between(link.from) && between(link.to))
        .map(|link| link.packets)
        .sum()
}

/// The group `fabric`.
pub fn run(bench: &mut Bench) {
    build(bench);
    println!("flit-hops per CPU second in millions: minimum / median / maximum");
    for case in cases() {
        if !bench.wants(case.name) {
            continue;
        }
        let cycles = bench.scaled(case.cycles);
        let experiment = experiment(&case);
        let fastest = experiment.fabric.fastest_link();
        let ticks = cycles * fastest.den() / fastest.num();
        let alone = generate(&experiment, ticks);
        reset_peak();
        let runs: Vec<(f64, FabricStats)> = (0..bench.runs(5))
            .map(|_| timed(|| simulate(&experiment, ticks)))
            .collect();
        let peak = peak_mb();
        let stats = &runs[0].1;
        let same = |(_, s): &(f64, FabricStats)| {
            (s.flit_hops, s.events, s.packets) == (stats.flit_hops, stats.events, stats.packets)
        };
        assert!(runs.iter().all(same), "repetitions differ");
        let seconds = Spread::new(runs.iter().map(|run| run.0));
        let rates = Spread::new(runs.iter().map(|run| stats.flit_hops as f64 / run.0 / 1e6));
        let hops = packet_hops(stats) as f64;
        let nics = f64::from(experiment.fabric.topology.nics());
        let accepted = stats.flits_delivered as f64 / cycles as f64 / nics;
        println!(
            "{:13} {rates:.1}; {:.2} events per packet-hop, {:.1} ns per event, traffic alone {:.1} %, \
             peak {peak:.0} MB ({cycles} cycles, {:.1} M flit-hops, accepted load {accepted:.3}, {:.2} s)",
            case.name,
            stats.events as f64 / hops,
            seconds.median() * 1e9 / stats.events as f64,
            alone / seconds.median() * 100.0,
            stats.flit_hops as f64 / 1e6,
            seconds.median(),
        );
        bench.note(case.name, "M flit-hops/s", &rates);
    }
}
