//! Collectives between two groups, of 2 and of 3 ranks.

use super::write::File;
use super::{barrier, calls, checked, directory, operations_of, rank};
use crate::naive::{Case, End, compare};
use flitwise::replay::mpi::Call;
use flitwise::replay::program::{CollectiveKind, Contribution};
use flitwise::replay::trace::Reading;
use flitwise::stop::Stop;

const WORLD: i64 = 2;
const SIDE: i64 = 4;
const BETWEEN: i64 = 5;
/// Of 4 bytes.
const INT: i64 = 9;

/// A rank of the first or the second group, which makes the communicator and calls what `then` says.
fn member(second: bool, then: impl Fn(&mut File)) -> File {
    let leader_there = if second { 0 } else { 2 };
    rank(|file| {
        let color = i64::from(second);
        let split = [WORLD, color, 0, SIDE].map(Into::into);
        file.call("MPI_Comm_split", &split);
        let create = [SIDE, 0, WORLD, leader_there, 99, BETWEEN].map(Into::into);
        file.call("MPI_Intercomm_create", &create);
        then(file);
    })
}

fn trace(then: impl Fn(bool, &mut File)) -> tempfile::TempDir {
    let file = |at| {
        let second = at >= 2;
        member(second, |file| then(second, file))
    };
    directory(&(0..5).map(file).collect::<Vec<_>>())
}

/// A member of the first group sends 8 bytes to each of the others, and gets 4 from each.
fn swap(function: &'static str) -> impl Fn(bool, &mut File) {
    move |second, file| {
        let [sent, received] = if second { [1, 2] } else { [2, 1] };
        let arguments = [sent, INT, received, INT, BETWEEN].map(Into::into);
        file.call(function, &arguments);
    }
}

#[test]
fn every_member_sends_to_the_other_side() {
    let dir = trace(|second, file| {
        barrier(BETWEEN)(file);
        let reduce = [5, INT, 1, BETWEEN].map(Into::into);
        file.call("MPI_Allreduce", &reduce);
        swap("MPI_Allgather")(second, file);
        swap("MPI_Alltoall")(second, file);
    });
    let ranks = operations_of(dir.path(), &Reading::default());
    for (at, ops) in ranks.iter().enumerate() {
        let brought: Vec<&Contribution> = calls(ops)
            .map(|call| match call {
                Call::Collective {
                    comm, contribution, ..
                } => {
                    assert_eq!(comm.members.len(), 5);
                    contribution
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let to_others = |to_second: u64, to_first: u64| {
            if at < 2 {
                [0, 0, to_second, to_second, to_second]
            } else {
                [to_first, to_first, 0, 0, 0]
            }
        };
        let straight = |send: [u64; 5], receive: [u64; 5]| Contribution::Alltoallv {
            send: send.into(),
            receive: receive.into(),
        };
        let swapped = straight(to_others(8, 4), to_others(4, 8));
        let reduced = straight(to_others(20, 20), to_others(20, 20));
        let barrier = Contribution::Known(CollectiveKind::Barrier);
        assert_eq!(brought, [&barrier, &reduced, &swapped, &swapped], "{at}");
    }
    let case = Case::of(ranks.into_iter().map(|ops| vec![ops]).collect());
    let naive = compare(&case).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(naive.end, End::Complete);
    assert_eq!(naive.collectives, 4);
    // Six pairs of ranks: 20 bytes there and back, and twice 8 there and 4 back.
    assert_eq!(naive.bytes, 6 * (2 * 20 + 2 * (8 + 4)));
}

#[test]
fn those_with_a_root_are_refused() {
    let dir = trace(|second, file| {
        // `MPI_ROOT` and Open MPI's `MPI_PROC_NULL` have one number.
        let root = if second { 0 } else { -2 };
        let bcast = [1, INT, root, BETWEEN].map(Into::into);
        file.call("MPI_Bcast", &bcast);
    });
    let refused = checked(dir.path()).open(&Reading::default(), Stop::never());
    let refused = refused.err().expect("it is not opened").to_string();
    let counted = "has 5 calls that are collectives between two groups with a root";
    assert!(refused.contains(counted), "{refused}");
    let skipping = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    for ops in operations_of(dir.path(), &skipping) {
        assert_eq!(calls(&ops).count(), 0);
    }
}
