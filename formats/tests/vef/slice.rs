//! Slices: what remains, when it starts, and that it can be replayed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::support::{self, Trace, ideal};
use flitwise_formats::source::Input;
use flitwise_formats::vef::slice::starts;
use flitwise_formats::vef::{Cut, DepId, Info, Plan, Record, SliceError, check_file};
use proptest::prelude::*;

fn slice(path: &Path, cut: &Cut) -> Result<Trace, SliceError> {
    let plan = Plan::make(path, cut)?;
    let out = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(out.path(), plan.write(Vec::new())?).unwrap();
    let check = check_file(out.path()).unwrap();
    assert!(check.is_clean(), "{:?}", check.errors);
    let trace = Trace::read(out.path());
    assert_eq!(trace.header, *plan.header());
    assert_eq!(
        (check.messages, check.bytes),
        (plan.messages(), plan.bytes())
    );
    assert_eq!(check.forward, 0, "lines stand in causal order");
    Ok(trace)
}

/// A record without its numbers: start, kind, partner or members, sizes.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
enum Deed {
    Marker(u64),
    Message(u64, u32, u64),
    Member(u64, u32, Vec<u32>),
}

fn deeds(trace: &Trace, starts: &[u64]) -> Vec<Vec<Deed>> {
    let mut all = vec![Vec::new(); trace.header.tasks as usize];
    for (record, &start) in trace.records.iter().zip(starts) {
        all[record.task() as usize].push(match record {
            Record::Message(m) if m.is_marker() => Deed::Marker(start),
            Record::Message(m) => Deed::Message(start, m.dst, m.size),
            Record::Member(m) => {
                let members = trace.comms[m.comm as usize].members.to_vec();
                Deed::Member(start, m.op, members)
            }
        });
    }
    all
}

/// What must remain, by the definition and in memory.
fn expected(trace: &Trace, starts: &[u64], from: u64, to: u64, ranks: &[u32]) -> Vec<Vec<Deed>> {
    let rank = |task: u32| ranks.iter().position(|&r| r == task).map(|r| r as u32);
    let inside = |start: u64| from <= start && start < to;
    let mut latest: HashMap<u64, u64> = HashMap::new();
    let mut blocks: HashMap<u64, u64> = HashMap::new();
    for (record, &start) in trace.records.iter().zip(starts) {
        if let Record::Member(m) = record
            && rank(m.task).is_some()
        {
            let at = latest.entry(m.id).or_default();
            *at = start.max(*at);
            *blocks.entry(m.id).or_default() += if m.op == 3 { m.send } else { m.recv };
        }
    }
    let remains = |g: u64, op: u32, comm: u32| {
        let members = &trace.comms[comm as usize].members;
        let first = members.iter().copied().find(|&t| rank(t).is_some());
        let rooted = match ideal::root(trace, g) {
            Some(root) if rank(root).is_none() => false,
            Some(root) if [3, 4].contains(&op) => blocks[&g] > 0 || Some(root) == first,
            _ => true,
        };
        rooted && inside(latest[&g])
    };
    let mut all = vec![Vec::new(); ranks.len()];
    for (record, &start) in trace.records.iter().zip(starts) {
        let Some(task) = rank(record.task()) else {
            continue;
        };
        let at = start.saturating_sub(from);
        match record {
            Record::Message(m) => {
                if let (true, Some(dst)) = (inside(start), rank(m.dst)) {
                    all[task as usize].push(if m.is_marker() {
                        Deed::Marker(at)
                    } else {
                        Deed::Message(at, dst, m.size)
                    });
                }
            }
            Record::Member(m) => {
                if remains(m.id, m.op, m.comm) {
                    let members = &trace.comms[m.comm as usize].members;
                    let members = members.iter().filter_map(|&t| rank(t)).collect();
                    all[task as usize].push(Deed::Member(at, m.op, members));
                }
            }
        }
    }
    all
}

fn whole() -> Cut {
    Cut::default()
}

proptest! {
    /// Exactly what the definition says remains, and every record starts on the ideal
    /// clock when it did before.
    #[test]
    fn a_slice_is_what_its_definition_says(
        seed in any::<u64>(),
        tasks in 1u32..8,
        window in prop::array::uniform2(0u64..=110),
        pick in any::<u8>(),
    ) {
        let trace = support::generate(seed, tasks, 200);
        let file = trace.file();
        let starts = ideal::starts(&trace);
        let span = *starts.iter().max().unwrap();
        prop_assert_eq!(Info::read(file.path()).unwrap().ideal.unwrap().span_ps, span * 1000);
        let [a, b] = window;
        let (from, to) = (span / 100 * a.min(b), span / 100 * a.max(b) + 1);
        let ranks: Vec<u32> = (0..tasks).filter(|t| pick >> t & 1 == 1).collect();
        prop_assume!(!ranks.is_empty());
        let cut = Cut {
            // Rounded up to the next unit.
            from_ps: (from * 1000).saturating_sub(seed % 1000),
            to_ps: Some(to * 1000),
            ranks: Some(ranks.clone()),
            ..whole()
        };
        let expected = expected(&trace, &starts, from, to, &ranks);
        match slice(file.path(), &cut) {
            Ok(slice) => prop_assert_eq!(deeds(&slice, &ideal::starts(&slice)), expected),
            Err(SliceError::Nothing { .. }) => {
                prop_assert!(expected.iter().all(Vec::is_empty));
            }
            Err(e) => prop_assert!(false, "{}", e),
        }
    }

    /// Dependencies on what remains stay.
    #[test]
    fn the_whole_trace_is_a_slice_with_the_same_records(seed in any::<u64>(), tasks in 1u32..8) {
        let trace = support::generate(seed, tasks, 150);
        let slice = slice(trace.file().path(), &whole()).unwrap();
        prop_assert_eq!(&slice.header, &trace.header);
        let program = |t: &Trace, task: u32| -> Vec<Record> {
            t.records.iter().copied().filter(|r| r.task() == task).collect()
        };
        for task in 0..tasks {
            let (new, old) = (program(&slice, task), program(&trace, task));
            prop_assert_eq!(new.len(), old.len());
            let received: HashSet<DepId2> = old.iter().map(|r| r.dep().1.into()).collect();
            prop_assert_eq!(received, new.iter().map(|r| r.dep().1.into()).collect());
            for (new, old) in new.iter().zip(&old) {
                prop_assert_eq!((new.dep().0.0 & 3, new.time()), (old.dep().0.0 & 3, old.time()));
            }
        }
    }
}

/// A dependency that can be hashed.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DepId2(bool, Option<u64>);

impl From<DepId> for DepId2 {
    fn from(id: DepId) -> Self {
        match id {
            DepId::None => Self(false, None),
            DepId::Message(id) => Self(false, Some(id)),
            DepId::Collective(g) => Self(true, Some(g)),
        }
    }
}

#[test]
fn an_all_to_all_in_vector_form_keeps_its_parts() {
    // 11 bytes over four members: 3 3 3 2, of which 3 3 2 go to who remains; 2: 1 1 0 0.
    let trace = "VEF3 4 0 1 1 4 0 1000\nC0 0 1 2 3\nG7 C0 7 0 11 1 0 0 -1\n\
                 G7 C0 7 1 11 1 0 0 -1\nG7 C0 7 2 8 1 0 0 -1\nG7 C0 7 3 2 1 0 0 -1\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), trace).unwrap();
    let cut = Cut {
        ranks: Some(vec![3, 0, 2]),
        ..whole()
    };
    let plan = Plan::make(file.path(), &cut).unwrap();
    let text = String::from_utf8(plan.write(Vec::new()).unwrap()).unwrap();
    assert_eq!(
        text,
        "VEF3 3 0 1 1 3 0 1000\nC0 0 1 2\nG0 C0 7 0 8 1 0 0 -1\nG0 C0 7 1 6 1 0 0 -1\n\
         G0 C0 7 2 1 1 0 0 -1\n"
    );
}

#[test]
fn markers_that_close_a_window_remain() {
    // Rank 0 sends at 5 and passes markers at 7, where the window ends; rank 1 waits, and is at its end at 9.
    let trace = "VEF3 2 5 1 0 0 0 1000\nC0 0 1\n0 0 1 64 4 5 -1\n1 0 0 0 0 2 -1\n2 0 0 0 0 0 -1\n\
                 3 1 1 0 2 1 0\n4 1 1 0 0 3 -1\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), trace).unwrap();
    let input = Input::new(file.path());
    let found = starts(&input, [0, 1, 3, 4, 9]).unwrap();
    let mut found: Vec<(u64, u64)> = found.into_iter().collect();
    found.sort_unstable();
    assert_eq!(found, [(0, 5000), (1, 7000), (3, 6000), (4, 9000)]);
    // Marker 4 starts behind the end, and does not remain although it is named.
    let cut = Cut {
        from_ps: 5000,
        to_ps: Some(7000),
        closing: [1, 4].into(),
        ..whole()
    };
    let plan = Plan::make(file.path(), &cut).unwrap();
    let text = String::from_utf8(plan.write(Vec::new()).unwrap()).unwrap();
    assert_eq!(
        text,
        "VEF3 2 3 1 0 0 0 1000\nC0 0 1\n0 0 1 64 4 0 -1\n1 0 0 0 0 2 -1\n2 1 1 0 2 1 0\n"
    );
}

#[test]
fn cuts_that_make_no_sense_are_refused() {
    let file = support::generate(1, 3, 50).file();
    for (cut, why) in [
        (
            Cut {
                ranks: Some(vec![0, 3]),
                ..whole()
            },
            "there is no rank 3",
        ),
        (
            Cut {
                from_ps: 2000,
                to_ps: Some(2000),
                ..whole()
            },
            "the window is empty",
        ),
        (
            Cut {
                from_ps: 1,
                to_ps: Some(1000),
                ..whole()
            },
            "the window is empty",
        ),
        (
            Cut {
                from_ps: u64::MAX,
                ..whole()
            },
            "nothing remains",
        ),
    ] {
        let error = slice(file.path(), &cut).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn recorded_traces_can_be_cut() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces");
    for (name, ranks) in [("hpl-16", 16), ("lulesh-27", 27), ("randomaccess-16", 16)] {
        let path = format!("{folder}/{name}.vef.gz");
        let trace = Trace::read(Path::new(&path));
        let starts = ideal::starts(&trace);
        let span = *starts.iter().max().unwrap();
        let (from, to) = (span / 3, span / 3 * 2);
        for list in [
            (0..ranks).collect::<Vec<_>>(),
            (1..ranks).step_by(2).collect(),
        ] {
            let cut = Cut {
                from_ps: from * 1000,
                to_ps: Some(to * 1000),
                ranks: Some(list.clone()),
                ..whole()
            };
            let part = slice(Path::new(&path), &cut).unwrap();
            let deeds = deeds(&part, &ideal::starts(&part));
            assert_eq!(deeds, expected(&trace, &starts, from, to, &list), "{name}");
            assert!(part.header.messages > 100, "{name}: {:?}", part.header);
        }
    }
}
