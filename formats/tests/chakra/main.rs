//! Chakra traces: read in all forms, refused, and ordered.

mod broken;
mod write;

use flitwise_base::stop::Stop;
use flitwise_formats::chakra::{Options, Set, Trace};
use flitwise_formats::collective::Operation;
use flitwise_formats::goal::{Dependency, DependencyKind, Op, Task};
use flitwise_formats::source::Input;
use proptest::prelude::*;
use std::path::Path;
use write::{Form, Node};

const COMP: u64 = 4;
const SEND: u64 = 5;
const RECV: u64 = 6;
const COLL: u64 = 7;

fn open(path: &Path, order: bool) -> Result<Trace, String> {
    let set = Set::of_input(&Input::new(path), Stop::never()).map_err(|e| e.to_string())?;
    let options = Options {
        order_streams: order,
        ..Options::default()
    };
    Trace::read(&set, &options, Stop::never()).map_err(|e| e.to_string())
}

/// The trace of these ranks.
fn read(ranks: &[Vec<Node>], form: Form, order: bool) -> Result<Trace, String> {
    let dir = tempfile::tempdir().unwrap();
    write::trace(dir.path(), ranks, form);
    open(dir.path(), order).map_err(|e| e.replace(&dir.path().display().to_string(), "DIR"))
}

/// The operations and dependencies of each rank.
fn contents(trace: &Trace) -> Vec<(Vec<Op>, Vec<Dependency>)> {
    let rank = |rank| {
        let mut block = trace.schedule.rank(rank).unwrap();
        let (mut ops, mut dependencies) = (Vec::new(), Vec::new());
        for on in 0..block.len() {
            let node = block.node(on).unwrap();
            ops.push(node.op);
            let add = |of, kind| dependencies.push(Dependency { of, on, kind });
            block.successors(on, &node, add).unwrap();
        }
        dependencies.sort();
        (ops, dependencies)
    };
    (0..trace.schedule.ranks()).map(rank).collect()
}

/// One collective of both ranks.
fn all_reduce(id: u64) -> Node {
    let node = Node::new(id, COLL).with("comm_type", 0);
    node.with("comm_size", 64).group("1")
}

fn init(id: u64, ranks: &str) -> Node {
    let mut node = Node::new(id, 1);
    node.inputs = Some(format!("['[{{\"pg_name\": \"1\", \"ranks\": {ranks}}}]']"));
    node
}

#[test]
fn nodes_become_operations() {
    let ranks = [
        vec![
            init(1, "[1, 0]"),
            Node::new(2, COMP).micros(3).after(&[1]).gpu(7),
            Node::new(4, COMP).with("num_ops", 500).after(&[2]),
            Node::new(9, SEND)
                .with("comm_size", 10)
                .with("comm_dst", 1)
                .with("comm_tag", 5)
                .after(&[2]),
            all_reduce(11).after(&[9]),
            // The second collective of a group starts after the first one.
            Node::new(12, COLL)
                .with("comm_type", 5)
                .with("comm_size", 8)
                .with("comm_src", 0)
                .group("1"),
        ],
        vec![
            init(0, "[1, 0]"),
            Node::new(5, RECV)
                .with("comm_size", 10)
                .with("comm_src", 0)
                .with("comm_tag", 5),
        ],
    ];
    let trace = read(&ranks, Form::Binary, false).unwrap();
    assert!(trace.errors.is_empty(), "{:?}", trace.errors);
    let all = contents(&trace);
    let calc = |time| Task::Calc { time };
    let collective = |operation, bytes, root| Task::Collective {
        operation,
        bytes,
        group: 0,
        root,
    };
    let send = Task::Send {
        bytes: 10,
        to: 1,
        tag: 5,
    };
    let tasks: Vec<Task> = all[0].0.iter().map(|op| op.task).collect();
    let expected = [
        calc(0),
        calc(3000),
        Task::Work { operations: 500 },
        send,
        collective(Operation::Allreduce, 64, 0),
        // Rank 0 is the second member.
        collective(Operation::Bcast, 8, 1),
    ];
    assert_eq!(tasks, expected);
    let edge = |of, on, kind| Dependency { of, on, kind };
    let done = [(1, 0), (2, 1), (3, 1), (4, 3)];
    let mut edges: Vec<_> = done
        .map(|(of, on)| edge(of, on, DependencyKind::Done))
        .to_vec();
    edges.push(edge(5, 4, DependencyKind::Started));
    assert_eq!(all[0].1, edges);
    let groups: Vec<_> = trace
        .groups
        .iter()
        .map(|g| (&*g.name, &*g.members))
        .collect();
    assert_eq!(groups, [("1", &[1, 0][..])]);
    // Computations of threads and streams have a CPU each; communications share one.
    let cpus: Vec<u8> = all[0].0.iter().map(|op| op.cpu).collect();
    assert_eq!(cpus, [1, 2, 1, 0, 0, 0]);
}

#[test]
fn streams_are_put_in_order() {
    let kernel = |id, start| {
        let mut node = Node::new(id, COMP).gpu(7).micros(1);
        node.start = start;
        node
    };
    // Node 2 started last; node 9 is of another stream.
    let rank = vec![
        kernel(2, 30),
        kernel(3, 10),
        kernel(4, 20),
        Node::new(9, COMP).gpu(8),
    ];
    let ranks = [rank];
    let plain = read(&ranks, Form::Binary, false).unwrap();
    assert_eq!((plain.counts.lost, plain.warnings.total), (2, 2));
    let first = plain.warnings.first[0].to_string();
    assert!(
        first.contains("t.0.et: byte ") && first.contains("node 3, a kernel of stream 7"),
        "{first}"
    );
    assert_eq!(contents(&plain)[0].1, []);
    let ordered = read(&ranks, Form::Binary, true).unwrap();
    assert_eq!(ordered.counts.lost, 0);
    let pairs: Vec<_> = contents(&ordered)[0]
        .1
        .iter()
        .map(|d| (d.of, d.on))
        .collect();
    assert_eq!(pairs, [(0, 2), (2, 1)]);
    // Successors that the trace has are no loss.
    let chained = [vec![
        kernel(1, 0),
        kernel(2, 0).after(&[1]),
        kernel(3, 0).after(&[2]),
    ]];
    assert_eq!(read(&chained, Form::Binary, false).unwrap().counts.lost, 0);
}

#[test]
fn an_order_against_the_dependencies_is_an_error() {
    let ranks = [vec![
        Node::new(1, COMP).gpu(7).after(&[2]),
        Node::new(2, COMP).gpu(7),
    ]];
    assert!(read(&ranks, Form::Binary, false).unwrap().errors.is_empty());
    let errors = read(&ranks, Form::Binary, true).unwrap().errors;
    assert_eq!(errors.total, 1);
    let text = errors.first[0].to_string();
    assert!(text.contains("can never start"), "{text}");
}

#[test]
fn messages_with_two_sizes_are_warnings() {
    let sent = |bytes: u64, tag: u64| {
        let node = Node::new(tag, SEND).with("comm_size", bytes);
        node.with("comm_dst", 0).with("comm_tag", tag)
    };
    let received = |bytes: u64, tag: u64| {
        let node = Node::new(tag, RECV).with("comm_size", bytes);
        node.with("comm_src", 1).with("comm_tag", tag)
    };
    let ranks = [
        vec![received(500, 1), received(8, 2), received(9, 3)],
        vec![sent(1000, 1), sent(8, 2), sent(7, 3)],
    ];
    let warnings = read(&ranks, Form::Binary, false).unwrap().warnings;
    let said: Vec<String> = warnings.first.iter().map(ToString::to_string).collect();
    let [more, fewer] = &said[..] else {
        panic!("{said:#?}")
    };
    assert!(
        more.contains(
            "t.0.et: byte 8: rank 1 sends 500 bytes more to rank 0 with tag 1 than are received"
        ),
        "{more}"
    );
    assert!(fewer.contains("rank 1 sends 2 bytes fewer"), "{fewer}");
}

#[test]
fn groups_come_from_a_file_too() {
    let dir = tempfile::tempdir().unwrap();
    let ranks = [vec![all_reduce(1)], vec![all_reduce(1)]];
    write::trace(dir.path(), &ranks, Form::Binary);
    let said = open(dir.path(), false).unwrap().errors.first[0].to_string();
    assert!(said.contains("process group `1` is not defined"), "{said}");
    std::fs::write(dir.path().join("comm_group.json"), "{\"1\": [1, 0]}").unwrap();
    let trace = open(&dir.path().join("t.1.et"), false).unwrap();
    assert!(trace.errors.is_empty());
    assert_eq!(*trace.groups[0].members, [1, 0]);
}

#[test]
fn archives_and_packed_files_read_alike() {
    let dir = tempfile::tempdir().unwrap();
    let ranks = [vec![init(1, "[0]"), all_reduce(2)]];
    let bytes = write::file(&ranks[0], Form::Binary);
    let path = dir.path().join("a.tar");
    let mut archive = tar::Builder::new(std::fs::File::create(&path).unwrap());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "x/t.0.et", &bytes[..])
        .unwrap();
    archive.finish().unwrap();
    assert!(Set::probe(&path, &std::fs::read(&path).unwrap()));
    let packed = dir.path().join("t.0.et.zst");
    std::fs::write(&packed, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let [archived, packed] = [&path, &packed].map(|path| contents(&open(path, false).unwrap()));
    assert_eq!(archived, packed);
    assert_eq!(
        archived,
        contents(&read(&ranks, Form::Binary, false).unwrap())
    );
}

/// A node that waits for some of those before it.
fn node(index: u64) -> impl Strategy<Value = Node> {
    let before = proptest::collection::vec(0..index.max(1), 0..3);
    let kind = prop_oneof![Just(COMP), Just(SEND), Just(COLL), Just(3)];
    let numbers = (0u64..1 << 40, 0u64..1000, 0u64..10, 0u64..3);
    (kind, before.clone(), before, any::<bool>(), numbers).prop_map(
        move |(kind, ctrl, data, on_gpu, (size, micros, operation, stream))| {
            // Ids from 2^33 on, in both halves of 64 bits.
            let ids = |list: Vec<u64>| match index {
                0 => Vec::new(),
                _ => list.into_iter().map(|id| (id + 1) << 33).collect(),
            };
            let mut node = Node::new((index + 1) << 33, kind).with("comm_size", size);
            (node.ctrl, node.data) = (ids(ctrl), ids(data));
            node = node.micros(micros).with("comm_dst", index % 2);
            node.start = micros * 7 % 5;
            node.on_gpu = on_gpu;
            node.with("comm_type", operation).with("stream", stream)
        },
    )
}

fn rank() -> impl Strategy<Value = Vec<Node>> {
    (1u64..12).prop_flat_map(|n| (0..n).map(node).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn all_forms_say_the_same(ranks in [rank(), rank()], order in any::<bool>()) {
        let [binary, objects, workload] = [Form::Binary, Form::Objects, Form::Workload]
            .map(|form| read(&ranks, form, order).unwrap());
        prop_assert_eq!(contents(&binary), contents(&objects));
        prop_assert_eq!(contents(&binary), contents(&workload));
        prop_assert_eq!(binary.counts, objects.counts);
        prop_assert_eq!(binary.counts, workload.counts);
        prop_assert_eq!(binary.errors.total, objects.errors.total);
        prop_assert_eq!(binary.counts.nodes, (ranks[0].len() + ranks[1].len()) as u64);
    }

    #[test]
    fn any_bytes_are_read_or_refused(ranks in [rank()], form in 0..3, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let form = [Form::Binary, Form::Objects, Form::Workload][form as usize];
        let mut bytes = write::file(&ranks[0], form);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        broken::walk(&bytes);
    }

    #[test]
    fn noise_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        broken::walk(&bytes);
    }
}
