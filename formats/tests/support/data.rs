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

/// `part` of the repository, whichever crate's tests ask for it.
#[allow(dead_code, reason = "not every test program needs one")]
pub fn own(part: &str) -> PathBuf {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_root
        .ancestors()
        .find(|dir| dir.join("traces").is_dir());
    root.unwrap_or(crate_root).join(part)
}

/// The TI traces that come with SimGrid, written by hand to show what its replayer takes, with their numbers of ranks. `None`
/// where they are absent.
#[allow(dead_code, reason = "not every test program replays them")]
pub fn examples_of_simgrid() -> Option<Vec<(PathBuf, u32)>> {
    let folder = data("traces/ti/simgrid-examples/examples/smpi")?;
    let of = |folder: &str, names: &[&str], ranks: u32| -> Vec<_> {
        names
            .iter()
            .map(|name| (format!("{folder}/{name}"), ranks))
            .collect()
    };
    let three = [
        "allreduce",
        "alltoall",
        "alltoallv",
        "barrier",
        "bcast",
        "bcast_reduce_datatypes",
        "waitall",
        "with_isend",
    ];
    let three = three.map(|name| format!("actions_{name}.txt"));
    let four = [
        "actions_allgatherv.txt",
        "actions_gather.txt",
        "actions_reducescatter.txt",
    ];
    let two = ["coll.txt", "compute_only.txt", "empty.txt", "mixed.txt"];
    let all = [
        of("replay", &["split_traces"], 2),
        of("replay", &three.each_ref().map(String::as_str), 3),
        of("replay", &four, 4),
        of("replay_multiple", &["smpi_replay.txt"], 32),
        of("replay_multiple_manual_deploy", &two, 2),
    ];
    Some(
        all.concat()
            .into_iter()
            .map(|(name, ranks)| (folder.join(name), ranks))
            .collect(),
    )
}
