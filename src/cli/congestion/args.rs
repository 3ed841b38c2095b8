//! The arguments of `flitwise congestion`.

use super::options::Options;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use flitwise::oblivious::{Failure, RoutingEngine};
use flitwise::results::TableFormat;
use flitwise::units::Bytes;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::path::PathBuf;

/// Arguments of `flitwise congestion`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwise congestion fabric.dot --pattern bisect --runs 1000\n  \
                  flitwise congestion ibnetdiscover.txt --tables opensm-lfts.dump --pattern shift --cables 10\n  \
                  flitwise congestion hpl-tree.toml --trace hpl-16.vef.gz --runs 100\n  \
                  flitwise congestion hpl-tree.toml --runs 100 --seeds 1..5 --vary congestion.pattern=bisect,shift\n\n\
                  docs/reference/congestion.md explains every option and every row; `flitwise orcs` has the options and the output of ORCS."
)]
pub struct CongestionArgs {
    /// The network: an experiment file, of which [fabric] and [congestion] are used; a graph in ORCS's form of DOT; the
    /// output of ibnetdiscover, with --tables; - is standard input. Or the directory of an analysis: repeats it and
    /// says whether the result is the same [default: the default fabric].
    pub(super) fabric: Option<PathBuf>,
    /// Overrides a value of an experiment: fabric.routing=destro.
    #[arg(long = "set", value_name = "a.b=c")]
    pub(super) sets: Vec<String>,
    /// Forwarding tables of the network: opensm-lfts.dump, the output of dump_fts, ibdiagnet.fdbs. Given several
    /// times, the tables are compared.
    #[arg(long, value_name = "FILE")]
    pub(super) tables: Vec<PathBuf>,
    /// Routes the network anew: min-hop, updn, ftree, dfsssp; `given` stands for the tables of the input. Given several
    /// times, the routings are compared.
    #[arg(long, value_name = "NAME", value_parser = Routing::parse)]
    pub(super) routing: Vec<Routing>,
    /// A part that has failed: `L003` (a switch), `L003 port 5`, `L003 - S001` (all cables between them), `L003 - S001
    /// #2`, `random:3 links`, `random:1 switches`. Without --routing the tables stay as they were.
    #[arg(long, value_name = "WHAT", value_parser = Failure::parse)]
    pub(super) fail: Vec<Failure>,
    /// Seed of random failures.
    #[arg(long, value_name = "N", requires = "fail", default_value_t = 1)]
    pub(super) fail_seed: u64,
    /// Reports whether the routes can deadlock on one VL, and how many VLs prevent that.
    #[arg(long)]
    pub(super) vls: bool,
    #[command(flatten)]
    pub(super) options: Options,
    /// Adds runs until the 95 % interval of the mean bandwidth is within this part of the mean on both sides, such as
    /// 1%.
    #[arg(long, value_name = "P%", value_parser = percent)]
    pub(super) until_ci: Option<f64>,
    /// Makes the analysis with each of these seeds, 1..5 with both ends or 1,2,7, and prints a table: a study without
    /// a file (docs/reference/study.md). --out then names its directory.
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed")]
    pub(super) seeds: Option<String>,
    /// Makes the analysis with each of these values of a key: congestion.pattern=bisect,shift. Several --vary give
    /// every combination.
    #[arg(long, value_name = "KEY=v1,v2")]
    pub(super) vary: Vec<String>,
    /// Lists the N cables that carry most, with the connections that cross them: cables between switches first, then
    /// cables of hosts.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) cables: usize,
    /// Simulates the connections of the first runs at the flit level as well, on the fabric of the experiment, and says
    /// how well 1/congestion and fair shares predict their bandwidths.
    #[arg(long, conflicts_with_all = ["tables", "routing", "fail"])]
    pub(super) check: bool,
    /// Number of runs that --check simulates.
    #[arg(long, value_name = "N", requires = "check", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) check_runs: u64,
    /// Payload of the messages of --check.
    #[arg(long, value_name = "SIZE", requires = "check", value_parser = |text: &str| text.parse::<Bytes>().map_err(|e| e.to_string()))]
    pub(super) message: Option<Bytes>,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
    /// Prints JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Writes congestion.json, the tables runs, cables and flows, and figures into this directory, of which `flitwise
    /// report` makes a page; also cables.dot, coloured by load.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// The file format of the tables of --out.
    #[arg(long, value_parser = named::<TableFormat>(FORMATS), default_value = "csv", requires = "out")]
    pub(super) format: TableFormat,
    /// The name of the network in the results, where a result is repeated.
    #[arg(long, hide = true)]
    pub(super) label: Option<String>,
    /// Whether files are written without --out, to be compared.
    #[arg(skip)]
    pub(super) compared: bool,
}

impl CongestionArgs {
    /// Whether files are written.
    pub(super) fn writes_files(&self) -> bool {
        self.out.is_some() || self.compared
    }

    /// Whether the arguments ask for a study, which shows progress of its own.
    pub(crate) fn is_study(&self) -> bool {
        self.seeds.is_some() || !self.vary.is_empty()
    }
}

/// The names of [`TableFormat`], and their meanings.
const FORMATS: &[(&str, &str)] = &[
    ("csv", "Comma-separated values"),
    ("parquet", "Apache Parquet"),
    ("both", "Both"),
];

/// Reads one of `names`, which have their meanings beside them in the help.
pub(super) fn named<T>(names: &[(&'static str, &'static str)]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let values = names.iter().copied();
    let values = values.map(|(name, meaning)| PossibleValue::new(name).help(meaning));
    let read = |name: String| T::deserialize(name.into_deserializer());
    PossibleValuesParser::new(values).try_map(move |name| read(name) as Result<T, ValueError>)
}

/// Tables of the input, or of one of our routings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Routing {
    Given,
    Engine(RoutingEngine),
}

impl Routing {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "given" => Ok(Self::Given),
            name => name
                .parse()
                .map(Self::Engine)
                .map_err(|e: String| format!("{e}, and given")),
        }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|n| n.trim().parse::<f64>().ok());
    let number = number.filter(|p| *p > 0.0 && *p < 100.0);
    number
        .map(|p| p / 100.0)
        .ok_or_else(|| "write a share above 0 % and below 100 %, such as 1%".to_owned())
}
