//! Parses a line.

use super::action::{Action, Mode, Request};
use super::args::{Args, digits, word};
use super::collective;
use crate::limits::MAX_TASKS;
use crate::quote::quoted_bytes;

/// Longest name of an action.
const MAX_NAME: usize = 16;

/// The rank in the first column: a number, or one after `p` or `rank-`, and what follows it. `None` for a line that
/// says nothing.
#[inline]
pub(super) fn rank(line: &[u8]) -> Result<Option<(u32, &[u8])>, String> {
    let Some((first, rest)) = word(line) else {
        return Ok(None);
    };
    if line.first() == Some(&b'#') {
        return Ok(None);
    }
    let bare = first.strip_prefix(b"rank-").or(first.strip_prefix(b"p"));
    match digits(bare.unwrap_or(first)) {
        Some(rank) if rank < u64::from(MAX_TASKS) => Ok(Some((rank as u32, rest))),
        Some(rank) => Err(format!(
            "expected a rank below {MAX_TASKS} in the first column, found {rank}; correct it"
        )),
        None => Err(format!(
            "expected a rank in the first column, as in `0 init`, found {}; this is no line of a TI trace",
            quoted_bytes(first, true)
        )),
    }
}

/// What the line says after the rank, in a trace of `ranks` ranks.
#[inline]
pub(super) fn action(rest: &[u8], ranks: u32) -> Result<Action, String> {
    let Some((name, rest)) = word(rest) else {
        return Err(
            "expected an action after the rank, found the end of the line; complete it".into(),
        );
    };
    let mut lower = [0; MAX_NAME];
    let known = match lower.get_mut(..name.len()) {
        Some(lower) => {
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            &*lower
        }
        None => name,
    };
    let mut args = Args::new(name, rest, ranks);
    let action = match known {
        b"compute" => {
            let flops = args.amount("the number of flops")?;
            Action::Compute { flops }
        }
        b"send" => send(&mut args, Mode::Standard, false)?,
        b"isend" => send(&mut args, Mode::Standard, true)?,
        b"recv" => recv(&mut args, false)?,
        b"irecv" => recv(&mut args, true)?,
        b"wait" => Action::Wait(request(&mut args)?),
        _ => return rarer(known, &mut args),
    };
    args.end()?;
    Ok(action)
}

fn rarer(name: &[u8], args: &mut Args) -> Result<Action, String> {
    let action = match name {
        b"init" | b"finalize" | b"comm_split" | b"comm_dup" | b"location" => {
            args.ignore();
            match name {
                b"init" => Action::Init,
                b"finalize" => Action::Finalize,
                b"comm_split" => Action::CommSplit,
                b"comm_dup" => Action::CommDup,
                _ => Action::Location,
            }
        }
        b"comm_size" => Action::CommSize(args.count("the size")?),
        b"sleep" => {
            let seconds = args.amount("the number of seconds")?;
            Action::Sleep { seconds }
        }
        b"ssend" => send(args, Mode::Synchronous, false)?,
        b"issend" => send(args, Mode::Synchronous, true)?,
        b"bsend" => send(args, Mode::Buffered, false)?,
        b"ibsend" => send(args, Mode::Buffered, true)?,
        b"sendrecv" => sendrecv(args)?,
        b"test" => Action::Test(request(args)?),
        b"waitall" => {
            let count = args.maybe_count("the number of requests")?;
            Action::WaitAll { count }
        }
        b"waitany" => {
            let count = args.maybe_count("the number of requests")?;
            Action::WaitAny { count }
        }
        b"testany" => Action::TestAny,
        b"testall" => Action::TestAll,
        b"testsome" => Action::TestSome,
        _ => {
            let call = collective::parse(name, args)?;
            let immediate = name.strip_prefix(b"i").filter(|_| call.is_none());
            let (call, immediate) = match immediate {
                Some(name) => (collective::parse(name, args)?, true),
                None => (call, false),
            };
            match call {
                Some(call) => Action::Collective { call, immediate },
                None => return Err(args.unknown()),
            }
        }
    };
    args.end()?;
    Ok(action)
}

/// True if a line may have this word as its action.
pub(crate) fn is_action(name: &str) -> bool {
    const OTHERS: [&str; 21] = [
        "init",
        "finalize",
        "comm_size",
        "comm_split",
        "comm_dup",
        "compute",
        "sleep",
        "location",
        "send",
        "isend",
        "ssend",
        "issend",
        "bsend",
        "ibsend",
        "recv",
        "irecv",
        "sendrecv",
        "wait",
        "waitall",
        "waitany",
        "test",
    ];
    let name = name.to_ascii_lowercase();
    let collective = collective::NAMES.contains(&name.as_str());
    let immediate = || {
        name.strip_prefix('i')
            .is_some_and(|n| collective::NAMES.contains(&n))
    };
    OTHERS.contains(&name.as_str()) || name.starts_with("test") || collective || immediate()
}

fn send(args: &mut Args, mode: Mode, immediate: bool) -> Result<Action, String> {
    Ok(Action::Send {
        to: args.rank("the destination")?,
        tag: args.tag()?,
        elements: args.elements()?,
        mode,
        immediate,
    })
}

fn recv(args: &mut Args, immediate: bool) -> Result<Action, String> {
    Ok(Action::Recv {
        from: args.rank_or_any("the source")?,
        tag: args.tag_or_any()?,
        elements: args.elements()?,
        immediate,
    })
}

fn sendrecv(args: &mut Args) -> Result<Action, String> {
    use super::action::Elements;
    let send = args.count("the number of elements sent")?;
    let to = args.rank("the destination")?;
    let recv = args.count("the number of elements received")?;
    let from = args.rank_or_any("the source")?;
    let elements = |count, datatype| Elements { count, datatype };
    let send = elements(send, args.datatype("the datatype sent")?);
    let recv = elements(recv, args.datatype("the datatype received")?);
    Ok(Action::SendRecv {
        to,
        send,
        from,
        recv,
    })
}

fn request(args: &mut Args) -> Result<Request, String> {
    Ok(Request {
        src: args.rank_or_any("the source")?,
        dst: args.rank_or_any("the destination")?,
        tag: args.tag_or_any()?,
    })
}
