//! `flitwise orcs`: the options and the output of ORCS 2.0, on our analysis (`docs/reference/orcs.md`).

mod checks;
mod drawing;
mod options;
mod results;
mod traffic;

use super::console::{print, tell};
use super::error::{CliError, bad_config};
use super::out::{not_an_input, unwritten};
use super::progress::working;
use super::signal;
use super::threads::threads;
use flitwise::config;
use flitwise::oblivious::{
    Analysis, CableCounts, DelayPaths, HostId, Level, Mapping, Network, PathChoice, Pattern,
    Settings, Subset,
};
use flitwise::stop::Stop;
use flitwise_formats::graph::{Format, Graph};
use flitwise_formats::source::shown;
use flitwise_formats::{PlaceError, sink};
pub use options::OrcsArgs;
use options::{Metric, SubsetName};
use std::fmt::Write as _;
use std::path::Path;
use traffic::Traffic;

/// Fewest hosts and ranks that ORCS accepts.
const FEWEST: u32 = 4;

pub(super) fn run(args: &OrcsArgs) -> Result<(), CliError> {
    let stop = signal::stop_on_signal();
    if let Some(file) = args.output() {
        not_an_input(
            "--output_file",
            Path::new(file),
            [Path::new(&args.input_file)],
        )?;
    }
    let traffic = Traffic::of(args)?;
    let text = signal::abortable(|| config::network_text(Path::new(&args.input_file)));
    let text = text.map_err(|e| bad_config(None, &e))?;
    let dot = signal::abortable(|| parse(&args.input_file, &text))?;
    let network = signal::abortable(|| network(&args.input_file, &dot))?;
    let ranks = ranks(args, &network)?;
    let pattern = traffic.pattern(args.part_commsize);
    if args.getnumlevels {
        let levels = pattern.levels(ranks);
        return print(&format!(
            "The given input configuration would result in a {levels}-level simulation.\n"
        ));
    }
    let settings = settings(args, pattern, ranks, &network);
    // A pattern that sends nothing has a result there.
    settings.fits(&network.graph).map_err(CliError::BadInput)?;
    let head = results::head(args, &traffic, ranks);
    let counts = results::counts(&network);
    if args.checkinputfile {
        print(&(head + &counts))?;
        return signal::abortable(|| checks::input_file(&network));
    }
    let all = network.graph.host_count();
    let used = if args.routequal { all } else { ranks };
    print(&format!(
        "{head}      Number of hosts in the subset: {used}\n{counts}"
    ))?;
    if args.routequal {
        return print(&signal::abortable(|| checks::quality(&network)));
    }
    print(&traffic.corrections(ranks, args.part_commsize))?;
    let analysis = simulate(args, &settings, &network, Stop::new(stop))?;
    let lost = analysis.lost();
    if lost > 0 {
        checks::tell_lost(&network);
    }
    let results = results::of(args, &analysis, lost)?;
    if let Some(file) = args.output() {
        let written = sink::write(Path::new(file), (head + &results).as_bytes());
        return written.map_err(|e| unwritten("--output_file", &e));
    }
    print(&match args.metric {
        Metric::GetCableCong => drawing::of(&dot, &network, &analysis.cables),
        _ => results,
    })
}

/// The graph of a text. ORCS reads it by Graphviz, which has the edges of a node in the order of their targets.
fn parse<'a>(file: &str, text: &'a str) -> Result<Graph<'a>, CliError> {
    let directed = |graph: Graph<'a>| {
        let problem = "an undirected `graph`, which cannot say where packets go; write `digraph`, and both directions of \
                       every cable: `a -> b; b -> a;`";
        let undirected = || PlaceError::line(1, problem);
        graph.directed.then_some(graph).ok_or_else(undirected)
    };
    let mut dot = Graph::parse(text, Format::Dot).and_then(directed).map_err(|e| {
        CliError::BadInput(format!(
            "{}; orcs reads graphs in the DOT language, and `flitwise fabric export` makes one of an experiment or \
             of dumps",
            e.of(&shown(Path::new(file)).into())
        ))
    })?;
    dot.edges.sort_by_key(|edge| edge.to);
    Ok(dot)
}

/// The network of a graph with routes.
fn network(file: &str, dot: &Graph<'_>) -> Result<Network, CliError> {
    let shown = shown(Path::new(file)).display();
    let bad = |problem: String| CliError::BadInput(format!("{shown}:{problem}"));
    let read = Network::of_file(dot).map_err(|e| {
        let place = e.line.map_or(String::new(), |line| format!("{line}:"));
        bad(format!("{place} {}", e.problem))
    })?;
    for note in &read.notes {
        let place = note
            .line
            .map_or(String::new(), |line| format!("line {line}: "));
        tell(format_args!("note: {place}{}", note.text));
    }
    if read.routed {
        Ok(read.network)
    } else {
        Err(bad(
            " no edge has a comment, so there are no routes; `flitwise fabric export --format ibsim` \
             makes of it what opensm can route"
                .into(),
        ))
    }
}

/// Number of ranks: as asked for, or all hosts but one if their number is odd.
fn ranks(args: &OrcsArgs, network: &Network) -> Result<u32, CliError> {
    let hosts = network.graph.host_count();
    if hosts < FEWEST {
        return Err(CliError::BadInput(format!(
            "{} has {hosts} hosts; orcs needs at least {FEWEST}",
            args.input_file
        )));
    }
    let ranks = match args.commsize {
        0 => hosts - hosts % 2,
        ranks if (FEWEST..=hosts).contains(&ranks) => ranks,
        ranks => {
            return Err(CliError::BadInput(format!(
                "--commsize: {ranks} is not between {FEWEST} and the {hosts} hosts of the network, nor 0 for all"
            )));
        }
    };
    if (2..ranks).contains(&args.part_commsize) {
        Ok(ranks)
    } else {
        Err(CliError::BadInput(format!(
            "--part_commsize: {} is not between 2 and {}, one less than --commsize",
            args.part_commsize,
            ranks - 1
        )))
    }
}

fn settings(args: &OrcsArgs, pattern: Pattern, ranks: u32, network: &Network) -> Settings {
    let delay = args.metric == Metric::DepMaxDelay;
    Settings {
        pattern,
        mapping: Mapping {
            subset: subset(args, ranks, network),
            ranks,
            shuffle: !args.do_not_shuffle,
        },
        seed: args.seed,
        // The program counts all levels for this metric, whatever the options say.
        level: u32::try_from(args.ptrn_level).ok().filter(|_| !delay),
        path: PathChoice::First,
        fair: false,
        delay: if delay {
            DelayPaths::AsOrcs(args.part_commsize)
        } else {
            DelayPaths::None
        },
        cables: match args.metric {
            Metric::GetCableCong => CableCounts::AsOrcs,
            _ => CableCounts::None,
        },
    }
}

fn subset(args: &OrcsArgs, ranks: u32, network: &Network) -> Subset {
    let graph = &network.graph;
    let by_guid = || {
        let mut hosts: Vec<(u64, HostId)> = graph
            .host_ids()
            .map(|host| (guid(graph.host_name(host)), host))
            .collect();
        hosts.sort_unstable();
        hosts
    };
    let listed = |hosts: Vec<(u64, HostId)>| {
        Subset::Listed(hosts.into_iter().map(|(_, host)| host).collect())
    };
    match args.subset {
        // Here drawn hosts keep the order of the draw.
        SubsetName::Rand if args.do_not_shuffle => {
            let drawn = Mapping {
                subset: Subset::Random,
                ranks,
                shuffle: true,
            };
            Subset::Listed(drawn.pool(graph, args.seed))
        }
        SubsetName::Rand => Subset::Random,
        SubsetName::LinearBfs => Subset::LinearBfs,
        SubsetName::GuidOrderAsc => listed(by_guid()),
        SubsetName::GuidOrderDesc => {
            let mut hosts = by_guid();
            hosts.sort_by_key(|&(guid, _)| std::cmp::Reverse(guid));
            listed(hosts)
        }
    }
}

/// The hexadecimal number behind the `H` of a name; 0 if there is none.
fn guid(name: &str) -> u64 {
    let digits = name.get(1..).unwrap_or("");
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let end = digits.find(|c: char| !c.is_ascii_hexdigit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    u64::from_str_radix(digits, 16).unwrap_or(match digits.len() {
        0 => 0,
        _ => u64::MAX,
    })
}

/// All runs; with an option that prints while it runs, one after the other.
fn simulate(
    args: &OrcsArgs,
    settings: &Settings,
    network: &Network,
    stop: Stop<'_>,
) -> Result<Analysis, CliError> {
    let mut analysis = Analysis::default();
    let pool = settings.mapping.pool(&network.graph, settings.seed);
    if args.verbose {
        print(&results::names(network, &pool, "NAMELIST"))?;
    }
    let talks = args.verbose || args.printptrn || args.printnamelist;
    let mut done = 0;
    while done < args.num_runs {
        let until = if talks { done + 1 } else { args.num_runs };
        working::extend(
            &mut analysis,
            network,
            settings,
            until,
            threads(args.threads),
            stop,
        );
        if stop.is_set() {
            return Err(CliError::Interrupted(format!(
                "stopped after {} of {} runs",
                analysis.runs.len(),
                args.num_runs
            )));
        }
        if talks {
            print(&told(args, settings, network, &pool, done))?;
        }
        done = until;
    }
    Ok(analysis)
}

/// The text that is printed about a run.
fn told(
    args: &OrcsArgs,
    settings: &Settings,
    network: &Network,
    pool: &[HostId],
    run: u64,
) -> String {
    let mut hosts = Vec::new();
    settings.mapping.draw(pool, settings.seed, run, &mut hosts);
    let mut text = String::new();
    if args.printnamelist {
        text += &results::names(network, &hosts, "Namelist in node with rank 0");
    }
    let (number, delay) = (run + 1, args.metric == Metric::DepMaxDelay);
    for at in settings.levels() {
        if args.printptrn {
            let mut level = Level::default();
            settings.fill(run, at, &mut level);
            text += &results::pairs(network, &hosts, &level);
        }
        if args.verbose && !delay {
            let _ = writeln!(
                text,
                "Process 0: Simulation run number {number}, level {at} finished."
            );
        }
    }
    if args.verbose && delay {
        let _ = writeln!(text, "Process 0: Simulation run number {number} finished.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::guid;

    #[test]
    fn guids_are_hexadecimal_numbers_behind_the_h() {
        assert_eq!(guid("H0002c90300001a2b"), 0x0002_c903_0000_1a2b);
        assert_eq!(
            (guid("H0x1f"), guid("H12-1"), guid("Hz"), guid("Hü")),
            (31, 18, 0, 0)
        );
    }
}
