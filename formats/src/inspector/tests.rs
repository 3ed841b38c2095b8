//! Logs worked out by hand.

use super::*;
use crate::chakra::{NodeType, Options, Trace};
use crate::goal::{DependencyKind, Task};

/// A line of the process on host `host`: an operation of communicator `comm` as `rank` of `size`, with its `keys`.
fn line(host: &str, (comm, rank, size): (&str, u32, u32), keys: &str) -> String {
    format!(
        "{{\"header\": {{\"id\": \"{comm}\", \"rank\": {rank}, \"n_ranks\": {size}, \"nnodes\": 1}}, \"metadata\": \
         {{\"inspector_output_format_version\": \"v4.0\", \"hostname\": \"{host}\", \"pid\": 7, \"dump_timestamp_us\": 5000}}, {keys}}}\n"
    )
}

fn coll(name: &str, number: u64, bytes: u64, lasted: u64, stopped: Option<u64>) -> String {
    let stop = stopped.map_or(String::new(), |at| {
        format!(", \"event_trace_ts\": {{\"coll_start_ts\": 1, \"coll_stop_ts\": {at}}}")
    });
    format!(
        "\"coll_perf\": {{\"coll\": \"{name}\", \"coll_sn\": {number}, \"coll_msg_size_bytes\": {bytes}, \"coll_exec_time_us\": {lasted}, \
         \"coll_timing_source\": \"kernel_gpu\"{stop}}}"
    )
}

fn p2p(name: &str, peer: u32, bytes: u64, stopped: u64) -> String {
    format!(
        "\"p2p_perf\": {{\"p2p\": \"{name}\", \"p2p_sn\": 1, \"p2p_peer\": {peer}, \"p2p_msg_size_bytes\": {bytes}, \
         \"p2p_exec_time_us\": 10, \"event_trace_ts\": {{\"p2p_stop_ts\": {stopped}}}}}"
    )
}

/// Reads logs of these texts, of which each is a file of a directory.
fn set(logs: &[String]) -> Result<Set, String> {
    let dir = tempfile::tempdir().unwrap();
    for (at, log) in logs.iter().enumerate() {
        std::fs::write(dir.path().join(format!("host-pid{at}.log")), log).unwrap();
    }
    let read = read(&Input::new(dir.path()), Stop::never());
    read.map_err(|e| {
        e.to_string()
            .replace(&dir.path().display().to_string(), "DIR")
    })
}

const WORLD: [(&str, u32, u32); 2] = [("0xa", 0, 2), ("0xa", 1, 2)];

/// The operations of a rank with what they wait for.
fn operations(set: &Set, rank: u32) -> Vec<(Task, Vec<u32>)> {
    let trace = Trace::read(set, &Options::default(), Stop::never()).unwrap();
    assert!(trace.errors.is_empty(), "{:?}", trace.errors);
    let mut block = trace.schedule.rank(rank).unwrap();
    let mut operations = Vec::new();
    for at in 0..block.len() {
        let node = block.node(at).unwrap();
        operations.push((node.op.task, Vec::new()));
    }
    for at in 0..block.len() {
        let node = block.node(at).unwrap();
        let mut add = |of: u32, kind| {
            if kind == DependencyKind::Done {
                operations[of as usize].1.push(at);
            }
        };
        block.successors(at, &node, &mut add).unwrap();
    }
    operations
}

#[test]
fn what_ended_before_is_waited_for_and_the_time_between_is_computed() {
    // The process on host `a` is rank 1.
    let of = |host, as_rank, sub| {
        line(host, as_rank, &coll("AllReduce", 1, 64, 100, Some(1000)))
            + &line(host, sub, &coll("ReduceScatter", 1, 8, 100, Some(1250)))
            + &line(host, as_rank, &coll("AllReduce", 2, 32, 200, Some(1300)))
    };
    let logs = [
        of("b", WORLD[0], ("0xb", 0, 2)),
        of("a", WORLD[1], ("0xb", 1, 2)),
    ];
    let set = set(&logs).unwrap();
    assert_eq!((set.ranks(), set.missing()), (2, 0));
    assert!(set.files()[0].ends_with("host-pid0.log"));
    for rank in 0..2 {
        let found = operations(&set, rank);
        let brief: Vec<(String, &[u32])> = found
            .iter()
            .map(|(task, deps)| match task {
                Task::Calc { time } => (format!("{time} ns"), deps.as_slice()),
                Task::Collective {
                    operation, bytes, ..
                } => (format!("{operation:?} {bytes} B"), deps.as_slice()),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: [(&str, &[u32]); 5] = [
            ("Allreduce 64 B", &[]),
            // It began 150 us after the end of the first one; NCCL counts one block of two.
            ("150000 ns", &[0]),
            ("ReduceScatter 16 B", &[1]),
            // The same, while the other is under way.
            ("100000 ns", &[0]),
            ("Allreduce 32 B", &[3]),
        ];
        for ((found, deps), (task, on)) in brief.iter().zip(expected) {
            assert_eq!((found.as_str(), *deps), (task, on), "rank {rank}");
        }
        assert_eq!(brief.len(), expected.len());
    }
}

#[test]
fn messages_find_their_peers_by_the_communicator() {
    // Ranks 2 and 1 of the program are 0 and 1 of a communicator.
    let world = |rank| ("0xa", rank, 3);
    let all = |host, rank| line(host, world(rank), &coll("AllGather", 1, 8, 1, Some(10)));
    let logs = [
        all("h0", 0),
        all("h1", 1) + &line("h1", ("0xb", 1, 2), &p2p("Send", 0, 99, 40)),
        all("h2", 2) + &line("h2", ("0xb", 0, 2), &p2p("Recv", 1, 99, 45)),
    ];
    let set = set(&logs).unwrap();
    let (sent, received) = (operations(&set, 1), operations(&set, 2));
    assert!(
        matches!(
            sent[2].0,
            Task::Send {
                bytes: 99,
                to: 2,
                tag: 1
            }
        ),
        "{sent:?}"
    );
    let Task::Recv { from, tag, .. } = received[2].0 else {
        panic!("{received:?}");
    };
    assert_eq!((from, tag), (Some(1), Some(1)));
}

#[test]
fn one_file_may_have_all_lines_and_calls_that_are_missing_are_counted() {
    let of =
        |host: &str, as_rank, number| line(host, as_rank, &coll("AllReduce", number, 8, 1, None));
    let mut log = String::new();
    for number in [1, 2, 5] {
        log += &of("b", WORLD[0], number);
        log += "\n";
        log += &of("a", WORLD[1], number);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.log");
    std::fs::write(&path, &log).unwrap();
    assert!(probe(log.as_bytes()) && is_directory(dir.path()));
    let set = read(&Input::new(&path), Stop::never()).unwrap();
    assert_eq!((set.ranks(), set.missing()), (2, 4));
    assert_eq!(set.own_files(), [path]);
    // Without their own times, operations end when their lines were written, in the order of their numbers.
    let order: Vec<_> = operations(&set, 0)
        .into_iter()
        .map(|(_, deps)| deps)
        .collect();
    assert_eq!(order, [vec![], vec![0], vec![1]]);
}

#[test]
fn numbers_may_be_as_far_apart_as_they_go() {
    let of = |number| line("a", ("0xa", 0, 1), &coll("AllReduce", number, 8, 1, None));
    let set = set(&[of(0) + &of(u64::MAX)]).unwrap();
    assert_eq!(set.missing(), u64::MAX - 1);
    let trace = Trace::read(&set, &Options::default(), Stop::never()).unwrap();
    let warned = &trace.warnings.first[0].message;
    assert!(warned.ends_with("no filter of sizes)"), "{warned}");
}

#[test]
fn logs_that_do_not_fit_together_are_refused() {
    let one = |keys: &str| vec![line("a", ("0xa", 0, 1), keys)];
    let good = coll("AllReduce", 1, 8, 1, Some(10));
    for (logs, problem) in [
        (
            vec![line("a", WORLD[0], &good)],
            "has 2 ranks, but no log has its rank 1",
        ),
        (
            vec![line("a", WORLD[0], &good) + &line("a", WORLD[1], &good)],
            ":2: process 7 of `a` and rank 1",
        ),
        (
            vec![line("a", WORLD[0], &good), line("b", WORLD[0], &good)],
            "do not belong together",
        ),
        (vec![line("a", ("0xa", 2, 2), &good)], "this is rank 2"),
        (
            vec![line("a", WORLD[0], &good), line("b", ("0xa", 1, 3), &good)],
            "has 3 ranks here, 2 before",
        ),
        (
            one(&coll("AllMix", 1, 8, 1, None)),
            "`AllMix` is no collective",
        ),
        (
            one(&p2p("Send", 1, 8, 10)),
            "its peer 1 is not in the communicator",
        ),
        (one(&p2p("Put", 0, 8, 10)), "`Put` is neither"),
        (
            vec![line("a", WORLD[0], &coll("AlltoAll", 1, u64::MAX, 1, None))],
            "is beyond 2^64 B",
        ),
        (one("\"coll_perf\": null"), "has not one of"),
        (
            one("\"coll_perf\": {}"),
            ":1: is no record of NCCL Inspector (missing field",
        ),
        (vec![], "has no log"),
    ] {
        let found = set(&logs).expect_err(problem);
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn nodes_of_a_made_set_are_read_in_order() {
    let log = line("a", ("0xa", 0, 1), &coll("AllReduce", 1, 8, 1, Some(10)))
        + &line("a", ("0xa", 0, 1), &coll("AllReduce", 2, 8, 1, Some(15)));
    let set = set(&[log]).unwrap();
    let mut reader = set.reader(0).unwrap();
    let mut kinds = Vec::new();
    while let Some((_, node)) = reader.next_node().unwrap() {
        kinds.push((node.kind, node.duration_us));
    }
    let coll = (NodeType::CommColl, 0);
    assert_eq!(kinds, [coll, (NodeType::Comp, 4), coll]);
    assert!(set.reader(1).is_err());
}
