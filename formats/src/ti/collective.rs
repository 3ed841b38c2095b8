//! Parses the arguments of collectives. Those at the end may be missing, and what their number means depends on how
//! many there are.

use nom::Parser;
use nom::multi::count as times;

use super::action::{Alltoallv, Collective, Elements};
use super::args::{Parsed, amount, count, counts, datatype, left, root};
use super::datatype::Datatype;
use crate::grammar::word;

const COUNT: &str = "the number of elements";
const SENT: &str = "the number of elements sent";
const RECEIVED: &str = "the number of elements received";
const FLOPS: &str = "the number of flops";
const TYPE: &str = "the datatype";

/// The collective of this name in a trace of `ranks` ranks; `None` if there is none.
pub(super) fn collective<'a>(
    name: &[u8],
    args: &'a [u8],
    ranks: u32,
) -> Parsed<'a, Option<Collective>> {
    let (rest, collective) = match name {
        b"barrier" => Ok((args, Collective::Barrier)),
        b"bcast" => (count(COUNT), |args| root(args, ranks), datatype(TYPE))
            .map(|(count, root, datatype)| Collective::Bcast {
                elements: elements(count, datatype),
                root,
            })
            .parse(args),
        b"reduce" => reduce(args, ranks),
        b"allreduce" => vector
            .map(|(elements, flops)| Collective::Allreduce { elements, flops })
            .parse(args),
        b"scan" => vector
            .map(|(elements, flops)| Collective::Scan { elements, flops })
            .parse(args),
        b"exscan" => vector
            .map(|(elements, flops)| Collective::Exscan { elements, flops })
            .parse(args),
        b"alltoall" => unrooted
            .map(|(send, recv)| Collective::Alltoall { send, recv })
            .parse(args),
        b"allgather" => unrooted
            .map(|(send, recv)| Collective::Allgather { send, recv })
            .parse(args),
        b"gather" => (|args| rooted(args, ranks))
            .map(|(send, recv, root)| Collective::Gather { send, recv, root })
            .parse(args),
        b"scatter" => (|args| rooted(args, ranks))
            .map(|(send, recv, root)| Collective::Scatter { send, recv, root })
            .parse(args),
        b"gatherv" => gatherv(args, ranks),
        b"scatterv" => scatterv(args, ranks),
        b"allgatherv" => allgatherv(args, ranks),
        b"alltoallv" => alltoallv(args, ranks),
        b"reducescatter" => (counts(RECEIVED, ranks), amount(FLOPS), datatype(TYPE))
            .map(|(recv, flops, datatype)| Collective::ReduceScatter {
                recv,
                datatype,
                flops,
            })
            .parse(args),
        _ => return Ok((args, None)),
    }?;
    Ok((rest, Some(collective)))
}

fn types(args: &[u8]) -> Parsed<'_, (Datatype, Datatype)> {
    let send = datatype("the datatype sent");
    (send, datatype("the datatype received")).parse(args)
}

fn elements(count: u64, datatype: Datatype) -> Elements {
    Elements { count, datatype }
}

/// `COUNT FLOPS [ROOT [TYPE]]`.
fn reduce(args: &[u8], ranks: u32) -> Parsed<'_, Collective> {
    let root = |args| root(args, ranks);
    (count(COUNT), amount(FLOPS), root, datatype(TYPE))
        .map(|(count, flops, root, datatype)| Collective::Reduce {
            elements: elements(count, datatype),
            flops,
            root,
        })
        .parse(args)
}

/// `COUNT FLOPS [TYPE]`.
fn vector(args: &[u8]) -> Parsed<'_, (Elements, f64)> {
    (count(COUNT), amount(FLOPS), datatype(TYPE))
        .map(|(count, flops, datatype)| (elements(count, datatype), flops))
        .parse(args)
}

/// `SEND RECV [TYPE [TYPE]]`. A recorder leaves out a `RECV` of 0 and writes both types.
fn unrooted(args: &[u8]) -> Parsed<'_, (Elements, Elements)> {
    let (rest, send) = count(SENT)(args)?;
    let (rest, recv) = if left(args) == 3 && send == 0 {
        (rest, 0)
    } else {
        count(RECEIVED)(rest)?
    };
    let (rest, (send_type, recv_type)) = types(rest)?;
    Ok((rest, (elements(send, send_type), elements(recv, recv_type))))
}

/// `SEND RECV [ROOT [TYPE [TYPE]]]`. A recorder leaves out a `RECV` of 0 and writes root and both types, so that four
/// arguments are these.
fn rooted(args: &[u8], ranks: u32) -> Parsed<'_, (Elements, Elements, u32)> {
    let (rest, send) = count(SENT)(args)?;
    let (rest, recv) = if left(args) == 4 {
        (rest, 0)
    } else {
        count(RECEIVED)(rest)?
    };
    let (rest, root) = root(rest, ranks)?;
    let (rest, (send_type, recv_type)) = types(rest)?;
    let (send, recv) = (elements(send, send_type), elements(recv, recv_type));
    Ok((rest, (send, recv, root)))
}

/// True if the line is too short for a list, and has what a recorder writes on a rank that is not the root: a count, the
/// root and both types.
fn lacks_list(args: &[u8], ranks: u32) -> bool {
    left(args) == 4 && ranks > 3
}

/// The list of `what`, one for each rank; empty if the line `lacks` it.
fn list<'a>(
    what: &'static str,
    ranks: u32,
    lacks: bool,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, Box<[u64]>> {
    counts(what, if lacks { 0 } else { ranks })
}

/// `SEND RECV… [ROOT [TYPE [TYPE]]]`.
fn gatherv(args: &[u8], ranks: u32) -> Parsed<'_, Collective> {
    let recv = list(RECEIVED, ranks, lacks_list(args, ranks));
    (count(SENT), recv, |args| root(args, ranks), types)
        .map(
            |(send, recv, root, (send_type, recv_type))| Collective::Gatherv {
                send: elements(send, send_type),
                recv,
                recv_type,
                root,
            },
        )
        .parse(args)
}

/// `SEND… RECV [ROOT [TYPE [TYPE]]]`.
fn scatterv(args: &[u8], ranks: u32) -> Parsed<'_, Collective> {
    let send = list(SENT, ranks, lacks_list(args, ranks));
    (send, count(RECEIVED), |args| root(args, ranks), types)
        .map(
            |(send, recv, root, (send_type, recv_type))| Collective::Scatterv {
                send,
                send_type,
                recv: elements(recv, recv_type),
                root,
            },
        )
        .parse(args)
}

/// `SEND RECV… [TYPE [TYPE]]`. Old recorders have a displacement for each rank before the types.
fn allgatherv(args: &[u8], ranks: u32) -> Parsed<'_, Collective> {
    let (rest, (send, recv)) = (count(SENT), counts(RECEIVED, ranks)).parse(args)?;
    let displacements = match left(rest).checked_sub(ranks as usize) {
        Some(0 | 2) if left(rest) > 2 => ranks as usize,
        _ => 0,
    };
    let (rest, _) = times(word, displacements).parse(rest)?;
    let (rest, (send_type, recv_type)) = types(rest)?;
    let send = elements(send, send_type);
    let collective = Collective::Allgatherv {
        send,
        recv,
        recv_type,
    };
    Ok((rest, collective))
}

/// `BUFFER SEND… BUFFER RECV… [TYPE [TYPE]]`.
fn alltoallv(args: &[u8], ranks: u32) -> Parsed<'_, Collective> {
    (
        count("the size of the buffer sent from"),
        counts(SENT, ranks),
        count("the size of the buffer received into"),
        counts(RECEIVED, ranks),
        types,
    )
        .map(
            |(send_buffer, send, recv_buffer, recv, (send_type, recv_type))| {
                Collective::Alltoallv(Box::new(Alltoallv {
                    send_buffer,
                    send,
                    recv_buffer,
                    recv,
                    send_type,
                    recv_type,
                }))
            },
        )
        .parse(args)
}
