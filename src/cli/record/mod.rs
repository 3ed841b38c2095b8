//! `flitwise record`: runs a program and records its MPI calls.

mod forward;

use super::console::{print, tell};
use super::error::CliError;
use super::out::Target;
use super::trace::info;
use super::{bare_trace, signal};
use clap::{Args, Subcommand};
use flitwise::record::{
    DIRECTORY, NAMES, OWNER, RecordError, Recorder, SESSION, Stored, is_recording_file,
};
use flitwise::replay::trace::recording::RECORDING;
use flitwise_formats::source::Input;
use flitwise_formats::temporary;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, exit};

/// Arguments of `flitwise record`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  mpirun -n 16 flitwise record -o DIR -- ./app ARGUMENTS\n  flitwise record -o DIR -- mpirun -n 16 ./app ARGUMENTS\n\nThe first form works with every launcher and on several nodes. C and Fortran, MPI 3.0 and later. docs/reference/recording.md describes the recording. The exit code is the program's."
)]
pub struct RecordArgs {
    #[command(subcommand)]
    command: Option<RecordCommand>,
    /// Directory of the recording; an older recording there is replaced.
    #[arg(short, long, value_name = "DIR", required = true)]
    out: Option<PathBuf>,
    /// Compiler of the program's MPI, if it is none of mpicc, mpicc.openmpi and mpicc.mpich.
    #[arg(long, value_name = "PROGRAM", global = true)]
    mpicc: Option<PathBuf>,
    /// The program calls MPI_Pcontrol(1, "NAME") and MPI_Pcontrol(-1, "NAME") where regions begin and end. Without it
    /// a region has the number of the call as its name: C cannot tell whether there is a second argument.
    #[arg(long)]
    region_names: bool,
    /// The program, or a launcher and the program, with arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum RecordCommand {
    /// Prints the path of the library that records, for LD_PRELOAD or to link a program with.
    #[command(
        after_help = "Example:\n  FLITWISE_RECORD=DIR LD_PRELOAD=$(flitwise record library) ./app\n  mpicc app.c $(flitwise record library)\n\nFLITWISE_RECORD_NAMES=1 is --region-names. Ranks wait FLITWISE_RECORD_PATIENCE seconds (60) for each other after MPI_Init."
    )]
    Library,
}

pub(super) fn run(args: &RecordArgs) -> Result<(), CliError> {
    if !cfg!(target_os = "linux") {
        let why = "programs are recorded on Linux only";
        return Err(CliError::BadInput(why.to_owned()));
    }
    let recorder = Recorder::find(args.mpicc.as_deref(), &args.words).map_err(refused)?;
    match (&args.command, &args.out) {
        (None, Some(dir)) => record(&recorder, dir, args),
        _ => print(&format!("{}\n", recorder.library.display())),
    }
}

fn refused(e: RecordError) -> CliError {
    match e {
        RecordError::Cache { .. } => CliError::Failed(e.to_string()),
        e => CliError::BadInput(e.to_string()),
    }
}

fn record(recorder: &Recorder, dir: &Path, args: &RecordArgs) -> Result<(), CliError> {
    let target = Target::of_recording(dir)?;
    let before = Stored::read(&target.path);
    let session = temporary::unique();
    let Some((program, arguments)) = args.words.split_first() else {
        return Ok(());
    };
    let mut command = Command::new(program);
    command.args(arguments).env(DIRECTORY, &target.path);
    command.env(SESSION, &session).env_remove(OWNER);
    command.env("LD_PRELOAD", preloaded(&recorder.library));
    if args.region_names {
        command.env(NAMES, "1");
    }
    let status = forward::run(&mut command).map_err(|e| {
        let program = program.display();
        CliError::BadInput(format!("cannot run `{program}`: {e}"))
    })?;
    let run = before.as_ref().map(|stored| &stored.run);
    match Stored::read(&target.path).filter(|stored| Some(&stored.run) != run) {
        Some(stored) if stored.session == session => summary(&target, &stored, before.as_ref()),
        // The command of rank 0 tells.
        Some(_) => {}
        // So does it if rank 0 has another file system.
        None if before.is_none() && holds_streams(&target.path) => {}
        None => {
            let why = nothing(recorder, &target);
            if status.success() {
                return Err(CliError::Failed(why));
            }
            tell(format_args!("{why}"));
        }
    }
    if status.success() {
        Ok(())
    } else {
        end_like(status)
    }
}

fn holds_streams(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| is_recording_file(&name))
}

/// Says that there is no recording, and the usual reasons.
fn nothing(recorder: &Recorder, target: &Target) -> String {
    let (dir, compiler) = (target.shown.display(), recorder.compiler.display());
    format!(
        "nothing was recorded in `{dir}`: the program did not call MPI_Init, is linked with MPI statically, runs in a \
         container or on other nodes without LD_PRELOAD, or uses another MPI than `{compiler}` (--mpicc)"
    )
}

/// The value of `LD_PRELOAD` with the library before all others.
fn preloaded(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// Prints what the recording holds, and the command that replays it.
fn summary(target: &Target, stored: &Stored, before: Option<&Stored>) {
    let (dir, ranks) = (target.shown.display(), stored.ranks);
    let words = |ranks: u32| format!("{ranks} rank{}", if ranks == 1 { "" } else { "s" });
    let recorded = match before {
        Some(before) => {
            let older = words(before.ranks);
            format!(
                "recorded {} in `{dir}`, in place of an older recording of {older}",
                words(ranks)
            )
        }
        None => format!("recorded {} in `{dir}`", words(ranks)),
    };
    let replay = bare_trace::replay(&target.shown);
    if let Some(rows) = rows(target, stored) {
        tell(format_args!(
            "{recorded}\n{rows}to replay them:\n  {replay}"
        ));
        return;
    }
    let end = if stored.finalised {
        ""
    } else {
        "; the program ended without MPI_Finalize, so the calls of the last second may be missing"
    };
    tell(format_args!(
        "{recorded}{end}; to look at them: flitwise trace info '{dir}'; to replay them:\n  {replay}"
    ));
}

/// Most bytes of a recording that is summarised, which takes seconds.
const MAX_SUMMARISED: u64 = 64 << 20;

/// The rows of `trace info`; `None` if some ranks may still be writing, if the recording is large, or if its streams are
/// on other nodes.
fn rows(target: &Target, stored: &Stored) -> Option<String> {
    let sizes = std::fs::read_dir(&target.path).ok()?.flatten();
    let sizes = sizes.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    // Where rank 0 has finalised, all ranks have written.
    if !stored.finalised || sizes.fold(0, u64::saturating_add) > MAX_SUMMARISED {
        return None;
    }
    let summary = (RECORDING.summary)(&Input::new(&target.path)).ok()?;
    Some(info::rows(&summary))
}

/// Ends this process as the program ended.
fn end_like(status: ExitStatus) -> ! {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            signal::die(signal);
        }
    }
    exit(status.code().unwrap_or(1))
}
