//! `flitwise plot`: figures from the directories of runs, studies and static analyses.

use super::console::tell;
use super::error::CliError;
use super::out::unwritten;
use super::report::{Subjects, bad};
use super::signal;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use flitwise::figure::{EncodeError, Figure, FileFormat, MAX_WIDTH, MIN_WIDTH, encoded};
use flitwise::report::{Choice, FigureKind, METRICS, Source, figures_with, kind, left_out};
use flitwise::results::MissingFeature;
use flitwise_base::quote::cut;
use flitwise_formats::sink::{Batch, Sink};
use std::path::{Path, PathBuf};

/// Arguments of `flitwise plot`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwise plot scheduler.study --kind slowdown -o slowdown.pdf\n  \
                  flitwise plot results/tree results/torus --kind latency -o latency.svg --label tree --label torus\n  \
                  flitwise plot scheduler.study --kind slowdown -o figure.pdf --label rr='round robin' --no-subtitle\n  \
                  flitwise plot background --kind slowdown -o tree.svg --only fabric=tree --x application"
)]
pub struct PlotArgs {
    /// Name of a directory; give one for each directory, in their order [default: the names of the experiments and
    /// studies]. Or KEY=TEXT: the text for a name in the figure (of a series, category, panel or directory).
    #[arg(long, value_name = "NAME|KEY=TEXT")]
    label: Vec<String>,
    #[command(flatten)]
    subjects: Subjects,
    /// The kind of figure.
    #[arg(long, value_parser = KindName)]
    kind: String,
    /// File for the figure; the ending .svg, .pdf or .png decides the format. Further figures have -2, -3 and so on
    /// behind the name.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The axis from left to right [default: the last one of numbers, or the last one]; of curves always the load.
    #[arg(long, value_name = "AXIS")]
    x: Option<String>,
    /// The axis with a colour for each setting [default: the last one of the others]; the rest makes panels.
    #[arg(long, value_name = "AXIS")]
    series: Option<String>,
    /// Draws only the points of studies with this setting of an axis. Give it several times for several settings or axes.
    #[arg(long, value_name = "AXIS=SETTING")]
    only: Vec<String>,
    /// The metric of --kind differences [default: time; without jobs throughput and latency].
    #[arg(long, value_parser = PossibleValuesParser::new(METRICS))]
    metric: Option<String>,
    /// Width in pixels; a PNG has twice as many.
    #[arg(long, default_value_t = 720, value_parser = clap::value_parser!(u32).range(i64::from(MIN_WIDTH)..=i64::from(MAX_WIDTH)))]
    width: u32,
    /// Label of the horizontal axis, with its unit.
    #[arg(long, value_name = "TEXT")]
    x_label: Option<String>,
    /// Label of the vertical axis, with its unit.
    #[arg(long, value_name = "TEXT")]
    y_label: Option<String>,
    /// Leaves out the remark below the title.
    #[arg(long)]
    no_subtitle: bool,
}

/// A name for `--kind`. Any name is taken: the message about a wrong one says which kinds fit the directories.
#[derive(Debug, Clone, Copy)]
struct KindName;

impl TypedValueParser for KindName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            FigureKind::ALL
                .map(FigureKind::name)
                .map(PossibleValue::new)
                .into_iter(),
        ))
    }
}

/// Most names that a message lists.
const MOST_NAMES: usize = 12;

impl PlotArgs {
    pub(super) fn is_quiet(&self) -> bool {
        self.subjects.quiet
    }

    /// The figures of the directories, with the texts that were asked for.
    fn figures(&self) -> Result<Vec<Figure>, CliError> {
        let is_rename = |label: &&String| label.contains('=');
        let (renames, names): (Vec<&String>, Vec<&String>) = self.label.iter().partition(is_rename);
        let names: Vec<String> = names.into_iter().cloned().collect();
        let mut sources = self.subjects.open(&names)?;
        let of_sources: Vec<bool> = renames
            .iter()
            .map(|label| splits(label).any(|(from, to)| rename_source(&mut sources, from, to)))
            .collect();
        let kind = kind(&self.kind, &sources).map_err(bad)?;
        let choice = Choice {
            x: self.x.clone(),
            series: self.series.clone(),
            only: self.only.clone(),
            metric: self.metric.clone(),
        };
        let mut figures = figures_with(kind, &sources, &choice).map_err(bad)?;
        if !self.is_quiet() {
            for text in left_out(kind, &sources, &choice) {
                tell(format_args!("warning: {text}"));
            }
        }
        for (label, is_found) in renames.into_iter().zip(of_sources) {
            let mut keys = splits(label);
            if !keys.any(|(from, to)| rename(&mut figures, from, to)) && !is_found {
                return Err(unknown_name(label, &mut figures));
            }
        }
        for figure in &mut figures {
            self.set_texts(figure)?;
        }
        Ok(figures)
    }

    fn set_texts(&self, figure: &mut Figure) -> Result<(), CliError> {
        let lacks = |option: &str, axis: &str| {
            let kind = &self.kind;
            Err(CliError::BadInput(format!(
                "{option}: a figure of --kind {kind} has no {axis} axis; leave the option out"
            )))
        };
        if let Some(text) = &self.x_label
            && !figure.set_x_label(text)
        {
            return lacks("--x-label", "horizontal");
        }
        if let Some(text) = &self.y_label
            && !figure.set_y_label(text)
        {
            return lacks("--y-label", "vertical");
        }
        if self.no_subtitle {
            figure.note.clear();
        }
        if let Some(title) = &self.subjects.title {
            figure.title.clone_from(title);
        }
        Ok(())
    }
}

/// The ways to read `KEY=TEXT`, the longest key first: a key may have a `=` in it.
fn splits(label: &str) -> impl Iterator<Item = (&str, &str)> {
    let places = label.rmatch_indices('=');
    places.map(|(at, _)| (&label[..at], &label[at + 1..]))
}

fn rename_source(sources: &mut [Source], from: &str, to: &str) -> bool {
    let is_named =
        |source: &&mut Source| source.label() == from || source.dir().as_os_str() == from;
    let mut found = false;
    for source in sources.iter_mut().filter(is_named) {
        source.set_label(to.to_owned());
        found = true;
    }
    found
}

fn rename(figures: &mut [Figure], from: &str, to: &str) -> bool {
    let mut found = false;
    for figure in figures {
        found |= figure.rename(from, to);
    }
    found
}

fn unknown_name(label: &str, figures: &mut [Figure]) -> CliError {
    let mut names: Vec<String> = Vec::new();
    for name in figures.iter_mut().flat_map(Figure::names_mut) {
        if !name.is_empty() && !names.contains(name) {
            names.push(name.clone());
        }
    }
    let more = if names.len() > MOST_NAMES {
        ", …"
    } else {
        ""
    };
    let names: Vec<String> = names
        .iter()
        .take(MOST_NAMES)
        .map(|name| format!("`{}`", cut(name)))
        .collect();
    let key = label.split('=').next().unwrap_or_default();
    CliError::BadInput(format!(
        "--label: the figure has no name `{}`; it has {}{more}",
        cut(key),
        names.join(", ")
    ))
}

pub(super) fn plot(args: &PlotArgs) -> Result<(), CliError> {
    let format = format_of(&args.output, "-o")?;
    let mut files = Batch::default();
    let mut paths = Vec::new();
    for (number, figure) in (1..).zip(args.figures()?) {
        let path = numbered(&args.output, number);
        let bytes = encoded_bytes(&figure, args.width, format)?;
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

/// The format of a figure's file, whose name `option` gives.
pub(super) fn format_of(path: &Path, option: &str) -> Result<FileFormat, CliError> {
    FileFormat::of_name(path).ok_or_else(|| {
        CliError::BadInput(format!(
            "{option}: the name `{}` has an unknown extension; let it end in .svg, .pdf or .png",
            path.display()
        ))
    })
}

/// The bytes of a figure's file.
pub(super) fn encoded_bytes(
    figure: &Figure,
    width: u32,
    format: FileFormat,
) -> Result<Vec<u8>, CliError> {
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
