//! Speed of the engine on the loads of its budgets.

use flitwise::fabric::engine::Engine;
use flitwise::fabric::spec::*;
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::{Message, Workload};
use std::time::Instant;

fn pool(total: u32, ex: u32, max: u32, vls: usize) -> Pool {
    Pool {
        total,
        per_vl: vec![Quota { exclusive: ex, max }; vls],
    }
}

fn opasim(topology: Topology, vls: u8, mtu: u32) -> FabricSpec {
    let n = vls as usize;
    let mut sc2vl = [None; 32];
    for (v, vl) in sc2vl.iter_mut().enumerate().take(n) {
        *vl = Some(v as u8);
    }
    FabricSpec {
        topology,
        routing: Routing {
            ring_tie: RingTie::Positive,
            trunk: TrunkSelection::Destination,
        },
        timing: timing(),
        buffers: Buffers {
            flits_per_credit: 4,
            nic_queue: pool(64, 4, 48, n),
            nic_sink: pool(64, 4, 48, n),
            input: pool(64, 4, 48, n),
            output: pool(64, 4, 48, n),
            central: pool(64, 4, 48, n),
            central_queues: CentralQueues::PerNeighbour,
        },
        qos: Qos {
            vls,
            service_levels: vec![ServiceLevel {
                name: "D".into(),
                traffic_class: 0,
                scs: (0..vls).collect(),
                mtu_bytes: mtu,
            }],
            sc2vl,
            scheduler: Scheduler::RrVl,
        },
        header_bytes: 0,
    }
}
fn timing() -> Timing {
    Timing {
        tick_ps: 640,
        flit_bytes: 8,
        link: 8,
        host_link: 8,
        input_store: 50,
        routing: 32,
        allocation: 8,
        crossbar: 2,
        output_store: 50,
        mport_speedup: 3,
        central_speedup: 4,
    }
}
fn opa5(topology: Topology) -> FabricSpec {
    let mut sc2vl = [None; 32];
    for (sc, vl) in [0, 1, 2, 3, 4, 5, 6, 7, 6, 7].into_iter().enumerate() {
        sc2vl[sc] = Some(vl);
    }
    let sl = |name: &str, sc: u8, mtu| ServiceLevel {
        name: name.into(),
        traffic_class: 0,
        scs: vec![sc, sc + 1],
        mtu_bytes: mtu,
    };
    let mut entries = vec![];
    for i in 0..128u32 {
        entries.push(if i % 2 == 0 {
            DTableEntry { sl: 0, weight: 6 }
        } else if i % 4 == 1 {
            DTableEntry { sl: 1, weight: 39 }
        } else if i % 8 == 3 {
            DTableEntry { sl: 2, weight: 130 }
        } else if i % 16 == 7 {
            DTableEntry { sl: 3, weight: 26 }
        } else {
            DTableEntry { sl: 4, weight: 26 }
        });
    }
    let cen: Vec<Quota> = [2, 2, 4, 4, 8, 8, 16, 16]
        .iter()
        .map(|&e| Quota {
            exclusive: e,
            max: 768,
        })
        .collect();
    FabricSpec {
        topology,
        routing: Routing {
            ring_tie: RingTie::Positive,
            trunk: TrunkSelection::Destination,
        },
        timing: timing(),
        buffers: Buffers {
            flits_per_credit: 8,
            nic_queue: pool(512, 64, 384, 8),
            nic_sink: pool(512, 64, 384, 8),
            input: pool(1024, 64, 768, 8),
            output: pool(1024, 64, 768, 8),
            central: Pool {
                total: 1024,
                per_vl: cen,
            },
            central_queues: CentralQueues::PerNeighbour,
        },
        qos: Qos {
            vls: 8,
            service_levels: vec![
                sl("VO", 0, 128),
                sl("VI", 2, 256),
                sl("CL", 4, 512),
                sl("BE", 6, 1024),
                sl("BK", 8, 1024),
            ],
            sc2vl,
            scheduler: Scheduler::DTable { entries },
        },
        header_bytes: 0,
    }
}

struct Flow {
    sl: u8,
    bytes: u64,
    num: u64,
    den: u64,
    phase: Vec<(u64, u32)>,
    round: u64,
    at: usize,
}
struct Uniform {
    flows: Vec<Flow>,
    nics: u32,
    rng: u64,
    end: u64,
    now: u64,
}
impl Uniform {
    fn new(nics: u32, flows: &[(u8, u64, f64)], end: u64) -> Self {
        let mut rng = 88172645463325252u64;
        let mut next = || {
            rng ^= rng << 13;
            rng ^= rng >> 7;
            rng ^= rng << 17;
            rng
        };
        let flows = flows
            .iter()
            .map(|&(sl, bytes, rate)| {
                let (num, den) = ((bytes / 8) * 1000, (rate * 1000.0).round() as u64);
                let mut phase: Vec<_> = (0..nics).map(|n| (next() % num, n)).collect();
                phase.sort();
                Flow {
                    sl,
                    bytes,
                    num,
                    den,
                    phase,
                    round: 0,
                    at: 0,
                }
            })
            .collect();
        Self {
            flows,
            nics,
            rng: 99,
            end,
            now: 0,
        }
    }
}
impl Flow {
    fn next(&self) -> u64 {
        (self.phase[self.at].0 + self.round * self.num) / self.den
    }
}
impl Workload for Uniform {
    fn next_tick(&mut self) -> Option<Tick> {
        let n = self.flows.iter().map(Flow::next).min().unwrap();
        (n < self.end).then_some(n)
    }
    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.now = now;
        for f in &mut self.flows {
            while f.next() <= now {
                let src = f.phase[f.at].1;
                self.rng = self
                    .rng
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let d = (((self.rng >> 33) * u64::from(self.nics - 1)) >> 31) as u32;
                let dst = if d >= src { d + 1 } else { d };
                out.push(Message {
                    src,
                    dst,
                    sl: f.sl,
                    bytes: f.bytes,
                    token: 0,
                    report_injection: false,
                });
                f.at += 1;
                if f.at == f.phase.len() {
                    f.at = 0;
                    f.round += 1;
                }
            }
        }
    }
    fn delivered(&mut self, _: Tick, _: u64) {}
    fn finished(&self) -> bool {
        false
    }
}

fn case(name: &str, spec: &FabricSpec, flows: &[(u8, u64, f64)], ticks: u64) {
    let ticks = ticks / std::env::var("SCALE").map_or(1, |v| v.parse().unwrap());
    let mut engine = Engine::new(spec).unwrap();
    let mut w = Uniform::new(spec.topology.nics(), flows, ticks);
    let start = Instant::now();
    let end = engine.run(&mut w);
    let s = start.elapsed().as_secs_f64();
    let st = engine.stats();
    let rss = std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap()
        .to_string();
    println!(
        "{name}: {end:?} {:.1} M flit-hops/s, {:.2} events/packet-hop, {:.1} ns/event, packets {} thr {:.3} lat {:.0} {rss}",
        st.flit_hops as f64 / s / 1e6,
        st.events as f64 / (st.flit_hops as f64 / (st.flits_injected as f64 / st.packets as f64)),
        s * 1e9 / st.events as f64,
        st.packets,
        st.flits_delivered as f64 / st.end_tick as f64 / spec.topology.nics() as f64,
        st.service_levels[0].network.mean()
    );
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let run = |n: &str| which.is_empty() || which == "--bench" || which == n;
    let torus = |k| Topology::cube(&[k, k], true, 1, 1, None).unwrap();
    if run("1a") {
        case(
            "1a 8x8 0.4",
            &opasim(torus(8), 2, 128),
            &[(0, 128, 0.4)],
            400_000,
        );
        case(
            "1a 8x8 0.1",
            &opasim(torus(8), 2, 128),
            &[(0, 128, 0.1)],
            1_000_000,
        );
    }
    if run("1b") {
        let l = 0.7;
        case(
            "1b",
            &opa5(Topology::k_ary_n_tree(8, 3, None).unwrap()),
            &[
                (0, 128, 0.1 * l),
                (1, 256, 0.3 * l),
                (2, 512, 0.5 * l),
                (3, 1024, 0.05 * l),
                (4, 1024, 0.05 * l),
            ],
            100_000,
        );
    }
    if run("sw") {
        for l in [0.5, 0.7, 0.8, 0.9, 1.0] {
            case(
                &format!("single 48 {l}"),
                &opasim(Topology::single(48).unwrap(), 8, 128),
                &[(0, 128, l)],
                100_000,
            );
        }
    }
}
