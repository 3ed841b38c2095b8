//! What theory says exactly, of both kinds of switch: the mean wait in front of one link, the
//! shares of a parking lot, the flits on every link under dimension order, latencies of an idle
//! fabric. Numbers and commands: `docs/evidence/simulators.md`.

use flitwise::config::{Plan, load};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::Tick;
use flitwise::fabric::stats::LinkEnd;
use flitwise::fabric::workload::{AppQueue, Message, Workload};
use flitwise::replay::Replay;
use flitwise::run::{Control, RunResult, run_plan, workload};
use std::collections::BTreeMap;
use std::path::Path;

/// `configs/compare-CONFIG.toml` with `sets` laid over it.
fn plan(config: &str, sets: &[&str]) -> Plan {
    let path = format!("configs/compare-{config}.toml");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &sets).unwrap_or_else(|e| panic!("{e}"))
}

fn measure(plan: &Plan) -> RunResult {
    let control = Control::default();
    run_plan(plan, &control, 1).unwrap()
}

/// Turns `compare-queue` into a switch of Omni-Path with 48 ports, packets of 128 flits and seven
/// sources on other MPorts than the destination.
const OMNI_PATH: [&str; 4] = [
    "fabric={preset=\"opa-gen1\",topology={kind=\"single\",nics=48}}",
    "qos.service_levels=[{name=\"data\",scs=[0],mtu=\"1024B\"}]",
    "background.0.message=1024B",
    "background.0.pattern={flows=[{from=5,to=0},{from=10,to=0},{from=15,to=0},{from=20,to=0},\
     {from=25,to=0},{from=30,to=0},{from=35,to=0}]}",
];

/// The mean over `seeds` of the mean wait in ticks at `load`, `idle` ticks being the latency
/// without any, and half the width of its 99 % confidence interval.
fn mean_wait(load: &str, idle: f64, sets: &[&str]) -> (f64, f64) {
    let waits = (1..=SEEDS).map(|seed| {
        let (seed, load) = (
            format!("seed={seed}"),
            format!("measure.loads=[\"{load}\"]"),
        );
        let sets = [sets, &[&seed, &load]].concat();
        let result = measure(&plan("queue", &sets));
        result.main.stats.service_levels[0].end_to_end.mean() - idle
    });
    let waits: Vec<f64> = waits.collect();
    let n = f64::from(SEEDS);
    let mean = waits.iter().sum::<f64>() / n;
    let variance = waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, STUDENT_99 * (variance / n).sqrt())
}

const SEEDS: u32 = 10;
/// Student's t, 9 degrees of freedom, 99 % on both sides together.
const STUDENT_99: f64 = 3.250;

/// The mean wait in front of a link of load `rho` that packets of `flits` ticks reach from
/// `sources` independent Bernoulli sources: a queue in discrete time. Infinitely many sources
/// are M/D/1.
fn wait(rho: f64, flits: f64, sources: f64) -> f64 {
    rho * (flits - 1.0 / sources) / (2.0 * (1.0 - rho))
}

/// Holds `sets` against `wait` at three loads. The intervals must be narrow enough to tell.
fn hold_against_the_formula(flits: f64, sources: f64, idle: f64, sets: &[&str]) {
    for (load, rho) in [("0.3", 0.3), ("0.5", 0.5), ("0.7", 0.7)] {
        let (mean, half) = mean_wait(load, idle, sets);
        let exact = wait(rho, flits, sources);
        assert!((mean - exact).abs() <= half, "{mean} ± {half}, not {exact}");
        assert!(half <= 0.03 * exact, "{mean} ± {half} says nothing");
    }
}

/// 1 + 5 ticks from the NIC through the switch, 15 more until the tail is there.
const IDLE: f64 = 21.0;

#[test]
fn seven_sources_wait_as_the_formula_says() {
    let window = ["measure.window=2000000 ticks"];
    hold_against_the_formula(16.0, 7.0, IDLE, &window);
}

#[test]
fn one_source_waits_as_geo_d_1_says_and_not_as_m_d_1() {
    let one = "background.0={rate=1,injection=\"bernoulli\",message=\"128B\",\
               pattern={flows=[{from=1,to=0}]}}";
    let sets = ["measure.window=2000000 ticks", one];
    hold_against_the_formula(16.0, 1.0, IDLE, &sets);
    let (mean, half) = mean_wait("0.5", IDLE, &sets);
    let poisson = wait(0.5, 16.0, f64::INFINITY);
    assert!((mean - poisson).abs() > 2.0 * half, "{mean} ± {half}");
}

/// Zero load: 8 to the switch, 160 through the central crossbar, 127 until the tail is there.
#[test]
fn seven_sources_on_other_mports_wait_as_the_formula_says() {
    let mut sets = OMNI_PATH.to_vec();
    sets.push("measure.window=10000000 ticks");
    hold_against_the_formula(128.0, 7.0, 295.0, &sets);
}

#[test]
fn a_parking_lot_halves_at_every_switch() {
    for kind in ["fabric.kind=voq", "fabric.kind=hierarchical"] {
        let run = measure(&plan("parking-lot", &[kind])).main;
        let delivered = run.background.iter().map(|flow| flow.messages_delivered);
        let delivered: Vec<u64> = delivered.collect();
        let all: u64 = delivered.iter().sum();
        assert!(all > 50_000, "{kind}: {delivered:?}");
        for (flow, share) in delivered.iter().zip([16, 16, 8, 4, 2]) {
            let off = *flow as f64 / all as f64 - 1.0 / f64::from(share);
            assert!(off.abs() < 5e-5, "{kind}: 1/{share} of {delivered:?}");
        }
    }
}

/// Notes the messages that a replay creates.
struct Noting {
    replay: Replay<'static>,
    created: Vec<Message>,
}

impl Workload for Noting {
    fn next_tick(&mut self) -> Option<Tick> {
        self.replay.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.replay.act(now, out);
        self.created.extend(out.iter());
    }

    fn has_more(&self) -> bool {
        self.replay.has_more()
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let message = self.replay.replenish(now, queue)?;
        self.created.push(message);
        Some(message)
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.replay.delivered(now, token);
    }

    fn finished(&self) -> bool {
        self.replay.finished()
    }
}

/// The switches of the route from `src` to `dst` on an 8×8 torus or mesh: dimension 0 first,
/// the shorter way round, ties in the direction of the parity of the source's coordinate.
fn dimension_order(src: u32, dst: u32, torus: bool) -> Vec<u32> {
    let (mut at, mut route) = (src, vec![src]);
    for stride in [1, 8] {
        let (from, to) = (at / stride % 8, dst / stride % 8);
        let ahead = (to + 8 - from) % 8;
        let up = match (torus, ahead) {
            (false, _) => to > from,
            (true, 4) => from % 2 == 0,
            (true, _) => ahead < 4,
        };
        while at / stride % 8 != to {
            let x = at / stride % 8;
            let next = if up { (x + 1) % 8 } else { (x + 7) % 8 };
            at = at - x * stride + next * stride;
            route.push(at);
        }
    }
    route
}

/// Flits that crossed the link from one switch to another, and from and to every NIC.
type Flits = BTreeMap<(LinkName, LinkName), u64>;
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LinkName {
    Nic(u32),
    Switch(u32),
}

impl From<LinkEnd> for LinkName {
    fn from(end: LinkEnd) -> Self {
        match end {
            LinkEnd::Nic(nic) => Self::Nic(nic.get()),
            LinkEnd::Port { switch, .. } => Self::Switch(switch.get()),
        }
    }
}

/// The counters after `background` ran until all of it was delivered, and the same counted along
/// the routes of its messages.
fn counted_and_expected(config: &str, background: &str, sets: &[&str]) -> (Flits, Flits) {
    let sets = [&[background], sets].concat();
    let plan = plan(config, &sets);
    let mut traffic = Noting {
        replay: workload(&plan.experiment, Some(1_000_000)).unwrap(),
        created: Vec::new(),
    };
    let mut engine = Engine::new(&plan.experiment.fabric).unwrap();
    assert_eq!(engine.run(&mut traffic), RunEnd::Finished);
    let stats = engine.stats();
    assert_eq!(stats.messages, stats.messages_delivered);
    let used = stats.links.iter().filter(|link| link.flits > 0);
    let counted = used.map(|link| ((link.from.into(), link.to.into()), link.flits));
    let mut expected = Flits::new();
    assert!(traffic.created.len() > 5_000, "{}", traffic.created.len());
    for message in &traffic.created {
        // Packets of 128 B and what is left, in flits of 8 B.
        let flits = message.bytes / 128 * 16 + (message.bytes % 128).div_ceil(8);
        let (src, dst) = (message.src.get(), message.dst.get());
        let switches = dimension_order(src, dst, config == "torus");
        let mut way = vec![LinkName::Nic(src)];
        way.extend(switches.into_iter().map(LinkName::Switch));
        way.push(LinkName::Nic(dst));
        for link in way.windows(2) {
            *expected.entry((link[0], link[1])).or_default() += flits;
        }
    }
    (counted.collect(), expected)
}

#[test]
fn every_link_carries_the_flits_of_its_routes() {
    let omni_path =
        "fabric={topology={kind=\"torus\",dimensions=[8,8]},ring_tie=\"source-parity\"}";
    for pattern in ["uniform", "permutation", "transpose"] {
        let background = format!(
            "background=[{{rate=0.3,injection=\"bernoulli\",pattern=\"{pattern}\",stop=\"20us\",\
             message=[{{size=\"128B\",share=0.7}},{{size=\"300B\",share=0.3}}]}}]"
        );
        for (config, sets) in [("mesh", &[][..]), ("torus", &[]), ("torus", &[omni_path])] {
            let (counted, expected) = counted_and_expected(config, &background, sets);
            assert_eq!(counted, expected, "{config}, {pattern}, {sets:?}");
        }
    }
}

/// From NIC 0: 1 tick to its switch, 5 for each switch of the route, 15 until the tail is there.
#[test]
fn an_idle_fabric_has_the_latency_of_the_hand_calculation() {
    for config in ["mesh", "torus"] {
        for to in [1, 7, 9, 36, 63] {
            let flow = format!(
                "background=[{{rate=0.05,message=\"128B\",pattern={{flows=[{{from=0,to={to}}}]}}}}]"
            );
            let result = measure(&plan(config, &[&flow, "measure.loads=[1]"]));
            let latency = &result.main.stats.service_levels[0].network;
            let switches = dimension_order(0, to, config == "torus").len() as u64;
            assert!(latency.count() > 100);
            assert_eq!(latency.max(), 1 + 5 * switches + 15, "{config}, to {to}");
            let sum = u128::from(latency.max()) * u128::from(latency.count());
            assert_eq!(latency.sum(), sum);
        }
    }
}
