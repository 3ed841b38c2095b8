//! GOAL schedules: parsed, written, checked and counted, as text and in the binary form.

#[path = "../support/data.rs"]
mod data;
#[path = "../support/mutate.rs"]
mod mutate;

mod broken;
mod files;
mod properties;

use std::io::Write;
use std::path::Path;

use flitwise_formats::goal::{Dependency, DependencyKind, Op, Schedule, check_file};

/// Operations and sorted dependencies of a rank.
type Rank = (Vec<Op>, Vec<Dependency>);

/// All that a schedule says.
fn contents(schedule: &Schedule) -> Vec<Rank> {
    let rank = |rank| {
        let mut block = schedule.rank(rank).unwrap();
        let (mut ops, mut dependencies) = (Vec::new(), Vec::new());
        for on in 0..block.len() {
            let node = block.node(on).unwrap();
            ops.push(node.op);
            let add = |of, kind| dependencies.push(Dependency { of, on, kind });
            block.successors(on, &node, add).unwrap();
        }
        dependencies.sort();
        (ops, dependencies)
    };
    (0..schedule.ranks()).map(rank).collect()
}

/// `bytes` in a file called `a.goal`.
fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.goal");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
    (dir, path)
}

/// What a check says of `text`, without the folder.
fn said(text: &[u8]) -> Vec<String> {
    let (dir, path) = file(text);
    let folder = format!("{}/", dir.path().display());
    match check_file(&path) {
        Ok(check) => {
            assert_eq!(check.errors.total as usize, check.errors.first.len());
            let shown = check.errors.first.iter().map(ToString::to_string);
            shown.map(|message| message.replace(&folder, "")).collect()
        }
        Err(e) => vec![e.to_string().replace(&folder, "")],
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn open(path: &Path) -> Schedule {
    Schedule::open(path).unwrap()
}

#[test]
fn dependencies_of_both_kinds_cpus_and_nics_are_read() {
    let text = b"// made by hand\nnum_ranks 2 /* two\n ranks */\n\
        rank 0\n{\n  a: send 18446744073709551615b to 1 tag 4294967294 cpu 3 nic 2 // last\n\
        calc 0 cpu 255\n\tb: recv 4b from -1 tag -1\r\n\n b requires a\n a irequires b }\n\
        rank 1 { /* nothing */ }";
    let (_dir, path) = file(text);
    let schedule = open(&path);
    let ranks = contents(&schedule);
    assert_eq!(ranks.len(), 2);
    assert_eq!(ranks[1], (vec![], vec![]));
    let (ops, dependencies) = &ranks[0];
    let shown: Vec<_> = ops.iter().map(|op| format!("{op:?}")).collect();
    assert_eq!(
        shown,
        [
            "Op { task: Send { bytes: 18446744073709551615, to: 1, tag: 4294967294 }, cpu: 3, nic: 2 }",
            "Op { task: Calc { time: 0 }, cpu: 255, nic: 0 }",
            "Op { task: Recv { bytes: 4, from: None, tag: None }, cpu: 0, nic: 0 }",
        ]
    );
    let (started, done) = (DependencyKind::Started, DependencyKind::Done);
    let dependency = |of, on, kind| Dependency { of, on, kind };
    assert_eq!(
        *dependencies,
        [dependency(0, 2, started), dependency(2, 0, done)]
    );
    let mut block = schedule.rank(0).unwrap();
    assert_eq!(block.node(2).unwrap().place.to_string(), "line 8");
}
