//! The pieces of a program.

use super::super::ops::{self, Around};
use super::collectives;
use super::dice::Dice;
use super::track::{At, Builder};
use flitwise::replay::mpi::Until;
use flitwise::replay::program::{Action, Event, RankId, RegionId};

/// Sizes of messages. Some are equal, so that messages arrive at one time.
pub const SIZES: [u64; 10] = [0, 8, 100, 99, 0, 1, 101, 800, 5_000, 70_000];

/// Computations.
const COMPUTATIONS: [u64; 10] = [0, 0, 0, 0, 1, 7, 60, 1_000, 60_000, 150_000];

/// Adds a piece.
pub fn add(builder: &mut Builder, dice: &mut Dice<'_>) {
    match dice.below(43) {
        41..=42 => region(builder, dice),
        40 => free(builder, dice),
        0..=11 => messages(builder, dice),
        12..=13 => from_all(builder, dice),
        14..=20 => wait(builder, dice),
        21..=23 => message_with_id(builder, dice),
        24..=29 => collectives::call(builder, dice),
        30..=31 => collectives::with_id(builder, dice),
        32..=36 => label(builder, dice),
        37..=38 => {
            let at = builder.any(dice);
            let computation = dice.of(&COMPUTATIONS);
            builder.push(at, ops::marker().compute(computation));
        }
        _ => wrong(builder, dice),
    }
}

/// A stream enters or leaves a region, of which some have no factor, and computes.
fn region(builder: &mut Builder, dice: &mut Dice<'_>) {
    let at = builder.any(dice);
    let region = RegionId::new(dice.of(&[0, 0, 1, 2, 3]));
    let action = if dice.one_in(3) {
        Action::LeaveRegion(region)
    } else {
        Action::EnterRegion(region)
    };
    let computations = [dice.of(&COMPUTATIONS), dice.of(&COMPUTATIONS)];
    builder.push(at, ops::op(action).compute(computations[0]));
    builder.push(at, ops::marker().compute(computations[1]));
}

/// The tag and communicator of messages to a stream.
fn names(builder: &Builder, to: At, dice: &mut Dice<'_>) -> (u32, i32) {
    let apart = if builder.apart { 10 * to.stream } else { 0 };
    ((dice.below(2) + apart) as u32, dice.of(&[0, 1, -3]))
}

fn some_size(dice: &mut Dice<'_>) -> u64 {
    dice.of(&SIZES)
}

/// One to three messages from one stream to another, and as many receives.
fn messages(builder: &mut Builder, dice: &mut Dice<'_>) {
    let (from, to) = (builder.any(dice), builder.any(dice));
    let (comm, tag) = names(builder, to, dice);
    let count = dice.of(&[1, 1, 2, 3]);
    let [send_request, mut receive_request] = [dice.one_in(2), dice.one_in(2)];
    let any_source = builder.wildcards && dice.one_in(3);
    let any_tag = builder.wildcards && dice.one_in(4);
    let mode = dice.below(10);
    let [before_send, before_receive] = [dice.of(&COMPUTATIONS), dice.of(&COMPUTATIONS)];
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    let mut first_tag = None;
    for _ in 0..count {
        let bytes = some_size(dice);
        // Tags of messages of one piece may differ.
        let tag = if dice.one_in(3) { tag + 1 } else { tag };
        first_tag.get_or_insert(tag);
        let rank = to.rank as u32;
        sends.push(match mode {
            0..=1 => ops::ssend(rank, comm, tag, bytes),
            2..=3 => ops::bsend(rank, comm, tag, bytes),
            _ => ops::send(rank, comm, tag, bytes),
        });
        let source = (!any_source).then_some(from.rank as u32);
        receives.push(ops::receive(source, comm, (!any_tag).then_some(tag)));
    }
    sends[0].compute_ps = before_send;
    receives[0].compute_ps = before_receive;
    let probes = dice.one_in(5);
    // A stream cannot wait for a message that it sends afterwards.
    let receives_first = from == to || dice.one_in(3);
    receive_request |= receives_first;
    let all = sends.into_iter().map(|op| (from, op, send_request));
    let mut all: Vec<_> = all.collect();
    let receives = receives.into_iter().map(|op| (to, op, receive_request));
    if receives_first {
        all.splice(0..0, receives);
    } else {
        if probes {
            let source = (!any_source).then_some(from.rank as u32);
            let probe = ops::probe(source, comm, first_tag.filter(|_| !any_tag));
            builder.push(to, probe);
        }
        all.extend(receives);
    }
    for (at, op, with_request) in all {
        builder.push_call(at, op, with_request);
    }
}

/// A message from every rank but one to a stream, which receives them from any source.
fn from_all(builder: &mut Builder, dice: &mut Dice<'_>) {
    let to = builder.any(dice);
    let (comm, tag) = names(builder, to, dice);
    let [send_request, receive_request] = [dice.one_in(2), dice.one_in(2)];
    let any_tag = builder.wildcards && dice.one_in(2);
    let synchronous = dice.one_in(4);
    let before_receive = dice.of(&COMPUTATIONS);
    let nic = dice.of(&[0, 0, 1, 3]);
    let others: Vec<usize> = (0..builder.tracks.len())
        .filter(|&rank| rank != to.rank)
        .collect();
    for (number, &rank) in (0..).zip(&others) {
        let from = builder.any_of(rank, dice);
        let (to, bytes) = (to.rank as u32, some_size(dice));
        let tag = if any_tag { tag + number } else { tag };
        let send = if synchronous {
            ops::ssend(to, comm, tag, bytes)
        } else {
            ops::send(to, comm, tag, bytes)
        };
        let send = ops::by_nic(send, nic);
        builder.push_call(from, send, send_request);
    }
    builder.push(to, ops::marker().compute(before_receive));
    for _ in &others {
        let receive = ops::receive(None, comm, (!any_tag).then_some(tag));
        builder.push_call(to, receive, receive_request);
    }
}

/// A wait for some of the requests of a stream, and perhaps others.
fn wait(builder: &mut Builder, dice: &mut Dice<'_>) {
    let at = builder.any(dice);
    let until = dice.of(&[Until::All, Until::Any, Until::Some]);
    let (turn, most) = (dice.below(4), 1 + dice.below(6));
    let [inactive, foreign, backwards] = [dice.one_in(6), dice.one_in(3), dice.one_in(2)];
    let computation = dice.of(&COMPUTATIONS);
    let mut requests = builder.track(at).requests.clone();
    if !requests.is_empty() {
        let turn = turn % requests.len();
        requests.rotate_left(turn);
    }
    requests.truncate(most);
    if until == Until::All {
        builder
            .track(at)
            .requests
            .retain(|request| !requests.contains(request));
    }
    if inactive {
        requests.push(99);
    }
    if requests.is_empty() && !inactive && dice.one_in(2) {
        return;
    }
    if foreign || requests.is_empty() {
        let other = builder.any_of(at.rank, dice);
        let others = builder.track(other).requests.iter().copied().take(2);
        requests.extend(others.collect::<Vec<_>>());
    }
    if backwards {
        requests.reverse();
    }
    builder.push(at, ops::wait(until, &requests).compute(computation));
}

/// A message with an id, for which an operation of the receiver waits or not.
fn message_with_id(builder: &mut Builder, dice: &mut Dice<'_>) {
    let (from, to) = (builder.any(dice), builder.any(dice));
    let id = builder.id();
    let (bytes, awaited) = (some_size(dice), !dice.one_in(4));
    let send = ops::op(Action::Send {
        id,
        to: RankId::new(to.rank as u32),
        bytes,
        awaited,
    });
    builder.push(from, send.compute(dice.of(&COMPUTATIONS)));
    if awaited {
        builder.defer(to, Event::Received(id), dice.below(3));
    }
}

/// A request that nobody waits for any longer. Its number is not used again.
fn free(builder: &mut Builder, dice: &mut Dice<'_>) {
    let at = builder.any(dice);
    let requests = builder.track(at).requests.clone();
    if !requests.is_empty() {
        let request = requests[dice.below(requests.len())];
        let track = builder.track(at);
        track.requests.retain(|&other| other != request);
        track.freed.push(request);
        builder.push(at, ops::free(&[request]));
    }
}

/// An operation waits for the start or the end of another of its rank.
fn label(builder: &mut Builder, dice: &mut Dice<'_>) {
    let waiting = builder.any(dice);
    let named = builder.any_of(waiting.rank, dice);
    let [ahead, at_end] = [dice.one_in(3), dice.one_in(2)];
    let before = dice.below(3);
    // An operation that is still to come, or the last one.
    let last = builder.track(named).ops.len().checked_sub(1);
    let number = match last {
        _ if ahead && named != waiting => {
            let fresh = builder.id();
            *builder.track(named).next_label.get_or_insert(fresh)
        }
        Some(last) => builder.label_of(named, last),
        None => return,
    };
    let event = if at_end {
        ops::done(number)
    } else {
        ops::started(number)
    };
    builder.defer(waiting, event, before);
}

/// Something that does not fit the rest.
fn wrong(builder: &mut Builder, dice: &mut Dice<'_>) {
    let (from, to) = (builder.any(dice), builder.any(dice));
    let (comm, tag) = names(builder, to, dice);
    let with_request = !dice.one_in(3);
    match dice.below(6) {
        0 => {
            let receive = ops::receive(Some(from.rank as u32), comm, Some(tag));
            builder.push_call(to, receive, with_request);
        }
        1 | 2 => {
            let send = ops::send(to.rank as u32, comm, tag, some_size(dice));
            builder.push_call(from, send, with_request);
        }
        3 => {
            let send = ops::ssend(to.rank as u32, comm, tag, some_size(dice));
            builder.push_call(from, send, with_request);
        }
        4 => {
            let number = builder.id();
            builder.defer(to, ops::done(number), 0);
        }
        _ => {
            // A request that may still be active.
            let request = builder.track(from).requests.first().copied();
            let send = ops::send(to.rank as u32, comm, tag, some_size(dice));
            builder.push(from, send.request(request.unwrap_or(99)));
        }
    }
}
