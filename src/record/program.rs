//! The libraries that a program loads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linkage {
    /// It loads a library of MPI.
    Mpi,
    /// It loads nothing.
    Static,
    /// It loads other libraries.
    Other,
}

/// A program in the format of the system.
#[derive(Debug)]
pub(super) struct Program {
    pub path: PathBuf,
    pub linkage: Linkage,
    /// Its libraries of MPI.
    libraries: BTreeSet<PathBuf>,
}

impl Program {
    /// Returns the program that a word of a command names, if it is one. Scripts are none.
    pub fn find(word: &OsStr) -> Option<Self> {
        let path = locate(word)?;
        let mut magic = [0; 4];
        File::open(&path).ok()?.read_exact(&mut magic).ok()?;
        if magic != *b"\x7fELF" {
            return None;
        }
        let (linkage, libraries) = match libraries(&path) {
            Libraries::None => (Linkage::Static, BTreeSet::new()),
            Libraries::Some(mpi) if mpi.is_empty() => (Linkage::Other, mpi),
            Libraries::Some(mpi) => (Linkage::Mpi, mpi),
            Libraries::Unknown => (Linkage::Other, BTreeSet::new()),
        };
        Some(Self {
            path,
            linkage,
            libraries,
        })
    }

    /// Whether `library`, which uses MPI as well, has one of the same libraries of MPI.
    pub fn uses_same_mpi(&self, library: &Path) -> bool {
        match libraries(library) {
            Libraries::Some(others) => !self.libraries.is_disjoint(&others),
            _ => false,
        }
    }

    /// The libraries of MPI, for people.
    pub fn mpi(&self) -> String {
        let names = self.libraries.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(" and ")
    }

    /// Whether the system ignores `LD_PRELOAD` for the program.
    pub fn is_privileged(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = self.path.metadata().map(|meta| meta.permissions().mode());
            mode.is_ok_and(|mode| mode & 0o6000 != 0)
        }
        #[cfg(not(unix))]
        false
    }
}

/// The executable file of a name, which is searched in PATH if it has no folder.
pub(super) fn locate(word: &OsStr) -> Option<PathBuf> {
    if word.is_empty() || word.as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let given = Path::new(word);
    if given.components().count() > 1 {
        return given.is_file().then(|| given.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(given));
    places.find(|path| path.is_file())
}

enum Libraries {
    /// The program is static.
    None,
    /// The libraries of MPI, without symbolic links.
    Some(BTreeSet<PathBuf>),
    /// The system does not tell.
    Unknown,
}

/// Asks the dynamic linker.
fn libraries(path: &Path) -> Libraries {
    // With a folder, for `ldd` does not search PATH.
    let Ok(path) = path.canonicalize() else {
        return Libraries::Unknown;
    };
    let Ok(output) = Command::new("ldd").arg(&path).env("LC_ALL", "C").output() else {
        return Libraries::Unknown;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("not a dynamic executable") || text.contains("statically linked") {
        return Libraries::None;
    }
    Libraries::Some(text.lines().filter_map(mpi_library).collect())
}

/// The library of a line `libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)`, if it is one of MPI.
fn mpi_library(line: &str) -> Option<PathBuf> {
    let (name, place) = line.trim().split_once(" => ")?;
    if !name.starts_with("libmpi") {
        return None;
    }
    let place = Path::new(place.rsplit_once(" (").map_or(place, |(place, _)| place));
    Some(place.canonicalize().unwrap_or_else(|_| place.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_mpi_are_known_by_name() {
        let line = "\tlibmpi_mpifh.so.40 => /nowhere/libmpi_mpifh.so.40 (0x00007f)";
        let library = mpi_library(line).unwrap();
        assert_eq!(library, Path::new("/nowhere/libmpi_mpifh.so.40"));
        assert_eq!(mpi_library("\tlibm.so.6 => /lib/libm.so.6 (0x0)"), None);
        assert_eq!(mpi_library("\tlinux-vdso.so.1 (0x00007ffd)"), None);
    }

    #[test]
    fn words_that_are_no_programs_are_passed_over() {
        assert!(Program::find(OsStr::new("-n")).is_none());
        assert!(Program::find(OsStr::new("16")).is_none());
        assert!(Program::find(OsStr::new("")).is_none());
    }
}
