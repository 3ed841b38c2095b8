//! Properties of parser, writers and check.

use crate::mutate::mutate;
use flitwise_formats::PlaceError;
use flitwise_formats::goal::{
    Builder, Dependency, DependencyKind, Op, Parser, Part, Schedule, Step, Task, check_file, write,
};
use proptest::prelude::*;

use crate::{contents, file, open};

/// Everything a text parses to with the lines, fed in pieces of `sizes` bytes.
fn parse(text: &[u8], sizes: &[usize]) -> (Vec<(u64, Part)>, Option<PlaceError>) {
    let mut parser = Parser::new();
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut sizes = sizes.iter().cycle();
    loop {
        match parser.next(&text[start..end], end == text.len()) {
            Ok(Step::NeedMore) => {
                assert!(end < text.len(), "asks for more at the end");
                end = (end + sizes.next().unwrap()).min(text.len());
            }
            Ok(Step::End) => return (parts, None),
            Ok(Step::Part { consumed, part }) => {
                assert!(consumed > 0);
                start += consumed;
                end = end.max(start);
                if part != Part::Nothing {
                    parts.push((parser.line(), part));
                }
            }
            Err(e) => return (parts, Some(e)),
        }
    }
}

const WHOLE: &[usize] = &[usize::MAX / 2];

fn op(ranks: u32) -> impl Strategy<Value = Op> {
    let maybe = |s: std::ops::Range<u32>| prop_oneof![4 => s.prop_map(Some), 1 => Just(None)];
    let task = prop_oneof![
        (any::<u64>(), 0..ranks, 0..u32::MAX).prop_map(|(bytes, to, tag)| Task::Send {
            bytes,
            to,
            tag
        }),
        (any::<u64>(), maybe(0..ranks), maybe(0..u32::MAX))
            .prop_map(|(bytes, from, tag)| Task::Recv { bytes, from, tag }),
        any::<u64>().prop_map(|time| Task::Calc { time }),
    ];
    (task, any::<[u8; 2]>()).prop_map(|(task, [cpu, nic])| {
        let nic = if matches!(task, Task::Calc { .. }) {
            0
        } else {
            nic
        };
        Op { task, cpu, nic }
    })
}

type Raw = Vec<(
    Vec<Op>,
    Vec<(prop::sample::Index, prop::sample::Index, bool)>,
)>;

fn ranks() -> impl Strategy<Value = Raw> {
    (1u32..6).prop_flat_map(|ranks| {
        let ops = prop::collection::vec(op(ranks), 0..12);
        let edges = prop::collection::vec(
            any::<(prop::sample::Index, prop::sample::Index, bool)>(),
            0..20,
        );
        prop::collection::vec((ops, edges), ranks as usize)
    })
}

/// The schedule; with dependencies only on operations above, if `sound`.
fn build(ranks: &Raw, sound: bool) -> Schedule {
    let mut builder = Builder::new("made".as_ref(), ranks.len() as u32).unwrap();
    for (ops, edges) in ranks {
        for &op in ops {
            builder.op(op).unwrap();
        }
        for (of, on, started) in edges.iter().filter(|_| !ops.is_empty()) {
            let (mut of, mut on) = (of.index(ops.len()) as u32, on.index(ops.len()) as u32);
            if sound {
                (of, on) = (of.max(on), of.min(on));
            }
            let kind = if *started {
                DependencyKind::Started
            } else {
                DependencyKind::Done
            };
            if of != on {
                builder.dependency(Dependency { of, on, kind }).unwrap();
            }
        }
        builder.end_rank().unwrap();
    }
    builder.finish().unwrap()
}

fn text(schedule: &Schedule) -> Vec<u8> {
    let mut out = Vec::new();
    write::text(schedule, &mut out).unwrap();
    out
}

fn binary(schedule: &Schedule) -> Vec<u8> {
    let mut out = Vec::new();
    write::binary(schedule, &mut out).unwrap();
    out
}

/// Bytes that the format gives a meaning.
const LIKELY: &[u8] = b"0123456789 \nl:b{}/*-";

proptest! {
    #[test]
    fn what_is_written_reads_the_same(raw in ranks()) {
        let schedule = build(&raw, false);
        let expected = contents(&schedule);
        for (n, (ops, _)) in raw.iter().enumerate() {
            prop_assert_eq!(&expected[n].0, ops);
        }
        let (text, binary) = (text(&schedule), binary(&schedule));
        let (_a, from_text) = file(&text);
        let (_b, from_binary) = file(&binary);
        for path in [from_text, from_binary] {
            let again = open(&path);
            prop_assert_eq!(contents(&again), expected.clone());
            prop_assert_eq!(self::text(&again), text.clone());
            prop_assert_eq!(self::binary(&again), binary.clone());
        }
    }

    #[test]
    fn only_messages_are_wrong_where_dependencies_name_operations_above(raw in ranks()) {
        let schedule = build(&raw, true);
        let (_dir, path) = file(&binary(&schedule));
        let check = check_file(&path).unwrap();
        for problem in &check.errors.first {
            prop_assert!(problem.message.contains("receives"), "{problem}");
        }
        let ops: usize = raw.iter().map(|(ops, _)| ops.len()).sum();
        prop_assert_eq!(check.info.sends + check.info.recvs + check.info.calcs, ops as u64);
    }

    #[test]
    fn pieces_parse_like_the_whole(
        raw in ranks(),
        sizes in prop::collection::vec(1usize..60, 1..20),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..4),
    ) {
        let mut text = text(&build(&raw, false));
        mutate(&mut text, &edits, LIKELY);
        prop_assert_eq!(parse(&text, &sizes), parse(&text, WHOLE));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        magic in prop::sample::select(vec![
            &b""[..], b"num_ranks 2\nrank 0 {\n", b"\x7f\x10\0\0\0\0\0\0", b"\x1f\x8b\x08\0",
            b"\x7f\x10\0\0\0\0\0\0\x01\0\0\0\0\0\x16\0\0\0\0\0\0\0\x9c\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0",
        ]),
        sizes in prop::collection::vec(1usize..300, 1..5),
    ) {
        let text = [magic, &bytes].concat();
        prop_assert_eq!(parse(&text, &sizes), parse(&text, WHOLE));
        let (_dir, path) = file(&text);
        let _ = check_file(path);
    }

    #[test]
    fn damaged_binary_schedules_do_not_panic(
        raw in ranks(),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..6),
    ) {
        let mut bytes = binary(&build(&raw, true));
        for (at, _, byte) in edits {
            let at = 8 + at % (bytes.len() - 8);
            bytes[at] = byte;
        }
        let (_dir, path) = file(&bytes);
        let _ = check_file(path);
    }
}
