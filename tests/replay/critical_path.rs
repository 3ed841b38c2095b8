//! The critical path of a job: it is whole, and it is right about what would make the job faster.
//!
//! On a fabric without contention a program whose messages have ids is a graph: its time is its longest
//! path. So what is said of a part of the critical path can be tried out by taking that part away.

use crate::naive::ops::{Around, enter, marker, message, with_id};
use crate::naive::random::{Recipe, case};
use crate::naive::{Case, End, play, start};
use flitwise::fabric::workload::Workload;
use flitwise::replay::SendCompletion;
use flitwise::replay::critical_path::{Leg, LegKind, LegMessage};
use flitwise::replay::mpi::Call;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::program::{Action, CollectiveKind, Event, Op};
use flitwise::units::{Ratio, TickLength};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Replays `case` and keeps causes. `None` if it does not complete.
fn explained(case: &Case) -> Option<(JobOutcome, Vec<Leg>)> {
    let mut replay = start(case);
    replay.keep_causes();
    let sent = play(&mut replay, false);
    let outcome = replay.outcomes().pop()?;
    let mut plain = start(case);
    assert_eq!(sent, play(&mut plain, false));
    assert_eq!(outcome, plain.outcomes().pop()?);
    assert!(plain.critical_path(0).is_empty());
    let complete = replay.finished() && replay.error().is_none();
    complete.then(|| (outcome, replay.critical_path(0)))
}

/// Checks that the legs go from 0 to the last event, and that messages take what they take.
fn check(case: &Case, outcome: &JobOutcome, path: &[Leg]) -> Result<(), TestCaseError> {
    let mut at = 0;
    for leg in path {
        prop_assert_eq!(leg.from_ps, at);
        prop_assert!(leg.ps() > 0);
        at = leg.to_ps;
        let ticks = |ticks: u64| case.tick.ps(ticks);
        match leg.kind {
            LegKind::Start => prop_assert_eq!((leg.from_ps, leg.to_ps), (0, case.start_ps)),
            LegKind::Computing { stream, operation } => {
                let stream = &case.ranks[leg.rank.index()][stream.index()];
                let op = &stream[operation as usize];
                let scale = case.scale(&stream[..operation as usize]);
                let scaled = scale.mul_round(op.compute_ps);
                let busy_ps = leg.ps() - scaled.unwrap_or(0);
                // What MPI does before a send and after each message received counts as well.
                let protocol = &case.protocol;
                let sends =
                    matches!(&op.action, Action::Mpi(call) if matches!(**call, Call::Send { .. }));
                let before_ps = if sends { protocol.send_overhead_ps } else { 0 };
                prop_assert!(busy_ps >= before_ps);
                let after_ps = protocol.receive_overhead_ps;
                prop_assert_eq!(
                    (busy_ps - before_ps)
                        .checked_rem(after_ps)
                        .unwrap_or(busy_ps - before_ps),
                    0
                );
            }
            LegKind::Reduction => prop_assert!(!case.reduction_ps_per_byte.is_zero()),
            LegKind::Arrival(message) if !message.is_inside_node() => {
                prop_assert_eq!(message.created, case.tick.ticks(leg.from_ps));
                let arrives = message.created + 100 + longest(&message) / 8;
                prop_assert_eq!(leg.to_ps, ticks(arrives));
            }
            LegKind::Injection(message) if !message.is_inside_node() => {
                let leaves = message.created + 1 + longest(&message) / 8;
                prop_assert_eq!(leg.to_ps, ticks(leaves));
            }
            LegKind::Arrival(_) | LegKind::Injection(_) => {}
        }
    }
    prop_assert_eq!(at, outcome.end_ps);
    Ok(())
}

/// Bytes of the longest part of a message, which ends last.
fn longest(message: &LegMessage) -> u64 {
    let parts = message.parts.each().map(|(_, _, bytes)| bytes);
    parts.max().unwrap_or(0)
}

/// A step of a program; ranks modulo their number.
#[derive(Debug, Clone)]
enum Step {
    /// From, by how much further, bytes, computation before sending and after receiving.
    Message(u8, u8, u16, u16, u16),
    /// Of all ranks: operation, bytes, computation before it.
    Collective(u8, u16, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let message =
        any::<(u8, u8, u16, u16, u16)>().prop_map(|(a, b, c, d, e)| Step::Message(a, b, c, d, e));
    let collective = any::<(u8, u16, u16)>().prop_map(|(a, b, c)| Step::Collective(a, b, c));
    prop::collection::vec(prop_oneof![5 => message, 1 => collective], 1..40)
}

/// The program of these steps, in ticks of a picosecond: nothing is rounded.
fn program(ranks: u32, steps: &[Step], completion: SendCompletion) -> Case {
    let mut streams: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
    for (id, step) in (1..).zip(steps) {
        match *step {
            Step::Message(from, further, bytes, before, after) => {
                let from = u32::from(from) % ranks;
                let to = (from + 1 + u32::from(further) % (ranks - 1)) % ranks;
                let send = message(id, to, bytes.into()).compute(before.into());
                streams[from as usize].push(send);
                let receive = marker().after([Event::Received(id)]).compute(after.into());
                streams[to as usize].push(receive);
            }
            Step::Collective(operation, bytes, before) => {
                let bytes = bytes.into();
                let kind = match operation % 3 {
                    0 => CollectiveKind::Barrier,
                    1 => CollectiveKind::Bcast {
                        root: u32::from(operation) % ranks,
                        bytes,
                    },
                    _ => CollectiveKind::Allreduce { bytes },
                };
                let members: Vec<u32> = (0..ranks).collect();
                let all = with_id(id, &members, kind);
                for (rank, stream) in (0..).zip(&mut streams) {
                    stream.push(enter(&all, rank).compute(before.into()));
                    stream.push(marker().after([Event::Completed(id)]));
                }
            }
        }
    }
    Case {
        tick: TickLength::whole(1),
        send_completion: completion,
        reduction_ps_per_byte: Ratio::ONE,
        ..Case::of(streams.into_iter().map(|ops| vec![ops]).collect())
    }
}

fn completions() -> impl Strategy<Value = SendCompletion> {
    prop_oneof![
        Just(SendCompletion::Handed),
        Just(SendCompletion::Injected),
        Just(SendCompletion::Rendezvous {
            eager_threshold_bytes: 10_000
        }),
    ]
}

/// The computations on the path: rank, operation, picoseconds.
fn blamed(path: &[Leg]) -> Vec<(usize, usize, u64)> {
    let computing = |leg: &Leg| match leg.kind {
        LegKind::Computing { operation, .. } => {
            Some((leg.rank.index(), operation as usize, leg.ps()))
        }
        _ => None,
    };
    path.iter().filter_map(computing).collect()
}

fn end_ps(case: &Case) -> u64 {
    explained(case).expect("it completes").0.end_ps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_path_of_any_program_is_whole(
        job in any::<[u8; 32]>(), pieces in prop::collection::vec(any::<[u8; 24]>(), 1..20),
    ) {
        let case = case(&Recipe {
            job,
            network: [0; 8],
            pieces,
        });
        if let Some((outcome, path)) = explained(&case) {
            check(&case, &outcome, &path)?;
        }
    }

    /// Taking away all computations that are not on the path gains nothing; taking away one that is
    /// gains something, and not more than it takes.
    #[test]
    fn what_is_blamed_is_what_counts(
        ranks in 2_u32..6, steps in steps(), completion in completions(), choice in any::<prop::sample::Index>(),
    ) {
        let case = program(ranks, &steps, completion);
        let (outcome, path) = explained(&case).expect("it completes");
        check(&case, &outcome, &path)?;
        let blamed = blamed(&path);
        let on_path: BTreeSet<_> = blamed.iter().map(|&(rank, at, _)| (rank, at)).collect();
        let mut without_others = case.clone();
        for (rank, streams) in without_others.ranks.iter_mut().enumerate() {
            for (at, op) in streams[0].iter_mut().enumerate() {
                if !on_path.contains(&(rank, at)) {
                    op.compute_ps = 0;
                }
            }
        }
        prop_assert_eq!(end_ps(&without_others), outcome.end_ps);
        if !blamed.is_empty() {
            let (rank, at, took) = blamed[choice.index(blamed.len())];
            let mut without = case.clone();
            without.ranks[rank][0][at].compute_ps = 0;
            let end = end_ps(&without);
            prop_assert!(end <= outcome.end_ps && end + took >= outcome.end_ps);
            // Of what is left it is all of the gain, if nothing else takes time.
            without_others.ranks[rank][0][at].compute_ps = 0;
            let end = end_ps(&without_others);
            prop_assert!(end <= outcome.end_ps && end + took >= outcome.end_ps);
        }
    }

    /// One message is under way at a time: there is one path, and a computation on it counts in full.
    #[test]
    fn a_chain_gains_what_is_blamed(
        ranks in 2_u32..6,
        hops in prop::collection::vec(any::<(u8, u16, u16, u16)>(), 1..30),
        choice in any::<prop::sample::Index>(),
    ) {
        let mut from = 0;
        let mut steps = Vec::new();
        for (further, bytes, before, after) in hops {
            steps.push(Step::Message(from, further, bytes, before, after));
            from = ((u32::from(from) + 1 + u32::from(further) % (ranks - 1)) % ranks) as u8;
        }
        let case = program(ranks, &steps, SendCompletion::Handed);
        let (outcome, path) = explained(&case).expect("it completes");
        let blamed = blamed(&path);
        if !blamed.is_empty() {
            let (rank, at, took) = blamed[choice.index(blamed.len())];
            let mut without = case.clone();
            without.ranks[rank][0][at].compute_ps = 0;
            prop_assert_eq!(end_ps(&without), outcome.end_ps - took);
        }
    }
}

/// Rank 1 waits from 0 on; rank 0 sends at 5000 ps, and the message takes 110 ticks of 1 ns.
#[test]
fn a_late_partner_is_seen() {
    let case = Case::of(vec![
        vec![vec![message(1, 1, 80).compute(5000)]],
        vec![vec![
            marker().compute(700),
            marker().after([Event::Received(1)]).compute(11),
        ]],
    ]);
    let (_, path) = explained(&case).expect("it completes");
    assert_eq!(crate::naive::replay(&case).end, End::Complete);
    let parts: Vec<_> = path.iter().map(|leg| (leg.rank.get(), leg.ps())).collect();
    assert_eq!(parts, [(0, 5000), (0, 110_000), (1, 11)]);
    let LegKind::Arrival(message) = path[1].kind else {
        panic!("{path:?}");
    };
    // It had nothing to do from 700 ps on.
    assert_eq!(message.late_ps, 4300);
}
