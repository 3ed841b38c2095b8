//! The files to which commands write traces, and the report about them.

use crate::cli::console::{print, tell};
use crate::cli::error::{CliError, bad_trace};
use flitwise::replay::convert;
use flitwise::replay::generate::Counts;
use flitwise::units::{human_bytes, human_count};
use flitwise_formats::Sink;
use flitwise_formats::source::shown;
use flitwise_formats::vef::Version;
use serde_json::json;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-written-1";
/// Bytes that are collected before they go to standard output.
const BUFFER: usize = 256 * 1024;

/// A trace file that is being written, or standard output.
pub(super) enum Output {
    File(Box<Sink>),
    /// The name `-`.
    Stdout(BufWriter<Stdout>),
}

impl Output {
    /// Opens an output before the work that fills it. It must be none of the files that are read: the trace at `input`,
    /// with its other files `parts`.
    pub fn beside(
        input: &Path,
        parts: &[PathBuf],
        path: &Path,
        json: bool,
    ) -> Result<Self, CliError> {
        if is_read(input, parts, path) {
            Err(CliError::BadInput(format!(
                "{}: belongs to the input trace {}; name another file",
                path.display(),
                shown(input).display()
            )))
        } else {
            Self::open(path, json)
        }
    }

    /// The same for a trace that is not made of another. `json`: of the report, which standard output has no room for.
    pub fn open(path: &Path, json: bool) -> Result<Self, CliError> {
        if path == Path::new("-") {
            if json {
                return Err(CliError::BadInput(
                    "--json does nothing where the trace goes to standard output; leave it out, or name a file".into(),
                ));
            }
            let out = BufWriter::with_capacity(BUFFER, io::stdout());
            return Ok(Self::Stdout(out));
        }
        let sink = Sink::create(path).map_err(|e| {
            let why = format!("cannot write {e}");
            if e.is_full_disk() {
                CliError::Failed(why)
            } else {
                CliError::BadInput(why)
            }
        })?;
        Ok(Self::File(Box::new(sink)))
    }

    /// Completes the output and reports on it, unless it is standard output.
    pub fn finish(self, written: &Written, json: bool) -> Result<(), CliError> {
        match self {
            Self::File(sink) => {
                let path = sink.path().to_owned();
                sink.finish()
                    .map_err(|e| CliError::Failed(format!("cannot write {e}")))?;
                print(&if json {
                    written.json(&path)
                } else {
                    written.text(&path)
                })
            }
            Self::Stdout(mut out) => or_gone(out.flush(), Path::new("-")),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(sink) => sink.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(sink) => sink.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}

/// Whether `output` is a file of the trace at `input`, whose other files are `parts`. The files in a directory may be
/// all that is left of a recording, such as its metafile.
fn is_read(input: &Path, parts: &[PathBuf], output: &Path) -> bool {
    let Ok(output) = output.canonicalize() else {
        return false;
    };
    if !output.is_file() {
        return false;
    }
    let canonical = |path: &Path| path.canonicalize().ok();
    let given = canonical(input);
    let within = given.as_deref().filter(|given| given.is_dir());
    given.as_ref() == Some(&output)
        || within.is_some_and(|dir| output.parent() == Some(dir))
        || (parts.iter()).any(|part| canonical(part).as_ref() == Some(&output))
}

/// Explains why a conversion into the file at `output` failed; `None` if the reader has closed it. An output that can't
/// be written is no fault of the input.
pub(super) fn failed_conversion(error: anyhow::Error, output: &Path) -> Option<CliError> {
    use flitwise_formats::{Error, goal::WriteError as Goal, ti::WriteError as Ti};
    let unwritten = |e: io::Error| or_gone(Err(e), output).err();
    let error = match error.downcast::<io::Error>() {
        Ok(e) => return unwritten(e),
        Err(error) => error,
    };
    let error = match error.downcast::<Goal>() {
        Ok(Goal::Write(e)) => return unwritten(e),
        Ok(Goal::Read(e)) => e.into(),
        Ok(e) => e.into(),
        Err(error) => error,
    };
    let error = match error.downcast::<Ti>() {
        Ok(Ti::Write(e)) => return unwritten(e),
        Ok(Ti::Read(e)) => e.into(),
        Ok(e) => e.into(),
        Err(error) => error,
    };
    Some(match error.downcast_ref::<Error>() {
        Some(e) => bad_trace(e),
        // The message names the file.
        None => CliError::BadInput(format!("{error:#}")),
    })
}

/// The result of a write; a closed pipe is no error.
pub(super) fn or_gone(result: io::Result<()>, path: &Path) -> Result<(), CliError> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            let is_stdout = path == Path::new("-");
            let shown = if is_stdout {
                Path::new("to standard output")
            } else {
                path
            };
            Err(CliError::Failed(format!(
                "cannot write {}: {e}",
                shown.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Reports on standard error the differences from the trace at `path`.
pub(super) fn warn_of(path: &Path, what: &str, losses: &[String]) {
    tell(format_args!("{} {what}", shown(path).display()));
    for loss in losses {
        tell(format_args!("not as in the trace: {loss}"));
    }
}

/// A written trace.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub format: &'static str,
    pub contents: convert::Written,
}

impl Written {
    /// A VEF trace of this version, with times in units of `ps_per_unit`.
    pub fn vef(version: Version, ps_per_unit: u64, ranks: u32, counts: Counts) -> Self {
        let mut contents = convert::Written::default();
        contents.ps_per_unit = Some(ps_per_unit);
        contents.ranks = ranks;
        contents.records = counts.messages + counts.markers + counts.members;
        contents.messages = counts.messages;
        contents.bytes = counts.bytes;
        contents.markers = counts.markers;
        contents.collectives = counts.collectives;
        contents.members = counts.members;
        Self {
            format: version.name(),
            contents,
        }
    }

    fn text(&self, path: &Path) -> String {
        let format = match self.contents.ps_per_unit {
            Some(unit) => format!("{}, times in units of {unit} ps", self.format),
            None => self.format.to_owned(),
        };
        let mut rows = vec![
            ("written", path.display().to_string()),
            ("format", format),
            ("ranks", human_count(self.contents.ranks.into())),
            ("records", human_count(self.contents.records)),
            ("messages", self.messages_text()),
            ("bytes", human_bytes(self.contents.bytes)),
        ];
        if self.contents.ps_per_unit.is_some() {
            rows.push(("markers", human_count(self.contents.markers)));
        }
        rows.push(("collectives", human_count(self.contents.collectives)));
        let line = |(name, value): (&str, String)| format!("{name:<14}  {value}\n");
        rows.into_iter().map(line).collect()
    }

    /// The number of messages; without any, what sends them.
    fn messages_text(&self) -> String {
        match (self.contents.messages, self.contents.collectives) {
            (0, 1..) => "0 of its own; the replay sends messages for the collectives".to_owned(),
            (messages, _) => human_count(messages),
        }
    }

    fn json(&self, path: &Path) -> String {
        let document = json!({
            "schema": SCHEMA,
            "file": path.display().to_string(),
            "format": self.format,
            "ps_per_unit": self.contents.ps_per_unit,
            "ranks": self.contents.ranks,
            "records": self.contents.records,
            "messages": self.contents.messages,
            "bytes": self.contents.bytes,
            "markers": self.contents.markers,
            "collectives": self.contents.collectives,
            "collective_lines": self.contents.members,
            "losses": self.contents.losses,
        });
        format!("{document:#}\n")
    }
}
