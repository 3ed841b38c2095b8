//! Recordings that the recorder made of programs with Open MPI and MPICH.

use flitwise_formats::recording::{Set, check};
use std::path::{Path, PathBuf};

/// The recordings of the repository and of the folder that `FLITWISE_RECORDINGS` names.
fn recordings() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/recordings");
    let named = std::env::var_os("FLITWISE_RECORDINGS").map(PathBuf::from);
    let folders = [Some(own), named].into_iter().flatten();
    let mut found = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(&folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| Set::is_directory(path)));
    }
    found.sort();
    found
}

#[test]
fn recordings_of_the_recorder_are_sound() {
    let found = recordings();
    assert!(!found.is_empty());
    for path in found {
        let set = Set::open(&path).unwrap();
        let check = check(&set).unwrap();
        let shown = path.display();
        assert!(check.is_clean(), "{shown}: {:#?}", check.errors.first);
        assert!(check.total(|rank| rank.calls) > 0, "{shown}");
        for warning in &check.warnings.first {
            println!("{warning}");
        }
        for (name, calls) in &check.calls_by_name {
            assert!(*calls > 0 && name.starts_with("MPI_"), "{shown}: {name}");
        }
        println!("{shown}: {:?} {:?}", check.calls_by_name, check.notes);
    }
}
