//! Traces given as a directory or as an archive.

use std::io::Write;
use std::path::Path;

use flitwise_formats::ti::{Action, Form, Trace, check_file, is_folder, probe};

use crate::{contents, file, files, gzip, messages};

/// Names and contents of a trace of two ranks, by its list.
const PAIR: [(&str, &[u8]); 3] = [
    (
        "pair.txt",
        b"pair.txt_files/7_rank-1.txt\npair.txt_files/7_rank-2.txt\n",
    ),
    (
        "pair.txt_files/7_rank-1.txt",
        b"0 init\n0 send 1 7 64\n0 finalize\n",
    ),
    (
        "pair.txt_files/7_rank-2.txt",
        b"1 init\n1 recv 0 7 64\n1 finalize\n",
    ),
];

/// A tar archive of these files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[track_caller]
fn is_the_pair(path: &Path) {
    let check = check_file(path).unwrap();
    assert!(check.is_clean(), "{:?}", check.errors);
    let found = (check.info.ranks, check.info.sends, check.info.send_bytes);
    assert_eq!(found, (2, 1, 64), "{}", path.display());
}

fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    files(&[(name, bytes)])
}

#[test]
fn a_directory_has_a_list_or_one_file_or_numbered_files() {
    let (dir, _) = files(&PAIR);
    assert!(is_folder(dir.path()));
    is_the_pair(dir.path());
    // The folder of the files, whose names have the numbers of the ranks.
    is_the_pair(&dir.path().join("pair.txt_files"));
    let trace = Trace::open(dir.path()).unwrap();
    assert_eq!(trace.files().len(), 2);
    let (one, _) = written("all.txt", b"0 init\n1 init\n0 send 1 7 64\n1 recv 0 7 64\n");
    is_the_pair(one.path());
    assert_eq!(Trace::open(one.path()).unwrap().files().len(), 1);
}

#[test]
fn ten_ranks_come_in_the_order_of_their_numbers() {
    let name = |rank: u32| format!("7_rank-{}.txt", rank + 1);
    let ranks: Vec<(String, String)> = (0..12)
        .map(|rank| (name(rank), format!("{rank} init\n")))
        .collect();
    let ranks: Vec<(&str, &[u8])> = ranks
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let (dir, _) = files(&ranks);
    let trace = Trace::open(dir.path()).unwrap();
    assert_eq!(trace.ranks(), 12);
    assert!((0..12).all(|rank| trace.rank(rank).unwrap().next_action().is_ok()));
    // One of them is missing.
    std::fs::remove_file(dir.path().join(name(5))).unwrap();
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "is a directory with 11 files of ranks, but lacks `7_rank-6.txt`; copy the files of all ranks into it"
        ),
        "{refused}"
    );
    std::fs::write(dir.path().join(name(5)), "").unwrap();
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("but `7_rank-6.txt` has no actions"),
        "{refused}"
    );
    // A file of another trace.
    std::fs::write(dir.path().join("8_rank-1.txt"), "0 init\n").unwrap();
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("more than one file with the number 1"),
        "{refused}"
    );
}

#[test]
fn files_without_numbers_are_traces_of_their_own_or_need_a_list() {
    let all = b"0 init\n1 init\n";
    let (dir, _) = files(&[("a.txt", all), ("b.txt", all), ("0.txt", b"0 init\n")]);
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    let [a, b] = ["a.txt", "b.txt"].map(|name| dir.path().join(name).display().to_string());
    assert!(
        refused.ends_with(&format!(
            "several TI traces; name one of them: `{a}`, `{b}`"
        )),
        "{refused}"
    );
    let (dir, _) = files(&[("0.txt", b"0 init\n"), ("b.txt", b"1 init\n")]);
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("2 files of ranks and no list of them"),
        "{refused}"
    );
}

#[test]
fn lists_of_bare_names_are_recognised_by_the_files() {
    let list = b"0.ti\n1.ti\n";
    let pair = [("set", &list[..]), ("0.ti", PAIR[1].1), ("1.ti", PAIR[2].1)];
    let (dir, path) = files(&pair);
    assert_eq!(probe(&path, list), Some(Form::List));
    is_the_pair(&path);
    is_the_pair(dir.path());
    // One of the files is not there.
    std::fs::remove_file(dir.path().join("0.ti")).unwrap();
    assert_eq!(probe(&path, list), Some(Form::List));
    let refused = crate::said(&path);
    assert!(refused[0].contains("no file `0.ti`"), "{refused:?}");
    // Words, names of other files, and names with other words beside them.
    for text in [
        "hello\n",
        "set\n",
        "notes\n",
        "1.ti 2\n",
        "1.ti\nand more\n",
    ] {
        std::fs::write(dir.path().join("notes"), text).unwrap();
        let found = probe(&dir.path().join("notes"), text.as_bytes());
        assert_eq!(found, None, "{text}");
    }
    for order in [[0, 1, 2], [1, 2, 0]] {
        let archive = tar(&order.map(|at| pair[at]));
        let (_dir, path) = written("a.tar", &archive);
        assert!(probe(&path, &archive).is_some());
        is_the_pair(&path);
    }
    // Other texts of words are no lists.
    let archive = tar(&[("readme", b"hello\n"), pair[0], pair[1], pair[2]]);
    let (_dir, path) = written("a.tar", &archive);
    assert!(probe(&path, &archive).is_some());
    is_the_pair(&path);
}

#[test]
fn a_directory_of_several_traces_or_none_is_refused() {
    let (dir, _) = files(&[PAIR[0], ("other.txt", PAIR[0].1)]);
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("several TI traces; name one of them"),
        "{refused}"
    );
    assert!(
        refused.contains("other.txt") && refused.contains("pair.txt"),
        "{refused}"
    );
    let (dir, _) = written("notes", b"none\n");
    assert!(!is_folder(dir.path()));
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("a directory without a TI trace"),
        "{refused}"
    );
}

#[test]
fn archives_are_read_plain_and_packed() {
    let archive = tar(&PAIR);
    assert!(probe(Path::new("pair.tar"), &archive).is_some());
    for (name, bytes) in [
        ("pair.tar", archive.clone()),
        ("pair.tar.gz", gzip(&archive)),
        ("pair.tar.zst", zstd::encode_all(&archive[..], 1).unwrap()),
    ] {
        let (_dir, path) = written(name, &bytes);
        is_the_pair(&path);
        assert!(Trace::open(&path).unwrap().files().is_empty());
    }
    // The files of ranks may come first, and be packed.
    let packed = gzip(PAIR[2].1);
    let (_dir, path) = written("a.tar", &tar(&[PAIR[1], PAIR[0], (PAIR[2].0, &packed)]));
    is_the_pair(&path);
}

#[test]
fn broken_archives_are_refused() {
    let archive = tar(&PAIR);
    for len in [600, 1024 + 520, archive.len() - 1024 - 500] {
        let (_dir, path) = written("cut.tar", &archive[..len]);
        let check = check_file(&path);
        let refused = match check {
            Ok(check) => check.errors.first[0].to_string(),
            Err(e) => e.to_string(),
        };
        assert!(refused.contains("cut.tar"), "{len}: {refused}");
    }
    let (_dir, path) = written("gap.tar", &tar(&PAIR[..2]));
    let check = check_file(&path).unwrap();
    let refused = check.errors.first[0].to_string();
    assert!(
        refused.contains("no file `pair.txt_files/7_rank-2.txt` in the archive"),
        "{refused}"
    );
    let packed = gzip(&archive);
    let (_dir, path) = written("cut.tar.gz", &packed[..packed.len() / 2]);
    let refused = check_file(&path).unwrap_err().to_string();
    assert!(
        refused.contains("gzip data are damaged or cut short"),
        "{refused}"
    );
    // A bomb: one name of gigabytes.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 33);
    header.set_cksum();
    let mut bomb = tar(&PAIR[1..2]);
    bomb.truncate(bomb.len() - 1024);
    bomb.write_all(header.as_bytes()).unwrap();
    bomb.resize(bomb.len() + 4096, b'a');
    let (_dir, path) = written("bomb.tar", &bomb);
    let refused = check_file(&path).unwrap_err().to_string();
    assert!(refused.contains("a name of more than 64 KiB"), "{refused}");
}

#[test]
fn files_whose_names_end_with_a_number_are_in_order() {
    let packed = [2, 1].map(|at| gzip(PAIR[at].1));
    for [one, zero] in [
        ["actions1.txt", "actions0.txt"],
        ["a.1", "a.0"],
        ["lu2.1", "lu2.0"],
        ["a.1.txt", "a.0.txt"],
        ["a.01", "a.00"],
        ["rank-1.txt", "rank-0.txt"],
        ["1", "0"],
    ] {
        let (dir, _) = files(&[(one, PAIR[2].1), (zero, PAIR[1].1)]);
        is_the_pair(dir.path());
        let [one, zero] = [one, zero].map(|name| format!("{name}.gz"));
        let (dir, _) = files(&[(&one, &packed[0]), (&zero, &packed[1])]);
        is_the_pair(dir.path());
    }
    let (dir, _) = files(&[("a.0", PAIR[1].1), ("a.2", PAIR[2].1)]);
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(refused.contains("but lacks `a.1`"), "{refused}");
    // Traces of their own, named by their numbers of ranks.
    let whole = b"0 init\n1 init\n0 finalize\n1 finalize\n";
    let (dir, _) = files(&[("lu.16", whole), ("lu.32", whole)]);
    let refused = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(
        refused.contains("several TI traces; name one of them: "),
        "{refused}"
    );
    let mut set = flitwise_formats::ti::Set::new("a.tar".as_ref()).unwrap();
    for (name, text) in [("x/9_rank-2.txt", PAIR[2].1), ("x/9_rank-1.txt", PAIR[1].1)] {
        let (_dir, path) = file(text);
        let source = flitwise_formats::Source::open(&path).unwrap();
        set.add(name, source).unwrap();
    }
    let trace = set.finish().unwrap();
    assert_eq!(trace.ranks(), 2);
    assert!(contents(&trace).iter().all(|actions| !actions.is_empty()));
}

/// `MPI_PROC_NULL` is written as `MPI_ANY_SOURCE` is.
#[test]
fn messages_of_nobody_are_settled_by_those_that_are_sent() {
    let of = |text: &str| {
        let (_dir, path) = file(text.as_bytes());
        let input = flitwise_formats::source::Input::new(&path);
        let stop = flitwise_base::stop::Stop::never();
        let (check, trace) = flitwise_formats::ti::check_input(&input, stop).unwrap();
        let receives = |action: &Action| matches!(action, Action::Recv { .. });
        let all = contents(&trace.unwrap());
        let receives = all.iter().flatten().filter(|a| receives(a)).count();
        (messages(&check), receives)
    };
    let sends = "1 send 0 7 8\n1 send -333 7 8\n1 sendRecv 8 -333 8 -333\n";
    // A receive whose tag no message has gets no message; a receive from a named source takes what is sent.
    assert_eq!(
        of(&format!("0 recv -333 7 8\n0 recv -333 5 8\n{sends}")),
        (vec![], 1)
    );
    assert_eq!(
        of(&format!("0 recv 1 7 8\n0 recv -333 7 8\n{sends}")),
        (vec![], 1)
    );
    assert_eq!(of(&format!("0 recv -333 -444 8\n{sends}")), (vec![], 1));
    assert_eq!(
        of(&format!("0 recv 1 7 8\n0 recv -333 -444 8\n{sends}")),
        (vec![], 1)
    );
    let (said, _) = of(&format!("0 recv -333 7 8\n0 recv -333 7 8\n{sends}"));
    assert!(
        said[0].contains("2 receives whose source is a number below 0"),
        "{said:?}"
    );
    let (said, _) = of("0 recv -333 7 8\n1 send 0 7 8\n1 send 0 7 8\n");
    assert!(
        said[0].contains("receives 1 messages, but 2 are sent"),
        "{said:?}"
    );
}
