//! `flitwise init`: writes an experiment or a study to start from, with all files that it needs.

mod templates;

use super::bare_trace::{ranks, tree_for};
use super::command_line::quoted;
use super::out::{cannot_write, unwritten};
use super::schema::{
    EXPERIMENT_SCHEMA_FILE, STUDY_SCHEMA_FILE, experiment_for_editors, study_for_editors,
};
use super::{CliError, json_text, print, signal};
use clap::Args;
use clap::builder::PossibleValuesParser;
use flitwise::results::relative_input;
use flitwise_formats::sink::{Batch, Sink};
use flitwise_formats::source::read_regular;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use templates::{MY_TRACE, TEMPLATES, Template};

/// The tree of the trace that stands for the user's.
const SMALL_TREE: &str = "k = 4, n = 2";
/// The beginning of the comment that says so.
const STANDS_IN: &str = "# RandomAccess";

/// Arguments of `flitwise init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwise init --list\n  flitwise init hpl-tree\n  flitwise init my-trace --trace app.vef.gz --out app"
)]
pub struct InitArgs {
    /// The template [default: lists them].
    #[arg(value_parser = PossibleValuesParser::new(TEMPLATES.iter().map(|template| template.name)), hide_possible_values = true)]
    template: Option<String>,
    /// The directory to write into, which is created if it does not exist [default: the current one]. No file is
    /// replaced.
    #[arg(long, value_name = "DIR", requires = "template")]
    out: Option<PathBuf>,
    /// my-trace: the trace to replay. The experiment gets a tree with a NIC for each of its ranks.
    #[arg(long, value_name = "FILE", requires = "template")]
    trace: Option<PathBuf>,
    /// Lists the templates, each with the question that it answers.
    #[arg(long, conflicts_with = "template")]
    list: bool,
}

/// Lists the templates, or writes one.
pub(super) fn run(args: &InitArgs) -> Result<(), CliError> {
    let named = args.template.as_deref().and_then(Template::named);
    let Some(template) = named.filter(|_| !args.list) else {
        return print(&list());
    };
    let trace = args.trace.as_deref();
    let tree = trace.map(|trace| tree(template, trace)).transpose()?;
    let dir = args.out.clone().unwrap_or_default();
    if args.out.is_some() {
        std::fs::create_dir_all(&dir).map_err(|e| cannot_write(&dir, e))?;
    }
    let mut files: Vec<(String, Cow<'static, [u8]>)> = Vec::new();
    for (name, text) in template.texts() {
        let text = match (trace, tree) {
            (Some(trace), Some(tree)) => filled(template, &text, trace, tree, &dir)?,
            _ => text,
        };
        files.push((name, text.into_bytes().into()));
    }
    let copies = template.copies().filter(|_| trace.is_none());
    files.extend(copies.map(|file| (file.name(), file.bytes.into())));
    let mut add_schema = |name: &str, schema| {
        let text = json_text(&schema)?.into_bytes();
        files.push((name.to_owned(), text.into()));
        Ok(())
    };
    add_schema(EXPERIMENT_SCHEMA_FILE, experiment_for_editors())?;
    if template.is_study() {
        add_schema(STUDY_SCHEMA_FILE, study_for_editors())?;
    }
    let written = write(&files, &dir)?;
    print(&told(template, &dir, &written))
}

/// Writes all files or none, and returns their paths. A file that is there with the same content stays.
fn write(files: &[(String, Cow<'_, [u8]>)], dir: &Path) -> Result<Vec<String>, CliError> {
    let mut batch = Batch::default();
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = dir.join(name);
        let shown = path.display();
        if path.symlink_metadata().is_err() {
            let sink = Sink::replace_as_is(&path);
            let added = sink.and_then(|sink| batch.add(sink, bytes));
            added.map_err(|e| unwritten("--out", &e))?;
            written.push(shown.to_string());
        } else if read_regular(&path).ok().as_deref() != Some(bytes) {
            return Err(CliError::BadInput(format!(
                "`{shown}` exists, and init replaces no file; move it away, or name another directory with --out DIR"
            )));
        }
    }
    let _whole = signal::hold_off_abort();
    batch.finish().map_err(|e| unwritten("--out", &e))?;
    Ok(written)
}

/// A line for each template.
fn list() -> String {
    let mut text = String::new();
    for template in TEMPLATES {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{:<17}{}", template.name, template.question());
    }
    text + "\n`flitwise init NAME` writes the commented experiment NAME.toml and all files that it needs.\n"
}

/// The files that were written, and the commands to type next.
fn told(template: &Template, dir: &Path, written: &[String]) -> String {
    let place = dir.join(template.main.name()).display().to_string();
    let mut text = match written {
        [] => "all files are there already\n\n".to_owned(),
        written => format!("wrote {}\n\n", written.join(", ")),
    };
    for command in template.commands(&quoted(&place)) {
        let _ = writeln!(text, "  {command}");
    }
    text
}

fn refused<T>(why: &str) -> Result<T, CliError> {
    Err(CliError::BadInput(format!("--trace: {why}")))
}

/// Returns `k` and `n` of a tree with a NIC for each rank of the user's trace.
fn tree(template: &Template, trace: &Path) -> Result<(u32, u32), CliError> {
    let shown = trace.display();
    if template.name != MY_TRACE {
        let name = template.name;
        return refused(&format!(
            "{name} has a trace of its own; use the template {MY_TRACE}"
        ));
    }
    let ranks = match ranks(trace) {
        Some(Ok(ranks)) if ranks > 0 => ranks,
        Some(Ok(_)) => {
            return refused(&format!(
                "`{shown}` is broken; `flitwise trace check` says where"
            ));
        }
        Some(Err(format)) => return refused(&format!("`{shown}` is {format}")),
        None if !trace.exists() => return refused(&format!("there is no `{shown}`")),
        None => {
            let why = "is no trace that can be read; docs/reference/traces.md lists the formats";
            return refused(&format!("`{shown}` {why}"));
        }
    };
    tree_for(ranks).map_or_else(
        || refused(&format!("`{shown}` has {ranks} ranks, too many for a tree; cut some out with `flitwise trace slice`")),
        Ok,
    )
}

/// The experiment in `dir` with the user's trace in place of the one that stands for it, and with a tree of its size.
fn filled(
    template: &'static Template,
    text: &str,
    trace: &Path,
    (k, n): (u32, u32),
    dir: &Path,
) -> Result<String, CliError> {
    let path = relative_input(dir, trace);
    let Some(path) = path.to_str() else {
        let shown = trace.display();
        return refused(&format!(
            "`{shown}` is no UTF-8 text, and an experiment is one; rename it"
        ));
    };
    let lines = text.lines().filter(|line| !line.starts_with(STANDS_IN));
    let own: String = lines.map(|line| format!("{line}\n")).collect();
    // A JSON text is a TOML text, too.
    let own = own.replace(
        &stand_in(template),
        &serde_json::Value::from(path).to_string(),
    );
    Ok(own.replace(SMALL_TREE, &format!("k = {k}, n = {n}")))
}

/// The name of the trace that stands for the user's, in quotes.
fn stand_in(template: &'static Template) -> String {
    template
        .copies()
        .map(|file| format!("\"{}\"", file.name()))
        .collect()
}
