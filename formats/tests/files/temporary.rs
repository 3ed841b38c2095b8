//! Files under temporary names.

use flitwise_formats::temporary::{Temporary, is_temporary, remove_older};
use std::time::Duration;

#[test]
fn names_differ_and_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.json");
    let made: Vec<Temporary> = (0..100)
        .map(|_| Temporary::create(&path).unwrap().0)
        .collect();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), made.len());
    for temporary in &made {
        let name = temporary.path().file_name().unwrap();
        assert_eq!(temporary.path().parent(), Some(dir.path()));
        assert!(is_temporary(name.to_str().unwrap()));
    }
    let random = "0123456789abcdef";
    for other in [
        "b.json".to_owned(),
        ".b.json.part".to_owned(),
        format!(".1-{random}.part"),
        format!(".b.-{random}.part"),
        format!(".b.1-{}.part", &random[1..]),
        format!("b.1-{random}.part"),
    ] {
        assert!(!is_temporary(&other), "{other}");
    }
}

#[test]
fn only_old_temporary_files_are_left_overs() {
    let dir = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(dir.path()).unwrap().count();
    let path = dir.path().join("a");
    std::fs::write(&path, "").unwrap();
    let (part, _) = Temporary::create(&path).unwrap();
    remove_older(dir.path(), Duration::from_secs(3600));
    assert_eq!(count(), 2);
    std::thread::sleep(Duration::from_millis(20));
    remove_older(dir.path(), Duration::ZERO);
    assert_eq!(count(), 1);
    drop(part);
    assert!(path.exists());
}
