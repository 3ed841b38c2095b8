//! Communicators of ranks that name them by different ids.

use crate::write::{Stream, directory, ranks};
use flitwise_formats::recording::{Communicators, Item, Matching, Set, check_seen};

/// The communicators of these streams, or the problem.
fn matched(streams: &[Stream]) -> Result<Communicators, String> {
    let dir = directory(streams);
    let set = Set::open(dir.path()).unwrap();
    let mut matching = Matching::new(set.ranks());
    let mut see = |rank: u32, _, item: &Item<'_>| match item {
        Item::Communicator(comm) => matching.add(rank, comm),
        _ => Ok(()),
    };
    let check = check_seen(&set, &mut see, flitwise_base::stop::Stop::never()).unwrap();
    if let Some(problem) = check.errors.first.first() {
        return Err(problem.to_string());
    }
    matching
        .finish()
        .map_err(|(rank, why)| format!("rank {rank}: {why}"))
}

#[test]
fn members_agree_whatever_their_ids_are() {
    let streams = ranks(4, |stream| {
        let half = i64::from(stream.rank % 2);
        let own = [half, half + 2];
        let all = [0, 1, 2, 3];
        // Ranks 1 and 3 make one more of their own before.
        let more = half as u64;
        if half == 1 {
            stream.comm([2, 0, 0, 0], "MPI_Comm_create_group", &[&own]);
        }
        stream.comm([2 + more, 0, 0, 0], "MPI_Comm_split", &[&own]);
        stream.comm([3 + more, 0, 1, 0], "MPI_Comm_dup", &[&all]);
        stream.comm([4 + more, 3 + more, 0, 0], "MPI_Comm_dup", &[&all]);
        let others = [1 - half, 3 - half];
        stream.comm(
            [5 + more, 2 + more, 0, 1],
            "MPI_Intercomm_create",
            &[&own, &others],
        );
        // The groups of a duplicate, too, are in another order for each side.
        stream.comm([6 + more, 5 + more, 0, 1], "MPI_Comm_dup", &[&own, &others]);
    });
    let made = matched(&streams).unwrap();
    let number = |rank: usize, id: u32| made[rank][&(id + rank as u32 % 2)].number;
    assert_eq!((made[0][&0].number, made[3][&0].number), (0, 0));
    assert_ne!(made[0][&1].number, made[1][&1].number);
    assert_eq!(number(0, 2), number(2, 2));
    assert_eq!(number(1, 2), number(3, 2));
    assert_ne!(number(0, 2), number(1, 2));
    for id in 3..7 {
        for rank in 1..4 {
            assert_eq!(number(0, id), number(rank, id), "{id}");
        }
    }
    let [dup, again] = [3, 4].map(|id| number(0, id));
    assert_ne!(dup, again);
    assert_eq!(made[1][&6].peers()[..], [0, 2]);
}

#[test]
fn topologies_have_neighbours() {
    let streams = ranks(2, |stream| {
        let other = i64::from(1 - stream.rank);
        let lists: [&[i64]; 3] = [&[0, 1], &[-1, other], &[other]];
        stream.comm([2, 0, 0, 2], "MPI_Dist_graph_create_adjacent", &lists);
    });
    let made = matched(&streams).unwrap();
    let [sources, destinations] = made[0][&2].neighbours.as_ref().unwrap();
    assert_eq!(
        (&sources[..], &destinations[..]),
        (&[None, Some(1)][..], &[Some(1)][..])
    );
}

#[test]
fn communicators_that_make_no_sense_are_refused() {
    let refused = |numbers: [u64; 4], lists: &[&[i64]], expected: &str| {
        let streams = ranks(2, |stream| stream.comm(numbers, "MPI_Comm_dup", lists));
        let message = matched(&streams).unwrap_err();
        assert!(message.contains(expected), "{expected}: {message}");
    };
    refused([2, 0, 0, 0], &[&[0, 3]], "has rank 3, which does not exist");
    refused([2, 0, 0, 0], &[&[1, 1]], "does not have its own rank once");
    refused([2, 3, 0, 0], &[&[0, 1]], "which is made later");
    refused([3, 2, 0, 0], &[&[0, 1]], "which no record describes");
    refused([0, 0, 0, 0], &[&[1, 0]], "all ranks in their order");
    refused([1, 1, 0, 0], &[&[0, 1]], "described in two ways");
    refused(
        [2, 0, 0, 2],
        &[&[0, 1], &[2], &[0]],
        "has rank 2 as a neighbour",
    );
}
