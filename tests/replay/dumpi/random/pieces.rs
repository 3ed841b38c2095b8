//! The pieces of a random program.

use super::super::write::{Value, list};
use super::world::{World, rank_id};
use super::{Dice, comms};
use flitwise::replay::mpi::{Call, CommId, RequestId, SendMode, Tag, Until};
use flitwise::replay::program::{
    AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks,
};

const INT: i64 = 9;
const DOUBLE: i64 = 14;
const REQUEST_NULL: i64 = 1;
const ANY: i64 = -1;

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

fn computation(dice: &mut Dice<'_>) -> u64 {
    dice.of(&[0, 10, 700, 4000, 4001, 50_000])
}

/// Two ranks of a communicator, perhaps one, and their numbers there.
struct Pair {
    comm: usize,
    ranks: [usize; 2],
    /// What each side calls the other one.
    peers: [i64; 2],
}

fn pair(world: &mut World, dice: &mut Dice<'_>) -> Pair {
    let between: Vec<usize> = (0..world.comms.len()).filter(|&comm| world.comms[comm].others.is_some()).collect();
    let comm = match dice.one_in(3) && !between.is_empty() {
        true => dice.of(&between),
        false => comms::any(world, dice),
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
fn datatype(world: &mut World, rank: usize, dice: &mut Dice<'_>) -> (i64, i64) {
    let new = match dice.below(4) {
        0 => return (INT, 4),
        1 => return (DOUBLE, 8),
        _ => world.datatype(rank),
    };
    let n = dice.of(&[1, 2, 3]);
    match dice.below(3) {
        0 => {
            world.call(rank, 5, "MPI_Type_contiguous", &[n.into(), DOUBLE.into(), new.into()]);
            (new, 8 * n)
        }
        1 => {
            world.call(rank, 5, "MPI_Type_vector", &[n.into(), 5.into(), 9.into(), INT.into(), new.into()]);
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

fn free_type(world: &mut World, rank: usize, datatype: i64) {
    if datatype > DOUBLE {
        world.call(rank, 1, "MPI_Type_free", &[datatype.into()]);
        world.ranks[rank].free_types.push(datatype);
    }
}

/// One status, or none.
fn statuses(known: bool, all: &[(i64, i64)]) -> Value {
    let one = |&(source, tag): &(i64, i64)| (8, source as i32, false, 0, tag as i32);
    Value::Statuses(if known { all.iter().map(one).collect() } else { Vec::new() })
}

fn tag_of(tag: i64) -> Tag {
    Tag(tag as i32)
}

/// Messages from a rank to a rank, each received after it was sent.
fn messages(world: &mut World, dice: &mut Dice<'_>) {
    let Pair { comm, ranks: [from, to], peers: [to_peer, from_peer] } = pair(world, dice);
    let count = dice.of(&[1, 1, 2, 3]);
    let tag = dice.of(&[0_i64, 5]);
    let (sent, size) = datatype(world, from, dice);
    let elements = dice.of(&[0_i64, 1, 10, 9000]);
    let bytes = (elements * size) as u64;
    let itself = from == to;
    if itself {
        // It would wait for itself.
        return exchange(world, dice, (comm, from, to_peer), (elements, sent, bytes, tag));
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
        let mut values: Vec<Value> = vec![elements.into(), sent.into(), to_peer.into(), tag.into(), handle.into()];
        let request = later.then(|| world.id(from));
        let compute = computation(dice);
        if let Some(request) = request {
            let number = if mode == 0 { shared } else { world.request(from) };
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
        world.expect_call(from, Call::Send {
            to: rank_id(to),
            comm: CommId::new(comm as u32),
            tag: tag_of(tag),
            bytes,
            mode,
            request,
        });
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
fn receive(world: &mut World, dice: &mut Dice<'_>, (comm, from, to): (usize, usize, usize), (peer, tag): (i64, i64)) {
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
        world.expect_call(to, Call::Probe {
            from: Some(rank_id(from)),
            comm: comm_id,
            tag: Some(tag_of(tag)),
        });
    }
    let later = dice.one_in(2);
    let number = later.then(|| world.request(to));
    let request = later.then(|| world.id(to));
    let values: [Value; 5] = [20_000.into(), DOUBLE.into(), source.into(), said_tag.into(), handle.into()];
    let compute = computation(dice);
    match number {
        Some(number) => world.call(to, compute, "MPI_Irecv", &[&values[..], &[number.into()]].concat()),
        None => {
            let status = statuses(known, &[(peer, tag)]);
            world.call(to, compute, "MPI_Recv", &[&values[..], &[status]].concat());
        }
    }
    world.expect_call(to, Call::Receive {
        from: Some(rank_id(from)),
        comm: comm_id,
        tag: Some(tag_of(tag)),
        request,
    });
    if let (Some(number), Some(request)) = (number, request) {
        complete(world, dice, to, &[(number, request)], vec![(peer, tag)], known);
    }
}

/// Both at once, of a rank with itself.
fn exchange(world: &mut World, dice: &mut Dice<'_>, (comm, rank, peer): (usize, usize, i64), (elements, datatype, bytes, tag): (i64, i64, u64, i64)) {
    let known = dice.one_in(2);
    let handle = world.handle(comm, rank);
    let status = statuses(known, &[(peer, tag)]);
    let source = if known { ANY } else { peer };
    if dice.one_in(2) {
        let values = [elements.into(), datatype.into(), peer.into(), tag.into(), elements.into(), datatype.into(), source.into(), tag.into(), handle.into(), status];
        world.call(rank, 9, "MPI_Sendrecv", &values);
    } else {
        let values = [elements.into(), datatype.into(), peer.into(), tag.into(), source.into(), tag.into(), handle.into(), status];
        world.call(rank, 9, "MPI_Sendrecv_replace", &values);
    }
    let both = [world.id(rank), world.id(rank)];
    let comm = CommId::new(comm as u32);
    let to = rank_id(rank);
    let (tag, from) = (tag_of(tag), Some(to));
    world.expect_call(rank, Call::Receive { from, comm, tag: Some(tag), request: Some(both[0]) });
    world.expect_call(rank, Call::Send { to, comm, tag, bytes, mode: SendMode::Standard, request: Some(both[1]) });
    wait(world, rank, both.to_vec());
    free_type(world, rank, datatype);
}

fn wait(world: &mut World, rank: usize, requests: Vec<RequestId>) {
    world.expect_call(rank, Call::Wait {
        requests: requests.into(),
        until: Until::All,
    });
}

/// A rank completes operations, which took messages of these peers, in one of all ways. Numbers are free then.
fn complete(world: &mut World, dice: &mut Dice<'_>, rank: usize, open: &[(i64, RequestId)], peers: Vec<(i64, i64)>, known: bool) {
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
            let values = [&all[..], &[count.into(), list(&indices), statuses(known, &peers)]].concat();
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
                        world.call(rank, compute, "MPI_Test", &[number.into(), 1.into(), status]);
                    }
                    _ => {
                        let index: Value = (at as i64).into();
                        if dice.one_in(2) {
                            let failed = [&all[..], &[(-32_766).into(), 0.into(), none.clone()]].concat();
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

/// Persistent requests of both sides, started twice and freed.
fn persistent(world: &mut World, dice: &mut Dice<'_>) {
    let Pair { comm, ranks: [from, to], peers: [to_peer, from_peer] } = pair(world, dice);
    if from == to {
        return;
    }
    let id = CommId::new(comm as u32);
    let [of_send, of_receive] = [world.request(from), world.request(to)];
    let (sent, size) = datatype(world, from, dice);
    let handle = world.handle(comm, from);
    world.call(from, 9, "MPI_Send_init", &[3.into(), sent.into(), to_peer.into(), 4.into(), handle.into(), of_send.into()]);
    free_type(world, from, sent);
    let handle = world.handle(comm, to);
    let source = if dice.one_in(2) { ANY } else { from_peer };
    world.call(to, 9, "MPI_Recv_init", &[30.into(), DOUBLE.into(), source.into(), ANY.into(), handle.into(), of_receive.into()]);
    for _ in 0..2 {
        let [a, b] = [world.id(from), world.id(to)];
        world.call(from, 5, "MPI_Startall", &[1.into(), list(&[of_send])]);
        world.expect_call(from, Call::Send {
            to: rank_id(to),
            comm: id,
            tag: Tag(4),
            bytes: 3 * size as u64,
            mode: SendMode::Standard,
            request: Some(a),
        });
        world.call(to, 5, "MPI_Start", &[of_receive.into()]);
        world.expect_call(to, Call::Receive {
            from: Some(rank_id(from)),
            comm: id,
            tag: Some(Tag(4)),
            request: Some(b),
        });
        world.call(from, 8, "MPI_Wait", &[of_send.into(), statuses(false, &[])]);
        wait(world, from, vec![a]);
        world.call(to, 8, "MPI_Wait", &[of_receive.into(), statuses(true, &[(from_peer, 4)])]);
        wait(world, to, vec![b]);
    }
    for (rank, number) in [(from, of_send), (to, of_receive)] {
        world.call(rank, 1, "MPI_Request_free", &[number.into()]);
        world.ranks[rank].free_requests.push(number);
    }
}

/// A receive that is cancelled, and a send whose request is freed.
fn cancelled(world: &mut World, dice: &mut Dice<'_>) {
    world.feature(true, "cancelled");
    let Pair { comm, ranks: [from, to], peers: [to_peer, from_peer] } = pair(world, dice);
    if from == to {
        return;
    }
    let source = if dice.one_in(2) { ANY } else { from_peer };
    let number = world.request(to);
    let handle = world.handle(comm, to);
    world.call(to, 6, "MPI_Irecv", &[3.into(), INT.into(), source.into(), 77.into(), handle.into(), number.into()]);
    world.call(to, 6, "MPI_Cancel", &[number.into()]);
    let status = match dice.one_in(2) {
        true => Value::Statuses(vec![(0, -1, true, 0, -1)]),
        false => statuses(false, &[]),
    };
    world.call(to, 6, "MPI_Wait", &[number.into(), status]);
    world.ranks[to].free_requests.push(number);

    let number = world.request(from);
    let handle = world.handle(comm, from);
    let id = world.id(from);
    world.call(from, 6, "MPI_Isend", &[3.into(), INT.into(), to_peer.into(), 8.into(), handle.into(), number.into()]);
    let comm_id = CommId::new(comm as u32);
    world.expect_call(from, Call::Send {
        to: rank_id(to),
        comm: comm_id,
        tag: Tag(8),
        bytes: 12,
        mode: SendMode::Standard,
        request: Some(id),
    });
    world.call(from, 6, "MPI_Request_free", &[number.into()]);
    world.expect_call(from, Call::Free { requests: [id].into() });
    world.ranks[from].free_requests.push(number);
    receive(world, dice, (comm, from, to), (from_peer, 8));
}

/// Messages to and from no process.
fn to_nobody(world: &mut World, dice: &mut Dice<'_>) {
    world.feature(true, "message to no process");
    let Pair { comm, ranks: [rank, _], .. } = pair(world, dice);
    let handle = world.handle(comm, rank);
    let null = dice.of(&[-1_i64, -2]);
    world.call(rank, 11, "MPI_Send", &[3.into(), INT.into(), null.into(), 0.into(), handle.into()]);
    let number = world.request(rank);
    world.call(rank, 12, "MPI_Isend", &[3.into(), INT.into(), null.into(), 0.into(), handle.into(), number.into()]);
    world.call(rank, 13, "MPI_Wait", &[number.into(), statuses(false, &[])]);
    // As a source −1 is anyone as well: the status tells.
    world.feature(true, "from no process");
    let status = statuses(null == -1 || dice.one_in(2), &[(null, -1)]);
    let values: [Value; 5] = [3.into(), INT.into(), null.into(), 0.into(), handle.into()];
    if dice.one_in(2) {
        world.call(rank, 14, "MPI_Recv", &[&values[..], &[status]].concat());
    } else {
        world.call(rank, 14, "MPI_Irecv", &[&values[..], &[number.into()]].concat());
        world.call(rank, 14, "MPI_Wait", &[number.into(), status]);
    }
    world.ranks[rank].free_requests.push(number);
}

/// A collective of all members of a communicator.
fn collective(world: &mut World, dice: &mut Dice<'_>) {
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
        let (r, my, count): (Value, Value, Value) = ((root as i64).into(), (me as i64).into(), (n as i64).into());
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
        let rooted = |all: &[i64]| match at_root {
            true => RootedBlocks::All(sizes(all).into()),
            false => RootedBlocks::Own(size(all[me])),
        };
        let zeros = list(&vec![0; n]);
        let (name, values, brings) = match way {
            0 => ("MPI_Barrier", vec![handle], known(CollectiveKind::Barrier)),
            1 => ("MPI_Bcast", vec![b, d, r, handle], known(CollectiveKind::Bcast { root: root32, bytes: size(block) })),
            2 => ("MPI_Reduce", vec![b, d, op, r, handle], known(CollectiveKind::Reduce { root: root32, bytes: size(block) })),
            3 => ("MPI_Allreduce", vec![b, d, op, handle], known(CollectiveKind::Allreduce { bytes: size(block) })),
            4 => ("MPI_Scan", vec![b, d, op, handle], known(CollectiveKind::Scan { bytes: size(block) })),
            5 => {
                // The root may leave its own block where it is.
                let (own, of) = if at_root { (0.into(), 1.into()) } else { (b.clone(), d.clone()) };
                ("MPI_Gather", vec![my, own, of, r, handle, b, d], known(CollectiveKind::Gather { root: root32, blocks }))
            }
            6 => ("MPI_Scatter", vec![my, b.clone(), d.clone(), r, handle, b, d], known(CollectiveKind::Scatter { root: root32, blocks })),
            7 => ("MPI_Allgather", vec![0.into(), 1.into(), b, d, handle], known(CollectiveKind::Allgather { blocks })),
            8 => {
                let each = vec![AlltoallBlocks::Each(size(block)); n];
                ("MPI_Alltoall", vec![b.clone(), d.clone(), b, d, handle], known(CollectiveKind::Alltoall { blocks: each }))
            }
            9 => {
                let own = first_row[me].into();
                let values = vec![my, count, own, d.clone(), r, handle, list(&first_row), zeros, d];
                ("MPI_Gatherv", values, Contribution::Gatherv { root: root32, blocks: rooted(&first_row) })
            }
            10 => {
                let own = first_row[me].into();
                let values = vec![my, count, d.clone(), own, d, r, handle, list(&first_row), zeros];
                ("MPI_Scatterv", values, Contribution::Scatterv { root: root32, blocks: rooted(&first_row) })
            }
            11 => {
                let types = list(&vec![DOUBLE; n]);
                let values = vec![count, list(&row), zeros.clone(), types.clone(), list(&column), zeros, types, handle];
                let (send, receive) = (sizes(&row).into(), sizes(&column).into());
                ("MPI_Alltoallw", values, Contribution::Alltoallv { send, receive })
            }
            _ => {
                let values = vec![count, list(&first_row), d, op, handle];
                ("MPI_Reduce_scatter", values, known(CollectiveKind::ReduceScatter { blocks: sizes(&first_row) }))
            }
        };
        world.call(rank, computation(dice), name, &values);
        let comm = world.communicator(comm, rank);
        world.expect_call(rank, Call::Collective { comm, contribution: brings, request: None });
    }
}
