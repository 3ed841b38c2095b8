//! Requests of random programs that stay, end early, or stand for nothing.

use super::super::write::{Value, list};
use super::Dice;
use super::completion::{statuses, wait};
use super::pieces::{ANY, DOUBLE, INT, Pair, datatype, free_type, pair, receive};
use super::world::{World, rank_id};
use flitwise::replay::mpi::{Call, CommId, SendMode, Tag};

/// Persistent requests of both sides, started twice and freed.
pub fn persistent(world: &mut World, dice: &mut Dice<'_>) {
    let pair = pair(world, dice);
    let [from, to] = pair.ranks;
    if from == to {
        return;
    }
    let [of_send, of_receive] = [world.request(from), world.request(to)];
    let bytes = send_init(world, dice, &pair, of_send);
    receive_init(world, dice, &pair, of_receive);
    for _ in 0..2 {
        start_and_wait(world, &pair, [of_send, of_receive], bytes);
    }
    for (rank, number) in [(from, of_send), (to, of_receive)] {
        world.call(rank, 1, "MPI_Request_free", &[number.into()]);
        world.ranks[rank].free_requests.push(number);
    }
}

/// The first rank of a pair makes a persistent send of three elements, whose bytes are returned.
fn send_init(world: &mut World, dice: &mut Dice<'_>, pair: &Pair, number: i64) -> u64 {
    let (from, to_peer) = (pair.ranks[0], pair.peers[0]);
    let (sent, size) = datatype(world, from, dice);
    let handle = world.handle(pair.comm, from);
    world.call(
        from,
        9,
        "MPI_Send_init",
        &[
            3.into(),
            sent.into(),
            to_peer.into(),
            4.into(),
            handle.into(),
            number.into(),
        ],
    );
    free_type(world, from, sent);
    3 * size as u64
}

/// The second rank of a pair makes a persistent receive, from its peer or from anyone.
fn receive_init(world: &mut World, dice: &mut Dice<'_>, pair: &Pair, number: i64) {
    let (to, from_peer) = (pair.ranks[1], pair.peers[1]);
    let handle = world.handle(pair.comm, to);
    let source = if dice.one_in(2) { ANY } else { from_peer };
    world.call(
        to,
        9,
        "MPI_Recv_init",
        &[
            30.into(),
            DOUBLE.into(),
            source.into(),
            ANY.into(),
            handle.into(),
            number.into(),
        ],
    );
}

/// Both ranks of a pair start their persistent request, for a message of so many bytes, and wait for it.
fn start_and_wait(world: &mut World, pair: &Pair, numbers: [i64; 2], bytes: u64) {
    let ([from, to], [of_send, of_receive]) = (pair.ranks, numbers);
    let comm = CommId::new(pair.comm as u32);
    let [a, b] = [world.id(from), world.id(to)];
    world.call(from, 5, "MPI_Startall", &[1.into(), list(&[of_send])]);
    world.expect_call(
        from,
        Call::Send {
            to: rank_id(to),
            comm,
            tag: Tag(4),
            bytes,
            mode: SendMode::Standard,
            nic: 0,
            request: Some(a),
        },
    );
    world.call(to, 5, "MPI_Start", &[of_receive.into()]);
    world.expect_call(
        to,
        Call::Receive {
            from: Some(rank_id(from)),
            comm,
            tag: Some(Tag(4)),
            request: Some(b),
        },
    );
    world.call(from, 8, "MPI_Wait", &[of_send.into(), statuses(false, &[])]);
    wait(world, from, vec![a]);
    let status = statuses(true, &[(pair.peers[1], 4)]);
    world.call(to, 8, "MPI_Wait", &[of_receive.into(), status]);
    wait(world, to, vec![b]);
}

/// `rank` starts a send or a receive of three integers. Returns the number of its request.
fn starts(
    world: &mut World,
    (comm, rank): (usize, usize),
    name: &'static str,
    envelope: [i64; 2],
) -> i64 {
    let number = world.request(rank);
    let handle = world.handle(comm, rank);
    let [peer, tag] = envelope;
    let arguments = [3, INT, peer, tag, handle, number].map(Value::from);
    world.call(rank, 6, name, &arguments);
    number
}

/// `rank` cancels a request and waits for it.
fn cancels(world: &mut World, rank: usize, number: i64, status: Value) {
    world.call(rank, 6, "MPI_Cancel", &[number.into()]);
    world.call(rank, 6, "MPI_Wait", &[number.into(), status]);
    world.ranks[rank].free_requests.push(number);
}

/// A receive and a send that are cancelled, and a send whose request is freed.
pub fn cancelled(world: &mut World, dice: &mut Dice<'_>) {
    world.feature(true, "cancelled");
    let Pair {
        comm,
        ranks: [from, to],
        peers: [to_peer, from_peer],
    } = pair(world, dice);
    if from == to {
        return;
    }
    let was_cancelled = || Value::Statuses(vec![(0, -1, true, 0, -1)]);
    let source = if dice.one_in(2) { ANY } else { from_peer };
    let number = starts(world, (comm, to), "MPI_Irecv", [source, 77]);
    let status = if dice.one_in(2) {
        was_cancelled()
    } else {
        statuses(false, &[])
    };
    cancels(world, to, number, status);
    let number = starts(world, (comm, from), "MPI_Issend", [to_peer, 78]);
    cancels(world, from, number, was_cancelled());

    let id = world.id(from);
    let number = starts(world, (comm, from), "MPI_Isend", [to_peer, 8]);
    let comm_id = CommId::new(comm as u32);
    world.expect_call(
        from,
        Call::Send {
            to: rank_id(to),
            comm: comm_id,
            tag: Tag(8),
            bytes: 12,
            mode: SendMode::Standard,
            nic: 0,
            request: Some(id),
        },
    );
    world.call(from, 6, "MPI_Request_free", &[number.into()]);
    world.expect_call(
        from,
        Call::Free {
            requests: [id].into(),
        },
    );
    world.ranks[from].free_requests.push(number);
    receive(world, dice, (comm, from, to), (from_peer, 8));
}

/// Messages to and from no process.
pub fn to_nobody(world: &mut World, dice: &mut Dice<'_>) {
    world.feature(true, "message to no process");
    let Pair {
        comm,
        ranks: [rank, _],
        ..
    } = pair(world, dice);
    let handle = world.handle(comm, rank);
    let null = dice.of(&[-1_i64, -2]);
    world.call(
        rank,
        11,
        "MPI_Send",
        &[3.into(), INT.into(), null.into(), 0.into(), handle.into()],
    );
    let number = world.request(rank);
    world.call(
        rank,
        12,
        "MPI_Isend",
        &[
            3.into(),
            INT.into(),
            null.into(),
            0.into(),
            handle.into(),
            number.into(),
        ],
    );
    world.call(rank, 13, "MPI_Wait", &[number.into(), statuses(false, &[])]);
    // As a source −1 is anyone as well: the status tells.
    world.feature(true, "from no process");
    let status = statuses(null == -1 || dice.one_in(2), &[(null, -1)]);
    let values: [Value; 5] = [3.into(), INT.into(), null.into(), 0.into(), handle.into()];
    if dice.one_in(2) {
        world.call(rank, 14, "MPI_Recv", &[&values[..], &[status]].concat());
    } else {
        world.call(
            rank,
            14,
            "MPI_Irecv",
            &[&values[..], &[number.into()]].concat(),
        );
        world.call(rank, 14, "MPI_Wait", &[number.into(), status]);
    }
    world.ranks[rank].free_requests.push(number);
}
