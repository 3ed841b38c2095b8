//! Links count the bytes of packets, and latencies belong to the device: what a stream gets, and
//! how long a packet takes, against calculations by hand.

use flitwise::config::{Experiment, resolve_text};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::stats::FabricStats;
use flitwise::run::workload;
use std::path::Path;

/// Headers of a data packet: LRH, BTH, ICRC, VCRC.
const HEADERS: f64 = 26.0;

fn experiment(text: &str) -> Experiment {
    resolve_text("test", text, Path::new(""), &[])
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
        .experiment
}

/// Counts `window_ns` after `warm_up_ns`.
fn counted(experiment: &Experiment, warm_up_ns: u64, window_ns: u64) -> FabricStats {
    let tick = experiment.fabric.units.tick;
    let ends = [warm_up_ns, warm_up_ns + window_ns].map(|ns| tick.ticks(1000 * ns));
    let mut traffic = workload(experiment, Some(ends[1])).unwrap();
    let mut engine = Engine::new(&experiment.fabric).unwrap();
    traffic.go_on_until(ends[0]);
    assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
    engine.restart_statistics();
    traffic.go_on_until(ends[1]);
    assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
    engine.stats()
}

/// Payload in Gb/s of a stream of messages of `payload` bytes from NIC 0 to NIC 1.
fn stream_gbps(fabric: &str, payload: u32) -> f64 {
    let text = format!(
        "fabric = {fabric}\nbackground = [{{ rate = 1, message = \"{payload}B\", pattern = {{ flows \
         = [{{ from = 0, to = 1 }}] }} }}]"
    );
    let experiment = experiment(&text);
    let stats = counted(&experiment, 20_000, 500_000);
    let sl = &stats.service_levels[0];
    let ns = experiment.fabric.units.tick.ns(stats.ticks().into());
    sl.messages as f64 * f64::from(payload) * 8.0 / ns
}

#[test]
fn a_stream_gets_its_part_of_the_bytes_of_a_link() {
    for (fabric, gbps) in [
        ("{ preset = \"ib-qdr\" }", 32.0),
        ("{ preset = \"ib-fdr\" }", 600.0 / 11.0),
        ("{ preset = \"ib-ndr\" }", 400.0),
        ("{ preset = \"ib-xdr\" }", 800.0),
        // Two switches.
        (
            "{ preset = \"ib-edr\", topology = { kind = \"mesh\", dimensions = [2] } }",
            100.0,
        ),
        // Links of two speeds: the slower one decides.
        (
            "{ preset = \"ib-qdr\", topology = { kind = \"mesh\", dimensions = [2] }, link_speed = \
             \"EDR\", host_link_speed = \"56Gb/s\" }",
            56.0,
        ),
        // A tick that does not divide the time of a flit.
        ("{ preset = \"ib-qdr\", tick = \"7ns\" }", 32.0),
        (
            "{ preset = \"ib-qdr\", crossbar_speedup = 2, tick = \"16ns\" }",
            32.0,
        ),
    ] {
        for payload in [64, 256, 2048] {
            let by_hand = gbps * f64::from(payload) / (f64::from(payload) + HEADERS);
            let part = stream_gbps(fabric, payload) / by_hand;
            assert!(
                (0.995..1.0005).contains(&part),
                "{fabric} {payload} B: {part:.4}"
            );
        }
    }
}

/// Mean network latency in ns of single packets between neighbours.
fn idle_latency_ns(text: &str) -> f64 {
    let experiment = experiment(text);
    let stats = counted(&experiment, 0, 2_000_000);
    let network = &stats.service_levels[0].network;
    assert!(network.count() > 50, "{}", network.count());
    experiment.fabric.units.tick.ns(1) * network.mean()
}

#[test]
fn the_latency_of_a_switch_does_not_follow_the_link_rate() {
    let neighbours = |rate: &str| {
        idle_latency_ns(&format!(
            "fabric = {{ preset = \"opasim\", link_rate = \"{rate}\" }}\nbackground = [{{ rate = \
             \"40kB/s\", message = \"8B\", pattern = {{ neighbour = 1 }} }}]"
        ))
    };
    let at_100 = neighbours("100Gb/s");
    for rate in ["200Gb/s", "400Gb/s", "56Gb/s", "333Gb/s"] {
        let there = neighbours(rate);
        assert!(
            (0.98..1.05).contains(&(there / at_100)),
            "{rate}: {there} {at_100}"
        );
    }
}

/// The page's table of presets has the ports, the rate and the latency of each switch.
#[test]
fn a_packet_takes_cables_switch_and_its_bytes() {
    let page = include_str!("../../docs/reference/experiment.md");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| `ib-") && line.contains(" Gb/s | "));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .filter(|row: &Vec<&str>| !row[0].contains(','))
        .collect();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let preset = row[0].trim_matches('`');
        let number = |cell: &str| cell.split(' ').next().unwrap().parse::<f64>().unwrap();
        let (ports, gbps, switch_ns) = (number(row[1]), number(row[2]), number(row[3]));
        let text = format!(
            "fabric = {{ preset = \"{preset}\" }}\nbackground = [{{ rate = \"2MB/s\", message = \
             \"2048B\", pattern = {{ neighbour = 1 }} }}]"
        );
        assert_eq!(
            f64::from(experiment(&text).fabric.topology.nics()),
            ports,
            "{preset}"
        );
        // 25 ns of cable twice, the switch, one flit into it and the packet out of it.
        let by_hand = 50.0 + switch_ns + (64.0 + 2074.0) * 8.0 / gbps;
        let there = idle_latency_ns(&text);
        // Every stage is rounded up to a tick, an eighth of the time of a flit.
        let tick_ns = 64.0 / gbps;
        let over = there - by_hand;
        assert!(
            (-tick_ns..8.0 * tick_ns).contains(&over),
            "{preset}: {there:.1}, {by_hand:.1}"
        );
    }
}

#[test]
fn speeds_that_take_no_whole_picoseconds_are_rates_like_others() {
    for (fabric, num, den) in [
        ("{ link_rate = \"56Gb/s\" }", 8000, 7),
        ("{ preset = \"ib-fdr\" }", 3520, 3),
        (
            "{ preset = \"ib-qdr\", link_speed = \"QDR\", host_link_speed = \"56Gb/s\" }",
            8000,
            7,
        ),
    ] {
        let text = format!("fabric = {fabric}\nbackground = [{{ rate = 0.1 }}]");
        let tick = experiment(&text).fabric.units.tick.length_ps();
        assert_eq!((tick.num(), tick.den()), (num, den), "{fabric}");
    }
}
