//! Synthetic traffic on a fabric: a backlog that the workload keeps gives the same packets as
//! one that the fabric holds, in the engine and in the oracle; and what a window counts,
//! worked out by hand.

use crate::common::script::{Cue, Script};
use flitwise::config::{Plan, resolve_text};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::Tick;
use flitwise::fabric::workload::{AppQueue, Message, PacketReport, Workload};
use flitwise::replay::Replay;
use flitwise::run::{Control, RunResult, Status, run_plan, workload};
use flitwise_oracles::{hierarchical as oracle, voq as oracle_ib};
use std::path::Path;

fn plan(text: &str) -> Plan {
    resolve_text("test.toml", text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn measure(plan: &Plan, threads: usize) -> RunResult {
    run_plan(plan, &Control::default(), threads).unwrap()
}

/// A replay, with notes of what it created and what became of it.
struct Recorder {
    replay: Replay<'static>,
    created: Vec<Message>,
    packets: Vec<PacketReport>,
    /// Messages in the fabric, and the most there were.
    inside: (u64, u64),
}

impl Recorder {
    fn new(plan: &Plan, until: Tick) -> Self {
        Self {
            replay: workload(&plan.experiment, Some(until)).unwrap(),
            created: Vec::new(),
            packets: Vec::new(),
            inside: (0, 0),
        }
    }

    fn note(&mut self, message: &Message) {
        self.created.push(*message);
        self.inside.0 += 1;
        self.inside.1 = self.inside.1.max(self.inside.0);
    }

    fn packets(mut self) -> Vec<PacketReport> {
        sort(&mut self.packets);
        self.packets
    }
}

fn sort(packets: &mut [PacketReport]) {
    packets.sort_unstable_by_key(|p| (p.delivered, p.injected, p.token, p.index, p.flits));
}

impl Workload for Recorder {
    fn next_tick(&mut self) -> Option<Tick> {
        self.replay.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.replay.act(now, out);
        out.iter().for_each(|message| self.note(message));
    }

    fn has_more(&self) -> bool {
        self.replay.has_more()
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let message = self.replay.replenish(now, queue)?;
        self.note(&message);
        Some(message)
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.inside.0 -= 1;
        self.replay.delivered(now, token);
    }

    fn packet(&mut self, report: &PacketReport) {
        self.packets.push(*report);
    }

    fn finished(&self) -> bool {
        self.replay.finished()
    }
}

/// Six NICs that offer far more than two hot ones take, on two service levels, in messages of
/// one packet and of several, until tick 2,000.
const OVERLOAD: &str = r#"
[fabric]
preset = "opasim"
topology = { kind = "single", nics = 6 }
[qos]
scheduler = "rr"
mtu = "64B"
service_levels = [{ name = "a", scs = [0, 1] }, { name = "b", scs = [2] }]
sc2vl = [0, 1, 2]
[[background]]
sl = "a"
rate = 0.6
injection = "bernoulli"
message = [{ size = "24B", share = 0.5 }, { size = "200B", share = 0.5 }]
pattern = { hotspot = 2, fraction = 0.6 }
stop = "1280ns"
[[background]]
sl = "a"
rate = 0.2
message = "64B"
stop = "1280ns"
[[background]]
sl = "b"
rate = 0.7
message = "100B"
pattern = { hotspot = 3, fraction = 0.8 }
stop = "1280ns"
"#;

/// The same with a FIFO per queue pair.
fn overload_of_pairs() -> [String; 3] {
    let controlled = format!("{OVERLOAD}[congestion_control]\nkind = \"ib\"\n");
    let voq = OVERLOAD
        .replace("\"opasim\"", "\"ib-qdr-648\"\ntick = \"16ns\"")
        .replace("scheduler = \"rr\"\n", "")
        .replace("\"64B\"\nservice", "\"256B\"\nservice")
        .replace("1280ns", "32us");
    let both = format!("{voq}[congestion_control]\nkind = \"ib\"\n");
    [controlled, voq, both]
}

#[test]
fn a_backlog_that_is_kept_back_changes_no_packet() {
    kept_back_changes_no_packet(OVERLOAD);
}

#[test]
fn nor_does_it_with_queue_pairs() {
    for text in overload_of_pairs() {
        kept_back_changes_no_packet(&text);
    }
}

fn kept_back_changes_no_packet(text: &str) {
    let plan = plan(text);
    let fabric = &plan.experiment.fabric;
    let mut kept = Recorder::new(&plan, 40_000);
    let mut engine = Engine::new(fabric).unwrap();
    assert_eq!(engine.run(&mut kept), RunEnd::Finished);
    let of_kept = engine.stats();
    assert_eq!(of_kept.messages, of_kept.messages_delivered);
    let created = kept.created.clone();
    let late = created.iter().filter(|m| m.created < 2_000).count();
    assert!(late == created.len() && late > 500, "{late} messages");

    // All of them handed over when they are created. The order within a queue is that in
    // which they were kept; between queues it does not matter.
    let lines = created.iter().map(|&m| (Cue::At(m.created), m));
    let mut at_once = Script::new(lines);
    let mut engine = Engine::new(fabric).unwrap();
    assert_eq!(engine.run(&mut at_once), RunEnd::Drained);
    let of_all = engine.stats();
    let mut packets = at_once.packets;
    sort(&mut packets);
    let kept = kept.packets();
    assert_eq!(kept, packets);
    for (a, b) in of_kept.service_levels.iter().zip(&of_all.service_levels) {
        assert_eq!(a.end_to_end.sum(), b.end_to_end.sum());
        assert_eq!(a.end_to_end.max(), b.end_to_end.max());
        assert_eq!(a.network.sum(), b.network.sum());
        assert!(a.end_to_end.max() > 2_000, "there was no backlog");
    }

    let mut in_oracle = Recorder::new(&plan, 40_000);
    let (messages, delivered) = match fabric.hierarchical() {
        Some(_) => {
            let run = oracle::run(fabric, &mut in_oracle, 50_000);
            (run.messages, run.messages_delivered)
        }
        None => {
            let run = oracle_ib::run(fabric, &mut in_oracle, 50_000);
            (run.messages, run.messages_delivered)
        }
    };
    assert_eq!(messages, delivered);
    assert_eq!(in_oracle.packets(), kept);
}

#[test]
fn a_backlog_takes_no_memory() {
    let text = "[fabric]\npreset = \"opasim\"\ntopology = { kind = \"single\", nics = 16 }\n\
                [[background]]\nrate = 1\npattern = { hotspot = 3, fraction = 1 }\n";
    let plan = plan(text);
    let mut traffic = Recorder::new(&plan, 100_000);
    let mut engine = Engine::new(&plan.experiment.fabric).unwrap();
    assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
    let waiting = traffic.replay.waiting(100_000);
    // 16 NICs offer 6,250 messages each; NIC 3 takes as many, and what it sends itself goes
    // uniformly to the others.
    assert!(waiting > 80_000, "{waiting}");
    // 2 KiB per buffer of 128 B messages: at most 16 in each of the 3 on the way.
    assert!(traffic.inside.1 < 16 * 16 * 5, "{:?}", traffic.inside);
    assert_eq!(
        traffic.replay.background(100_000)[0].messages,
        traffic.created.len() as u64 + waiting
    );
}

/// Nor with queue pairs: the fabric has a message of each that was created and not delivered,
/// and those on their way.
#[test]
fn a_backlog_of_queue_pairs_takes_no_memory() {
    for pattern in ["{ hotspot = 3, fraction = 1 }", "\"uniform\""] {
        let text = format!(
            "[fabric]\npreset = \"ib-qdr-648\"\ntick = \"16ns\"\nhca_send_rate = \"4Gb/s\"\n\
             topology = {{ kind = \"single\", nics = 16 }}\n\
             [[background]]\nrate = 1\nmessage = \"512B\"\npattern = {pattern}\n"
        );
        let plan = plan(&text);
        let mut traffic = Recorder::new(&plan, 100_000);
        let mut engine = Engine::new(&plan.experiment.fabric).unwrap();
        assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
        let waiting = traffic.replay.waiting(100_000);
        assert!(waiting > 80_000, "{waiting}");
        // The first of each of the 15 queue pairs of a NIC, and what the buffers hold.
        let fabric = &plan.experiment.fabric;
        let buffers = &fabric.voq().unwrap().buffers;
        let room = buffers.nic_queue + buffers.input.total + buffers.output;
        let size = fabric.units.credits(fabric.units.data_flits(512));
        let most = 16 * (15 + u64::from(room / size) + 1);
        assert!(traffic.inside.1 <= most, "{:?} of {most}", traffic.inside);
        assert!(most < 5_000);
        assert_eq!(
            traffic.replay.background(100_000)[0].messages,
            traffic.created.len() as u64 + waiting
        );
    }
}

/// Two NICs of one MPort send to each other: 16 flits every 64 ticks.
const TINY: &str = r#"
[fabric]
preset = "opasim"
topology = { kind = "single", nics = 2 }
[[background]]
rate = 0.25
pattern = "neighbour"
[measure]
warm_up = "640 ticks"
max_warm_up = "640 ticks"
window = "640 ticks"
"#;

#[test]
fn a_window_counts_what_happens_in_it() {
    let result = measure(&plan(TINY), 1);
    let main = &result.main;
    assert_eq!(main.status, Status::Complete);
    assert_eq!((main.stats.start_tick, main.stats.end_tick), (641, 1280));
    assert_eq!(main.stats.ticks(), 640);
    // One message of each NIC per 64 ticks, whatever the phase: 10 in 640 ticks.
    let flow = &main.background[0];
    assert_eq!((flow.messages, flow.messages_delivered), (20, 20));
    assert_eq!((flow.units, flow.units_delivered), (320, 320));
    assert_eq!((main.messages, main.stats.messages_delivered), (20, 20));
    assert_eq!(main.stats.flits_delivered, 320);
    let measured = main.measured.clone().unwrap();
    assert_eq!((measured.warm_up, measured.steady), (640, None));
    // 8 on the link to the switch, 150 through an MPort and to the NIC (docs/model/fabric.md §4),
    // 15 until the tail. Nobody is in the way.
    let level = &main.stats.service_levels[0];
    for latency in [&level.end_to_end, &level.network] {
        assert_eq!((latency.count(), latency.sum()), (20, 20 * 173));
        assert_eq!((latency.quantile(0.5), latency.max()), (173, 173));
    }
    // Each link: 160 flits in 640 ticks; 173 ticks are 2.7 messages on their way.
    for link in main.stats.links.iter().filter(|link| link.flits > 0) {
        assert_eq!((link.flits, link.packets), (160, 10));
    }
    assert!((4..=6).contains(&main.backlog), "{}", main.backlog);
}

#[test]
fn the_batches_of_a_window_are_the_window() {
    for (warm_up, window) in [("0", 640), ("640", 640), ("640", 999)] {
        let (head, _) = TINY.split_once("warm_up").unwrap();
        let warm_up = format!("warm_up = \"{warm_up} ticks\"\nmax_warm_up = \"{warm_up} ticks\"");
        let text = format!("{head}{warm_up}\nwindow = \"{window} ticks\"\n");
        let main = measure(&plan(&text), 1).main;
        let (stats, batches) = (&main.stats, main.measured.unwrap().batches);
        assert_eq!(batches.len(), 32);
        let ticks: u64 = batches.iter().map(|batch| batch.ticks).sum();
        assert_eq!(ticks, stats.ticks());
        let levels = || batches.iter().map(|batch| batch.service_levels[0]);
        let level = &stats.service_levels[0];
        assert_eq!(levels().map(|of| of.units).sum::<u64>(), level.units);
        let whole = (level.messages, level.end_to_end.sum());
        let counts = levels().map(|of| of.end_to_end);
        assert_eq!(counts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)), whole);
    }
    let text = TINY.replace("window = \"640", "window = \"31");
    assert_eq!(measure(&plan(&text), 1).main.measured.unwrap().batches, []);
}

#[test]
fn a_window_without_a_warm_up_begins_with_the_first_tick() {
    let text = TINY.replace("warm_up = \"640 ticks\"", "warm_up = \"0 ticks\"");
    let main = measure(&plan(&text), 1).main;
    assert_eq!((main.stats.start_tick, main.stats.end_tick), (0, 639));
    assert_eq!(main.stats.ticks(), 640);
    // A message of each NIC per 64 ticks, from their phases on.
    assert_eq!(main.background[0].messages, 20);
    assert_eq!(main.messages, main.background[0].messages);
    assert!(main.stats.messages_delivered < 20, "{:?}", main.stats);
}

#[test]
fn a_warm_up_in_parts_changes_nothing() {
    let parts = "batch = \"100 ticks\"\nbatches = 5\ntolerance = 0\n";
    let text = TINY.replace("rate = 0.25", "rate = 0.5\ninjection = \"bernoulli\"");
    let judged = text.replace(
        "max_warm_up = \"640 ticks\"",
        "max_warm_up = \"1940 ticks\"",
    );
    let judged = measure(&plan(&format!("{judged}{parts}")), 1);
    let measured = judged.main.measured.clone().unwrap();
    assert_eq!((measured.warm_up, measured.steady), (1940, Some(false)));
    let once = text.replace("\"640 ticks\"", "\"1940 ticks\"");
    let once = once.replace("window = \"1940", "window = \"640");
    let once = measure(&plan(&once), 1);
    assert_eq!(judged.main.background, once.main.background);
    assert_eq!(judged.main.stats.links, once.main.stats.links);
    let sums = |run: &RunResult| run.main.stats.service_levels[0].end_to_end.sum();
    assert_eq!(sums(&judged), sums(&once));
}

/// The first messages arrive in tick 173 to 237, so the four batches of 128 ticks that end
/// with tick 640 are not equal, and those that end with 768 are: 4 messages each.
#[test]
fn steady_traffic_is_seen_as_soon_as_the_batches_agree() {
    for least in [640, 768] {
        let warm_up = format!("warm_up = \"{least} ticks\"\nbatch = \"128 ticks\"");
        let (head, _) = TINY.split_once("warm_up").unwrap();
        let text = format!("{head}{warm_up}\nwindow = \"640 ticks\"\n");
        let measured = measure(&plan(&text), 1).main.measured.unwrap();
        assert_eq!((measured.warm_up, measured.steady), (768, Some(true)));
    }
}

#[test]
fn loads_scale_every_flow() {
    let text = "[fabric]\ntopology = { kind = \"single\", nics = 16 }\n\
                [qos]\npreset = \"opa-5sl\"\n\
                [[background]]\npreset = \"opa-5sl\"\nrate = 1\n\
                [measure]\nloads = [0.8, 0.2]\n";
    let plan = plan(text);
    let result = measure(&plan, 2);
    assert_eq!(result.curve.len(), 2);
    for (run, load) in result.curve.iter().zip([0.8, 0.2]) {
        let slots = 16.0 * run.stats.ticks() as f64;
        assert_eq!(run.background.len(), 5);
        for (flow, share) in run.background.iter().zip([0.1, 0.3, 0.5, 0.05, 0.05]) {
            let offered = flow.units as f64 / slots;
            // Within one message of each NIC.
            let exact = load * share;
            assert!(
                (offered - exact).abs() * slots <= 16.0 * 128.0,
                "{offered} for {exact}"
            );
        }
    }
    assert_eq!(result.main.measured.unwrap().load.to_string(), "0.2");
}
