//! `flitwise orcs`: the options and the output of ORCS (`docs/orcs.md`).

mod print;

use super::{CliError, bad_config, print as to_stdout, tell, threads};
use clap::{ArgAction, Args};
use flitwise::config::load_network;
use flitwise::oblivious::{
    Analysis, CableCounts, DelayRule, Mapping, Network, PathChoice, Pattern, Settings, Subset,
    Versus,
};
use flitwise_formats::sink::Sink;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `flitwise orcs`, as ORCS has them.
#[derive(Debug, Args)]
#[command(
    version,
    disable_version_flag = true,
    after_help = "Example:\n  flitwise orcs -i fabric.dot -p bisect_fb_sym -n 10000 --metric hist_acc_band\n\n\
                  docs/orcs.md says what is printed, and where ORCS's report and program differ."
)]
pub struct OrcsArgs {
    /// Prints the version.
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: (),
    /// Tells the settings and the size of the network on standard error.
    #[arg(short, long)]
    verbose: bool,
    /// Prints the pairs of every level.
    #[arg(long)]
    printptrn: bool,
    /// Prints the hosts that take part.
    #[arg(long)]
    printnamelist: bool,
    /// Assesses the tables: routes of all pairs of hosts over each cable between switches.
    #[arg(long)]
    routequal: bool,
    /// Number of ranks; 0 stands for all hosts, without the last of an odd number.
    #[arg(short = 's', long, value_name = "INT", default_value_t = 0)]
    commsize: u32,
    /// Ranks of the first pattern of ptrnvsptrn, whose delay dep_max_delay measures.
    #[arg(
        short = 'z',
        long = "part_commsize",
        value_name = "INT",
        default_value_t = 2
    )]
    part_commsize: u32,
    /// Number of runs.
    #[arg(short = 'n', long = "num_runs", value_name = "INT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    num_runs: u64,
    /// rand, null, bisect, bisect_fb_sym, tree, bruck, gather, scatter, ring, recdbl, 2neighbor, 4neighbor, 6neighbor,
    /// neighbor (with -a), ptrnvsptrn (with -f and -c, or -a).
    #[arg(short, long, value_name = "STRING", default_value = "bisect")]
    ptrn: String,
    /// Argument of the pattern: the number of neighbours, or first::second.
    #[arg(short = 'a', long, value_name = "STRING")]
    ptrnarg: Option<String>,
    /// First pattern of ptrnvsptrn.
    #[arg(short = 'f', long, alias = "frstptrn", value_name = "STRING")]
    ptrnfst: Option<String>,
    /// Second pattern of ptrnvsptrn.
    #[arg(short = 'c', long, alias = "secptrn", value_name = "STRING")]
    ptrnsec: Option<String>,
    /// Which hosts take part: rand or linear_bfs.
    #[arg(long, value_name = "STRING", default_value = "rand", value_parser = ["rand", "linear_bfs"])]
    subset: String,
    /// sum_max_cong, hist_max_cong, hist_acc_band, dep_max_delay or get_cable_cong (get_cong_map).
    #[arg(long, value_name = "STRING", default_value = "hist_max_cong", value_parser = ["sum_max_cong", "hist_max_cong", "hist_acc_band", "dep_max_delay", "get_cable_cong", "get_cong_map"])]
    metric: String,
    /// Only this level of the pattern; -1 stands for all.
    #[arg(short = 'l', long = "ptrn_level", value_name = "INT", default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(-1..=i64::from(u32::MAX)))]
    ptrn_level: i64,
    /// Does not put the hosts in a random order before every run.
    #[arg(short = 'd', long = "do_not_shuffle")]
    do_not_shuffle: bool,
    /// The network; - is standard input.
    #[arg(short, long = "input_file", value_name = "STRING", default_value = "-")]
    input_file: PathBuf,
    /// Where results go; - is standard output.
    #[arg(
        short,
        long = "output_file",
        value_name = "STRING",
        default_value = "-"
    )]
    output_file: PathBuf,
    /// Seed of all draws.
    #[arg(long, value_name = "INT", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "INT", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

pub(super) fn run(args: &OrcsArgs) -> Result<(), CliError> {
    let bad = CliError::BadInput;
    let loaded = load_network(Some(&args.input_file), None, &[]);
    let loaded = loaded.map_err(|e| bad_config(Some(&args.input_file), &e))?;
    let network = &loaded.network;
    if !loaded.routed {
        return Err(bad(format!(
            "{}: no edge has destinations in its comment",
            args.input_file.display()
        )));
    }
    let settings = settings(args, network)?;
    settings.check(network).map_err(bad)?;
    if args.verbose {
        tell(format_args!("{}", print::head(args, network, &settings)));
    }
    let mut text = String::new();
    if args.routequal {
        return to_stdout(&print::routequal(network));
    }
    if args.printnamelist {
        text.push_str(&print::names(network, &settings));
    }
    if args.printptrn {
        text.push_str(&print::pattern(network, &settings));
    }
    let mut analysis = Analysis::default();
    analysis.extend(
        network,
        &settings,
        args.num_runs,
        threads(args.threads),
        &|| true,
    );
    if analysis.lost() > 0 {
        for line in print::lost(network, &settings) {
            tell(format_args!("{line}"));
        }
        tell(format_args!(
            "{} pairs had no route; they count with a congestion of 0",
            analysis.lost()
        ));
    }
    let to_file = args.output_file != Path::new("-");
    let results = match args.metric.as_str() {
        "sum_max_cong" => print::statistics(&analysis, print::Statistic::Congestion),
        "dep_max_delay" => print::statistics(&analysis, print::Statistic::Delay),
        "hist_acc_band" => print::bandwidths(&analysis),
        "hist_max_cong" => print::congestions(&analysis.histogram()),
        _ if to_file => print::cable_list(network, &analysis),
        _ => print::coloured(network, &analysis).map_err(CliError::Failed)?,
    };
    match to_file {
        true => {
            to_stdout(&text)?;
            let failed = |e: &dyn std::fmt::Display| {
                CliError::Failed(format!("{}: {e}", args.output_file.display()))
            };
            let mut sink = Sink::create(&args.output_file).map_err(|e| failed(&e))?;
            sink.write_all(results.as_bytes()).map_err(|e| failed(&e))?;
            sink.finish().map_err(|e| failed(&e))
        }
        false => to_stdout(&(text + &results)),
    }
}

fn settings(args: &OrcsArgs, network: &Network) -> Result<Settings, CliError> {
    let hosts = network.graph.host_count();
    let ranks = match args.commsize {
        0 => hosts - hosts % 2,
        given => given,
    };
    let delay = args.metric == "dep_max_delay";
    let part = args.part_commsize;
    let parts = args.ptrn == "ptrnvsptrn" || delay;
    if parts && !(2..ranks.max(3)).contains(&part) {
        return Err(CliError::BadInput(format!(
            "--part_commsize: {part} ranks of {ranks}; the first pattern has 2 to {}",
            ranks.saturating_sub(1).max(2)
        )));
    }
    Ok(Settings {
        pattern: pattern(args)?,
        mapping: Mapping {
            subset: match args.subset.as_str() {
                "linear_bfs" => Subset::LinearBfs,
                _ => Subset::Random,
            },
            ranks,
            shuffle: !args.do_not_shuffle,
        },
        seed: args.seed,
        level: u32::try_from(args.ptrn_level).ok(),
        path: PathChoice::First,
        fair: false,
        delay: if delay {
            DelayRule::Orcs(part)
        } else {
            DelayRule::None
        },
        cables: match args.metric.as_str() {
            "get_cable_cong" => CableCounts::AsOrcs,
            "get_cong_map" => CableCounts::PerLevel,
            _ => CableCounts::None,
        },
    })
}

fn pattern(args: &OrcsArgs) -> Result<Pattern, CliError> {
    let bad = CliError::BadInput;
    let simple = |name: &str, argument: Option<&str>| match (name, argument) {
        ("neighbor", Some(n)) => Pattern::parse(&format!("{n}neighbor")),
        ("neighbor", None) => Err("-p neighbor needs the number of neighbours: -a 4".to_owned()),
        (name, None) => Pattern::parse(name),
        (name, Some(argument)) => Err(format!(
            "-p {name} takes no argument, and -a gives `{argument}`"
        )),
    };
    if args.ptrn != "ptrnvsptrn" {
        if args.ptrnfst.is_some() || args.ptrnsec.is_some() {
            return Err(bad(format!(
                "--ptrnfst and --ptrnsec are for -p ptrnvsptrn, and the pattern is {}",
                args.ptrn
            )));
        }
        return simple(&args.ptrn, args.ptrnarg.as_deref())
            .map_err(|e| bad(format!("{e}, ptrnvsptrn")));
    }
    let both = match (&args.ptrnfst, &args.ptrnsec, &args.ptrnarg) {
        (Some(first), Some(second), None) => Some((first.as_str(), second.as_str())),
        (None, None, Some(both)) => both.split_once("::"),
        _ => None,
    };
    let Some((first, second)) = both else {
        return Err(bad(
            "-p ptrnvsptrn needs two patterns: -f tree -c bisect, or -a tree::bisect".into(),
        ));
    };
    let part = |text: &str| match text.split_once(':') {
        Some((name, argument)) => simple(name, Some(argument)),
        None => simple(text, None),
    };
    Ok(Pattern::Versus(Box::new(Versus {
        first: part(first).map_err(bad)?,
        second: part(second).map_err(bad)?,
        ranks: args.part_commsize,
    })))
}
