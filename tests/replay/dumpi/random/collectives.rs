//! Collectives of random programs.

use super::super::write::{Value, list};
use super::pieces::{DOUBLE, computation};
use super::world::World;
use super::{Dice, comms};
use flitwise::replay::mpi::Call;
use flitwise::replay::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};

/// A collective of all members of a communicator.
pub fn collective(world: &mut World, dice: &mut Dice<'_>) {
    let comm = comms::any(world, dice);
    let members = world.comms[comm].members.clone();
    let n = members.len();
    let root = dice.below(n);
    let way = dice.below(13);
    let elements: Vec<i64> = (0..n * n).map(|_| dice.of(&[1_i64, 0, 700])).collect();
    let block = dice.of(&[1_i64, 20, 3000]);
    let size = |count: i64| count as u64 * 8;
    for (me, &rank) in members.iter().enumerate() {
        let handle: Value = world.handle(comm, rank).into();
        let (r, my, count): (Value, Value, Value) =
            ((root as i64).into(), (me as i64).into(), (n as i64).into());
        let (b, d): (Value, Value) = (block.into(), DOUBLE.into());
        let blocks = vec![size(block); n];
        let root32 = root as u32;
        let row: Vec<i64> = (0..n).map(|to| elements[me * n + to]).collect();
        let column: Vec<i64> = (0..n).map(|of| elements[of * n + me]).collect();
        let first_row: Vec<i64> = elements[..n].to_vec();
        let sizes = |list: &[i64]| -> Vec<u64> { list.iter().map(|&count| size(count)).collect() };
        let known = Contribution::Known;
        let op: Value = 3.into();
        let at_root = me == root;
        let rooted = |all: &[i64]| {
            if at_root {
                RootedBlocks::All(sizes(all).into())
            } else {
                RootedBlocks::Own(size(all[me]))
            }
        };
        let zeros = list(&vec![0; n]);
        let (name, values, brings) = match way {
            0 => ("MPI_Barrier", vec![handle], known(CollectiveKind::Barrier)),
            1 => (
                "MPI_Bcast",
                vec![b, d, r, handle],
                known(CollectiveKind::Bcast {
                    root: root32,
                    bytes: size(block),
                }),
            ),
            2 => (
                "MPI_Reduce",
                vec![b, d, op, r, handle],
                known(CollectiveKind::Reduce {
                    root: root32,
                    bytes: size(block),
                }),
            ),
            3 => (
                "MPI_Allreduce",
                vec![b, d, op, handle],
                known(CollectiveKind::Allreduce { bytes: size(block) }),
            ),
            4 => (
                "MPI_Scan",
                vec![b, d, op, handle],
                known(CollectiveKind::Scan { bytes: size(block) }),
            ),
            5 => {
                // The root may leave its own block where it is.
                let (own, of) = if at_root {
                    (0.into(), 1.into())
                } else {
                    (b.clone(), d.clone())
                };
                (
                    "MPI_Gather",
                    vec![my, own, of, r, handle, b, d],
                    known(CollectiveKind::Gather {
                        root: root32,
                        blocks,
                    }),
                )
            }
            6 => (
                "MPI_Scatter",
                vec![my, b.clone(), d.clone(), r, handle, b, d],
                known(CollectiveKind::Scatter {
                    root: root32,
                    blocks,
                }),
            ),
            7 => (
                "MPI_Allgather",
                vec![0.into(), 1.into(), b, d, handle],
                known(CollectiveKind::Allgather { blocks }),
            ),
            8 => {
                let each = vec![AlltoallBlocks::Each(size(block)); n];
                (
                    "MPI_Alltoall",
                    vec![b.clone(), d.clone(), b, d, handle],
                    known(CollectiveKind::Alltoall { blocks: each }),
                )
            }
            9 => {
                let own = first_row[me].into();
                let values = vec![
                    my,
                    count,
                    own,
                    d.clone(),
                    r,
                    handle,
                    list(&first_row),
                    zeros,
                    d,
                ];
                (
                    "MPI_Gatherv",
                    values,
                    Contribution::Gatherv {
                        root: root32,
                        blocks: rooted(&first_row),
                    },
                )
            }
            10 => {
                let own = first_row[me].into();
                let values = vec![
                    my,
                    count,
                    d.clone(),
                    own,
                    d,
                    r,
                    handle,
                    list(&first_row),
                    zeros,
                ];
                (
                    "MPI_Scatterv",
                    values,
                    Contribution::Scatterv {
                        root: root32,
                        blocks: rooted(&first_row),
                    },
                )
            }
            11 => {
                let types = list(&vec![DOUBLE; n]);
                let values = vec![
                    count,
                    list(&row),
                    zeros.clone(),
                    types.clone(),
                    list(&column),
                    zeros,
                    types,
                    handle,
                ];
                let (send, receive) = (sizes(&row).into(), sizes(&column).into());
                (
                    "MPI_Alltoallw",
                    values,
                    Contribution::Alltoallv { send, receive },
                )
            }
            _ => {
                let values = vec![count, list(&first_row), d, op, handle];
                (
                    "MPI_Reduce_scatter",
                    values,
                    known(CollectiveKind::ReduceScatter {
                        blocks: sizes(&first_row),
                    }),
                )
            }
        };
        world.call(rank, computation(dice), name, &values);
        let comm = world.communicator(comm, rank);
        world.expect_call(
            rank,
            Call::Collective {
                comm,
                contribution: brings,
                request: None,
            },
        );
    }
}
