//! Compiles the library with the compiler of an MPI, and keeps it in the user's cache.

use super::header::outside;
use super::program::locate;
use super::{RecordError, Recorder};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use twox_hash::XxHash3_128;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("library/", $name)))),*]
    };
}

/// The files of the library.
const SOURCES: [(&str, &str); 19] = sources![
    "bytes.c",
    "collectives.c",
    "collectives.h",
    "comm.c",
    "communicators.c",
    "complete.c",
    "description.c",
    "init.c",
    "map.c",
    "messages.c",
    "messages.h",
    "outside.c",
    "patience.c",
    "process.c",
    "record.h",
    "request.c",
    "stays.c",
    "stream.c",
    "tuple.c",
];
const FLAGS: [&str; 5] = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-w"];
const LIBRARY: &str = "libflitwise-record.so";
/// Compilers that are tried.
pub(super) const USUAL: [&str; 3] = ["mpicc", "mpicc.openmpi", "mpicc.mpich"];
/// Lines of an error that a message quotes.
const QUOTED: usize = 3;

/// A compiler of an MPI.
#[derive(Debug)]
pub(super) struct Compiler {
    path: PathBuf,
}

impl Compiler {
    /// The compiler `given`, or the usual ones that there are.
    pub fn all(given: Option<&Path>) -> Result<Vec<Self>, RecordError> {
        if let Some(given) = given {
            return match locate(given.as_os_str()) {
                Some(path) => Ok(vec![Self { path }]),
                None => Err(RecordError::Compiler {
                    compiler: given.display().to_string(),
                    why: "there is no such program".to_owned(),
                }),
            };
        }
        let mut all: Vec<Self> = Vec::new();
        for path in USUAL.iter().filter_map(|name| locate(OsStr::new(name))) {
            let target = |path: &Path| path.canonicalize().ok();
            // Debian's mpicc is one of the others.
            if !all.iter().any(|other| target(&other.path) == target(&path)) {
                all.push(Self { path });
            }
        }
        if all.is_empty() {
            return Err(RecordError::NoCompiler);
        }
        Ok(all)
    }

    /// The path, for people.
    pub fn quoted(&self) -> String {
        format!("`{}`", self.path.display())
    }

    /// The library of this compiler's MPI.
    pub fn recorder(&self) -> Result<Recorder, RecordError> {
        let header = self.header()?;
        let folder = cache().join(self.key(&header));
        let library = folder.join(LIBRARY);
        if !library.is_file() {
            self.compile(&header, &folder)?;
        }
        Ok(Recorder {
            library,
            compiler: self.path.clone(),
        })
    }

    /// The preprocessed `mpi.h`, with its macros, which tell the version of the library.
    fn header(&self) -> Result<String, RecordError> {
        let mut command = Command::new(&self.path);
        command.args(["-E", "-dD", "-x", "c", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let preprocess = || {
            let mut child = command.stderr(Stdio::piped()).spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(b"#include <mpi.h>\n")?;
            }
            child.wait_with_output()
        };
        let output = self.succeeded(preprocess)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The key of a library: the commands of the compiler, the version of MPI, and our sources.
    fn key(&self, header: &str) -> String {
        let show = Command::new(&self.path).arg("-show").output();
        let show = show.map(|output| output.stdout).unwrap_or_default();
        let mut hasher = XxHash3_128::new();
        hasher.write(&show);
        hasher.write(header.as_bytes());
        hasher.write(&sources_hash().to_le_bytes());
        format!("{:032x}", hasher.finish_128())
    }

    fn compile(&self, header: &str, folder: &Path) -> Result<(), RecordError> {
        let cache = folder.parent().unwrap_or(folder);
        let bad = |error| RecordError::Cache {
            path: cache.to_owned(),
            error,
        };
        let part = tempfile::Builder::new().prefix("part").tempdir_in(cache);
        let part = part.map_err(bad)?;
        let write = |name: &str, text: &str| fs::write(part.path().join(name), text).map_err(bad);
        for (name, text) in SOURCES {
            write(name, text)?;
        }
        write("outside.h", &outside(header))?;
        let sources = SOURCES.iter().map(|(name, _)| name);
        let sources = sources.filter(|name| name.ends_with(".c"));
        let mut command = Command::new(&self.path);
        command.current_dir(part.path()).args(FLAGS);
        command.arg(format!("-DFW_FLITWISE=\"{}\"", env!("CARGO_PKG_VERSION")));
        command.args(["-o", LIBRARY]).args(sources);
        command.args(["-ldl", "-lpthread"]).stdin(Stdio::null());
        self.succeeded(|| command.output())?;
        match fs::rename(part.path(), folder) {
            // Another node may have been faster.
            Err(e) if !folder.join(LIBRARY).is_file() => Err(bad(e)),
            _ => Ok(()),
        }
    }

    /// The output of the compiler, or its error.
    fn succeeded(&self, run: impl FnOnce() -> io::Result<Output>) -> Result<Output, RecordError> {
        let failed = |why: String| RecordError::Compiler {
            compiler: self.path.display().to_string(),
            why,
        };
        let output = run().map_err(|e| failed(e.to_string()))?;
        if output.status.success() {
            return Ok(output);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().take(QUOTED).collect();
        Err(failed(lines.join("\n")))
    }
}

/// Tells versions of the library apart.
pub(super) fn sources_hash() -> u128 {
    let mut hasher = XxHash3_128::new();
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    for (name, text) in SOURCES {
        hasher.write(name.as_bytes());
        hasher.write(text.as_bytes());
    }
    hasher.finish_128()
}

/// The folder of the libraries.
pub(super) fn cache() -> PathBuf {
    let absolute = |path: std::ffi::OsString| Some(PathBuf::from(path)).filter(|p| p.is_absolute());
    let xdg = std::env::var_os("XDG_CACHE_HOME").and_then(absolute);
    let home = || {
        let home = std::env::var_os("HOME").and_then(absolute);
        home.map(|home| home.join(".cache"))
    };
    let base = xdg.or_else(home).unwrap_or_else(std::env::temp_dir);
    base.join("flitwise").join("record")
}

/// Creates the folder, and waits until no other process compiles, as far as the file system can tell.
pub(super) fn lock(cache: &Path) -> Result<File, RecordError> {
    let lock = || {
        fs::create_dir_all(cache)?;
        let file = File::create(cache.join("lock"))?;
        #[cfg(unix)]
        {
            use rustix::fs::{FlockOperation, flock};
            // Some file systems of clusters have no locks.
            let _ = flock(&file, FlockOperation::LockExclusive);
        }
        Ok(file)
    };
    lock().map_err(|error| RecordError::Cache {
        path: cache.to_owned(),
        error,
    })
}
