//! Output files: plain, gzip or zstd, by the extension of their name.
//!
//! A regular file appears under its name only when it is complete. Until then it has a
//! [temporary](crate::temporary) name, and a failure leaves an earlier file unchanged.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::limits::BLOCK;
use crate::source::Encoding;
use crate::temporary::Temporary;

/// A file that is being written. Dropped before [`finish`](Self::finish), it disappears.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    /// Where the bytes are until then; `None` if that is `path` itself.
    part: Option<Temporary>,
    packer: Option<Packer>,
}

enum Packer {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl Encoding {
    /// The packing that a file's name asks for: `.gz` gzip, `.zst` zstd, else none.
    #[must_use]
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some(e) if e.eq_ignore_ascii_case("gz") => Self::Gzip,
            Some(e) if e.eq_ignore_ascii_case("zst") => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

impl Sink {
    /// Begins a file, which replaces an earlier one of that name at the end. If the path is
    /// not a regular file (a pipe, a device), it is written directly.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_inner(path).map_err(|e| Error::io(path, e))
    }

    fn create_inner(path: &Path) -> io::Result<Self> {
        let direct = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "is a directory; name a file",
                ));
            }
            Ok(meta) => !meta.is_file(),
            Err(_) => false,
        };
        let (part, file) = if direct {
            (None, File::create(path)?)
        } else {
            let (part, file) = Temporary::create(path)?;
            (Some(part), file)
        };
        let out = BufWriter::with_capacity(BLOCK, file);
        let packer = match Encoding::of_name(path) {
            Encoding::Plain => Packer::Plain(out),
            // Without a name and a time: the same trace gives the same bytes.
            Encoding::Gzip => Packer::Gzip(flate2::write::GzEncoder::new(
                out,
                flate2::Compression::default(),
            )),
            Encoding::Zstd => Packer::Zstd(zstd::stream::write::Encoder::new(out, 0)?),
        };
        Ok(Self {
            path: path.to_owned(),
            part,
            packer: Some(packer),
        })
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The temporary name of the file until it is complete, if it has one.
    #[must_use]
    pub fn part(&self) -> Option<&Path> {
        self.part.as_ref().map(Temporary::path)
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the rest can't be written, or the file can't be renamed.
    pub fn finish(mut self) -> Result<(), Error> {
        let done = self.finish_inner();
        done.map_err(|e| Error::io(&self.path, e))
    }

    fn finish_inner(&mut self) -> io::Result<()> {
        match self.packer.take() {
            Some(Packer::Plain(mut out)) => out.flush()?,
            Some(Packer::Gzip(out)) => out.finish()?.flush()?,
            Some(Packer::Zstd(out)) => out.finish()?.flush()?,
            None => {}
        }
        match self.part.take() {
            Some(part) => part.keep(&self.path),
            None => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.packer {
            Some(Packer::Plain(out)) => out.write(bytes),
            Some(Packer::Gzip(out)) => out.write(bytes),
            Some(Packer::Zstd(out)) => out.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    /// Does not write out the buffer: only [`finish`](Self::finish) completes a file.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Closes the file before `part` removes it.
        self.packer = None;
    }
}
