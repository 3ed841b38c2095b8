//! `flitwise report`: a page from the directories of runs, studies and static analyses.

use super::bare_trace;
use super::console::tell;
use super::error::CliError;
use super::out::{crowded, unwritten};
use clap::Args;
use flitwise::report::{ReportError, Source, open, page};
use flitwise_formats::sink;
use std::path::{Path, PathBuf};

/// The results to report on.
#[derive(Debug, Args)]
pub(super) struct Subjects {
    /// Directories of runs (`flitwise run --out DIR`), of studies and of static analyses (`flitwise congestion --out
    /// DIR`); curves and bars of several are overlaid.
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Title of the page or figure [default: these names].
    #[arg(long)]
    pub title: Option<String>,
    /// Prints no messages and no progress.
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `flitwise report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwise report results/hpl\n  \
                  flitwise report results/tree results/torus -o report.html\n\n\
                  docs/reference/report.md describes the page, and the commands whose results it shows.")]
pub struct ReportArgs {
    /// Name of a directory in figures; give one for each directory, in their order [default: the names of the
    /// experiments and studies].
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    #[command(flatten)]
    subjects: Subjects,
    /// File for the page.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

impl ReportArgs {
    pub(super) fn is_quiet(&self) -> bool {
        self.subjects.quiet
    }
}

impl Subjects {
    pub(super) fn open(&self, labels: &[String]) -> Result<Vec<Source>, CliError> {
        open(&self.dirs, labels).map_err(|e| {
            let trace = self.dirs.iter().find_map(|dir| bare_trace::for_result(dir));
            trace.unwrap_or_else(|| bad(e))
        })
    }

    /// Reports a file that is written, and whether it blocks further results.
    pub(super) fn wrote(&self, path: &Path) {
        if self.quiet {
            return;
        }
        let shown = path.display();
        tell(format_args!("wrote {shown}"));
        if crowded(path) {
            tell(format_args!(
                "note: `{shown}` lies among the files of a result, which no command replaces or resumes before it is moved away"
            ));
        }
    }
}

pub(super) fn bad(e: ReportError) -> CliError {
    CliError::BadInput(e.to_string())
}

pub(super) fn report(args: &ReportArgs) -> Result<(), CliError> {
    let is_page =
        |e: &std::ffi::OsStr| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm");
    if !args.output.extension().is_some_and(is_page) {
        return Err(CliError::BadInput(format!(
            "-o: a report is an HTML page, but the name `{}` does not end in .html; change it, or draw one figure with `flitwise plot`",
            args.output.display()
        )));
    }
    let sources = args.subjects.open(&args.label)?;
    let page = page(&sources, args.subjects.title.as_deref()).map_err(bad)?;
    sink::write(&args.output, page.as_bytes()).map_err(|e| unwritten("-o", &e))?;
    args.subjects.wrote(&args.output);
    Ok(())
}
