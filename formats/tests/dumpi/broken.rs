//! Broken files: each gives an error with its place, and none a panic or memory without bound.

use std::path::Path;

use flitwise_formats::dumpi::{Layout, Set, check};

use crate::layouts::steps;
use crate::sets::{gzip, judged, ring};
use crate::write::{File, Head, Value, function, list, record};

/// The only rank's file in a directory.
struct One {
    dir: tempfile::TempDir,
}

impl One {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// The trace whose only file has these bytes.
    fn with(&self, bytes: &[u8]) -> &Path {
        let path = self.dir.path().join("one-0000.bin");
        // A new file: the old one may still be read.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        self.dir.path()
    }

    /// What the check says first of these bytes.
    fn error(&self, bytes: &[u8]) -> String {
        let checked = judged(self.with(bytes));
        assert!(!checked.is_clean());
        checked.errors.first[0].to_string()
    }
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_error() {
    let one = One::new();
    let bytes = ring(0, 1).bytes();
    assert!(judged(one.with(&bytes)).is_clean());
    for cut in 0..bytes.len() {
        let said = one.error(&bytes[..cut]);
        contains(&said, &["copy or record it again"]);
        let (_, error) = steps(&bytes[..cut], Layout::default(), 1 + cut % 97);
        let error = error.unwrap();
        assert!(error.starts_with("byte "), "{error}");
    }
    // A packed file says so, wherever it is cut.
    let packed = gzip(&bytes);
    for cut in (4..packed.len()).step_by(11) {
        let path = one.with(&packed[..cut]);
        let error = Set::open(path)
            .and_then(|set| check(&set))
            .unwrap_err()
            .to_string();
        contains(
            &error,
            &["one-0000.bin", "gzip data are damaged or cut short"],
        );
    }
    contains(
        &one.error(b""),
        &["byte 0: rank 0: ", "the rank ended before MPI_Finalize"],
    );
}

#[test]
fn a_cut_within_a_call_names_it() {
    let mut file = File::default();
    file.call("MPI_Barrier", &[2.into()]).call(
        "MPI_Send",
        &[1.into(), 5.into(), 0.into(), 0.into(), 2.into()],
    );
    let bytes = file.bytes();
    let (found, error) = steps(&bytes[..16 + 31 + 40], Layout::default(), 5);
    assert_eq!(found.len(), 2);
    let said =
        "byte 47 (MPI_Send): expected at least 43 bytes here, found 40 and the end of the file; ";
    contains(&error.unwrap(), &[said]);
}

#[test]
fn flipped_bits_do_no_harm() {
    let one = One::new();
    let bytes = ring(0, 1).bytes();
    let footer = bytes.len() - 2600;
    for bit in 0..bytes.len() * 8 {
        // The counters are many and alike.
        if bit / 8 > footer && bit / 8 < bytes.len() - 230 && bit % 37 > 0 {
            continue;
        }
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let whole = steps(&bytes, Layout::default(), bytes.len());
        assert_eq!(whole, steps(&bytes, Layout::default(), 11), "bit {bit}");
        if let Ok(set) = Set::open(one.with(&bytes)) {
            let _ = check(&set).unwrap();
        }
    }
}

#[test]
fn counts_do_not_decide_allocations() {
    let head = Head {
        mask: 0x0b,
        ..Head::default()
    };
    let start = |name: &str, values: &[Value]| {
        let row = function(name);
        record([13, 0, 0], row, head, values)
    };
    let requests = start(
        "MPI_Waitall",
        &[1.into(), list(&[]), Value::Statuses(vec![])],
    );
    let cut = requests.len() - 8;
    let most = i32::MAX.to_be_bytes();
    // An array, statuses, a list of lists: all are refused before they are in memory.
    let huge: [(&str, Vec<u8>); 3] = [
        ("MPI_Waitall", [&requests[..cut], &most].concat()),
        ("MPI_Waitall", [&requests[..cut + 4], &most].concat()),
        (
            "MPI_Init",
            [&start("MPI_Init", &[Value::List(vec![])])[..15], &most].concat(),
        ),
    ];
    for (name, body) in huge {
        let file = File {
            body,
            ..File::default()
        };
        let bytes = file.bytes();
        let (_, error) = steps(&bytes, Layout::default(), 100);
        contains(
            &error.unwrap(),
            &["byte 16", name, "the record would have", "beyond 33554432"],
        );
    }
    let file = File {
        body: [&requests[..cut], &(-3_i32).to_be_bytes()].concat(),
        ..File::default()
    };
    let (_, error) = steps(&file.bytes(), Layout::default(), 100);
    contains(
        &error.unwrap(),
        &["byte 35 (MPI_Waitall): an array has -3 elements"],
    );
}

#[test]
fn records_of_no_known_form_are_errors() {
    let head = Head::default();
    let barrier = record([13, 0, 0], function("MPI_Barrier"), head, &[2.into()]);
    let with = |at: usize, bytes: &[u8]| {
        let mut barrier = barrier.clone();
        barrier[at..at + bytes.len()].copy_from_slice(bytes);
        let file = File {
            body: barrier,
            ..File::default()
        };
        steps(&file.bytes(), Layout::default(), 64).1.unwrap()
    };
    contains(
        &with(0, &128_u16.to_be_bytes()),
        &["byte 16: ", "number of a function", "found 128"],
    );
    contains(&with(0, &[0xff, 0xff]), &["byte 16: ", "found 65535"]);
    contains(&with(2, &[0x5f]), &["byte 18 (MPI_Barrier)", "mask 0x5f"]);
    contains(
        &with(7, &[0x3b, 0x9a, 0xca, 0x00]),
        &["byte 21 (MPI_Barrier)", "1000000000 nanoseconds"],
    );
    let other = steps(b"VEF3 2 2 1 0", Layout::default(), 64).1.unwrap();
    contains(&other, &["byte 0", "not the file of a rank"]);
}

#[test]
fn a_file_whose_parts_contradict_each_other_is_an_error() {
    let one = One::new();
    let mut file = ring(0, 1);
    file.calls[0] = 7;
    contains(
        &one.error(&file.bytes()),
        &["the footer counts 7 calls of MPI_Send, 0 of them left out, but the file has 1"],
    );
    // Calls that the recorder left out are no contradiction.
    file.ignored[0] = 6;
    assert!(judged(one.with(&file.bytes())).is_clean());

    let bytes = ring(0, 1).bytes();
    let len = bytes.len();
    let with = |from_end: usize, offset: u64| {
        let mut bytes = bytes.clone();
        bytes[len - from_end..len - from_end + 8].copy_from_slice(&offset.to_be_bytes());
        one.error(&bytes)
    };
    contains(
        &with(32, u64::MAX),
        &["(header): the index says that this part is at 18446744073709551615"],
    );
    contains(&with(32, 0), &["the index says that there is no header"]);
    contains(
        &with(16, len as u64 - 100),
        &["(footer): expected the number 0xf007fee7"],
    );
    contains(&with(56, len as u64 - 70), &["sizes of datatypes"]);
    // A table that is absent is no error, as the sizes of C are known.
    let mut without = bytes.clone();
    without[len - 56..len - 48].copy_from_slice(&[0; 8]);
    assert!(judged(one.with(&without)).is_clean());
    // Version 0.6.0, with records of version 13.
    let mut old = ring(0, 1);
    old.version = [0, 6, 0];
    let mut bytes = old.bytes();
    let at = bytes.len() - 32;
    let header = u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    bytes[header..header + 3].copy_from_slice(&[13, 0, 0]);
    assert!(judged(one.with(&bytes)).is_clean());
    bytes[header..header + 3].copy_from_slice(&[0, 6, 0]);
    assert!(!judged(one.with(&bytes)).is_clean());
}

#[test]
fn calls_that_no_replay_can_follow_are_errors() {
    let one = One::new();
    let judge = |name: &str, values: &[Value]| {
        let mut file = ring(0, 1);
        file.call(name, values);
        judged(one.with(&file.bytes()))
    };
    let send = |count: i64, datatype: i64, dest: i64, comm: i64| {
        let values: Vec<Value> = [count, datatype, dest, 0, comm].map(Value::Number).to_vec();
        judge("MPI_Send", &values)
    };
    let error = |check: flitwise_formats::dumpi::Check, parts: &[&str]| {
        assert_eq!(check.errors.total, 1, "{check:?}");
        contains(&check.errors.first[0].to_string(), parts);
    };
    error(
        send(1, 5, 1, 2),
        &[
            "byte ",
            ": rank 0 (MPI_Send): rank 1 does not exist in MPI_COMM_WORLD, which has 1; the file is damaged",
        ],
    );
    error(
        send(-1, 5, 0, 2),
        &["a buffer has -1 elements; the file is damaged"],
    );
    error(
        send(1, 99, 0, 2),
        &["nothing says how many bytes 1 elements of datatype 99 have; the file is damaged"],
    );
    error(send(1, 1, 0, 2), &["datatype 1 "]);
    error(
        judge("MPI_Comm_rank", &[2.into(), 4.into()]),
        &["this is rank 4, but the name of the file says 0"],
    );
    error(
        judge("MPI_Bcast", &[1.into(), 5.into(), 3.into(), 2.into()]),
        &["(MPI_Bcast): rank 3 does not exist"],
    );
    let in_place = [1, 1, 1, 5, 2].map(Value::Number);
    assert!(judge("MPI_Allgather", &in_place).is_clean());
    // MPI_PROC_NULL, and a buffer of nothing.
    assert!(send(1, 5, -2, 2).is_clean() && send(0, 99, 0, 2).is_clean());
}

#[test]
fn oddities_are_warnings() {
    let one = One::new();
    let judge = |name: &str, values: &[Value]| {
        let mut file = ring(0, 1);
        file.call(name, values);
        judged(one.with(&file.bytes()))
    };
    let warns = |check: flitwise_formats::dumpi::Check, part: &str| {
        assert!(check.is_clean() && check.warnings.total == 1, "{check:?}");
        contains(&check.warnings.first[0].to_string(), &[part]);
    };
    warns(
        judge("MPI_Wait", &[77.into(), Value::Statuses(vec![])]),
        "no earlier call made request 77",
    );
    warns(
        judge("MPI_Barrier", &[9.into()]),
        "no earlier call made communicator 9",
    );
    let mut back = ring(0, 1);
    back.now = 1;
    back.call("MPI_Barrier", &[2.into()]);
    warns(
        judged(one.with(&back.bytes())),
        "before the previous call ends, because the clock went back: the time between the two counts as 0",
    );
    // Init ends after 2 ns; Barrier starts at 9 s and ends at 2 s.
    let mut within = File::default();
    within.call("MPI_Init", &[Value::List(vec![])]);
    let head = Head {
        wall: [(9, 0), (2, 0)],
        ..Head::default()
    };
    within.record(function("MPI_Barrier"), head, &[2.into()]);
    within.now = 2000;
    within.call("MPI_Finalize", &[]);
    warns(
        judged(one.with(&within.bytes())),
        "it ends 7.000 s before it starts: the clock went back, or a time is damaged; the 8.998 s before it count as \
         computation",
    );
    let mut short = File::default();
    short.call("MPI_Init", &[Value::List(vec![])]);
    warns(judged(one.with(&short.bytes())), "there is no MPI_Finalize");
}

#[test]
fn what_unpacks_to_much_more_is_read_as_it_comes() {
    // Zeros are calls of MPI_Send without times: a file of 200 MB in 200 KB.
    let mut bytes = b"\xff\xaa\xddDUMPI\0\0\0\0\0\0\0\0".to_vec();
    bytes.resize(200_000_000, 0);
    let one = One::new();
    let said = one.error(&zstd::encode_all(&bytes[..], 1).unwrap());
    contains(
        &said,
        &["expected an index in the last 64 bytes, found none"],
    );
    // The same in an archive, which says that a name has all these bytes.
    let mut archive = tar::Builder::new(Vec::new());
    for kind in [tar::EntryType::GNULongName, tar::EntryType::XHeader] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, &bytes[..]).unwrap();
    }
    let path = one.dir.path().join("a.tar.zst");
    std::fs::write(
        &path,
        zstd::encode_all(&archive.into_inner().unwrap()[..], 1).unwrap(),
    )
    .unwrap();
    let error = Set::open(&path).unwrap_err().to_string();
    contains(&error, &["a.tar.zst", "a name of more than 64 KiB"]);
}

#[test]
fn a_cut_archive_is_an_error_wherever_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for rank in 0..2 {
        let bytes = ring(rank, 2).bytes();
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive
            .append_data(&mut header, format!("a-{rank:04}.bin"), &bytes[..])
            .unwrap();
    }
    let archive = archive.into_inner().unwrap();
    let end = archive.len() - 1024;
    for cut in (600..end - 512).step_by(301) {
        for (name, bytes) in [
            ("a.tar", archive[..cut].to_vec()),
            ("a.tgz", gzip(&archive[..cut])),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            // Cut between two files, an archive is whole, and lacks one of them.
            match Set::open(&path) {
                Err(e) => contains(
                    &e.to_string(),
                    &[name, "the tar data are damaged or cut short"],
                ),
                Ok(set) => assert!(!check(&set).unwrap().is_clean()),
            }
        }
    }
}
