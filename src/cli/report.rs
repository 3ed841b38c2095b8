//! `flitwise report` and `flitwise plot`: a page and figures from the directories of runs, studies and static analyses.

use super::out::unwritten;
use super::{CliError, signal, tell};
use clap::Args;
use clap::builder::PossibleValuesParser;
use flitwise::figure::{EncodeError, Figure, FileFormat, MAX_WIDTH, MIN_WIDTH, encoded};
use flitwise::report::{Kind, ReportError, Source, figures, open, page};
use flitwise::results::MissingFeature;
use flitwise_formats::sink::{self, Batch, Sink};
use std::path::{Path, PathBuf};

/// The results to report on.
#[derive(Debug, Args)]
struct Subjects {
    /// Directories of runs (`flitwise run --out DIR`), of studies and of static analyses (`flitwise congestion --out
    /// DIR`); curves and bars of several are overlaid.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Name of a directory in figures; give one for each directory, in their order [default: the names of the
    /// experiments and studies].
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    /// Title of the page or figure [default: these names].
    #[arg(long)]
    title: Option<String>,
    /// Prints no messages and no progress.
    #[arg(long)]
    quiet: bool,
}

/// Arguments of `flitwise report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwise report results/hpl\n  \
                  flitwise report results/tree results/torus -o report.html\n\n\
                  docs/reference/report.md describes the page, and the commands whose results it shows.")]
pub struct ReportArgs {
    #[command(flatten)]
    subjects: Subjects,
    /// File for the page.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

/// Arguments of `flitwise plot`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwise plot scheduler.study --kind slowdown -o slowdown.pdf\n  \
                  flitwise plot results/tree results/torus --kind latency -o latency.svg --label tree --label torus"
)]
pub struct PlotArgs {
    #[command(flatten)]
    subjects: Subjects,
    /// The kind of figure.
    #[arg(long, value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::name)))]
    kind: String,
    /// File for the figure; the ending .svg, .pdf or .png decides the format. Further figures have -2, -3 and so on
    /// behind the name.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Width in pixels; a PNG has twice as many.
    #[arg(long, default_value_t = 720, value_parser = clap::value_parser!(u32).range(i64::from(MIN_WIDTH)..=i64::from(MAX_WIDTH)))]
    width: u32,
}

impl ReportArgs {
    pub(super) fn is_quiet(&self) -> bool {
        self.subjects.quiet
    }
}

impl PlotArgs {
    pub(super) fn is_quiet(&self) -> bool {
        self.subjects.quiet
    }
}

impl Subjects {
    fn open(&self) -> Result<Vec<Source>, CliError> {
        open(&self.dirs, &self.label).map_err(bad)
    }

    fn wrote(&self, path: &Path) {
        if !self.quiet {
            tell(format_args!("wrote {}", path.display()));
        }
    }
}

fn bad(e: ReportError) -> CliError {
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
    let sources = args.subjects.open()?;
    let page = page(&sources, args.subjects.title.as_deref()).map_err(bad)?;
    sink::write(&args.output, page.as_bytes()).map_err(|e| unwritten("-o", &e))?;
    args.subjects.wrote(&args.output);
    Ok(())
}

pub(super) fn plot(args: &PlotArgs) -> Result<(), CliError> {
    let Some(format) = FileFormat::of_name(&args.output) else {
        return Err(CliError::BadInput(format!(
            "-o: the name `{}` has no ending of a known format; let it end in .svg, .pdf or .png",
            args.output.display()
        )));
    };
    let sources = args.subjects.open()?;
    let asked = Kind::ALL.into_iter().find(|kind| kind.name() == args.kind);
    let kind =
        asked.ok_or_else(|| CliError::BadInput(format!("--kind: unknown `{}`", args.kind)))?;
    let mut files = Batch::default();
    let mut paths = Vec::new();
    for (number, mut figure) in (1..).zip(figures(kind, &sources).map_err(bad)?) {
        if let Some(title) = &args.subjects.title {
            figure.title.clone_from(title);
        }
        let path = numbered(&args.output, number);
        let bytes = bytes(&figure, args.width, format)?;
        let sink = Sink::create(&path).map_err(|e| unwritten("-o", &e))?;
        files.add(sink, &bytes).map_err(|e| unwritten("-o", &e))?;
        paths.push(path);
    }
    let whole = signal::hold_off_abort();
    files.finish().map_err(|e| unwritten("-o", &e))?;
    drop(whole);
    paths.iter().for_each(|path| args.subjects.wrote(path));
    Ok(())
}

fn bytes(figure: &Figure, width: u32, format: FileFormat) -> Result<Vec<u8>, CliError> {
    encoded(figure, width, format).map_err(|e| match e {
        EncodeError::NoPictures => CliError::BadInput(MissingFeature::PICTURES.to_string()),
        e => CliError::Failed(e.to_string()),
    })
}

/// `fig.svg`, `fig-2.svg`, …
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (text(path.file_stem()), text(path.extension()));
    path.with_file_name(format!("{stem}-{number}.{extension}"))
}
