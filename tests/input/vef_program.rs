//! Random valid traces as programs: every rank gets its own records, in order, whatever
//! the order in which the ranks ask.

use flitwise::stop::Stop;
use std::io::Write;
use std::sync::Arc;

use crate::support;
use flitwise::replay::program::{Action, After, Event, Place, Program, RankId, StreamId};
use flitwise::replay::trace::vef::VefProgram;
use flitwise::replay::trace::{Reading, check_file};
use flitwise_formats::vef::{DepId, DepKind, Record};
use proptest::prelude::*;

proptest! {
    #[test]
    fn ranks_get_their_records(
        seed in any::<u64>(),
        tasks in 1u32..7,
        turns in prop::collection::vec(any::<u32>(), 1..30),
        budget in prop_oneof![Just(usize::MAX), 1_usize..20],
    ) {
        let trace = support::generate(seed, tasks, 150);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&trace.text()).unwrap();
        let (program, check) = VefProgram::open(file.path()).unwrap();
        let mut program = program.keeping(budget);
        prop_assert_eq!(program.ranks(), tasks);
        let first_line = 2 + u64::from(trace.header.comms);
        let mut expected: Vec<Vec<(u64, Record)>> = vec![Vec::new(); tasks as usize];
        for (line, record) in (first_line..).zip(&trace.records) {
            expected[record.task() as usize].push((line, *record));
        }
        let mut shared = std::collections::HashMap::new();
        let mut waited = std::collections::HashSet::new();
        let is_awaited = |id| {
            let by = |record: &Record| {
                let (dep, event) = record.dep();
                dep.kind() == DepKind::Received && event == DepId::Message(id)
            };
            trace.records.iter().any(by)
        };
        let mut read = vec![0; tasks as usize];
        let mut turns = turns.iter().cycle();
        while read.iter().zip(&expected).any(|(&n, e)| n <= e.len()) {
            let rank = turns.next().unwrap() % tasks;
            // When the given turns never ask a rank, the others get it its turn.
            let rank = (0..tasks)
                .map(|i| (rank + i) % tasks)
                .find(|&r| read[r as usize] <= expected[r as usize].len())
                .unwrap();
            let op = program.next(RankId::new(rank), StreamId::new(0)).unwrap();
            let at = read[rank as usize];
            read[rank as usize] += 1;
            let Some((line, record)) = expected[rank as usize].get(at) else {
                prop_assert_eq!(op, None);
                continue;
            };
            let op = op.unwrap();
            prop_assert_eq!(op.place, Place::line(*line));
            prop_assert_eq!(op.label, None);
            prop_assert_eq!(op.compute_ps, record.time() * 1000);
            let (dep, event) = record.dep();
            let expected = match (dep.kind(), event) {
                // A rank's own past needs no event, nor does a message that it has waited for.
                (DepKind::Start | DepKind::Sent, _) => After::Previous,
                (DepKind::Received, DepId::Message(id)) if !waited.insert(id) => After::Previous,
                (DepKind::Received, DepId::Message(id)) => After::Event(Event::Received(id)),
                (DepKind::Completed, DepId::Collective(g)) => After::Event(Event::Completed(g)),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(op.after, expected);
            match (record, op.action) {
                (Record::Message(m), Action::Marker) => prop_assert!(m.is_marker()),
                (Record::Message(m), Action::Send { id, to, bytes, awaited }) => {
                    prop_assert_eq!((m.id, m.dst, m.size), (id, to.get(), bytes));
                    prop_assert_eq!(awaited, is_awaited(id));
                }
                (Record::Member(m), Action::Collective(c, position)) => {
                    prop_assert_eq!(c.members[position as usize].get(), rank);
                    prop_assert_eq!(m.id, c.id);
                    let comm = &trace.comms[m.comm as usize];
                    let members = c.members.iter().map(|rank| rank.get());
                    prop_assert!(members.eq(comm.members.iter().copied()));
                    let first = shared.entry(m.id).or_insert_with(|| Arc::clone(&c));
                    prop_assert!(Arc::ptr_eq(first, &c));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(shared.len() as u64, check.collectives);
    }

    /// Traces whose lines have any order, also one rank after the other, and memory for a few records.
    #[test]
    fn a_small_memory_gives_the_operations_of_a_large_one(
        seed in any::<u64>(),
        tasks in 1_u32..7,
        by_rank in any::<bool>(),
        budget in 1_usize..20,
        turns in prop::collection::vec((any::<u32>(), 1_usize..40), 1..30),
        first_run in 0_usize..200,
    ) {
        let mut trace = support::generate(seed, tasks, 150);
        if by_rank {
            trace.records.sort_by_key(Record::task);
        }
        let file = trace.file();
        let kept = check_file(file.path(), Stop::never()).unwrap();
        let mut kept = kept.open(&Reading::default(), Stop::never()).unwrap();
        let mut read = VefProgram::open(file.path()).unwrap().0.keeping(budget);
        for most in [first_run, usize::MAX] {
            let (mut taken, mut over) = (0, vec![false; tasks as usize]);
            let turns = turns.iter().copied().cycle();
            let last = RankId::all(tasks).rev().map(|rank| (rank.get(), usize::MAX));
            // At the end every rank in turn, the last one first.
            for (rank, times) in turns.take(50).chain(last) {
                let rank = RankId::new(rank % tasks);
                for _ in 0..times {
                    if taken >= most || over[rank.index()] {
                        break;
                    }
                    let op = read.next(rank, StreamId::new(0)).unwrap();
                    prop_assert_eq!(&op, &kept.next(rank, StreamId::new(0)).unwrap());
                    over[rank.index()] = op.is_none();
                    taken += 1;
                }
            }
            prop_assert!(taken >= most || over.iter().all(|&over| over));
            kept.restart().unwrap();
            read.restart().unwrap();
        }
    }
}
