//! Data that is not part of the repository: recorded traces and dumps of subnets.

use std::path::{Path, PathBuf};

/// `part` of the folder that `FLITWISE_DATA` names, else of `shared/data` beside the repository.
/// Without such a folder there is none, and a test skips. A folder that is there has every part:
/// a test that needs a missing one fails.
pub fn data(part: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = ["../shared/data", "../../shared/data"].map(|place| root.join(place));
    let named = std::env::var_os("FLITWISE_DATA").map(PathBuf::from);
    let folder = named.or_else(|| beside.into_iter().find(|place| place.is_dir()));
    let Some(folder) = folder else {
        println!("skipped: needs {part}; set FLITWISE_DATA");
        return None;
    };
    let found = folder.join(part);
    assert!(found.exists(), "there is no {}", found.display());
    Some(found)
}
