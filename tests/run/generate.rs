//! Generated kernels: who talks to whom and how much, by counts worked out here, and that
//! they replay to the end.

mod benchmarks;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use flitwise::config::resolve_text;
use flitwise::generate::{Counts, Form, Grid, Kernel, Spec};
use flitwise::run::{Control, Status, run_plan};
use flitwise::units::Ratio;
use flitwise_formats::vef::{DepKind, Info, Op, Reader, Record, check_file};

fn spec(kernel: Kernel, ranks: u32) -> Spec {
    Spec {
        kernel,
        ranks,
        size: 1000,
        iterations: 6,
        compute_ns: 400,
        imbalance: Ratio::new(1, 2).unwrap(),
        seed: 3,
    }
}

fn grid(text: &str) -> Grid {
    text.parse().unwrap()
}

struct Generated {
    counts: Counts,
    info: Info,
    file: tempfile::NamedTempFile,
}

/// Generates, checks, and holds what was announced against what is there.
fn generate(spec: &Spec) -> Generated {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (counts, text) = spec.write(Vec::new()).unwrap();
    assert_eq!(spec.write(Vec::new()).unwrap().1, text, "the same bytes");
    std::fs::write(file.path(), text).unwrap();
    let check = check_file(file.path()).unwrap();
    assert!(check.is_clean() && check.warnings.is_empty(), "{check:?}");
    let found = Counts {
        messages: check.messages,
        bytes: check.bytes,
        markers: check.markers,
        collectives: check.collectives,
        members: check.members,
    };
    assert_eq!(found, counts, "{spec:?}");
    assert_eq!(check.forward, 0);
    let info = Info::read(file.path()).unwrap();
    Generated { counts, info, file }
}

impl Generated {
    /// Messages from each rank to each other.
    fn matrix(&self) -> BTreeMap<(u32, u32), u64> {
        let pairs = self.info.traffic.pairs.iter();
        pairs.map(|p| ((p.src, p.dst), p.messages)).collect()
    }

    /// Every message is waited for exactly once, by its receiver, in VEF's own way: the
    /// record behind a marker depends on it.
    fn every_message_is_awaited(&self) {
        let mut awaited: HashMap<u64, u32> = HashMap::new();
        let mut receivers = HashMap::new();
        for record in Reader::open(self.file.path()).unwrap() {
            let record = record.unwrap().1;
            if let Record::Message(m) = &record
                && !m.is_marker()
            {
                receivers.insert(m.id, m.dst);
            }
            if record.dep().0.kind() == DepKind::Received {
                let flitwise_formats::vef::DepId::Message(id) = record.dep().1 else {
                    panic!("{record:?}");
                };
                assert_eq!(awaited.insert(id, record.task()), None);
            }
        }
        assert_eq!(awaited, receivers);
    }

    /// Replays it on 16 NICs, several ranks on each if need be.
    fn replays(&self) {
        let ranks = self.info.header.tasks;
        let mut text = String::from(
            "baseline.enabled = false\n[fabric]\npreset = \"opa-gen1\"\n\
             topology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n",
        );
        let trace = self.file.path().display();
        let tasks = ranks.div_ceil(16);
        write!(
            text,
            "[[job]]\ntrace = '{trace}'\ntasks_per_node = {tasks}\n"
        )
        .unwrap();
        let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap();
        let control = Control::default();
        let run = run_plan(&plan, &control, 1).unwrap().main;
        assert_eq!(run.status, Status::Complete);
        let job = run.jobs[0].clone().unwrap();
        assert!(job.complete);
        assert_eq!(job.point_to_point, self.counts.messages);
        assert_eq!(job.point_to_point_bytes, self.counts.bytes);
        assert_eq!(job.collectives, self.counts.collectives);
        // No network is faster than none.
        assert!(job.execution_ps >= self.info.ideal.unwrap().span_ps);
    }
}

/// The matrix of a kernel whose pairs all exchange the same number of messages.
fn even(pairs: impl IntoIterator<Item = (u32, u32)>, each: u64) -> BTreeMap<(u32, u32), u64> {
    let mut matrix = BTreeMap::new();
    for pair in pairs {
        *matrix.entry(pair).or_default() += each;
    }
    matrix
}

#[test]
fn balanced_grids() {
    for (ranks, dimensions, grid) in [
        (64, 2, "8x8"),
        (512, 2, "32x16"),
        (27, 3, "3x3x3"),
        (24, 3, "4x3x2"),
        (7, 2, "7x1"),
        (1, 3, "1x1x1"),
    ] {
        assert_eq!(Grid::balanced(ranks, dimensions).to_string(), grid);
    }
    for bad in ["", "4x", "0x4", "4 x 4", "ax2", "99999999999"] {
        assert!(bad.parse::<Grid>().is_err(), "{bad}");
    }
}

#[test]
fn ring() {
    for n in [2, 5] {
        let g = generate(&spec(Kernel::Ring, n));
        assert_eq!(g.matrix(), even((0..n).map(|r| (r, (r + 1) % n)), 6));
        assert_eq!(g.counts.bytes, u64::from(n) * 6 * 1000);
        assert_eq!(g.counts.markers, u64::from(n) * (6 + 1));
        g.every_message_is_awaited();
        g.replays();
    }
}

#[test]
fn halo_in_two_dimensions() {
    // Rank 4 · row + column of three rows and four columns.
    let mut wrapped = Vec::new();
    let mut open = Vec::new();
    for (row, column) in (0..3).flat_map(|r| (0..4).map(move |c| (r, c))) {
        for (dr, dc) in [(1, 0), (-1, 0), (0, 1), (0, -1_i32)] {
            let (r, c): (i32, i32) = (row + dr, column + dc);
            let rank = |r: i32, c: i32| (4 * r + c) as u32;
            wrapped.push((rank(row, column), rank(r.rem_euclid(3), c.rem_euclid(4))));
            if (0..3).contains(&r) && (0..4).contains(&c) {
                open.push((rank(row, column), rank(r, c)));
            }
        }
    }
    for (is_open, pairs) in [(false, wrapped), (true, open)] {
        let kernel = Kernel::Halo {
            grid: grid("3x4"),
            open: is_open,
        };
        let g = generate(&spec(kernel, 12));
        assert_eq!(g.matrix(), even(pairs, 6));
        g.every_message_is_awaited();
        g.replays();
    }
}

#[test]
fn halo_in_three_dimensions() {
    let halo = |text, open| {
        let kernel = Kernel::Halo {
            grid: grid(text),
            open,
        };
        let g = generate(&spec(kernel, grid(text).ranks().unwrap()));
        g.every_message_is_awaited();
        g.replays();
        g.counts.messages
    };
    assert_eq!(halo("3x3x3", false), 27 * 6 * 6);
    // Six faces less those at the borders: 2 · (2·9 · 3) inner faces.
    assert_eq!(halo("3x3x3", true), 2 * 3 * 2 * 9 * 6);
    // Where there are two ranks, both neighbours are the same; where one, there is none.
    assert_eq!(halo("2x2x1", false), 4 * 4 * 6);
    assert_eq!(halo("2x2x1", true), 4 * 2 * 6);
}

#[test]
fn all_to_all() {
    let pairs = (0..7).flat_map(|a| (0..7).map(move |b| (a, b)));
    let g = generate(&spec(Kernel::AllToAll(Form::Messages), 7));
    assert_eq!(g.matrix(), even(pairs.filter(|(a, b)| a != b), 6));
    g.every_message_is_awaited();
    g.replays();

    let g = generate(&spec(Kernel::AllToAll(Form::Collective), 7));
    assert_eq!((g.counts.messages, g.counts.collectives), (0, 6));
    let [only] = &g.info.collectives[..] else {
        panic!("{:?}", g.info.collectives);
    };
    assert_eq!(
        (only.op, only.comm, only.bytes),
        (Op::Alltoall, 0, 7 * 6 * 1000 * 6)
    );
    g.replays();
}

#[test]
fn fft_transposes_in_rows_and_columns() {
    let fft = |text, form| {
        let kernel = Kernel::Fft {
            grid: grid(text),
            form,
        };
        let g = generate(&spec(kernel, grid(text).ranks().unwrap()));
        g.replays();
        g
    };
    let same = |a: u32, b: u32| a != b && (a / 3 == b / 3 || a % 3 == b % 3);
    let pairs = (0..12).flat_map(|a| (0..12).map(move |b| (a, b)));
    let g = fft("4x3", Form::Messages);
    assert_eq!(g.matrix(), even(pairs.filter(|&(a, b)| same(a, b)), 6));
    g.every_message_is_awaited();
    // Half of an odd number of nanoseconds in each phase, 6 times.
    let odd = Spec {
        compute_ns: 7,
        imbalance: Ratio::ZERO,
        ..spec(
            Kernel::Fft {
                grid: grid("4x3"),
                form: Form::Collective,
            },
            12,
        )
    };
    assert_eq!(generate(&odd).info.compute_span_ps(), (42_000, 42_000));

    // World, four rows of three, three columns of four.
    let g = fft("4x3", Form::Collective);
    assert_eq!(g.info.comm_sizes, [12, 3, 3, 3, 3, 4, 4, 4]);
    assert_eq!(g.counts.collectives, 7 * 6);
    let direct = 6 * 1000 * (4 * 3 * 2 + 3 * 4 * 3);
    assert_eq!(g.info.collective_bytes(), direct);

    // Only columns exchange anything.
    assert_eq!(fft("5x1", Form::Messages).counts.messages, 5 * 4 * 6);
    assert_eq!(fft("5x1", Form::Collective).counts.collectives, 6);
}

#[test]
fn master_and_workers() {
    let even_spec = Spec {
        imbalance: Ratio::ZERO,
        ..spec(Kernel::MasterWorker, 5)
    };
    let g = generate(&even_spec);
    let pairs = (1..5).flat_map(|w| [(0, w), (w, 0)]);
    assert_eq!(g.matrix(), even(pairs, 6));
    g.every_message_is_awaited();
    g.replays();

    // Fast workers do more, and the total stays.
    let g = generate(&Spec {
        iterations: 50,
        ..spec(Kernel::MasterWorker, 5)
    });
    assert_eq!(g.counts.messages, 2 * 4 * 50);
    let matrix = g.matrix();
    let tasks: Vec<u64> = (1..5).map(|w| matrix[&(0, w)]).collect();
    assert!(tasks.iter().max() > tasks.iter().min(), "{tasks:?}");
    let compute = &g.info.compute_ps[1..];
    let (min, max) = (compute.iter().min().unwrap(), compute.iter().max().unwrap());
    assert!(
        max - min <= 2 * 600_000,
        "all are busy to the end: {compute:?}"
    );
    g.every_message_is_awaited();
    g.replays();
}

#[test]
fn hpl_panels_shrink() {
    let kernel = Kernel::Hpl { grid: grid("2x3") };
    let g = generate(&Spec {
        imbalance: Ratio::ZERO,
        ..spec(kernel, 6)
    });
    // Per panel two messages in each of two rows and one in each of three columns.
    assert_eq!(g.counts.messages, (2 * 2 + 3) * 6);
    let sizes = [1000, 834, 667, 500, 334, 167];
    assert_eq!(g.counts.bytes, 7 * sizes.iter().sum::<u64>());
    // Panel k starts in column k mod 3 and ends in the one before; block k starts in row
    // k mod 2. Six panels: every step of a row ring is taken four times.
    let mut pairs = Vec::new();
    for k in 0..6 {
        for step in 0..2 {
            let (from, to) = ((k + step) % 3, (k + step + 1) % 3);
            pairs.extend([(from, to), (3 + from, 3 + to)]);
        }
        let (from, to) = (k % 2, (k + 1) % 2);
        pairs.extend((0..3).map(|c| (3 * from + c, 3 * to + c)));
    }
    assert_eq!(g.matrix(), even(pairs, 1));
    // 400 ns times the square of what is left, rounded down in two steps.
    let compute: u64 = [400, 277, 177, 100, 44, 11].iter().sum();
    assert_eq!(g.info.compute_span_ps(), (compute * 1000, compute * 1000));
    g.every_message_is_awaited();
    g.replays();
}

#[test]
fn random_access() {
    let kernel = Kernel::RandomAccess { messages: 5 };
    let g = generate(&Spec {
        iterations: 400,
        ..spec(kernel.clone(), 9)
    });
    let matrix = g.matrix();
    for rank in 0..9 {
        let sent = matrix.iter().filter(|(pair, _)| pair.0 == rank);
        assert_eq!(sent.map(|(_, n)| n).sum::<u64>(), 5 * 400);
        assert!(!matrix.contains_key(&(rank, rank)));
    }
    // 250 expected for every pair, with a deviation of 15.
    assert_eq!(matrix.len(), 72);
    assert!(
        matrix.values().all(|n| (180..320).contains(n)),
        "{matrix:?}"
    );
    g.every_message_is_awaited();
    g.replays();

    let other = Spec {
        seed: 4,
        iterations: 400,
        ..spec(kernel, 9)
    };
    assert_ne!(generate(&other).matrix(), matrix);
}

#[test]
fn imbalance_stays_within_its_bounds() {
    let compute = |imbalance| {
        let g = generate(&Spec {
            imbalance,
            compute_ns: 1_000_000,
            ..spec(Kernel::Ring, 200)
        });
        let (min, max) = g.info.compute_span_ps();
        (min / 6_000, max / 6_000)
    };
    assert_eq!(compute(Ratio::ZERO), (1_000_000, 1_000_000));
    let (min, max) = compute(Ratio::new(1, 4).unwrap());
    assert!((750_000..770_000).contains(&min), "{min}");
    assert!((1_230_000..=1_250_000).contains(&max), "{max}");
    assert!(compute(Ratio::ONE).0 < 30_000);
}

#[test]
fn what_cannot_be_is_refused() {
    let ring = || spec(Kernel::Ring, 4);
    let hpl = Kernel::Hpl { grid: grid("3x3") };
    let none = Kernel::RandomAccess { messages: 0 };
    for (spec, why) in [
        (Spec { ranks: 1, ..ring() }, "1 ranks are out of range"),
        (
            Spec {
                ranks: u32::MAX,
                ..ring()
            },
            "out of range",
        ),
        (
            Spec {
                iterations: 0,
                ..ring()
            },
            "0 iterations",
        ),
        (
            Spec {
                imbalance: Ratio::whole(2),
                ..ring()
            },
            "imbalance 2",
        ),
        (
            Spec {
                compute_ns: u64::MAX,
                ..ring()
            },
            "exceeds 2^64",
        ),
        (
            Spec {
                compute_ns: u64::MAX / 1000,
                ..ring()
            },
            "213 days",
        ),
        (
            Spec {
                size: u64::MAX / 4,
                ..ring()
            },
            "2^64 bytes",
        ),
        (
            Spec {
                iterations: u64::MAX,
                ..ring()
            },
            "2^64 lines",
        ),
        (spec(hpl, 4), "a grid of 3x3 has not 4 ranks"),
        (spec(none, 4), "0 messages per iteration"),
    ] {
        let error = spec.write(Vec::new()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
