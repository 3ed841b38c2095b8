//! Writes calls of MPI as a DUMPI trace: the calls of MPI-2, in a tar archive with a file for each rank.
//!
//! Times are of the wall clock, on which no call takes time: between two calls is what the rank computes. Sizes are bytes, or
//! larger elements where a count would not fit. All communicators are made at the start, by `MPI_Comm_split`
//! ([`communicators`]).

mod collective;
mod communicators;
#[cfg(test)]
mod tests;

use self::communicators::Communicators;
use super::graph::Losses;
use super::ideal::Calcs;
use super::slice::{Step, Timed};
use super::{Written, check_size, told};
use crate::mpi::{Call as Does, CommId, RequestId, SendMode, Tag, Until};
use crate::program::{Action, RankId, StreamId};
use crate::trace::{Reading, TraceFile};
use anyhow::{Context, bail, ensure};
use flitwise_base::stop::Stop;
use flitwise_formats::dumpi::call::{
    Init, Irecv, Isend, Nothing, OneRequest, Probe, Recv, Send, Wait, Waitall,
};
use flitwise_formats::dumpi::handle::{ANY_SOURCE, ANY_TAG};
use flitwise_formats::dumpi::{
    Archive, Call, Comm, Datatype, Elements, List, Request, Span, Statuses, Writer,
};
use hashbrown::HashMap;
use std::io::Write;
use std::path::Path;

/// The cure where DUMPI lacks something.
const INSTEAD: &str = "convert to vef3, goal or ti instead";
/// The formats that have calls of MPI.
const SOURCES: &str = "recordings, DUMPI, OTF2 and TI traces become DUMPI";
/// Most seconds from a call to the next: the format has the lowest 16 bits of a second.
const MAX_GAP_S: u64 = 1 << 15;
const PS_PER_NS: u64 = 1000;

/// Writes the trace `file` of MPI calls, which messages call `name`, as a tar archive of a DUMPI trace.
///
/// # Errors
/// If the trace has no calls of MPI, or calls that MPI-2 lacks; if it can't be read, has too many operations, or does not end on an
/// ideal network; or if `out` fails.
pub fn to_dumpi(
    file: &dyn TraceFile,
    name: &Path,
    reading: &Reading,
    out: &mut impl Write,
) -> anyhow::Result<Written> {
    let named = || name.display().to_string();
    let steps = steps(file, &named(), reading)?;
    // A receive has the size of its message.
    let timed = Timed::of(file, name, &steps, Calcs::Last)?;
    let communicators = Communicators::of(&steps);
    let mut losses = Losses::default();
    let mut archive = Archive::new(out, file.ranks())?;
    let mut written = Written {
        ranks: file.ranks(),
        ..Written::default()
    };
    for (rank, steps) in (0..).zip(&steps) {
        let calls = Calls::new(RankId::new(rank), &communicators);
        let mut calls = calls.with_context(|| format!("{}: rank {rank}", named()))?;
        for (at, step) in steps.iter().enumerate() {
            let taken = timed.taken(rank, at, &step.op);
            let bytes = taken.map_or(0, |taken| taken.bytes);
            lost(step, &mut losses);
            calls
                .step(step, bytes, &mut written)
                .with_context(|| format!("{}: rank {rank}, {}", named(), step.op.place))?;
        }
        let calls = calls.finish();
        let calls = calls.with_context(|| format!("{}: rank {rank}", named()))?;
        written.records += calls.calls();
        archive.rank(calls)?;
    }
    archive.finish()?.flush()?;
    written.losses = losses.lines();
    told(file, reading, &mut written);
    Ok(written)
}

/// Counts the parts of a step that DUMPI lacks.
fn lost(step: &Step, losses: &mut Losses) {
    losses.add(
        u64::from(!step.op.compute_ps.is_multiple_of(PS_PER_NS)),
        "computations end at whole nanoseconds",
    );
    if let Some(Does::Send { nic: 1.., .. }) = step.op.action.call() {
        losses.add(1, "messages lose the number of their NIC");
    }
}

/// The operations of all ranks.
fn steps(file: &dyn TraceFile, name: &str, reading: &Reading) -> anyhow::Result<Vec<Vec<Step>>> {
    check_size(file).with_context(|| name.to_owned())?;
    ensure!(
        file.schedule(reading)?.is_none(),
        "{name}: is a schedule in place of calls of MPI; {SOURCES}"
    );
    let mut program = file.open(reading, Stop::never())?;
    let mut all = Vec::new();
    for rank in RankId::all(file.ranks()) {
        ensure!(
            program.streams(rank) == 1,
            "{name}: rank {rank} has several threads of operations; a rank of a DUMPI trace makes one call after the other"
        );
        let mut steps = Vec::new();
        while let Some(op) = program.next(rank, StreamId::new(0))? {
            if let Action::Send { .. } | Action::Collective(..) = op.action {
                bail!("{name}: has messages in place of calls of MPI; {SOURCES}");
            }
            steps.push(Step {
                own_ps: [op.compute_ps; 2],
                op,
                bytes: 0,
            });
        }
        all.push(steps);
    }
    Ok(all)
}

/// The calls of a rank.
struct Calls<'a> {
    rank: RankId,
    communicators: &'a Communicators,
    /// The numbers that this file has for communicators.
    handles: HashMap<CommId, Comm>,
    to: Writer,
    /// Computation so far, in picoseconds, and when the last call was, in nanoseconds.
    now_ps: u64,
    last_ns: u64,
    /// The requests under way.
    requests: HashMap<RequestId, Request>,
    made: i32,
}

impl<'a> Calls<'a> {
    fn new(rank: RankId, communicators: &'a Communicators) -> anyhow::Result<Self> {
        let (splits, handles) = communicators.of_rank(rank)?;
        let mut calls = Self {
            rank,
            communicators,
            handles,
            to: Writer::new(),
            now_ps: 0,
            last_ns: 0,
            requests: HashMap::new(),
            made: Request::NULL.0,
        };
        calls.call(&Call::Init(Init {
            argc_argv: List::NONE,
        }))?;
        for split in splits {
            calls.call(&Call::CommSplit(split))?;
        }
        Ok(calls)
    }

    /// A call after the computation so far.
    fn call(&mut self, call: &Call<'_>) -> anyhow::Result<()> {
        let ns = self.now_ps / PS_PER_NS;
        let gap_s = (ns - self.last_ns) / 1_000_000_000;
        ensure!(
            gap_s < MAX_GAP_S,
            "computes for {gap_s} s, but DUMPI cannot tell {MAX_GAP_S} s or more between two calls: {INSTEAD}"
        );
        self.last_ns = ns;
        let now = i64::try_from(ns).context("the time is beyond 64 bits")?;
        self.to.call(
            call,
            Span {
                start: now,
                stop: now,
            },
        );
        Ok(())
    }

    /// Ends the calls.
    fn finish(mut self) -> anyhow::Result<Writer> {
        self.call(&Call::Finalize(Nothing {}))?;
        Ok(self.to)
    }

    /// Makes the call of a step, which receives a message of `bytes` if it receives one.
    fn step(&mut self, step: &Step, bytes: u64, written: &mut Written) -> anyhow::Result<()> {
        let op = &step.op;
        self.now_ps = self.now_ps.saturating_add(op.compute_ps);
        let Some(call) = op.action.call() else {
            return Ok(());
        };
        match call {
            Does::Send { bytes, .. } => {
                written.messages += 1;
                written.bytes = written.bytes.saturating_add(*bytes);
                self.sends(call)
            }
            Does::Receive { .. } | Does::Probe { .. } => self.receives(call, bytes),
            Does::Collective {
                comm,
                contribution,
                request,
            } => {
                let (id, place) = self.place(comm.id, self.rank)?;
                written.members += 1;
                written.collectives += u64::from(place == 0);
                ensure!(
                    request.is_none(),
                    "DUMPI has the calls of MPI-2, and so no collective that does not block, nor several threads in collectives at once: \
                     {INSTEAD}"
                );
                let size = comm.members.len() as i32;
                collective::call(contribution, (id, place, size), |call| self.call(call))
            }
            Does::Wait { requests, until } => self.waits(requests, *until),
            Does::Free { requests } => {
                for request in requests {
                    if let Some(request) = self.requests.remove(request) {
                        self.call(&Call::RequestFree(OneRequest { request }))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The number that this file has for a communicator.
    fn handle(&self, comm: CommId) -> anyhow::Result<Comm> {
        let handle = self.handles.get(&comm).copied();
        handle.context("has a call on a communicator of other ranks")
    }

    /// The same, and the place of a rank in it.
    fn place(&self, comm: CommId, member: RankId) -> anyhow::Result<(Comm, i32)> {
        Ok((self.handle(comm)?, self.communicators.place(comm, member)?))
    }

    /// A number for a request.
    fn request(&mut self, request: RequestId) -> anyhow::Result<Request> {
        self.made = self.made.checked_add(1).context("has 2^31 requests")?;
        let number = Request(self.made);
        self.requests.insert(request, number);
        Ok(number)
    }

    fn sends(&mut self, call: &Does) -> anyhow::Result<()> {
        let Does::Send {
            to,
            comm,
            tag: Tag(tag),
            bytes,
            mode,
            request,
            ..
        } = *call
        else {
            return Ok(());
        };
        let (comm, dest) = self.place(comm, to)?;
        let (count, datatype) = elements(bytes)?;
        let Some(request) = request else {
            let send = Send {
                count,
                datatype,
                dest,
                tag,
                comm,
            };
            return self.call(&match mode {
                SendMode::Standard => Call::Send(send),
                SendMode::Synchronous => Call::Ssend(send),
                SendMode::Buffered => Call::Bsend(send),
            });
        };
        let send = Isend {
            count,
            datatype,
            dest,
            tag,
            comm,
            request: self.request(request)?,
        };
        self.call(&match mode {
            SendMode::Standard => Call::Isend(send),
            SendMode::Synchronous => Call::Issend(send),
            SendMode::Buffered => Call::Ibsend(send),
        })
    }

    fn receives(&mut self, call: &Does, bytes: u64) -> anyhow::Result<()> {
        let named = |from: Option<RankId>, comm: CommId| match from {
            Some(from) => self.place(comm, from),
            None => Ok((self.handle(comm)?, ANY_SOURCE)),
        };
        let tagged = |tag: Option<Tag>| tag.map_or(ANY_TAG, |Tag(tag)| tag);
        let (count, datatype) = elements(bytes)?;
        match *call {
            Does::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let ((comm, source), tag) = (named(from, comm)?, tagged(tag));
                let Some(request) = request else {
                    return self.call(&Call::Recv(Recv {
                        count,
                        datatype,
                        source,
                        tag,
                        comm,
                        status: Statuses::NONE,
                    }));
                };
                let request = self.request(request)?;
                self.call(&Call::Irecv(Irecv {
                    count,
                    datatype,
                    source,
                    tag,
                    comm,
                    request,
                }))
            }
            Does::Probe { from, comm, tag } => {
                let ((comm, source), tag) = (named(from, comm)?, tagged(tag));
                self.call(&Call::Probe(Probe {
                    source,
                    tag,
                    comm,
                    status: Statuses::NONE,
                }))
            }
            _ => Ok(()),
        }
    }

    fn waits(&mut self, requests: &[RequestId], until: Until) -> anyhow::Result<()> {
        let numbers = requests.iter().filter_map(|one| self.requests.remove(one));
        let requests: Vec<Request> = numbers.collect();
        ensure!(
            until == Until::All || requests.len() < 2,
            "DUMPI records which request a wait for any of several found, and this trace does not say: {INSTEAD}"
        );
        match requests[..] {
            [] => Ok(()),
            [request] => {
                let status = Statuses::NONE;
                self.call(&Call::Wait(Wait { request, status }))
            }
            _ => {
                let count = requests.len() as i32;
                let requests: Elements<Request> = requests.into_iter().collect();
                self.call(&Call::Waitall(Waitall {
                    count,
                    requests: requests.array(),
                    statuses: Statuses::NONE,
                }))
            }
        }
    }
}

/// A payload as a number of elements.
fn elements(bytes: u64) -> anyhow::Result<(i32, Datatype)> {
    let (counts, datatype) = all_elements(&[bytes])?;
    Ok((counts.first().copied().unwrap_or(0), datatype))
}

/// Payloads as numbers of elements of one datatype: bytes, or larger ones if a count of bytes would not fit into 31 bits.
fn all_elements(sizes: &[u64]) -> anyhow::Result<(Vec<i32>, Datatype)> {
    for datatype in [Datatype::BYTE, Datatype::DOUBLE, Datatype::LONG_DOUBLE] {
        let size = datatype.predefined().unwrap_or(1);
        let count = |&bytes: &u64| {
            i32::try_from(bytes / size)
                .ok()
                .filter(|_| bytes % size == 0)
        };
        if let Some(counts) = sizes.iter().map(count).collect() {
            return Ok((counts, datatype));
        }
    }
    bail!(
        "has payloads of 2 GiB or more that are no multiple of 8 or 16 bytes below 2^31 of them: {INSTEAD}"
    )
}
