//! Writes recordings: streams of one thread for each rank, in a tar archive. `flitwise record` writes them from C inside the
//! program; both are read by the same [`Reader`](super::Reader).

use std::io::{self, Write};

use hashbrown::HashMap;

use super::call::Call;
use super::description::{Description, NAME};
use super::function::Function;
use super::header::{Header, MAGIC, Overhead, SIZE, VERSION, checksum};
use super::record::{Communicator, End, Reason, Times};
use super::slots::SLOTS;
use super::wire::{put, put_signed, put_text};
use crate::archive::Packer;
use crate::limits::MAX_RECORDING_BLOCK;

/// Bytes from which on a block ends.
const BLOCK: usize = 64 << 10;
/// Longest tuple that takes a slot. All slots together are less than a reader keeps.
const LONGEST: usize = 4096;

/// A stream in memory.
#[derive(Debug)]
pub struct Writer {
    header: Header,
    functions: HashMap<String, (u64, Function)>,
    /// Slots by tuple, and the tuples by slot.
    slots: HashMap<Box<[u8]>, usize>,
    tuples: Vec<Box<[u8]>>,
    next_slot: usize,
    /// The records of the block that is not complete, and the time of its begin.
    payload: Vec<u8>,
    begin_ns: u64,
    /// Nanoseconds since the header.
    clock_ns: u64,
    calls: u64,
    blocks: Vec<u8>,
    scratch: Vec<u8>,
    failure: Option<&'static str>,
}

impl Writer {
    /// A stream without records. Its times are without the overhead of a recorder, so that the header has none.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let header = Header {
            overhead: Default::default(),
            ..*header
        };
        Self {
            header,
            functions: HashMap::new(),
            slots: HashMap::new(),
            tuples: Vec::new(),
            next_slot: 0,
            payload: Vec::new(),
            begin_ns: 0,
            clock_ns: 0,
            calls: 0,
            blocks: Vec::new(),
            scratch: Vec::new(),
            failure: None,
        }
    }

    /// Records of calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Adds a call of the function `name`, or several equal polls.
    pub fn call(&mut self, name: &str, call: &Call<'_>, repeats: u64, times: &Times) {
        let (index, kind) = {
            let (index, function) = self.function(name);
            (*index, function.kind)
        };
        let mut tuple = std::mem::take(&mut self.scratch);
        tuple.clear();
        put(&mut tuple, 2 * index + u64::from(*call == Call::Failed));
        call.write(kind, &mut tuple);
        if repeats > 1 {
            put(&mut self.payload, 2);
            put(&mut self.payload, repeats);
        }
        self.tuple(&tuple);
        self.scratch = tuple;
        put(&mut self.payload, times.cpu_ns);
        let more = times.wall_ns.wrapping_sub(times.cpu_ns).cast_signed();
        put_signed(&mut self.payload, more);
        put(&mut self.payload, times.inside_ns);
        let took = times.wall_ns.saturating_add(times.inside_ns);
        self.clock_ns = self.clock_ns.saturating_add(took);
        self.calls += 1;
        self.ended();
    }

    /// Adds a communicator.
    pub fn communicator(&mut self, comm: &Communicator<'_>) {
        let maker = self.function(&comm.maker.name).0;
        let flags = u64::from(comm.others.is_some()) | (u64::from(comm.neighbours.is_some()) << 1);
        let to = &mut self.payload;
        for number in [
            4,
            comm.id.into(),
            comm.parent.into(),
            comm.nth,
            flags,
            maker,
        ] {
            put(to, number);
        }
        comm.members.write(to);
        comm.others.iter().for_each(|others| others.write(to));
        if let Some(neighbours) = &comm.neighbours {
            neighbours.sources.write(to);
            neighbours.destinations.write(to);
        }
        self.ended();
    }

    /// Adds a text for people.
    pub fn note(&mut self, text: &str) {
        put(&mut self.payload, 6);
        put_text(&mut self.payload, text);
        self.ended();
    }

    /// Adds the end.
    pub fn end(&mut self, end: &End) {
        let reason = match end.reason {
            Reason::Finalised => 0,
            Reason::Thread => 1,
            Reason::Exit => 2,
            Reason::Abort => 3,
        };
        for number in [
            5,
            reason,
            end.process_cpu_ns,
            end.thread_cpu_ns,
            end.threads,
        ] {
            put(&mut self.payload, number);
        }
        self.ended();
    }

    /// The whole stream.
    ///
    /// # Errors
    /// If a record is longer than a block may be.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        self.flush();
        match self.failure {
            Some(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
            None => Ok([&self.header.bytes()[..], &self.blocks].concat()),
        }
    }

    /// The function of this name, which it introduces.
    fn function(&mut self, name: &str) -> &(u64, Function) {
        let next = self.functions.len() as u64;
        let payload = &mut self.payload;
        self.functions.entry_ref(name).or_insert_with(|| {
            put(payload, 3);
            put_text(payload, name);
            (next, Function::named(name))
        })
    }

    /// Writes a tuple, or names the slot that has it.
    fn tuple(&mut self, tuple: &[u8]) {
        let to = &mut self.payload;
        if let Some(slot) = self.slots.get(tuple) {
            put(to, *slot as u64 + 8);
            return;
        }
        let takes_slot = tuple.len() <= LONGEST;
        put(to, takes_slot.into());
        put(to, tuple.len() as u64);
        to.extend_from_slice(tuple);
        if takes_slot {
            let slot = self.next_slot;
            let tuple: Box<[u8]> = tuple.into();
            match self.tuples.get_mut(slot) {
                Some(old) => {
                    self.slots.remove(old);
                    *old = tuple.clone();
                }
                None => self.tuples.push(tuple.clone()),
            }
            self.slots.insert(tuple, slot);
            self.next_slot = (slot + 1) % SLOTS;
        }
    }

    /// After a record: a block holds whole ones.
    fn ended(&mut self) {
        if self.payload.len() >= BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.payload.is_empty() {
            return;
        }
        if self.payload.len() > MAX_RECORDING_BLOCK {
            self.failure = Some("a call has more fields than a block of a recording may hold");
        }
        let begin = self.begin_ns.to_le_bytes();
        let sum = checksum(&[&begin, &self.payload]);
        let length = self.payload.len() as u32;
        for part in [
            &length.to_le_bytes()[..],
            &sum.to_le_bytes(),
            &begin,
            &self.payload,
        ] {
            self.blocks.extend_from_slice(part);
        }
        self.payload.clear();
        self.begin_ns = self.clock_ns;
    }
}

impl Header {
    /// The bytes at the start of a stream.
    fn bytes(&self) -> [u8; SIZE] {
        let Overhead {
            cpu_ns,
            wall_ns,
            inside_ns,
            call_ns,
        } = self.overhead;
        let number = |number: u32| number.to_le_bytes();
        let mut bytes = [0; SIZE];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            if let Some(to) = bytes.get_mut(at..at + part.len()) {
                to.copy_from_slice(part);
            }
            at += part.len();
        };
        put(MAGIC);
        for one in [VERSION, self.rank, self.thread, self.ranks] {
            put(&number(one));
        }
        put(&self.run);
        put(&self.started_ns.to_le_bytes());
        for one in [cpu_ns, wall_ns, inside_ns, call_ns, self.processors] {
            put(&number(one));
        }
        let sum = checksum(&[&bytes[..SIZE - 4]]);
        bytes[SIZE - 4..].copy_from_slice(&number(sum));
        bytes
    }
}

/// A tar archive that becomes a recording.
pub struct Archive<W: Write>(Packer<W>);

impl<W: Write> Archive<W> {
    /// An archive that has the description.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(out: W, description: &Description) -> io::Result<Self> {
        let mut files = Packer::new(out, description.started);
        files.add(NAME, description.text().as_bytes())?;
        Ok(Self(files))
    }

    /// Adds the stream of thread 0 of a rank.
    ///
    /// # Errors
    /// If the output fails, or a record is longer than a block may be.
    pub fn stream(&mut self, stream: Writer) -> io::Result<()> {
        let name = format!("{}.{}.calls", stream.header.rank, stream.header.thread);
        self.0.add(&name, &stream.finish()?)
    }

    /// Completes the archive.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}
