//! The files of an archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::quote::quoted;
use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use super::anchor::Anchor;
use super::called::Called;
use super::comm::{Comms, View};
use super::definitions::{Definitions, Location};
use super::event::{is_single, is_wanted};
use super::files::Files;
use super::find;
use super::local::Local;
use super::reader::Reader;
use super::records::{Layout, Records};
use crate::error::Error;
use crate::source::{Input, shown};

/// The files of an archive: its definitions, and the events of each location.
///
/// It is given as its anchor file, or as the directory that has it. Files of events are opened when they are needed, any
/// number of times, and independently of each other.
///
/// # Examples
/// ```no_run
/// use flitwise_formats::otf2::{Archive, Event};
///
/// let archive = Archive::open("scorep-20261127_0312/traces.otf2")?;
/// for rank in 0..archive.ranks() {
///     let mut sent = 0;
///     let mut events = archive.reader(rank)?;
///     while let Some(next) = events.next_event()? {
///         if let Event::Send(message) | Event::Isend(message, _) = next.event {
///             sent += message.bytes;
///         }
///     }
///     println!("rank {rank} sent {sent} bytes");
/// }
/// # Ok::<(), flitwise_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    anchor: Anchor,
    definitions: Definitions,
    comms: Comms,
    ranks: Vec<Location>,
    threads: Vec<(u32, Location)>,
    called: Arc<HashMap<u32, Called>>,
    files: Files,
}

impl Archive {
    /// Opens the archive at `path`, its anchor file or its directory, and reads its definitions.
    ///
    /// # Errors
    /// If there is no archive or more than one, it was not finished, it is no recording of MPI, a file is missing or damaged,
    /// or it is packed with SIONlib.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of_path(path.as_ref(), Stop::never())
    }

    /// The same of an input.
    ///
    /// # Errors
    /// As [`Archive::open`], if the input is a stream, or if the user stops the reading.
    pub fn of_input(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        Self::of_path(input.path(), stop)
    }

    /// True if a file that begins with `head` is an anchor file.
    #[must_use]
    pub fn probe(head: &[u8]) -> bool {
        Anchor::probe(head)
    }

    /// True if the directory `path` has an archive, finished or not.
    #[must_use]
    pub fn is_directory(path: &Path) -> bool {
        find::has_archive(path)
    }

    fn of_path(path: &Path, stop: Stop<'_>) -> Result<Self, Error> {
        let given = if path.is_dir() {
            find::anchor_in(path)?
        } else {
            path.to_owned()
        };
        if !given.is_file() {
            let problem =
                "an OTF2 archive has several files: give the path of its anchor file, no pipe";
            return Err(Error::set(shown(path), problem));
        }
        let anchor = Anchor::read(&given)?;
        let mut files = Files::beside(&given);
        let chunk = anchor.event_chunk.max(anchor.definition_chunk);
        let global = files.global();
        if anchor.zlib {
            files.unpack(std::slice::from_ref(&global), chunk, stop)?;
        }
        let bytes = files.bytes(&global)?;
        let layout = Definitions::layout(anchor.definition_chunk);
        let mut records = Records::new(global.as_path().into(), bytes, layout);
        let definitions = Definitions::read(&mut records)?;
        let wrong = |problem| Error::set(&given, problem);
        let ranks = definitions.ranks().map_err(wrong)?;
        let comms = definitions.comms(ranks.len() as u32).map_err(wrong)?;
        if definitions.ticks_per_second == 0 {
            return Err(wrong(
                "has no definition of its clock; record the program again".to_owned(),
            ));
        }
        let threads = threads(&definitions, &ranks);
        if anchor.zlib {
            let all = ranks.iter().chain(threads.iter().map(|(_, thread)| thread));
            let all = all
                .flat_map(|location| [files.definitions(location.id), files.events(location.id)]);
            let all: Vec<PathBuf> = all.filter(|file| file.exists()).collect();
            files.unpack(&all, chunk, stop)?;
        }
        Ok(Self {
            called: Arc::new(definitions.all_called()),
            path: given,
            anchor,
            definitions,
            comms,
            ranks,
            threads,
            files,
        })
    }

    /// The anchor file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of the anchor file.
    #[must_use]
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Its definitions.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Its communicators.
    #[must_use]
    pub fn comms(&self) -> &Comms {
        &self.comms
    }

    /// The communicators as `rank` sees them.
    #[must_use]
    pub fn view(&self, rank: u32) -> View {
        View::new(rank, self.ranks())
    }

    /// The kind of the region with this number.
    #[must_use]
    pub fn called(&self, region: u32) -> Called {
        self.called
            .get(&region)
            .copied()
            .unwrap_or(Called::Computation)
    }

    /// The name of a region as messages show it.
    #[must_use]
    pub fn region(&self, region: u32) -> String {
        match self.definitions.region_name(region) {
            Some(name) => quoted(name).to_string(),
            None => format!("region {region}"),
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.ranks.len()).unwrap_or(u32::MAX)
    }

    /// The location of a rank.
    #[must_use]
    pub fn location(&self, rank: u32) -> Option<&Location> {
        self.ranks.get(rank as usize)
    }

    /// The other threads of the ranks, each with its rank.
    #[must_use]
    pub fn threads(&self) -> &[(u32, Location)] {
        &self.threads
    }

    /// The file of the events of a location.
    #[must_use]
    pub fn event_file(&self, location: u64) -> PathBuf {
        self.files.events(location)
    }

    /// All files besides the anchor file: the definitions, and the events of each rank.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let of_ranks = self.ranks.iter().flat_map(|location| {
            [
                self.files.definitions(location.id),
                self.files.events(location.id),
            ]
        });
        std::iter::once(self.files.global())
            .chain(of_ranks)
            .filter(|file| file.exists())
    }

    /// The events of a rank from their start.
    ///
    /// # Errors
    /// If its files can't be read.
    pub fn reader(&self, rank: u32) -> Result<Reader, Error> {
        match self.location(rank) {
            Some(location) => self.reader_of(location),
            None => Err(Error::set(&self.path, format!("has no rank {rank}"))),
        }
    }

    /// The events of a location from their start.
    ///
    /// # Errors
    /// If its files can't be read.
    pub fn reader_of(&self, location: &Location) -> Result<Reader, Error> {
        let path: Arc<Path> = self.files.events(location.id).into();
        if !path.exists() {
            return if location.events == 0 {
                Ok(Reader::empty(path))
            } else {
                let problem = format!(
                    "lacks {}, the events of a location: copy all files of the archive",
                    quoted(&path.display().to_string())
                );
                Err(Error::set(&self.path, problem))
            };
        }
        let local = self.local(location.id)?;
        let layout = Layout {
            chunk: self.anchor.event_chunk,
            events: true,
            single: is_single,
            wanted: is_wanted,
        };
        let bytes = self.files.bytes(&path)?;
        Ok(Reader::new(Records::new(path, bytes, layout), local))
    }

    fn local(&self, location: u64) -> Result<Local, Error> {
        let path = self.files.definitions(location);
        if !path.exists() {
            return Ok(Local::default());
        }
        let layout = Local::layout(self.anchor.definition_chunk);
        let bytes = self.files.bytes(&path)?;
        Local::read(&mut Records::new(path.into(), bytes, layout))
    }
}

/// The threads that are in the processes of the ranks and no rank's own location.
fn threads(definitions: &Definitions, ranks: &[Location]) -> Vec<(u32, Location)> {
    let processes: HashMap<u32, (u32, u64)> = (0..)
        .zip(ranks)
        .map(|(rank, location)| (location.process, (rank, location.id)))
        .collect();
    let all = definitions.locations().iter().filter(|l| l.is_thread);
    all.filter_map(|location| {
        let &(rank, own) = processes.get(&location.process)?;
        let is_rank = ranks.len() > processes.len();
        (location.id != own && !is_rank).then_some((rank, *location))
    })
    .collect()
}
