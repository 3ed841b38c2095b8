//! Output files: plain, gzip or zstd, by the extension of their name.
//!
//! A regular file appears under its name only when it is complete. Until then it has a
//! [temporary](crate::temporary) name, and a failure leaves an earlier file unchanged.

use std::fs::{File, OpenOptions};
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
    /// The file that `path` leads to over symbolic links.
    target: PathBuf,
    /// Where the bytes are until then; `None` if that is `target` itself.
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
    /// Begins a file, which replaces an earlier one of that name at the end and keeps its
    /// permissions. A symbolic link stays: what it leads to is replaced. If the path leads to a
    /// pipe, a device or an open file of a process, that is written directly: a user may name one.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let begin = || {
            let (target, direct) = followed(path)?;
            Self::begin(path, target, direct, Encoding::of_name(path))
        };
        begin().map_err(|e| Error::io(path, e))
    }

    /// Begins a file of a directory that a command keeps. It replaces whatever has its name there:
    /// nothing is written through a link or into a device.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn replace(path: &Path) -> Result<Self, Error> {
        Self::begin(path, path.to_owned(), false, Encoding::of_name(path))
            .map_err(|e| Error::io(path, e))
    }

    /// The same for bytes that are packed already, as the name of the file says.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn replace_as_is(path: &Path) -> Result<Self, Error> {
        Self::begin(path, path.to_owned(), false, Encoding::Plain).map_err(|e| Error::io(path, e))
    }

    fn begin(path: &Path, target: PathBuf, direct: bool, encoding: Encoding) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "is a directory; name a file",
            ));
        }
        let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty());
        if let Some(dir) = dir.filter(|dir| !dir.exists()) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no directory `{}`; create it", dir.display()),
            ));
        }
        let (part, file) = if direct {
            (None, opened(&target)?)
        } else {
            let (part, file) = Temporary::create(&target)?;
            let old = target.symlink_metadata().ok();
            if let Some(old) = old.filter(std::fs::Metadata::is_file) {
                file.set_permissions(old.permissions())?;
            }
            (Some(part), file)
        };
        let out = BufWriter::with_capacity(BLOCK, file);
        let packer = match encoding {
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
            target,
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
        self.complete()?;
        self.appear()
    }

    /// Writes the rest; the file still has its temporary name.
    fn complete(&mut self) -> Result<(), Error> {
        let written = match self.packer.take() {
            Some(Packer::Plain(mut out)) => out.flush(),
            Some(Packer::Gzip(out)) => out.finish().and_then(|mut out| out.flush()),
            Some(Packer::Zstd(out)) => out.finish().and_then(|mut out| out.flush()),
            None => Ok(()),
        };
        written.map_err(|e| Error::io(&self.path, e))
    }

    /// Gives the file its name.
    fn appear(mut self) -> Result<(), Error> {
        let named = self
            .part
            .take()
            .map_or(Ok(()), |part| part.keep(&self.target));
        named.map_err(|e| Error::io(&self.path, e))
    }
}

/// Symbolic links in a row, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The path to which `path` leads over symbolic links, and whether it is to be written directly: no regular file is there,
/// or one that a process has open, whose further output would be lost with the old file.
fn followed(path: &Path) -> io::Result<(PathBuf, bool)> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        if is_open_file(&target) {
            return Ok((target, true));
        }
        let Ok(next) = std::fs::read_link(&target) else {
            let meta = std::fs::metadata(&target);
            let direct = meta.is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
            return Ok((target, direct));
        };
        // Relative to the directory of the link.
        target.pop();
        target.push(next);
    }
    let problem = "leads over too many symbolic links; name a file";
    Err(io::Error::other(problem))
}

/// Whether `path` stands for a file that a process has open, as `/dev/stdout` does.
fn is_open_file(path: &Path) -> bool {
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok());
    dir.is_some_and(|dir| {
        dir == Path::new("/dev/fd") || dir.starts_with("/proc") && dir.ends_with("fd")
    })
}

/// Opens what is written directly.
fn opened(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if let Some(stream) = own_stream(path) {
        return stream;
    }
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// Standard output or error of this process, if `path` is that. Opened anew it would have a position of its own, and the
/// messages of a command would overwrite what it wrote.
#[cfg(unix)]
fn own_stream(path: &Path) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let dir = path.parent()?.canonicalize().ok()?;
    if dir != Path::new("/dev/fd").canonicalize().ok()? {
        return None;
    }
    let stream = match path.file_name()?.to_str()? {
        "1" => io::stdout().as_fd().try_clone_to_owned(),
        "2" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(stream.map(File::from))
}

/// `bytes` packed with zstd, in the least time: for the many small files of a directory that a command keeps
/// ([`Sink::replace_as_is`]).
///
/// # Errors
/// If there is no memory for it.
pub fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(bytes, 1)
}

/// Writes a whole file, which appears when it is complete, as [`Sink::create`] says.
///
/// # Errors
/// If it can't be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut files = Batch::default();
    files.add(Sink::create(path)?, bytes)?;
    files.finish()
}

/// Files that get their names together, when all of them are complete. Dropped before
/// [`finish`](Self::finish), they disappear.
#[derive(Debug, Default)]
pub struct Batch {
    sinks: Vec<Sink>,
}

impl Batch {
    /// Writes all of a file but its name.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn add(&mut self, mut sink: Sink, bytes: &[u8]) -> Result<(), Error> {
        let written = sink.write_all(bytes);
        written.map_err(|e| Error::io(&sink.path, e))?;
        sink.complete()?;
        self.sinks.push(sink);
        Ok(())
    }

    /// Gives the files their names.
    ///
    /// # Errors
    /// If one can't be renamed; the files before it have their names then.
    pub fn finish(self) -> Result<(), Error> {
        self.sinks.into_iter().try_for_each(Sink::appear)
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
