//! The metafile of a trace: lines `key=value` with its user, its number of ranks and the names of its files.

use flitwise_base::quote::quoted;

use super::layout::Version;
use crate::limits::MAX_TASKS;
use crate::{PlaceError, at_line};

/// The keys of a metafile. Missing ones are `None`, others than these are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metafile {
    /// The machine of rank 0.
    pub hostname: Option<String>,
    /// Number of ranks.
    pub numprocs: u32,
    /// The user that ran the program.
    pub username: Option<String>,
    /// When it began, in seconds of Unix time. The key lacks a letter: `startime`.
    pub start_time: Option<u64>,
    /// The prefix of the names of the ranks' files, without a directory.
    pub file_prefix: Option<String>,
    /// Version of the recorder.
    pub version: Option<Version>,
}

impl Metafile {
    /// True if a file that begins with `head` is a metafile.
    #[must_use]
    pub fn is_one(head: &[u8]) -> bool {
        let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii_start);
        let mut others = lines.clone();
        lines.any(|line| line.starts_with(b"hostname="))
            && others.any(|line| line.starts_with(b"numprocs="))
    }

    /// Reads a metafile.
    ///
    /// # Errors
    /// If a line is no `key=value`, a number is none, or `numprocs` is missing.
    ///
    /// # Examples
    /// ```
    /// use flitwise_formats::Place;
    /// use flitwise_formats::dumpi::Metafile;
    ///
    /// let meta = Metafile::parse("hostname=n17\nnumprocs=64\nfileprefix=dumpi-2013.09.09.04.32.40\n")?;
    /// assert_eq!(meta.numprocs, 64);
    /// assert_eq!(Metafile::parse("numprocs=many\n").unwrap_err().place, Place::Line(1));
    /// # Ok::<(), flitwise_formats::PlaceError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let mut meta = Self::default();
        let mut version = [None; 3];
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return at_line(
                    number,
                    format!("expected `key=value`, found {}", quoted(line)),
                );
            };
            if key == "numprocs" && meta.numprocs != 0 {
                return at_line(number, "`numprocs` is there twice; correct the file");
            }
            match key {
                "hostname" => meta.hostname = Some(value.to_owned()),
                "username" => meta.username = Some(value.to_owned()),
                "fileprefix" => meta.file_prefix = Some(value.to_owned()),
                "startime" => meta.start_time = Some(integer(number, key, value, u64::MAX)?),
                "numprocs" => meta.numprocs = ranks(number, value)?,
                "version" => version[0] = Some(part(number, key, value)?),
                "subversion" => version[1] = Some(part(number, key, value)?),
                "subsubversion" => version[2] = Some(part(number, key, value)?),
                _ => {}
            }
        }
        if meta.numprocs == 0 {
            let lines = text.lines().count().max(1);
            return at_line(
                lines,
                "expected a line `numprocs=N` up to here: the number of ranks",
            );
        }
        if let [Some(a), Some(b), Some(c)] = version {
            meta.version = Some(Version(a, b, c));
        }
        Ok(meta)
    }
}

fn integer(line: usize, key: &str, value: &str, max: u64) -> Result<u64, PlaceError> {
    match value.parse() {
        Ok(number) if number <= max => Ok(number),
        _ => at_line(
            line,
            format!(
                "expected a whole number up to {max} for {key}, found {}",
                quoted(value)
            ),
        ),
    }
}

fn ranks(line: usize, value: &str) -> Result<u32, PlaceError> {
    match integer(line, "numprocs", value, MAX_TASKS.into())? {
        0 => at_line(line, "expected at least one rank for numprocs, found 0"),
        ranks => Ok(u32::try_from(ranks).unwrap_or(MAX_TASKS)),
    }
}

fn part(line: usize, key: &str, value: &str) -> Result<u8, PlaceError> {
    let number = integer(line, key, value, u8::MAX.into())?;
    Ok(u8::try_from(number).unwrap_or(u8::MAX))
}
