//! `result.json` and the summary, from hand-made counters.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::stats::{
    Carried, CctStats, CongestionStats, FabricStats, Latency, LinkEnd, LinkStats, SlStats,
};
use flitwise::replay::PairCounts;
use flitwise::replay::background::BackgroundOutcome;
use flitwise::replay::outcome::JobOutcome;
use flitwise::results::{SCHEMA, execution_time_ps, latency, summary, write_distributions};
use flitwise::run::{Control, RunResult, Simulation, Status, run_plan};
use flitwise::units::TickLength;
use std::path::Path;
use std::time::Duration;

fn plan() -> Plan {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
    let text =
        "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n[[job]]\ntrace = \"tiny.vef\"\n";
    resolve_text("test.toml", text, &dir, &[]).unwrap()
}

/// A result of the plan, whose counters the tests replace.
fn simulated() -> RunResult {
    run_plan(&plan(), &Control::default(), 1).unwrap()
}

fn level(latency: &Latency) -> SlStats {
    SlStats {
        messages: 2,
        packets: 2,
        flits: 256,
        units: 256,
        bytes: 2048,
        to_switches: Carried::default(),
        end_to_end: latency.clone(),
        network: latency.clone(),
    }
}

fn job(execution_ps: u64, latency: Latency) -> JobOutcome {
    JobOutcome {
        name: "tiny".into(),
        ranks: 2,
        nics: vec![NicId::new(0), NicId::new(1)],
        complete: true,
        endless: false,
        start_ps: Some(0),
        repetitions_ps: vec![execution_ps],
        end_ps: execution_ps,
        execution_ps,
        compute_ps: execution_ps / 4,
        network_ps: execution_ps - execution_ps / 4,
        point_to_point: 2,
        point_to_point_bytes: 2048,
        collectives: 0,
        messages: 2,
        bytes: 2048,
        intra_node_messages: 0,
        latency,
        pairs: PairCounts::new(2),
        waits: PairCounts::new(2),
    }
}

fn simulation(execution_ps: u64, status: Status, wall_ms: u64) -> Simulation {
    let mut latency = Latency::default();
    latency.record(500);
    latency.record(1500);
    let sl = level(&latency);
    let link = LinkStats {
        from: LinkEnd::Nic(NicId::new(0)),
        to: LinkEnd::Port {
            switch: SwitchId::new(0),
            port: PortId::new(0),
        },
        flits: 256,
        units: 256,
        packets: 2,
        credit_wait_ticks: 10,
        queue_wait_ticks: 40,
        waited_ticks: 50,
        held_up_ticks: 50,
        states: None,
        longer_ticks: 0,
        down_wait_ticks: 0,
        retries: None,
    };
    let mut run = simulated().main;
    run.status = status;
    run.stats = FabricStats {
        start_tick: 0,
        end_tick: 1999,
        messages: 2,
        messages_delivered: 2,
        packets: 2,
        flits_injected: 256,
        flits_delivered: 256,
        flits_in_flight: 0,
        from_switches: Carried::default(),
        flit_hops: 0,
        host_flit_hops: 512,
        events: 99,
        service_levels: vec![sl],
        links: vec![
            LinkStats {
                credit_wait_ticks: 0,
                waited_ticks: 0,
                held_up_ticks: 0,
                ..link
            },
            link,
        ],
        turns: Vec::new(),
        congestion: None,
    };
    run.jobs = vec![Some(job(execution_ps, latency))];
    run.background = vec![BackgroundOutcome {
        sl: 0,
        messages: 100,
        units: 12_800,
        messages_delivered: 98,
        units_delivered: 98 * 128,
    }];
    run.messages = 2;
    run.wall = Duration::from_millis(wall_ms);
    run
}

fn result(wall_ms: u64) -> RunResult {
    let mut result = simulated();
    result.main = simulation(1_280_000, Status::Complete, wall_ms);
    result.baselines = vec![simulation(1_000_000, Status::Complete, wall_ms)];
    result.traces = Vec::new();
    result
}

#[test]
fn json_has_every_field() {
    let json = result_json(&plan(), &result(5));
    assert_eq!(json["schema"], SCHEMA);
    assert_eq!(json["status"], "complete");
    assert_eq!(json["execution_time_ps"], 1_280_000);
    assert_eq!(json["baseline_time_ps"], 1_000_000);
    assert_eq!(json["slowdown"], 1.28);
    assert_eq!(json["jobs"][0]["slowdown"], 1.28);
    assert_eq!(json["fabric"]["nics"], 4);
    assert_eq!(json["throughput_flits_per_cycle_per_nic"], 0.032);
    assert_eq!(json["latency_ns"]["default"]["network"]["mean"], 640.0);
    assert_eq!(json["links"][0]["credit_wait_ns"], 6.4);
    assert_eq!(json["links"][0]["held_up_ns"], 32.0);
    assert_eq!(json["links"][1], serde_json::Value::Null);
    assert_eq!(json["busiest_links"][0]["credit_wait_ns"], 0.0);
    assert_eq!(json["engine"]["events"], 99);
    assert!(json["engine"]["peak_rss_bytes"].as_u64().is_some());
}

#[test]
fn json_differs_in_engine_only() {
    let without_engine = |wall| {
        let mut json = result_json(&plan(), &result(wall));
        json.as_object_mut().unwrap().remove("engine");
        json.to_string()
    };
    assert_eq!(without_engine(5), without_engine(7));
}

#[test]
fn summary_reads_well() {
    let text = summary(&plan(), &result(5), false);
    let expected = "\
fabric          single switch: 4 NICs, 1 switch, links 100 Gb/s (preset opa-gen1)
set up          routing direct, scheduler rr-vl, placement linear, seed 1
compared with   nothing: the baseline is the same experiment, and nothing in it slows the job down; add a [[background]] or another [[job]]
execution time  1.280 us
baseline        1.000 us   slowdown 1.2800
where it goes   computing 25.0 %, the rest network and waiting for partners

job   ranks       SL      time  slowdown  computing  partners  network  messages    bytes
tiny      2  default  1.280 us    1.2800     25.0 %         -        -         2  2.0 KiB

traffic         2 messages, 2 packets, 256 flits, 0 flit-hops
throughput      0.0320 flits/cycle/NIC (3.200 Gb/s, 0.4000 GB/s)

latency (ns)        count   mean    p50    p99    max  baseline mean    p99
tiny end to end         2  640.0  320.0  960.0  960.0          640.0  960.0
default end to end      2  640.0  320.0  960.0  960.0          640.0  960.0
default network         2  640.0  320.0  960.0  960.0          640.0  960.0

links that hold up packets  held up, sum over packets    share    used  credit wait
nic 0 -> switch 0 port 0                    32.000 ns  100.0 %  12.8 %        0.5 %

busiest links               used  credit wait  mean queueing
nic 0 -> switch 0 port 0  12.8 %        0.0 %        12.8 ns
nic 0 -> switch 0 port 0  12.8 %        0.5 %        12.8 ns
";
    assert_eq!(text, expected, "got:\n{text}");
    assert!(summary(&plan(), &result(5), true).contains("mean rank       320.000 ns computing"));
}

#[test]
fn only_simulated_time_is_reported() {
    let plan = |start| {
        let start = format!("job.0.start={start}");
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
        let text = "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n[[job]]\n\
                    trace = \"tiny.vef\"\n";
        resolve_text("test.toml", text, &dir, &[start]).unwrap()
    };
    let time = |start, execution_ps, complete| {
        let plan = plan(start);
        let mut run = simulation(execution_ps, Status::Interrupted, 5);
        let job = run.jobs[0].as_mut().unwrap();
        job.complete = complete;
        let start_ps = plan.experiment.jobs[0].start_ps;
        (job.start_ps, job.end_ps) = (Some(start_ps), start_ps + execution_ps);
        execution_time_ps(&plan.experiment, &run)
    };
    // Up to tick 1999, of 640 ps.
    assert_eq!(time("1ns", 1_000_000, true), 1_000_000);
    assert_eq!(time("1ns", 1_000_000, false), 1_000_000);
    assert_eq!(time("1us", 1_000_000, false), 279_360);
    assert_eq!(time("100us", 0, false), 0);
    let mut waits = simulation(1_000_000, Status::Interrupted, 5);
    let job = waits.jobs[0].as_mut().unwrap();
    (job.start_ps, job.complete) = (None, false);
    assert_eq!(execution_time_ps(&plan("1ns").experiment, &waits), 0);
}

#[test]
fn saturation_is_told() {
    let mut result = result(5);
    let json = result_json(&plan(), &result);
    assert_eq!(json["saturated"], false);
    assert_eq!(json["background"][0]["backlog_messages"], 2);
    assert_eq!(
        json["background"][0]["offered_flits_per_cycle_per_nic"],
        1.6
    );
    // 4 NICs: 40 messages are not yet too many.
    result.main.background[0].messages_delivered = 60;
    result.main.background[0].units_delivered = 60 * 128;
    assert_eq!(result_json(&plan(), &result)["saturated"], false);
    result.main.background[0].messages_delivered = 50;
    result.main.background[0].units_delivered = 50 * 128;
    assert_eq!(result_json(&plan(), &result)["saturated"], true);
    let text = summary(&plan(), &result, false);
    let line = "saturated: offered 1.6000, accepted 0.8000 flits/cycle/NIC";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_stall_says_who_waits() {
    let mut result = result(5);
    result.main.status = Status::Stalled("rank 1 waits for message 7 (line 12)".into());
    assert_eq!(result_json(&plan(), &result)["status"], "stalled");
    let text = summary(&plan(), &result, false);
    assert_eq!(
        result_json(&plan(), &result)["slowdown"],
        serde_json::Value::Null
    );
    assert!(
        text.contains("(stalled: so far)") && text.contains("rank 1 waits for message 7"),
        "{text}"
    );
}

#[test]
fn congestion_control_is_told() {
    let mut result = result(5);
    let json = result_json(&plan(), &result);
    assert_eq!(json["congestion"], serde_json::Value::Null);
    assert!(!summary(&plan(), &result, false).contains("congestion"));
    result.main.stats.congestion = Some(CongestionStats {
        marked: 1234,
        notifications_sent: 900,
        notifications_received: 890,
        level_sum: 5000,
        packets: 2000,
        level_max: 17,
        cct: Some(CctStats {
            threshold_events: 12,
        }),
    });
    let expected = serde_json::json!({
        "marked_packets": 1234,
        "notifications_sent": 900,
        "notifications_received": 890,
        "data_packets": 2000,
        "mean_control_level": 2.5,
        "max_control_level": 17,
        "cct": { "threshold_events": 12 },
    });
    assert_eq!(result_json(&plan(), &result)["congestion"], expected);
    let text = summary(&plan(), &result, false);
    let line = "congestion      1,234 packets marked, 900 notifications sent, 890 received; \
                control level mean 2.50, max 17\n";
    assert!(text.contains(line), "{text}");
    // Nothing sent: no division by 0. Without a congestion control table there is no log.
    result.main.stats.congestion = Some(CongestionStats::default());
    assert_eq!(
        result_json(&plan(), &result)["congestion"]["mean_control_level"],
        0.0
    );
    assert_eq!(
        result_json(&plan(), &result)["congestion"]["cct"],
        serde_json::Value::Null
    );
}

#[test]
fn another_trace_under_the_same_name_has_another_hash() {
    let mut result = result(5);
    let hash = |result: &RunResult| result_json(&plan(), result)["experiment_hash"].clone();
    let unread = hash(&result);
    let read = simulated().traces;
    let mut trace = |xxh3| {
        result.traces = read.clone();
        result.traces[0].xxh3 = xxh3;
        hash(&result)
    };
    let (one, two) = (trace(1), trace(2));
    assert!(one != two && one != unread);
    assert_eq!(one, trace(1));
    let json = result_json(&plan(), &result);
    assert_eq!(json["jobs"][0]["trace_xxh3"], format!("{:032x}", 1));
}

#[test]
fn ticks_are_counted_from_the_first_to_the_last() {
    let mut stats = simulation(0, Status::Complete, 5).stats;
    let mut ticks = |start, end| {
        (stats.start_tick, stats.end_tick) = (start, end);
        stats.ticks()
    };
    assert_eq!(ticks(0, 1999), 2000);
    assert_eq!(ticks(641, 1280), 640);
    // Restarted after tick 640, and nothing simulated since.
    assert_eq!(ticks(641, 640), 0);
}

#[test]
fn ticks_become_nanoseconds() {
    let mut ticks = Latency::default();
    for value in [100, 200, 300, 400] {
        ticks.record(value);
    }
    let l = latency(&ticks, TickLength::whole(640)).unwrap();
    assert_eq!((l.count, l.mean, l.p50, l.max), (4, 160.0, 128.0, 256.0));
    assert_eq!(latency(&Latency::default(), TickLength::whole(640)), None);
}

/// 4 × 25 Gb/s; 4 × 8 Gb/s and 4 × 25 Gb/s with a tick that is an eighth of a flit.
#[test]
fn a_flit_per_cycle_is_the_rate_of_the_link() {
    for (fabric, gbit) in [("opa-gen1", 100.0), ("ib-qdr", 32.0), ("ib-edr", 100.0)] {
        let text = format!(
            "background = [{{ rate = 0.1 }}]\n[fabric]\npreset = \"{fabric}\"\n\
             topology = {{ kind = \"single\", nics = 4 }}\n"
        );
        let plan = resolve_text("test.toml", &text, Path::new(""), &[]).unwrap();
        let mut result = result(5);
        result.main.jobs = Vec::new();
        let json = result_json(&plan, &result);
        let rate = |unit: &str| json[format!("throughput_{unit}_per_nic")].as_f64().unwrap();
        let found = rate("gbit_per_s") / rate("flits_per_cycle");
        assert!((found - gbit).abs() < 1e-3, "{fabric}: {found}");
        assert_eq!(rate("gbyte_per_s"), rate("gbit_per_s") / 8.0);
    }
    let mut result = result(5);
    result.main.stats.service_levels[0].units = 4000;
    let text = summary(&plan(), &result, false);
    let line = "throughput      0.5000 flits/cycle/NIC (50.00 Gb/s, 6.250 GB/s)\n";
    assert!(text.contains(line), "{text}");
}

/// The last bucket ends with the largest number of ticks, of 640 ps.
#[test]
fn buckets_hold_all_observations() {
    let mut run = simulation(1_280_000, Status::Complete, 5);
    let job = run.jobs[0].as_mut().unwrap();
    job.latency = Latency::default();
    for ticks in [0, 1, 15, 16, 17, 1000, 1001, 1023, 5000, 70_000, u64::MAX] {
        job.latency.record(ticks);
    }
    let dir = tempfile::tempdir().unwrap();
    write_distributions(dir.path(), &plan(), &run).unwrap();
    let text = std::fs::read_to_string(dir.path().join("latencies.csv")).unwrap();
    let rows = text.lines().filter(|row| row.starts_with("job tiny,"));
    let found: Vec<[f64; 3]> = rows
        .map(|row| {
            let cells = row.split(',').skip(2).map(|cell| cell.parse().unwrap());
            cells.collect::<Vec<f64>>().try_into().unwrap()
        })
        .collect();
    let ns = |ticks: f64| ticks * 640.0 / 1000.0;
    let (last, others) = found.split_last().unwrap();
    assert_eq!((last[1], last[2]), (ns(u64::MAX as f64), 1.0));
    let expected = [
        (0.0, 1.0, 1.0),
        (1.0, 2.0, 1.0),
        (15.0, 16.0, 1.0),
        (16.0, 18.0, 2.0),
        (960.0, 1024.0, 3.0),
        (4608.0, 5120.0, 1.0),
        (65536.0, 73728.0, 1.0),
    ];
    assert_eq!(
        others,
        expected.map(|(from, to, count)| [ns(from), ns(to), count])
    );
}
