//! A rank of a job: its streams, and what has happened to it. Nothing here belongs to another
//! rank.

use super::arrived::Arrived;
use super::key::Key;
use super::members::{Carrier, Member, Members, Problem};
use super::mpi::Endpoint;
use super::program::{After, Event, Label, Op, Place, RankId, RegionId, StreamId};
use flitwise_formats::IdSet;

/// State of one rank.
#[derive(Debug)]
pub(super) struct Rank {
    pub id: RankId,
    /// The first stream; most ranks have no other.
    first: Stream,
    more: Vec<Stream>,
    /// Labels of operations that started and that are done, if the program has any.
    labels: Option<Box<Labels>>,
    /// The collectives that it has entered.
    pub members: Members,
    /// Its part of the MPI layer, once it makes a call.
    endpoint: Option<Box<Endpoint>>,
    /// Time of the last event of the rank in picoseconds.
    pub last_ps: u64,
    /// The computations of its streams.
    computed: Computed,
    /// The time without one that has counted as a wait, from time 0 on, in picoseconds.
    counted_ps: u64,
}

/// The time in which at least one of several computations is under way, in picoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Computed {
    /// Those under way.
    open: u32,
    /// When the latest began or ended.
    since_ps: u64,
    /// All until then.
    before_ps: u64,
}

impl Computed {
    /// All of it up to `ps`.
    fn until(&self, ps: u64) -> u64 {
        match self.open {
            0 => self.before_ps,
            _ => (self.before_ps).saturating_add(ps.saturating_sub(self.since_ps)),
        }
    }

    fn begins(&mut self, ps: u64) {
        (self.before_ps, self.since_ps) = (self.until(ps), ps);
        self.open += 1;
    }

    fn ends(&mut self, ps: u64) {
        (self.before_ps, self.since_ps) = (self.until(ps), ps);
        self.open = self.open.saturating_sub(1);
    }
}

#[derive(Debug, Default)]
struct Labels {
    started: IdSet,
    done: IdSet,
}

/// A stream of operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    pub state: State,
    /// The current operation: computing, waiting or not done. While it waits, it names only
    /// the events that have not happened.
    pub op: Option<Op>,
    /// Operations taken from the program so far.
    pub records: u64,
    /// Its computations, and the combining of data in the collectives that it entered.
    computed: Computed,
    /// Time that it is busy after the messages that it received, before its next operation.
    pub busy_ps: u64,
    /// When it last began to wait, in picoseconds.
    pub waits_since_ps: u64,
    /// The time until then in which no stream of its rank computed.
    idle_before_ps: u64,
    /// The rank whose message ended the last thing that it waited for.
    pub woken_by: Option<RankId>,
    /// When that was, in picoseconds.
    pub woken_ps: u64,
    /// The regions that it is in, the innermost last.
    pub regions: Vec<RegionId>,
}

impl Stream {
    /// Leaves the latest entry of `region`.
    pub(super) fn leave(&mut self, region: RegionId) {
        if let Some(at) = self.regions.iter().rposition(|entered| *entered == region) {
            self.regions.remove(at);
        }
    }

    /// Notes that something it waits for happened at `ps`, by a message of `peer`. Of what happens at one time the lowest
    /// peer counts, whatever the order.
    pub(super) fn note_peer(&mut self, ps: u64, peer: Option<RankId>) {
        self.woken_by = if self.woken_ps == ps {
            self.woken_by.min(peer)
        } else {
            peer
        };
        self.woken_ps = ps;
    }
}

/// The state of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// The previous operation is done; an event will take the next.
    #[default]
    Between,
    /// The operation waits for the events that it names.
    Waiting,
    /// An event will carry out the operation.
    Computing,
    /// The operation is not done: a send, a receive, a collective.
    Blocked,
    /// The operation waits for requests.
    InWait,
    /// The operation waits for requests, and an event will try the wait again.
    Retrying,
    /// The program has nothing for it now, and will wake it.
    Paused,
    /// The program is over.
    Ended,
}

impl Rank {
    /// A rank at the start of its `streams` streams, at `ps`.
    pub(super) fn new(id: RankId, streams: u32, ps: u64) -> Self {
        Self {
            id,
            first: Stream::default(),
            more: vec![Stream::default(); streams.max(1) as usize - 1],
            labels: None,
            members: Members::default(),
            endpoint: None,
            last_ps: ps,
            computed: Computed::default(),
            counted_ps: 0,
        }
    }

    /// `stream` computes from `ps` on.
    pub(super) fn computes(&mut self, stream: StreamId, ps: u64) {
        self.computed.begins(ps);
        self.stream_mut(stream).computed.begins(ps);
    }

    /// `stream` has computed until `ps`.
    pub(super) fn has_computed(&mut self, stream: StreamId, ps: u64) {
        self.computed.ends(ps);
        self.stream_mut(stream).computed.ends(ps);
    }

    /// The time until `ps` in which no stream computes.
    fn idle_ps(&self, ps: u64) -> u64 {
        ps.saturating_sub(self.computed.until(ps))
    }

    /// Notes that `stream` waits from `ps` on.
    pub(super) fn waits(&mut self, stream: StreamId, ps: u64) {
        let idle_ps = self.idle_ps(ps);
        let stream = self.stream_mut(stream);
        (stream.waits_since_ps, stream.idle_before_ps) = (ps, idle_ps);
    }

    /// Returns how long the rank waited while `stream` waited until `ps`: no stream computed, and no wait that ended
    /// before counts that time.
    pub(super) fn waited_ps(&mut self, stream: StreamId, ps: u64) -> u64 {
        let idle_ps = self.idle_ps(ps);
        let before_ps = self.stream(stream).idle_before_ps.max(self.counted_ps);
        self.counted_ps = self.counted_ps.max(idle_ps);
        idle_ps.saturating_sub(before_ps)
    }

    /// As [`Members::proceed`]. To combine data is a computation of the stream that entered the collective.
    pub(super) fn proceed(
        &mut self,
        number: u32,
        carrier: &mut Carrier<'_, '_>,
    ) -> Result<Option<Member>, (Place, Problem)> {
        let before = self.members.combining(number);
        let proceeded = self.members.proceed(number, carrier);
        let ps = carrier.context.ps;
        if let Some(stream) = before {
            self.stream_mut(stream).computed.ends(ps);
        }
        if let Some(stream) = self.members.combining(number) {
            self.stream_mut(stream).computed.begins(ps);
        }
        proceeded
    }

    /// Notes an event of the rank at `ps`.
    pub(super) fn touch(&mut self, ps: u64) {
        self.last_ps = self.last_ps.max(ps);
    }

    pub(super) fn stream(&self, stream: StreamId) -> &Stream {
        match stream.index() {
            0 => &self.first,
            at => &self.more[at - 1],
        }
    }

    pub(super) fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        match stream.index() {
            0 => &mut self.first,
            at => &mut self.more[at - 1],
        }
    }

    /// Its streams in their order.
    pub(super) fn streams(&self) -> impl ExactSizeIterator<Item = (StreamId, &Stream)> {
        StreamId::all(self.more.len() as u32 + 1).map(|stream| (stream, self.stream(stream)))
    }

    /// Computation until `ps` of the stream that computed longest, reductions included, in picoseconds.
    pub(super) fn compute_ps(&self, ps: u64) -> u64 {
        let of_streams = self.streams().map(|(_, stream)| stream.computed.until(ps));
        of_streams.max().unwrap_or(0)
    }

    /// Its part of the MPI layer.
    pub(super) fn endpoint(&mut self) -> &mut Endpoint {
        self.endpoint.get_or_insert_default()
    }

    /// Its part of the MPI layer, if it made a call or received a message of one.
    pub(super) fn endpoint_if_any(&self) -> Option<&Endpoint> {
        self.endpoint.as_deref()
    }

    /// Lets `stream` wait for the events that `op` names, of which those that happened are
    /// removed. Returns whether all of them happened. A message that arrived is no longer kept in `arrived`.
    pub(super) fn awaits(&mut self, stream: StreamId, mut op: Op, arrived: &mut Arrived) -> bool {
        op.after = match op.after {
            After::Event(event) if !self.happened(event, arrived) => After::Event(event),
            After::All(events) => {
                let missing = events
                    .iter()
                    .copied()
                    .filter(|&event| !self.happened(event, arrived));
                After::of(missing.collect())
            }
            After::Previous | After::Event(_) => After::Previous,
        };
        let ready = op.after == After::Previous;
        let stream = self.stream_mut(stream);
        stream.op = Some(op);
        stream.state = State::Waiting;
        ready
    }

    /// Whether `event` happened.
    fn happened(&self, event: Event, arrived: &mut Arrived) -> bool {
        let labels = self.labels.as_deref();
        match event {
            Event::Received(id) => arrived.remove(id),
            Event::Completed(id) => !self.members.is_open(Key::Id(id)),
            Event::Started(label) => labels.is_some_and(|l| l.started.contains(label.get())),
            Event::Done(label) => labels.is_some_and(|l| l.done.contains(label.get())),
        }
    }

    /// Notes that the operation with this label started.
    pub(super) fn started(&mut self, label: Label) {
        self.labels
            .get_or_insert_default()
            .started
            .insert(label.get());
    }

    /// Notes that the operation with this label is done.
    pub(super) fn done(&mut self, label: Label) {
        self.labels.get_or_insert_default().done.insert(label.get());
    }

    /// Tells `stream` that `event` happened. `None` if it does not wait for it, else whether it
    /// waits for nothing more.
    pub(super) fn tell(&mut self, stream: StreamId, event: Event) -> Option<bool> {
        let stream = self.stream_mut(stream);
        let after = &mut stream.op.as_mut()?.after;
        if stream.state != State::Waiting || !after.events().contains(&event) {
            return None;
        }
        *after = match after {
            After::Previous | After::Event(_) => After::Previous,
            After::All(events) => {
                After::of(events.iter().copied().filter(|&e| e != event).collect())
            }
        };
        Some(*after == After::Previous)
    }

    /// Forgets everything, to start over at `ps`.
    pub(super) fn restart(&mut self, ps: u64) {
        *self = Self::new(self.id, self.more.len() as u32 + 1, ps);
    }
}
