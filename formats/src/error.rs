//! Errors of reading a trace file.

use std::io;
use std::path::{Path, PathBuf};

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::stop::Stopped;

use crate::foreign::Foreign;

/// A trace could not be read; the message names the file, the place and the cure.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// Kinds of [`Error`]. The message of each has its cause, which is therefore no `source` that a chain of
/// errors would print once more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The directory for temporary files can't take a stream that is read several times.
    #[error("{}: {} can't keep what is read from it: {cause}; set TMPDIR to a directory with more room", path.display(), dir.display())]
    NoRoom {
        /// The stream.
        path: PathBuf,
        /// The directory.
        dir: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The compressed data are damaged or cut short.
    #[error("{}: the {format} data are damaged or cut short ({cause}); copy or record the file again", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// `gzip`, `zstd` or `tar`.
        format: &'static str,
        /// Why.
        cause: io::Error,
    },
    /// The file is of another format, or no text.
    #[error("{}: {format}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: Foreign,
    },
    /// The files of a trace do not fit together.
    #[error("{}: {problem}", path.display())]
    Set {
        /// The directory, archive or file that was given as the trace.
        path: PathBuf,
        /// The problem and its cure.
        problem: String,
    },
    /// The content violates its format.
    #[error("{0}")]
    Broken(Problem),
    /// The user stopped the reading.
    #[error("{0}")]
    Stopped(Stopped),
}

impl From<Stopped> for Error {
    #[cold]
    fn from(stopped: Stopped) -> Self {
        Self(Box::new(ErrorKind::Stopped(stopped)))
    }
}

impl Error {
    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// True if the user stopped the reading.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(*self.0, ErrorKind::Stopped(_))
    }

    /// The file, if there is no file of its name.
    #[must_use]
    pub fn missing_file(&self) -> Option<&Path> {
        match &*self.0 {
            ErrorKind::Io { path, cause } if cause.kind() == io::ErrorKind::NotFound => Some(path),
            _ => None,
        }
    }

    /// True if a file is not at fault but a disk that is full: a later try may succeed.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        match &*self.0 {
            ErrorKind::NoRoom { .. } => true,
            ErrorKind::Io { cause, .. } => matches!(
                cause.kind(),
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
            ),
            _ => false,
        }
    }

    /// The problem of the content.
    ///
    /// # Errors
    /// The error itself if it is of another kind.
    pub fn into_problem(self) -> Result<Problem, Self> {
        match *self.0 {
            ErrorKind::Broken(problem) => Ok(problem),
            other => Err(Self(Box::new(other))),
        }
    }

    /// The problem of the content, or of the files of the trace at `path`; any other error stays one.
    pub(crate) fn into_problem_of(self, path: &Path) -> Result<Problem, Self> {
        match *self.0 {
            ErrorKind::Set { problem, .. } => Ok(Problem::whole(&path.into(), problem)),
            other => Self(Box::new(other)).into_problem(),
        }
    }

    #[cold]
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Io { path, cause }))
    }

    #[cold]
    pub(crate) fn no_room(path: &Path, dir: &Path, cause: io::Error) -> Self {
        let (path, dir) = (path.to_owned(), dir.to_owned());
        Self(Box::new(ErrorKind::NoRoom { path, dir, cause }))
    }

    #[cold]
    pub(crate) fn compressed(path: &Path, format: &'static str, cause: io::Error) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Compressed {
            path,
            format,
            cause,
        }))
    }

    #[cold]
    pub(crate) fn set(path: &Path, problem: impl Into<String>) -> Self {
        let (path, problem) = (path.to_owned(), problem.into());
        Self(Box::new(ErrorKind::Set { path, problem }))
    }

    #[cold]
    pub(crate) fn foreign(path: &Path, format: Foreign) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Foreign { path, format }))
    }

    #[cold]
    pub(crate) fn broken(problem: Problem) -> Self {
        Self(Box::new(ErrorKind::Broken(problem)))
    }
}

/// A problem of a line of a text, from 1.
#[cold]
pub(crate) fn at_line<T>(line: usize, problem: impl Into<String>) -> Result<T, PlaceError> {
    Err(PlaceError::line(line as u64, problem))
}
