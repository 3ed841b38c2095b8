//! Recognises files by their first bytes, so that a message can say what was given in place of a trace of
//! the expected format. GOAL, TI, Chakra and OTF2 have readers of their own, in [`goal`](crate::goal), [`ti`](crate::ti), [`chakra`](crate::chakra) and [`otf2`](crate::otf2), and
//! it is these that say so where a file of one is given in place of the other.
//!
//! | format | begins with | source |
//! |---|---|---|
//! | DUMPI, binary | `ff aa dd` `DUMPI` | sst-dumpi, `docs/traceformat.dox` |
//! | DUMPI, metafile | lines `hostname=`, `numprocs=` | the same |
//! | TI (SimGrid), actions | `0 init`, `p0 init`, or another action of a rank | SimGrid's replay |
//! | TI (SimGrid), list of files | a path per line, no other word; [`ti::probe`](crate::ti::probe) recognises other names by the files | the same |
//! | recording, stream | `FLITREC` and a line feed | `flitwise record` |
//! | GOAL, text | `num_ranks N`, after comments | the grammar of LogGOPSim |
//! | GOAL, binary | 64-bit 0x107f, little-endian | the same |
//! | OTF2, anchor file | a chunk header `03`, `42` or `23`, then `OTF2` | OTF2, `OTF2_AnchorFile.c` |
//! | OTF2, events or definitions | a chunk header, then 64-bit 1: the number of the first event | OTF2, `OTF2_Buffer.c` |
//! | Chakra | a protocol buffer whose first field is a version such as `0.0.4`; JSON with a `chakra` schema | MLCommons Chakra, `et_def.proto` |
//! | Paraver, Dimemas | `#Paraver (`, `#DIMEMAS:` | the manuals of Paraver and Dimemas |
//! | liballprof | a line `MPI_NAME:TIME:…` after comments | LogGOPSim, Schedgen |
//! | Pajé | `%EventDef` | the Pajé trace file format |
//! | archives | their magic numbers | |

use std::fmt;

use crate::tar_head::is_tar;

/// The format of a file that is not VEF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// The file of one rank of a DUMPI trace, or its metafile.
    Dumpi,
    /// SimGrid's time-independent trace: actions, or the list of the files that have them.
    Ti,
    /// A GOAL schedule.
    Goal,
    /// A GOAL schedule in its binary form.
    GoalBinary,
    /// A stream of a recording by `flitwise record`.
    Recording,
    /// An OTF2 archive: its anchor file, its definitions, or the events of a location.
    Otf2,
    /// A Chakra execution trace.
    Chakra,
    /// A trace of Paraver or Dimemas, as Extrae records it.
    Paraver,
    /// The file of a rank that liballprof recorded.
    Allprof,
    /// A Pajé trace, as SimGrid writes it by default.
    Paje,
    /// Packed by a program whose files are not unpacked here, which has this name.
    Packed(&'static str),
    /// A tar archive.
    Tar,
    /// No text, and of no format known here.
    Binary,
}

/// Bytes at the start of a file that decide.
const HEAD: usize = 4096;

impl Foreign {
    /// Recognises a file by `head`, its first bytes; `None` for a text that is of no format known
    /// here, VEF included.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        // A line that is cut off says nothing.
        let head = match head.get(..HEAD) {
            None => head,
            Some(start) => start
                .iter()
                .rposition(|&b| b == b'\n')
                .map_or(start, |end| &start[..=end]),
        };
        if let Some(magic) = by_magic(head) {
            return Some(magic);
        }
        match text(head) {
            None => Some(Self::Binary),
            Some(text) => by_text(text),
        }
    }
}

impl Foreign {
    /// Whether a stream of this format may be a trace that is read.
    pub(crate) fn may_be_copied(self) -> bool {
        matches!(
            self,
            Self::Dumpi | Self::Ti | Self::Goal | Self::GoalBinary | Self::Tar
        )
    }

    /// It is, or is part of, a trace or a schedule.
    #[must_use]
    pub fn is_trace(self) -> bool {
        match self {
            Self::Dumpi | Self::Ti | Self::Goal | Self::GoalBinary | Self::Otf2 => true,
            Self::Recording => true,
            Self::Chakra | Self::Paraver | Self::Allprof | Self::Paje => true,
            Self::Packed(_) | Self::Tar | Self::Binary => false,
        }
    }
}

const DUMPI: &str =
    "a DUMPI trace, where another format is expected; `flitwise trace convert` makes VEF3 of it";
const TI: &str = "a time-independent (TI) trace of SimGrid, where another format is expected; `flitwise trace convert` \
                  makes VEF3 of it";
const GOAL: &str =
    "a GOAL schedule, where another format is expected; `flitwise trace convert` makes VEF3 of it";
const GOAL_BINARY: &str = "a GOAL schedule in binary form, where another format is expected; `flitwise trace convert` \
                           makes VEF3 of it";

const OTF2: &str = "part of an OTF2 archive; give its anchor file, whose name ends with `.otf2`, or the directory with that file";
const CHAKRA: &str = "a Chakra trace, of which the files of ranks are read: name them `NAME.RANK.et`, or make them of a host trace of PyTorch \
                      with `chakra_trace_link` and `chakra_converter PyTorch` (docs/reference/chakra.md)";
const RECORDING: &str = "a stream of a recording, where another format is expected; give the directory that has all of them";

/// The recorders of the formats that are read.
const RECORD: &str = "record the program with `flitwise record`, Score-P (OTF2), VEF-Prospector, DUMPI or SimGrid (docs/reference/traces.md)";

impl fmt::Display for Foreign {
    /// The format of the file and the cure, as the rest of a message that names the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, cure) = match self {
            Self::Dumpi => return f.write_str(DUMPI),
            Self::Ti => return f.write_str(TI),
            Self::Goal => return f.write_str(GOAL),
            Self::GoalBinary => return f.write_str(GOAL_BINARY),
            Self::Otf2 => return f.write_str(OTF2),
            Self::Recording => return f.write_str(RECORDING),
            Self::Chakra => return f.write_str(CHAKRA),
            Self::Paraver => ("a trace of Paraver or Dimemas", RECORD),
            Self::Allprof => (
                "the file of a rank that liballprof recorded",
                "Schedgen of LogGOPSim makes a GOAL schedule of all of them (docs/reference/traces.md)",
            ),
            Self::Paje => (
                "a Pajé trace",
                "let `smpirun` of SimGrid write a TI trace: `-trace-ti` in place of `-trace` (docs/reference/traces.md)",
            ),
            Self::Packed(by) => {
                return write!(
                    f,
                    "packed with {by}, which this version does not read; unpack it, or pack it \
                     with gzip or zstd"
                );
            }
            Self::Tar => return f.write_str("a tar archive; unpack it and give the trace in it"),
            Self::Binary => {
                return f.write_str(
                    "binary data of no known format, not a trace; a VEF trace is a text, plain or \
                     packed with gzip or zstd",
                );
            }
        };
        write!(f, "{what}, which this version does not read; {cure}")
    }
}

fn by_magic(head: &[u8]) -> Option<Foreign> {
    const ONE: [[u8; 8]; 2] = [1_u64.to_le_bytes(), 1_u64.to_be_bytes()];
    Some(match head {
        [b'F', b'L', b'I', b'T', b'R', b'E', b'C', b'\n', ..] => Foreign::Recording,
        [0xff, 0xaa, 0xdd, b'D', b'U', b'M', b'P', b'I', ..] => Foreign::Dumpi,
        [0x7f, 0x10, 0, 0, 0, 0, 0, 0, ..] => Foreign::GoalBinary,
        [0x03, 0x42 | 0x23, b'O', b'T', b'F', b'2', ..] | [b'O', b'T', b'F', b'2', ..] => {
            Foreign::Otf2
        }
        [0x03, 0x42 | 0x23, rest @ ..] if ONE.iter().any(|one| rest.starts_with(one)) => {
            Foreign::Otf2
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Foreign::Packed("xz"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => Foreign::Packed("bzip2"),
        [b'P', b'K', 0x03, 0x04, ..] => Foreign::Packed("zip"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Foreign::Packed("lz4"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Foreign::Packed("7z"),
        _ if is_tar(head) => Foreign::Tar,
        _ if is_chakra(head) => Foreign::Chakra,
        _ => return None,
    })
}

/// A protocol buffer that begins with the version of its schema, field 1 of the metadata, in one or two messages.
fn is_chakra(head: &[u8]) -> bool {
    let control = |byte: &u8| *byte < b' ' && !byte.is_ascii_whitespace();
    let start = head.get(..head.len().min(CHAKRA_START)).unwrap_or(head);
    start.iter().any(control)
        && (0..start.len().min(5)).any(|at| {
            let Some([0x0a, length, version @ ..]) = start.get(at..) else {
                return false;
            };
            let version = version.get(..usize::from(*length)).unwrap_or_default();
            matches!(version, [b'0'..=b'9', b'.', b'0'..=b'9', ..])
        })
}

/// Bytes in which the version of a Chakra trace lies.
const CHAKRA_START: usize = 48;

/// `head` if it is a text: UTF-8 without control characters. The last character may be cut off.
fn text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&head[..e.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c');
    (!text.contains(odd)).then_some(text)
}

fn by_text(text: &str) -> Option<Foreign> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().any(|line| line.starts_with("hostname="))
        && lines().any(|line| line.starts_with("numprocs="))
    {
        return Some(Foreign::Dumpi);
    }
    if is_goal(text) {
        return Some(Foreign::Goal);
    }
    let start = text.trim_start();
    match start {
        _ if start.starts_with("#Paraver (") || start.starts_with("#DIMEMAS:") => {
            return Some(Foreign::Paraver);
        }
        _ if start.starts_with("%EventDef") => return Some(Foreign::Paje),
        _ if start.starts_with('{') && text.contains("\"schema\"") && text.contains("chakra") => {
            return Some(Foreign::Chakra);
        }
        _ => {}
    }
    let mut said = lines().filter(|line| !line.starts_with('#'));
    if said.clone().take(ALLPROF_LINES).any(is_allprof) {
        return Some(Foreign::Allprof);
    }
    let first = said.next()?;
    if is_action(first) || (is_listed(first) && said.all(is_listed)) {
        return Some(Foreign::Ti);
    }
    None
}

/// Lines of which one is a call if liballprof recorded them.
const ALLPROF_LINES: usize = 3;

/// A call as liballprof writes it: `MPI_Init:1234:-:5678`.
fn is_allprof(line: &str) -> bool {
    let mut fields = line.split(':');
    let call = fields.next().is_some_and(|name| {
        name.starts_with("MPI_") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    });
    call && fields.next().is_some_and(|time| {
        !time.is_empty() && time.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

/// `num_ranks N` is the first statement, after comments.
fn is_goal(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let comment = match (rest.strip_prefix("//"), rest.strip_prefix("/*")) {
            (Some(line), _) => line.split_once('\n'),
            (_, Some(block)) => block.split_once("*/"),
            _ => break,
        };
        match comment {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
    let mut words = rest.split_whitespace();
    words.next() == Some("num_ranks") && words.next().is_some_and(is_number)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// An action of a rank: `0 init`, `p0 init`, `rank-0 compute 1e9`.
fn is_action(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let (Some(rank), Some(action)) = (words.next(), words.next()) else {
        return false;
    };
    let bare = rank.strip_prefix("rank-").or(rank.strip_prefix('p'));
    is_number(bare.unwrap_or(rank)) && crate::ti::grammar::is_action(action)
}

/// A line of a list of files: one word that ends like a text file, in a folder or for a rank.
fn is_listed(line: &str) -> bool {
    let one = !line.contains(char::is_whitespace);
    one && line.ends_with(".txt") && (line.contains('/') || line.contains("rank"))
}
