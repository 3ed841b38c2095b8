//! Broken traces: one message each, with the file, the place, the cause and the cure.

use flitwise_formats::ti::{Set, Trace, check_file};

use crate::{file, files, gzip, said, said_of};

#[track_caller]
fn says(line: &str, message: &str) {
    let text = format!("0 init\n1 init\n{line}\n1 finalize\n0 finalize\n");
    assert_eq!(said_of(&text), [format!("a.txt:3: {message}")], "{line}");
}

#[test]
fn what_does_not_parse_is_named_with_its_action() {
    says(
        "0 sned 1 0 5",
        "`sned` is no action of a TI trace; correct it",
    );
    says(
        "0 Win_fence 1",
        "`Win_fence` is recorded, but a replay does not know what it does; record a program that does not use it",
    );
    says(
        "0",
        "expected an action after the rank, found the end of the line; complete it",
    );
    says(
        "0 send 1 0",
        "`send`: the number of elements is missing: it has 2 arguments; complete the line",
    );
    says(
        "0 send 2 0 5",
        "`send`: expected a rank from 0 to 1 for the destination (argument 1), found `2`; correct it",
    );
    says(
        "0 send -1 0 5",
        "`send`: expected a rank from 0 to 1 for the destination (argument 1), found `-1`; correct it",
    );
    says(
        "0 recv 1 x 5",
        "`recv`: expected a number from 0 to 2^31 - 1 for the tag (argument 2), found `x`; correct it",
    );
    says(
        "0 recv 1 4294967296 5",
        "`recv`: expected a number from 0 to 2^31 - 1 for the tag (argument 2), found `4294967296`; correct it",
    );
    says(
        "0 recv 1 0 -5",
        "`recv`: expected a number from 0 to 2^53 for the number of elements (argument 3), found `-5`; correct it",
    );
    says(
        "0 recv 1 0 1e300",
        "`recv`: expected a number from 0 to 2^53 for the number of elements (argument 3), found `1e300`; correct it",
    );
    says(
        "0 recv 1 0 nan",
        "`recv`: expected a number from 0 to 2^53 for the number of elements (argument 3), found `nan`; correct it",
    );
    says(
        "0 compute inf",
        "`compute`: expected a number of at least 0 for the number of flops (argument 1), found `inf`; correct it",
    );
    says(
        "0 bcast 5 1 58",
        "`bcast`: expected a number from -1 to 57 for the datatype (argument 3), found `58`; correct it",
    );
    says(
        "0 reducescatter 1",
        "`reducescatter`: the number of elements received is missing: it has 1 arguments; complete the line",
    );
    says(
        "0 allreduce 1 0 0 0",
        "`allreduce`: has at most 3 arguments in a trace of 2 ranks, found `0` behind them; remove it",
    );
    assert_eq!(
        said_of("0 init\nx init\n"),
        [
            "a.txt:2: expected a rank in the first column, as in `0 init`, found `x`; this is no line of a TI trace"
        ]
    );
    assert_eq!(
        said_of("0 init\n1048576 init\n"),
        ["a.txt:2: expected a rank below 1048576 in the first column, found 1048576; correct it"]
    );
    assert_eq!(
        said_of("0 init\n2 init\n"),
        [
            "a.txt: has lines of rank 2, but none of rank 1; ranks are numbered from 0: correct the first column"
        ]
    );
    // The file of one rank of a set.
    let others = "if other files have the lines of the other ranks, give the list of the files or their directory";
    assert_eq!(
        said_of("7 init\n7 finalize\n"),
        [format!(
            "a.txt: has lines of rank 7 alone; {others}; otherwise number the ranks from 0"
        )]
    );
    assert_eq!(
        said_of("0 init\n0 send 7 0 8\n"),
        [format!(
            "a.txt:2: `send`: the destination is rank 7, but these are the lines of rank 0 alone; {others}; otherwise correct it"
        )]
    );
    assert_eq!(
        said_of(""),
        ["a.txt: has no action in it; it is empty, or no TI trace"]
    );
}

#[test]
fn lists_with_missing_or_wrong_files_are_named() {
    let rank = b"0 init\n0 finalize\n";
    let list = |list: &str| {
        let (_dir, path) = files(&[("a.txt", list.as_bytes()), ("0.txt", rank), ("e.txt", b"")]);
        said(&path)
    };
    assert_eq!(
        list("0.txt\n\nx/1.txt\n"),
        [
            "a.txt:3: there is no file `x/1.txt` in the folder of the list, nor in the one above; copy it there, or correct its name"
        ]
    );
    assert_eq!(
        list("0.txt\n0.txt\n"),
        [
            "0.txt:1: a line of rank 0 in the file of rank 1; correct the rank, or the order of the list of files"
        ]
    );
    assert_eq!(
        list("0.txt\ne.txt\n"),
        ["e.txt: has no action of rank 1; it is empty: record the program again"]
    );
    let (_dir, path) = files(&[
        ("a.txt", b"0.txt\n1.txt\n"),
        ("0.txt", b"0 init\n0 finalize"),
        ("1.txt", b"5 init\n"),
    ]);
    assert_eq!(
        said(&path),
        [
            "1.txt:1: a line of rank 5, but the trace has the ranks 0 to 1; correct it, or its list of files"
        ]
    );
}

#[test]
fn other_files_are_named() {
    let (_dir, path) = file(b"num_ranks 2\nrank 0 {\n}\n");
    assert!(said(&path)[0].contains("a GOAL schedule"));
    let (_dir, path) = file(b"\x7fELF\x02\x01\x01\0");
    assert!(said(&path)[0].contains("binary data of no known format"));
}

#[test]
fn messages_and_collectives_that_do_not_fit_are_named() {
    let whole = |lines: &str| format!("0 init\n1 init\n{lines}0 finalize\n1 finalize\n");
    assert_eq!(
        said_of(&whole("0 send 1 5 9\n0 send 1 5 9\n1 recv 0 5 9\n1 irecv 1 0 9\n")),
        [
            "a.txt:6: rank 1 receives 1 more from rank 1 with tag 0 than are sent; this is the last one: record the \
             program to its end, or correct source or tag",
            "a.txt:4: rank 0 sends 1 more to rank 1 with tag 5 than it receives; this is the last one: record the program \
             to its end, or correct destination or tag",
        ]
        .iter()
        .rev()
        .copied()
        .collect::<Vec<_>>()
    );
    assert_eq!(
        said_of(&whole(
            "0 barrier\n1 barrier\n0 bcast 4 0\n1 bcast 4 1\n0 barrier\n"
        )),
        [
            "a.txt:6: collective 1 of rank 1 is `bcast` with root 1, but `bcast` with root 0 at rank 0 (line 5); all \
          ranks must call the same ones, since the trace names no communicators"
        ]
    );
    assert_eq!(
        said_of(&whole("0 barrier\n")),
        [
            "a.txt:5: rank 1 takes part in 0 collectives, but rank 0 in 1; all ranks must take part in all of them, since the \
          trace names no communicators"
        ]
    );
    assert_eq!(said_of(&whole("0 send 1 5 9\n1 recv -1 -1 9\n")), [""; 0]);
}

#[test]
fn collectives_of_different_sizes_are_warned_of() {
    let warned = |lines: &str| -> Vec<String> {
        let text = format!("0 init\n1 init\n{lines}0 finalize\n1 finalize\n");
        let (_dir, path) = file(text.as_bytes());
        let check = check_file(&path).unwrap();
        assert!(check.is_clean(), "{lines}: {:?}", check.errors);
        let folder = format!("{}/", path.parent().unwrap().display());
        let warnings = check.warnings.first.iter();
        warnings
            .map(|w| w.to_string().replace(&folder, ""))
            .collect()
    };
    assert_eq!(
        warned("0 barrier\n1 barrier\n0 allreduce 10 5\n1 allreduce 20 5\n"),
        [
            "a.txt:6: collective 1, `allreduce`, is of 20 bytes at rank 1, but of 10 at rank 0 (line 5); a replay uses the size at each rank: correct one of them, or record the program again"
        ]
    );
    assert_eq!(
        warned("0 gatherv 5 0 9 0 6 6\n1 gatherv 7 0 0 0 6 6\n"),
        [
            "a.txt:3: collective 0, `gatherv` with root 0: all ranks together send 2 bytes less than they receive; a replay \
             takes each rank as it says: correct the counts, or record the program again"
        ]
    );
    for (fits, differs) in [
        (
            "0 bcast 4 1 1\n1 bcast 16 1\n",
            "0 bcast 4 1 1\n1 bcast 4 1\n",
        ),
        (
            "0 reduce 4 0 0\n1 reduce 4 9 0\n",
            "0 reduce 4 0 0\n1 reduce 0 9 0\n",
        ),
        // In place, and what only the root has to give.
        (
            "0 alltoall 0 8\n1 alltoall 8 8\n",
            "0 alltoall 8 8\n1 alltoall 8 9\n",
        ),
        (
            "0 gather 0 8 0\n1 gather 8 0 0\n",
            "0 gather 8 8 0\n1 gather 9 8 0\n",
        ),
        (
            "0 scatter 0 8 1\n1 scatter 8 0 1\n",
            "0 scatter 8 9 1\n1 scatter 8 9 1\n",
        ),
        (
            "0 allgatherv 3 3 5\n1 allgatherv 5 3 5\n",
            "0 allgatherv 3 3 5\n1 allgatherv 5 3 6\n",
        ),
        (
            "0 scatterv 1 9 1 0 6 6\n1 scatterv 0 0 9 0 6 6\n",
            "0 scatterv 1 9 1 0 6 6\n1 scatterv 0 0 8 0 6 6\n",
        ),
        (
            "0 alltoallv 9 1 2 9 1 4\n1 alltoallv 9 4 3 9 2 3\n",
            "0 alltoallv 9 1 2 9 1 4\n1 alltoallv 9 4 3 9 3 3\n",
        ),
        // Of a datatype of unknown size.
        (
            "0 bcast 4 1 -1\n1 bcast 4 1 1\n",
            "0 scan 4 0 0\n1 scan 4 0 1\n",
        ),
    ] {
        let sizes = |lines: &str| {
            let warned = warned(lines);
            warned.iter().filter(|w| w.contains("collective 0")).count()
        };
        assert_eq!((sizes(fits), sizes(differs)), (0, 1), "{fits}{differs}");
    }
}

#[test]
fn long_lines_are_refused() {
    let long = format!("0 init\n0 compute {}\n", "1".repeat(50 << 20));
    let said = said_of(&long);
    assert!(
        said.len() == 1 && said[0].starts_with("a.txt:2: a line of more than"),
        "{said:?}"
    );
    let words = format!("0 init\n\n1 init\n\n0 compute {}\n", "1".repeat(700));
    let said = said_of(&words);
    assert!(
        said.len() == 1 && said[0].starts_with("a.txt:5: a line of more than 596 bytes"),
        "{said:?}"
    );
    let (_dir, path) = files(&[
        ("a.txt", b"0.txt\n1.txt\n"),
        ("0.txt", long.as_bytes()),
        ("1.txt", b"1 init\n1 finalize\n"),
    ]);
    let said = crate::said(&path);
    assert!(
        said.len() == 1 && said[0].starts_with("0.txt:2: a line of more than 596 bytes"),
        "{said:?}"
    );
}

#[test]
fn a_trace_that_is_cut_anywhere_does_no_harm() {
    let text = "0 init\n1 init\n0 alltoallv 9 1 2 9 1 4 0 0\n1 alltoallv 9 4 3 9 2 3 0 0\n0 send 1 5 9\n1 recv 0 5 9\n0 finalize\n1 finalize";
    assert_eq!(said_of(text), [""; 0]);
    for cut in 0..text.len() {
        for message in said_of(&text[..cut]) {
            assert!(message.starts_with("a.txt"), "{cut}: {message}");
        }
    }
    // Where a line is lost, something is said.
    let (_dir, path) = file(&text.as_bytes()[..text.len() - 11]);
    let check = check_file(path).unwrap();
    assert_eq!(check.warnings.total, 1);
}

#[test]
fn packed_files_that_are_cut_are_errors() {
    let packed = gzip(b"0 init\n0 finalize\n");
    let cut = &packed[..packed.len() - 9];
    let (_dir, path) = file(cut);
    assert!(
        Trace::open(&path)
            .unwrap_err()
            .to_string()
            .contains("gzip data are damaged")
    );
    let (_dir, path) = files(&[
        ("a.txt", b"0.gz\n1.txt\n"),
        ("0.gz", cut),
        ("1.txt", b"1 init\n"),
    ]);
    let error = Trace::open(&path).unwrap_err().to_string();
    assert!(error.contains("0.gz: the gzip data are damaged"), "{error}");
}

#[test]
fn archives_without_a_list_or_with_two_are_refused() {
    let set = |members: &[(&str, &str)]| {
        let mut set = Set::new("a.tar".as_ref()).unwrap();
        for (name, text) in members {
            let (_dir, path) = file(text.as_bytes());
            if let Err(e) = set.add(name, flitwise_formats::Source::open(&path).unwrap()) {
                return e.to_string();
            }
        }
        set.finish()
            .map_or_else(|e| e.to_string(), |trace| trace.ranks().to_string())
    };
    let (zero, one) = ("0 init\n", "1 init\n");
    assert_eq!(
        set(&[("0", zero), ("b", one)]),
        "a.tar: is an archive with 2 files of ranks and no list of them; their names do not all end with a number: write a list"
    );
    assert_eq!(
        set(&[("x", "0\n"), ("y", "0\n")]),
        "a.tar: has two lists of files, `x` and `y`; give one trace at a time"
    );
    assert_eq!(
        set(&[("s/x", "0\n1\n"), ("s/0", zero)]),
        "a.tar:s/x:2: there is no file `1` in the archive; copy it there, or correct its name"
    );
    assert_eq!(set(&[("all", "0 init\n1 init\n2 init\n")]), "3");
    assert_eq!(
        set(&[
            ("readme", "a trace\n"),
            ("s/x", "0\n./1\n"),
            ("s/0", zero),
            ("1", one)
        ]),
        "2"
    );
}
