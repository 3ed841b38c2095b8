//! Properties of parser, writer and check.

use crate::mutate::mutate;
use flitwise_formats::PlaceError;
use flitwise_formats::ti::{
    Action, Alltoallv, Collective, Datatype, Elements, Mode, Parser, Request, Step, Trace,
    check_file, write,
};
use proptest::prelude::*;

use crate::{contents, file};

/// Everything a text parses to with the lines, fed in pieces of `sizes` bytes.
fn parse(
    text: &[u8],
    ranks: u32,
    sizes: &[usize],
) -> (Vec<(u64, u32, Action)>, Option<PlaceError>) {
    let mut parser = Parser::new(ranks);
    let mut actions = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut sizes = sizes.iter().cycle();
    loop {
        let taken = match parser.next(&text[start..end], end == text.len()) {
            Ok(Step::NeedMore) => {
                assert!(end < text.len(), "asks for more at the end");
                end = (end + sizes.next().unwrap()).min(text.len());
                continue;
            }
            Ok(Step::End) => return (actions, None),
            Ok(Step::Nothing { consumed }) => consumed,
            Ok(Step::Action {
                consumed,
                rank,
                action,
            }) => {
                actions.push((parser.line(), rank, action));
                consumed
            }
            Err(e) => return (actions, Some(e)),
        };
        assert!(taken > 0);
        start += taken;
        end = end.max(start);
    }
}

const WHOLE: &[usize] = &[usize::MAX / 2];
const RANKS: u32 = 5;

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, 0..=1u64 << 53]
}

fn datatype() -> impl Strategy<Value = Datatype> {
    (-1..=i64::from(Datatype::MAX)).prop_map(|id| Datatype::of_id(id).unwrap())
}

fn elements() -> impl Strategy<Value = Elements> {
    (count(), datatype()).prop_map(|(count, datatype)| Elements { count, datatype })
}

fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0..1u64 << 60).prop_map(|n| n as f64),
        0.0..1e6,
        any::<f64>()
            .prop_map(f64::abs)
            .prop_filter("finite", |n| n.is_finite()),
    ]
}

fn maybe(max: u32) -> impl Strategy<Value = Option<u32>> {
    prop_oneof![3 => (0..max).prop_map(Some), 1 => Just(None)]
}

fn list(lacking: bool) -> impl Strategy<Value = Box<[u64]>> {
    let sizes = if lacking {
        prop::sample::select(vec![0, RANKS as usize]).boxed()
    } else {
        Just(RANKS as usize).boxed()
    };
    sizes
        .prop_flat_map(|n| prop::collection::vec(count(), n))
        .prop_map(Into::into)
}

fn collective() -> impl Strategy<Value = Collective> {
    let root = 0..RANKS;
    let vector = || (elements(), amount());
    let pair = || (elements(), elements());
    prop_oneof![
        Just(Collective::Barrier),
        (elements(), root.clone())
            .prop_map(|(elements, root)| Collective::Bcast { elements, root }),
        (vector(), root.clone()).prop_map(|((elements, flops), root)| Collective::Reduce {
            elements,
            flops,
            root
        }),
        vector().prop_map(|(elements, flops)| Collective::Allreduce { elements, flops }),
        vector().prop_map(|(elements, flops)| Collective::Scan { elements, flops }),
        vector().prop_map(|(elements, flops)| Collective::Exscan { elements, flops }),
        pair().prop_map(|(send, recv)| Collective::Alltoall { send, recv }),
        pair().prop_map(|(send, recv)| Collective::Allgather { send, recv }),
        (pair(), root.clone()).prop_map(|((send, recv), root)| Collective::Gather {
            send,
            recv,
            root
        }),
        (pair(), root.clone()).prop_map(|((send, recv), root)| Collective::Scatter {
            send,
            recv,
            root
        }),
        (elements(), list(true), datatype(), root.clone()).prop_map(
            |(send, recv, recv_type, root)| Collective::Gatherv {
                send,
                recv,
                recv_type,
                root
            }
        ),
        (list(true), datatype(), elements(), root).prop_map(|(send, send_type, recv, root)| {
            Collective::Scatterv {
                send,
                send_type,
                recv,
                root,
            }
        }),
        (elements(), list(false), datatype()).prop_map(|(send, recv, recv_type)| {
            Collective::Allgatherv {
                send,
                recv,
                recv_type,
            }
        }),
        (list(false), datatype(), amount()).prop_map(|(recv, datatype, flops)| {
            Collective::ReduceScatter {
                recv,
                datatype,
                flops,
            }
        }),
        (
            list(false),
            list(false),
            count(),
            count(),
            datatype(),
            datatype()
        )
            .prop_map(
                |(send, recv, send_buffer, recv_buffer, send_type, recv_type)| {
                    Collective::Alltoallv(Box::new(Alltoallv {
                        send_buffer,
                        send,
                        recv_buffer,
                        recv,
                        send_type,
                        recv_type,
                    }))
                }
            ),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let tag = 0..=i32::MAX as u32;
    let mode = prop::sample::select(vec![Mode::Standard, Mode::Synchronous, Mode::Buffered]);
    let request = || {
        (maybe(RANKS), maybe(RANKS), maybe(1 << 30)).prop_map(|(src, dst, tag)| Request {
            src,
            dst,
            tag,
        })
    };
    let counts = || prop_oneof![count().prop_map(Some), Just(None)];
    prop_oneof![
        prop::sample::select(vec![
            Action::Init,
            Action::Finalize,
            Action::CommSplit,
            Action::CommDup,
            Action::Location,
            Action::TestAny,
            Action::TestAll,
            Action::TestSome,
        ]),
        count().prop_map(Action::CommSize),
        amount().prop_map(|flops| Action::Compute { flops }),
        amount().prop_map(|seconds| Action::Sleep { seconds }),
        (maybe(RANKS), tag, elements(), mode, any::<bool>()).prop_map(
            |(to, tag, elements, mode, immediate)| {
                Action::Send {
                    to,
                    tag,
                    elements,
                    mode,
                    immediate,
                }
            }
        ),
        (maybe(RANKS), maybe(1 << 30), elements(), any::<bool>()).prop_map(
            |(from, tag, elements, immediate)| Action::Recv {
                from,
                tag,
                elements,
                immediate
            }
        ),
        (maybe(RANKS), elements(), maybe(RANKS), elements()).prop_map(|(to, send, from, recv)| {
            Action::SendRecv {
                to,
                send,
                from,
                recv,
            }
        }),
        request().prop_map(Action::Wait),
        request().prop_map(Action::Test),
        counts().prop_map(|count| Action::WaitAll { count }),
        counts().prop_map(|count| Action::WaitAny { count }),
        (collective(), any::<bool>())
            .prop_map(|(call, immediate)| Action::Collective { call, immediate }),
    ]
}

fn actions() -> impl Strategy<Value = Vec<(u32, Action)>> {
    prop::collection::vec((0..RANKS, action()), 0..40)
}

fn text(actions: &[(u32, Action)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (rank, action) in actions {
        write::line(&mut out, *rank, action).unwrap();
    }
    out
}

/// Bytes that the format gives a meaning.
const LIKELY: &[u8] = b"0123456789 \n-.e#iw";

proptest! {
    #[test]
    fn what_is_written_reads_the_same(mut actions in actions()) {
        // Every rank is there.
        actions.extend((0..RANKS).map(|rank| (rank, Action::Finalize)));
        let text = text(&actions);
        let parsed = parse(&text, RANKS, WHOLE);
        let expected: Vec<_> = actions.iter().zip(1..).map(|((r, a), line)| (line, *r, a.clone())).collect();
        prop_assert_eq!(parsed, (expected, None));

        let (_dir, path) = file(&text);
        let trace = Trace::open(&path).unwrap();
        let of_rank = |rank| actions.iter().filter(|a| a.0 == rank).map(|a| a.1.clone()).collect::<Vec<_>>();
        let expected: Vec<_> = (0..RANKS).map(of_rank).collect();
        prop_assert_eq!(contents(&trace), expected.clone());

        let mut again = Vec::new();
        write::one_file(&trace, &mut again).unwrap();
        let (_dir, path) = file(&again);
        prop_assert_eq!(contents(&Trace::open(&path).unwrap()), expected);
        let check = check_file(&path).unwrap();
        prop_assert_eq!(check.info.actions, actions.len() as u64);
    }

    #[test]
    fn pieces_parse_like_the_whole(
        actions in actions(),
        sizes in prop::collection::vec(1usize..60, 1..20),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..4),
    ) {
        let mut text = text(&actions);
        mutate(&mut text, &edits, LIKELY);
        prop_assert_eq!(parse(&text, RANKS, &sizes), parse(&text, RANKS, WHOLE));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        start in prop::sample::select(vec![&b""[..], b"0 init\n0 ", b"a.txt\n", b"\x1f\x8b\x08\0"]),
        sizes in prop::collection::vec(1usize..300, 1..5),
    ) {
        let text = [start, &bytes].concat();
        prop_assert_eq!(parse(&text, 3, &sizes), parse(&text, 3, WHOLE));
        let (_dir, path) = file(&text);
        let _ = check_file(path);
    }

    #[test]
    fn damaged_traces_do_not_panic(
        actions in actions(),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..12),
    ) {
        let mut text = text(&actions);
        mutate(&mut text, &edits, LIKELY);
        let (_dir, path) = file(&text);
        if let Ok(check) = check_file(path) {
            prop_assert!(check.errors.first.len() as u64 <= check.errors.total);
        }
    }
}
