//! `flitwise init`: writes an experiment or a study to start from, with all files that it needs.

mod templates;

use super::bare_trace::{ranks, tree_for};
use super::command_line::quoted;
use super::console::{json_text, print, tell};
use super::error::CliError;
use super::out::{cannot_write, unwritten};
use super::schema::{
    EXPERIMENT_SCHEMA_FILE, STUDY_SCHEMA_FILE, experiment_for_editors, study_for_editors,
};
use super::signal;
use clap::Args;
use clap::builder::PossibleValuesParser;
use flitwise::config::{load_fabric, missing_file};
use flitwise::results::relative_input;
use flitwise_formats::sink::{Batch, Sink};
use flitwise_formats::source::read_regular;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
pub(super) use templates::traces;
use templates::{MY_TRACE, TEMPLATES, Template};

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
    /// The trace to replay, of a template with one job. If a tree is too small for its ranks, or the template is
    /// my-trace, the experiment gets a tree with a NIC for each of them.
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
    let own = trace.map(|trace| Own::of(template, trace)).transpose()?;
    let dir = args.out.clone().unwrap_or_default();
    if args.out.is_some() {
        std::fs::create_dir_all(&dir).map_err(|e| cannot_write(&dir, e))?;
    }
    let mut files: Vec<(String, Cow<'static, [u8]>)> = Vec::new();
    for (name, text) in template.texts() {
        let text = match &own {
            Some(own) => own.filled(template, &text, &dir)?,
            None => text,
        };
        files.push((name, text.into_bytes().into()));
    }
    let copies = template.copies();
    let copies = copies.filter(|file| own.is_none() || !file.is_trace());
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
    if template.name == MY_TRACE && own.is_none() {
        tell(format_args!(
            "note: without --trace FILE, {MY_TRACE} replays RandomAccess in place of your trace"
        ));
    }
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

/// A trace of the user.
struct Own<'a> {
    trace: &'a Path,
    ranks: u32,
    /// `k` and `n` of the tree that takes the place of the template's, if there is one.
    tree: Option<(u32, u32)>,
}

impl<'a> Own<'a> {
    /// The trace in the place of the one of `template`.
    fn of(template: &'static Template, trace: &'a Path) -> Result<Self, CliError> {
        let (name, shown) = (template.name, trace.display());
        let cure = format!("use the template {MY_TRACE}, or another one with one job");
        match template.traces().count() {
            0 => return refused(&format!("{name} has no job that could replay it; {cure}")),
            1 => {}
            jobs => {
                return refused(&format!(
                    "{name} has {jobs} jobs, and which of them is to replay it is open; write {name} without --trace and \
                     name it as `trace` of one [[job]], or {cure}"
                ));
            }
        }
        let ranks = match ranks(trace) {
            Some(Ok(ranks)) if ranks > 0 => ranks,
            Some(Ok(_)) => {
                return refused(&format!(
                    "`{shown}` is broken; `flitwise trace check` says where"
                ));
            }
            Some(Err(format)) => return refused(&format!("`{shown}` is {format}")),
            None if !trace.exists() => {
                let cure = missing_file(trace, &[trace.to_owned()]);
                return refused(&format!("there is no `{shown}`{cure}"));
            }
            None => {
                let why =
                    "is no trace that can be read; docs/reference/traces.md lists the formats";
                return refused(&format!("`{shown}` {why}"));
            }
        };
        let nics = nics(template)?;
        if template.name != MY_TRACE && ranks <= nics {
            return Ok(Self {
                trace,
                ranks,
                tree: None,
            });
        }
        if template.tree().is_none() {
            return refused(&format!(
                "`{shown}` has {ranks} ranks, and the fabric of {name} has {nics} NICs; use the template {MY_TRACE}, or cut \
                 ranks out with `flitwise trace slice`"
            ));
        }
        tree_for(ranks).map_or_else(
            || refused(&format!("`{shown}` has {ranks} ranks, too many for a tree; cut some out with `flitwise trace slice`")),
            |tree| Ok(Self { trace, ranks, tree: Some(tree) }),
        )
    }

    /// The text of `template` for `dir` with this trace in place of its own: with its name, its ranks and its
    /// computation, and on a tree of its size.
    fn filled(
        &self,
        template: &'static Template,
        text: &str,
        dir: &Path,
    ) -> Result<String, CliError> {
        let path = relative_input(dir, self.trace);
        let Some(path) = path.to_str() else {
            let shown = self.trace.display();
            return refused(&format!(
                "`{shown}` is no UTF-8 text, and an experiment is one; rename it"
            ));
        };
        let name = self.trace.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with(STANDS_IN));
        let lines = lines.map(|line| {
            if line.starts_with("compute_scale") {
                "compute_scale = 1  # multiplies all computation: 0.5 is a processor twice as fast"
            } else {
                line
            }
        });
        let mut own: String = lines.map(|line| format!("{line}\n")).collect();
        if name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            && !name.is_empty()
        {
            own = own.replace("HPL on 16 ", &format!("{name} on {} ", self.ranks));
            own = own.replace("HPL", name);
        }
        own = own.replace("\"hpl\", ", "");
        for stand_in in template.traces() {
            // A JSON text is a TOML text, too.
            let path = serde_json::Value::from(path).to_string();
            own = own.replace(&format!("\"{}\"", stand_in.name()), &path);
        }
        if let (Some((k, n)), Some(small)) = (self.tree, template.tree()) {
            own = own.replace(&small, &format!("k = {k}, n = {n} }} # k^n NICs"));
        }
        Ok(own)
    }
}

/// The commands that the templates print.
#[cfg(test)]
pub(super) fn commands() -> impl Iterator<Item = String> {
    let commands = TEMPLATES
        .iter()
        .flat_map(|template| template.commands(&format!("{}.toml", template.name)));
    commands.filter(|command| command.starts_with("flitwise "))
}

/// The number of NICs of a template.
fn nics(template: &'static Template) -> Result<u32, CliError> {
    let failed = |e: std::io::Error| CliError::Failed(format!("cannot write the template: {e}"));
    let dir = tempfile::tempdir().map_err(failed)?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes);
    let mut experiment = PathBuf::new();
    for (name, text) in template.texts() {
        write(&name, text.as_bytes()).map_err(failed)?;
        // The base of a study comes after it.
        experiment = dir.path().join(name);
    }
    for file in template.copies() {
        write(&file.name(), file.bytes).map_err(failed)?;
    }
    let fabric = load_fabric(Some(&experiment), &[]);
    let fabric = fabric.map_err(|e| super::error::bad_config(Some(&experiment), &e))?;
    Ok(fabric.fabric.topology.nics())
}
