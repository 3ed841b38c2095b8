//! Random collectives.

use super::super::ops::{self, Around};
use super::dice::Dice;
use super::pieces::SIZES;
use super::track::Builder;
use flitwise::replay::program::{
    AlltoallBlocks, CollectiveKind, Contribution, Event, RootedBlocks,
};
use std::sync::Arc;

/// Blocks of `n` members; with `turn` they differ from another list.
fn blocks(n: usize, turn: usize, equal: bool) -> Vec<u64> {
    let block = |i: usize| SIZES[if equal { turn } else { turn + i } % SIZES.len()];
    (0..n).map(block).collect()
}

/// An operation among `n` members.
fn kind(n: usize, dice: &mut Dice<'_>) -> CollectiveKind {
    let root = dice.below(n) as u32;
    let turn = dice.below(SIZES.len());
    let (bytes, blocks) = (SIZES[turn], blocks(n, turn, dice.one_in(2)));
    match dice.below(12) {
        0 => CollectiveKind::Barrier,
        1 => CollectiveKind::Bcast { root, bytes },
        2 => CollectiveKind::Reduce { root, bytes },
        3 => CollectiveKind::Allreduce { bytes },
        4 => CollectiveKind::Gather { root, blocks },
        5 => CollectiveKind::Scatter { root, blocks },
        6 => CollectiveKind::Allgather { blocks },
        7 => CollectiveKind::ReduceScatter { blocks },
        8 => CollectiveKind::Scan { bytes },
        9 => CollectiveKind::Exscan { bytes },
        10 => CollectiveKind::Alltoall {
            blocks: vec![AlltoallBlocks::Each(bytes); n],
        },
        _ => {
            let members = n as u32;
            let row = |&total: &u64| AlltoallBlocks::Split { total, members };
            CollectiveKind::Alltoall {
                blocks: blocks.iter().map(row).collect(),
            }
        }
    }
}

/// What every member brings to a collective of `n`.
fn contributions(n: usize, dice: &mut Dice<'_>) -> Vec<Contribution> {
    let root = dice.below(n);
    let turn = dice.below(SIZES.len());
    let rooted = |me: usize| {
        let blocks = blocks(n, turn, false);
        if me == root {
            RootedBlocks::All(blocks.into())
        } else {
            RootedBlocks::Own(blocks[me])
        }
    };
    let row = |me: usize| blocks(n, turn + 3 * me, false);
    let of_root = root as u32;
    match dice.below(5) {
        0 | 1 => vec![Contribution::Known(kind(n, dice)); n],
        2 => {
            let own = |me| Contribution::Gatherv {
                root: of_root,
                blocks: rooted(me),
            };
            (0..n).map(own).collect()
        }
        3 => {
            let own = |me| Contribution::Scatterv {
                root: of_root,
                blocks: rooted(me),
            };
            (0..n).map(own).collect()
        }
        _ => {
            let own = |me| Contribution::Alltoallv {
                send: row(me).into(),
                receive: (0..n).map(|from| row(from)[me]).collect(),
            };
            (0..n).map(own).collect()
        }
    }
}

/// Computations before an entry.
const SKEWS: [u64; 5] = [0, 0, 5, 2_000, 90_000];

/// All members of a communicator call a collective.
pub fn call(builder: &mut Builder, dice: &mut Dice<'_>) {
    let number = dice.below(builder.comms.len());
    let comm = Arc::clone(&builder.comms[number]);
    let contributions = contributions(comm.members.len(), dice);
    let requests = [dice.one_in(2), dice.one_in(2)];
    let [absent, move_on] = [dice.one_in(40), dice.one_in(3)];
    for (position, member) in comm.members.iter().enumerate() {
        if absent && position == 1 {
            continue;
        }
        let rank = member.index();
        let mut call = ops::collective(&comm, contributions[position].clone());
        let last = builder.last_call(number, rank);
        let at = match last {
            Some((at, _)) if !move_on => at,
            _ => builder.any_of(rank, dice),
        };
        if let Some((before, index)) = last
            && before != at
        {
            // All members must call in the same order.
            call = call.after([ops::started(builder.label_of(before, index))]);
        }
        let skew = dice.of(&SKEWS);
        builder.push_call(at, call.compute(skew), requests[position % 2]);
        builder.note_call(number, at);
    }
}

/// All members enter a collective with an id; some operation waits for its end, or none.
pub fn with_id(builder: &mut Builder, dice: &mut Dice<'_>) {
    let number = dice.below(builder.comms.len());
    let ranks = Arc::clone(&builder.comms[number].members);
    let members_of: Vec<u32> = ranks.iter().map(|rank| rank.get()).collect();
    let id = builder.id();
    let collective = ops::with_id(id, &members_of, kind(ranks.len(), dice));
    let [awaited, elsewhere] = [!dice.one_in(3), dice.one_in(3)];
    for rank in ranks.iter().map(|rank| rank.index()) {
        let at = builder.any_of(rank, dice);
        let skew = dice.of(&SKEWS);
        let entry = ops::enter(&collective, rank as u32);
        builder.push(at, entry.compute(skew));
        if !awaited {
            continue;
        }
        let waiting = if elsewhere {
            builder.any_of(rank, dice)
        } else {
            at
        };
        if waiting != at {
            // An operation may name a collective after its entry only.
            let entry = builder.track(at).ops.len() - 1;
            let entered = ops::started(builder.label_of(at, entry));
            builder.push(waiting, ops::marker().after([entered]));
        }
        builder.defer(waiting, Event::Completed(id), dice.below(3));
    }
}
