//! The lines of a log.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use flitwise_base::place::{Place, Problem};
use flitwise_base::stop::Stop;
use serde::Deserialize;

use crate::error::Error;
use crate::limits::MAX_CHAKRA_NODE;
use crate::member::{Member, Open};

/// An operation that a process has completed.
#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub header: Header<'a>,
    #[serde(borrow)]
    pub metadata: Metadata<'a>,
    #[serde(borrow)]
    pub coll_perf: Option<Collective<'a>>,
    #[serde(borrow)]
    pub p2p_perf: Option<Message<'a>>,
}

/// The communicator, and the rank of the process in it.
#[derive(Debug, Deserialize)]
pub(super) struct Header<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    pub rank: u32,
    pub n_ranks: u32,
}

/// The process, and the time at which it wrote the line, in microseconds.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub hostname: Cow<'a, str>,
    pub pid: u64,
    pub dump_timestamp_us: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Collective<'a> {
    #[serde(borrow)]
    pub coll: Cow<'a, str>,
    pub coll_sn: u64,
    pub coll_msg_size_bytes: u64,
    pub coll_exec_time_us: u64,
    #[serde(default)]
    pub event_trace_ts: Times,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub p2p: Cow<'a, str>,
    pub p2p_sn: u64,
    pub p2p_peer: u32,
    pub p2p_msg_size_bytes: u64,
    pub p2p_exec_time_us: u64,
    #[serde(default)]
    pub event_trace_ts: Times,
}

/// When an operation ended, in microseconds; only in verbose logs.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Times {
    pub coll_stop_ts: Option<u64>,
    pub p2p_stop_ts: Option<u64>,
}

/// Lines between two checks whether the user stops the reading.
const ASK_EVERY: u64 = 1 << 12;

/// Gives the records of a log to `take`, each with the offset of its line, which may find something wrong with it.
pub(super) fn read(
    log: &Member,
    open: &Open,
    stop: Stop<'_>,
    mut take: impl FnMut(u64, &Record<'_>) -> Result<(), String>,
) -> Result<(), Error> {
    let io = |e| Error::io(log.name(), e);
    let (_, bytes) = log.unpacked(open).map_err(io)?;
    let mut bytes = BufReader::new(bytes);
    let (mut at, mut line) = (0, Vec::new());
    for number in 1_u64.. {
        if number.is_multiple_of(ASK_EVERY) {
            stop.check()?;
        }
        line.clear();
        let limited = &mut bytes.by_ref().take(MAX_CHAKRA_NODE as u64);
        let size = limited.read_until(b'\n', &mut line).map_err(io)?;
        if size == 0 {
            return Ok(());
        }
        let wrong = |message: String| {
            Err(Error::broken(Problem {
                path: Arc::clone(log.name()),
                place: Some(Place::Line(number)),
                message,
            }))
        };
        if !line.iter().all(u8::is_ascii_whitespace) {
            let taken = match serde_json::from_slice(&line) {
                Ok(record) => take(at, &record),
                Err(e) => Err(format!(
                    "is no record of NCCL Inspector ({e}); copy the log again"
                )),
            };
            if let Err(problem) = taken {
                return wrong(problem);
            }
        }
        at += size as u64;
    }
    Ok(())
}
