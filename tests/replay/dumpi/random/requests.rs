//! Requests of random programs that stay, end early, or stand for nothing.

use super::super::write::{Value, list};
use super::Dice;
use super::completion::{statuses, wait};
use super::pieces::{ANY, DOUBLE, INT, Pair, datatype, free_type, pair, receive};
use super::world::{World, rank_id};
use flitwise::replay::mpi::{Call, CommId, SendMode, Tag};

/// Persistent requests of both sides, started twice and freed.
pub fn persistent(world: &mut World, dice: &mut Dice<'_>) {
    let Pair {
        comm,
        ranks: [from, to],
        peers: [to_peer, from_peer],
    } = pair(world, dice);
    if from == to {
        return;
    }
    let id = CommId::new(comm as u32);
    let [of_send, of_receive] = [world.request(from), world.request(to)];
    let (sent, size) = datatype(world, from, dice);
    let handle = world.handle(comm, from);
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
            of_send.into(),
        ],
    );
    free_type(world, from, sent);
    let handle = world.handle(comm, to);
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
            of_receive.into(),
        ],
    );
    for _ in 0..2 {
        let [a, b] = [world.id(from), world.id(to)];
        world.call(from, 5, "MPI_Startall", &[1.into(), list(&[of_send])]);
        world.expect_call(
            from,
            Call::Send {
                to: rank_id(to),
                comm: id,
                tag: Tag(4),
                bytes: 3 * size as u64,
                mode: SendMode::Standard,
                request: Some(a),
            },
        );
        world.call(to, 5, "MPI_Start", &[of_receive.into()]);
        world.expect_call(
            to,
            Call::Receive {
                from: Some(rank_id(from)),
                comm: id,
                tag: Some(Tag(4)),
                request: Some(b),
            },
        );
        world.call(from, 8, "MPI_Wait", &[of_send.into(), statuses(false, &[])]);
        wait(world, from, vec![a]);
        world.call(
            to,
            8,
            "MPI_Wait",
            &[of_receive.into(), statuses(true, &[(from_peer, 4)])],
        );
        wait(world, to, vec![b]);
    }
    for (rank, number) in [(from, of_send), (to, of_receive)] {
        world.call(rank, 1, "MPI_Request_free", &[number.into()]);
        world.ranks[rank].free_requests.push(number);
    }
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
    let status = match dice.one_in(2) {
        true => was_cancelled(),
        false => statuses(false, &[]),
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
