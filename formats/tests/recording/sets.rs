//! The files of a recording.

use crate::write::{Stream, description, directory, ranks};
use flitwise_formats::recording::{Set, check};

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
