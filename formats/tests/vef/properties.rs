//! Properties of the VEF parser, writer and check.

use crate::mutate::mutate;
use std::io::Write;

use crate::support;
use flitwise_formats::PlaceError;
use flitwise_formats::vef::{
    Comm, Dep, DepId, Header, Member, Message, Parser, Record, Step, Version, check_file,
};
use proptest::prelude::*;

type Parsed = (Vec<Step>, Option<PlaceError>);

/// Everything a file parses to, with `consumed` left out, fed in pieces of `sizes` bytes.
fn parse(text: &[u8], sizes: &[usize]) -> Parsed {
    let mut parser = Parser::new();
    let mut steps = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut sizes = sizes.iter().cycle();
    loop {
        let taken = match parser.next(&text[start..end], end == text.len()) {
            Ok(Step::NeedMore) => {
                assert!(end < text.len(), "asks for more at the end");
                end = (end + sizes.next().unwrap()).min(text.len());
                continue;
            }
            Ok(Step::End) => return (steps, None),
            Ok(Step::Header { consumed, header }) => {
                steps.push(Step::Header {
                    consumed: 0,
                    header,
                });
                consumed
            }
            Ok(Step::Comm { consumed, comm }) => {
                steps.push(Step::Comm { consumed: 0, comm });
                consumed
            }
            Ok(Step::Record { consumed, record }) => {
                steps.push(Step::Record {
                    consumed: 0,
                    record,
                });
                consumed
            }
            Err(e) => return (steps, Some(e)),
        };
        assert_eq!(text[start + taken - 1], b'\n');
        start += taken;
        end = end.max(start);
    }
}

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut f = tempfile::NamedTempFile::new().unwrap();
    f.write_all(text).unwrap();
    f
}

/// Bytes that the format gives a meaning.
const LIKELY: &[u8] = b"0123456789 G\n-C";

fn dep_id() -> impl Strategy<Value = DepId> {
    prop_oneof![
        Just(DepId::None),
        any::<u64>().prop_map(DepId::Message),
        any::<u64>().prop_map(DepId::Collective),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let message = (any::<[u64; 3]>(), any::<[u32; 2]>(), any::<u8>(), dep_id()).prop_map(
        |([id, size, time], [src, dst], dep, after)| {
            let dep = Dep(dep);
            Record::Message(Message {
                id,
                src,
                dst,
                size,
                dep,
                time,
                after,
            })
        },
    );
    let member = (any::<[u64; 4]>(), any::<[u32; 3]>(), any::<u8>(), dep_id()).prop_map(
        |([id, send, recv, time], [comm, op, task], dep, after)| {
            let dep = Dep(dep);
            Record::Member(Member {
                id,
                comm,
                op,
                task,
                send,
                recv,
                dep,
                time,
                after,
            })
        },
    );
    prop_oneof![message, member]
}

#[test]
fn generated_traces_have_what_recorded_ones_have() {
    let mut ops = [0; 8];
    let mut forward = 0;
    for seed in 0..20 {
        let trace = support::generate(seed, 5, 300);
        let mut seen = std::collections::HashSet::new();
        for record in &trace.records {
            match record {
                Record::Message(m) => drop(seen.insert(m.id)),
                Record::Member(m) => ops[m.op as usize] += 1,
            }
            if let DepId::Message(id) = record.dep().1 {
                forward += u32::from(!seen.contains(&id));
            }
        }
    }
    assert!(ops.iter().all(|&n| n > 0), "{ops:?}");
    assert!(forward > 10, "{forward}");
}

/// Version `VEF` ignores bit 2 of `Dep`.
fn without_traffic_bit(mut record: Record) -> Record {
    let dep = match &mut record {
        Record::Message(m) => &mut m.dep,
        Record::Member(m) => &mut m.dep,
    };
    if dep.0 <= Dep::MAX {
        dep.0 &= !4;
    }
    record
}

proptest! {
    #[test]
    fn what_is_written_parses_to_the_same(
        records in prop::collection::vec(record(), 0..20),
        counts in any::<[u64; 3]>(),
        tasks in 1u32..1000,
        vef3 in any::<bool>(),
        ps_per_unit in 1u64..,
        only_send_deps in any::<bool>(),
        members in prop::collection::vec(prop::collection::vec(any::<u32>(), 1..9), 0..4),
    ) {
        let [messages, collectives, lines] = counts;
        let header = Header {
            version: if vef3 { Version::Vef3 } else { Version::Vef },
            tasks,
            messages,
            comms: members.len() as u32,
            collectives,
            members: lines,
            only_send_deps,
            ps_per_unit: if vef3 { ps_per_unit } else { 1000 },
        };
        let comms = members.into_iter().map(|m| Comm { members: m.into() }).collect();
        let trace = support::Trace { header, comms, records };
        let consumed = 0;
        let mut expected = vec![Step::Header { consumed, header: trace.header.clone() }];
        expected.extend(trace.comms.iter().map(|c| Step::Comm { consumed, comm: c.clone() }));
        expected.extend(trace.records.iter().map(|&record| {
            let record = if vef3 { record } else { without_traffic_bit(record) };
            Step::Record { consumed, record }
        }));
        prop_assert_eq!(parse(&trace.text(), &[usize::MAX / 2]), (expected, None));
    }

    #[test]
    fn pieces_parse_like_the_whole(
        seed in any::<u64>(),
        sizes in prop::collection::vec(1usize..100, 1..20),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..4),
    ) {
        let mut text = support::generate(seed, 3, 60).text();
        mutate(&mut text, &edits, LIKELY);
        prop_assert_eq!(parse(&text, &sizes), parse(&text, &[usize::MAX / 2]));
    }

    #[test]
    fn generated_traces_check_clean(seed in any::<u64>(), tasks in 1u32..9, steps in 0u32..400) {
        let trace = support::generate(seed, tasks, steps);
        let check = check_file(file(&trace.text()).path()).unwrap();
        prop_assert!(check.is_clean(), "{:?}", check.errors);
        prop_assert_eq!(check.messages + check.markers, trace.header.messages);
        prop_assert_eq!(check.collectives, trace.header.collectives);
        prop_assert_eq!(check.members, trace.header.members);
        prop_assert_eq!(check.records.iter().sum::<u64>(), trace.records.len() as u64);
    }

    #[test]
    fn a_lost_line_is_noticed(seed in any::<u64>(), pick in any::<prop::sample::Index>()) {
        let mut trace = support::generate(seed, 4, 100);
        trace.records.remove(pick.index(trace.records.len()));
        let check = check_file(file(&trace.text()).path()).unwrap();
        prop_assert!(!check.is_clean());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        magic in prop::sample::select(vec![
            &b""[..], b"VEF3 ", b"VEF3 2 2 1 0 0 0 1000\nC0 0 1\n", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd",
        ]),
        sizes in prop::collection::vec(1usize..300, 1..5),
    ) {
        let text = [magic, &bytes].concat();
        prop_assert_eq!(parse(&text, &sizes), parse(&text, &[usize::MAX / 2]));
        let _ = check_file(file(&text).path());
    }

    #[test]
    fn damaged_traces_do_not_panic(
        seed in any::<u64>(),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..12),
    ) {
        let mut text = support::generate(seed, 5, 150).text();
        mutate(&mut text, &edits, LIKELY);
        if let Ok(check) = check_file(file(&text).path()) {
            prop_assert!(check.errors.first.len() as u64 <= check.errors.total);
        }
    }
}
