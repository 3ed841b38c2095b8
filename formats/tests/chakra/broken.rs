//! Traces that are refused, and why.

use super::write::{self, Form, Node};
use super::{COLL, COMP, RECV, SEND, all_reduce, init, open, read};

/// Reads a file of these bytes: it is read or refused by name.
pub fn walk(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.0.et"), bytes).unwrap();
    match open(dir.path(), true) {
        Ok(trace) => assert_eq!(trace.schedule.ranks(), 1),
        Err(message) => assert!(message.contains("t.0.et"), "{message}"),
    }
}

/// The only error of a trace of these nodes of rank 0, and a rank 1 without any.
#[track_caller]
fn error(nodes: Vec<Node>) -> String {
    let trace = read(&[nodes, Vec::new()], Form::Binary, false).unwrap();
    assert_eq!(trace.errors.total, 1, "{:?}", trace.errors);
    let text = trace.errors.first[0].to_string();
    assert!(text.contains("t.0.et: byte "), "{text}");
    text
}

#[test]
fn errors_name_the_node_and_the_cure() {
    let size = |kind| Node::new(3, kind).with("comm_size", 8);
    let cases = [
        (
            vec![Node::new(3, COMP).after(&[8])],
            "node 3 waits for node 8, which is not in the file",
        ),
        (
            vec![Node::new(3, COMP).after(&[3])],
            "node 3 waits for itself",
        ),
        (
            vec![Node::new(3, COMP), Node::new(3, COMP)],
            "node 3: an earlier node has its id",
        ),
        (
            vec![
                Node::new(1, COMP).after(&[2]),
                Node::new(2, COMP).after(&[1]),
            ],
            "can never start",
        ),
        (vec![size(SEND)], "node 3: no `comm_dst`"),
        (vec![size(RECV)], "node 3: no `comm_src`"),
        (
            vec![size(SEND).with("comm_dst", 2)],
            "`comm_dst` is 2, but the trace has the ranks 0 to 1",
        ),
        (
            vec![size(SEND).with("comm_dst", 1).with("comm_src", 1)],
            "`comm_src` is another rank than 0",
        ),
        (
            vec![Node::new(3, SEND).with("comm_dst", 1)],
            "node 3: no `comm_size`",
        ),
        (
            vec![
                size(SEND)
                    .with("comm_dst", 1)
                    .with("comm_tag", u64::from(u32::MAX)),
            ],
            "`comm_tag` is beyond",
        ),
        (vec![size(COLL)], "no `comm_type`"),
        (
            vec![size(COLL).with("comm_type", 10)],
            "`comm_type` is 10, which is no collective",
        ),
        (vec![all_reduce(3)], "process group `1` is not defined"),
        (
            vec![init(1, "[1]"), all_reduce(3)],
            "rank 0 is not in process group `1`",
        ),
        (
            vec![init(1, "[0, 0]"), all_reduce(3)],
            "process group `1` has a rank twice",
        ),
        (
            vec![init(1, "[0, 5]"), all_reduce(3)],
            "process group `1` has rank 5",
        ),
        (
            vec![init(1, "oops")],
            "node 1: its inputs are no list of process groups",
        ),
        (
            vec![Node::new(3, COMP).micros(u64::MAX)],
            "beyond the range of time",
        ),
    ];
    for (nodes, expected) in cases {
        let text = error(nodes);
        assert!(text.contains(expected), "{text}\n{expected}");
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let said = |bytes: &[u8], name: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(name), bytes).unwrap();
        open(&dir.path().join(name), false).unwrap_err()
    };
    let whole = write::file(&[Node::new(1, COMP)], Form::Binary);
    let cut = said(&whole[..whole.len() - 1], "t.0.et");
    assert!(
        cut.contains("t.0.et: byte 8: the file ends within a node"),
        "{cut}"
    );
    let empty = said(b"", "t.0.et");
    assert!(empty.contains("no Chakra trace"), "{empty}");
    let huge = said(b"\xff\xff\xff\xff\xff\x01", "t.0.et");
    assert!(huge.contains("a node of 68719476735 bytes"), "{huge}");
    let host = said(
        br#"{"schema": "1.1.1-chakra.0.0.4", "nodes": []}"#,
        "t.0.json",
    );
    assert!(host.contains("a host trace of PyTorch"), "{host}");
    for (key, text) in [
        ("nodes", r#"{"nodes": [{"id": 1, "type": "COMP_NODE"}]}"#),
        // A list of nodes behind another key.
        (
            "workload_graph",
            r#"{"version": "1", "workload_graph": []}"#,
        ),
    ] {
        let other = said(text.as_bytes(), "t.0.json");
        let expected = format!("byte 0: an object with `{key}`, which is no node");
        assert!(other.contains(&expected), "{other}");
    }
    let kind = said(br#"{"id": "4", "type": "SLEEP_NODE"}"#, "t.0.json");
    assert!(
        kind.contains("byte 0: node 4: unknown type \"SLEEP_NODE\""),
        "{kind}"
    );
    let number = said(
        br#"{"id": "4", "type": 4, "durationMicros": -1}"#,
        "t.0.json",
    );
    assert!(
        number.contains("node 4: `duration_micros` is no whole number"),
        "{number}"
    );
}

#[test]
fn ranks_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = write::file(&[], Form::Binary);
    std::fs::write(dir.path().join("t.0.et"), &bytes).unwrap();
    std::fs::write(dir.path().join("t.2.et"), &bytes).unwrap();
    let said = open(dir.path(), false).unwrap_err();
    assert!(said.contains("none of rank 1"), "{said}");
    std::fs::write(dir.path().join("t.1.et"), &bytes).unwrap();
    assert!(open(dir.path(), false).is_ok());
    std::fs::write(dir.path().join("u.0.et"), &bytes).unwrap();
    let said = open(dir.path(), false).unwrap_err();
    assert!(said.contains("`t` and others"), "{said}");
    assert!(open(&dir.path().join("u.0.et"), false).is_ok());
}
