//! `flitwise record`: the library that writes the MPI calls of a program (`docs/reference/recording.md`).
//!
//! Its C sources, in `library/`, are part of this crate. [`Recorder::find`] compiles them once with the compiler of the
//! site's MPI, and keeps the library in the user's cache. A program loads it by `LD_PRELOAD`.

mod choice;
mod compile;
mod header;
mod program;
mod stored;

pub use stored::{RECORDING_FILE, Stored, is_recording_file};

use choice::Choice;
use compile::{Compiler, cache, lock};
use program::{Linkage, Program};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The variable that names the directory of the recording to the library.
pub const DIRECTORY: &str = "FLITWISE_RECORD";
/// The variable that names the command, so that it recognises its own recording.
pub const SESSION: &str = "FLITWISE_RECORD_SESSION";
/// The variable by which the library marks the processes below a recorded one.
pub const OWNER: &str = "FLITWISE_RECORD_OWNER";

/// The variable that says that the second argument of `MPI_Pcontrol` names a region.
pub const NAMES: &str = "FLITWISE_RECORD_NAMES";

/// The reason why a program cannot be recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no compiler for MPI.
    #[error(
        "no mpicc was found: install the development files of your MPI (Debian: libopenmpi-dev or libmpich-dev), or name \
         its compiler with --mpicc"
    )]
    NoCompiler,
    /// The compiler fails.
    #[error("`{compiler}` cannot compile the recorder: {why}")]
    Compiler {
        /// The path of the compiler.
        compiler: String,
        /// Its first lines of error.
        why: String,
    },
    /// No compiler belongs to the program's MPI.
    #[error(
        "`{program}` uses {library}, for which {compilers} {verb} not compile: name the compiler of this MPI with --mpicc"
    )]
    OtherMpi {
        /// The program.
        program: String,
        /// Its library of MPI.
        library: String,
        /// The compilers that were tried.
        compilers: String,
        /// The verb that belongs to them.
        verb: &'static str,
    },
    /// The program cannot load a library.
    #[error(
        "`{0}` is linked statically, so that no library can be loaded into it: link it dynamically"
    )]
    Static(String),
    /// The system does not load a library into the program.
    #[error(
        "`{0}` is setuid or setgid, and the system loads no other library into it: record a copy without these bits"
    )]
    SetUid(String),
    /// The library cannot be kept.
    #[error("cannot write `{}`: {error}", path.display())]
    Cache {
        /// The directory.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// The library for one MPI.
#[derive(Debug)]
pub struct Recorder {
    /// The library.
    pub library: PathBuf,
    /// The compiler that made it.
    pub compiler: PathBuf,
}

impl Recorder {
    /// Returns the library for the MPI that the command `words` uses, and compiles it if that has not been done. `mpicc`
    /// chooses the compiler.
    ///
    /// # Errors
    /// If there is no compiler for its MPI, or the program cannot load a library.
    pub fn find(mpicc: Option<&Path>, words: &[OsString]) -> Result<Self, RecordError> {
        let choice = Choice::of(mpicc, words);
        if let Some(known) = choice.read() {
            return Ok(known);
        }
        // Of all ranks on a node, one searches and compiles.
        let _lock = lock(&cache())?;
        if let Some(known) = choice.read() {
            return Ok(known);
        }
        let found = Self::search(mpicc, words)?;
        choice.keep(&found);
        Ok(found)
    }

    fn search(mpicc: Option<&Path>, words: &[OsString]) -> Result<Self, RecordError> {
        let program = Program::of(words)?;
        let compilers = Compiler::all(mpicc)?;
        let Some(program) = program else {
            return compilers.first().ok_or(RecordError::NoCompiler)?.recorder();
        };
        let mut failed = None;
        for compiler in &compilers {
            match compiler.recorder() {
                Ok(recorder) if program.uses_same_mpi(&recorder.library) => return Ok(recorder),
                Ok(_) => {}
                Err(e) => failed = Some(e),
            }
        }
        if let Some(e) = failed {
            return Err(e);
        }
        let names: Vec<String> = compilers.iter().map(Compiler::quoted).collect();
        Err(RecordError::OtherMpi {
            program: program.path.display().to_string(),
            library: program.mpi(),
            compilers: names.join(" and "),
            verb: if names.len() == 1 { "does" } else { "do" },
        })
    }
}

impl Program {
    /// The first program among the words that uses MPI.
    fn of(words: &[OsString]) -> Result<Option<Self>, RecordError> {
        let mut fixed = None;
        for word in words {
            let Some(program) = Self::find(word) else {
                continue;
            };
            match program.linkage {
                Linkage::Mpi if program.is_privileged() => {
                    return Err(RecordError::SetUid(program.path.display().to_string()));
                }
                Linkage::Mpi => return Ok(Some(program)),
                Linkage::Static => {
                    fixed.get_or_insert(program.path);
                }
                Linkage::Other => {}
            }
        }
        match fixed {
            Some(path) => Err(RecordError::Static(path.display().to_string())),
            None => Ok(None),
        }
    }
}
