//! The streams of a recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::quote::quoted;
use flitwise_base::stop::Stop;

use super::description::{self, Description};
use super::header::{Header, MAGIC};
use super::rank::RankReader;
use super::reader::Reader;
use crate::archive::members;
use crate::error::Error;
use crate::limits::MAX_RECORDING_THREADS;
use crate::member::{Member, Open, directory_of, names, number};
use crate::source::{Input, Source, shown};
use crate::tar_head::{files_in_head, is_tar};

/// The files of a recording.
///
/// It is given as the directory that has them, as one of them, or as a tar archive, plain or packed with gzip or zstd. An
/// archive that is packed or comes from a pipe is unpacked into a file without a name in the directory for temporary files.
/// Files are opened when they are needed, any number of times, and independently of each other.
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
    streams: Vec<Vec<(u32, Member)>>,
    /// Streams of ranks that the recording does not have.
    pub(super) strays: Vec<Arc<Path>>,
    open: Open,
}

/// The rank and the thread in the name of a stream.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (rank, thread) = name.strip_suffix(".calls")?.split_once('.')?;
    Some((number(rank)?, number(thread)?))
}

/// Whether a file of this name may be one of a recording.
fn is_of_recording(name: &str) -> bool {
    name == description::NAME || numbers(name).is_some()
}

/// The files of the recording in the archive at `path`, of which `source` gives the unpacked bytes. As unpacking does, it
/// takes the last of several files of one name.
fn archived(
    path: &Path,
    source: Source,
    stop: Stop<'_>,
) -> Result<BTreeMap<String, Member>, Error> {
    let apart = |name: &str| match name.rsplit_once('/') {
        Some((folder, name)) => (folder.to_owned(), name.to_owned()),
        None => (String::new(), name.to_owned()),
    };
    let wanted = |name: &str| is_of_recording(&apart(name).1);
    let mut folders: BTreeMap<String, BTreeMap<String, Member>> = BTreeMap::new();
    for (name, member) in members(path, source, &wanted, stop)? {
        let (folder, name) = apart(&name);
        folders.entry(folder).or_default().insert(name, member);
    }
    let mut folders = folders.into_iter();
    match (folders.next(), folders.next()) {
        (Some((first, _)), Some((second, _))) => {
            let (first, second) = (quoted(&first), quoted(&second));
            let problem = format!(
                "has recordings in {first} and {second}: unpack it, and give one of the directories"
            );
            Err(Error::set(shown(path), problem))
        }
        (first, _) => Ok(first.map(|(_, files)| files).unwrap_or_default()),
    }
}

/// The cure of files that are missing.
const COPY: &str = "copy the files of all ranks into it: ranks on machines without a common file system write them there";

impl Set {
    /// Finds the files of the recording at `path`.
    ///
    /// # Errors
    /// If there is no recording, or its description is broken.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of_input(&Input::new(path.as_ref()), Stop::never())
    }

    /// The same of an input that may be a stream, which is an archive then.
    ///
    /// # Errors
    /// As [`Set::open`], or if the user stops the reading.
    pub fn of_input(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        let given = input.path();
        if given.is_dir() {
            return Self::of_directory(given, given);
        }
        let mut source = input.open()?;
        if is_tar(source.head()?) {
            return Self::of_files(given, given, archived(given, source, stop)?);
        }
        Self::of_directory(given, directory_of(given))
    }

    fn of_directory(given: &Path, dir: &Path) -> Result<Self, Error> {
        let names = names(dir).map_err(|e| Error::io(dir, e))?;
        let names = names.filter(|name| is_of_recording(name));
        let files = names.map(|name| (name.clone(), Member::file(dir.join(name))));
        Self::of_files(given, dir, files.collect())
    }

    /// The recording of these files in `place`.
    fn of_files(
        given: &Path,
        place: &Path,
        mut files: BTreeMap<String, Member>,
    ) -> Result<Self, Error> {
        let Some(about) = files.remove(description::NAME) else {
            let problem = format!(
                "has streams of a recording, but no `{}`, which rank 0 writes; {COPY}",
                description::NAME
            );
            return Err(Error::set(shown(place), problem));
        };
        let open = Open::default();
        let description = Description::read(&about, &open)?;
        let mut streams = vec![Vec::new(); description.ranks as usize];
        let mut strays = Vec::new();
        for (name, member) in files {
            let Some((rank, thread)) = numbers(&name) else {
                continue;
            };
            match streams.get_mut(rank as usize) {
                Some(threads) => threads.push((thread, member)),
                None => strays.push(Arc::clone(member.name())),
            }
        }
        streams
            .iter_mut()
            .for_each(|threads: &mut Vec<(u32, Member)>| {
                threads.sort_unstable_by_key(|(thread, _)| *thread);
            });
        strays.sort_unstable();
        Ok(Self {
            path: shown(given).to_owned(),
            description,
            streams,
            strays,
            open,
        })
    }

    /// True if a file that begins with `head` is a stream or the description of a recording, or an archive that has one, so
    /// that it may be given as a recording.
    #[must_use]
    pub fn probe(path: &Path, head: &[u8]) -> bool {
        let name = path.file_name().unwrap_or_default();
        let is_file = |name: &[u8], content: &[u8]| {
            content.starts_with(MAGIC)
                || name == description::NAME.as_bytes() && content.starts_with(b"format = ")
        };
        is_file(name.as_encoded_bytes(), head)
            || files_in_head(head).any(|(name, content)| {
                let last = name.rsplit(|&byte| byte == b'/').next();
                is_file(last.unwrap_or_default(), content)
            })
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

    /// The streams of all ranks that lie by themselves: none of an archive.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let streams = self.streams.iter().flatten();
        streams.filter_map(|(_, member)| member.own_file())
    }

    /// The first stream of `rank`; `None` if it has none.
    #[must_use]
    pub fn file(&self, rank: u32) -> Option<&Arc<Path>> {
        let threads = self.streams.get(rank as usize)?;
        threads.first().map(|(_, member)| member.name())
    }

    /// The stream of a thread; `None` if there is none.
    #[must_use]
    pub fn stream(&self, rank: u32, thread: u32) -> Option<&Arc<Path>> {
        let mut threads = self.streams.get(rank as usize)?.iter();
        let found = threads.find(|(n, _)| *n == thread);
        found.map(|(_, member)| member.name())
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
        for (expected, (thread, member)) in (0..).zip(threads) {
            if *thread != expected {
                return lacks(format!(
                    "`{rank}.{expected}.calls`, a stream of rank {rank}"
                ));
            }
            let reader = Reader::of_member(member, &self.open, self.description.finalised)?;
            self.belongs(member.name(), reader.header(), (rank, *thread))?;
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
