//! `flitwise record` with programs that know what they send, under each MPI that is installed.
#![cfg(target_os = "linux")]

mod command;
mod decode;
mod ends;
mod kept;
mod known;

use decode::Stream;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

const FLITWISE: &str = env!("CARGO_BIN_EXE_flitwise");
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/record/programs");

/// One MPI of this machine.
#[derive(Debug, Clone, Copy)]
struct Mpi {
    cc: &'static str,
    fortran: &'static str,
    launcher: &'static [&'static str],
}

const OPEN: &[&str] = &["mpirun.openmpi", "--oversubscribe"];
const MPIS: [Mpi; 2] = [
    Mpi {
        cc: "mpicc.openmpi",
        fortran: "mpif90.openmpi",
        launcher: OPEN,
    },
    Mpi {
        cc: "mpicc.mpich",
        fortran: "mpif90.mpich",
        launcher: &["mpirun.mpich"],
    },
];

/// Programs of several ranks fill the machine: one at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The MPIs of this machine, as Debian names them.
fn mpis() -> Vec<Mpi> {
    let there = |mpi: &Mpi| exists(mpi.cc) && exists(mpi.launcher[0]);
    let all: Vec<Mpi> = MPIS.into_iter().filter(there).collect();
    if all.is_empty() {
        eprintln!(
            "skipped: neither Debian's libopenmpi-dev and openmpi-bin nor libmpich-dev and mpich are installed"
        );
    }
    all
}

/// A folder for a test, with a program in it.
struct Lab {
    mpi: Mpi,
    folder: TempDir,
}

impl Lab {
    fn new(mpi: Mpi) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("known")).unwrap();
        Self { mpi, folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a program of `programs/` as `app`.
    fn compile(&self, source: &str, options: &[&str]) {
        let fortran = source.ends_with("F90");
        let compiler = if fortran {
            self.mpi.fortran
        } else {
            self.mpi.cc
        };
        let mut command = Command::new(compiler);
        command.args(["-O1", "-w"]);
        command.arg("-o").arg(self.at("app"));
        command.arg(Path::new(PROGRAMS).join(source));
        command.args(options).arg("-lpthread");
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{source}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// A command with what the MPIs need here; libraries are compiled once for all tests.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.env("KNOWN", self.at("known"));
        command.env(
            "XDG_CACHE_HOME",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/record"),
        );
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        command
    }

    /// `mpirun -n RANKS flitwise record -o recording --region-names -- ./app ARGUMENTS`.
    fn record(&self, ranks: u32, arguments: &[&str]) -> Output {
        let (launcher, options) = self.mpi.launcher.split_first().unwrap();
        let mut command = self.command(launcher);
        command
            .args(options)
            .args(["-n", &ranks.to_string(), FLITWISE]);
        command.args(["record", "-o", "recording", "--region-names", "--", "./app"]);
        command.args(arguments).output().unwrap()
    }

    /// Records the program with two ranks, which `prefix` starts; `./own` starts each on a processor of its own.
    fn bound(&self, prefix: &[&str]) -> Output {
        use std::os::unix::fs::PermissionsExt;
        let own = "#!/bin/sh\nexec taskset -c ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} \"$@\"\n";
        fs::write(self.at("own"), own).unwrap();
        fs::set_permissions(self.at("own"), fs::Permissions::from_mode(0o755)).unwrap();
        let (launcher, options) = self.mpi.launcher.split_first().unwrap();
        let mut command = self.command(launcher);
        command.args(options).args(["-n", "2"]).args(prefix);
        command.args([FLITWISE, "record", "-o", "recording", "--", "./app"]);
        command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
        command.output().unwrap()
    }

    /// `flitwise record OPTIONS -o recording -- mpirun -n RANKS ./app ARGUMENTS`.
    fn record_launcher(&self, options: &[&str], ranks: u32, arguments: &[&str]) -> Output {
        let mut command = self.command(FLITWISE);
        command
            .arg("record")
            .args(options)
            .args(["-o", "recording", "--"]);
        command
            .args(self.mpi.launcher)
            .args(["-n", &ranks.to_string(), "./app"]);
        command.args(arguments).output().unwrap()
    }

    fn streams(&self) -> Vec<Stream> {
        decode::recording(&self.at("recording"))
    }

    /// The lines that a rank knows.
    fn known(&self, rank: u32) -> Vec<String> {
        let text = fs::read_to_string(self.at("known").join(rank.to_string())).unwrap();
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    fn description(&self) -> String {
        fs::read_to_string(self.at("recording/recording.toml")).unwrap()
    }
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    errors
}
