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

#[cfg(unix)]
#[test]
fn links_stay_and_permissions_remain() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("inner")).unwrap();
    for (name, to) in [("link", "inner/next"), ("inner/next", "real")] {
        symlink(to, at(name)).unwrap();
    }
    let write = |name: &str, text: &[u8]| flitwise_formats::sink::write(&at(name), text).unwrap();
    // The target need not exist.
    write("link", b"first");
    let real = at("inner/real");
    for mode in [0o600, 0o444, 0o640] {
        std::fs::set_permissions(&real, PermissionsExt::from_mode(mode)).unwrap();
        write("link", format!("{mode}").as_bytes());
        write("inner/real", format!("{mode}").as_bytes());
        assert_eq!(std::fs::read(&real).unwrap(), format!("{mode}").as_bytes());
        let kept = real.metadata().unwrap().permissions().mode();
        assert_eq!(kept & 0o777, mode);
    }
    assert!(at("link").is_symlink() && at("inner/next").is_symlink());
    symlink("round", at("round")).unwrap();
    let error = Sink::create(&at("round")).unwrap_err().to_string();
    assert!(error.contains("too many symbolic links"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_a_process_has_open_are_written_directly() {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    let open = std::fs::File::create(&real).unwrap();
    symlink(format!("/dev/fd/{}", open.as_raw_fd()), &link).unwrap();
    let before = open.metadata().unwrap();
    flitwise_formats::sink::write(&link, b"new").unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    // The process still has the same file.
    assert_eq!(open.metadata().unwrap().len(), before.len() + 3);
}
