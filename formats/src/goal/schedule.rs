//! A schedule, whatever its form, of which every rank can be read by itself and several times.

use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::stop::Stop;

use super::block::Block;
use super::layout::{BASE, ENTRY, HEAD, MAGIC, Places, RankBytes, u64_at};
use super::parser::{Parser, Part, Step};
use super::record::{Dependency, Op};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::limits::MAX_TASKS;
use crate::source::{Encoding, Input, Source};
use crate::store::{Store, StoreWriter};

/// How a schedule is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text.
    Text,
    /// The binary form of LogGOPSim's `txt2bin`.
    Binary,
}

/// The form of the schedule whose unpacked content begins with `head`; `None` if it is none.
#[must_use]
pub fn probe(head: &[u8]) -> Option<Form> {
    match Foreign::of(head) {
        Some(Foreign::Goal) => Some(Form::Text),
        Some(Foreign::GoalBinary) => Some(Form::Binary),
        _ => None,
    }
}

/// A schedule that can be read rank by rank, any number of times.
///
/// A binary file that is not packed is read where it is. Everything else is read once, from start to end, and kept
/// in a file without a name in the directory for temporary files, in a form like the binary one. In memory are
/// 16 bytes for each rank and, while text is read, one rank. Clones share the file.
///
/// # Examples
/// ```
/// use flitwise_formats::goal::{DependencyKind, Schedule, Task};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("pair.goal");
/// // Rank 0 sends 64 bytes when it has computed 5 us; rank 1 receives them.
/// let text = "num_ranks 2\n\
///             rank 0 {\nc: calc 5000\ns: send 64b to 1 tag 7\ns requires c\n}\n\
///             rank 1 {\nrecv 64b from 0 tag 7\n}\n";
/// std::fs::write(&path, text)?;
///
/// let schedule = Schedule::open(&path)?;
/// assert_eq!(schedule.ranks(), 2);
/// let mut rank = schedule.rank(0)?;
/// let calc = rank.node(0)?;
/// assert_eq!((calc.op.task, calc.unmet), (Task::Calc { time: 5000 }, 0));
/// let mut waiting = Vec::new();
/// rank.successors(0, &calc, |of, kind| waiting.push((of, kind)))?;
/// assert_eq!(waiting, [(1, DependencyKind::Done)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    store: Arc<Store>,
    form: Form,
    /// Where each rank begins and ends.
    table: Arc<[(u64, u64)]>,
    places: Places,
    /// The file of each rank, if each has one of its own.
    files: Arc<[Arc<Path>]>,
}

/// Operations, or blocks of a file, between two checks whether the user stops the reading.
const ASK_EVERY: u64 = 1 << 16;

impl Schedule {
    /// Opens a file: text or binary, plain, gzip or zstd.
    ///
    /// # Errors
    /// If it can't be read or is no GOAL schedule. Of a binary file only the table of ranks is read: what is wrong in
    /// a rank is said when that rank is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let input = Input::new(path.as_ref());
        Self::read(&input, Stop::never())
    }

    /// The same for an input.
    ///
    /// # Errors
    /// As [`Schedule::open`], or if the user stops the reading.
    pub fn read(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        let mut source = input.open()?;
        let binary = source.head()?.starts_with(&MAGIC);
        if binary && is_plain_file(input.path()) {
            return Self::of_store(Store::open(input.path())?);
        }
        Self::of(source, stop)
    }

    /// The same for what is already open, from its start.
    ///
    /// # Errors
    /// As [`Schedule::read`].
    pub fn of(mut source: Source, stop: Stop<'_>) -> Result<Self, Error> {
        let head = source.head()?;
        if !head.starts_with(&MAGIC) {
            let foreign = Foreign::of(head).filter(|format| *format != Foreign::Goal);
            return Self::of_text(source, foreign, stop);
        }
        let mut writer = StoreWriter::new(source.path())?;
        loop {
            let (bytes, eof) = source.buffer();
            let n = bytes.len().min(crate::limits::BLOCK);
            writer.write(&bytes[..n])?;
            let last = eof && n == bytes.len();
            source.consume(n);
            if last {
                return Self::of_store(writer.finish()?);
            }
            stop.check()?;
            if source.buffer().0.is_empty() {
                source.more()?;
            }
        }
    }

    fn of_text(source: Source, foreign: Option<Foreign>, stop: Stop<'_>) -> Result<Self, Error> {
        let mut reader = TextReader {
            source,
            foreign,
            parser: Parser::new(),
        };
        let path: Arc<Path> = reader.source.path().into();
        let mut builder = None;
        let mut parts = 0u64;
        while let Some(part) = reader.next()? {
            parts += 1;
            if parts.is_multiple_of(ASK_EVERY) {
                stop.check()?;
            }
            if let Part::Ranks(ranks) = part {
                builder = Some(Builder::new(&path, ranks)?);
            }
            let Some(builder) = &mut builder else {
                continue;
            };
            let line = reader.parser.line();
            let full = match part {
                Part::Op(op) => builder.rank.op(op, line).map(drop),
                Part::Dependency(dependency) => builder.rank.dependency(dependency),
                Part::RankEnd => {
                    builder.end_rank()?;
                    Ok(())
                }
                Part::Nothing | Part::Ranks(_) | Part::Rank(_) => Ok(()),
            };
            full.map_err(|e| Error::broken(PlaceError::line(line, e).of(&path)))?;
        }
        match builder {
            Some(builder) => builder.finish(),
            // The parser ends behind the last rank only.
            None => Err(Error::broken(Problem::whole(&path, "is no GOAL schedule"))),
        }
    }

    fn of_store(store: Store) -> Result<Self, Error> {
        let table = read_table(&store)?;
        Ok(Self {
            store: Arc::new(store),
            form: Form::Binary,
            table: table.into(),
            places: Places::None,
            files: Arc::default(),
        })
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        self.store.path()
    }

    /// The form of the file.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// True if all tasks are ones that a GOAL file may have.
    pub(super) fn is_goal(&self) -> bool {
        self.places != Places::Bytes
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.table.len() as u32
    }

    /// The operations of a rank.
    ///
    /// # Errors
    /// If the file can't be read, the rank is broken, or there is no such rank.
    pub fn rank(&self, rank: u32) -> Result<Block, Error> {
        let Some(&extent) = self.table.get(rank as usize) else {
            let message = format!("there is no rank {rank}");
            return Err(Error::broken(Problem::whole(self.path(), message)));
        };
        let ranks = (rank, self.ranks());
        Block::open(&self.store, self.path_of(rank), ranks, extent, self.places)
    }

    /// The file of a rank, which may have all ranks.
    #[must_use]
    pub fn path_of(&self, rank: u32) -> &Arc<Path> {
        self.files.get(rank as usize).unwrap_or(self.path())
    }
}

/// True if the bytes at `path` are the content, and stay there.
fn is_plain_file(path: &Path) -> bool {
    use std::io::Read;
    let open = || {
        let mut start = [0; 4];
        let mut file = std::fs::File::open(path).ok()?;
        file.read_exact(&mut start).ok()?;
        let plain = Encoding::of(&start) == Encoding::Plain;
        file.metadata().ok().map(|meta| meta.is_file() && plain)
    };
    open().unwrap_or(false)
}

/// Reads and checks the table of ranks of a binary file.
fn read_table(store: &Store) -> Result<Vec<(u64, u64)>, Error> {
    let wrong = |at: u64, message: String| {
        Err(Error::broken(
            PlaceError::byte(at, message).of(store.path()),
        ))
    };
    let cut = |at: u64| wrong(at, "the file is cut short: copy or make it again".into());
    let mut head = [0; HEAD as usize];
    if store.read_at(0, &mut head)? < head.len() {
        return cut(store.len());
    }
    let [a, b, c, d] = [head[8], head[9], head[10], head[11]];
    let ranks = u32::from_le_bytes([a, b, c, d]);
    if ranks == 0 || ranks > MAX_TASKS {
        return wrong(
            BASE,
            format!(
                "expected 1 to {MAX_TASKS} ranks, found {ranks}; the file is damaged, or from a machine of another \
                 byte order: make it again"
            ),
        );
    }
    let after = HEAD + ENTRY * u64::from(ranks);
    if store.len() < after {
        return cut(store.len());
    }
    let mut bytes = vec![0; (after - HEAD) as usize];
    if store.read_at(HEAD, &mut bytes)? < bytes.len() {
        return cut(store.len());
    }
    let mut table = Vec::with_capacity(ranks as usize);
    let mut before = after;
    for (rank, entry) in bytes.chunks_exact(ENTRY as usize).enumerate() {
        let extent = extent(entry, rank, before, store.len());
        let extent = extent.map_err(|message| {
            let at = HEAD + ENTRY * rank as u64;
            Error::broken(PlaceError::byte(at, message).of(store.path()))
        })?;
        before = extent.1;
        table.push(extent);
    }
    Ok(table)
}

/// Where a rank begins and ends, from its entry in the table. The ranks before it end at `before`, the file at `len`.
fn extent(entry: &[u8], rank: usize, before: u64, len: u64) -> Result<(u64, u64), String> {
    let place = |offset: usize| u64_at(entry, offset).checked_add(BASE);
    let (Some(start), Some(end)) = (place(0), place(8)) else {
        return Err(format!(
            "rank {rank} is beyond any file; the table is damaged: make the file again"
        ));
    };
    if start < before || end < start {
        return Err(format!(
            "rank {rank} begins at byte {start} and ends at byte {end}, but the ranks before it end at byte {before}; \
             the table is damaged: make the file again"
        ));
    }
    if end > len {
        return Err(format!(
            "rank {rank} ends at byte {end}, but the file has {len} bytes; it is cut short: copy or make it again"
        ));
    }
    Ok((start, end))
}

/// Reads text part by part.
struct TextReader {
    source: Source,
    /// The other format that the file may have.
    foreign: Option<Foreign>,
    parser: Parser,
}

impl TextReader {
    /// The next part, but for blanks; `None` at the end.
    fn next(&mut self) -> Result<Option<Part>, Error> {
        loop {
            let (buf, eof) = self.source.buffer();
            match self.parser.next(buf, eof) {
                Ok(Step::NeedMore) => self.source.more()?,
                Ok(Step::End) => return Ok(None),
                Ok(Step::Part { consumed, part }) => {
                    self.source.consume(consumed);
                    if part != Part::Nothing {
                        return Ok(Some(part));
                    }
                }
                Err(e) => {
                    let path = self.source.path();
                    let foreign = self.foreign.filter(|_| self.parser.line() == 0);
                    return Err(match foreign {
                        Some(format) => Error::foreign(path, format),
                        None => Error::broken(e.of(&path.into())),
                    });
                }
            }
        }
    }
}

/// Makes a schedule from operations, for writers of other formats and for tests.
///
/// # Examples
/// ```
/// use flitwise_formats::goal::{Builder, Dependency, DependencyKind, Op, Task, write};
///
/// let mut builder = Builder::new("ring".as_ref(), 1)?;
/// let send = builder.op(Op::new(Task::Send { bytes: 8, to: 0, tag: 1 }))?;
/// let recv = builder.op(Op::new(Task::Recv { bytes: 8, from: Some(0), tag: None }))?;
/// builder.dependency(Dependency { of: recv, on: send, kind: DependencyKind::Started })?;
/// builder.end_rank()?;
/// let mut text = Vec::new();
/// write::text(&builder.finish()?, &mut text)?;
/// assert_eq!(
///     String::from_utf8_lossy(&text),
///     "num_ranks 1\n\nrank 0 {\nl1: send 8b to 0 tag 1\nl2: recv 8b from 0 tag -1\nl2 irequires l1\n}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    path: Arc<Path>,
    writer: StoreWriter,
    table: Vec<(u64, u64)>,
    ranks: u32,
    rank: RankBytes,
    places: Places,
    files: Vec<Arc<Path>>,
}

impl Builder {
    /// Begins a schedule that messages call `path`, with the operations of rank 0.
    ///
    /// # Errors
    /// If a temporary file can't be created.
    pub fn new(path: &Path, ranks: u32) -> Result<Self, Error> {
        Ok(Self {
            path: path.into(),
            writer: StoreWriter::new(path)?,
            table: Vec::new(),
            ranks,
            rank: RankBytes::default(),
            places: Places::Lines,
            files: Vec::new(),
        })
    }

    /// The same for a rank in each of these files, whose operations have [places](Self::op_at) there.
    ///
    /// # Errors
    /// As [`Builder::new`].
    pub(crate) fn of_files(path: &Path, files: Vec<Arc<Path>>) -> Result<Self, Error> {
        Ok(Self {
            places: Places::Bytes,
            ranks: files.len() as u32,
            files,
            ..Self::new(path, 0)?
        })
    }

    /// Adds an operation that begins at this byte of the file of its rank; its number, or that the rank is full.
    pub(crate) fn op_at(&mut self, op: Op, byte: u64) -> Result<u32, &'static str> {
        self.rank.op(op, byte)
    }

    fn refused(&self, message: impl Into<String>) -> Error {
        Error::broken(Problem::whole(&self.path, message))
    }

    /// Adds an operation to the rank; its number.
    ///
    /// # Errors
    /// If it is for a rank that is not there, or the rank is full.
    pub fn op(&mut self, op: Op) -> Result<u32, Error> {
        use super::record::Task;
        let (peer, tag) = match op.task {
            Task::Send { to, tag, .. } => (Some(to), Some(tag)),
            Task::Recv { from, tag, .. } => (from, tag),
            Task::Calc { .. } | Task::Collective { .. } | Task::Work { .. } => (None, None),
        };
        if peer.is_some_and(|peer| peer >= self.ranks) || tag == Some(u32::MAX) {
            let name = op.name();
            return Err(self.refused(format!(
                "a {name} with a rank or tag that GOAL can't express"
            )));
        }
        self.rank.op(op, 0).map_err(|e| self.refused(e))
    }

    /// Adds a dependency between operations of the rank.
    ///
    /// # Errors
    /// If they are not there, or the rank is full.
    pub fn dependency(&mut self, dependency: Dependency) -> Result<(), Error> {
        let last = dependency.of.max(dependency.on) as usize;
        if last >= self.rank.len() || dependency.of == dependency.on {
            return Err(self.refused("a dependency on an operation that is not there"));
        }
        let added = self.rank.dependency(dependency);
        added.map_err(|e| self.refused(e))
    }

    /// Ends the rank; the next one begins.
    ///
    /// # Errors
    /// If the temporary file can't be written, or there are more ranks than announced.
    pub fn end_rank(&mut self) -> Result<(), Error> {
        if self.table.len() == self.ranks as usize {
            return Err(self.refused(format!("more than {} ranks", self.ranks)));
        }
        let start = self.writer.len();
        self.rank.finish(&mut self.writer)?;
        self.table.push((start, self.writer.len()));
        Ok(())
    }

    /// The schedule.
    ///
    /// # Errors
    /// If the temporary file can't be written, or there are fewer ranks than announced.
    pub fn finish(self) -> Result<Schedule, Error> {
        if self.table.len() < self.ranks as usize {
            let n = self.table.len();
            return Err(self.refused(format!("{n} ranks instead of {}", self.ranks)));
        }
        Ok(Schedule {
            store: Arc::new(self.writer.finish()?),
            form: Form::Text,
            table: self.table.into(),
            places: self.places,
            files: self.files.into(),
        })
    }
}
