//! A trace from named streams, such as the members of an archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::Problem;
use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use super::demux::{demux, source_blocks};
use super::folder::in_order;
use super::lanes::{LanePlace, LanesWriter};
use super::list::{self, Entry};
use super::reader::{RankBytes, RankFile};
use super::trace::{Form, Trace};
use crate::error::{Error, ErrorKind};
use crate::limits::{BLOCK, MAX_TASKS};
use crate::source::Source;

/// Makes a trace from any number of named streams, in any order: the list of the files of a trace and these files, or
/// one file with the lines of all ranks. They are kept in a file without a name in the directory for temporary files.
///
/// # Examples
/// ```
/// use flitwise_formats::Source;
/// use flitwise_formats::ti::Set;
///
/// let dir = tempfile::tempdir()?;
/// let mut set = Set::new("job.tar".as_ref())?;
/// for (name, text) in [
///     ("job/1.txt", "1 init\n1 finalize\n"),
///     ("job.txt", "job/0.txt\njob/1.txt\n"),
///     ("job/0.txt", "0 init\n0 finalize\n"),
/// ] {
///     let path = dir.path().join("member");
///     std::fs::write(&path, text)?;
///     set.add(name, Source::open(&path)?)?;
/// }
/// let trace = set.finish()?;
/// assert_eq!((trace.ranks(), trace.rank(1)?.count()), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Set {
    path: Arc<Path>,
    writer: LanesWriter,
    /// Lanes by the names of their streams.
    names: HashMap<String, usize>,
    /// The first list of files, and its name.
    list: Option<(String, Vec<Entry>)>,
    /// Texts that are a list if one of their words is the name of a stream.
    words: Vec<(String, Vec<Entry>)>,
}

/// Most texts that are kept because they may be a list.
const MAX_WORDS: usize = 16;

/// Lanes by name.
struct Names {
    full: HashMap<String, usize>,
    /// By what follows their last `/`; `None` if several have it.
    last: HashMap<String, Option<usize>>,
}

impl Names {
    fn new(full: HashMap<String, usize>) -> Self {
        let mut by_last = HashMap::new();
        for (name, &lane) in &full {
            let of = by_last.entry(last(name).to_owned());
            of.and_modify(|lane| *lane = None).or_insert(Some(lane));
        }
        Self {
            full,
            last: by_last,
        }
    }

    /// The lane of a stream that a list with the name `list` names.
    fn find(&self, list: &str, entry: &Entry) -> Option<usize> {
        let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = bare(entry);
        let beside = format!("{folder}/{name}");
        let found = (self.full.get(beside.trim_start_matches('/')))
            .or_else(|| self.full.get(name))
            .copied();
        found.or_else(|| self.last.get(last(name)).copied().flatten())
    }

    /// How well a text of words fits as a list: 2 if each word is the name of a stream, 1 if one is.
    fn fit(&self, (list, entries): &(String, Vec<Entry>)) -> u8 {
        let mut found = entries.iter().map(|e| self.find(list, e).is_some());
        match (found.clone().all(|is| is), found.any(|is| is)) {
            (true, _) => 2,
            (_, true) => 1,
            _ => 0,
        }
    }
}

fn bare(entry: &Entry) -> &str {
    entry.name.trim_start_matches("./")
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

impl Set {
    /// No streams yet, of what messages call `path`.
    ///
    /// # Errors
    /// If a temporary file can't be created.
    pub fn new(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.into(),
            writer: LanesWriter::new(path)?,
            names: HashMap::new(),
            list: None,
            words: Vec::new(),
        })
    }

    fn refused(&self, message: impl Into<String>) -> Error {
        Error::broken(Problem::whole(&self.path, message))
    }

    fn member(path: &Path, name: &str) -> Arc<Path> {
        Path::new(&format!("{}:{name}", path.display())).into()
    }

    /// Adds a stream, plain or packed, and reads it to its end.
    ///
    /// # Errors
    /// If it can't be read, or is a second list.
    pub fn add(&mut self, name: &str, mut source: Source) -> Result<(), Error> {
        if list::form(source.head()?) == Form::List {
            if let Some((first, _)) = &self.list {
                let message = format!(
                    "has two lists of files, `{first}` and `{name}`; give one trace at a time"
                );
                return Err(self.refused(message));
            }
            self.list = Some((name.to_owned(), list::read(source)?));
            return Ok(());
        }
        let lane = self.writer.len();
        if lane > MAX_TASKS as usize {
            return Err(self.refused(format!("has more than {MAX_TASKS} files")));
        }
        self.writer.make(lane);
        self.names.insert(name.to_owned(), lane);
        let mut blocks = source_blocks(source);
        let mut buf = Vec::new();
        while blocks(&mut buf)? {
            self.writer.add(lane, &[&buf])?;
            buf.clear();
        }
        Ok(())
    }

    /// Adds a text of one word on each line, which may be the list, and reads it to its end.
    pub(super) fn add_words(&mut self, name: &str, source: Source) -> Result<(), Error> {
        if self.words.len() == MAX_WORDS {
            return Ok(());
        }
        match list::read(source) {
            Ok(entries) => self.words.push((name.to_owned(), entries)),
            // It is another text.
            Err(e) if matches!(e.kind(), ErrorKind::Broken(_)) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// The trace. Names in its list are relative to the folder of the list; where there is no such stream, they are
    /// taken as full names, and then by what follows their last `/`.
    ///
    /// # Errors
    /// If a file of the list is missing, or there is none and several files whose names don't say their order.
    pub fn finish(self) -> Result<Trace, Error> {
        let Self {
            path,
            writer,
            names,
            list,
            words,
        } = self;
        let names = Names::new(names);
        let fits = |least: u8| words.iter().position(|text| names.fit(text) >= least);
        let words = match fits(2).or_else(|| fits(1)) {
            Some(at) => words.into_iter().nth(at),
            None => None,
        };
        let Some((list, entries)) = list.or(words) else {
            return Self::without_list(path, writer, &names.full);
        };
        let lanes = Arc::new(writer.finish()?);
        let mut files = Vec::with_capacity(entries.len());
        for entry in &entries {
            let Some(lane) = names.find(&list, entry) else {
                let list = Self::member(&path, &list);
                return Err(list::missing(&list, entry, "the archive"));
            };
            files.push(RankFile {
                path: Self::member(&path, bare(entry)),
                bytes: RankBytes::Lane(Arc::clone(&lanes), lane),
            });
        }
        Ok(Trace::of_files(path, files))
    }

    /// The trace of a set without a list: its only file, or one for each rank, in the order of the numbers in their names.
    fn without_list(
        path: Arc<Path>,
        writer: LanesWriter,
        names: &HashMap<String, usize>,
    ) -> Result<Trace, Error> {
        if names.len() == 1 {
            return Self::only(&path, writer, names);
        }
        let mut files: Vec<PathBuf> = names.keys().map(PathBuf::from).collect();
        files.sort_unstable();
        let files = in_order(&files, "is an archive", &|_| false)
            .map_err(|why| Error::broken(Problem::whole(&path, why)))?;
        let lanes = Arc::new(writer.finish()?);
        let of = |file: &PathBuf| {
            let name = file.to_str()?;
            Some(RankFile {
                path: Self::member(&path, name),
                bytes: RankBytes::Lane(Arc::clone(&lanes), *names.get(name)?),
            })
        };
        let files = files.iter().filter_map(of).collect();
        Ok(Trace::of_files(path, files))
    }

    /// The trace in the only file.
    fn only(
        path: &Arc<Path>,
        writer: LanesWriter,
        names: &HashMap<String, usize>,
    ) -> Result<Trace, Error> {
        let lanes = writer.finish()?;
        let mut place = LanePlace::default();
        let mut blocks = |out: &mut Vec<u8>| lanes.read(0, &mut place, BLOCK, out);
        let name = names.keys().next().map_or("", String::as_str);
        let member = Self::member(path, name);
        let writer = demux(&member, &mut blocks, Stop::never())?;
        Trace::of_lanes(&member, writer)
    }
}
