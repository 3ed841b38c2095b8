//! Broken schedules: one message each, with the place, the cause and the cure.

use flitwise_formats::goal::{Builder, Op, Schedule, Task, check_file, write};

use crate::{file, gzip, said};

#[track_caller]
fn says(text: &str, message: &str) {
    assert_eq!(said(text.as_bytes()), [message], "{text}");
}

/// A rank with these lines, from line 3 on, of two.
fn rank(lines: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n}}\n")
}

#[test]
fn what_does_not_parse_is_named_with_line_and_column() {
    for (lines, message) in [
        (
            "send 4 to 1",
            "column 7: expected `b` directly after the size, found a blank; sizes are bytes: `64b`",
        ),
        (
            "send 4b from 1",
            "column 9: expected `to` and a rank, found `from`; a send goes `to` a rank, a recv comes `from` one",
        ),
        (
            "send 4b to 2",
            "column 12: expected a rank from 0 to 1, found `2`; correct the rank, or `num_ranks`",
        ),
        (
            "send 4b to -1",
            "column 12: expected a whole number for the rank, found `-1`; see the format's description",
        ),
        (
            "a: sync 5",
            "column 4: expected `send`, `recv` or `calc` after the label, found `sync`; these are all operations of GOAL",
        ),
        (
            "calc 5 nic 1",
            "column 8: expected the end of the line after the statement, found `nic`; one statement is on each line, its parts in the order of the format's description",
        ),
        (
            "calc 99999999999999999999",
            "column 6: expected the time of at most 18446744073709551615, found `99999999999999999999`; correct it",
        ),
        (
            "calc 1 cpu 256",
            "column 12: expected the CPU of at most 255, found `256`; correct it",
        ),
        (
            "a: calc 1\na: calc 2",
            "column 10: label `a` already belongs to operation 0 of rank 0 (both count from 0); give each operation of a rank a label of its own",
        ),
        (
            "a: calc 1\na requires b",
            "column 12: no operation above in rank 0 has the label `b`; define it above, or correct the label",
        ),
        (
            "a: calc 1\na requires a",
            "column 13: an operation waits for itself; correct one label",
        ),
        (
            "\x1b[2J",
            r"column 1: expected `send`, `recv`, `calc`, a label or `}`, found `\x1b[2J`; one statement is on each line",
        ),
    ] {
        let line = 2 + lines.lines().count();
        says(&rank(lines), &format!("a.goal:{line}: {message}"));
    }
}

#[test]
fn ranks_are_all_there_and_in_order() {
    says(
        "",
        "a.goal:1: expected `num_ranks` and the number of ranks, found the end of the file; this is no GOAL schedule, or it is empty",
    );
    says(
        "num_ranks 0\n",
        "a.goal:1: column 11: expected at least 1 rank, found `0`; correct it",
    );
    says(
        "num_ranks 4000000000\n",
        "a.goal:1: column 11: expected the number of ranks of at most 1048576, found `4000000000`; correct it",
    );
    says(
        "num_ranks 2\nrank 1 {\n}\n",
        "a.goal:2: column 6: expected rank 0, found `1`; ranks come in order from 0 to 1",
    );
    says(
        "num_ranks 2\nrank 0 {\n}\n",
        "a.goal:4: expected rank 1 of 2, found the end of the file; it is cut short: copy or make it again",
    );
    says(
        "num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n",
        "a.goal:4: column 1: expected the end of the file after 1 ranks, found `rank`; correct `num_ranks`, or remove what follows",
    );
    says(
        "num_ranks 1\nrank 0 {\n/* a\n",
        "a.goal:3: a comment that begins with `/*` does not end; write `*/` behind it",
    );
    says(
        "num_ranks 1\nrank 0 [\n",
        "a.goal:2: column 8: expected `{` after `rank 0`, found `[`; see the format's description",
    );
}

#[test]
fn other_files_are_named() {
    assert!(said(b"VEF3 2 2 1 0 0 0 1000\n")[0].contains("this is no GOAL schedule"));
    assert!(said(b"\x7fELF\x02\x01\x01\0")[0].contains("binary data of no known format"));
    assert!(said(b"0 init\n0 finalize\n")[0].contains("a time-independent (TI) trace"));
}

#[test]
fn messages_with_two_sizes_are_warnings() {
    let warnings = |sent: &str, received: &str| {
        let text = format!("num_ranks 2\nrank 0 {{\n{sent}\n}}\nrank 1 {{\n{received}\n}}\n");
        let (_dir, path) = file(text.as_bytes());
        let check = check_file(&path).unwrap();
        assert!(check.is_clean(), "{:?}", check.errors.first);
        let shown = check.warnings.first.iter().map(ToString::to_string);
        shown.collect::<Vec<_>>().join("\n")
    };
    let two = "send 100b to 1 tag 7\nsend 50b to 1 tag 7";
    let both = warnings(two, "recv 50b from 0 tag 7\nrecv 50b from 0 tag 7");
    assert!(
        both.ends_with("a.goal:4: rank 0 sends 50 bytes more to rank 1 with tag 7 than are received; the replay uses the sizes of the sends"),
        "{both}"
    );
    // In another order they are the same ones.
    for received in [
        "recv 50b from 0 tag 7\nrecv 100b from 0 tag 7",
        "recv 1b from -1 tag 7\nrecv 1b from -1 tag 7",
    ] {
        assert_eq!(warnings(two, received), "");
    }
}

#[test]
fn long_lines_are_refused_without_reading_them() {
    let long = format!("num_ranks 1\nrank 0 {{\ncalc {}\n}}\n", "1".repeat(100_000));
    says(
        &long,
        "a.goal:3: a line of more than 1024 bytes; write one statement on each line, and a long comment on lines of its own",
    );
    let junk = "x".repeat(10 << 20);
    let (_dir, path) = file(&gzip(junk.as_bytes()));
    let error = check_file(&path).unwrap();
    assert!(
        error.errors.first[0]
            .message
            .contains("this is no GOAL schedule")
    );
    // A comment may be as long as it likes.
    let text = format!("// {junk}\n/* {junk}\n{junk} */ num_ranks 1\nrank 0 {{ }}\n");
    assert_eq!(said(text.as_bytes()), [""; 0]);
}

#[test]
fn cycles_are_named_by_their_places() {
    let text = rank(
        "a: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\na requires b\nb irequires c\nc requires a\nd requires c",
    );
    says(
        &text,
        "a.goal:3: rank 0, operation 0: a calc that can never start: it waits for the end of operation 1 \
        (calc, line 4), which waits for the start of operation 2 (calc, line 5), which waits for the end of operation \
        0 (calc, line 3); remove one of these dependencies (4 operations of the rank can't start)",
    );
}

#[test]
fn messages_without_a_counterpart_are_named() {
    let text = "num_ranks 2\nrank 0 {\nsend 4b to 1 tag 5\nsend 4b to 1 tag 5\n}\nrank 1 {\nrecv 4b from 0 tag 5\n\
                recv 4b from 1\n}\n";
    assert_eq!(
        said(text.as_bytes()),
        [
            "a.goal:4: rank 0 sends 1 more to rank 1 with tag 5 than it receives; this is the last one: add a recv \
             there, or correct destination or tag",
            "a.goal:8: rank 1 receives 1 more from rank 1 with tag 0 than are sent; this is the last one: add a send \
             there, or correct source or tag",
        ]
    );
    let any = |n: usize| {
        rank(&format!(
            "send 4b to 0 tag 7\n{}",
            "recv 4b from -1 tag -1\n".repeat(n)
        ))
    };
    assert_eq!(said(any(1).as_bytes()), [""; 0]);
    says(
        &any(2),
        "a.goal: rank 0 receives 2 messages, but 1 are sent to it; correct their number",
    );
}

/// The binary form of a schedule of two ranks.
fn binary() -> Vec<u8> {
    let mut builder = Builder::new("a".as_ref(), 2).unwrap();
    for (send, recv) in [(1, 0), (0, 1)] {
        let (bytes, tag) = (64, 3);
        builder
            .op(Op::new(Task::Send {
                bytes,
                to: send,
                tag,
            }))
            .unwrap();
        let from = Some(1 - recv);
        builder
            .op(Op::new(Task::Recv {
                bytes,
                from,
                tag: Some(tag),
            }))
            .unwrap();
        let (of, on) = (1, 0);
        let kind = flitwise_formats::goal::DependencyKind::Done;
        builder
            .dependency(flitwise_formats::goal::Dependency { of, on, kind })
            .unwrap();
        builder.end_rank().unwrap();
    }
    let mut out = Vec::new();
    write::binary(&builder.finish().unwrap(), &mut out).unwrap();
    assert_eq!(said(&out), [""; 0]);
    out
}

#[test]
fn a_binary_file_that_is_cut_anywhere_is_refused() {
    let whole = binary();
    for cut in 8..whole.len() {
        let said = said(&whole[..cut]);
        assert!(
            said.len() == 1 && said[0].contains("cut short"),
            "{cut}: {said:?}"
        );
        assert!(said[0].contains("a.goal: byte "), "{cut}: {said:?}");
    }
}

/// The list of operations without dependencies names operation 0 of each rank.
#[test]
fn a_binary_file_lists_each_root_once() {
    let whole = binary();
    let head = [2, 1].map(u32::to_le_bytes).concat();
    let at = whole.windows(head.len()).position(|bytes| bytes == head);
    let list = at.unwrap() + head.len();
    for (root, problem) in [
        (1, "lists it, and it has 1;"),
        (2, "lists it, and has 2 operations;"),
    ] {
        let mut bytes = whole.clone();
        bytes[list] = root;
        let said = said(&bytes);
        assert!(said.len() == 1 && said[0].contains(problem), "{said:?}");
        assert!(
            said[0].contains(&format!("a.goal: byte {list}:")),
            "{said:?}"
        );
    }
}

#[test]
fn a_text_that_is_cut_anywhere_is_refused() {
    let text = rank("a: send 64b to 1 tag 5\nb: calc 6\nb requires a")
        .replace("rank 1 {\n", "rank 1 {\nrecv 64b from 0 tag 5\n");
    assert_eq!(said(text.as_bytes()), [""; 0]);
    let end = text.rfind('}').unwrap();
    for cut in 0..=end {
        let said = said(&text.as_bytes()[..cut]);
        assert!(
            said.len() == 1 && said[0].starts_with("a.goal:"),
            "{cut}: {said:?}"
        );
    }
}

#[test]
fn a_packed_file_that_is_cut_is_an_error() {
    for bytes in [binary(), rank("calc 5").into_bytes()] {
        let packed = gzip(&bytes);
        let (_dir, path) = file(&packed[..packed.len() - 9]);
        let error = Schedule::open(&path).unwrap_err().to_string();
        assert!(error.contains("gzip data are damaged"), "{error}");
    }
}

#[test]
fn no_changed_byte_of_a_binary_file_does_more_than_to_be_refused() {
    let whole = binary();
    for at in 8..whole.len() {
        for value in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            for message in said(&bytes) {
                assert!(message.starts_with("a.goal"), "{message}");
            }
        }
    }
}
