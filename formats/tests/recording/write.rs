//! Writes recordings, from `docs/reference/recording.md`; it shares nothing with the reader.
#![allow(dead_code, reason = "each test program writes a part of it")]

use std::fmt::Write as _;
use std::path::Path;

/// Bytes of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn v(mut self, mut number: u64) -> Self {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    pub fn vs(self, numbers: impl IntoIterator<Item = u64>) -> Self {
        numbers.into_iter().fold(self, Self::v)
    }

    pub fn s(self, number: i64) -> Self {
        let doubled = i128::from(number) * 2;
        self.v(if number < 0 { -doubled - 1 } else { doubled } as u64)
    }

    pub fn text(self, text: &str) -> Self {
        let mut bytes = self.v(text.len() as u64);
        bytes.0.extend(text.as_bytes());
        bytes
    }

    /// A sequence with a run for each number, or one run if they have one distance.
    pub fn seq(self, numbers: &[i64]) -> Self {
        let stride = |at: usize| numbers[at] - numbers[at - 1];
        if numbers.len() > 1 && (1..numbers.len()).all(|at| stride(at) == stride(1)) {
            let bytes = self.v(1).v(numbers.len() as u64);
            return bytes.s(numbers[0]).s(stride(1));
        }
        let bytes = self.v(numbers.len() as u64);
        numbers.iter().fold(bytes, |bytes, &n| bytes.v(1).s(n))
    }
}

/// No fields.
pub fn none() -> Bytes {
    Bytes::default()
}

/// Peers other than ranks.
pub const ANY: i64 = -3;
pub const NULL: i64 = -2;
pub const ROOT: i64 = -1;
/// Any tag.
pub const ANY_TAG: i64 = -1;

/// An envelope.
pub fn envelope(comm: u64, peer: i64, tag: i64) -> Bytes {
    none().vs([comm, (peer + 3) as u64, (tag + 1) as u64])
}

/// A message of `bytes` bytes.
pub fn message(comm: u64, peer: i64, tag: i64, bytes: u64) -> Bytes {
    envelope(comm, peer, tag).vs([bytes, 1])
}

/// A collective without parts.
pub fn collective(comm: u64, root: i64) -> Bytes {
    none().vs([comm, (root + 3) as u64, 0])
}

/// The n-th last request, for a sequence.
pub fn last(n: i64) -> i64 {
    4 * n
}

/// The n-th request.
pub fn nth(n: i64) -> i64 {
    4 * n + 1
}

/// A completion of all these requests, of which none has a result worth mention.
pub fn all_done(requests: &[i64]) -> Bytes {
    let results = requests.iter().filter(|code| **code & 3 != 3).map(|_| 0);
    none().seq(requests).v(1).vs(results)
}

/// Nanoseconds of a call: since the one before by the CPU and by the wall clock, and inside.
#[derive(Debug, Clone, Copy)]
pub struct Times(pub u64, pub u64, pub u64);

/// A stream.
#[derive(Debug, Clone)]
pub struct Stream {
    pub rank: u32,
    pub thread: u32,
    pub ranks: u32,
    pub run: [u8; 16],
    pub started_ns: u64,
    pub overhead: [u32; 4],
    names: Vec<String>,
    slots: Vec<Vec<u8>>,
    /// The records of the block that is not written yet.
    pub payload: Bytes,
    time_ns: u64,
    blocks: Vec<u8>,
    /// The reason of the end.
    reason: Option<u64>,
}

impl Stream {
    /// A stream of the first thread, which begins with MPI_COMM_WORLD, MPI_COMM_SELF and MPI_Init.
    pub fn new(rank: u32, ranks: u32) -> Self {
        Self::bare(rank, 0, ranks).begun()
    }

    /// The same of a further thread, without MPI_Init.
    pub fn of_thread(rank: u32, thread: u32, ranks: u32) -> Self {
        let mut stream = Self::bare(rank, thread, ranks);
        stream.worlds();
        stream
    }

    pub fn bare(rank: u32, thread: u32, ranks: u32) -> Self {
        Self {
            rank,
            thread,
            ranks,
            run: *b"0123456789abcdef",
            started_ns: 1_000_000_000,
            overhead: [0; 4],
            names: Vec::new(),
            slots: Vec::new(),
            payload: Bytes::default(),
            time_ns: 0,
            blocks: Vec::new(),
            reason: None,
        }
    }

    fn begun(mut self) -> Self {
        self.worlds();
        self.call_at("MPI_Init", none().v(0), Times(0, 0, 0));
        self
    }

    fn worlds(&mut self) {
        let ranks: Vec<i64> = (0..i64::from(self.ranks)).collect();
        let own = i64::from(self.rank);
        self.comm([0, 0, 0, 0], "MPI_Init", &[&ranks]);
        self.comm([1, 1, 0, 0], "MPI_Init", &[&[own]]);
    }

    fn put(&mut self, bytes: Bytes) {
        self.payload.0.extend(bytes.0);
    }

    fn index(&mut self, name: &str) -> u64 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.put(none().v(3).text(name));
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u64
    }

    /// A communicator: id, parent, nth and flags; its members and what flags announce.
    pub fn comm(&mut self, numbers: [u64; 4], maker: &str, lists: &[&[i64]]) {
        let maker = self.index(maker);
        let bytes = none().v(4).vs(numbers).v(maker);
        let bytes = lists.iter().fold(bytes, |bytes, list| bytes.seq(list));
        self.put(bytes);
    }

    /// A call 1000 ns after the one before, which takes 100 ns.
    pub fn call(&mut self, name: &str, fields: Bytes) {
        self.call_at(name, fields, Times(1000, 1000, 100));
    }

    pub fn call_at(&mut self, name: &str, fields: Bytes, times: Times) {
        self.repeat(1, name, fields, times);
    }

    /// Equal polls.
    pub fn repeat(&mut self, repeats: u64, name: &str, fields: Bytes, times: Times) {
        let index = self.index(name);
        let mut tuple = none().v(2 * index).0;
        tuple.extend(fields.0);
        self.tuple(repeats, tuple, times);
    }

    /// A call that returned an error.
    pub fn failed(&mut self, name: &str) {
        let index = self.index(name);
        self.tuple(1, none().v(2 * index + 1).0, Times(1000, 1000, 100));
    }

    /// A tuple, in the dictionary.
    pub fn tuple(&mut self, repeats: u64, tuple: Vec<u8>, Times(cpu, wall, inside): Times) {
        if repeats > 1 {
            self.put(none().vs([2, repeats]));
        }
        match self.slots.iter().position(|known| *known == tuple) {
            Some(slot) => self.put(none().v(slot as u64 + 8)),
            None => {
                self.put(none().vs([1, tuple.len() as u64]));
                self.payload.0.extend(&tuple);
                self.slots.push(tuple);
            }
        }
        self.put(none().v(cpu).s(wall as i64 - cpu as i64).v(inside));
    }

    pub fn note(&mut self, text: &str) {
        self.put(none().v(6).text(text));
    }

    /// The end: reason, CPU times of process and thread, threads.
    pub fn end(&mut self, numbers: [u64; 4]) {
        self.reason = Some(numbers[0]);
        self.put(none().v(5).vs(numbers));
    }

    /// MPI_Finalize, and the end.
    pub fn finalize(&mut self) {
        self.call("MPI_Finalize", none());
        self.end([0, 1_000_000, 1_000_000, 1]);
    }

    /// Writes the records so far as a block.
    pub fn flush(&mut self) {
        let payload = std::mem::take(&mut self.payload).0;
        if payload.is_empty() {
            return;
        }
        let mut sum = flate2::Crc::new();
        sum.update(&self.time_ns.to_le_bytes());
        sum.update(&payload);
        self.blocks.extend((payload.len() as u32).to_le_bytes());
        self.blocks.extend(sum.sum().to_le_bytes());
        self.blocks.extend(self.time_ns.to_le_bytes());
        self.blocks.extend(payload);
    }

    /// The next block begins at this time.
    pub fn flush_at(&mut self, time_ns: u64) {
        self.flush();
        self.time_ns = time_ns;
    }

    /// The whole file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut whole = self.clone();
        whole.flush();
        let mut file = b"FLITREC\n".to_vec();
        for number in [1, self.rank, self.thread, self.ranks] {
            file.extend(number.to_le_bytes());
        }
        file.extend(self.run);
        file.extend(self.started_ns.to_le_bytes());
        for number in self.overhead {
            file.extend(number.to_le_bytes());
        }
        file.extend([2, 0, 0, 0]);
        file.extend([0; 8]);
        let mut sum = flate2::Crc::new();
        sum.update(&file);
        file.extend(sum.sum().to_le_bytes());
        file.extend(whole.blocks);
        file
    }
}

/// The description of ranks on one host, each of which may use `processors`.
pub fn description(ranks: u32, processors: u32) -> String {
    let of_each = |number: u32| vec![number.to_string(); ranks as usize].join(", ");
    let run: String = b"0123456789abcdef"
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    format!(
        "format = 1\nrun = \"{run}\"\nsession = \"\"\nflitwise = \"0.1.0\"\nstarted = 1\ncommand = [\"./app\"]\n\
         mpi = \"Open MPI v4.1.4\"\nmpi_version = \"3.1\"\nthread_level = \"single\"\nranks = {ranks}\nhosts = [\"node1\"]\n\
         host_of_rank = [{}]\nprocessors_of_rank = [{}]\n\
         overhead = {{ cpu_ns = 0, wall_ns = 0, inside_ns = 0, call_ns = 0 }}\nfinalised = true\n",
        of_each(0),
        of_each(processors)
    )
}

/// Writes a recording into `dir`, in which every rank may use as many processors as there are ranks.
pub fn write(dir: &Path, streams: &[Stream]) {
    let ranks = streams[0].ranks;
    let mut text = description(ranks, ranks);
    let mut mains = streams.iter().filter(|stream| stream.thread == 0);
    if mains.any(|stream| stream.reason != Some(0)) {
        text = text.replace("finalised = true", "finalised = false");
    }
    std::fs::write(dir.join("recording.toml"), text).unwrap();
    for stream in streams {
        let name = format!("{}.{}.calls", stream.rank, stream.thread);
        std::fs::write(dir.join(name), stream.bytes()).unwrap();
    }
}

/// A recording in a directory of its own.
pub fn directory(streams: &[Stream]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), streams);
    dir
}

/// Ranks that begin, call what `between` says, and end.
pub fn ranks(ranks: u32, between: impl Fn(&mut Stream)) -> Vec<Stream> {
    let rank = |rank| {
        let mut stream = Stream::new(rank, ranks);
        between(&mut stream);
        stream.finalize();
        stream
    };
    (0..ranks).map(rank).collect()
}
