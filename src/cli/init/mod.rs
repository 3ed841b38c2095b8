//! `flitwise init`: writes an experiment or a study to start from, with all files that it needs.

mod templates;

pub(super) use templates::is_template_file;

use super::bare_trace::{ranks, tree_for};
use super::command_line::quoted;
use super::out::Target;
use super::schema::{
    EXPERIMENT_SCHEMA_FILE, STUDY_SCHEMA_FILE, experiment_for_editors, study_for_editors,
};
use super::{CliError, json_text, print};
use clap::Args;
use clap::builder::PossibleValuesParser;
use flitwise::results::relative_input;
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
    /// The directory to write, which must not exist or be empty [default: the name of the template].
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
    let dir = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(template.name));
    let target = Target::of_template(&dir)?;
    let part = target.begin()?;
    let mut texts = template.texts();
    if let Some(trace) = &args.trace {
        fill(template, &mut texts, trace, part.path())?;
    }
    for (name, text) in texts {
        part.write(name, text)?;
    }
    let own_trace = args.trace.is_some();
    for file in template.copies().filter(|_| !own_trace) {
        part.write(file.name(), file.bytes)?;
    }
    part.write(
        EXPERIMENT_SCHEMA_FILE,
        json_text(&experiment_for_editors())?,
    )?;
    if template.is_study() {
        part.write(STUDY_SCHEMA_FILE, json_text(&study_for_editors())?)?;
    }
    let names = part.commit()?;
    print(&written(template, &dir, &names))
}

/// A line for each template.
fn list() -> String {
    let mut text = String::new();
    for template in TEMPLATES {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{:<16}{}", template.name, template.question());
    }
    text + "\nflitwise init NAME writes the directory NAME with a commented experiment and all files that it needs.\n"
}

/// The files that were written, and the commands to type next.
fn written(template: &Template, dir: &Path, names: &[String]) -> String {
    let shown = dir.display();
    let mut text = format!("wrote {shown}: {}\n\n", names.join(", "));
    for command in template.commands(&quoted(&shown.to_string())) {
        let _ = writeln!(text, "  {command}");
    }
    text
}

/// Puts the user's trace into the experiment, which will be in the directory `dir`, and a tree that is large enough.
fn fill(
    template: &'static Template,
    texts: &mut [(&'static str, String)],
    trace: &Path,
    dir: &Path,
) -> Result<(), CliError> {
    let refuse = |why: &str| Err(CliError::BadInput(format!("--trace: {why}")));
    let shown = trace.display();
    if template.name != MY_TRACE {
        let name = template.name;
        return refuse(&format!(
            "{name} has a trace of its own; use it with the template {MY_TRACE}"
        ));
    }
    let ranks = match ranks(trace) {
        Some(Ok(ranks)) if ranks > 0 => ranks,
        Some(Ok(_)) => {
            return refuse(&format!(
                "`{shown}` is broken; `flitwise trace check` says where"
            ));
        }
        Some(Err(format)) => return refuse(&format!("`{shown}` is {format}")),
        None => {
            let why = "is no trace that can be read; docs/reference/traces.md lists the formats";
            return refuse(&format!("`{shown}` {why}"));
        }
    };
    let Some((k, n)) = tree_for(ranks) else {
        return refuse(&format!(
            "`{shown}` has {ranks} ranks, and no tree has so many NICs; cut some out: flitwise trace slice"
        ));
    };
    let path = relative_input(dir, trace);
    let Some(path) = path.to_str() else {
        return refuse(&format!(
            "`{shown}` is no UTF-8 text, and an experiment is one; rename it"
        ));
    };
    for (_, text) in texts {
        let lines = text.lines().filter(|line| !line.starts_with(STANDS_IN));
        let own: String = lines.map(|line| format!("{line}\n")).collect();
        // A JSON text is a TOML text, too.
        let own = own.replace(
            &stand_in(template),
            &serde_json::Value::from(path).to_string(),
        );
        *text = own.replace(SMALL_TREE, &format!("k = {k}, n = {n}"));
    }
    Ok(())
}

/// The name of the trace that stands for the user's, in quotes.
fn stand_in(template: &'static Template) -> String {
    template
        .copies()
        .map(|file| format!("\"{}\"", file.name()))
        .collect()
}
