//! Other simulators with the cases that they have in common with the group `fabric`, run beside it.
//!
//! A variable of the environment names each program; without it the simulator is left out, and the output says where to
//! get it. Packets have 16 flits, traffic is uniform, routing minimal. The rate is in flit-hops like ours: flits that
//! the nodes receive, times the links between switches that a packet crosses, as the simulator counts both.

use crate::measure::{Bench, Spread};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A fabric and a load.
struct Case {
    name: &'static str,
    fabric: Fabric,
    load: f64,
    cycles: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fabric {
    /// 8×8 switches with a node each.
    Torus,
    /// An 8-ary 3-tree of 512 nodes.
    Tree,
}

impl Fabric {
    fn nodes(self) -> u64 {
        match self {
            Self::Torus => 64,
            Self::Tree => 512,
        }
    }
}

const CASES: [Case; 3] = [
    Case {
        name: "8×8 torus, 0.4",
        fabric: Fabric::Torus,
        load: 0.4,
        cycles: 20_000,
    },
    Case {
        name: "8×8 torus, 0.1",
        fabric: Fabric::Torus,
        load: 0.1,
        cycles: 60_000,
    },
    Case {
        name: "512-node tree, 0.4",
        fabric: Fabric::Tree,
        load: 0.4,
        cycles: 3_000,
    },
];

/// A simulator.
struct Peer {
    name: &'static str,
    /// The variable that names its program.
    variable: &'static str,
    source: &'static str,
    /// Its input for a case.
    input: fn(&Case) -> String,
    /// Flit-hops of a run of a case, from what it printed.
    flit_hops: fn(&str, &Case) -> Option<f64>,
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "BookSim 2",
        variable: "BOOKSIM",
        source: "github.com/booksim/booksim2",
        input: booksim_input,
        flit_hops: booksim_flit_hops,
    },
    Peer {
        name: "CAMINOS",
        variable: "CAMINOS",
        source: "cargo install caminos",
        input: caminos_input,
        flit_hops: caminos_flit_hops,
    },
];

/// The first number behind `words`.
fn number(text: &str, words: &str) -> Option<f64> {
    let rest = text.split_once(words)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// Half of the cycles before the sample, as it wants a warm-up; the fabric empties afterwards.
fn booksim_input(case: &Case) -> String {
    let (load, half) = (case.load, case.cycles / 2);
    let fabric = match case.fabric {
        Fabric::Torus => "topology = torus; k = 8; n = 2; routing_function = dim_order;",
        Fabric::Tree => "topology = fattree; k = 8; n = 3; routing_function = nca;",
    };
    format!(
        "{fabric}
num_vcs = 8; vc_buf_size = 64; hold_switch_for_packet = 1; use_noc_latency = 0; routing_delay = 1;
traffic = uniform; packet_size = 16; injection_rate_uses_flits = 1; injection_rate = {load};
sim_type = throughput; warmup_periods = 1; sample_period = {half}; max_samples = 2; seed = 1;
"
    )
}

/// It counts the switches that a packet visits. Its nodes send to themselves as well.
fn booksim_flit_hops(printed: &str, case: &Case) -> Option<f64> {
    let overall = printed.split_once("Overall Traffic Statistics")?.1;
    let accepted = number(overall, "Accepted flit rate average =")?;
    let switches = number(overall, "Hops average =")?;
    let cycles = number(printed, "Time taken is")?;
    Some(accepted * case.fabric.nodes() as f64 * cycles * (switches - 1.0))
}

fn caminos_input(case: &Case) -> String {
    let (load, cycles, nodes) = (case.load, case.cycles, case.fabric.nodes());
    let (topology, routing) = match case.fabric {
        Fabric::Torus => (
            "Torus { sides: [8, 8], servers_per_router: 1 }",
            "DOR { order: [0, 1] }",
        ),
        Fabric::Tree => (
            "XGFT { height: 2, down: [8, 8], up: [8, 8], servers_per_leaf: 8 }",
            "UpDown",
        ),
    };
    let mut text = format!(
        "Configuration {{ random_seed: 1, warmup: 0, measured: {cycles}, topology: {topology}, routing: {routing},
traffic: HomogeneousTraffic {{ pattern: Uniform, servers: {nodes}, load: {load}, message_size: 16 }},
maximum_packet_size: 16,
router: Basic {{ virtual_channels: 8, virtual_channel_policies: [EnforceFlowControl, Random], delay: 0, buffer_size: 64,
  bubble: true, flit_size: 16, intransit_priority: false, allow_request_busy_port: true,
  output_prioritize_lowest_label: false, output_buffer_size: 32 }},
link_classes: ["
    );
    for _ in 0..5 {
        let _ = write!(text, "LinkClass {{ delay: 1 }}, ");
    }
    text.push_str("], launch_configurations: [] }\n");
    text
}

fn caminos_flit_hops(printed: &str, case: &Case) -> Option<f64> {
    let accepted = number(printed, "accepted_load:")?;
    let hops = number(printed, "average_packet_hops:")?;
    Some(accepted * (case.fabric.nodes() * case.cycles) as f64 * hops)
}

/// Runs `program` with `input`: its CPU time in seconds, and its output.
fn run_program(program: &str, input: &Path) -> Option<(f64, String)> {
    // `times` of a shell tells the CPU time of its children.
    let shell = Command::new("sh")
        .args(["-c", "\"$0\" \"$1\"; times", program])
        .arg(input)
        .output()
        .ok()?;
    let printed = String::from_utf8_lossy(&shell.stdout).into_owned();
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    let children = printed.lines().last()?.split_whitespace();
    let seconds = children.map(seconds).sum::<Option<f64>>()?;
    Some((seconds, printed))
}

/// The group `peers`.
pub fn run(bench: &mut Bench) {
    for peer in &PEERS {
        let Ok(program) = std::env::var(peer.variable) else {
            let Peer {
                name,
                variable,
                source,
                ..
            } = peer;
            println!("{name}: left out; {variable} names its program ({source})");
            continue;
        };
        for case in &CASES {
            if !bench.wants(case.name) {
                continue;
            }
            let input = std::env::temp_dir().join(format!("flitwise-peer-{}", std::process::id()));
            std::fs::write(&input, (peer.input)(case)).expect("space");
            let rate = || {
                let (seconds, printed) = run_program(&program, &input)?;
                Some((peer.flit_hops)(&printed, case)? / seconds / 1e6)
            };
            let rates: Option<Vec<f64>> = (0..bench.runs(3)).map(|_| rate()).collect();
            let _ = std::fs::remove_file(&input);
            let Some(rates) = rates.map(Spread::new) else {
                println!("{}, {}: no result from {program}", case.name, peer.name);
                continue;
            };
            println!("{:20} {:10} {rates:.2} M flit-hops/s", case.name, peer.name);
            bench.note_of(peer.name, case.name, "M flit-hops/s", &rates);
        }
    }
}
