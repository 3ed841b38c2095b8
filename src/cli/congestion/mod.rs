//! `flitwise congestion`: the effect of a fabric's routes on traffic, without a simulation (`docs/reference/congestion.md`).

mod candidates;
mod check;
mod document;
mod files;
mod options;
mod repeated;
mod study;
mod text;

use super::out::{Part, Target};
use super::progress::working;
use super::repeat::{Compared, compare_analyses};
use super::run::scratch;
use super::{CliError, json_text, print, signal, tell, threads, unwritable, warnings};
use candidates::Candidate;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use flitwise::config::noting;
use flitwise::oblivious::{
    Analysis, Failure, HotCable, Network, Outcome, Request, RoutingEngine, Settings, Spreads,
    WorstCase, check_format,
};
use flitwise::results::TableFormat;
use flitwise::run::{Check, TraceDigest};
use flitwise::stop::Stop;
use flitwise::units::Bytes;
use options::{Options, companions};
use repeated::{Repeated, Source};
use std::path::PathBuf;
use std::rc::Rc;
use tempfile::TempDir;

/// Runs of the first batch if `--until-ci` asks for an interval.
const FIRST_BATCH: u64 = 32;

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
    fabric: Option<PathBuf>,
    /// Overrides a value of an experiment: fabric.routing=destro.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// Forwarding tables of the network: opensm-lfts.dump, the output of dump_fts, ibdiagnet.fdbs. Given several
    /// times, the tables are compared.
    #[arg(long, value_name = "FILE")]
    tables: Vec<PathBuf>,
    /// Routes the network anew: min-hop, updn, ftree, dfsssp; `given` stands for the tables of the input. Given several
    /// times, the routings are compared.
    #[arg(long, value_name = "NAME", value_parser = Routing::parse)]
    routing: Vec<Routing>,
    /// A part that has failed: `L003` (a switch), `L003 port 5`, `L003 - S001` (all cables between them), `L003 - S001
    /// #2`, `random:3 links`, `random:1 switches`. Without --routing the tables stay as they were.
    #[arg(long, value_name = "WHAT", value_parser = Failure::parse)]
    fail: Vec<Failure>,
    /// Seed of random failures.
    #[arg(long, value_name = "N", default_value_t = 1)]
    fail_seed: u64,
    /// Reports whether the routes can deadlock on one VL, and how many VLs prevent that.
    #[arg(long)]
    vls: bool,
    #[command(flatten)]
    options: Options,
    /// Adds runs until the 95 % interval of the mean bandwidth is within this part of the mean on both sides, such as
    /// 1%.
    #[arg(long, value_name = "P%", value_parser = percent)]
    until_ci: Option<f64>,
    /// Makes the analysis with each of these seeds, 1..5 with both ends or 1,2,7, and prints a table: a study without
    /// a file (docs/reference/study.md). --out then names its directory.
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed")]
    seeds: Option<String>,
    /// Makes the analysis with each of these values of a key: congestion.pattern=bisect,shift. Several --vary give
    /// every combination.
    #[arg(long, value_name = "KEY=v1,v2")]
    vary: Vec<String>,
    /// Lists the N cables that carry most, with the connections that cross them: cables between switches first, then
    /// cables of hosts.
    #[arg(long, value_name = "N", default_value_t = 0)]
    cables: usize,
    /// Simulates the connections of the first runs at the flit level as well, on the fabric of the experiment, and says
    /// how well 1/congestion and fair shares predict their bandwidths.
    #[arg(long, conflicts_with_all = ["tables", "routing", "fail"])]
    check: bool,
    /// Number of runs that --check simulates.
    #[arg(long, value_name = "N", requires = "check", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    check_runs: u64,
    /// Payload of the messages of --check.
    #[arg(long, value_name = "SIZE", requires = "check", value_parser = |text: &str| text.parse::<Bytes>().map_err(|e| e.to_string()))]
    message: Option<Bytes>,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Writes congestion.json, the tables runs, cables and flows, and figures into this directory, of which `flitwise
    /// report` makes a page; also cables.dot, coloured by load.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The file format of the tables of --out.
    #[arg(long, value_parser = table_formats(), default_value = "csv", requires = "out")]
    format: TableFormat,
    /// The name of the network in the results, where a result is repeated.
    #[arg(long, hide = true)]
    label: Option<String>,
    /// Whether files are written without --out, to be compared.
    #[arg(skip)]
    compared: bool,
}

impl CongestionArgs {
    /// Whether files are written.
    pub(super) fn writes_files(&self) -> bool {
        self.out.is_some() || self.compared
    }

    /// Whether the arguments ask for a study, which shows progress of its own.
    pub(super) fn is_study(&self) -> bool {
        study::is_asked(self)
    }
}

/// The formats of tables on the command line.
fn table_formats() -> impl TypedValueParser<Value = TableFormat> {
    let meanings = ["Comma-separated values", "Apache Parquet", "Both"];
    let names = TableFormat::ALL.map(TableFormat::name);
    let values = names.into_iter().zip(meanings);
    let values = values.map(|(name, meaning)| PossibleValue::new(name).help(meaning));
    let format = |text: String| TableFormat::ALL.into_iter().find(|f| f.name() == text);
    PossibleValuesParser::new(values).map(move |text| format(text).unwrap_or_default())
}

/// Tables of the input, or of one of our routings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routing {
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

/// The results of one candidate.
struct Analysed {
    /// Its name in tables and figures.
    label: String,
    candidate: Rc<Candidate>,
    settings: Settings,
    analysis: Analysis,
    /// The cables that the text, the JSON and the tables list, at least as many as each asks for.
    hottest: Vec<HotCable>,
    spreads: Spreads,
    worst: Option<WorstCase>,
    check: Option<Check>,
    /// The trace whose messages are analysed.
    trace: Option<TraceDigest>,
}

impl Analysed {
    fn outcome(&self) -> Outcome<'_> {
        Outcome {
            label: &self.label,
            network: &self.candidate.network,
            survey: &self.candidate.survey,
            settings: &self.settings,
            analysis: &self.analysis,
            hottest: &self.hottest,
        }
    }
}

pub(super) fn run(args: &CongestionArgs) -> Result<(), CliError> {
    if study::is_asked(args) {
        return study::run(args);
    }
    match Repeated::of(args)? {
        Some((repeated, args)) => analyses(&args, Some(&repeated)),
        None => analyses(args, None),
    }
}

fn analyses(args: &CongestionArgs, repeated: Option<&Repeated>) -> Result<(), CliError> {
    let stop = signal::stop_on_signal();
    check_format(args.format).map_err(|e| CliError::BadInput(e.to_string()))?;
    let target = args.out.as_deref().map(Target::of_analysis).transpose()?;
    let (done, files) = noting(|| analyse_all(args, target, Stop::new(stop)));
    let Analyses {
        part,
        requests,
        results,
    } = done?;
    let scratch = match (repeated, &part) {
        (Some(_), None) => Some(scratch()?),
        _ => None,
    };
    let dir = part.as_ref().map(Part::path);
    let dir = dir.or(scratch.as_ref().map(TempDir::path));
    let failed = |e: anyhow::Error| match &part {
        Some(part) => part.failed(format_args!("{e:#}")),
        None => CliError::Failed(format!("{e:#}")),
    };
    let source = Source::of(args, repeated, &results, &files)?;
    warnings::tell_of_traces(source.traces());
    let written = dir.map_or(Ok(()), |dir| files::write(dir, args, &source, &results));
    let written = written.map_err(failed);
    let compared = match (repeated, dir, &written) {
        (Some(repeated), Some(dir), Ok(())) => {
            repeated.tell_of_changes(&source);
            Some(compare_analyses(repeated.dir(), dir))
        }
        _ => None,
    };
    // A part of an analysis is printed only: no file would say that it is one.
    let whole = part.filter(|_| signal::first().is_none());
    let written = written.and_then(|()| whole.map_or(Ok(()), |part| part.commit().map(drop)));
    if args.json {
        print(&json_text(&document::of(&results).map_err(unwritable)?)?)
    } else {
        print(&text::of(args, &results))
    }?;
    // Printed first, so that a long analysis is not lost.
    written?;
    compared.map_or(Ok(()), Compared::tell)?;
    match signal::first() {
        Some(_) => Err(CliError::Interrupted(format!(
            "stopped after {} of {} runs{}",
            results
                .iter()
                .map(|r| r.analysis.runs.len())
                .min()
                .unwrap_or(0),
            requests.first().map_or(0, |request| request.runs),
            if args.cables > 0 {
                "; loads of cables need all of them"
            } else {
                ""
            }
        ))),
        None => Ok(()),
    }
}

/// The analyses of all candidates under all patterns.
struct Analyses {
    /// The directory for the files, created before the work: a long analysis must not fail at its end.
    part: Option<Part>,
    requests: Vec<Request>,
    results: Vec<Analysed>,
}

fn analyse_all(
    args: &CongestionArgs,
    target: Option<Target>,
    stop: Stop<'_>,
) -> Result<Analyses, CliError> {
    let candidates = signal::abortable(|| candidates::load(args))?;
    let several = candidates.len() > 1;
    let file = candidates.first().and_then(Candidate::request);
    let requests = args.options.requests(file.unwrap_or_default())?;
    let part = target.map(Target::begin).transpose()?;
    let mut results = Vec::new();
    for candidate in candidates.into_iter().map(Rc::new) {
        for (label, request) in companions(&requests, &candidate.label, several) {
            results.push(analyse(args, &candidate, label, &request, stop)?);
        }
    }
    Ok(Analyses {
        part,
        requests,
        results,
    })
}

fn analyse(
    args: &CongestionArgs,
    candidate: &Rc<Candidate>,
    label: String,
    request: &Request,
    stop: Stop<'_>,
) -> Result<Analysed, CliError> {
    candidate.refuse_lost(request.skip_lost)?;
    let network = &candidate.network;
    let counted = args.cables > 0 || args.writes_files();
    let (settings, trace) =
        args.options
            .settings(args, candidate, request.clone(), counted, stop)?;
    let fits = settings.check(&network.graph);
    fits.map_err(|problem| match settings.mapping.ranks {
        0 | 1 => CliError::BadInput(format!("--ranks, --nodes, --hosts: {problem}")),
        _ => candidate.bad(problem),
    })?;
    let (analysis, spreads) = runs(args, network, &settings, request.runs, stop)?;
    let listed = if args.writes_files() {
        args.cables.max(files::CABLES_WITH_FLOWS)
    } else {
        args.cables
    };
    let hottest = signal::abortable(|| analysis.hottest(network, &settings, listed));
    // A signal ended the runs: their results come without a search that takes as long again.
    let worst = if stop.is_set() {
        None
    } else {
        signal::abortable(|| network.worst_of(request))
    };
    let check = if args.check {
        Some(check::of(args, candidate, &settings, stop)?)
    } else {
        None
    };
    Ok(Analysed {
        label,
        trace,
        candidate: candidate.clone(),
        settings,
        analysis,
        hottest,
        spreads,
        worst,
        check,
    })
}

/// Analyses as many runs as are asked for, or as the interval needs.
fn runs(
    args: &CongestionArgs,
    network: &Network,
    settings: &Settings,
    asked: u64,
    stop: Stop<'_>,
) -> Result<(Analysis, Spreads), CliError> {
    let mut analysis = Analysis::default();
    let mut runs = match args.until_ci {
        Some(_) => asked.max(FIRST_BATCH),
        None => asked,
    };
    let threads = threads(args.threads);
    loop {
        working::extend(&mut analysis, network, settings, runs, threads, stop);
        let Some(spreads) = analysis.spreads() else {
            return Err(CliError::Interrupted(
                "stopped before the first run ended".into(),
            ));
        };
        let width = spreads.bandwidth.relative_half_width();
        let wide = (args.until_ci).is_some_and(|wanted| width.is_some_and(|width| width > wanted));
        if !wide || stop.is_set() {
            return Ok((analysis, spreads));
        }
        if runs >= Request::MOST_RUNS {
            tell(format_args!(
                "note: the interval is still wider than asked for after {runs} runs, the most there can be"
            ));
            return Ok((analysis, spreads));
        }
        runs = (runs * 2).min(Request::MOST_RUNS);
    }
}
