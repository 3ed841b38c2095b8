//! The output of ORCS, to the character.

use super::options::{Metric, OrcsArgs};
use super::traffic::Traffic;
use crate::cli::error::CliError;
use flitwise::oblivious::{Analysis, EdgeId, Histogram, HostId, Level, Network};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bins of `hist_acc_band`, and the end of the last one, which 1 is below.
const BINS: usize = 20;
const END: f64 = 1.000_000_000_000_001;

/// The options, as they are printed before everything else.
pub(super) fn head(args: &OrcsArgs, traffic: &Traffic, ranks: u32) -> String {
    let pattern = match traffic {
        Traffic::One(one) => one.shown.clone(),
        Traffic::Two(first, second) => format!(
            "ptrnvsptrn\n    First Pattern: {}\n   Second Pattern: {}",
            first.shown, second.shown
        ),
    };
    let shuffling = if args.do_not_shuffle { "No" } else { "Yes" };
    let lines = [
        ("Input File", args.input_file.clone()),
        ("Output File", args.output_file.clone()),
        ("Pattern", pattern),
        ("Commsize", ranks.to_string()),
        ("Part_commsize", args.part_commsize.to_string()),
        ("Subset", args.subset.to_string()),
        ("Part_subset", "none".into()),
        ("Level", args.ptrn_level.to_string()),
        ("Runs", args.num_runs.to_string()),
        ("Metric", args.metric.to_string()),
        ("Shuffling namelists", shuffling.into()),
    ];
    let text = lines.map(|(key, value)| format!("{key}: {value}\n"));
    text.concat() + "\n"
}

/// The counts of nodes and edges in the input.
pub(super) fn counts(network: &Network) -> String {
    let graph = &network.graph;
    let (hosts, nodes) = (graph.hosts().len(), graph.nodes().len());
    format!(
        "   Number of hosts in the inputfile: {hosts}\nNumber of switches in the inputfile: {}\n   \
         Number of edges in the inputfile: {}\n",
        nodes - hosts,
        graph.edges().len()
    )
}

/// A list of hosts.
pub(super) fn names(network: &Network, hosts: &[HostId], title: &str) -> String {
    let mut text = format!("\n\n{title}: \n=================\n");
    for &host in hosts {
        let _ = writeln!(text, "{}", network.graph.host_name(host));
    }
    text + "===============\n\n"
}

/// The pairs of a level, with their hosts.
pub(super) fn pairs(network: &Network, hosts: &[HostId], level: &Level) -> String {
    if level.pairs.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nUsed Pattern:\n=================\n");
    for pair in &level.pairs {
        let [from, to] =
            [pair.from, pair.to].map(|rank| network.graph.host_name(hosts[rank as usize]));
        // There is a blank before a number of any length.
        let sender = format!(" {}", pair.from);
        let _ = writeln!(text, "{sender:>5} -> {:<5}   |   {from} -> {to}", pair.to);
    }
    text + "=================\n"
}

/// The results of a metric; for `get_cable_cong` the results for a file. `lost`: pairs without a route.
pub(super) fn of(args: &OrcsArgs, analysis: &Analysis, lost: u64) -> Result<String, CliError> {
    let histogram = matches!(args.metric, Metric::HistMaxCong | Metric::HistAccBand);
    if histogram && lost > 0 {
        return Err(CliError::BadInput(format!(
            "{}: {lost} pairs have no route, and so no bandwidth; the metrics sum_max_cong, dep_max_delay and \
             get_cable_cong leave them out",
            args.input_file
        )));
    }
    let runs = &analysis.runs;
    Ok(match args.metric {
        Metric::HistMaxCong => weights(&analysis.histogram()),
        Metric::HistAccBand => {
            if runs.iter().any(|run| run.connections == 0) {
                return Err(CliError::BadInput(
                    "--metric hist_acc_band: the pattern has no pairs, and so no bandwidth".into(),
                ));
            }
            bins(&runs.iter().map(|run| run.bandwidth).collect::<Vec<_>>())
        }
        Metric::SumMaxCong => statistics(
            ["Maximal Congestion", "Congestion sum"],
            &runs.iter().map(|run| run.sum_max_cong).collect::<Vec<_>>(),
        ),
        Metric::DepMaxDelay => statistics(
            ["Delay", "Delay"],
            &runs
                .iter()
                .map(|run| run.delay.unwrap_or(0))
                .collect::<Vec<_>>(),
        ),
        Metric::GetCableCong => {
            let mut text = String::from("\nCable Congestions:\n\n Edge-ID\tacc. cong\n");
            let loads = &analysis.cables.loads;
            for (edge, load) in EdgeId::all(loads.len() as u32).zip(loads) {
                if load.sum > 0 {
                    let _ = writeln!(text, "{edge}\t{}", load.sum);
                }
            }
            text
        }
    })
}

/// Listing 3. ORCS 2.0 adds the share of each line, and an empty line.
fn weights(histogram: &Histogram) -> String {
    let all: u64 = histogram.iter().map(|(_, count)| count).sum();
    let mut text = String::new();
    for (weight, count) in histogram.iter() {
        let _ = writeln!(text, "weight {weight}: {count} of the {all} connections");
    }
    let bandwidth = match all {
        0 => -1.0,
        _ => histogram.bandwidth(),
    };
    let _ = writeln!(text, "BW: {bandwidth:.6}");
    text
}

fn bins(bandwidths: &[f64]) -> String {
    let ends: Vec<f64> = (0..=BINS).map(|at| at as f64 / BINS as f64 * END).collect();
    let mut counts = [0u64; BINS];
    for bandwidth in bandwidths {
        let bin = ends.partition_point(|begin| begin <= bandwidth);
        counts[bin.clamp(1, BINS) - 1] += 1;
    }
    let mut text = String::from(
        "Histogramm bin width: 0.050000\nFraction of full bandwidt | Number of occurences\n",
    );
    for (ends, count) in ends.windows(2).zip(counts) {
        let _ = writeln!(text, "{:12.8} {:12.8} {count:5}", ends[0], ends[1]);
    }
    text
}

/// A block of statistics, and how often each value occurred.
fn statistics([title, each]: [&str; 2], values: &[u64]) -> String {
    let n = values.len().max(1) as f64;
    let [least, most] =
        [values.iter().min(), values.iter().max()].map(|value| value.copied().unwrap_or(0) as f64);
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / n;
    let squares = values.iter().map(|&value| (value as f64 - mean).powi(2));
    let variance = squares.sum::<f64>() / n;
    let mut text = format!(
        "Statistical Results\n===================\n\nMinimal {title}: {least:.6}\nMaximal {title}: {most:.6}\n\
         Average {title}: {mean:.6}\n{title} Variance: {variance:.6}\n===================\n\n"
    );
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for &value in values {
        *counts.entry(value).or_default() += 1;
    }
    for (value, count) in counts {
        let _ = writeln!(text, "{each} of {value} occured {count} times.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_3_is_printed_to_the_character() {
        let mut histogram = Histogram::default();
        for (weight, count) in [(1, 14), (2, 44), (3, 6)] {
            histogram.add_many(weight, count);
        }
        assert_eq!(
            weights(&histogram),
            "weight 1: 14 of the 64 connections\nweight 2: 44 of the 64 connections\n\
             weight 3: 6 of the 64 connections\nBW: 0.593750\n"
        );
        assert_eq!(weights(&Histogram::default()), "BW: -1.000000\n");
    }

    /// Multiples of 0.05 count for the lower bin, which ends there, as the bins are a little wider.
    #[test]
    fn bins_end_with_multiples_of_a_twentieth() {
        let text = bins(&[0.75, 0.5, 1.0, 1.0]);
        for line in [
            "  0.45000000   0.50000000     1",
            "  0.70000000   0.75000000     1",
            "  0.95000000   1.00000000     2",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn long_ranks_keep_their_blank() {
        assert_eq!(format!("{:>5}", format!(" {}", 12345)), " 12345");
    }
}
