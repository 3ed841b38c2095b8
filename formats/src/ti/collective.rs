//! Parses the arguments of collectives. Those at the end may be missing, and what their number means depends on how
//! many there are.

use super::action::{Alltoallv, Collective, Elements};
use super::args::Args;
use super::datatype::Datatype;

/// How lines call the collectives.
pub(super) const NAMES: [&str; 15] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "scan",
    "exscan",
    "alltoall",
    "alltoallv",
    "gather",
    "scatter",
    "allgather",
    "gatherv",
    "scatterv",
    "allgatherv",
    "reducescatter",
];

/// The collective of this name; `None` if there is none.
pub(super) fn parse(name: &[u8], args: &mut Args) -> Result<Option<Collective>, String> {
    Ok(Some(match name {
        b"barrier" => Collective::Barrier,
        b"bcast" => {
            let count = args.count(COUNT)?;
            let root = args.root()?;
            let datatype = args.datatype(TYPE)?;
            let elements = Elements { count, datatype };
            Collective::Bcast { elements, root }
        }
        b"reduce" => {
            let (count, flops) = (args.count(COUNT)?, args.amount(FLOPS)?);
            let root = args.root()?;
            let datatype = args.datatype(TYPE)?;
            let elements = Elements { count, datatype };
            Collective::Reduce {
                elements,
                flops,
                root,
            }
        }
        b"allreduce" => {
            let (elements, flops) = vector(args)?;
            Collective::Allreduce { elements, flops }
        }
        b"scan" => {
            let (elements, flops) = vector(args)?;
            Collective::Scan { elements, flops }
        }
        b"exscan" => {
            let (elements, flops) = vector(args)?;
            Collective::Exscan { elements, flops }
        }
        b"alltoall" => {
            let (send, recv) = unrooted(args)?;
            Collective::Alltoall { send, recv }
        }
        b"allgather" => {
            let (send, recv) = unrooted(args)?;
            Collective::Allgather { send, recv }
        }
        b"gather" => {
            let (send, recv, root) = rooted(args)?;
            Collective::Gather { send, recv, root }
        }
        b"scatter" => {
            let (send, recv, root) = rooted(args)?;
            Collective::Scatter { send, recv, root }
        }
        _ => return with_list(name, args),
    }))
}

const COUNT: &str = "the number of elements";
const SENT: &str = "the number of elements sent";
const RECEIVED: &str = "the number of elements received";
const FLOPS: &str = "the number of flops";
const TYPE: &str = "the datatype";

fn with_list(name: &[u8], args: &mut Args) -> Result<Option<Collective>, String> {
    Ok(Some(match name {
        b"gatherv" => gatherv(args)?,
        b"scatterv" => scatterv(args)?,
        b"allgatherv" => allgatherv(args)?,
        b"alltoallv" => {
            let send_buffer = args.count("the size of the buffer sent from")?;
            let send = args.counts(SENT)?;
            let recv_buffer = args.count("the size of the buffer received into")?;
            let recv = args.counts(RECEIVED)?;
            let (send_type, recv_type) = types(args)?;
            Collective::Alltoallv(Box::new(Alltoallv {
                send_buffer,
                send,
                recv_buffer,
                recv,
                send_type,
                recv_type,
            }))
        }
        b"reducescatter" => {
            let recv = args.counts(RECEIVED)?;
            let flops = args.amount(FLOPS)?;
            let datatype = args.datatype(TYPE)?;
            Collective::ReduceScatter {
                recv,
                datatype,
                flops,
            }
        }
        _ => return Ok(None),
    }))
}

fn types(args: &mut Args) -> Result<(Datatype, Datatype), String> {
    let send = args.datatype("the datatype sent")?;
    let recv = args.datatype("the datatype received")?;
    Ok((send, recv))
}

fn elements(count: u64, datatype: Datatype) -> Elements {
    Elements { count, datatype }
}

/// `COUNT FLOPS [TYPE]`.
fn vector(args: &mut Args) -> Result<(Elements, f64), String> {
    let (count, flops) = (args.count(COUNT)?, args.amount(FLOPS)?);
    let datatype = args.datatype(TYPE)?;
    Ok((elements(count, datatype), flops))
}

/// `SEND RECV [TYPE [TYPE]]`. A recorder leaves out a `RECV` of 0 and writes both types.
fn unrooted(args: &mut Args) -> Result<(Elements, Elements), String> {
    let three = args.left() == 3;
    let send = args.count(SENT)?;
    let recv = match three && send == 0 {
        true => 0,
        false => args.count(RECEIVED)?,
    };
    let (send_type, recv_type) = types(args)?;
    Ok((elements(send, send_type), elements(recv, recv_type)))
}

/// `SEND RECV [ROOT [TYPE [TYPE]]]`. A recorder leaves out a `RECV` of 0 and writes root and both types, so that four
/// arguments are these.
fn rooted(args: &mut Args) -> Result<(Elements, Elements, u32), String> {
    let four = args.left() == 4;
    let send = args.count(SENT)?;
    let recv = if four { 0 } else { args.count(RECEIVED)? };
    let root = args.root()?;
    let (send_type, recv_type) = types(args)?;
    Ok((elements(send, send_type), elements(recv, recv_type), root))
}

/// True if the line is too short for a list, and has what a recorder writes on a rank that is not the root: a count, the
/// root and both types.
fn lacks_list(args: &Args) -> bool {
    let left = args.left();
    left == 4 && (left as u64) < 1 + u64::from(args.ranks())
}

/// `SEND RECV… [ROOT [TYPE [TYPE]]]`.
fn gatherv(args: &mut Args) -> Result<Collective, String> {
    let lacks_list = lacks_list(args);
    let send = args.count(SENT)?;
    let recv = match lacks_list {
        true => Box::default(),
        false => args.counts(RECEIVED)?,
    };
    let root = args.root()?;
    let (send_type, recv_type) = types(args)?;
    Ok(Collective::Gatherv {
        send: elements(send, send_type),
        recv,
        recv_type,
        root,
    })
}

/// `SEND… RECV [ROOT [TYPE [TYPE]]]`.
fn scatterv(args: &mut Args) -> Result<Collective, String> {
    let send = match lacks_list(args) {
        true => Box::default(),
        false => args.counts(SENT)?,
    };
    let recv = args.count(RECEIVED)?;
    let root = args.root()?;
    let (send_type, recv_type) = types(args)?;
    Ok(Collective::Scatterv {
        send,
        send_type,
        recv: elements(recv, recv_type),
        root,
    })
}

/// `SEND RECV… [TYPE [TYPE]]`. Old recorders have a displacement for each rank before the types.
fn allgatherv(args: &mut Args) -> Result<Collective, String> {
    let send = args.count(SENT)?;
    let recv = args.counts(RECEIVED)?;
    let ranks = args.ranks() as usize;
    let left = args.left();
    if left > 2 && (left == ranks || left == ranks + 2) {
        args.skip(ranks);
    }
    let (send_type, recv_type) = types(args)?;
    Ok(Collective::Allgatherv {
        send: elements(send, send_type),
        recv,
        recv_type,
    })
}
