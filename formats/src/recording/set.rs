//! The streams of a recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};

use super::description::{self, Description};
use super::header::{Header, MAGIC};
use super::rank::RankReader;
use super::reader::Reader;
use crate::error::Error;
use crate::limits::MAX_RECORDING_THREADS;

/// The files of a recording.
///
/// It is given as the directory that has them, or as one of them. Files are opened when they are needed, any number of
/// times, and independently of each other.
///
/// # Examples
/// ```no_run
/// use flitwise_formats::recording::{Item, Set};
///
/// let set = Set::open("recording")?;
/// for rank in 0..set.ranks() {
///     let mut calls = 0;
///     let mut reader = set.reader(rank)?;
///     while let Some(call) = reader.next(|_, item| matches!(item, Item::Call(_)))? {
///         calls += u64::from(call);
///     }
///     println!("rank {rank} made {calls} calls");
/// }
/// # Ok::<(), flitwise_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Set {
    path: PathBuf,
    description: Description,
    /// By rank: the number of each thread, and its stream.
    streams: Vec<Vec<(u32, Arc<Path>)>>,
    /// Streams of ranks that the recording does not have.
    pub(super) strays: Vec<Arc<Path>>,
}

/// The rank and the thread in the name of a stream.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (rank, thread) = name.strip_suffix(".calls")?.split_once('.')?;
    let number = |digits: &str| {
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| are_digits)?;
        // One name for each number.
        (u32::to_string(&number) == digits).then_some(number)
    };
    Some((number(rank)?, number(thread)?))
}

/// The names in a directory.
fn names(dir: &Path) -> std::io::Result<impl Iterator<Item = String>> {
    let entries = std::fs::read_dir(dir)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}

/// The cure of files that are missing.
const COPY: &str = "copy the files of all ranks into it: ranks on machines without a common file system write them there";

impl Set {
    /// Finds the files of the recording at `path`.
    ///
    /// # Errors
    /// If there is no recording, or its description is broken.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let given = path.as_ref();
        let dir = if given.is_dir() {
            given
        } else {
            match given.parent() {
                Some(dir) if !dir.as_os_str().is_empty() => dir,
                _ => Path::new("."),
            }
        };
        let about = dir.join(description::NAME);
        if !about.exists() {
            let problem = format!(
                "has streams of a recording, but no `{}`, which rank 0 writes; {COPY}",
                description::NAME
            );
            return Err(Error::set(dir, problem));
        }
        let description = Description::read(&about)?;
        let mut streams = vec![Vec::new(); description.ranks as usize];
        let mut strays = Vec::new();
        for name in names(dir).map_err(|e| Error::io(dir, e))? {
            let Some((rank, thread)) = numbers(&name) else {
                continue;
            };
            let path: Arc<Path> = dir.join(&name).into();
            match streams.get_mut(rank as usize) {
                Some(threads) => threads.push((thread, path)),
                None => strays.push(path),
            }
        }
        streams
            .iter_mut()
            .for_each(|threads| threads.sort_unstable());
        strays.sort_unstable();
        Ok(Self {
            path: given.to_owned(),
            description,
            streams,
            strays,
        })
    }

    /// True if a file that begins with `head` is a stream or the description of a recording, so that it may be given as
    /// one.
    #[must_use]
    pub fn probe(path: &Path, head: &[u8]) -> bool {
        head.starts_with(MAGIC)
            || path
                .file_name()
                .is_some_and(|name| name == description::NAME)
                && head.starts_with(b"format = ")
    }

    /// True if the directory `path` has files named as the recorder names them, so that it may be given as a recording.
    #[must_use]
    pub fn is_directory(path: &Path) -> bool {
        path.join(description::NAME).is_file()
            || names(path).is_ok_and(|names| {
                let mut names = names.take(MAX_NAMES);
                names.any(|name| numbers(&name).is_some())
            })
    }

    /// The path that was given as the recording.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The facts about all of it.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.description.ranks
    }

    /// The streams of all ranks.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.streams.iter().flatten().map(|(_, path)| &**path)
    }

    /// The first stream of `rank`; `None` if it has none.
    #[must_use]
    pub fn file(&self, rank: u32) -> Option<&Arc<Path>> {
        let threads = self.streams.get(rank as usize)?;
        threads.first().map(|(_, path)| path)
    }

    /// The stream of a thread; `None` if there is none.
    #[must_use]
    pub fn stream(&self, rank: u32, thread: u32) -> Option<&Arc<Path>> {
        let mut threads = self.streams.get(rank as usize)?.iter();
        threads.find(|(n, _)| *n == thread).map(|(_, path)| path)
    }

    /// The calls of `rank` from the start.
    ///
    /// # Errors
    /// If there is no such rank, or a stream of it is missing, is of another run, or can't be read.
    pub fn reader(&self, rank: u32) -> Result<RankReader, Error> {
        let lacks = |what: String| Err(Error::set(&self.path, format!("lacks {what}; {COPY}")));
        let Some(threads) = self.streams.get(rank as usize) else {
            let last = self.ranks() - 1;
            let problem = format!("has no rank {rank}: the last one is {last}");
            return Err(Error::set(&self.path, problem));
        };
        if threads.is_empty() {
            return lacks(format!("`{rank}.0.calls`, the stream of rank {rank}"));
        }
        if threads.len() > MAX_RECORDING_THREADS {
            let problem = format!(
                "has {} streams of rank {rank}; at most {MAX_RECORDING_THREADS} are read",
                threads.len()
            );
            return Err(Error::set(&self.path, problem));
        }
        let mut readers = Vec::with_capacity(threads.len());
        for (expected, (thread, path)) in (0..).zip(threads) {
            if *thread != expected {
                return lacks(format!(
                    "`{rank}.{expected}.calls`, a stream of rank {rank}"
                ));
            }
            let reader = Reader::open(path)?;
            self.belongs(path, reader.header(), (rank, *thread))?;
            readers.push(reader);
        }
        Ok(RankReader::new(readers))
    }

    /// Checks that a stream is the one that its name says.
    fn belongs(
        &self,
        path: &Arc<Path>,
        header: &Header,
        (rank, thread): (u32, u32),
    ) -> Result<(), Error> {
        let wrong =
            |at, message: String| Err(Error::broken(PlaceError::byte(at, message).of(path)));
        if header.run != self.description.run {
            let message = "is of another run than the rest of the recording: remove it, or copy the files of one run";
            return Err(Error::broken(Problem::whole(path, message)));
        }
        if (header.rank, header.thread) != (rank, thread) {
            let (rank, thread) = (header.rank, header.thread);
            let message =
                format!("this is thread {thread} of rank {rank}: call it `{rank}.{thread}.calls`");
            return wrong(12, message);
        }
        if header.ranks != self.ranks() {
            let message = format!(
                "the program has {} ranks, but `{}` says {}: copy the files of one run",
                header.ranks,
                description::NAME,
                self.ranks()
            );
            return wrong(20, message);
        }
        Ok(())
    }
}

/// Most names of a directory that are looked at to tell what it is.
const MAX_NAMES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn names_have_a_rank_and_a_thread() {
        assert_eq!(numbers("12.0.calls"), Some((12, 0)));
        for other in [
            "1.calls",
            "01.0.calls",
            "1.0.call",
            "+1.0.calls",
            "a.0.calls",
            "1.0.2.calls",
            ".0.calls",
        ] {
            assert_eq!(numbers(other), None, "{other}");
        }
    }
}
