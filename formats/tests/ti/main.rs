//! TI traces: parsed, written, checked and counted, as a list of files, as one file, and from an archive.

#[path = "../support/data.rs"]
mod data;
#[path = "../support/mutate.rs"]
mod mutate;

mod broken;
mod datatypes;
mod files;
mod given;
mod properties;

use std::io::Write;
use std::path::{Path, PathBuf};

use flitwise_formats::ti::{Action, Check, Trace, check_file};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// These files in a folder of their own; the path of the first.
fn files(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let first = dir.path().join(files[0].0);
    (dir, first)
}

/// `text` in a file called `a.txt`.
fn file(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
    files(&[("a.txt", text)])
}

fn contents(trace: &Trace) -> Vec<Vec<Action>> {
    let rank = |rank| trace.rank(rank).unwrap().map(|a| a.unwrap().1).collect();
    (0..trace.ranks()).map(rank).collect()
}

/// The errors of a check, or why there is none, without the folder.
fn said(path: &Path) -> Vec<String> {
    let folder = format!("{}/", path.parent().unwrap().display());
    let shown = match check_file(path) {
        Ok(check) => messages(&check),
        Err(e) => vec![e.to_string()],
    };
    shown
        .iter()
        .map(|message| message.replace(&folder, ""))
        .collect()
}

fn messages(check: &Check) -> Vec<String> {
    assert_eq!(check.errors.total as usize, check.errors.first.len());
    check.errors.first.iter().map(ToString::to_string).collect()
}

fn said_of(text: &str) -> Vec<String> {
    let (_dir, path) = file(text.as_bytes());
    said(&path)
}

/// The actions of rank 0 in a trace of `ranks` ranks, whose others only begin.
fn of_rank_0(ranks: u32, lines: &str) -> Vec<Action> {
    let others: String = (0..ranks).map(|k| format!("{k} init\n")).collect();
    let (_dir, path) = file(format!("{others}{lines}").as_bytes());
    let trace = Trace::open(path).unwrap();
    trace
        .rank(0)
        .unwrap()
        .skip(1)
        .map(|a| a.unwrap().1)
        .collect()
}

/// `line` with every argument, as the writer has it.
fn full(ranks: u32, line: &str) -> String {
    let actions = of_rank_0(ranks, line);
    let mut out = Vec::new();
    for action in &actions {
        flitwise_formats::ti::write::line(&mut out, 0, action).unwrap();
    }
    String::from_utf8(out).unwrap().trim_end().to_owned()
}

#[test]
fn arguments_may_be_missing_at_the_end() {
    for (short, long) in [
        ("0 init 1", "0 init"),
        ("0 comm_size 4", "0 comm_size 4"),
        ("0 comm_split 3 4", "0 comm_split"),
        ("0 location main.c 17", "0 location"),
        ("0 compute 5e8", "0 compute 500000000"),
        ("0 COMPUTE 11.676", "0 compute 1.1676e1"),
        ("0 sleep 0.06", "0 sleep 6e-2"),
        ("p0 send 1 0 1e6", "0 send 1 0 1000000 6"),
        ("rank-0 Isend 3 7 10 0", "0 isend 3 7 10 0"),
        ("0 Ssend 3 7 10 -1", "0 ssend 3 7 10 -1"),
        ("0 ISsend 3 7 10 0 ", "0 issend 3 7 10 0"),
        ("0 bsend 3 7 10 0", "0 bsend 3 7 10 0"),
        ("0 ibsend 3 7 10 0", "0 ibsend 3 7 10 0"),
        ("0 recv -555 -444 10.4", "0 recv -555 -444 10 6"),
        ("0 irecv -1 3 10 1", "0 irecv -555 3 10 1"),
        ("0 sendRecv 100 1 200 2", "0 sendRecv 100 1 200 2 6 6"),
        (
            "0 sendrecv 100 1 200 -1 0 1",
            "0 sendRecv 100 1 200 -555 0 1",
        ),
        ("0 wait 0 1 2", "0 wait 0 1 2"),
        ("0 test 0 1 -444", "0 test 0 1 -444"),
        ("0 waitall", "0 waitall"),
        ("0 waitAll 26", "0 waitall 26"),
        ("0 waitAny 2", "0 waitany 2"),
        ("0 testany", "0 testany"),
        ("0 testAll", "0 testall"),
        ("0 testsome", "0 testsome"),
        ("0 barrier", "0 barrier"),
        ("0 bcast 5e4", "0 bcast 50000 0 6"),
        ("0 bcast 5e4 1", "0 bcast 50000 1 6"),
        ("0 reduce 5e4 5e8", "0 reduce 50000 500000000 0 6"),
        ("0 reduce 5e4 5e8 2 4", "0 reduce 50000 500000000 2 4"),
        ("0 allreduce 5e4 5e8", "0 allreduce 50000 500000000 6"),
        ("0 scan 4 0 1", "0 scan 4 0 1"),
        ("0 exscan 4 0.5", "0 exscan 4 5e-1 6"),
        ("0 allToAll 500 600", "0 alltoall 500 600 6 6"),
        ("0 alltoall 0 1 2", "0 alltoall 0 0 1 2"),
        ("0 alltoall 5 5 2", "0 alltoall 5 5 2 6"),
        ("0 allgather 5 5 1 1", "0 allgather 5 5 1 1"),
        ("0 gather 68 68 2", "0 gather 68 68 2 6 6"),
        ("0 gather 68 2 0 1", "0 gather 68 0 2 0 1"),
        ("0 gather 68 68 0 0 0", "0 gather 68 68 0 0 0"),
        ("0 scatter 68 68", "0 scatter 68 68 0 6 6"),
        ("0 gatherV 68 1 2 3 4", "0 gatherv 68 1 2 3 4 0 6 6"),
        ("0 gatherv 68 1 2 3 4 3 0 1", "0 gatherv 68 1 2 3 4 3 0 1"),
        ("0 gatherv 68 3 0 1", "0 gatherv 68 3 0 1"),
        ("0 scatterv 1 2 3 4 68 1", "0 scatterv 1 2 3 4 68 1 6 6"),
        ("0 scatterv 68 3 0 1", "0 scatterv 68 3 0 1"),
        ("0 allGatherV 68 1 2 3 4", "0 allgatherv 68 1 2 3 4 6 6"),
        ("0 allgatherv 68 1 2 3 4 0 1", "0 allgatherv 68 1 2 3 4 0 1"),
        (
            "0 allgatherv 68 1 2 3 4 0 1 3 6 0 1",
            "0 allgatherv 68 1 2 3 4 0 1",
        ),
        (
            "0 reduceScatter 1 2 3 4 5e6",
            "0 reducescatter 1 2 3 4 5000000 6",
        ),
        (
            "0 alltoallv 9 1 2 3 4 8 4 3 2 1",
            "0 alltoallv 9 1 2 3 4 8 4 3 2 1 6 6",
        ),
        (
            "0 ialltoallv 9 1 2 3 4 8 4 3 2 1 0 1",
            "0 ialltoallv 9 1 2 3 4 8 4 3 2 1 0 1",
        ),
        ("0 ibarrier", "0 ibarrier"),
        ("0 iallreduce 1 2 0", "0 iallreduce 1 2 0"),
    ] {
        assert_eq!(full(4, short), long, "{short}");
        assert_eq!(full(4, long), long, "{long}");
    }
}

#[test]
fn empty_lines_comments_and_a_last_line_without_a_line_feed_are_read() {
    let text = "# by hand\n\n1 init\n   \n0 init\r\n0 barrier \n\t1 barrier\n# 7 junk\n1 finalize\n\n0 finalize";
    let (_dir, path) = file(text.as_bytes());
    let trace = Trace::open(&path).unwrap();
    assert_eq!(said(&path), [""; 0]);
    let lines = |rank| -> Vec<u64> { trace.rank(rank).unwrap().map(|a| a.unwrap().0).collect() };
    assert_eq!(lines(0), [5, 6, 11]);
    assert_eq!(lines(1), [3, 7, 9]);
}

#[test]
fn names_in_a_list_are_found() {
    let ranks: [&[u8]; 2] = [b"0 init\n0 finalize\n", b"1 init\n1 finalize\n"];
    for list in [
        "x/0.txt\nx/1.txt\n",
        "\nx/0.txt \r\n# comment\n./x/1.txt",
        "elsewhere/0.txt\nx/1.txt",
    ] {
        let (dir, path) = files(&[
            ("set.txt", list.as_bytes()),
            ("x/0.txt", ranks[0]),
            ("x/1.txt", &gzip(ranks[1])),
        ]);
        if list.starts_with("else") {
            std::fs::rename(dir.path().join("x/0.txt"), dir.path().join("0.txt")).unwrap();
        }
        assert_eq!(said(&path), [""; 0]);
        let trace = Trace::open(&path).unwrap();
        assert_eq!(
            contents(&trace),
            [
                [Action::Init, Action::Finalize],
                [Action::Init, Action::Finalize]
            ]
        );
        // Again, and both at once.
        let (mut a, mut b) = (trace.rank(1).unwrap(), trace.rank(1).unwrap());
        assert_eq!(a.next_action().unwrap(), b.next_action().unwrap());
    }
    // As SimGrid takes them: relative to the folder in which it ran.
    let (_dir, path) = files(&[
        ("run/set.txt", b"run/0.txt\nrun/1.txt\n"),
        ("run/0.txt", ranks[0]),
        ("run/1.txt", ranks[1]),
    ]);
    assert_eq!(Trace::open(path).unwrap().ranks(), 2);
    // One file for all ranks.
    let (_dir, path) = files(&[("set.txt", b"all.txt\n"), ("all.txt", &ranks.concat())]);
    assert_eq!(Trace::open(path).unwrap().ranks(), 2);
}
