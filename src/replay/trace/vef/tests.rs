//! Tests traces as programs, also when ranks lie far apart in time.

use super::*;
use flitwise_base::stop::{Stop, Stopped};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::AtomicBool;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut f = tempfile::NamedTempFile::new().unwrap();
    f.write_all(text.as_bytes()).unwrap();
    f
}

fn next(program: &mut VefProgram, rank: u32) -> anyhow::Result<Option<Op>> {
    program.next(RankId::new(rank), StreamId::new(0))
}

#[test]
fn a_rank_ends_without_reading_on() {
    let f = file("VEF3 2 3 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 1 -1\n1 1 1 0 0 1 -1\n2 1 1 0 1 1 1\n");
    let (mut p, _) = VefProgram::open(f.path()).unwrap();
    assert!(next(&mut p, 0).unwrap().is_some() && next(&mut p, 0).unwrap().is_none());
    assert_eq!(p.unread, [0, 2]);
}

/// All operations of a recorded trace, rank by rank, the last rank first: the worst
/// order for the windows.
fn operations(name: &str, budget: usize) -> Vec<Vec<Op>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = format!("{root}/traces/{name}.vef.gz");
    let (p, check) = VefProgram::open(path).unwrap();
    let mut p = p.keeping(budget);
    let mut all = Vec::new();
    for rank in RankId::all(p.ranks()).rev() {
        let mut ops = Vec::new();
        while let Some(op) = next(&mut p, rank.get()).unwrap() {
            assert!(p.windows.waiting() <= budget);
            ops.push(op);
        }
        assert!(ops.is_sorted_by_key(|op| op.place));
        assert_eq!(ops.len() as u64, check.records[rank.index()], "{name}");
        all.push(ops);
    }
    let of_collective = |op: &&Op| matches!(op.action, Action::Collective(..));
    let collectives = all.iter().flatten().filter(of_collective).count();
    assert_eq!(collectives as u64, check.members);
    assert!(p.whole.is_empty() && p.gathering.is_empty() && p.windows.is_empty());
    all
}

#[test]
fn recorded_traces_give_all_their_records_rank_by_rank() {
    for name in ["hpl-16", "randomaccess-16", "gromacs_water-16"] {
        let all = operations(name, MAX_IN_MEMORY);
        for budget in [2000, 7] {
            assert!(operations(name, budget) == all, "{name} {budget}");
        }
    }
}

/// Two ranks without a dependency between them, one far ahead of the other.
#[test]
fn a_racing_rank_is_read_ahead_within_the_budget() {
    let mut text = String::from("VEF3 2 4000 1 0 0 0 1000\nC0 0 1\n");
    for id in 0..4000 {
        let task = id % 2;
        writeln!(text, "{id} {task} {task} 0 0 1 -1").unwrap();
    }
    let f = file(&text);
    let mut p = VefProgram::open(f.path()).unwrap().0.keeping(100);
    let mut lines = [3, 4];
    // Rank 0 is fast, rank 1 follows at a tenth of its speed.
    for step in 0..40_000 {
        for rank in RankId::all(2) {
            if rank.get() == 1 && step % 10 > 0 {
                continue;
            }
            if let Some(op) = next(&mut p, rank.get()).unwrap() {
                assert_eq!(op.place, Place::line(lines[rank.index()]));
                lines[rank.index()] += 2;
            }
            assert!(p.windows.waiting() <= 100);
        }
    }
    assert_eq!(lines, [4003, 4004]);
}

#[test]
fn many_ranks_at_different_places_share_a_small_memory() {
    let mut text = String::from("VEF3 64 19200 1 0 0 0 1000\nC0");
    (0..64).for_each(|task| write!(text, " {task}").unwrap());
    text.push('\n');
    for id in 0..19_200 {
        let task = id % 64;
        writeln!(text, "{id} {task} {task} 0 0 1 -1").unwrap();
    }
    let f = file(&text);
    let mut p = VefProgram::open(f.path()).unwrap().0.keeping(500);
    let mut lines: Vec<u64> = (3..67).collect();
    // Rank r advances r + 1 records per round.
    while lines.iter().any(|&line| line < 19_203) {
        for rank in RankId::all(64) {
            for _ in 0..=rank.get() {
                if let Some(op) = next(&mut p, rank.get()).unwrap() {
                    assert_eq!(op.place, Place::line(lines[rank.index()]));
                    lines[rank.index()] += 64;
                }
                assert!(p.windows.waiting() <= 500);
            }
        }
    }
}

#[test]
fn the_lines_of_a_collective_may_be_far_apart() {
    let mut text = String::from("VEF3 2 200 1 1 2 0 1000\nC0 0 1\nG0 C0 6 0 0 0 0 1 -1\n");
    (0..200).for_each(|id| writeln!(text, "{id} 0 0 0 0 1 -1").unwrap());
    text.push_str("G0 C0 6 1 0 0 0 1 -1\n");
    let f = file(&text);
    let mut p = VefProgram::open(f.path()).unwrap().0.keeping(10);
    for line in 3..204 {
        let op = next(&mut p, 0).unwrap().unwrap();
        assert_eq!(op.place, Place::line(line));
        assert!(p.windows.waiting() <= 10);
    }
    assert_eq!(next(&mut p, 0).unwrap(), None);
    assert!(next(&mut p, 1).unwrap().is_some() && p.windows.is_empty());
}

#[test]
fn a_long_stretch_ends_when_the_user_stops_the_run() {
    let mut text = String::from("VEF3 2 100001 1 0 0 0 1000\nC0 0 1\n");
    (0..100_000).for_each(|id| writeln!(text, "{id} 0 0 0 0 1 -1").unwrap());
    text.push_str("100000 1 1 0 0 1 -1\n");
    let f = file(&text);
    let (all, check) = VefProgram::open(f.path()).unwrap();
    let flag = AtomicBool::new(true);
    let mut p = VefProgram::resume(all.input(), &check, Stop::new(&flag)).unwrap();
    let error = next(&mut p, 1).unwrap_err();
    assert!(error.is::<Stopped>(), "{error}");
    assert!((10_000..20_000).contains(&p.windows.waiting()));
}
