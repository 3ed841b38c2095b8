//! Real recordings, against what an independent reader (`dumpi2ascii`) counted in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use flitwise_formats::dumpi::{Call, Set, Version, check};
use serde_json::Value;

use crate::data::data;
use crate::messages::{Messages, Traffic, messages, total};

/// The counts beside a recording.
fn counts(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The set in `traces/dumpi`, and its counts.
fn recording(name: &str) -> Option<(Set, Value)> {
    let dir = data("traces/dumpi")?.join(name);
    let counts = counts(&dir.join("counts.json"));
    Some((Set::open(&dir).unwrap(), counts))
}

/// Bytes by the table of the file alone, as the independent reader has them, in place of the sizes of the types as they are made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ByTable {
    sends: u64,
    receives: u64,
    sendrecvs: u64,
}

fn by_table(set: &Set, rank: u32) -> ByTable {
    let mut bytes = ByTable::default();
    let mut reader = set.reader(rank).unwrap();
    let trailer = set.trailer(rank).unwrap();
    let size = |count: i32, datatype| trailer.size(datatype).unwrap_or(0) * count as u64;
    while reader
        .next_record(|record| {
            let call = &record.call;
            let sent = call.sent().map_or(0, |m| size(m.count, m.datatype));
            let received = call.received().map_or(0, |m| size(m.count, m.datatype));
            match call {
                Call::Sendrecv(_) | Call::SendrecvReplace(_) => bytes.sendrecvs += sent,
                _ => {
                    bytes.sends += sent;
                    bytes.receives += received;
                }
            }
        })
        .unwrap()
        .is_some()
    {}
    bytes
}

/// Compares all that the counts have of a rank, or of all ranks.
fn same(counts: &Value, info: &Messages, collectives: u64, bytes: ByTable, what: &str) {
    let number = |key: &str| counts.get(key).map_or(0, |n| n.as_u64().unwrap());
    let expected = [
        ("sends", info.sends.messages),
        ("send_bytes", bytes.sends),
        ("recvs", info.receives.messages),
        ("recv_posted_bytes", bytes.receives),
        ("sendrecvs", info.sendrecvs.messages),
        ("sendrecv_send_bytes", bytes.sendrecvs),
        ("collectives", collectives),
    ];
    for (key, found) in expected {
        assert_eq!(number(key), found, "{what}: {key}");
    }
}

/// A whole set against its counts: calls by function and by rank, messages, bytes, times.
fn agrees(set: &Set, counts: &Value) -> Vec<Messages> {
    assert_eq!(u64::from(set.ranks()), counts["ranks"].as_u64().unwrap());
    let checked = check(set).unwrap();
    assert!(checked.is_clean(), "{:#?}", checked.errors);
    let ranks = messages(set);

    let calls: BTreeMap<String, u64> = checked
        .calls()
        .map(|(function, n)| (function.name().to_owned(), n))
        .collect();
    let expected = counts["calls"].as_object().unwrap();
    let expected = expected
        .iter()
        .map(|(name, n)| (name.clone(), n.as_u64().unwrap()));
    assert_eq!(calls, expected.collect());
    let number = |key: &str| counts[key].as_u64().unwrap();
    assert_eq!(checked.total(|rank| rank.calls), number("total_calls"));
    assert_eq!(checked.total(|rank| rank.ignored), number("ignored_calls"));

    let mut sum = (Messages::default(), ByTable::default());
    for rank in 0..set.ranks() {
        let counts = &counts["per_rank"][rank as usize];
        let (info, bytes) = (&ranks[rank as usize], by_table(set, rank));
        let known = &checked.ranks[rank as usize];
        let what = format!("rank {rank}");
        same(counts, info, known.collectives, bytes, &what);
        assert_eq!(counts["calls"].as_u64().unwrap(), known.calls, "{what}");
        let span = counts["mpi_span_s"].as_f64().unwrap();
        assert!(
            (span - info.span_ns as f64 * 1e-9).abs() < 2e-6,
            "{what}: {span} {info:?}"
        );
        let made = set.trailer(rank).unwrap().sizes.len().saturating_sub(28) as u64;
        assert_eq!(counts["user_types"].as_u64().unwrap(), made, "{what}");
        let add = |a: &mut Traffic, b: Traffic| *a = [*a, b].into_iter().sum();
        add(&mut sum.0.sends, info.sends);
        add(&mut sum.0.receives, info.receives);
        add(&mut sum.0.sendrecvs, info.sendrecvs);
        sum.1.sends += bytes.sends;
        sum.1.receives += bytes.receives;
        sum.1.sendrecvs += bytes.sendrecvs;
    }
    let collectives = checked.total(|rank| rank.collectives);
    same(&counts["totals"], &sum.0, collectives, sum.1, "all ranks");
    ranks
}

/// Messages and bytes of sends, `MPI_Sendrecv` included, with types tracked.
fn sent(ranks: &[Messages]) -> (u64, u64) {
    let sends = total(ranks, |rank| rank.sends);
    let both = total(ranks, |rank| rank.sendrecvs);
    assert!(ranks.iter().all(|rank| rank.of_unknown_size == 0));
    (sends.messages + both.messages, sends.bytes + both.bytes)
}

/// Version of the recorder of rank 0.
fn version(set: &Set) -> Version {
    set.trailer(0).unwrap().version
}

#[test]
fn hpl_whose_datatypes_reuse_their_numbers() {
    let Some((set, counts)) = recording("hpl-16") else {
        return;
    };
    // The table of the files alone would say 52,677,812 bytes.
    assert_eq!(sent(&agrees(&set, &counts)), (9_842, 40_881_332));
    assert_eq!(version(&set), Version(13, 0, 0));
}

#[test]
fn gromacs_with_sendrecv_and_derived_types() {
    let Some((set, counts)) = recording("gromacs_water-16") else {
        return;
    };
    assert_eq!(sent(&agrees(&set, &counts)), (6_103, 36_928_112));
}

#[test]
fn lulesh_whose_requests_are_shared() {
    let Some((set, counts)) = recording("lulesh-27") else {
        return;
    };
    assert_eq!(sent(&agrees(&set, &counts)), (17_776, 12_014_432));
}

#[test]
fn random_access_which_cancels_and_polls() {
    let Some((set, counts)) = recording("randomaccess-16") else {
        return;
    };
    assert_eq!(sent(&agrees(&set, &counts)), (925, 122_800));
}

#[test]
fn lammps_and_the_nas_benchmarks() {
    let sets = [
        ("lammps_melt-8", 76_480_648 + 1_728),
        ("nas_dt_WH_W-11", 4_485_864),
        ("nas_is_S-16", 60),
    ];
    for (name, bytes) in sets {
        let Some((set, counts)) = recording(name) else {
            return;
        };
        assert_eq!(sent(&agrees(&set, &counts)).1, bytes, "{name}");
    }
}

#[test]
fn version_1_0_by_its_metafile() {
    let Some(dir) = data("traces/dumpi/sst-dumpi-testtrace-4") else {
        return;
    };
    let set = Set::open(dir.join("testtrace.meta")).unwrap();
    agrees(&set, &counts(&dir.join("counts.json")));
    assert_eq!(version(&set), Version(1, 0, 0));
    assert_eq!(set.metafile().unwrap().version, Some(version(&set)));
}

/// The archive as `xz` unpacks it; `None` where there is no such program.
fn unpacked(dir: &Path) -> Option<(PathBuf, Value)> {
    let traces = data("traces/dumpi")?;
    let packed = traces.join("mpinet-LULESH-64.tar.xz");
    let tar = dir.join("lulesh.tar");
    let out = std::fs::File::create(&tar).unwrap();
    let unpack = Command::new("xz")
        .arg("-dc")
        .arg(packed)
        .stdout(out)
        .status();
    if !unpack.is_ok_and(|status| status.success()) {
        println!("skipped: needs the program xz");
        return None;
    }
    Some((tar, counts(&traces.join("mpinet-LULESH-64.counts.json"))))
}

#[test]
fn version_1_1_of_a_cray_in_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let Some((tar, counts)) = unpacked(dir.path()) else {
        return;
    };
    let set = Set::open(&tar).unwrap();
    let ranks = agrees(&set, &counts);
    assert_eq!(version(&set), Version(1, 1, 0));
    assert_eq!(sent(&ranks), (123_336, 3_585_377_088));

    // Packed it is the same.
    let bytes = std::fs::read(&tar).unwrap();
    let zst = dir.path().join("lulesh.tar.zst");
    std::fs::write(&zst, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let again = Set::open(&zst).unwrap();
    assert_eq!(messages(&again), ranks);
    assert_eq!(check(&again).unwrap().ranks, check(&set).unwrap().ranks);
}
