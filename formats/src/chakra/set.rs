//! The files of a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::{Place, Problem};
use flitwise_base::quote::quoted;
use flitwise_base::stop::Stop;

use super::node::Node;
use super::reader::Reader;
use crate::archive::members;
use crate::error::Error;
use crate::limits::{MAX_CHAKRA_NODE, MAX_TASKS};
use crate::member::{Member, Open, directory_of, names, number};
use crate::source::{Input, Source, shown};
use crate::tar_head::{files_in_head, is_tar};

/// The files of a trace: `NAME.RANK.et` or `NAME.RANK.json`, plain or packed with gzip or zstd, of ranks from 0.
///
/// It is given as the directory that has them, as one of them, or as a tar archive. `NAME.json` or `comm_group.json` beside them
/// has the ranks of process groups.
///
/// The nodes may also be made of files in another format.
#[derive(Debug)]
pub struct Set {
    path: PathBuf,
    nodes: Nodes,
}

/// Where the nodes are.
#[derive(Debug)]
enum Nodes {
    Files {
        ranks: Vec<Member>,
        groups: Option<Member>,
        open: Open,
    },
    Made {
        ranks: Vec<MadeRank>,
        groups: BTreeMap<String, Vec<u32>>,
        missing: u64,
    },
}

/// A rank whose nodes were made of a file in another format.
#[derive(Debug)]
pub struct MadeRank {
    /// The name of the file.
    pub file: Arc<Path>,
    /// The file, if it is one by itself.
    pub own_file: Option<PathBuf>,
    /// The nodes, each with the offset of what it was made of.
    pub nodes: Vec<(u64, Node)>,
}

/// The name of a trace, and whether its files are JSON.
type Key = (String, bool);

/// The trace that a file of this name belongs to, and its rank.
fn numbered(name: &str) -> Option<(Key, u32)> {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    let (stem, is_json) = match (name.strip_suffix(".et"), name.strip_suffix(".json")) {
        (Some(stem), _) => (stem, false),
        (_, Some(stem)) => (stem, true),
        _ => return None,
    };
    let (trace, digits) = stem.rsplit_once('.')?;
    Some(((trace.to_owned(), is_json), number(digits)?))
}

/// Whether a text begins like nodes.
fn has_nodes(head: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    first == Some(&b'{') && (has(b"_NODE\"") || has(b"\"NodeType\"") || has(b"\"workload_graph\""))
}

fn is_groups(name: &str) -> bool {
    name.ends_with(".json") && numbered(name).is_none()
}

/// The last part of a name in an archive or of a path.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

impl Set {
    /// Finds the files of the trace at `input`, which may be a stream of an archive.
    ///
    /// # Errors
    /// If there are none, files of ranks are missing, or there are several traces; if the user stops the reading.
    pub fn of_input(input: &Input, stop: Stop<'_>) -> Result<Self, Error> {
        let given = input.path();
        let wanted = |name: &str| numbered(last(name)).is_some() || is_groups(last(name));
        if given.is_dir() {
            return Self::of_directory(given, given, None);
        }
        let mut source = input.open()?;
        if is_tar(source.head()?) {
            let found = members(given, source, &wanted, stop)?;
            let files = found
                .into_iter()
                .map(|(name, member)| (last(&name).to_owned(), member));
            return Self::of_files(given, files.collect(), None);
        }
        let name = given.file_name().unwrap_or_default().to_string_lossy();
        let key = numbered(&name).map(|(key, _)| key);
        Self::of_directory(given, directory_of(given), key)
    }

    fn of_directory(given: &Path, dir: &Path, key: Option<Key>) -> Result<Self, Error> {
        let names = names(dir).map_err(|e| Error::io(dir, e))?;
        let files = names.map(|name| (name.clone(), Member::file(dir.join(name))));
        Self::of_files(given, files.collect(), key)
    }

    fn of_files(
        given: &Path,
        files: BTreeMap<String, Member>,
        key: Option<Key>,
    ) -> Result<Self, Error> {
        let refused = |problem: String| Err(Error::set(shown(given), problem));
        let mut traces: BTreeMap<Key, BTreeMap<u32, Member>> = BTreeMap::new();
        for (name, member) in &files {
            if let Some((of, rank)) = numbered(name)
                && key.as_ref().is_none_or(|key| *key == of)
            {
                traces.entry(of).or_default().insert(rank, member.clone());
            }
        }
        // JSON beside the files of a trace is something else.
        if traces.keys().any(|(_, is_json)| !is_json) {
            traces.retain(|(_, is_json), _| !is_json);
        }
        let several = traces.len() > 1;
        let Some(((name, _), ranks)) = traces.pop_first() else {
            return refused(
                "has no file of a Chakra trace, `NAME.RANK.et` or `NAME.RANK.json`".into(),
            );
        };
        if several {
            let name = quoted(&name);
            return refused(format!(
                "has the Chakra trace {name} and others: give a file of one of them"
            ));
        }
        let count = ranks.len() as u32;
        if let Some(missing) = (0..count).find(|rank| !ranks.contains_key(rank)) {
            return refused(format!(
                "has {count} files of the Chakra trace {}, but none of rank {missing}; copy the files of all ranks, numbered from 0",
                quoted(&name)
            ));
        }
        if count > MAX_TASKS {
            return refused(format!("has {count} ranks; at most {MAX_TASKS} are read"));
        }
        let groups = [format!("{name}.json"), "comm_group.json".to_owned()];
        Ok(Self {
            path: shown(given).to_owned(),
            nodes: Nodes::Files {
                ranks: ranks.into_values().collect(),
                groups: groups.iter().find_map(|name| files.get(name).cloned()),
                open: Open::default(),
            },
        })
    }

    /// Ranks from 0, with the ranks of process groups by name, and the number of operations that the files lack.
    #[must_use]
    pub(crate) fn made(
        path: &Path,
        ranks: Vec<MadeRank>,
        groups: BTreeMap<String, Vec<u32>>,
        missing: u64,
    ) -> Self {
        Self {
            path: path.to_owned(),
            nodes: Nodes::Made {
                ranks,
                groups,
                missing,
            },
        }
    }

    /// True if the file at `path`, which begins with `head`, is of a trace, or an archive that has one.
    #[must_use]
    pub fn probe(path: &Path, head: &[u8]) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_rank = |name: &str, head: &[u8]| match numbered(name) {
            Some(((_, is_json), _)) => !is_json || has_nodes(head),
            None => false,
        };
        is_rank(&name, head)
            || files_in_head(head)
                .any(|(name, content)| is_rank(last(&String::from_utf8_lossy(name)), content))
    }

    /// True if the directory has files of a trace.
    #[must_use]
    pub fn is_directory(path: &Path) -> bool {
        const MOST: usize = 4096;
        let is_rank = |name: String| match numbered(&name) {
            Some(((_, false), _)) => true,
            Some(((_, true), 0)) => {
                let source = Source::open_regular(&path.join(&name));
                source.is_ok_and(|mut source| source.head().is_ok_and(has_nodes))
            }
            _ => false,
        };
        names(path).is_ok_and(|names| names.take(MOST).any(is_rank))
    }

    /// The path that was given as the trace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        match &self.nodes {
            Nodes::Files { ranks, .. } => ranks.len() as u32,
            Nodes::Made { ranks, .. } => ranks.len() as u32,
        }
    }

    /// Operations that the files lack: they were not recorded.
    #[must_use]
    pub fn missing(&self) -> u64 {
        match &self.nodes {
            Nodes::Files { .. } => 0,
            Nodes::Made { missing, .. } => *missing,
        }
    }

    /// The names of the files of all ranks.
    #[must_use]
    pub fn files(&self) -> Vec<Arc<Path>> {
        match &self.nodes {
            Nodes::Files { ranks, .. } => {
                ranks.iter().map(|file| Arc::clone(file.name())).collect()
            }
            Nodes::Made { ranks, .. } => ranks.iter().map(|rank| Arc::clone(&rank.file)).collect(),
        }
    }

    /// The files that are ones by themselves.
    #[must_use]
    pub fn own_files(&self) -> Vec<PathBuf> {
        match &self.nodes {
            Nodes::Files { ranks, groups, .. } => {
                let files = ranks.iter().chain(groups).filter_map(Member::own_file);
                files.map(PathBuf::from).collect()
            }
            Nodes::Made { ranks, .. } => {
                let mut files: Vec<PathBuf> = ranks
                    .iter()
                    .filter_map(|rank| rank.own_file.clone())
                    .collect();
                files.dedup();
                files
            }
        }
    }

    /// The nodes of a rank.
    ///
    /// # Errors
    /// If its file can't be opened, or there is no such rank.
    pub fn reader(&self, rank: u32) -> Result<Reader, Error> {
        let found = match &self.nodes {
            Nodes::Files { ranks, open, .. } => {
                let member = ranks.get(rank as usize);
                member.map(|member| Reader::of_member(member, open))
            }
            Nodes::Made { ranks, .. } => {
                let made = ranks.get(rank as usize);
                made.map(|made| Ok(Reader::of_nodes(&made.file, made.nodes.clone())))
            }
        };
        found.unwrap_or_else(|| Err(Error::set(&self.path, format!("there is no rank {rank}"))))
    }

    /// The ranks of the process groups in the file beside the files of the ranks, by name.
    pub(super) fn groups(&self) -> Result<BTreeMap<String, Vec<u32>>, Error> {
        use std::io::Read;
        let (member, open) = match &self.nodes {
            Nodes::Files {
                groups: Some(member),
                open,
                ..
            } => (member, open),
            Nodes::Files { .. } => return Ok(BTreeMap::new()),
            Nodes::Made { groups, .. } => return Ok(groups.clone()),
        };
        let mut text = Vec::new();
        let read = member
            .unpacked(open)
            .and_then(|(_, bytes)| bytes.take(MAX_CHAKRA_NODE as u64).read_to_end(&mut text));
        read.map_err(|e| Error::io(member.name(), e))?;
        serde_json::from_slice(&text).map_err(|e| {
            let message = format!(
                "expected the ranks of each process group, {{\"1\": [0, 1]}} ({e}); correct the file, or give it another name"
            );
            Error::broken(Problem {
                path: Arc::clone(member.name()),
                place: Some(Place::Line(e.line() as u64)),
                message,
            })
        })
    }
}
