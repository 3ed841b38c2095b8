//! Traces of calls and schedules through an Omni-Path tree: recorded ones, with the counts that other programs took from
//! the same files, and schedules worked out by hand.

#[path = "../../formats/tests/support/data.rs"]
pub mod data;

use data::data;
use flitwise::config::resolve_text;
use flitwise::replay::outcome::JobOutcome;
use flitwise::run::{Control, Simulation, Status, run_plan};
use flitwise::stop::Stop;
use std::io::Read;
use std::path::{Path, PathBuf};

/// 64 NICs: 8 switches of 8 NICs below 8 others. `keys` are further keys of the job.
fn simulate(trace: &Path, keys: &str) -> Simulation {
    let text = format!(
        "baseline.enabled = false\n[fabric]\npreset = \"opa-gen1\"\n\
         topology = {{ kind = \"k-ary-n-tree\", k = 8, n = 2 }}\n\
         [[job]]\ntrace = '{}'\n{keys}\n",
        trace.display()
    );
    let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    let done = run_plan(&plan, &Control::default(), 1);
    done.unwrap_or_else(|e| panic!("{}: {e}", trace.display()))
        .main
}

#[track_caller]
fn complete(trace: &Path, keys: &str) -> JobOutcome {
    let run = simulate(trace, keys);
    assert_eq!(run.status, Status::Complete, "{}", trace.display());
    let stats = &run.stats;
    assert_eq!(stats.flits_injected, stats.flits_delivered);
    run.jobs[0].clone().expect("it is replayed")
}

/// A schedule all of whose ranks are on one node, where a message takes 1 us and 1 ns a byte.
fn schedule(text: &str) -> Simulation {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.goal");
    std::fs::write(&path, text).unwrap();
    let keys = "tasks_per_node = 8\nintra_node_latency = \"1us\"\nintra_node_bandwidth = \"1GB/s\"";
    simulate(&path, keys)
}

/// Execution time in nanoseconds.
#[track_caller]
fn span(text: &str) -> u64 {
    let run = schedule(text);
    assert_eq!(run.status, Status::Complete);
    let job = run.jobs[0].as_ref().expect("it is replayed");
    assert!(job.complete);
    assert_eq!(job.execution_ps % 1000, 0);
    job.execution_ps / 1000
}

#[test]
fn a_receive_that_waits_keeps_nothing_else_waiting() {
    // The send of rank 0 stands behind a receive that the answer to it completes.
    let text = "num_ranks 2\n\
        rank 0 {\nr: recv 8b from 1 tag 1\nc: calc 1000\nc requires r\nsend 8b to 1 tag 2\n}\n\
        rank 1 {\nr: recv 8b from 0 tag 2\ns: send 8b to 0 tag 1\ns requires r\n}\n";
    assert_eq!(span(text), 1008 + 1008 + 1000);
}

#[test]
fn a_cpu_does_one_thing_at_a_time() {
    let one = "num_ranks 1\nrank 0 {\ncalc 1000\ncalc 1500\ncalc 700\n}\n";
    assert_eq!(span(one), 3200);
    let two = "num_ranks 1\nrank 0 {\ncalc 1000\ncalc 1500 cpu 1\ncalc 700\n}\n";
    assert_eq!(span(two), 1700);
    // A send waits for its CPU, not for its file position: the calc that may start first goes first.
    let send =
        "num_ranks 2\nrank 0 {\nc: calc 1000\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    assert_eq!(span(send), 2008);
}

#[test]
fn irequires_waits_for_a_start_and_requires_for_an_end() {
    let text = |word| {
        format!(
            "num_ranks 1\nrank 0 {{\nz: calc 300\na: calc 1000\nb: calc 2000 cpu 1\n\
             a requires z\nb {word} a\n}}\n"
        )
    };
    assert_eq!(span(&text("irequires")), 2300);
    assert_eq!(span(&text("requires")), 3300);
}

#[test]
fn receives_take_messages_in_the_order_of_both() {
    // Two receives from anyone, two senders: the first message goes to the first receive, behind which 5 us are computed.
    let text = "num_ranks 3\n\
        rank 0 {\na: recv 8b from -1 tag -1\nb: recv 8b from -1 tag -1\nc: calc 5000\nc requires a\n}\n\
        rank 1 {\nc: calc 2000\ns: send 8b to 0 tag 7\ns requires c\n}\n\
        rank 2 {\nsend 8b to 0 tag 9\n}\n";
    assert_eq!(span(text), 1008 + 5000);
}

#[test]
fn ranks_that_wait_for_each_other_stall() {
    // Above the eager threshold each waits for the receive of the other, which its own send precedes.
    let rank = |me: u32| {
        let other = 1 - me;
        format!(
            "rank {me} {{\ns: send 1000000b to {other}\nr: recv 1000000b from {other}\nr requires s\n}}\n"
        )
    };
    let run = schedule(&format!("num_ranks 2\n{}{}", rank(0), rank(1)));
    let Status::Stalled(why) = &run.status else {
        panic!("{:?}", run.status);
    };
    assert!(why.contains("waits for the end of its sends"), "{why}");
}

#[test]
fn a_schedule_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.goal");
    let text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    std::fs::write(&path, text).unwrap();
    let job = complete(&path, "repeat = 3\nname = \"again\"");
    assert_eq!((job.repetitions_ps.len(), job.point_to_point), (3, 3));
}

#[test]
fn broken_schedules_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.goal");
    let text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n";
    std::fs::write(&path, text).unwrap();
    let refused = flitwise::replay::trace::check_file(&path, Stop::never());
    let message = refused.err().expect("it lacks a receive").to_string();
    assert!(
        message.contains("s.goal:3: rank 0 sends 1 more"),
        "{message}"
    );
}

/// Messages and bytes of every schedule, from `golden.tsv`; the text and the binary form replay alike.
#[test]
fn recorded_schedules_replay() {
    let Some(folder) = data("traces/goal") else {
        return;
    };
    let golden = std::fs::read_to_string(folder.join("golden.tsv")).unwrap();
    let mut seen = Vec::new();
    for line in golden.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        // The gigabytes of this one take minutes with the checks of a debug build.
        if seen.contains(&fields[0]) || fields[0] == "resnet-8.goal" {
            continue;
        }
        seen.push(fields[0]);
        let packed = folder.join(format!("{}.gz", fields[0]));
        let text = [packed, folder.join(fields[0])];
        let text = text.iter().find(|path| path.exists()).unwrap();
        let job = complete(text, "name = \"goal\"");
        let found = (
            u64::from(job.ranks),
            job.point_to_point,
            job.point_to_point_bytes,
        );
        assert_eq!(found, (number(1), number(2), number(7)), "{}", fields[0]);
        let binary = folder.join(fields[0]).with_extension("bin");
        let same = complete(&binary, "name = \"goal\"");
        assert_eq!(job, same, "{}", fields[0]);
    }
    assert!(seen.len() >= 10);
}

/// Unpacks an archive of a TI trace; returns its list of files.
fn unpack(folder: &Path, set: &str, dir: &Path) -> PathBuf {
    let file = std::fs::File::open(folder.join(format!("{set}/{set}-ti.tar.gz"))).unwrap();
    let mut bytes = Vec::new();
    let mut packed = flate2::read::MultiGzDecoder::new(file);
    packed.read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    while rest.len() >= 512 && rest[0] != 0 {
        let (head, after) = rest.split_at(512);
        let text = |from: usize, len: usize| {
            let field = &head[from..from + len];
            let text = field.split(|&b| b == 0 || b == b' ').next().unwrap();
            String::from_utf8(text.to_vec()).unwrap()
        };
        let size = usize::from_str_radix(&text(124, 12), 8).unwrap();
        if matches!(head[156], b'0' | 0) {
            let path = dir.join(text(0, 100));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &after[..size]).unwrap();
        }
        rest = &after[size.next_multiple_of(512)..];
    }
    dir.join(format!("{set}.txt"))
}

const TI_SETS: [&str; 5] = [
    "comd-16",
    "hpl-16",
    "lulesh-27",
    "nas_dt_SH_W-32",
    "nas_is_S-16",
];

/// Messages, bytes and collectives of every recorded TI trace, from `counts.json`, and its longest computation.
#[test]
fn recorded_ti_traces_replay() {
    let Some(folder) = data("traces/ti") else {
        return;
    };
    for set in TI_SETS {
        let dir = tempfile::tempdir().unwrap();
        let trace = unpack(&folder, set, dir.path());
        let job = complete(&trace, "host_speed = 1e9\nname = \"ti\"");
        let counts = std::fs::read_to_string(folder.join(format!("{set}/counts.json"))).unwrap();
        let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
        let total = |key: &str| counts["totals"][key].as_u64().unwrap_or(0);
        let ranks = counts["ranks"].as_u64().unwrap();
        assert_eq!(u64::from(job.ranks), ranks, "{set}");
        let sent = total("sends") + total("sendrecvs");
        assert_eq!(job.point_to_point, sent, "{set}: messages");
        let bytes = total("send_bytes") + total("sendrecv_send_bytes");
        assert_eq!(job.point_to_point_bytes, bytes, "{set}: bytes");
        assert_eq!(job.collectives * ranks, total("collectives"), "{set}");
        let flops = counts["per_rank"].as_array().unwrap().iter();
        let most = flops.filter_map(|rank| rank["compute_flops"].as_f64());
        // A flop takes a nanosecond, and each computation is rounded to a picosecond.
        let least_ps = most.fold(0.0, f64::max) * 1000.0 - 1e6;
        assert!(job.execution_ps as f64 >= least_ps, "{set}");
    }
}
