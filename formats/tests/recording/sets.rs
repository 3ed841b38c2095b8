//! The files of a recording.

use crate::write::{Stream, description, directory, ranks};
use flitwise_formats::Source;
use flitwise_formats::recording::{Set, check};
use std::io::Write;
use std::path::{Path, PathBuf};

#[track_caller]
fn error(dir: &tempfile::TempDir) -> String {
    let check = check(&Set::open(dir.path()).unwrap()).unwrap();
    assert_eq!(check.errors.total, 1, "{:#?}", check.errors.first);
    check.errors.first[0].to_string()
}

#[test]
fn a_recording_is_given_as_its_directory_or_one_of_its_files() {
    let dir = directory(&ranks(3, |_| {}));
    assert!(Set::is_directory(dir.path()));
    for name in ["", "recording.toml", "2.0.calls"] {
        let path = dir.path().join(name);
        let set = Set::open(&path).unwrap();
        assert_eq!((set.ranks(), set.files().count()), (3, 3));
        assert_eq!(set.path(), path);
        if !name.is_empty() {
            assert!(Set::probe(&path, &std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let dir = directory(&ranks(3, |_| {}));
    let rename = |from: &str, to: &str| {
        std::fs::rename(dir.path().join(from), dir.path().join(to)).unwrap();
    };
    rename("1.0.calls", "5.0.calls");
    let check = check(&Set::open(dir.path()).unwrap()).unwrap();
    let all: Vec<String> = check.errors.first.iter().map(ToString::to_string).collect();
    assert!(
        all[0].contains("5.0.calls: is the stream of a rank that"),
        "{all:?}"
    );
    assert!(
        all[1].contains("lacks `1.0.calls`, the stream of rank 1; copy"),
        "{all:?}"
    );
    rename("5.0.calls", "1.1.calls");
    assert!(error(&dir).contains("lacks `1.0.calls`"));
    rename("1.1.calls", "1.0.calls");

    std::fs::copy(dir.path().join("2.0.calls"), dir.path().join("1.0.calls")).unwrap();
    assert!(error(&dir).contains("this is thread 0 of rank 2: call it `2.0.calls`"));
    let mut other = Stream::new(1, 3);
    other.run[0] = 0;
    other.finalize();
    std::fs::write(dir.path().join("1.0.calls"), other.bytes()).unwrap();
    assert!(error(&dir).contains("1.0.calls: is of another run"));
    let mut other = Stream::new(1, 4);
    other.finalize();
    std::fs::write(dir.path().join("1.0.calls"), other.bytes()).unwrap();
    assert!(error(&dir).contains("the program has 4 ranks, but `recording.toml` says 3"));
}

#[test]
fn a_description_is_needed() {
    let dir = directory(&ranks(2, |_| {}));
    let path = dir.path().join("recording.toml");
    std::fs::write(
        &path,
        description(2, 1).replace("ranks = 2", "ranks = \"2\""),
    )
    .unwrap();
    let message = Set::open(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains("recording.toml:10: invalid type"),
        "{message}"
    );
    std::fs::remove_file(&path).unwrap();
    assert!(Set::is_directory(dir.path()));
    let message = Set::open(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains("no `recording.toml`, which rank 0 writes"),
        "{message}"
    );
}

/// The archive of these files, in the order of their names.
fn archive(files: &[(&str, &Path)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (folder, dir) in files {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = Path::new(folder).join(path.file_name().unwrap());
            builder.append_path_with_name(&path, name).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn an_archive_holds_what_its_directory_holds() {
    let dir = directory(&ranks(12, |_| {}));
    let whole = check(&Set::open(dir.path()).unwrap()).unwrap();
    assert!(whole.is_clean());
    let long = "folder/".repeat(30);
    let place = tempfile::tempdir().unwrap();
    for folder in ["", ".", "run", &long] {
        let plain = archive(&[(folder, dir.path())]);
        let packed = [gzip(&plain), zstd::encode_all(&plain[..], 1).unwrap()];
        for (at, bytes) in [plain].into_iter().chain(packed).enumerate() {
            let path = place.path().join(format!("archive-{at}"));
            std::fs::write(&path, &bytes).unwrap();
            let mut source = Source::open(&path).unwrap();
            assert!(Set::probe(&path, source.head().unwrap()), "{folder} {at}");
            let set = Set::open(&path).unwrap();
            assert_eq!((set.ranks(), set.files().count()), (12, 0));
            // A long name is cut in messages.
            let name = set.file(3).unwrap();
            assert!(folder == long || name.ends_with("3.0.calls"), "{name:?}");
            assert_eq!(check(&set).unwrap(), whole, "{folder} {at}");
        }
    }
}

#[test]
fn archives_that_are_cut_or_hold_more_or_less_than_a_recording_are_refused() {
    let dir = directory(&ranks(3, |_| {}));
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("archive");
    let refused = |bytes: &[u8], why: &str| {
        std::fs::write(&path, bytes).unwrap();
        let message = Set::open(&path).unwrap_err().to_string();
        assert!(
            message.contains("archive") && message.contains(why),
            "{message}"
        );
    };
    refused(
        &archive(&[("a", dir.path()), ("b", dir.path())]),
        "has recordings in `a` and `b`: unpack it",
    );
    let whole = archive(&[("a", dir.path())]);
    refused(&whole[..whole.len() - 1500], "tar");
    let packed = zstd::encode_all(&whole[..], 1).unwrap();
    refused(&packed[..packed.len() / 2], "zstd");
    std::fs::remove_file(dir.path().join("recording.toml")).unwrap();
    refused(&archive(&[("a", dir.path())]), "no `recording.toml`");
}
