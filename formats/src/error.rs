//! What can go wrong while a trace file is read.

use std::io;
use std::path::{Path, PathBuf};

use crate::vef::ParseError;

/// A trace could not be read; the message names the file, the place and the cure.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// Kinds of [`Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The directory for temporary files can't take a stream that is read several times.
    #[error("{}: {} can't keep what is read from it: {source}; set TMPDIR to a directory with more room", path.display(), dir.display())]
    NoRoom {
        /// The stream.
        path: PathBuf,
        /// The directory.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compressed data are damaged or cut short.
    #[error("{}: the {format} data are damaged or cut short ({source}); copy or record the file again", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// `gzip` or `zstd`.
        format: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The text violates the format.
    #[error("{}:{}: {error}", path.display(), error.line())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What and where.
        error: ParseError,
    },
}

impl Error {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    #[cold]
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Io { path, source }))
    }

    #[cold]
    pub(crate) fn no_room(path: &Path, dir: &Path, source: io::Error) -> Self {
        let (path, dir) = (path.to_owned(), dir.to_owned());
        Self(Box::new(ErrorKind::NoRoom { path, dir, source }))
    }

    #[cold]
    pub(crate) fn compressed(path: &Path, format: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Compressed {
            path,
            format,
            source,
        }))
    }

    #[cold]
    pub(crate) fn parse(path: &Path, error: ParseError) -> Self {
        let path = path.to_owned();
        Self(Box::new(ErrorKind::Parse { path, error }))
    }
}
