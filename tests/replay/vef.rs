//! VEF traces as programs.

use crate::formats::data::own;
use flitwise::formats::source::Input;
use flitwise::replay::program::{
    Action, After, AlltoallBlocks, Collective, CollectiveKind, Event, Op, Place, Program, RankId,
    StreamId,
};
use flitwise::replay::trace::vef::VefProgram;
use flitwise::replay::trace::{Reading, check_file};
use flitwise::stop::Stop;
use std::io::Write as _;
use std::sync::Arc;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut f = tempfile::NamedTempFile::new().unwrap();
    f.write_all(text.as_bytes()).unwrap();
    f
}

fn op(after: After, compute_ps: u64, action: Action, line: u64) -> Op {
    Op {
        after,
        compute_ps,
        action,
        label: None,
        place: Place::line(line),
    }
}

fn next(program: &mut VefProgram, rank: u32) -> anyhow::Result<Option<Op>> {
    program.next(RankId::new(rank), StreamId::new(0))
}

#[test]
fn every_kind_of_record_becomes_its_operation() {
    // Task 0 waits for message 3 of a later line; task 1 sends to itself.
    let f = file(
        "VEF3 2 5 1 1 2 0 500\nC0 0 1\n\
         4 0 0 0 0 10 -1\n\
         G7 C0 7 0 9 1 2 3 3\n\
         3 1 0 64 4 7 -1\n\
         0 1 1 8 5 1 3\n\
         G7 C0 7 1 2 0 2 0 0\n\
         1 1 1 0 3 0 G7\n\
         2 0 0 0 3 2 G7\n",
    );
    let (mut p, check) = VefProgram::open(f.path()).unwrap();
    assert_eq!(check.records, [3, 4]);
    assert_eq!(p.ranks(), 2);
    let collective = Arc::new(Collective {
        id: 7,
        members: [0, 1].map(RankId::new).into(),
        kind: CollectiveKind::Alltoall {
            blocks: vec![
                AlltoallBlocks::Split {
                    total: 9,
                    members: 2,
                },
                AlltoallBlocks::Each(2),
            ],
        },
    });
    let g = |position| Action::Collective(Arc::clone(&collective), position);
    let send = |id, to, bytes| {
        let to = RankId::new(to);
        let awaited = true;
        Action::Send {
            id,
            to,
            bytes,
            awaited,
        }
    };
    let marker = || Action::Marker;
    let expected = [
        op(After::Previous, 5_000, marker(), 3),
        op(After::Event(Event::Received(3)), 1_500, g(0), 4),
        op(After::Event(Event::Completed(7)), 1_000, marker(), 9),
    ];
    for e in expected {
        assert_eq!(next(&mut p, 0).unwrap(), Some(e));
    }
    assert_eq!(next(&mut p, 0).unwrap(), None);
    let expected = [
        op(After::Previous, 3_500, send(3, 0, 64), 5),
        op(After::Previous, 500, send(0, 1, 8), 6),
        op(After::Event(Event::Received(0)), 0, g(1), 7),
        op(After::Event(Event::Completed(7)), 0, marker(), 8),
    ];
    for e in expected {
        assert_eq!(next(&mut p, 1).unwrap(), Some(e));
    }
    assert_eq!(
        (next(&mut p, 1).unwrap(), next(&mut p, 2).unwrap()),
        (None, None)
    );
}

#[test]
fn a_broken_trace_is_refused_with_file_and_line() {
    let f = file("VEF3 2 1 1 0 0 0 1000\nC0 0 1\n0 0 5 9 4 1 -1\n");
    let text = VefProgram::open(f.path()).unwrap_err().to_string();
    let at = format!("{}:3: task 5 does not exist", f.path().display());
    assert!(text.starts_with(&at), "{text}");
    assert!(VefProgram::open("/dev/null").is_err());
}

#[test]
fn a_file_that_changed_after_its_check_is_an_error() {
    let text = "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 1 -1\n1 1 1 0 0 1 -1\n";
    let f = file(text);
    let (_, check) = VefProgram::open(f.path()).unwrap();
    let shorter = file(&text[..text.len() - 15]);
    let mut p = VefProgram::resume(&Input::new(shorter.path()), &check, Stop::never()).unwrap();
    assert!(next(&mut p, 1).unwrap_err().to_string().contains("changed"));
}

#[test]
fn a_trace_starts_over_from_anywhere() {
    let (p, _) = VefProgram::open(own("traces/randomaccess-16.vef.gz")).unwrap();
    let mut p = p.keeping(300);
    let read = |p: &mut VefProgram, most: usize| {
        let ops = |rank: RankId| {
            std::iter::from_fn(|| next(p, rank.get()).unwrap())
                .take(most)
                .collect()
        };
        RankId::all(16).rev().map(ops).collect::<Vec<Vec<Op>>>()
    };
    let all = read(&mut p, usize::MAX);
    for most in [0, 7, usize::MAX] {
        p.restart().unwrap();
        read(&mut p, most);
        p.restart().unwrap();
        assert!(read(&mut p, usize::MAX) == all, "after {most}");
    }
}

#[test]
fn a_trace_that_changed_does_not_start_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.vef");
    std::fs::write(&path, "VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 0 0 1 -1\n").unwrap();
    let (mut p, _) = VefProgram::open(&path).unwrap();
    std::fs::write(&path, "VEF3 1 1 1 0 0 0 2000\nC0 0\n0 0 0 0 0 1 -1\n").unwrap();
    let error = p.restart().unwrap_err().to_string();
    assert!(error.contains("the file changed"), "{error}");
}

fn all(program: &mut dyn Program) -> Vec<Vec<Op>> {
    let ranks = RankId::all(program.ranks());
    let rank = |rank| {
        let mut next = || program.next(rank, StreamId::new(0)).unwrap();
        std::iter::from_fn(&mut next).collect()
    };
    ranks.map(rank).collect()
}

#[test]
fn a_trace_in_memory_is_the_trace_of_the_file() {
    let path = own("traces/hpl-16.vef.gz");
    let file = check_file(&path, Stop::never()).unwrap();
    let (mut read, check) = VefProgram::open(&path).unwrap();
    assert_eq!(file.operations(), check.records.iter().sum::<u64>());
    let info = flitwise::formats::vef::Info::read(&path).unwrap();
    assert_eq!(file.ideal_ps(), info.ideal.map(|ideal| ideal.span_ps));
    let mut kept = file.open(&Reading::default(), Stop::never()).unwrap();
    let ops = all(&mut *kept);
    assert_eq!(ops, all(&mut read));
    assert!(
        kept.next(RankId::new(3), StreamId::new(0))
            .unwrap()
            .is_none()
    );
    kept.restart().unwrap();
    assert_eq!(all(&mut *kept), ops);
}
