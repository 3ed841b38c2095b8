//! The command line.

mod bare_trace;
mod clock;
mod command_line;
mod complete;
mod congestion;
mod console;
mod error;
mod explain;
mod fabric;
mod init;
mod instead;
mod list;
mod one_run;
mod orcs;
mod out;
mod plot;
mod progress;
mod qos;
mod record;
mod repeat;
mod report;
mod run;
mod schema;
mod shell;
mod signal;
mod study;
mod style;
mod threads;
mod timeline;
mod trace;
mod warnings;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::tell;
use error::CliError;
use progress::working;
use std::ffi::OsString;
use std::process::ExitCode;

/// Replays MPI application traces through a flit-exact model of an HPC fabric.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Example:\n  flitwise init hpl-tree\n  flitwise run hpl-tree.toml\n\n\
                  Exit codes: 0 success, 1 the run failed or stalled or a disk is full, 2 bad input, 130 ended by Ctrl-C \
                  (with the results so far), 143 by SIGTERM, 129 by SIGHUP.\n\n\
                  The pages docs/… that help and messages name are in the sources and in flitwise-docs.tar.gz of a release."
)]
pub struct Cli {
    /// Colours messages and headings.
    #[arg(
        hide_short_help = true,
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    color: clap::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Writes an experiment to start from, commented and with all files that it needs.
    Init(init::InitArgs),
    /// Records the MPI calls of a program, as a trace to replay.
    Record(record::RecordArgs),
    /// Runs an experiment and measures how long its jobs take, and how much longer than in the baseline.
    Run(run::RunArgs),
    /// Runs a study: one experiment many times, with different seeds and values, and tables of the results.
    /// Resumes a stopped study.
    Study(study::StudyArgs),
    /// Makes one HTML page from the directories of runs and studies: figures, tables, configuration, commands.
    Report(report::ReportArgs),
    /// Draws one figure from the directories of runs and studies, for a paper.
    Plot(plot::PlotArgs),
    /// Explains why the jobs of an experiment take as long as they do.
    Explain(explain::ExplainArgs),
    /// Describes, checks and exports a fabric.
    #[command(subcommand, after_help = "Example:\n  flitwise fabric info torus.toml")]
    Fabric(fabric::FabricCommand),
    /// Finds the cables that a traffic pattern overloads, and the bandwidth left to its flows, without a
    /// simulation.
    Congestion(congestion::CongestionArgs),
    /// Computes the results of ORCS 2.0, with its options and its output.
    Orcs(orcs::OrcsArgs),
    /// Describes, checks, converts, cuts and generates traces.
    #[command(
        subcommand,
        after_help = "Example:\n  flitwise trace info hpl-16.vef.gz"
    )]
    Trace(trace::TraceCommand),
    /// Computes arbitration tables for quality of service.
    #[command(subcommand, after_help = "Example:\n  flitwise qos dtable dtable.toml")]
    Qos(qos::QosCommand),
    /// Lists the words that experiments take, such as presets and topologies, each with its meaning.
    List(list::ListArgs),
    /// Prints the JSON Schema of a document: every key with its type, meaning and unit.
    #[command(after_help = "Example:\n  flitwise schema result > result.schema.json")]
    Schema(schema::SchemaArgs),
    /// Prints the completion script of a shell.
    #[command(
        after_help = "Example:\n  flitwise completions bash > ~/.local/share/bash-completion/completions/flitwise"
    )]
    Completions(shell::CompletionsArgs),
    /// Completes an argument of --set or --vary for a shell.
    #[command(name = complete::COMMAND, hide = true)]
    Complete(complete::CompleteArgs),
    /// Prints the manual page.
    #[command(
        after_help = "Examples:\n  flitwise man | man -l -\n  flitwise man --out ~/.local/share/man/man1"
    )]
    Man(shell::ManArgs),
}

impl Command {
    /// The name of a command that shows no progress of its own.
    fn unwatched(&self) -> Option<&'static str> {
        match self {
            Self::Report(args) if args.is_quiet() => None,
            Self::Plot(args) if args.is_quiet() => None,
            Self::Report(_) => Some("report"),
            Self::Plot(_) => Some("plot"),
            Self::Fabric(_) => Some("fabric"),
            Self::Congestion(args) if args.is_study() => None,
            Self::Congestion(_) => Some("congestion"),
            Self::Orcs(_) => Some("orcs"),
            Self::Trace(_) => Some("trace"),
            Self::Run(_) | Self::Study(_) | Self::Explain(_) => None,
            Self::Init(_)
            | Self::Record(_)
            | Self::List(_)
            | Self::Qos(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Complete(_)
            | Self::Man(_) => None,
        }
    }
}

/// Parses the command line. A negative number behind an option is its value, so that a message names the option that
/// refuses it.
///
/// # Errors
/// If the command line is wrong, or asks for help or the version.
pub fn parse() -> Result<Cli, clap::Error> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut command = command().color(style::choose(&args));
    let matches = command.try_get_matches_from_mut(&args);
    let mut matches = matches.map_err(|e| {
        let e = command_line::no_subcommand(e, &command);
        command_line::explained(e, &args)
    })?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

/// The command line with the rules that hold for the options of all commands.
fn command() -> clap::Command {
    with_arguments(Cli::command(), &|arg| {
        if arg.is_positional() || !arg.get_action().takes_values() {
            return arg;
        }
        let arg = arg.allow_negative_numbers(true);
        let is_time = |names: &[clap::builder::Str]| names.iter().any(|name| name == "TIME");
        // A negative time has a unit, so it is no number for the parser: its own refusal names the option.
        let is_time = arg.get_value_names().is_some_and(is_time);
        let arg = arg.allow_hyphen_values(is_time);
        match arg.get_long() {
            Some("output") => arg.alias("out"),
            Some("out") => arg.alias("output"),
            Some("seed") => arg.value_parser(command_line::seed),
            _ => arg,
        }
    })
}

/// The same command with its arguments, and the arguments of its subcommands, changed by `change`.
fn with_arguments(command: clap::Command, change: &dyn Fn(Arg) -> Arg) -> clap::Command {
    let command = command.mut_args(change);
    let subcommands = command.get_subcommands();
    let names: Vec<String> = subcommands.map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| with_arguments(sub, change))
    })
}

/// Executes the command.
///
/// # Errors
/// If the command fails; the error has the exit code.
pub fn execute(cli: Cli) -> Result<(), CliError> {
    signal::survive_size_limit();
    if let Some(name) = cli.command.unwatched() {
        working::begin(name);
    }
    let done = dispatch(cli.command);
    working::end();
    done
}

fn dispatch(command: Command) -> Result<(), CliError> {
    // `record` passes signals on to the program.
    if !matches!(command, Command::Record(_)) {
        signal::handle();
    }
    match command {
        Command::Init(args) => init::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Report(args) => report::report(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Fabric(command) => fabric::run(&command),
        Command::Congestion(args) => congestion::run(&args),
        Command::Orcs(args) => orcs::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Qos(command) => qos::run(&command),
        Command::List(args) => list::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Complete(args) => complete::run(&args),
        Command::Man(args) => shell::man(&args),
    }
}

/// Prints why the command failed, and ends the process.
pub fn end(error: &CliError) -> ExitCode {
    // Unless a signal ends it already.
    let _whole = signal::hold_off_abort();
    tell(format_args!("error: {error}"));
    if let (CliError::Interrupted(_), Some(signal)) = (error, signal::first()) {
        signal::die(signal);
    }
    ExitCode::from(error.exit_code())
}

#[cfg(test)]
mod tests {
    /// A user without the repository has neither directory.
    #[test]
    fn examples_name_no_files_of_the_repository() {
        use super::{Cli, CommandFactory};
        fn check(command: &mut clap::Command) {
            let help = command.render_long_help().to_string();
            let name = command.get_name().to_owned();
            for folder in ["configs/", "traces/"] {
                assert!(!help.contains(folder), "{name}: {help}");
            }
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = Cli::command();
        command.build();
        check(&mut command);
    }

    #[test]
    fn arguments_are_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn commands_of_templates_are_commands() {
        for command in super::init::commands() {
            let words = command.replace('\'', "");
            let parsed = super::command().try_get_matches_from(words.split_whitespace());
            assert!(parsed.is_ok(), "{command}: {parsed:?}");
        }
    }
}
