//! A trace, whatever its form, of which every rank can be read by itself and several times.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::stop::Stop;

use super::archive;
use super::demux::{demux, name_of, source_blocks};
use super::folder;
use super::lanes::LanesWriter;
use super::list::{self, Entry};
use super::proc_null::ProcNull;
use super::reader::{Actions, RankBytes, RankFile};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::source::{Encoding, Input, Source, open_regular};

/// How a trace is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A list of files, one for each rank.
    List,
    /// One file with the lines of all ranks.
    OneFile,
    /// A tar archive with either.
    Archive,
}

/// The form of the trace at `path` whose unpacked content begins with `head`; `None` if it is none. A list of names
/// that could be any words is recognised by a file that it names.
#[must_use]
pub fn probe(path: &Path, head: &[u8]) -> Option<Form> {
    if archive::probe(head) {
        return Some(Form::Archive);
    }
    probe_text(head).or_else(|| list::lists_actions(path, head).then_some(Form::List))
}

/// The form of what is no archive.
pub(super) fn probe_text(head: &[u8]) -> Option<Form> {
    match Foreign::of(head) {
        Some(Foreign::Ti) => Some(list::form(head)),
        _ => None,
    }
}

/// A trace that can be read rank by rank, any number of times.
///
/// The file of a rank that is not packed is read where it is. Packed ones, and a file with the lines of all ranks, are
/// read once, from start to end, and kept rank by rank in a file without a name in the directory for temporary files.
/// In memory are the names of the files, and of the file without a name 16 bytes for each piece of up to 64 KiB.
/// Clones share the files.
///
/// A trace that [`check_input`](super::check_input) returns leaves out the receives that are from `MPI_PROC_NULL`.
///
/// # Examples
/// ```
/// use flitwise_formats::ti::{Action, Trace};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("pair.txt");
/// std::fs::write(&path, "0 init\n1 init\n0 send 1 7 64\n1 recv 0 7 64\n0 finalize\n1 finalize\n")?;
///
/// let trace = Trace::open(&path)?;
/// assert_eq!(trace.ranks(), 2);
/// let mut actions = trace.rank(1)?;
/// assert_eq!(actions.next_action()?, Some((2, Action::Init)));
/// let (line, recv) = actions.next_action()?.expect("a second action");
/// assert_eq!((line, recv.name()), (4, "recv"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    path: Arc<Path>,
    form: Form,
    /// Those in which the trace is, if it is given by their list or their directory.
    files: Arc<[PathBuf]>,
    ranks: Arc<[RankFile]>,
    /// Lines have their number in place of the rank.
    numbered: bool,
    /// Receives that get no message, once a check has found them.
    proc_null: Arc<ProcNull>,
}

impl Trace {
    /// Opens a trace by its list of files, its only file, the directory that has one of these, or a tar archive; plain,
    /// gzip or zstd, the files of ranks too.
    ///
    /// Names in a list are relative to the folder of the list. Where there is no such file, the folder above is tried,
    /// since SimGrid takes them as relative to the folder in which it runs, and then the folder of the list without the
    /// folders in the name.
    ///
    /// # Errors
    /// If a file can't be read or is not there, or is of another format. What is wrong in a line is said when its rank
    /// is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let input = Input::new(path.as_ref());
        Self::read(&input, Stop::never())
    }

    /// The same for an input.
    ///
    /// # Errors
    /// As [`Trace::open`], or if the user stops the reading.
    pub fn read(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        if input.path().is_dir() {
            return folder::read(input.path(), stop);
        }
        let mut source = input.open()?;
        let head = source.head()?;
        if archive::probe(head) {
            return archive::read(source, stop);
        }
        let foreign = Foreign::of(head).filter(|format| *format != Foreign::Ti);
        if let Some(format) = foreign {
            return Err(Error::foreign(source.path(), format));
        }
        let form = list::form(head);
        let path: Arc<Path> = source.path().into();
        match form {
            Form::OneFile | Form::Archive => Self::one_file(&path, source, stop),
            Form::List => {
                let entries = list::read(source)?;
                let places = list::resolve(&path, &entries)?;
                match &places[..] {
                    [only] => {
                        let trace =
                            Self::one_file(&(**only).into(), Source::open_regular(only)?, stop)?;
                        Ok(trace.in_files(places))
                    }
                    _ => Self::list(path, &entries, &places, stop),
                }
            }
        }
    }

    fn one_file(path: &Arc<Path>, source: Source, stop: Stop<'_>) -> Result<Self, Error> {
        Self::of_lanes(path, demux(path, &mut source_blocks(source), stop)?)
    }

    pub(super) fn of_lanes(path: &Arc<Path>, writer: LanesWriter) -> Result<Self, Error> {
        let ranks = writer.len();
        if let Some(missing) = (0..ranks).find(|&lane| writer.is_empty(lane)) {
            let last = ranks - 1;
            let message = if (0..last).all(|lane| writer.is_empty(lane)) {
                format!(
                    "has lines of rank {last} alone; if other files have the lines of the other ranks, give the list of the files or their directory; otherwise number the ranks from 0"
                )
            } else {
                format!(
                    "has lines of rank {last}, but none of rank {missing}; ranks are numbered from 0: correct the first \
                     column"
                )
            };
            return Err(Error::broken(Problem::whole(path, message)));
        }
        let lanes = Arc::new(writer.finish()?);
        let file = |lane| RankFile {
            path: Arc::clone(path),
            bytes: RankBytes::Lane(Arc::clone(&lanes), lane),
        };
        Ok(Self {
            path: Arc::clone(path),
            form: Form::OneFile,
            files: Arc::new([]),
            ranks: (0..ranks).map(file).collect(),
            numbered: true,
            proc_null: Arc::default(),
        })
    }

    pub(super) fn of_files(path: Arc<Path>, ranks: Vec<RankFile>) -> Self {
        Self {
            path,
            form: Form::List,
            files: Arc::new([]),
            ranks: ranks.into(),
            numbered: false,
            proc_null: Arc::default(),
        }
    }

    /// The same without these receives from `MPI_PROC_NULL`.
    pub(super) fn without(self, proc_null: ProcNull) -> Self {
        let proc_null = Arc::new(proc_null);
        Self { proc_null, ..self }
    }

    pub(super) fn in_files(self, files: Vec<PathBuf>) -> Self {
        let files = files.into();
        Self { files, ..self }
    }

    pub(super) fn list(
        path: Arc<Path>,
        entries: &[Entry],
        places: &[PathBuf],
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let mut packed = Vec::new();
        for (rank, place) in places.iter().enumerate() {
            if rank % 1024 == 0 {
                stop.check()?;
            }
            // Says as well that a file can't be read.
            let plain = is_plain(place).map_err(|e| {
                let message = format!(
                    "the file of rank {rank}, `{}`, can't be read: {e}",
                    name_of(place)
                );
                Error::broken(PlaceError::line(entries[rank].line, message).of(&path))
            })?;
            packed.push(!plain);
        }
        let mut writer = None;
        for (lane, place) in places.iter().enumerate().filter(|(rank, _)| packed[*rank]) {
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(LanesWriter::new(&path)?),
            };
            writer.make(lane);
            let mut blocks = source_blocks(Source::open_regular(place)?);
            let mut buf = Vec::new();
            loop {
                stop.check()?;
                buf.clear();
                if !blocks(&mut buf)? {
                    break;
                }
                writer.add(lane, &[&buf])?;
            }
        }
        let lanes = writer.map(LanesWriter::finish).transpose()?.map(Arc::new);
        let ranks = places.iter().zip(packed).enumerate();
        let files = ranks.map(|(rank, (place, packed))| RankFile {
            path: place.as_path().into(),
            bytes: match &lanes {
                Some(lanes) if packed => RankBytes::Lane(Arc::clone(lanes), rank),
                _ => RankBytes::File,
            },
        });
        let trace = Self::of_files(Arc::clone(&path), files.collect());
        Ok(trace.in_files(places.to_vec()))
    }

    /// The path of the list of files, or of the only file.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// How it is stored.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The files that it is in besides the one by which it is given, in the order of ranks.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The file that a rank is in.
    #[must_use]
    pub fn path_of(&self, rank: u32) -> &Arc<Path> {
        self.ranks
            .get(rank as usize)
            .map_or(&self.path, |f| &f.path)
    }

    /// The actions of a rank.
    ///
    /// # Errors
    /// If there is no such rank.
    pub fn rank(&self, rank: u32) -> Result<Actions, Error> {
        let Some(file) = self.ranks.get(rank as usize) else {
            let message = format!("there is no rank {rank}");
            return Err(Error::broken(Problem::whole(&self.path, message)));
        };
        let actions = Actions::new(file, rank, self.ranks(), self.numbered);
        Ok(actions.without(&self.proc_null))
    }
}

/// Whether the bytes at `path` are lines that can be read any number of times: not packed.
fn is_plain(path: &Path) -> std::io::Result<bool> {
    use std::io::Read;
    let mut start = Vec::new();
    open_regular(path)?.take(4).read_to_end(&mut start)?;
    Ok(Encoding::of(&start) == Encoding::Plain)
}
