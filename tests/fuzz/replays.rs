//! The property of the target `trace_replay`. It has a file of its own because it needs the naive
//! replay, which the other targets do without.
#![allow(
    dead_code,
    unused_imports,
    reason = "the naive replay serves other tests as well"
)]

use super::properties::{fill, is_small};
use flitwise::replay::SendCompletion;
use flitwise::replay::collectives::{Choices, decide};
use flitwise::replay::program::{Program, RankId, StreamId};
use flitwise::replay::trace::vef::VefProgram;
use flitwise_formats::vef::{Info, check_file};
use tempfile::NamedTempFile;

#[path = "../replay/naive/mod.rs"]
mod naive;

use naive::{Case, End};

/// Longest computation of all ranks together: far from 2^64 ps, with room for the messages.
const MAX_COMPUTE_PS: u128 = 1 << 62;

/// A small trace that checks clean replays as the naive replay says, message by message, and takes at
/// least as long as on the ideal clock. The number of bytes decides how sends are done, how many
/// ranks are on a NIC, and the algorithms of collectives.
pub fn trace_replay(data: &[u8]) {
    let mut file = NamedTempFile::with_suffix(".vef").unwrap();
    fill(&mut file, data);
    let Ok(check) = check_file(file.path()) else {
        return;
    };
    if !check.is_clean() || !is_small(file.path(), &check) {
        return;
    }
    let (mut program, _) = VefProgram::open(file.path()).unwrap();
    let ranks: Vec<Vec<Vec<_>>> = RankId::all(program.ranks())
        .map(|rank| {
            let mut next = || program.next(rank, StreamId::new(0)).unwrap();
            vec![std::iter::from_fn(&mut next).collect()]
        })
        .collect();
    let computations = ranks.iter().flatten().flatten();
    let computations = computations.map(|op| u128::from(op.compute_ps));
    if computations.sum::<u128>() > MAX_COMPUTE_PS {
        return;
    }
    let outcome = naive::compare(&case(ranks, data.len())).unwrap_or_else(|e| panic!("{e}"));
    assert!(!matches!(outcome.end, End::Error(_)), "{:?}", outcome.end);
    if outcome.end == End::Complete {
        let ideal = Info::read(file.path()).unwrap().ideal.unwrap();
        let run_ps = outcome.repetitions_ps[0];
        assert!(ideal.span_ps <= run_ps, "{} > {run_ps}", ideal.span_ps);
    }
}

/// A job of these ranks, with settings drawn by `number`.
fn case(ranks: Vec<Vec<Vec<flitwise::replay::program::Op>>>, mut number: usize) -> Case {
    let mut draw = |n: usize| {
        let drawn = number % n;
        number /= n;
        drawn
    };
    let send_completion = match draw(3) {
        0 => SendCompletion::Handed,
        1 => SendCompletion::Injected,
        _ => SendCompletion::Rendezvous {
            eager_threshold_bytes: 16,
        },
    };
    let per_nic = 1 + draw(3) as u32;
    let turn = draw(4);
    Case {
        send_completion,
        nics: (0..ranks.len() as u32).map(|rank| rank / per_nic).collect(),
        collectives: Choices {
            bcast: on_hosts(decide::Bcast::ALL, decide::Bcast::InNetwork, turn),
            reduce: on_hosts(decide::Reduce::ALL, decide::Reduce::InNetwork, turn),
            allreduce: on_hosts(decide::Allreduce::ALL, decide::Allreduce::InNetwork, turn),
            gather: decide::Rooted::ALL.get(turn).copied(),
            scatter: decide::Rooted::ALL.get(turn).copied(),
            allgather: decide::Allgather::ALL.get(turn).copied(),
            alltoall: decide::Alltoall::ALL.get(turn).copied(),
            barrier: on_hosts(decide::Barrier::ALL, decide::Barrier::InNetwork, turn),
            ..Choices::default()
        },
        ..Case::of(ranks)
    }
}

/// An algorithm of these, but not `in_network`: these programs have no switches.
fn on_hosts<A: Copy + PartialEq>(all: &[A], in_network: A, turn: usize) -> Option<A> {
    let chosen = all.get(turn).copied();
    chosen.filter(|&algorithm| algorithm != in_network)
}
