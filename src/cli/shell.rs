//! `flitwise completions` and `flitwise man`: the description of the command line for a shell and for `man`.

use super::console::print;
use super::error::CliError;
use super::out::{cannot_write, unwritten};
use super::{Cli, complete, signal};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use flitwise_formats::sink::{Batch, Sink};
use std::path::{Path, PathBuf};

/// Arguments of `flitwise completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Arguments of `flitwise man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Writes a page for each command into this directory, which is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the completions of a shell. The words of `--set` and `--vary` come from the program, if the shell can ask it.
pub(super) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut command = without_hidden(&Cli::command());
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "flitwise", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    print(&match args.shell {
        Shell::Bash => script + complete::BASH,
        Shell::Fish => script + complete::FISH,
        Shell::Zsh => zsh(&script),
        _ => script,
    })
}

/// The command without its hidden subcommands, which the scripts would offer.
fn without_hidden(command: &Command) -> Command {
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    Command::new("flitwise")
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().cloned())
        .subcommands(subcommands.cloned())
}

/// The script for zsh with the function for keys before its last line, which registers the functions.
fn zsh(script: &str) -> String {
    let [usual, keys] = complete::ZSH_ACTION;
    let takes_keys = |line: &str| line.contains("'*--set=") || line.contains("'*--vary=");
    let lines = script.lines().map(|line| {
        if takes_keys(line) {
            line.replace(usual, keys) + "\n"
        } else {
            format!("{line}\n")
        }
    });
    let script: String = lines.collect();
    let (head, tail) = script.split_once("\n").unwrap_or((&script, ""));
    format!("{head}\n{}{tail}", complete::ZSH)
}

/// Prints the page of the whole program, or writes a page for every command.
pub(super) fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut command = Cli::command();
    // Gives every subcommand its whole name.
    command.build();
    let Some(dir) = &args.out else {
        return print(&page(&command)?);
    };
    std::fs::create_dir_all(dir).map_err(|e| cannot_write(dir, e))?;
    let mut files = Batch::default();
    pages(&command, "flitwise", dir, &mut files)?;
    let _whole = signal::hold_off_abort();
    files.finish().map_err(|e| unwritten("--out", &e))
}

/// Writes the page of `command`, whose page is called `name`, and the pages of its subcommands. The directory may hold
/// pages of other programs.
fn pages(
    command: &clap::Command,
    name: &str,
    dir: &Path,
    files: &mut Batch,
) -> Result<(), CliError> {
    let page = page(command)?;
    let sink = Sink::replace(&dir.join(format!("{name}.1")));
    let written = sink.and_then(|sink| files.add(sink, page.as_bytes()));
    written.map_err(|e| unwritten("--out", &e))?;
    let visible = |sub: &&clap::Command| !sub.is_hide_set() && sub.get_name() != "help";
    for sub in command.get_subcommands().filter(visible) {
        pages(sub, &format!("{name}-{}", sub.get_name()), dir, files)?;
    }
    Ok(())
}

fn page(command: &clap::Command) -> Result<String, CliError> {
    let mut page = Vec::new();
    let written = Man::new(command.clone()).render(&mut page);
    written.map_err(|e| CliError::Failed(format!("cannot make the page: {e}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
