//! `flitwise fabric`: describes a fabric, checks whether it can deadlock, and exports it
//! (`docs/reference/fabric-command.md`).

mod check;
mod export;
mod info;
mod names;
mod route;

pub(super) use check::warning;

use super::console::{print, tell};
use super::error::CliError;
use super::instead::{self, Wanted};
use super::warnings;
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use flitwise::config::{self, FabricOnly};
use flitwise::units::Bytes;
use std::path::PathBuf;

/// Subcommands of `flitwise fabric`.
#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    /// Prints sizes, hops, bisection, buffers and the load bound, and the route of a pair.
    #[command(
        after_help = "Examples:\n  flitwise fabric info torus.toml --route 0 127\n  flitwise fabric info --set 'fabric.topology={kind=\"torus\",dimensions=[8,8,4]}'\n\ndocs/reference/fabric-command.md explains every row."
    )]
    Info(InfoArgs),
    /// Checks that all pairs are connected and the fabric cannot deadlock.
    #[command(
        after_help = "Example:\n  flitwise fabric check torus.toml\n\nExits with 0 if nothing is wrong, with 1 if a pair has no route or packets can wait for each other in a cycle, which it prints, with 2 for bad input."
    )]
    Check(CheckArgs),
    /// Writes the graph of a fabric for other programs.
    #[command(
        after_help = "Examples:\n  flitwise fabric export hpl-tree.toml --format dot | dot -Tsvg > tree.svg\n  flitwise fabric export ibnetdiscover.txt --tables opensm-lfts.dump --format orcs > network.dot\n  flitwise fabric export drawing.dot --format ibsim > network.net"
    )]
    Export(ExportArgs),
}

/// Which fabric.
#[derive(Debug, Args)]
struct Source {
    /// Experiment file, of which [fabric] and [qos] are used [default: all defaults].
    experiment: Option<PathBuf>,
    /// Overrides a value of the file: fabric.central_queues=per-vl.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
}

/// Arguments of `flitwise fabric info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    #[command(flatten)]
    source: Source,
    /// Prints the route of a packet from NIC to NIC, hop by hop. A NIC has a number; with a topology
    /// from ibnetdiscover also the name of its host, a GUID (0x…) or a LID ("lid 19").
    #[arg(long, num_args = 2, value_names = ["SRC", "DST"], action = ArgAction::Set)]
    route: Option<Vec<String>>,
    /// NIC at whose switch the first leg of that packet's path ends, with fabric.paths = "valiant"
    /// [default: SRC].
    #[arg(long, value_name = "NIC", requires = "route")]
    via: Option<String>,
    /// Service level of that packet [default: the first].
    #[arg(long, value_name = "NAME", requires = "route")]
    sl: Option<String>,
    /// Payload of that packet, such as 64B [default: the MTU].
    #[arg(long, value_name = "SIZE", requires = "route", value_parser = parse_bytes)]
    packet: Option<Bytes>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `flitwise fabric check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    source: Source,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `flitwise fabric export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Experiment file, of which [fabric] and [qos] are used [default: all defaults]. For orcs and ibsim also a graph
    /// of ORCS, or the output of ibnetdiscover.
    file: Option<PathBuf>,
    /// Overrides a value of the experiment file: fabric.central_queues=per-vl.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// orcs: forwarding tables of a network from ibnetdiscover: opensm-lfts.dump, the output of dump_fts, or
    /// ibdiagnet.fdbs.
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// The format to write.
    #[arg(long, value_enum)]
    format: Format,
    /// json: adds the forwarding table of every switch.
    #[arg(long)]
    lft: bool,
    /// dot: labels both ends of every link with port/MPort.
    #[arg(long)]
    ports: bool,
    /// dot: leaves the NICs out.
    #[arg(long)]
    no_nics: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An undirected graph for Graphviz.
    Dot,
    /// Switches, NICs, links and, with --lft, routes.
    Json,
    /// The directed graph with routes that ORCS reads.
    Orcs,
    /// Switches and HCAs in the form of ibnetdiscover, for ibsim, where opensm can route them.
    Ibsim,
}

fn parse_bytes(text: &str) -> Result<Bytes, String> {
    text.parse::<Bytes>().map_err(|e| e.to_string())
}

pub(super) fn run(command: &FabricCommand) -> Result<(), CliError> {
    match command {
        FabricCommand::Info(args) => info::run(args),
        FabricCommand::Check(args) => check::run(args),
        FabricCommand::Export(args) => export::run(args),
    }
}

impl Source {
    fn load(&self) -> Result<FabricOnly, CliError> {
        let path = self.experiment.as_deref();
        let loaded = config::load_fabric(path, &self.sets)
            .map_err(|e| instead::error("fabric", Wanted::Experiment, path, &e))?;
        warnings::tell_of_unused_speeds(&loaded.speeds);
        Ok(loaded)
    }

    /// The file, for JSON.
    fn file(&self) -> Option<String> {
        Some(self.experiment.as_ref()?.display().to_string())
    }
}
