//! The files that were found, and which of them make the trace.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use flitwise_base::quote::quoted;
use flitwise_base::stop::Stop;

use super::{begins_right, metafile};
use crate::archive;
use crate::dumpi::metafile::Metafile;
use crate::error::Error;
use crate::limits::{MAX_METAFILE, MAX_TASKS};
use crate::member::{Member, Open, directory_of};
use crate::source::Source;

/// Traces that a message names at most.
const NAMED: usize = 3;
/// Missing ranks that a message names at most.
const NAMED_RANKS: usize = 5;

/// The files of ranks in a directory or an archive, and metafiles.
#[derive(Debug, Default)]
pub struct Collection {
    /// By what their names begin with, then by rank.
    sets: BTreeMap<String, BTreeMap<u32, Member>>,
    /// By name without the ending.
    metafiles: BTreeMap<String, Metafile>,
    /// The metafile that was given, and its name without the ending.
    given: Option<(String, Metafile)>,
}

/// The prefix of the name of a file of a rank, and the rank; `None` for other names.
pub fn rank_file(name: &str) -> Option<(&str, u32)> {
    let packed = [".gz", ".zst", ".zstd"];
    let plain = packed.iter().find_map(|end| name.strip_suffix(end));
    let (prefix, rank) = plain
        .unwrap_or(name)
        .strip_suffix(".bin")?
        .rsplit_once('-')?;
    let digits = rank.len() >= 4 && rank.bytes().all(|b| b.is_ascii_digit());
    let rank = rank
        .parse()
        .ok()
        .filter(|&rank| digits && rank < MAX_TASKS)?;
    Some((prefix, rank))
}

/// The name of a metafile without its ending; `None` for other names.
pub fn metafile_stem(name: &str) -> Option<&str> {
    name.strip_suffix(".meta")
}

impl Collection {
    /// Adds the file of a rank.
    pub fn add(&mut self, prefix: &str, rank: u32, member: Member) -> Result<(), Error> {
        let set = self.sets.entry(prefix.to_owned()).or_default();
        let Some(first) = set.insert(rank, member) else {
            return Ok(());
        };
        let problem = format!("rank {rank} has another file: remove one of the two");
        Err(Error::set(first.name(), problem))
    }

    /// The files in the archive at `path`, of which `source` gives the unpacked bytes.
    pub fn archive(path: &Path, source: Source, stop: Stop<'_>) -> Result<Self, Error> {
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let wanted = |name: &str| {
            let last = last(name);
            rank_file(&last).is_some() || metafile_stem(&last).is_some()
        };
        let mut found = Self::default();
        for (name, member) in archive::members(path, source, &wanted, stop)? {
            if let Some((prefix, rank)) = rank_file(&name) {
                found.add(prefix, rank, member)?;
            } else if let Some(stem) = metafile_stem(&name) {
                let mut bytes = Vec::new();
                let read = member.raw(0, &Open::default());
                let read = read.take(MAX_METAFILE as u64).read_to_end(&mut bytes);
                read.map_err(|e| Error::io(member.name(), e))?;
                // Another file may have the same ending.
                if Metafile::is_one(&bytes) {
                    found.add_metafile(stem, metafile(member.name(), &bytes)?);
                }
            }
        }
        Ok(found)
    }

    /// Adds a metafile.
    pub fn add_metafile(&mut self, stem: &str, metafile: Metafile) {
        self.metafiles.insert(stem.to_owned(), metafile);
    }

    /// The files in the directory `dir`; of one set only, if `prefix` says which.
    pub fn directory(dir: &Path, prefix: Option<&str>) -> Result<Self, Error> {
        let mut found = Self::default();
        let failed = |e| Error::io(dir, e);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            // A name that is no Unicode is none of a recorder.
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string()
                && (rank_file(&name).is_some() || metafile_stem(&name).is_some())
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in names {
            let path = dir.join(&name);
            if let Some((of, rank)) = rank_file(&name) {
                if prefix.is_none_or(|prefix| prefix == of) {
                    found.add(of, rank, Member::file(path))?;
                }
            } else if let Some(stem) = metafile_stem(&name)
                && prefix.is_none()
                && let Some(meta) = read_metafile(&path)?
            {
                found.add_metafile(stem, meta);
            }
        }
        Ok(found)
    }

    /// The files of the trace to which the file of a rank at `path` belongs, whose name begins with `prefix`.
    pub fn around(path: &Path, prefix: &str) -> Result<Self, Error> {
        let mut found = Self::directory(directory_of(path), None)?;
        found.sets.retain(|name, _| name == prefix);
        Ok(found)
    }

    /// The files of the metafile at `path`, which says `meta`.
    pub fn beside(path: &Path, meta: Metafile) -> Result<Self, Error> {
        let dir = directory_of(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = metafile_stem(&name).unwrap_or(&name).to_owned();
        let mut found = Self::default();
        // Files that were renamed are called like their metafile.
        for prefix in [prefix_of(&meta).map(str::to_owned), Some(stem.clone())]
            .into_iter()
            .flatten()
        {
            found = Self::directory(dir, Some(&prefix))?;
            if !found.sets.is_empty() {
                break;
            }
        }
        found.given = Some((stem, meta));
        Ok(found)
    }

    /// The files of the one trace by rank, and its metafile; `path` was given as the trace.
    pub fn choose(mut self, path: &Path) -> Result<(Vec<Member>, Option<Metafile>), Error> {
        if self.given.is_none() {
            self.drop_others()?;
        }
        let mut sets = std::mem::take(&mut self.sets).into_iter();
        let (prefix, set) = match (sets.next(), sets.next()) {
            (Some(set), None) => set,
            (None, _) => return Err(Error::set(path, self.nothing())),
            (Some((a, _)), Some((b, _))) => {
                let names = [a, b].into_iter().chain(sets.map(|(name, _)| name));
                return Err(Error::set(path, several(names)));
            }
        };
        let metafile = self.metafile_of(&prefix);
        let last = set.keys().last().map_or(0, |&rank| rank + 1);
        let ranks = metafile.as_ref().map_or(last, |meta| meta.numprocs);
        if last > ranks {
            let problem = format!(
                "has a file of rank {}, but the metafile says numprocs={ranks}: correct it, or remove files of another run",
                last - 1
            );
            return Err(Error::set(path, problem));
        }
        let missing = || (0..ranks).filter(|rank| !set.contains_key(rank));
        if missing().next().is_some() {
            let wanted = quoted(&format!("{prefix}-NNNN.bin")).to_string();
            return Err(Error::set(path, lacking(missing(), ranks, &wanted)));
        }
        Ok((set.into_values().collect(), metafile))
    }

    /// Leaves out files that only have a name like the files of a recorder.
    fn drop_others(&mut self) -> Result<(), Error> {
        let open = Open::default();
        let mut others = Vec::new();
        for (prefix, set) in &self.sets {
            if let Some(first) = set.values().next()
                && !begins_right(first, &open)?
            {
                others.push(prefix.clone());
            }
        }
        self.sets.retain(|prefix, _| !others.contains(prefix));
        Ok(())
    }

    /// The metafile of the set with this prefix.
    fn metafile_of(&mut self, prefix: &str) -> Option<Metafile> {
        if let Some((_, meta)) = self.given.take() {
            return Some(meta);
        }
        let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let says = |meta: &Metafile| prefix_of(meta) == last(prefix).as_deref();
        let by_name = self.metafiles.remove(prefix);
        by_name.or_else(|| self.metafiles.values().find(|meta| says(meta)).cloned())
    }

    fn nothing(&self) -> String {
        match &self.given {
            Some((stem, meta)) => {
                let prefix = prefix_of(meta).unwrap_or(stem);
                let prefix = quoted(prefix);
                format!(
                    "no file of a rank is beside the metafile: their names begin with {prefix} and end with `-NNNN.bin`"
                )
            }
            None => "has no files of a DUMPI trace, which are called `PREFIX-NNNN.bin`".to_owned(),
        }
    }
}

/// The prefix of the names of the files, according to a metafile.
fn prefix_of(meta: &Metafile) -> Option<&str> {
    let prefix = meta.file_prefix.as_deref()?;
    prefix
        .rsplit('/')
        .next()
        .filter(|prefix| !prefix.is_empty())
}

/// The metafile at `path`; `None` if it is none after all.
fn read_metafile(path: &Path) -> Result<Option<Metafile>, Error> {
    let mut source = Source::open_regular(path)?;
    while !source.buffer().1 && source.buffer().0.len() <= MAX_METAFILE {
        source.more()?;
    }
    let bytes = source.buffer().0;
    if Metafile::is_one(bytes) {
        metafile(path, bytes).map(Some)
    } else {
        Ok(None)
    }
}

fn several(mut names: impl Iterator<Item = String>) -> String {
    let first: Vec<String> = names
        .by_ref()
        .take(NAMED)
        .map(|name| quoted(&name).to_string())
        .collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    format!(
        "has more than one DUMPI trace: give the metafile of one of them or any one of its files, or move its files to \
         a directory of their own; their names begin with {}{more}",
        first.join(", ")
    )
}

fn lacking(mut missing: impl Iterator<Item = u32>, ranks: u32, wanted: &str) -> String {
    let first: Vec<String> = missing
        .by_ref()
        .take(NAMED_RANKS)
        .map(|rank| rank.to_string())
        .collect();
    let s = if first.len() == 1 { "" } else { "s" };
    let more = match missing.count() {
        0 => String::new(),
        n => format!(" and of {n} more"),
    };
    format!(
        "lacks the file of rank{s} {}{more}, of {ranks} in all, named {wanted}: copy all files of the trace",
        first.join(", ")
    )
}
