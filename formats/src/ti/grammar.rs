//! Parses a line.

use flitwise_base::quote::quoted_bytes;
use nom::Parser;

use super::action::{Action, Elements, Mode, Request};
use super::args::{
    Expected, Parsed, amount, count, datatype, digits, elements, maybe_count, message, rank_or_any,
    rank_or_proc_null, tag, tag_or_any,
};
use super::collective::collective;
use crate::grammar::{fault, run, word};
use crate::limits::MAX_TASKS;

/// Longest name of an action.
const MAX_NAME: usize = 16;

/// The rank in the first column: a number, or one after `p` or `rank-`, and what follows it. `None` for a line that
/// says nothing.
#[inline]
pub(super) fn first_column(line: &[u8]) -> Result<Option<(u32, &[u8])>, String> {
    let Ok((rest, first)) = word::<()>(line) else {
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

/// The action behind the rank, in a trace of `ranks` ranks.
#[inline]
pub(super) fn action(rest: &[u8], ranks: u32) -> Result<Action, String> {
    let Ok((args, name)) = word::<()>(rest) else {
        return Err(
            "expected an action after the rank, found the end of the line; complete it".into(),
        );
    };
    match run(|args| named(name, args, ranks), args) {
        Ok((_, action)) => Ok(action),
        Err(fault) => Err(message(name, args, ranks, fault)),
    }
}

/// True if a line may have this word as its action.
pub(crate) fn is_action(name: &str) -> bool {
    let parsed = run(|args| named(name.as_bytes(), args, 1), &b""[..]);
    let unknown = parsed.is_err_and(|fault| fault.expected == Expected::Action);
    !unknown || name.to_ascii_lowercase().starts_with("test")
}

/// The action that a line calls `name`, in capital letters or small ones.
#[inline]
fn named<'a>(name: &[u8], args: &'a [u8], ranks: u32) -> Parsed<'a, Action> {
    let mut lower = [0; MAX_NAME];
    let known = match lower.get_mut(..name.len()) {
        Some(lower) => {
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            &*lower
        }
        None => name,
    };
    let (rest, action) = match known {
        b"compute" => amount("the number of flops")
            .map(|flops| Action::Compute { flops })
            .parse(args),
        b"send" => send(args, ranks, Mode::Standard, false),
        b"isend" => send(args, ranks, Mode::Standard, true),
        b"recv" => recv(args, ranks, false),
        b"irecv" => recv(args, ranks, true),
        b"wait" => request(args, ranks).map(|(rest, request)| (rest, Action::Wait(request))),
        _ => rarer(known, args, ranks),
    }?;
    match word::<Expected>(rest) {
        Ok(_) => fault(rest, Expected::End),
        Err(_) => Ok((rest, action)),
    }
}

fn rarer<'a>(name: &[u8], args: &'a [u8], ranks: u32) -> Parsed<'a, Action> {
    // Whatever follows does not matter.
    let alone = |action| Ok((&args[args.len()..], action));
    match name {
        b"init" => alone(Action::Init),
        b"finalize" => alone(Action::Finalize),
        b"comm_split" => alone(Action::CommSplit),
        b"comm_dup" => alone(Action::CommDup),
        b"location" => alone(Action::Location),
        b"comm_size" => count("the size").map(Action::CommSize).parse(args),
        b"sleep" => amount("the number of seconds")
            .map(|seconds| Action::Sleep { seconds })
            .parse(args),
        b"ssend" => send(args, ranks, Mode::Synchronous, false),
        b"issend" => send(args, ranks, Mode::Synchronous, true),
        b"bsend" => send(args, ranks, Mode::Buffered, false),
        b"ibsend" => send(args, ranks, Mode::Buffered, true),
        b"sendrecv" => sendrecv(args, ranks),
        b"test" => request(args, ranks).map(|(rest, request)| (rest, Action::Test(request))),
        b"waitall" => maybe_count("the number of requests")
            .map(|count| Action::WaitAll { count })
            .parse(args),
        b"waitany" => maybe_count("the number of requests")
            .map(|count| Action::WaitAny { count })
            .parse(args),
        b"testany" => Ok((args, Action::TestAny)),
        b"testall" => Ok((args, Action::TestAll)),
        b"testsome" => Ok((args, Action::TestSome)),
        _ => {
            let blocking = collective(name, args, ranks)?;
            let (call, immediate) = match (blocking, name.strip_prefix(b"i")) {
                ((_, None), Some(name)) => (collective(name, args, ranks)?, true),
                (blocking, _) => (blocking, false),
            };
            match call {
                (rest, Some(call)) => Ok((rest, Action::Collective { call, immediate })),
                (_, None) => fault(args, Expected::Action),
            }
        }
    }
}

#[inline]
fn send(args: &[u8], ranks: u32, mode: Mode, immediate: bool) -> Parsed<'_, Action> {
    (rank_or_proc_null("the destination", ranks), tag, elements)
        .map(|(to, tag, elements)| Action::Send {
            to,
            tag,
            elements,
            mode,
            immediate,
        })
        .parse(args)
}

#[inline]
fn recv(args: &[u8], ranks: u32, immediate: bool) -> Parsed<'_, Action> {
    (rank_or_any("the source", ranks), tag_or_any, elements)
        .map(|(from, tag, elements)| Action::Recv {
            from,
            tag,
            elements,
            immediate,
        })
        .parse(args)
}

fn sendrecv(args: &[u8], ranks: u32) -> Parsed<'_, Action> {
    let elements = |count, datatype| Elements { count, datatype };
    (
        count("the number of elements sent"),
        rank_or_proc_null("the destination", ranks),
        count("the number of elements received"),
        rank_or_any("the source", ranks),
        datatype("the datatype sent"),
        datatype("the datatype received"),
    )
        .map(
            |(sent, to, received, from, send_type, recv_type)| Action::SendRecv {
                to,
                send: elements(sent, send_type),
                from,
                recv: elements(received, recv_type),
            },
        )
        .parse(args)
}

#[inline]
fn request(args: &[u8], ranks: u32) -> Parsed<'_, Request> {
    (
        rank_or_any("the source", ranks),
        rank_or_any("the destination", ranks),
        tag_or_any,
    )
        .map(|(src, dst, tag)| Request { src, dst, tag })
        .parse(args)
}
