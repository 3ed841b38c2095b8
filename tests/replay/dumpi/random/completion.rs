//! How ranks of random programs complete what they started.

use super::super::write::{Value, list};
use super::Dice;
use super::pieces::computation;
use super::world::World;
use flitwise::replay::mpi::{Call, RequestId, Until};

const REQUEST_NULL: i64 = 1;

/// One status, or none.
pub fn statuses(known: bool, all: &[(i64, i64)]) -> Value {
    let one = |&(source, tag): &(i64, i64)| (8, source as i32, false, 0, tag as i32);
    Value::Statuses(if known {
        all.iter().map(one).collect()
    } else {
        Vec::new()
    })
}

pub fn wait(world: &mut World, rank: usize, requests: Vec<RequestId>) {
    world.expect_call(
        rank,
        Call::Wait {
            requests: requests.into(),
            until: Until::All,
        },
    );
}

/// A rank completes operations, which took messages of these peers, in one of all ways. Numbers are free then.
pub fn complete(
    world: &mut World,
    dice: &mut Dice<'_>,
    rank: usize,
    open: &[(i64, RequestId)],
    peers: Vec<(i64, i64)>,
    known: bool,
) {
    let numbers: Vec<i64> = open.iter().map(|&(number, _)| number).collect();
    let with_null = [&numbers[..], &[REQUEST_NULL]].concat();
    let all = [(with_null.len() as i64).into(), list(&with_null)];
    let none = statuses(false, &[]);
    let polls = dice.below(3);
    match dice.below(6) {
        0 => {
            let all_peers = [&peers[..], &[(-2, -1)]].concat();
            let values = [&all[..], &[statuses(known, &all_peers)]].concat();
            world.call(rank, computation(dice), "MPI_Waitall", &values);
            wait(world, rank, open.iter().map(|&(_, id)| id).collect());
        }
        1 => {
            for _ in 0..polls {
                let values = [&all[..], &[0.into(), none.clone()]].concat();
                world.poll(rank, computation(dice), "MPI_Testall", &values);
            }
            let all_peers = [&peers[..], &[(-2, -1)]].concat();
            let values = [&all[..], &[1.into(), statuses(known, &all_peers)]].concat();
            world.call(rank, computation(dice), "MPI_Testall", &values);
            wait(world, rank, open.iter().map(|&(_, id)| id).collect());
        }
        2 => {
            // The last first, unless they share a number.
            let name = dice.of(&["MPI_Waitsome", "MPI_Testsome"]);
            if name == "MPI_Testsome" {
                let values = [&all[..], &[0.into(), list(&[]), none.clone()]].concat();
                world.poll(rank, computation(dice), name, &values);
            }
            let indices: Vec<i64> = (0..open.len() as i64).collect();
            let count = indices.len() as i64;
            let values = [
                &all[..],
                &[count.into(), list(&indices), statuses(known, &peers)],
            ]
            .concat();
            world.call(rank, computation(dice), name, &values);
            wait(world, rank, open.iter().map(|&(_, id)| id).collect());
        }
        way => {
            for (at, &(number, id)) in open.iter().enumerate() {
                let status = statuses(known, &peers[at..=at]);
                let compute = computation(dice);
                match way {
                    3 => world.call(rank, compute, "MPI_Wait", &[number.into(), status]),
                    4 => {
                        for _ in 0..polls {
                            let failed = [number.into(), 0.into(), none.clone()];
                            world.poll(rank, computation(dice), "MPI_Test", &failed);
                        }
                        world.call(
                            rank,
                            compute,
                            "MPI_Test",
                            &[number.into(), 1.into(), status],
                        );
                    }
                    _ => {
                        let index: Value = (at as i64).into();
                        if dice.one_in(2) {
                            let failed =
                                [&all[..], &[(-32_766).into(), 0.into(), none.clone()]].concat();
                            world.poll(rank, computation(dice), "MPI_Testany", &failed);
                            let values = [&all[..], &[index, 1.into(), status]].concat();
                            world.call(rank, compute, "MPI_Testany", &values);
                        } else {
                            let values = [&all[..], &[index, status]].concat();
                            world.call(rank, compute, "MPI_Waitany", &values);
                        }
                    }
                }
                wait(world, rank, vec![id]);
            }
        }
    }
    for number in numbers {
        let free = &mut world.ranks[rank].free_requests;
        if !free.contains(&number) {
            free.push(number);
        }
    }
}
