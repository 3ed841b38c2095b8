//! Reads the tuples of calls.

use super::call::{
    Call, Collective, Completion, Data, Done, Message, Outcome, Part, Peer, Reference, References,
    picked,
};
use super::function::{CallKind, Function, How, Operation};
use super::wire::{Cursor, Fault, Sequence};
use crate::limits::MAX_RECORDING_LIST;

impl<'a> Call<'a> {
    /// Reads a call of `function` whose tuple continues at `cursor`.
    pub(super) fn read(function: &Function, cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(match function.kind {
            CallKind::Send(mode, how) => Self::Send(message(cursor)?, mode, how),
            CallKind::Receive(how) => {
                Self::Receive(message(cursor)?, how, outcome_if_blocking(how, cursor)?)
            }
            CallKind::SendReceive(how) => Self::send_receive(how, cursor)?,
            CallKind::Probe { polls, takes } => {
                let message = envelope(cursor)?;
                let found = !polls || cursor.flag()?;
                let found = found.then(|| outcome(cursor)).transpose()?;
                Self::Probe {
                    message,
                    found,
                    takes,
                }
            }
            CallKind::ReceiveTaken(how) => {
                let taken = Reference::of(cursor.number()?);
                let data = data(cursor)?;
                Self::ReceiveTaken(taken, data, how, outcome_if_blocking(how, cursor)?)
            }
            CallKind::Partitioned { sends } => Self::partitioned(sends, cursor)?,
            CallKind::Ready => Self::Ready(Reference::of(cursor.number()?), list(cursor)?),
            CallKind::Arrived => {
                let request = Reference::of(cursor.number()?);
                Self::Arrived(request, cursor.number()?, cursor.flag()?)
            }
            CallKind::Start => Self::Start(References(list(cursor)?)),
            CallKind::Free => Self::Free(References(list(cursor)?)),
            CallKind::Cancel => Self::Cancel(References(list(cursor)?)),
            CallKind::Complete { .. } => Self::Complete(completion(cursor)?),
            CallKind::Status => Self::Status(Reference::of(cursor.number()?), cursor.flag()?),
            CallKind::Collective(operation, how) => {
                Self::Collective(collective(operation, how, cursor)?)
            }
            CallKind::MakeComm(how) => {
                let parent = cursor.small()?;
                let made = Some(cursor.small()?).filter(|&made| made > 0);
                Self::MakeComm { parent, made, how }
            }
            CallKind::FreeComm => Self::FreeComm(cursor.small()?),
            CallKind::Init => Self::Init(cursor.number()?),
            CallKind::Finalize => Self::Finalize,
            CallKind::Abort => Self::Abort,
            CallKind::Local => Self::Local,
            CallKind::Control => Self::Control(cursor.signed()?, cursor.text()?),
            CallKind::Outside(outside) => Self::Outside(outside),
        })
    }

    fn send_receive(how: How, cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let sent = message(cursor)?;
        Ok(Self::SendReceive {
            sent,
            received: message_on(sent.comm, cursor)?,
            how,
            outcome: outcome_if_blocking(how, cursor)?,
        })
    }

    fn partitioned(sends: bool, cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut message = envelope(cursor)?;
        let partitions = u64::from(cursor.small()?);
        message.data = data(cursor)?;
        if message.data.bytes().checked_mul(partitions).is_none() {
            return cursor.fault("data of more than 2^64 bytes");
        }
        Ok(Self::Partitioned {
            message,
            partitions,
            sends,
        })
    }
}

fn peer(cursor: &mut Cursor<'_>) -> Result<Peer, Fault> {
    let here = *cursor;
    Ok(match cursor.number()? {
        0 => Peer::Any,
        1 => Peer::Null,
        2 => Peer::Root,
        code => match u32::try_from(code - 3) {
            Ok(rank) if rank <= i32::MAX.cast_unsigned() => Peer::Rank(rank),
            _ => return here.fault("a rank beyond the range of an int of MPI"),
        },
    })
}

fn tag(cursor: &mut Cursor<'_>) -> Result<Option<u32>, Fault> {
    let here = *cursor;
    let code = cursor.number()?;
    let Some(tag) = code.checked_sub(1) else {
        return Ok(None);
    };
    match u32::try_from(tag) {
        Ok(tag) if tag <= i32::MAX.cast_unsigned() => Ok(Some(tag)),
        _ => here.fault("a tag beyond the range of an int of MPI"),
    }
}

fn data(cursor: &mut Cursor<'_>) -> Result<Data, Fault> {
    let here = *cursor;
    let (count, size) = (cursor.number()?, cursor.number()?);
    if count.checked_mul(size).is_none() {
        return here.fault("data of more than 2^64 bytes");
    }
    Ok(Data { count, size })
}

/// A message without data.
fn envelope(cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let comm = cursor.small()?;
    let (peer, tag) = (peer(cursor)?, tag(cursor)?);
    let data = Data::default();
    Ok(Message {
        comm,
        peer,
        tag,
        data,
    })
}

fn message(cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let comm = cursor.small()?;
    message_on(comm, cursor)
}

fn message_on(comm: u32, cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let (peer, tag) = (peer(cursor)?, tag(cursor)?);
    let data = data(cursor)?;
    Ok(Message {
        comm,
        peer,
        tag,
        data,
    })
}

fn outcome_if_blocking(how: How, cursor: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    match how {
        How::Blocking => outcome(cursor),
        How::Later | How::Persistent => Ok(Outcome::default()),
    }
}

pub(super) fn outcome(cursor: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    let here = *cursor;
    let flags = cursor.number()?;
    if flags > 31 {
        return here.fault("flags of a result that are not known");
    }
    let has = |flag: u64| flags & flag != 0;
    Ok(Outcome {
        peer: has(1).then(|| peer(cursor)).transpose()?,
        tag: if has(2) { tag(cursor)? } else { None },
        bytes: has(4).then(|| cursor.number()).transpose()?,
        cancelled: has(8),
        error: has(16),
    })
}

fn list<'a>(cursor: &mut Cursor<'a>) -> Result<Sequence<'a>, Fault> {
    cursor.sequence(MAX_RECORDING_LIST)
}

fn completion<'a>(cursor: &mut Cursor<'a>) -> Result<Completion<'a>, Fault> {
    let requests = list(cursor)?;
    let here = *cursor;
    let done = match cursor.number()? {
        0 => Done::None,
        1 => Done::All,
        2 => Done::Some(list(cursor)?),
        _ => return here.fault("a number of done requests that is not 0, 1 or 2"),
    };
    let start = cursor.pos();
    let mut read = |reference: Reference| {
        if reference.is_some() {
            outcome(cursor).map(|_| ())
        } else {
            Ok(())
        }
    };
    match done {
        Done::None => {}
        Done::All => References(requests).iter().try_for_each(read)?,
        Done::Some(indices) => {
            let len = requests.len().cast_signed();
            if indices.iter().any(|at| !(0..len).contains(&at)) {
                return here.fault("a done request that is not among the requests of the call");
            }
            picked(requests, indices).try_for_each(&mut read)?;
        }
    }
    let outcomes = cursor.since(start);
    Ok(Completion {
        requests,
        done,
        outcomes,
    })
}

fn part<'a>(cursor: &mut Cursor<'a>) -> Result<Part<'a>, Fault> {
    let here = *cursor;
    let sizes = |sequence: &Sequence<'_>, size: u64| {
        let mut sizes = sequence.iter();
        sizes.try_fold(0_u64, |sum, count| {
            sum.checked_add(u64::try_from(count).ok()?.checked_mul(size)?)
        })
    };
    Ok(match cursor.number()? {
        0 => Part::None,
        1 => Part::InPlace,
        2 => Part::Even(data(cursor)?),
        3 => {
            let size = cursor.number()?;
            let counts = list(cursor)?;
            if sizes(&counts, size).is_none() {
                return here.fault("a negative count, or data of more than 2^64 bytes");
            }
            Part::Counts { size, counts }
        }
        4 => {
            let bytes = list(cursor)?;
            if sizes(&bytes, 1).is_none() {
                return here.fault("a negative size, or data of more than 2^64 bytes");
            }
            Part::Bytes(bytes)
        }
        _ => return here.fault("a part of a kind that is not known"),
    })
}

fn collective<'a>(
    operation: Operation,
    how: How,
    cursor: &mut Cursor<'a>,
) -> Result<Collective<'a>, Fault> {
    let comm = cursor.small()?;
    let root = peer(cursor)?;
    let here = *cursor;
    let commutes = match cursor.number()? {
        0 => None,
        1 => Some(true),
        2 => Some(false),
        _ => return here.fault("an operation that is neither 0, 1 nor 2"),
    };
    Ok(Collective {
        operation,
        how,
        comm,
        root,
        commutes,
        sent: part(cursor)?,
        received: part(cursor)?,
    })
}
