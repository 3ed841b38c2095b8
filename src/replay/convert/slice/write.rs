//! The operations that remain as the calls of a recording.

use super::super::Written;
use super::Step;
use super::collective::{Members, called};
use super::course::Timed;
use super::select::Window;
use crate::mpi::{Call as Does, CommId, RequestId, SendMode, Tag};
use crate::program::{Action, Contribution, RankId, RegionId};
use crate::trace::ComputeTime;
use anyhow::Context;
use flitwise_formats::recording::{
    Archive, Call, Clock, Communicator, Completion, Data, End, Function, How, MOST_DONE, Message,
    Mode, Numbers, Outcome, Peer, Reason, Reference, References, Set, Times, Writer,
};
use hashbrown::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

/// The ids in each process of the communicators that every process has.
const WORLD: u32 = 0;
const SELF: u32 = 1;

/// A recording that becomes one of its parts.
pub(super) struct Recording<'a> {
    pub set: &'a Set,
    pub clock: ComputeTime,
    pub regions: &'a [Arc<str>],
    /// The ranks that remain.
    pub ranks: Vec<u32>,
    pub comms: HashMap<CommId, Members>,
    pub window: &'a Window,
}

impl Recording<'_> {
    /// Writes the steps of the ranks that remain.
    pub fn write(
        &self,
        kept: &[Vec<Step>],
        timed: &Timed,
        out: &mut impl Write,
    ) -> anyhow::Result<Written> {
        let clock = match self.clock {
            ComputeTime::Wall => Clock::Wall,
            ComputeTime::Cpu => Clock::Cpu,
        };
        let whole = self.set.description();
        let run = self.run(whole.run());
        let description = whole.of_part(&self.ranks, run, clock);
        let mut archive = Archive::new(out, &description)?;
        let mut written = Written {
            ranks: self.ranks.len() as u32,
            ..Written::default()
        };
        let mut collectives = HashSet::new();
        for (number, (&rank, steps)) in (0..).zip(self.ranks.iter().zip(kept)) {
            let reader = self.set.reader(rank)?;
            let mut header = *reader.header().context("a rank without a stream")?;
            (header.rank, header.ranks) = (number, written.ranks);
            (header.thread, header.run) = (0, run);
            let mut stream = Stream::new(self, number, Writer::new(&header));
            for (at, step) in steps.iter().enumerate() {
                let computes_ps = timed.computes_ps(number, at, &step.op);
                stream.step(step, computes_ps, &mut written, &mut collectives)?;
            }
            archive.stream(stream.finish(&mut written))?;
        }
        archive.finish()?.flush()?;
        written.collectives = collectives.len() as u64;
        Ok(written)
    }

    /// The number of the slice: the same for the same part of the same recording.
    fn run(&self, mut run: [u8; 16]) -> [u8; 16] {
        const PRIME: u64 = 0x0100_0000_01b3;
        let (from, to) = self.window.ends();
        let ends = [from, to.unwrap_or(u64::MAX)];
        let ranks = self.ranks.iter().map(|&rank| rank.into());
        let mix = |hash: u64, number: u64| (hash ^ number).wrapping_mul(PRIME).rotate_left(29);
        let hash = ends.into_iter().chain(ranks).fold(PRIME, mix);
        run.iter_mut()
            .zip(hash.to_le_bytes())
            .for_each(|(to, by)| *to ^= by);
        run
    }
}

/// The stream of a rank.
struct Stream<'a> {
    recording: &'a Recording<'a>,
    rank: RankId,
    to: Writer,
    /// Ids in this process.
    comms: HashMap<CommId, u32>,
    /// The requests under way, by their numbers.
    requests: HashMap<RequestId, u64>,
    made: u64,
    /// The computation since the last call, by the clock of the slice and by the other one, in picoseconds.
    own_ps: [u64; 2],
    cpu_ns: u64,
    /// Collectives on each communicator.
    counted: super::course::Counted,
}

impl<'a> Stream<'a> {
    fn new(recording: &'a Recording<'a>, rank: u32, to: Writer) -> Self {
        let mut stream = Self {
            recording,
            rank: RankId::new(rank),
            to,
            comms: HashMap::new(),
            requests: HashMap::new(),
            made: 0,
            own_ps: [0; 2],
            cpu_ns: 0,
            counted: Default::default(),
        };
        let world: Numbers = (0..recording.ranks.len() as i64).collect();
        stream.describe((WORLD, WORLD, 0), "MPI_Init", &world);
        let own: Numbers = [i64::from(rank)].into_iter().collect();
        stream.describe((SELF, SELF, 0), "MPI_Init", &own);
        stream.comms.insert(CommId::new(0), WORLD);
        stream.call("MPI_Init", &Call::Init(0));
        stream
    }

    fn describe(&mut self, (id, parent, nth): (u32, u32, u64), maker: &str, members: &Numbers) {
        self.to.communicator(&Communicator {
            id,
            parent,
            nth,
            maker: &Function::named(maker),
            members: members.sequence(),
            others: None,
            neighbours: None,
        });
    }

    /// A call after the computation so far.
    fn call(&mut self, name: &str, call: &Call<'_>) {
        let [own, other] = std::mem::take(&mut self.own_ps).map(|ps| ps / 1000);
        let (cpu_ns, wall_ns) = match self.recording.clock {
            ComputeTime::Cpu => (own, other),
            ComputeTime::Wall => (other, own),
        };
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
        let inside_ns = 0;
        self.to.call(
            name,
            call,
            1,
            &Times {
                cpu_ns,
                wall_ns,
                inside_ns,
            },
        );
    }

    /// Ends the stream.
    fn finish(mut self, written: &mut Written) -> Writer {
        self.call("MPI_Finalize", &Call::Finalize);
        self.to.end(&End {
            thread: 0,
            reason: Reason::Finalised,
            process_cpu_ns: self.cpu_ns,
            thread_cpu_ns: self.cpu_ns,
            threads: 1,
        });
        written.records += self.to.calls();
        self.to
    }

    /// The id of a communicator, which it describes before its first use.
    fn comm(&mut self, comm: CommId) -> u32 {
        if let Some(&id) = self.comms.get(&comm) {
            return id;
        }
        let id = self.comms.len() as u32 + SELF;
        self.comms.insert(comm, id);
        let (maker, members) = match self.recording.comms.get(&comm) {
            Some(members) => {
                let ranks = members.ranks.iter().map(|rank| i64::from(rank.get()));
                ("MPI_Comm_split", ranks.collect())
            }
            // One without collectives.
            None => (
                "MPI_Comm_dup",
                (0..self.recording.ranks.len() as i64).collect(),
            ),
        };
        self.describe((id, WORLD, comm.get().into()), maker, &members);
        id
    }

    /// A message from or to a rank.
    fn message(
        &mut self,
        rank: RankId,
        comm: CommId,
        tag: Tag,
        bytes: u64,
    ) -> anyhow::Result<Message> {
        let place = match self.recording.comms.get(&comm) {
            Some(members) => members
                .place(rank)
                .context("a message beyond its communicator")?,
            None => rank.get(),
        };
        Ok(Message {
            comm: self.comm(comm),
            peer: Peer::Rank(place),
            tag: Some(tag.0.cast_unsigned()),
            data: Data {
                count: bytes,
                size: 1,
            },
        })
    }

    fn how(&mut self, request: Option<RequestId>) -> How {
        match request {
            Some(request) => {
                self.requests.insert(request, self.made);
                self.made += 1;
                How::Later
            }
            None => How::Blocking,
        }
    }

    fn step(
        &mut self,
        step: &Step,
        computes_ps: u64,
        written: &mut Written,
        collectives: &mut HashSet<(CommId, u32)>,
    ) -> anyhow::Result<()> {
        let [own, other] = step.own_ps;
        let spent = [computes_ps, beside(computes_ps, own, other)];
        self.own_ps
            .iter_mut()
            .zip(spent)
            .for_each(|(sum, ps)| *sum = sum.saturating_add(ps));
        match &step.op.action {
            Action::EnterRegion(region) => self.mark(*region, 1),
            Action::LeaveRegion(region) => self.mark(*region, -1),
            Action::Mpi(call) => {
                match &**call {
                    Does::Send { bytes, .. } => {
                        written.messages += 1;
                        written.bytes = written.bytes.saturating_add(*bytes);
                    }
                    Does::Collective { comm, .. } => {
                        written.members += 1;
                        collectives.insert(self.counted.next(comm.id));
                    }
                    _ => {}
                }
                self.makes(call, step.bytes)?;
            }
            // Its computation is before the next call.
            _ => {}
        }
        Ok(())
    }

    fn mark(&mut self, region: RegionId, level: i64) {
        let regions = self.recording.regions;
        let name = regions.get(region.index()).map_or("", |name| name);
        self.call("MPI_Pcontrol", &Call::Control(level, name));
    }

    /// Makes a call, which receives a message of this size if it receives one.
    fn makes(&mut self, call: &Does, bytes: u64) -> anyhow::Result<()> {
        match call {
            Does::Send { .. } => self.sends(call),
            Does::Receive { .. } | Does::Probe { .. } => self.receives(call, bytes),
            Does::Collective {
                comm,
                contribution,
                request,
            } => self.takes_part(comm.id, contribution, *request),
            Does::Wait { requests, .. } => {
                for some in requests.chunks(MOST_DONE) {
                    let codes = self.codes(some);
                    let name = if some.len() == 1 {
                        "MPI_Wait"
                    } else {
                        "MPI_Waitall"
                    };
                    let done = Completion::all(codes.sequence());
                    self.call(name, &Call::Complete(done));
                }
                Ok(())
            }
            Does::Free { requests } => {
                for request in requests {
                    let codes = self.codes(&[*request]);
                    let request = References::of(codes.sequence());
                    self.call("MPI_Request_free", &Call::Free(request));
                }
                Ok(())
            }
        }
    }

    fn sends(&mut self, call: &Does) -> anyhow::Result<()> {
        let Does::Send {
            to,
            comm,
            tag,
            bytes,
            mode,
            request,
            ..
        } = *call
        else {
            return Ok(());
        };
        let message = self.message(to, comm, tag, bytes)?;
        let (mode, names) = match mode {
            SendMode::Standard => (Mode::Standard, ["MPI_Send", "MPI_Isend"]),
            SendMode::Synchronous => (Mode::Synchronous, ["MPI_Ssend", "MPI_Issend"]),
            SendMode::Buffered => (Mode::Buffered, ["MPI_Bsend", "MPI_Ibsend"]),
        };
        let how = self.how(request);
        let name = names[usize::from(request.is_some())];
        self.call(name, &Call::Send(message, mode, how));
        Ok(())
    }

    fn receives(&mut self, call: &Does, bytes: u64) -> anyhow::Result<()> {
        match *call {
            Does::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let message = self.named(from, comm, tag, bytes)?;
                let how = self.how(request);
                let name = ["MPI_Recv", "MPI_Irecv"][usize::from(request.is_some())];
                self.call(name, &Call::Receive(message, how, Outcome::default()));
            }
            Does::Probe { from, comm, tag } => {
                let message = Message {
                    data: Data::default(),
                    ..self.named(from, comm, tag, bytes)?
                };
                let found = Some(Outcome {
                    bytes: Some(bytes),
                    ..Outcome::default()
                });
                let takes = false;
                let probe = Call::Probe {
                    message,
                    found,
                    takes,
                };
                self.call("MPI_Probe", &probe);
            }
            _ => {}
        }
        Ok(())
    }

    fn takes_part(
        &mut self,
        comm: CommId,
        contribution: &Contribution,
        request: Option<RequestId>,
    ) -> anyhow::Result<()> {
        let members = self.recording.comms.get(&comm);
        let me = members.and_then(|members| members.place(self.rank));
        let me = me.context("a collective of other ranks")?;
        let id = self.comm(comm);
        let how = self.how(request);
        called(contribution, (id, me), how, |name, collective| {
            let name = match how {
                How::Blocking => format!("MPI_{}{}", name[..1].to_uppercase(), &name[1..]),
                _ => format!("MPI_I{name}"),
            };
            self.call(&name, &Call::Collective(*collective));
        })
    }

    /// The message that a receive or a probe takes.
    fn named(
        &mut self,
        from: Option<RankId>,
        comm: CommId,
        tag: Option<Tag>,
        bytes: u64,
    ) -> anyhow::Result<Message> {
        let (from, tag) = from.zip(tag).context("a receive of an unknown message")?;
        self.message(from, comm, tag, bytes)
    }

    /// The codes of requests, which no later call names.
    fn codes(&mut self, requests: &[RequestId]) -> Numbers {
        let numbers = requests.iter().filter_map(|one| self.requests.remove(one));
        let code = |n: u64| Reference::Last((self.made - 1).saturating_sub(n)).code();
        numbers.map(|n| code(n).cast_signed()).collect()
    }
}

/// The computation by the other clock, where a rank computed `own` by the clock of the slice, and `other` by that one, but computes
/// `now` in the slice: a wait for what does not remain counts by both, and the window may begin within the computation.
pub(super) fn beside(now: u64, own: u64, other: u64) -> u64 {
    match now.checked_sub(own) {
        Some(more) => other.saturating_add(more),
        None => (u128::from(other) * u128::from(now) / u128::from(own)) as u64,
    }
}
