//! Chakra traces and logs of NCCL Inspector worked out by hand, on one node where a message takes 1 us and 1 ns a byte, and the shipped example.

use crate::formats::data::own;
use flitwise::config::load;
use flitwise::replay::trace::{Reading, check_file};
use flitwise::run::{Control, Simulation, Status, run_plan};
use flitwise::stop::Stop;
use std::path::Path;
use std::process::Command;

/// Writes a trace of these nodes of each rank in ASTRA-sim's form; ids count from 1.
fn write(dir: &Path, ranks: &[&[String]]) {
    for (rank, nodes) in ranks.iter().enumerate() {
        let numbered = (1..).zip(nodes.iter());
        let nodes: Vec<String> = numbered
            .map(|(id, node)| format!("{{\"Id\": {id}, {node}}}"))
            .collect();
        let text = format!("{{\"workload_graph\": [{}]}}", nodes.join(",\n"));
        std::fs::write(dir.join(format!("t.{rank}.json")), text).unwrap();
    }
}

fn kernel(micros: u64, stream: u32, deps: &str) -> String {
    format!(
        "\"NodeType\": 4, \"is_cpu_op\": false, \"runtime\": {micros}, \"stream\": {stream}, \"data_deps\": [{deps}]"
    )
}

/// A communication; `keys` are its further keys.
fn comm(kind: u32, bytes: u64, keys: &str, deps: &str) -> String {
    format!(
        "\"NodeType\": {kind}, \"is_cpu_op\": false, \"stream\": 7, \"comm_size\": {bytes}, {keys}, \"data_deps\": [{deps}]"
    )
}

fn coll(operation: u32, bytes: u64, group: u32, deps: &str) -> String {
    let keys = format!("\"comm_type\": {operation}, \"pg_name\": \"{group}\"");
    comm(7, bytes, &keys, deps)
}

const GROUPS: &str = "{\"1\": [0, 1], \"2\": [1, 0], \"3\": [1, 2]}";

/// A replay with these keys of the job.
fn simulate(ranks: &[&[String]], keys: &str) -> anyhow::Result<Simulation> {
    let dir = tempfile::tempdir()?;
    write(dir.path(), ranks);
    std::fs::write(dir.path().join("comm_group.json"), GROUPS)?;
    simulate_files(dir.path(), keys)
}

/// A replay of the trace in a directory.
fn simulate_files(dir: &Path, keys: &str) -> anyhow::Result<Simulation> {
    let text = format!(
        "baseline.enabled = false\n[fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n[[job]]\ntrace = '{}'\ntasks_per_node = 8\n\
         intra_node_latency = \"1us\"\nintra_node_bandwidth = \"1GB/s\"\n{keys}\n",
        dir.display()
    );
    let plan = flitwise::config::resolve_text("test", &text, Path::new(""), &[])?;
    Ok(run_plan(&plan, &Control::default(), 1)?.main)
}

/// Execution time in nanoseconds.
#[track_caller]
fn span(ranks: &[&[String]], keys: &str) -> u64 {
    let run = simulate(ranks, keys).unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!(run.status, Status::Complete);
    run.jobs[0].as_ref().expect("it is replayed").execution_ps / 1000
}

#[test]
fn streams_are_ordered_when_asked() {
    let send = comm(5, 1000, "\"comm_dst\": 1", "");
    let recv = comm(6, 1000, "\"comm_src\": 0", "");
    let ranks: [&[String]; 2] = [&[kernel(10, 7, ""), send], &[recv]];
    // The send waits for nothing: it is over long before the kernel.
    assert_eq!(span(&ranks, ""), 10_000);
    assert_eq!(span(&ranks, "order_streams = true"), 10_000 + 2_000);
}

#[test]
fn a_stream_computes_one_kernel_at_a_time() {
    let beside = [kernel(10, 7, ""), kernel(6, 8, "")];
    assert_eq!(span(&[&beside], ""), 10_000);
    let one = [kernel(10, 7, ""), kernel(6, 7, "")];
    assert_eq!(span(&[&one], ""), 16_000);
}

#[test]
fn collectives_of_several_groups_are_under_way_at_once() {
    // Two members exchange 1,000 bytes.
    let both = [coll(0, 1000, 1, ""), coll(0, 1000, 2, "")];
    assert_eq!(span(&[&both, &both], ""), 2_000);
    let chained = [coll(0, 1000, 1, ""), coll(0, 1000, 2, "1")];
    assert_eq!(span(&[&chained, &chained], ""), 4_000);
    // The kernel of rank 1 computes meanwhile; one that needs the result follows.
    let beside = [coll(0, 1000, 1, ""), kernel(5, 7, ""), kernel(5, 7, "1")];
    assert_eq!(span(&[&both[..1], &beside], ""), 10_000);
}

#[test]
fn channels_share_the_data_of_a_collective() {
    // Each of 2 rounds of a ring takes 1 us and 1 ns for each byte of half of a channel's data.
    let ring = "collectives = { allreduce = \"ring\" }";
    let reduced = |bytes: u64, keys: &str| {
        let nodes = [coll(0, bytes, 1, ""), kernel(5, 7, "1")];
        span(&[&nodes, &nodes[..1]], &format!("{ring}\n{keys}")) - 5_000
    };
    let least = 1 << 16;
    assert_eq!(reduced(least, ""), 2_000 + least);
    assert_eq!(reduced(least, "channels = 2"), 2_000 + least / 2);
    assert_eq!(
        reduced(2 * least, "channels = 3"),
        2_000 + (2 * least).div_ceil(3) + 1
    );
    // Not every channel has 32 KiB.
    assert_eq!(reduced(least, "channels = 64"), 2_000 + least / 2);
    assert_eq!(reduced(least - 2, "channels = 2"), 2_000 + least - 2);
    let refused = |keys: &str| format!("{:#}", simulate(&[&[]], keys).unwrap_err());
    let text = refused("channels = 65");
    assert!(text.contains("a collective has 1 to 64 channels"), "{text}");
}

/// The rank that brings most decides for all.
#[test]
fn ranks_with_different_sizes_take_the_same_channels() {
    for operation in [2, 5, 6, 7] {
        let ranks = [100_000, 40_000].map(|bytes| [coll(operation, bytes, 1, "")]);
        let [larger, smaller] = &ranks;
        for channels in [1, 2, 8] {
            let keys = format!("channels = {channels}");
            let run = simulate(&[larger, smaller], &keys).unwrap();
            assert_eq!(run.status, Status::Complete, "{operation}: {keys}");
        }
    }
}

#[test]
fn channels_keep_order_and_root() {
    let bytes = 1 << 17;
    let keys = |root: u32| format!("\"comm_type\": 5, \"pg_name\": \"3\", \"comm_src\": {root}");
    let casts = [comm(7, bytes, &keys(2), ""), comm(7, bytes, &keys(1), "1")];
    let ranks: [&[String]; 3] = [&[], &casts, &casts];
    assert_eq!(span(&ranks, "channels = 4"), 2 * (1_000 + bytes / 4));
}

/// Two GPUs on each of two nodes, with a NIC each: a ring enters a node at one GPU and leaves it at the other.
#[test]
fn channels_take_all_nics_of_a_node() {
    let nodes = [coll(0, 1 << 20, 9, "")];
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[&nodes, &nodes, &nodes, &nodes]);
    std::fs::write(dir.path().join("comm_group.json"), "{\"9\": [0, 1, 2, 3]}").unwrap();
    let run = |channels: u32| {
        let text = format!(
            "baseline.enabled = false\n[fabric]\ntopology = {{ kind = \"single\", nics = 8 }}\n[node]\nnics = 4\nbandwidth = \"1000GB/s\"\n\
             [[job]]\ntrace = '{}'\nplacement = {{ list = [2, 3, 4, 5] }}\nchannels = {channels}\ncollectives = {{ allreduce = \"ring\" }}\n",
            dir.path().display()
        );
        let plan = flitwise::config::resolve_text("test", &text, Path::new(""), &[]).unwrap();
        let run = run_plan(&plan, &Control::default(), 1).unwrap().main;
        assert_eq!(run.status, Status::Complete);
        run.jobs[0].as_ref().unwrap().execution_ps as f64
    };
    let ratio = run(1) / run(2);
    assert!((1.8..=2.0).contains(&ratio), "{ratio}");
}

#[test]
fn groups_have_their_own_ranks_and_roots() {
    // Ranks 1 and 2 gather 500 bytes of each; rank 0 only computes.
    let gather = [coll(2, 500, 3, "")];
    let ranks: [&[String]; 3] = [&[kernel(1, 7, "")], &gather, &gather];
    assert_eq!(
        span(&ranks, "collectives = { allgather = \"ring\" }"),
        1_500
    );
    // The root of a broadcast is rank 2, which computes first.
    let cast = |deps: &str| {
        let keys = "\"comm_type\": 5, \"pg_name\": \"3\", \"comm_src\": 2";
        comm(7, 1000, keys, deps)
    };
    let ranks: [&[String]; 3] = [&[], &[cast("")], &[kernel(4, 7, ""), cast("1")]];
    assert_eq!(span(&ranks, ""), 4_000 + 2_000);
}

#[test]
fn operations_take_as_long_as_the_speed_says() {
    let node = "\"NodeType\": 4, \"is_cpu_op\": false, \"num_ops\": 6000".to_owned();
    let ranks: [&[String]; 1] = [&[node]];
    assert_eq!(span(&ranks, "host_speed = 2e9"), 3_000);
    let refused = format!("{:#}", simulate(&ranks, "").unwrap_err());
    assert!(refused.contains("set host_speed"), "{refused}");
}

/// The errors and warnings that a check of a trace of these ranks finds.
fn refused(ranks: &[&[String]]) -> String {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), ranks);
    std::fs::write(dir.path().join("comm_group.json"), GROUPS).unwrap();
    match check_file(dir.path(), Stop::never()) {
        Ok(file) => file.doubts().unwrap_or_default(),
        Err(e) => format!("{e:#}"),
    }
}

#[test]
fn ranks_that_disagree_are_named() {
    let [reduce, gather] = [coll(0, 8, 1, ""), coll(2, 8, 1, "")];
    let reduce = [reduce];
    let ranks: [&[String]; 2] = [&reduce, &[gather]];
    let text = refused(&ranks);
    assert!(
        text.contains("allreduce") && text.contains("allgather"),
        "{text}"
    );
    assert!(text.contains("process group `1`"), "{text}");
    let fewer: [&[String]; 2] = [&reduce, &[]];
    assert!(!refused(&fewer).is_empty());
    let send = comm(5, 8, "\"comm_dst\": 1", "");
    let unmatched: [&[String]; 2] = [&[send], &[]];
    let text = refused(&unmatched);
    assert!(
        text.contains("t.0.json: byte 20: rank 0: sends 1 more"),
        "{text}"
    );
}

#[test]
fn the_example_hides_its_reductions() {
    let plan = load(&own("configs/chakra-8.toml"), &[]).unwrap();
    let run = run_plan(&plan, &Control::default(), 1).unwrap().main;
    assert_eq!(run.status, Status::Complete);
    let job = run.jobs[0].as_ref().expect("it is replayed");
    // 4 ranks send activations, 4 gradients.
    assert_eq!(job.point_to_point, 8);
    // The longest chain of kernels is 5 + 3·60 + 3·60 + 3·120 + 3·120 + 30 us; of the messages only the two of the pipeline, of 21 us
    // each, and the last reductions of the first stage are not hidden.
    let us = job.execution_ps / 1_000_000;
    assert!((1_115 + 42..1_115 + 42 + 300).contains(&us), "{us} us");
}

#[test]
fn the_example_is_what_its_generator_writes() {
    let dir = tempfile::tempdir().unwrap();
    let script = own("traces/chakra/generate.py");
    let made = Command::new("python3")
        .arg(&script)
        .arg(dir.path())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    for rank in 0..8 {
        let name = format!("pipeline.{rank}.et");
        let shipped = std::fs::read(script.with_file_name(&name)).unwrap();
        assert_eq!(std::fs::read(dir.path().join(name)).unwrap(), shipped);
    }
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert!(file.remarks().is_empty());
    assert!(file.open(&Reading::default(), Stop::never()).is_ok());
}

/// Two broadcasts of 1,000 B, the second of which each rank calls 100 us after the first one's end.
#[test]
fn logs_of_nccl_inspector_are_replayed() {
    let dir = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let line = |number: u32, stop: u32| {
            format!(
                "{{\"header\": {{\"id\": \"0xa\", \"rank\": {rank}, \"n_ranks\": 2, \"nnodes\": 1}}, \"metadata\": {{\"hostname\": \"h\", \
                 \"pid\": {rank}, \"dump_timestamp_us\": 9000}}, \"coll_perf\": {{\"coll\": \"Broadcast\", \"coll_sn\": {number}, \
                 \"coll_msg_size_bytes\": 1000, \"coll_exec_time_us\": 50, \"event_trace_ts\": {{\"coll_stop_ts\": {stop}}}}}}}\n"
            )
        };
        let log = line(1, 1000) + &line(3, 1150);
        std::fs::write(dir.path().join(format!("h-pid{rank}.log")), log).unwrap();
    }
    let run = simulate_files(dir.path(), "").unwrap();
    assert_eq!(run.status, Status::Complete);
    let job = run.jobs[0].as_ref().unwrap();
    // The root computes for 100 us, its message takes 2 us.
    assert_eq!(job.execution_ps, 102_000_000);
    let trace = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(trace.format(), "NCCL Inspector");
    let remarks = trace.remarks();
    assert!(
        remarks[0].starts_with("2 calls that the logs lack"),
        "{remarks:?}"
    );
}
