//! The pieces of a random program.

use super::super::write::{Value, list};
use super::collectives::collective;
use super::completion::{complete, statuses, wait};
use super::requests::{cancelled, persistent, to_nobody};
use super::world::{World, rank_id};
use super::{Dice, comms};
use flitwise::replay::mpi::{Call, CommId, SendMode, Tag};

pub const INT: i64 = 9;
pub const DOUBLE: i64 = 14;
pub const ANY: i64 = -1;

/// Adds a piece.
pub fn add(world: &mut World, dice: &mut Dice<'_>) {
    match dice.below(12) {
        0..=4 => messages(world, dice),
        5..=6 => comms::piece(world, dice),
        7..=8 => collective(world, dice),
        9 => persistent(world, dice),
        10 => cancelled(world, dice),
        _ => to_nobody(world, dice),
    }
}

pub fn computation(dice: &mut Dice<'_>) -> u64 {
    dice.of(&[0, 10, 700, 4000, 4001, 50_000])
}

/// Two ranks of a communicator, perhaps one, and their numbers there.
pub struct Pair {
    pub comm: usize,
    pub ranks: [usize; 2],
    /// What each side calls the other one.
    pub peers: [i64; 2],
}

pub fn pair(world: &mut World, dice: &mut Dice<'_>) -> Pair {
    let between: Vec<usize> = (0..world.comms.len())
        .filter(|&comm| world.comms[comm].others.is_some())
        .collect();
    let comm = if dice.one_in(3) && !between.is_empty() {
        dice.of(&between)
    } else {
        comms::any(world, dice)
    };
    let one = world.comms[comm].members.clone();
    let other = world.comms[comm].others.clone();
    world.feature(other.is_some(), "message between groups");
    let other = other.unwrap_or_else(|| one.clone());
    let at = [dice.below(one.len()), dice.below(other.len())];
    Pair {
        comm,
        ranks: [one[at[0]], other[at[1]]],
        peers: [at[1] as i64, at[0] as i64],
    }
}

/// A datatype of a rank, and the bytes of an element.
pub fn datatype(world: &mut World, rank: usize, dice: &mut Dice<'_>) -> (i64, i64) {
    let new = match dice.below(4) {
        0 => return (INT, 4),
        1 => return (DOUBLE, 8),
        _ => world.datatype(rank),
    };
    let n = dice.of(&[1, 2, 3]);
    match dice.below(3) {
        0 => {
            world.call(
                rank,
                5,
                "MPI_Type_contiguous",
                &[n.into(), DOUBLE.into(), new.into()],
            );
            (new, 8 * n)
        }
        1 => {
            world.call(
                rank,
                5,
                "MPI_Type_vector",
                &[n.into(), 5.into(), 9.into(), INT.into(), new.into()],
            );
            (new, 20 * n)
        }
        _ => {
            let types = list(&[INT, DOUBLE]);
            let values = [2.into(), list(&[n, 1]), list(&[0, 0]), types, new.into()];
            world.call(rank, 5, "MPI_Type_create_struct", &values);
            (new, 4 * n + 8)
        }
    }
}

pub fn free_type(world: &mut World, rank: usize, datatype: i64) {
    if datatype > DOUBLE {
        world.call(rank, 1, "MPI_Type_free", &[datatype.into()]);
        world.ranks[rank].free_types.push(datatype);
    }
}

fn tag_of(tag: i64) -> Tag {
    Tag(tag as i32)
}

/// Messages from a rank to a rank, each received after it was sent.
fn messages(world: &mut World, dice: &mut Dice<'_>) {
    let Pair {
        comm,
        ranks: [from, to],
        peers: [to_peer, from_peer],
    } = pair(world, dice);
    let count = dice.of(&[1, 1, 2, 3]);
    let tag = dice.of(&[0_i64, 5]);
    let (sent, size) = datatype(world, from, dice);
    let elements = dice.of(&[0_i64, 1, 10, 9000]);
    let bytes = (elements * size) as u64;
    let itself = from == to;
    if itself {
        // It would wait for itself.
        return exchange(
            world,
            dice,
            (comm, from, to_peer),
            (elements, sent, bytes, tag),
        );
    }
    let mode = dice.below(5);
    let later = dice.one_in(2);
    let mut open = Vec::new();
    // Open MPI has one request for small sends.
    let shared = world.request(from);
    for _ in 0..count {
        let [name, name_later] = [
            ["MPI_Send", "MPI_Isend"],
            ["MPI_Ssend", "MPI_Issend"],
            ["MPI_Bsend", "MPI_Ibsend"],
            ["MPI_Rsend", "MPI_Irsend"],
            ["MPI_Send", "MPI_Isend"],
        ][mode];
        let handle = world.handle(comm, from);
        let mut values: Vec<Value> = vec![
            elements.into(),
            sent.into(),
            to_peer.into(),
            tag.into(),
            handle.into(),
        ];
        let request = later.then(|| world.id(from));
        let compute = computation(dice);
        if let Some(request) = request {
            let number = if mode == 0 {
                shared
            } else {
                world.request(from)
            };
            world.feature(mode == 0 && !open.is_empty(), "shared request");
            open.push((number, request));
            values.push(number.into());
            world.call(from, compute, name_later, &values);
        } else {
            world.call(from, compute, name, &values);
        }
        let mode = match mode {
            1 => SendMode::Synchronous,
            2 => SendMode::Buffered,
            _ => SendMode::Standard,
        };
        world.expect_call(
            from,
            Call::Send {
                to: rank_id(to),
                comm: CommId::new(comm as u32),
                tag: tag_of(tag),
                bytes,
                mode,
                nic: 0,
                request,
            },
        );
    }
    free_type(world, from, sent);
    for _ in 0..count {
        receive(world, dice, (comm, from, to), (from_peer, tag));
    }
    if !open.is_empty() {
        let peers = open.iter().map(|_| (ANY, -1)).collect();
        complete(world, dice, from, &open, peers, false);
    }
    if !(mode == 0 && later) {
        world.ranks[from].free_requests.push(shared);
    }
}

/// A receive of a message that was sent.
pub fn receive(
    world: &mut World,
    dice: &mut Dice<'_>,
    (comm, from, to): (usize, usize, usize),
    (peer, tag): (i64, i64),
) {
    let handle = world.handle(comm, to);
    let known = !dice.one_in(3);
    // What is not known may be someone else's.
    let source = if known && dice.one_in(3) { ANY } else { peer };
    let any_tag = known && dice.one_in(3);
    world.feature(source == ANY, "message from anyone");
    world.feature(!known, "status ignored");
    let said_tag = if any_tag { ANY } else { tag };
    let comm_id = CommId::new(comm as u32);
    if dice.one_in(4) {
        let values: [Value; 3] = [source.into(), said_tag.into(), handle.into()];
        let found = [&values[..], &[statuses(true, &[(peer, tag)])]].concat();
        if dice.one_in(2) {
            let failed = [&values[..], &[0.into(), statuses(false, &[])]].concat();
            world.poll(to, computation(dice), "MPI_Iprobe", &failed);
            let found = [&values[..], &[1.into(), statuses(true, &[(peer, tag)])]].concat();
            world.call(to, computation(dice), "MPI_Iprobe", &found);
        } else {
            world.call(to, computation(dice), "MPI_Probe", &found);
        }
        world.feature(true, "probe");
        world.expect_call(
            to,
            Call::Probe {
                from: Some(rank_id(from)),
                comm: comm_id,
                tag: Some(tag_of(tag)),
            },
        );
    }
    let later = dice.one_in(2);
    let number = later.then(|| world.request(to));
    let request = later.then(|| world.id(to));
    let values: [Value; 5] = [
        20_000.into(),
        DOUBLE.into(),
        source.into(),
        said_tag.into(),
        handle.into(),
    ];
    let compute = computation(dice);
    match number {
        Some(number) => world.call(
            to,
            compute,
            "MPI_Irecv",
            &[&values[..], &[number.into()]].concat(),
        ),
        None => {
            let status = statuses(known, &[(peer, tag)]);
            world.call(to, compute, "MPI_Recv", &[&values[..], &[status]].concat());
        }
    }
    world.expect_call(
        to,
        Call::Receive {
            from: Some(rank_id(from)),
            comm: comm_id,
            tag: Some(tag_of(tag)),
            request,
        },
    );
    if let (Some(number), Some(request)) = (number, request) {
        complete(
            world,
            dice,
            to,
            &[(number, request)],
            vec![(peer, tag)],
            known,
        );
    }
}

/// Both at once, of a rank with itself.
fn exchange(
    world: &mut World,
    dice: &mut Dice<'_>,
    (comm, rank, peer): (usize, usize, i64),
    (elements, datatype, bytes, tag): (i64, i64, u64, i64),
) {
    let known = dice.one_in(2);
    let handle = world.handle(comm, rank);
    let status = statuses(known, &[(peer, tag)]);
    let source = if known { ANY } else { peer };
    if dice.one_in(2) {
        let values = [
            elements.into(),
            datatype.into(),
            peer.into(),
            tag.into(),
            elements.into(),
            datatype.into(),
            source.into(),
            tag.into(),
            handle.into(),
            status,
        ];
        world.call(rank, 9, "MPI_Sendrecv", &values);
    } else {
        let values = [
            elements.into(),
            datatype.into(),
            peer.into(),
            tag.into(),
            source.into(),
            tag.into(),
            handle.into(),
            status,
        ];
        world.call(rank, 9, "MPI_Sendrecv_replace", &values);
    }
    let both = [world.id(rank), world.id(rank)];
    let comm = CommId::new(comm as u32);
    let to = rank_id(rank);
    let (tag, from) = (tag_of(tag), Some(to));
    world.expect_call(
        rank,
        Call::Receive {
            from,
            comm,
            tag: Some(tag),
            request: Some(both[0]),
        },
    );
    world.expect_call(
        rank,
        Call::Send {
            to,
            comm,
            tag,
            bytes,
            mode: SendMode::Standard,
            nic: 0,
            request: Some(both[1]),
        },
    );
    wait(world, rank, both.to_vec());
    free_type(world, rank, datatype);
}
