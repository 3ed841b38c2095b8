//! Options of `flitwise orcs`: all options of ORCS 2.0, and their names in the report of 2009.

use clap::{Args, ValueEnum};
use flitwise::oblivious::Request;
use std::fmt;

/// Version and origin of the options.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (options and output of ORCS 2.0)"
);

/// Arguments of `flitwise orcs`.
#[derive(Debug, Args)]
#[command(
    version = VERSION,
    after_help = "Examples:\n  flitwise orcs -i fabric.dot -p bruck -s 16\n  \
                  flitwise orcs -i fabric.dot -p ptrnvsptrn -f tree -c bisect -z 800 --metric dep_max_delay -n 100\n\n\
                  docs/reference/orcs.md explains every option and every output; `flitwise congestion` says more about a network."
)]
pub struct OrcsArgs {
    /// Prints a line for every level that is done.
    #[arg(short, long)]
    pub verbose: bool,
    /// Keeps the order of the hosts, which --subset decides; otherwise every run draws one.
    #[arg(short, long = "do_not_shuffle")]
    pub do_not_shuffle: bool,
    /// Prints the pairs of every level.
    #[arg(long)]
    pub printptrn: bool,
    /// Prints only how evenly the routes between all hosts use the cables between switches.
    #[arg(long)]
    pub routequal: bool,
    /// Prints the hosts of every run.
    #[arg(long)]
    pub printnamelist: bool,
    /// Prints only how many levels the pattern has.
    #[arg(short, long)]
    pub getnumlevels: bool,
    /// Number of ranks; 0 stands for all hosts, less one if their number is odd.
    #[arg(short = 's', long, value_name = "INT", default_value_t = 0)]
    pub commsize: u32,
    /// Ranks of the first pattern of ptrnvsptrn; dep_max_delay examines ranks below this number only.
    #[arg(
        short = 'z',
        long = "part_commsize",
        value_name = "INT",
        default_value_t = 2
    )]
    pub part_commsize: u32,
    /// Only checks the network: follows the route of every pair.
    #[arg(long)]
    pub checkinputfile: bool,
    /// Number of runs, each with its own order of the hosts.
    #[arg(short, long = "num_runs", value_name = "INT", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=Request::MOST_RUNS))]
    pub num_runs: u64,
    /// Traffic pattern: rand, null, bisect, bisect_fb_sym, tree, bruck, gather, scatter, ring, recdbl, 2neighbor,
    /// 4neighbor, 6neighbor, neighbor (with --ptrnarg), ptrnvsptrn.
    #[arg(short, long, value_name = "STRING", default_value = "bisect")]
    pub ptrn: String,
    /// Argument of the pattern: the number of neighbours for neighbor, FIRST::SECOND for ptrnvsptrn, as in
    /// tree::neighbor:2.
    #[arg(short = 'a', long, value_name = "ARG")]
    pub ptrnarg: Option<String>,
    /// First pattern of ptrnvsptrn.
    #[arg(short = 'f', long, visible_alias = "frstptrn", value_name = "STRING")]
    pub ptrnfst: Option<String>,
    /// Second pattern of ptrnvsptrn.
    #[arg(short = 'c', long, visible_alias = "secptrn", value_name = "STRING")]
    pub ptrnsec: Option<String>,
    /// The hosts that take part if there are more hosts than ranks.
    #[arg(long, value_name = "STRING", value_enum, default_value_t = SubsetName::Rand)]
    pub subset: SubsetName,
    /// The quantity to measure.
    #[arg(long, value_name = "STRING", value_enum, default_value_t = Metric::HistMaxCong)]
    pub metric: Metric,
    /// Analyses only this level of the pattern, counted from 0; -1 stands for all.
    #[arg(short = 'l', long = "ptrn_level", value_name = "INT", default_value_t = -1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-1..))]
    pub ptrn_level: i32,
    /// The network, a graph in the DOT language; - is standard input.
    #[arg(short, long = "input_file", value_name = "FILE", default_value = "-")]
    pub input_file: String,
    /// File for the results; - is standard output.
    #[arg(short, long = "output_file", value_name = "FILE", default_value = "-")]
    pub output_file: String,
    /// Seed of all draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

impl OrcsArgs {
    /// The file for results; `None`: standard output.
    pub fn output(&self) -> Option<&str> {
        Some(self.output_file.as_str()).filter(|file| *file != "-")
    }
}

/// Which hosts take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum SubsetName {
    /// Drawn at random, once for all runs.
    Rand,
    /// The first in a breadth-first search.
    LinearBfs,
    /// The hosts with the smallest GUIDs in their names.
    GuidOrderAsc,
    /// The hosts with the largest GUIDs in their names.
    GuidOrderDesc,
}

/// A quantity that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Metric {
    /// Sum over the levels of the largest congestion.
    SumMaxCong,
    /// Congestions of all pairs.
    HistMaxCong,
    /// Mean bandwidths of the runs.
    HistAccBand,
    /// Longest path through the levels.
    DepMaxDelay,
    /// The load of every cable.
    #[value(alias = "get_cong_map")]
    GetCableCong,
}

impl fmt::Display for SubsetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self).as_str())
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self).as_str())
    }
}

/// The name of a value on the command line.
fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
