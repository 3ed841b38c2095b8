//! The patterns of benchmarks: GPCNeT's network tests and congestors, and OSU's pairs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::{Generated, even, generate, spec};
use crate::messages::messages;
use flitwise::config::resolve_text;
use flitwise::generate::{Form, Kernel, Spec};
use flitwise::results::MessageFile;
use flitwise::run::{Control, run_plan};
use flitwise::units::Ratio;
use flitwise_formats::vef::{DepId, DepKind, Op, Reader, Record};

impl Generated {
    /// Sender, receiver and bytes of every message, in the order of the file.
    fn messages(&self) -> Vec<(u32, u32, u64)> {
        let records = Reader::open(self.file.path()).unwrap();
        let message = records.filter_map(|record| match record.unwrap().1 {
            Record::Message(m) if !m.is_marker() => Some((m.src, m.dst, m.size)),
            _ => None,
        });
        message.collect()
    }

    /// Most messages of any rank but 0 to rank 0 that no answer followed, each answer being
    /// taken once the record behind its wait can start.
    fn most_without_answer(&self) -> u64 {
        let mut open: HashMap<u32, u64> = HashMap::new();
        let mut answers = HashMap::new();
        let mut most = 0;
        for record in Reader::open(self.file.path()).unwrap() {
            let record = record.unwrap().1;
            let Record::Message(message) = &record else {
                continue;
            };
            if let (DepKind::Received, DepId::Message(id)) = (record.dep().0.kind(), record.dep().1)
                && let Some(rank) = answers.remove(&id)
            {
                assert_eq!(rank, message.src);
                *open.get_mut(&rank).unwrap() -= 1;
            }
            if message.is_marker() {
                continue;
            }
            if message.src == 0 {
                answers.insert(message.id, message.dst);
            } else {
                let open = open.entry(message.src).or_default();
                *open += 1;
                most = most.max(*open);
            }
        }
        assert!(answers.is_empty(), "all answers are taken");
        most
    }
}

/// The pairs of rank 0 with each other rank, in both directions.
fn star(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (1..n).flat_map(|rank| [(rank, 0), (0, rank)])
}

#[test]
fn random_rings() {
    let kernel = |rings, sync| Kernel::RandomRing {
        rings,
        window: 2,
        sync,
    };
    let g = generate(&spec(kernel(3, false), 7));
    // 2 neighbours, 2 messages, 7 ranks, 6 iterations.
    assert_eq!(g.counts.messages, 2 * 2 * 7 * 6);
    assert_eq!(g.counts.bytes, 2 * 2 * 7 * 6 * 1000);
    g.every_message_is_awaited();
    g.replays();
    let rings: Vec<BTreeMap<(u32, u32), u64>> = g
        .messages()
        .chunks(2 * 2 * 7)
        .map(|chunk| even(chunk.iter().map(|&(src, dst, _)| (src, dst)), 1))
        .collect();
    for ring in &rings {
        // From rank 0 on, each time to the neighbour that is new.
        let mut way = vec![0];
        while way.len() < 7 {
            let at = *way.last().unwrap();
            let next = ring.keys().filter(|pair| pair.0 == at).map(|pair| pair.1);
            way.push(next.into_iter().find(|rank| !way.contains(rank)).unwrap());
        }
        let steps = (0..7).map(|at| (way[at], way[(at + 1) % 7]));
        let both = steps.flat_map(|(a, b)| [(a, b), (b, a)]);
        assert_eq!(*ring, even(both, 2));
    }
    // Two iterations on each ring, and no ring twice.
    assert!(rings.chunks(2).all(|same| same[0] == same[1]));
    let different: BTreeSet<_> = rings
        .iter()
        .map(|ring| ring.keys().collect::<Vec<_>>())
        .collect();
    assert_eq!(different.len(), 3);
    let other = Spec {
        seed: 4,
        ..spec(kernel(3, false), 7)
    };
    assert_ne!(generate(&other).messages(), g.messages());

    let g = generate(&spec(kernel(1, true), 7));
    let [only] = &g.info.collectives[..] else {
        panic!("{:?}", g.info.collectives);
    };
    assert_eq!((only.op, only.comm, only.count), (Op::Barrier, 0, 6));
    g.every_message_is_awaited();
    g.replays();
    // Both neighbours are the same rank.
    let g = generate(&spec(kernel(6, true), 2));
    assert_eq!(g.matrix(), even([(0, 1), (1, 0)], 2 * 2 * 6));
    g.every_message_is_awaited();
    g.replays();
}

#[test]
fn allreduce_in_groups() {
    let g = generate(&spec(Kernel::Allreduce { groups: 1 }, 6));
    assert_eq!(g.info.comm_sizes, [6]);
    assert_eq!((g.counts.messages, g.counts.collectives), (0, 6));
    g.replays();
    let g = generate(&spec(Kernel::Allreduce { groups: 3 }, 6));
    assert_eq!(g.info.comm_sizes, [6, 2, 2, 2]);
    assert_eq!((g.counts.collectives, g.counts.members), (3 * 6, 6 * 6));
    assert!(
        g.info
            .collectives
            .iter()
            .all(|c| c.op == Op::Allreduce && c.comm > 0)
    );
    g.replays();
}

/// An incast answers with 4 bytes; a broadcast by gets asks with 16 and answers with the data.
#[test]
fn loops_of_messages_and_answers_are_closed() {
    for window in [1, 2, 5, 6, 7] {
        for (kernel, there, back) in [
            (Kernel::Incast { window }, 1000, 4),
            (Kernel::GetBcast { window }, 16, 1000),
        ] {
            let g = generate(&spec(kernel, 5));
            assert_eq!(g.matrix(), even(star(5), 6));
            assert_eq!(g.counts.bytes, 4 * 6 * (there + back));
            let sizes = |to_0: bool| {
                let messages = g.messages().into_iter();
                let sizes = messages.filter(move |m| (m.1 == 0) == to_0).map(|m| m.2);
                sizes.collect::<BTreeSet<u64>>()
            };
            assert_eq!((sizes(true), sizes(false)), ([there].into(), [back].into()));
            // Six messages are all that there are.
            assert_eq!(g.most_without_answer(), u64::from(window.min(6)));
            g.every_message_is_awaited();
            g.replays();
        }
    }
}

/// In a run, too, no rank has more messages on the way than the window; all have as many at a time.
#[test]
fn a_run_of_an_incast_never_exceeds_the_window() {
    let dir = tempfile::tempdir().unwrap();
    for window in [1, 3] {
        let g = generate(&Spec {
            iterations: 20,
            compute_ns: 0,
            ..spec(Kernel::Incast { window }, 9)
        });
        let text = format!(
            "baseline.enabled = false\n[fabric]\npreset = \"opa-gen1\"\n\
             topology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n[[job]]\ntrace = '{}'\n",
            g.file.path().display()
        );
        let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap();
        let path = dir.path().join(format!("{window}.csv"));
        let format = MessageFile::format_of_name(&path).unwrap();
        let topology = &plan.experiment.fabric.topology;
        let file = MessageFile::create(&path, format, topology).unwrap();
        run_plan(&plan, &Control::default().seen_by(&file), 1).unwrap();
        file.finish().unwrap();
        let rows = messages(&path);
        for rank in 1..9 {
            let own = rows
                .iter()
                .filter(|row| row["from_rank"] == rank.to_string());
            let ps = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
            let times: Vec<(u64, u64)> = own
                .map(|row| (ps(row, "posted_ps"), ps(row, "delivered_ps")))
                .collect();
            assert_eq!(times.len(), 20);
            let on_the_way = |now: u64| {
                let of = times
                    .iter()
                    .filter(|(posted, delivered)| *posted <= now && now < *delivered);
                of.count()
            };
            let most = times.iter().map(|(posted, _)| on_the_way(*posted)).max();
            assert_eq!(most, Some(window as usize), "rank {rank}");
        }
    }
}

#[test]
fn puts_need_no_work_of_their_target() {
    let g = generate(&spec(Kernel::PutIncast, 5));
    assert_eq!(g.matrix(), even((1..5).map(|rank| (rank, 0)), 6));
    assert_eq!(g.counts.bytes, 4 * 6 * 1000);
    // Only the ends.
    assert_eq!(g.counts.markers, 5);
    g.replays();
}

#[test]
fn pairs_of_the_lower_and_the_upper_half() {
    let pairs = [(0, 3), (1, 4), (2, 5)];
    let back = pairs.map(|(a, b)| (b, a));
    let g = generate(&spec(Kernel::PingPong, 6));
    assert_eq!(g.matrix(), even(pairs.into_iter().chain(back), 6));
    g.every_message_is_awaited();
    g.replays();

    let g = generate(&spec(Kernel::Bandwidth { window: 10 }, 6));
    let mut matrix = even(pairs, 10 * 6);
    matrix.extend(even(back, 6));
    assert_eq!(g.matrix(), matrix);
    assert_eq!(g.counts.bytes, 3 * 6 * (10 * 1000 + 4));
    g.every_message_is_awaited();
    g.replays();
}

#[test]
fn benchmarks_that_cannot_be_are_refused() {
    let ring = |rings, window| Kernel::RandomRing {
        rings,
        window,
        sync: false,
    };
    let window = 0;
    for (kernel, ranks, why) in [
        (ring(1, 0), 4, "a window of 0 messages"),
        (ring(0, 1), 4, "0 rings for 6 iterations"),
        (ring(7, 1), 4, "7 rings for 6 iterations"),
        (Kernel::Incast { window }, 4, "a window of 0 messages"),
        (Kernel::GetBcast { window }, 4, "a window of 0 messages"),
        (Kernel::Bandwidth { window }, 4, "a window of 0 messages"),
        (Kernel::PingPong, 5, "choose an even number"),
        (Kernel::Bandwidth { window: 1 }, 5, "choose an even number"),
        (Kernel::Allreduce { groups: 0 }, 4, "choose a divisor"),
        (Kernel::Allreduce { groups: 3 }, 4, "choose a divisor"),
        (Kernel::Allreduce { groups: 4 }, 4, "choose fewer groups"),
    ] {
        let error = spec(kernel, ranks)
            .write(Vec::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// The traces of the studies `gpcnet` and `osu` are what the commands in `traces/README.md` make.
#[test]
fn shipped_traces_of_benchmarks_are_generated_ones() {
    let ring = |rings, window, sync| Kernel::RandomRing {
        rings,
        window,
        sync,
    };
    let window = 16;
    let all = Kernel::AllToAll(Form::Collective);
    let mut files = vec![
        (
            "gpcnet/latency-13".to_owned(),
            ring(10, 1, false),
            13,
            8,
            150,
        ),
        (
            "gpcnet/bandwidth-13".into(),
            ring(10, 8, true),
            13,
            128 << 10,
            10,
        ),
        (
            "gpcnet/allreduce-13".into(),
            Kernel::Allreduce { groups: 1 },
            13,
            8,
            150,
        ),
        ("gpcnet/alltoall-13".into(), all, 13, 4096, 60),
        (
            "gpcnet/incast-13".into(),
            Kernel::Incast { window },
            13,
            4096,
            400,
        ),
        (
            "gpcnet/put-incast-104".into(),
            Kernel::PutIncast,
            104,
            4096,
            60,
        ),
        (
            "gpcnet/get-bcast-12".into(),
            Kernel::GetBcast { window },
            12,
            4096,
            400,
        ),
    ];
    for (name, size) in [
        ("8B", 8),
        ("512B", 512),
        ("4KiB", 4 << 10),
        ("32KiB", 32 << 10),
        ("256KiB", 256 << 10),
        ("1MiB", 1 << 20),
    ] {
        let bandwidth = Kernel::Bandwidth { window: 64 };
        files.push((format!("osu/latency-{name}"), Kernel::PingPong, 2, size, 10));
        files.push((format!("osu/bandwidth-{name}"), bandwidth, 2, size, 4));
    }
    for (name, kernel, ranks, size, iterations) in files {
        let spec = Spec {
            kernel,
            ranks,
            size,
            iterations,
            compute_ns: 0,
            imbalance: Ratio::ZERO,
            seed: 1,
        };
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
        let records = |path: &Path| {
            let records = Reader::open(path).unwrap().map(|record| record.unwrap().1);
            records
                .map(|record| format!("{record:?}"))
                .collect::<Vec<_>>()
        };
        let shipped = records(&traces.join(format!("{name}.vef.gz")));
        assert!(shipped == records(generate(&spec).file.path()), "{name}");
    }
}
