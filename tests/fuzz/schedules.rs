//! The properties of the targets that read GOAL schedules and TI traces, as `properties.rs` has
//! those of the others.
#![allow(dead_code, reason = "each target uses one of them")]

use flitwise_base::stop::Stop;
use std::io::Write;
use std::path::Path;

use flitwise_formats::{PlaceError, Source, goal, ti};
use tempfile::TempDir;

/// `data` in a new file called `name`.
fn write(dir: &TempDir, name: &str, data: &[u8]) -> std::path::PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, data).unwrap();
    path
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

/// Feeds `step` with `data` in pieces of `size` bytes. It returns how many bytes it took, `None` at
/// the end, or that it needs more.
fn feed(
    data: &[u8],
    size: usize,
    mut step: impl FnMut(&[u8], bool) -> Result<Option<usize>, PlaceError>,
) -> Option<PlaceError> {
    let (mut start, mut end) = (0, 0);
    loop {
        match step(&data[start..end], end == data.len()) {
            Ok(Some(0)) => {
                assert!(end < data.len(), "asks for more at the end");
                end = (end + size).min(data.len());
            }
            Ok(Some(taken)) => {
                start += taken;
                end = end.max(start);
            }
            Ok(None) => return None,
            Err(e) => {
                assert!(!e.message.is_empty());
                return Some(e);
            }
        }
    }
}

type Parts = (Vec<(u64, goal::Part)>, Option<PlaceError>);

fn parts(data: &[u8], size: usize) -> Parts {
    let mut parser = goal::Parser::new();
    let mut parts = Vec::new();
    let error = feed(data, size, |buf, eof| match parser.next(buf, eof)? {
        goal::Step::NeedMore => Ok(Some(0)),
        goal::Step::End => Ok(None),
        goal::Step::Part { consumed, part } => {
            if part != goal::Part::Nothing {
                parts.push((parser.line(), part));
            }
            Ok(Some(consumed))
        }
    });
    (parts, error)
}

/// In pieces of any size a text parses to the same parts and the same error.
pub fn goal_parser(data: &[u8]) {
    let whole = parts(data, data.len().max(1));
    assert_eq!(whole, parts(data, 1 + data.len() % 13), "pieces differ");
}

/// Operations and dependencies of each rank, or the error.
fn operations(schedule: &goal::Schedule) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank).map_err(|e| e.to_string())?;
        for on in 0..block.len() {
            let node = block.node(on).map_err(|e| e.to_string())?;
            all.push(format!("{rank} {on} {:?} {}", node.op, node.unmet));
            let add = |of, kind| all.push(format!("{of} {kind:?}"));
            block
                .successors(on, &node, add)
                .map_err(|e| e.to_string())?;
        }
    }
    Ok(all)
}

/// A check gives a verdict on every file. What is clean has the same counts in a summary, and is the
/// same when it is written as text, in the binary form or packed, and read again.
pub fn goal_schedule(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.goal", data);
    let Ok(check) = goal::check_file(&path) else {
        return;
    };
    for problem in &check.errors.first {
        assert!(problem.to_string().contains("a.goal") && !problem.message.is_empty());
    }
    if !check.is_clean() {
        return;
    }
    let schedule = goal::Schedule::open(&path).unwrap();
    assert_eq!(goal::Info::read(&schedule).unwrap(), check.info);
    let expected = operations(&schedule).unwrap();
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    goal::write::text(&schedule, &mut text).unwrap();
    goal::write::binary(&schedule, &mut binary).unwrap();
    for (name, bytes) in [
        ("text", text),
        ("packed", gzip(&binary)),
        ("binary", binary),
    ] {
        let again = goal::Schedule::open(write(&dir, name, &bytes)).unwrap();
        assert_eq!(operations(&again).unwrap(), expected, "{name}");
    }
}

type Actions = (Vec<(u64, u32, ti::Action)>, Option<PlaceError>);

fn actions(data: &[u8], ranks: u32, size: usize) -> Actions {
    let mut parser = ti::Parser::new(ranks);
    let mut actions = Vec::new();
    let error = feed(data, size, |buf, eof| match parser.next(buf, eof)? {
        ti::Step::NeedMore => Ok(Some(0)),
        ti::Step::End => Ok(None),
        ti::Step::Nothing { consumed } => Ok(Some(consumed)),
        ti::Step::Action {
            consumed,
            rank,
            action,
        } => {
            actions.push((parser.line(), rank, action));
            Ok(Some(consumed))
        }
    });
    (actions, error)
}

/// The actions of each rank, or the error.
fn contents(trace: &ti::Trace) -> Result<Vec<Vec<ti::Action>>, String> {
    let rank = |rank| {
        let actions = trace.rank(rank).map_err(|e| e.to_string())?;
        actions
            .map(|a| a.map(|a| a.1).map_err(|e| e.to_string()))
            .collect()
    };
    (0..trace.ranks()).map(rank).collect()
}

/// In pieces of any size lines parse to the same actions and the same error. A trace (one file, or
/// several with a line `=====` between them) that can be read is the same when it is written and
/// read again, packed or not.
pub fn ti_trace(data: &[u8]) {
    let ranks = 1 + data.len() as u32 % 5;
    let whole = actions(data, ranks, data.len().max(1));
    assert_eq!(
        whole,
        actions(data, ranks, 1 + data.len() % 13),
        "pieces differ"
    );

    let dir = tempfile::tempdir().unwrap();
    let Some(trace) = open(&dir, data) else {
        return;
    };
    let _ = ti::check(&trace, Stop::never()).unwrap();
    let Ok(expected) = contents(&trace) else {
        return;
    };
    if expected.iter().any(Vec::is_empty) {
        // A rank without a line is not in a trace of one file.
        return;
    }
    let mut text = Vec::new();
    ti::write::one_file(&trace, &mut text).unwrap();
    for bytes in [gzip(&text), text] {
        let again = ti::Trace::open(write(&dir, "again.txt", &bytes)).unwrap();
        assert_eq!(
            contents(&again).unwrap(),
            expected,
            "written and read again"
        );
    }
}

fn open(dir: &TempDir, data: &[u8]) -> Option<ti::Trace> {
    let text = String::from_utf8_lossy(data);
    // A list could name any file of the machine: those of a set are named by their numbers.
    let mut set = ti::Set::new(Path::new("a.tar")).unwrap();
    for (n, member) in text.split("=====\n").enumerate() {
        let path = write(dir, &format!("m{n}"), member.as_bytes());
        set.add(&n.to_string(), Source::open(&path).ok()?).ok()?;
    }
    set.finish().ok()
}
