//! A whole trace: the files of all ranks, in a directory or in a tar archive.

mod collection;
mod ending;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use flitwise_base::stop::Stop;

use self::collection::{Collection, rank_file};

use super::metafile::Metafile;
use super::reader::{Reader, unreadable};
use super::sizes::Types;
use super::trailer::{MAGIC, Trailer};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::limits::MAX_METAFILE;
use crate::member::{Member, Open, names};
use crate::source::{Input, Source, shown};
use crate::tar_head::{TAR_HEAD, is_tar};

/// The files of a trace.
///
/// It is given as the directory that has them, as their metafile, as one of them, or as a tar archive, each plain or packed
/// with gzip or zstd, and recognised by its content. In a directory or an archive each file of a rank may be packed as well. An
/// archive that is packed or comes from a pipe is unpacked into a file without a name in the directory for temporary
/// files, from which nothing is left when the program ends; others are read in place.
///
/// Files are opened when they are needed: by [`Set::reader`], any number of times, and independently of each other.
///
/// # Examples
/// ```no_run
/// use flitwise_formats::dumpi::{Call, Set};
///
/// let set = Set::open("dumpi-2013.09.09.04.32.40.meta")?;
/// for rank in 0..set.ranks() {
///     let mut types = set.types(rank)?;
///     let mut sent = 0;
///     let mut reader = set.reader(rank)?;
///     while let Some(bytes) = reader.next_record(|record| {
///         types.note(&record.call);
///         match record.call {
///             Call::Send(m) => types.bytes(m.datatype, m.count).unwrap_or(0),
///             _ => 0,
///         }
///     })? {
///         sent += bytes;
///     }
///     println!("rank {rank} sent {sent} bytes by MPI_Send");
/// }
/// # Ok::<(), flitwise_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Set {
    path: PathBuf,
    members: Vec<Member>,
    metafile: Option<Metafile>,
    /// By rank, once they were read.
    trailers: Vec<OnceLock<Arc<Trailer>>>,
    open: Open,
}

impl Set {
    /// Finds the files of the trace at `path`.
    ///
    /// # Errors
    /// If there is no DUMPI trace or more than one, or the file of a rank is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of_input(&Input::new(path.as_ref()), Stop::never())
    }

    /// The same of an input that may be a stream, which is an archive then.
    ///
    /// # Errors
    /// As [`Set::open`], or if the user stops the reading.
    pub fn of_input(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        let path = input.path();
        if path.is_dir() {
            return Self::of(path, Collection::directory(path, None)?);
        }
        let mut source = input.open()?;
        let collection = match content(&mut source)? {
            Content::Rank(prefix) => Collection::around(path, &prefix)?,
            Content::Metafile => Collection::beside(path, read_metafile(source)?)?,
            Content::Tar => Collection::archive(path, source, stop)?,
        };
        Self::of(path, collection)
    }

    fn of(path: &Path, collection: Collection) -> Result<Self, Error> {
        let (members, metafile) = collection.choose(shown(path))?;
        Ok(Self {
            path: shown(path).to_owned(),
            trailers: members.iter().map(|_| OnceLock::new()).collect(),
            members,
            metafile,
            open: Open::default(),
        })
    }

    /// True if a file that begins with `head`, unpacked, may be given as a trace: a metafile, a tar archive or the file
    /// of a rank.
    #[must_use]
    pub fn probe(head: &[u8]) -> bool {
        Metafile::is_one(head) || is_tar(head) || head.starts_with(&MAGIC)
    }

    /// True if the directory `path` has files named as the recorder names them, so that it may be given as a trace.
    #[must_use]
    pub fn is_directory(path: &Path) -> bool {
        let names = names(path).into_iter().flatten();
        names.take(MAX_NAMES).any(|name| rank_file(&name).is_some())
    }

    /// The files of ranks that lie by themselves, in the order of the ranks: none of an archive.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.members.iter().filter_map(Member::own_file)
    }

    /// The path that was given as the trace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// The metafile, if there is one.
    #[must_use]
    pub fn metafile(&self) -> Option<&Metafile> {
        self.metafile.as_ref()
    }

    /// The file of `rank`; `None` for a rank that does not exist.
    #[must_use]
    pub fn file(&self, rank: u32) -> Option<&Path> {
        self.members
            .get(rank as usize)
            .map(|member| &**member.name())
    }

    fn member(&self, rank: u32) -> Result<&Member, Error> {
        self.members.get(rank as usize).ok_or_else(|| {
            Error::set(
                &self.path,
                format!("has no rank {rank}: the last one is {}", self.ranks() - 1),
            )
        })
    }

    /// The trailer behind the calls of `rank` in its file. It is read from the end of the file, of a packed one by unpacking
    /// all of it, and kept.
    ///
    /// # Errors
    /// If there is no such rank, or its file can't be read or is cut short.
    pub fn trailer(&self, rank: u32) -> Result<Arc<Trailer>, Error> {
        let member = self.member(rank)?;
        let Some(known) = self.trailers.get(rank as usize) else {
            return Ok(Arc::new(ending::read(member, rank, &self.open)?));
        };
        if let Some(trailer) = known.get() {
            return Ok(Arc::clone(trailer));
        }
        let trailer = Arc::new(ending::read(member, rank, &self.open)?);
        Ok(Arc::clone(known.get_or_init(|| trailer)))
    }

    /// The calls of `rank` from the start.
    ///
    /// # Errors
    /// As [`Set::trailer`].
    pub fn reader(&self, rank: u32) -> Result<Reader, Error> {
        let trailer = self.trailer(rank)?;
        let member = self.member(rank)?;
        let (encoding, bytes) = member
            .unpacked(&self.open)
            .map_err(|e| Error::io(member.name(), e))?;
        let name = Arc::clone(member.name());
        Ok(Reader::new((name, rank), encoding, bytes, trailer))
    }

    /// The datatypes of `rank` before its first call.
    ///
    /// # Errors
    /// As [`Set::trailer`].
    pub fn types(&self, rank: u32) -> Result<Types, Error> {
        Ok(Types::new(self.trailer(rank)?))
    }
}

enum Content {
    /// The file of a rank, whose name begins with this.
    Rank(String),
    Metafile,
    Tar,
}

/// Most names of a directory that are looked at to tell what it is.
const MAX_NAMES: usize = 1 << 16;

/// Tells what `source` is.
fn content(source: &mut Source) -> Result<Content, Error> {
    loop {
        let (head, eof) = source.buffer();
        if head.len() >= TAR_HEAD || eof {
            break;
        }
        source.more()?;
    }
    let head = source.buffer().0;
    if is_tar(head) {
        return Ok(Content::Tar);
    }
    if Metafile::is_one(head) {
        return Ok(Content::Metafile);
    }
    if head.starts_with(&MAGIC) {
        let name = source.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        return match rank_file(&name).filter(|_| source.path().is_file()) {
            Some((prefix, _)) => Ok(Content::Rank(prefix.to_owned())),
            None => {
                let problem = "is the file of one rank of a DUMPI trace, but is not called `PREFIX-NNNN.bin`, as the files \
                               of all ranks are; give the directory or tar archive that has them";
                Err(Error::set(source.path(), problem))
            }
        };
    }
    match Foreign::of(head) {
        Some(format) => Err(Error::foreign(source.path(), format)),
        None => {
            let problem = "is no DUMPI trace; give its metafile, one of its files, or the directory or tar archive that has them";
            Err(Error::set(source.path(), problem))
        }
    }
}

/// Reads all of a metafile.
fn read_metafile(mut source: Source) -> Result<Metafile, Error> {
    while !source.buffer().1 && source.buffer().0.len() <= MAX_METAFILE {
        source.more()?;
    }
    metafile(source.path(), source.buffer().0)
}

/// The metafile that has these bytes.
fn metafile(path: &Path, bytes: &[u8]) -> Result<Metafile, Error> {
    if bytes.len() > MAX_METAFILE {
        let problem = format!(
            "begins like the metafile of a DUMPI trace, but has more than {MAX_METAFILE} bytes"
        );
        return Err(Error::set(path, problem));
    }
    let text = String::from_utf8_lossy(bytes);
    Metafile::parse(&text).map_err(|e| Error::broken(e.of(&path.into())))
}

/// True if the file of a rank begins like one. One that is empty does: its rank ended early.
fn begins_right(member: &Member, open: &Open) -> Result<bool, Error> {
    let head = || {
        let (encoding, bytes) = member.unpacked(open).map_err(|e| (Default::default(), e))?;
        let mut head = Vec::new();
        let size = MAGIC.len() as u64;
        bytes
            .take(size)
            .read_to_end(&mut head)
            .map_err(|e| (Some(encoding), e))?;
        Ok(MAGIC.starts_with(&head))
    };
    head().map_err(|(encoding, e)| match encoding {
        Some(encoding) => unreadable(member.name(), encoding, e),
        None => Error::io(member.name(), e),
    })
}
