//! Sets of files: in directories, beside metafiles, in archives, packed or not, complete or not.

use std::io::Write;
use std::path::{Path, PathBuf};

use flitwise_base::stop::Stop;
use flitwise_formats::dumpi::{Check, Metafile, Set, check};
use flitwise_formats::source::Input;

use crate::messages::{messages, total};
use crate::write::{File, list, status, text};

/// The file of a rank that sends 8 bytes to the next rank and receives from the one before.
pub fn ring(rank: i64, ranks: i64) -> File {
    let mut file = File::default();
    file.call("MPI_Init", &[crate::write::Value::List(vec![text("ring")])]);
    file.call("MPI_Comm_size", &[2.into(), ranks.into()]);
    file.call("MPI_Comm_rank", &[2.into(), rank.into()]);
    let next = (rank + 1) % ranks;
    let before = (rank + ranks - 1) % ranks;
    file.call(
        "MPI_Irecv",
        &[
            1.into(),
            14.into(),
            before.into(),
            3.into(),
            2.into(),
            5.into(),
        ],
    );
    file.call(
        "MPI_Send",
        &[1.into(), 14.into(), next.into(), 3.into(), 2.into()],
    );
    let found = status(8, before as i32, 3);
    let all = match found.clone() {
        crate::write::Value::Statuses(list) => {
            crate::write::Value::Statuses([list.clone(), list].concat())
        }
        other => other,
    };
    file.call("MPI_Waitall", &[2.into(), list(&[5, 1]), all]);
    file.call("MPI_Finalize", &[]);
    file
}

/// Bytes of the files of a ring.
fn files(ranks: i64) -> Vec<Vec<u8>> {
    (0..ranks).map(|rank| ring(rank, ranks).bytes()).collect()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

const META: &str = "hostname=node7\nnumprocs=3\nusername=somebody\nstartime=1795248949\nfileprefix=ring\n\
                    version=13\nsubversion=0\nsubsubversion=0\n";

/// A directory with a ring of 3 ranks, each packed in another way, and its metafile.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = files(3).try_into().unwrap();
    put(&dir, "ring-0000.bin", &a);
    put(&dir, "ring-0001.bin.gz", &gzip(&b));
    put(&dir, "ring-0002.bin.zst", &zstd(&c));
    put(&dir, "ring.meta", META.as_bytes());
    put(&dir, "notes.txt", b"nothing");
    dir
}

fn put(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A tar archive with these files.
pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Reads all of a trace.
pub fn judged(path: &Path) -> Check {
    check(&Set::open(path).unwrap()).unwrap()
}

#[track_caller]
fn is_ring(path: &Path) {
    let set = Set::open(path).unwrap();
    assert_eq!(set.ranks(), 3);
    for _ in 0..2 {
        let checked = check(&set).unwrap();
        assert!(
            checked.is_clean() && checked.warnings.is_empty(),
            "{checked:?}"
        );
        assert!(checked.ranks.iter().all(|rank| rank.calls == 7));
        assert!(checked.ranks.iter().all(|rank| rank.threads == 1));
    }
    let ranks = messages(&set);
    let sent = total(&ranks, |rank| rank.sends);
    assert_eq!((sent.messages, sent.bytes), (3, 24));
    assert_eq!(total(&ranks, |rank| rank.receives), sent);
    let times = (ranks[2].span_ns, ranks[2].mpi_ns);
    assert_eq!(times, (13_000_000, 7_000_000));
}

/// Why the trace at `path` is refused.
#[track_caller]
fn refused(path: &Path, parts: &[&str]) {
    let error = Set::open(path).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn a_directory_or_its_metafile_is_a_trace() {
    let dir = directory();
    is_ring(dir.path());
    is_ring(&dir.path().join("ring.meta"));
    is_ring(&dir.path().join("ring-0000.bin"));
    is_ring(&dir.path().join("ring-0001.bin.gz"));
    let set = Set::open(dir.path()).unwrap();
    assert_eq!(set.metafile().unwrap().numprocs, 3);
    assert!(set.file(1).unwrap().ends_with("ring-0001.bin.gz") && set.file(3).is_none());
    assert!(set.reader(3).is_err() && set.trailer(3).is_err());
    // Without a metafile, and with files that are only called like files of a trace.
    std::fs::remove_file(dir.path().join("ring.meta")).unwrap();
    put(&dir, "model-0000.bin", b"weights");
    is_ring(dir.path());
}

#[test]
fn renamed_files_are_found_by_the_name_of_their_metafile() {
    let dir = directory();
    std::fs::rename(dir.path().join("ring.meta"), dir.path().join("circle.meta")).unwrap();
    is_ring(&dir.path().join("circle.meta"));
    for (file, end) in [
        ("ring-0000", "bin"),
        ("ring-0001", "bin.gz"),
        ("ring-0002", "bin.zst"),
    ] {
        let to = file.replace("ring", "circle");
        let path = |name: &str| dir.path().join(format!("{name}.{end}"));
        std::fs::rename(path(file), path(&to)).unwrap();
    }
    is_ring(&dir.path().join("circle.meta"));
    is_ring(dir.path());
}

#[test]
fn an_archive_is_a_trace_packed_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = files(3).try_into().unwrap();
    let (b, c) = (gzip(&b), zstd(&c));
    let long = format!("{}/ring", "folder".repeat(40));
    let names = [0, 1, 2].map(|rank| format!("{long}-{rank:04}.bin"));
    for prefix in ["ring", "x/y/ring", &long] {
        let names = if prefix == long {
            names.clone()
        } else {
            ["0000.bin", "0001.bin.gz", "0002.bin.zst"].map(|end| format!("{prefix}-{end}"))
        };
        let meta = format!("{prefix}.meta");
        let files: [(&str, &[u8]); 5] = [
            ("README", b"read me"),
            (&names[1], &b),
            (&meta, META.as_bytes()),
            (&names[2], &c),
            (&names[0], &a),
        ];
        let archive = tar(&files);
        is_ring(&put(&dir, "a.tar", &archive));
        is_ring(&put(&dir, "a.tar.gz", &gzip(&archive)));
        is_ring(&put(&dir, "a.tzst", &zstd(&archive)));
        let set = Set::open(dir.path().join("a.tar")).unwrap();
        assert!(set.file(0).unwrap().starts_with(dir.path().join("a.tar")));
        assert_eq!(set.metafile().unwrap().hostname.as_deref(), Some("node7"));
    }
}

#[test]
fn extended_names_of_archives_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for (rank, bytes) in files(3).iter().enumerate() {
        let name = format!("{}/ring-{rank:04}.bin", "f".repeat(300));
        let mut extension = format!(" path={name}\n");
        let len = extension.len();
        extension.insert_str(0, &(len + 3).to_string());
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::XHeader);
        header.set_size(extension.len() as u64);
        header.set_cksum();
        archive.append(&header, extension.as_bytes()).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_path("short").unwrap();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, &bytes[..]).unwrap();
    }
    is_ring(&put(&dir, "a.tar", &archive.into_inner().unwrap()));
}

#[test]
#[cfg(unix)]
fn an_archive_may_come_from_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["ring-0000.bin", "ring-0001.bin", "ring-0002.bin"];
    let files = files(3);
    let files: Vec<(&str, &[u8])> = names
        .into_iter()
        .zip(files.iter().map(Vec::as_slice))
        .collect();
    for bytes in [tar(&files), gzip(&tar(&files))] {
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let to = pipe.clone();
        std::thread::spawn(move || std::fs::write(to, bytes));
        is_ring(&pipe);
        std::fs::remove_file(pipe).unwrap();
    }
    // The user stops it.
    let path = put(&dir, "a.tar.gz", &gzip(&tar(&files)));
    let flag = std::sync::atomic::AtomicBool::new(true);
    let stopped = Set::of_input(&Input::new(&path), Stop::new(&flag));
    assert!(stopped.unwrap_err().is_stopped());
}

#[test]
fn a_missing_rank_is_named() {
    let dir = directory();
    std::fs::remove_file(dir.path().join("ring-0001.bin.gz")).unwrap();
    let lacks = ["lacks the file of rank 1, of 3 in all", "`ring-NNNN.bin`"];
    refused(dir.path(), &lacks);
    refused(&dir.path().join("ring.meta"), &lacks);
    // The last one is missed as well, if the metafile says how many there are, or else by the program itself.
    std::fs::remove_file(dir.path().join("ring-0002.bin.zst")).unwrap();
    refused(dir.path(), &["lacks the file of ranks 1, 2, of 3 in all"]);
    std::fs::remove_file(dir.path().join("ring.meta")).unwrap();
    let checked = judged(dir.path());
    assert_eq!(checked.errors.total, 1, "{checked:?}");
    let said = checked.errors.first[0].to_string();
    assert!(
        said.contains(
            "(MPI_Comm_size): the program has 3 ranks, but the trace has the files of 1:"
        ),
        "{said}"
    );
    put(&dir, "ring.meta", META.replace("=3", "=1000").as_bytes());
    refused(
        dir.path(),
        &["lacks the file of ranks 1, 2, 3, 4, 5 and of 994 more, of 1000"],
    );
}

#[test]
fn without_a_metafile_a_missing_last_rank_is_one_error() {
    let dir = tempfile::tempdir().unwrap();
    for (rank, bytes) in files(4).into_iter().take(3).enumerate() {
        put(&dir, &format!("ring-{rank:04}.bin"), &bytes);
    }
    let check = judged(dir.path());
    assert_eq!(check.errors.total, 1, "{check:?}");
    let error = check.errors.first[0].to_string();
    let says = "rank 0 (MPI_Comm_size): the program has 4 ranks, but the trace has the files of 3: copy all files of the trace";
    assert!(error.ends_with(says), "{error}");
}

#[test]
fn a_metafile_says_the_number_of_ranks_once() {
    let twice = Metafile::parse("numprocs=3\nhostname=a\nnumprocs=4\n").unwrap_err();
    let said = twice.to_string();
    assert!(
        said.starts_with("line 3: `numprocs` is there twice"),
        "{said}"
    );
}

#[test]
fn files_that_are_too_many_are_refused() {
    let dir = directory();
    let other = put(&dir, "ring-0003.bin", &ring(3, 4).bytes());
    refused(
        dir.path(),
        &["has a file of rank 3, but the metafile says numprocs=3"],
    );
    std::fs::remove_file(other).unwrap();
    put(&dir, "ring-0001.bin", &ring(1, 3).bytes());
    let error = Set::open(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("ring-0001.bin") && error.contains("rank 1 has another file"),
        "{error}"
    );
    std::fs::remove_file(dir.path().join("ring-0001.bin")).unwrap();
    // Another trace beside it: its metafile tells which one is meant.
    put(&dir, "hpl-0000.bin", &ring(0, 1).bytes());
    refused(
        dir.path(),
        &[
            "more than one DUMPI trace: give the metafile of one of them or any one of its files,",
            "`hpl`, `ring`",
        ],
    );
    is_ring(&dir.path().join("ring.meta"));
    is_ring(&dir.path().join("ring-0000.bin"));
}

#[test]
fn what_is_no_trace_is_called_by_its_name() {
    let dir = directory();
    let other = put(&dir, "rank0", &ring(0, 3).bytes());
    refused(
        &other,
        &["is the file of one rank", "is not called `PREFIX-NNNN.bin`"],
    );
    refused(&dir.path().join("notes.txt"), &["is no DUMPI trace"]);
    refused(
        &put(&dir, "a.vef", b"VEF3 2 2 1 0 0 0 1000\n"),
        &["is no DUMPI trace"],
    );
    refused(&put(&dir, "a.goal", b"num_ranks 2\n"), &["a GOAL schedule"]);
    refused(
        &put(&dir, "junk", b"\x7fELF\x02\x01\0"),
        &["binary data of no known format"],
    );
    refused(
        &put(&dir, "a.tar", &tar(&[("notes.txt", b"nothing")])),
        &["has no files of a DUMPI trace"],
    );
    refused(&put(&dir, "empty", b""), &["is no DUMPI trace"]);
    let bad = put(&dir, "bad.meta", META.replace("=3", "=many").as_bytes());
    refused(
        &bad,
        &[":2: expected a whole number up to 1048576 for numprocs, found `many`"],
    );
    let none = put(
        &dir,
        "none.meta",
        META.replace("=ring", "=other").as_bytes(),
    );
    refused(
        &none,
        &[
            "no file of a rank is beside the metafile",
            "begin with `other`",
        ],
    );
    let nowhere = dir.path().join("nowhere");
    refused(&nowhere, &["No such file"]);
}
