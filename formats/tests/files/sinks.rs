//! Files written whole or not at all.

use flitwise_formats::source::Encoding;
use flitwise_formats::{Sink, Source};
use std::io::Write;
use std::path::Path;

fn read(path: &Path) -> Vec<u8> {
    let mut source = Source::open(path).unwrap();
    while !source.buffer().1 {
        source.more().unwrap();
    }
    source.buffer().0.to_vec()
}

#[test]
fn what_is_written_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let text = b"0123456789".repeat(100_000);
    for (name, encoding) in [
        ("a", Encoding::Plain),
        ("a.vef", Encoding::Plain),
        ("a.gz", Encoding::Gzip),
        ("a.vef.ZST", Encoding::Zstd),
    ] {
        let path = dir.path().join(name);
        let mut sink = Sink::create(&path).unwrap();
        sink.write_all(&text).unwrap();
        assert!(!path.exists(), "{name}: not before it is complete");
        assert!(sink.part().is_some_and(Path::exists), "{name}: meanwhile");
        sink.finish().unwrap();
        assert_eq!(Encoding::of(&std::fs::read(&path).unwrap()), encoding);
        assert!(read(&path) == text, "{name}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn what_is_not_finished_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gz");
    std::fs::write(&path, "old").unwrap();
    let mut sink = Sink::create(&path).unwrap();
    sink.write_all(b"new").unwrap();
    drop(sink);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn devices_and_folders() {
    Sink::create(Path::new("/dev/null"))
        .unwrap()
        .finish()
        .unwrap();
    assert!(Path::new("/dev/null").exists());
    let dir = tempfile::tempdir().unwrap();
    let error = Sink::create(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is a directory"), "{error}");
    assert!(Sink::create(&dir.path().join("no/such")).is_err());
}
