//! The careful parser of single lines: it finds where and why a line is not VEF.

use super::cursor::{Cursor, Expected, Fault};
use super::record::{Comm, Dep, DepId, Header, Member, Message, Record, Version};
use crate::limits::{MAX_COMMS, MAX_TASKS};

/// A file that starts with anything else is not VEF.
pub(super) const MAGIC: Expected = Expected::Text("`VEF` or `VEF3`");

/// A record and its length with the line feed.
pub(super) fn record(buf: &[u8]) -> Result<(Record, usize), Fault> {
    let mut c = Cursor::new(buf);
    let record = if c.eat(b'G') {
        member(&mut c)?
    } else {
        message(&mut c)?
    };
    Ok((record, c.pos()))
}

fn message(c: &mut Cursor) -> Result<Record, Fault> {
    let id = c.u64("the message ID")?;
    c.space("the message ID")?;
    let src = c.u32("the source")?;
    c.space("the source")?;
    let dst = c.u32("the destination")?;
    c.space("the destination")?;
    let size = c.u64("the size")?;
    c.space("the size")?;
    let (dep, time, after) = tail(c)?;
    Ok(Record::Message(Message {
        id,
        src,
        dst,
        size,
        dep,
        time,
        after,
    }))
}

fn member(c: &mut Cursor) -> Result<Record, Fault> {
    let id = c.u64("the collective's ID")?;
    c.space("the collective's ID")?;
    c.eat(b'C');
    let comm = c.u32("the communicator")?;
    c.space("the communicator")?;
    let op = c.u32("the operation")?;
    c.space("the operation")?;
    let task = c.u32("the task")?;
    c.space("the task")?;
    let send = c.u64("the send size")?;
    c.space("the send size")?;
    let recv = c.u64("the receive size")?;
    c.space("the receive size")?;
    let (dep, time, after) = tail(c)?;
    Ok(Record::Member(Member {
        id,
        comm,
        op,
        task,
        send,
        recv,
        dep,
        time,
        after,
    }))
}

/// `Dep time IDdep LF`.
fn tail(c: &mut Cursor) -> Result<(Dep, u64, DepId), Fault> {
    // Cannot truncate: `up_to` checks the range.
    let dep = Dep(c.up_to("Dep", u64::from(u8::MAX))? as u8);
    c.space("Dep")?;
    let time = c.u64("the time")?;
    c.space("the time")?;
    let after = match c.peek() {
        Some(b'-') => {
            if !c.rest().starts_with(b"-1") {
                // Points after the dash only if nothing follows it.
                let dash = usize::from(c.rest().len() == 1);
                c.skip(dash);
                return c.fault(Expected::Text(
                    "`-1`, a message ID or `G<number>` for IDdep",
                ));
            }
            c.skip(2);
            DepId::None
        }
        Some(b'G') => {
            c.skip(1);
            DepId::Collective(c.u64("IDdep")?)
        }
        _ => DepId::Message(c.u64("IDdep")?),
    };
    c.line_end("IDdep")?;
    Ok((dep, time, after))
}

/// The first line and its length with the line feed.
pub(super) fn header(buf: &[u8]) -> Result<(Header, usize), Fault> {
    let mut c = Cursor::new(buf);
    let version = version(&mut c, buf)?;
    let tasks = c.up_to("the number of tasks", u64::from(MAX_TASKS))? as u32;
    c.space("the number of tasks")?;
    let messages = c.u64("the number of messages")?;
    c.space("the number of messages")?;
    let comms = c.up_to("the number of communicators", u64::from(MAX_COMMS))? as u32;
    c.space("the number of communicators")?;
    let collectives = c.u64("the number of collectives")?;
    c.space("the number of collectives")?;
    let members = c.u64("the number of collective lines")?;
    c.space("the number of collective lines")?;
    let only_send_deps = only_send_deps(&mut c)?;
    let ps_per_unit = if version == Version::Vef3 {
        c.space("onlySendDeps")?;
        let start = c.pos();
        let unit = c.u64("the picoseconds per unit of time")?;
        if unit == 0 {
            return Err(Fault {
                at: start,
                expected: Expected::Text("at least 1 picosecond per unit of time"),
            });
        }
        c.line_end("the picoseconds per unit of time")?;
        unit
    } else {
        c.line_end("onlySendDeps")?;
        1000
    };
    if tasks == 0 {
        return Err(Fault {
            at: c.pos().min(if version == Version::Vef3 { 5 } else { 4 }),
            expected: Expected::Text("at least 1 task"),
        });
    }
    let header = Header {
        version,
        tasks,
        messages,
        comms,
        collectives,
        members,
        only_send_deps,
        ps_per_unit,
    };
    Ok((header, c.pos()))
}

/// The magic at the start of `buf`.
fn version(c: &mut Cursor<'_>, buf: &[u8]) -> Result<Version, Fault> {
    if buf.starts_with(b"VEF3 ") {
        c.skip(5);
        Ok(Version::Vef3)
    } else if buf.starts_with(b"VEF ") {
        c.skip(4);
        Ok(Version::Vef)
    } else {
        if b"VEF3 ".starts_with(buf) {
            // Too short to tell.
            c.skip(buf.len());
        }
        c.fault(MAGIC)
    }
}

fn only_send_deps(c: &mut Cursor<'_>) -> Result<bool, Fault> {
    let flags: [(&[u8], bool); 4] = [
        (b"0", false),
        (b"1", true),
        (b"FALSE", false),
        (b"TRUE", true),
    ];
    let flag = flags.iter().find(|(text, _)| c.rest().starts_with(text));
    let Some(&(text, only_send_deps)) = flag else {
        return c.fault(Expected::Text(
            "`0`, `1`, `TRUE` or `FALSE` for onlySendDeps",
        ));
    };
    c.skip(text.len());
    Ok(only_send_deps)
}

/// The line of communicator `index` and its length with the line feed; `room` bounds the
/// number of its members.
pub(super) fn comm(
    buf: &[u8],
    index: u32,
    count: u32,
    room: usize,
) -> Result<(Comm, usize), Fault> {
    debug_assert!(index < count);
    let mut c = Cursor::new(buf);
    if !c.eat(b'C') {
        return c.fault(Expected::Text("a communicator line, `C<number> task …`"));
    }
    if c.u32("the communicator's number")? != index {
        return Err(Fault {
            at: 0,
            expected: Expected::Text("communicators numbered from `C0` upwards without a gap"),
        });
    }
    let mut members = Vec::new();
    while c.eat(b' ') {
        if members.len() == room {
            return c.fault(Expected::Text(
                "at most 2^24 members of all communicators together",
            ));
        }
        members.push(c.u32("a task of the communicator")?);
    }
    if members.is_empty() {
        return c.fault(Expected::Space("the communicator's number"));
    }
    c.line_end("the communicator's tasks")?;
    let members = members.into();
    Ok((Comm { members }, c.pos()))
}

#[cfg(test)]
mod tests {
    use super::super::fast;
    use super::record;
    use proptest::prelude::*;

    proptest! {
        /// The careful parser accepts every record of the hot path, with the same result. A
        /// record that the hot path leaves is broken, incomplete or has a number of 20 digits.
        #[test]
        fn the_hot_path_and_the_careful_parser_agree(
            line in "(G?[0-9]{1,3} C?[0-9]{1,11} [0-9] ([0-9]{1,20} ){1,6}(-1|G?[0-9]{1,20})\n|\
                     [0-9G C\n-]{0,40})",
        ) {
            let careful = record(line.as_bytes());
            match fast::record(line.as_bytes()) {
                Some(fast) => prop_assert_eq!(careful, Ok(fast)),
                None => {
                    let long = line.split(|c: char| !c.is_ascii_digit()).any(|n| n.len() > 19);
                    prop_assert!(careful.is_err() || long, "{:?}", line);
                }
            }
        }
    }
}
