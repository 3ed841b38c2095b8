//! Communicators that random programs make.

use super::super::write::{Value, list};
use super::Dice;
use super::world::{Comm, World};
use std::collections::BTreeMap;

/// `MPI_COMM_NULL` and `MPI_UNDEFINED` of Open MPI.
const NULL: i64 = 1;
const UNDEFINED: i64 = -32_766;

/// A communicator that is in use and has one side.
pub fn any(world: &World, dice: &mut Dice<'_>) -> usize {
    let usable: Vec<usize> = (0..world.comms.len())
        .filter(|&comm| !world.comms[comm].freed && world.comms[comm].others.is_none())
        .collect();
    dice.of(&usable)
}

/// Members, the other side, and dimensions of a new communicator.
type Made = (Vec<usize>, Option<Vec<usize>>, Option<Vec<i64>>);

/// All members of `parent` call `name`, whose arguments are before and after the number of the new communicator, of which there is
/// one for each list of members.
fn construct(
    world: &mut World,
    parent: usize,
    name: &'static str,
    made: Vec<Made>,
    arguments: impl Fn(&World, usize) -> Vec<Value>,
) {
    let mut callers = world.comms[parent].members.clone();
    callers.extend(world.comms[parent].others.clone().unwrap_or_default());
    let mut handles = BTreeMap::new();
    for &rank in &callers {
        let is_in = made.iter().any(|(members, others, _)| {
            members.contains(&rank) || others.as_ref().is_some_and(|others| others.contains(&rank))
        });
        let handle = if is_in { world.comm_number(rank) } else { NULL };
        handles.insert(rank, handle);
        let mut values = arguments(world, rank);
        values.push(handle.into());
        world.call(rank, 3, name, &values);
    }
    for (members, others, dims) in made {
        let both = members.iter().chain(others.iter().flatten());
        let handles = both.map(|&rank| (rank, handles[&rank])).collect();
        world.comms.push(Comm {
            members,
            others,
            dims,
            handles,
            freed: false,
        });
    }
}

/// Makes communicators, or frees one.
pub fn piece(world: &mut World, dice: &mut Dice<'_>) {
    let parent = any(world, dice);
    match dice.below(8) {
        0 => dup(world, parent),
        1 => {
            split(world, parent, dice);
        }
        2 => create(world, parent, dice),
        3 => cart(world, parent, dice),
        4 => graph(world, parent, dice),
        5 => between(world, parent, dice),
        _ => free(world, dice),
    }
}

fn dup(world: &mut World, parent: usize) {
    let of = world.comms[parent].clone();
    let made = vec![(of.members, of.others, of.dims)];
    construct(world, parent, "MPI_Comm_dup", made, |world, rank| {
        vec![world.handle(parent, rank).into()]
    });
}

fn split(world: &mut World, parent: usize, dice: &mut Dice<'_>) -> usize {
    let members = world.comms[parent].members.clone();
    let said: BTreeMap<usize, (i64, i64)> = members
        .iter()
        .map(|&rank| {
            (
                rank,
                (dice.of(&[7, 7, 0, UNDEFINED]), dice.of(&[0, 0, -3, 2])),
            )
        })
        .collect();
    let mut made = Vec::new();
    for color in [0, 7] {
        // Sorting is stable: equal keys keep the order of the parent.
        let mut of_color: Vec<usize> = members
            .iter()
            .copied()
            .filter(|rank| said[rank].0 == color)
            .collect();
        of_color.sort_by_key(|rank| said[rank].1);
        if !of_color.is_empty() {
            made.push((of_color, None, None));
        }
    }
    let before = world.comms.len();
    construct(world, parent, "MPI_Comm_split", made, |world, rank| {
        let (color, key) = said[&rank];
        vec![world.handle(parent, rank).into(), color.into(), key.into()]
    });
    before
}

/// A communicator of a group, which each member makes in its own way.
fn create(world: &mut World, parent: usize, dice: &mut Dice<'_>) {
    let members = world.comms[parent].members.clone();
    let n = members.len();
    let mut positions: Vec<usize> = (0..n).filter(|_| !dice.one_in(3)).collect();
    if dice.one_in(2) {
        positions.reverse();
    }
    if positions.is_empty() {
        positions.push(n - 1);
    }
    let rest: Vec<i64> = (0..n)
        .filter(|at| !positions.contains(at))
        .map(|at| at as i64)
        .collect();
    let ascending = positions.is_sorted();
    let numbers: Vec<i64> = positions.iter().map(|&at| at as i64).collect();
    let mut groups = BTreeMap::new();
    for &rank in &members {
        let all = world.group(rank);
        let handle = world.handle(parent, rank);
        world.call(rank, 1, "MPI_Comm_group", &[handle.into(), all.into()]);
        let made = world.group(rank);
        let counted = |list: &[i64]| [(list.len() as i64).into(), super::super::write::list(list)];
        let ways = if ascending { 4 } else { 3 };
        match dice.below(ways) {
            0 => {
                let [count, ranks] = counted(&numbers);
                world.call(
                    rank,
                    1,
                    "MPI_Group_incl",
                    &[all.into(), count, ranks, made.into()],
                );
            }
            1 => {
                let ranges = numbers.iter().map(|&at| list(&[at, at, 1])).collect();
                let count = numbers.len() as i64;
                world.call(
                    rank,
                    1,
                    "MPI_Group_range_incl",
                    &[all.into(), count.into(), Value::List(ranges), made.into()],
                );
            }
            2 => {
                // One by one.
                let [first, others] = [&numbers[..1], &numbers[1..]];
                let [a, b] = [world.group(rank), world.group(rank)];
                for (group, of) in [(a, first), (b, others)] {
                    let [count, ranks] = counted(of);
                    world.call(
                        rank,
                        1,
                        "MPI_Group_incl",
                        &[all.into(), count, ranks, group.into()],
                    );
                }
                world.call(
                    rank,
                    1,
                    "MPI_Group_union",
                    &[a.into(), b.into(), made.into()],
                );
            }
            _ => {
                let [count, ranks] = counted(&rest);
                world.call(
                    rank,
                    1,
                    "MPI_Group_excl",
                    &[all.into(), count, ranks, made.into()],
                );
            }
        }
        groups.insert(rank, made);
    }
    let chosen = positions.iter().map(|&at| members[at]).collect();
    construct(
        world,
        parent,
        "MPI_Comm_create",
        vec![(chosen, None, None)],
        |world, rank| vec![world.handle(parent, rank).into(), groups[&rank].into()],
    );
}

fn cart(world: &mut World, parent: usize, dice: &mut Dice<'_>) {
    let members = world.comms[parent].members.clone();
    let n = members.len() as i64;
    let dims = match dice.below(3) {
        0 => vec![n],
        1 => vec![(n / 2).max(1), n.min(2)],
        _ => vec![1, n.min(2), (n / 2).max(1)],
    };
    let places = dims.iter().product::<i64>() as usize;
    let chosen: Vec<usize> = members[..places].to_vec();
    let new = world.comms.len();
    let made = vec![(chosen.clone(), None, Some(dims.clone()))];
    construct(world, parent, "MPI_Cart_create", made, |world, rank| {
        let zeros = list(&vec![0; dims.len()]);
        let ndim = dims.len() as i64;
        vec![
            world.handle(parent, rank).into(),
            ndim.into(),
            list(&dims),
            zeros,
            0.into(),
        ]
    });
    if !dice.one_in(2) {
        return;
    }
    let keep: Vec<bool> = dims.iter().map(|_| dice.one_in(2)).collect();
    // By the coordinates that are dropped, as the standard numbers places: the last coordinate first.
    let coordinates = |at: usize| {
        let (mut rest, mut all) = (at as i64, vec![0; dims.len()]);
        for d in (0..dims.len()).rev() {
            all[d] = rest % dims[d];
            rest /= dims[d];
        }
        all
    };
    let mut subs: Vec<(Vec<i64>, Vec<usize>)> = Vec::new();
    for (at, &rank) in chosen.iter().enumerate() {
        let dropped: Vec<i64> = coordinates(at)
            .into_iter()
            .zip(&keep)
            .filter(|(_, keep)| !**keep)
            .map(|(c, _)| c)
            .collect();
        match subs.iter_mut().find(|(of, _)| *of == dropped) {
            Some((_, members)) => members.push(rank),
            None => subs.push((dropped, vec![rank])),
        }
    }
    let kept: Vec<i64> = dims
        .iter()
        .zip(&keep)
        .filter(|(_, keep)| **keep)
        .map(|(&d, _)| d)
        .collect();
    let made = subs
        .into_iter()
        .map(|(_, members)| (members, None, Some(kept.clone())))
        .collect();
    construct(world, new, "MPI_Cart_sub", made, |world, rank| {
        let keeps: Vec<i64> = keep.iter().map(|&keep| i64::from(keep)).collect();
        vec![
            (dims.len() as i64).into(),
            world.handle(new, rank).into(),
            list(&keeps),
        ]
    });
}

fn graph(world: &mut World, parent: usize, dice: &mut Dice<'_>) {
    let members = world.comms[parent].members.clone();
    let nodes = 1 + dice.below(members.len());
    let made = vec![(members[..nodes].to_vec(), None, None)];
    construct(world, parent, "MPI_Graph_create", made, |world, rank| {
        vec![
            0.into(),
            world.handle(parent, rank).into(),
            (nodes as i64).into(),
            list(&[]),
            list(&[]),
            0.into(),
        ]
    });
}

/// Two halves, a communicator between them, and perhaps one of both.
fn between(world: &mut World, parent: usize, dice: &mut Dice<'_>) {
    let first = split(world, parent, dice);
    let [a, b] = [first, first + 1];
    if world.comms.len() != first + 2 {
        return;
    }
    let leaders = [a, b].map(|side| dice.below(world.comms[side].members.len()));
    let sides = [a, b].map(|side| world.comms[side].members.clone());
    let position = |rank: usize| {
        world.comms[parent]
            .members
            .iter()
            .position(|&r| r == rank)
            .unwrap() as i64
    };
    let remote = [
        position(sides[1][leaders[1]]),
        position(sides[0][leaders[0]]),
    ];
    let new = world.comms.len();
    let mut handles = BTreeMap::new();
    for (side, of) in [a, b].into_iter().enumerate() {
        for (at, &rank) in sides[side].iter().enumerate() {
            let handle = world.comm_number(rank);
            handles.insert(rank, handle);
            // Who leads alone says where the others are.
            let leads = at == leaders[side];
            let (peer, remote) = if leads {
                (world.handle(parent, rank), remote[side])
            } else {
                (NULL, 0)
            };
            let leader = leaders[side] as i64;
            let local = world.handle(of, rank);
            world.call(
                rank,
                3,
                "MPI_Intercomm_create",
                &[
                    local.into(),
                    leader.into(),
                    peer.into(),
                    remote.into(),
                    99.into(),
                    handle.into(),
                ],
            );
        }
    }
    let [one, other] = sides.clone();
    world.comms.push(Comm {
        members: one.clone(),
        others: Some(other.clone()),
        dims: None,
        handles,
        freed: false,
    });
    if dice.one_in(2) {
        let high = dice.below(2);
        let order = if high == 1 {
            [one.clone(), other]
        } else {
            [other, one.clone()]
        };
        let made = vec![(order.concat(), None, None)];
        construct(world, new, "MPI_Intercomm_merge", made, |world, rank| {
            let of_one = usize::from(!one.contains(&rank));
            let says_high = i64::from(of_one == high);
            vec![world.handle(new, rank).into(), says_high.into()]
        });
    }
}

fn free(world: &mut World, dice: &mut Dice<'_>) {
    let comm = any(world, dice);
    if comm == super::world::WORLD {
        return;
    }
    for (rank, handle) in world.comms[comm].handles.clone() {
        world.call(rank, 2, "MPI_Comm_free", &[handle.into()]);
        world.ranks[rank].free_comms.push(handle);
    }
    world.comms[comm].freed = true;
}
