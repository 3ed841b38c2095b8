//! The output of ORCS about the routes themselves: `--checkinputfile`, `--routequal`, and pairs without a route.

use crate::cli::console::{print, tell};
use crate::cli::error::CliError;
use flitwise::oblivious::{EdgeId, HostId, Lost, Network};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The message of ORCS about a loop.
const LOOP: &str = "I tried to visit a node I already visited on the same route. This means we have a routing loop!";
/// `gmin` without a route between switches.
const NO_MINIMUM: u64 = 0xffff_fffe;
/// Pairs without a route that are listed.
const MOST_LISTED: usize = 100;

/// The message of ORCS about a pair without a route. A route that ends at a wrong host returns from there to its
/// switch.
fn says(network: &Network, [src, dst]: [HostId; 2], why: &Lost) -> String {
    match why {
        Lost::NoEntry(_) => format!(
            "There seems to be no route from {} to {}.",
            network.graph.host_name(src),
            network.graph.host_name(dst)
        ),
        _ => LOOP.to_owned(),
    }
}

/// Calls `see` with every ordered pair of hosts, pairs of a host with itself included, and its route; the pair counts
/// from 1.
fn each_pair(
    network: &Network,
    mut see: impl FnMut(u64, [HostId; 2], Result<&[EdgeId], Lost>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let hosts = network.graph.host_count();
    let (mut route, mut number) = (Vec::new(), 0);
    for src in HostId::all(hosts) {
        for dst in HostId::all(hosts) {
            number += 1;
            route.clear();
            let found = network.route(src, dst, 0, &mut route);
            see(number, [src, dst], found.map(|()| &route[..]))?;
        }
    }
    Ok(())
}

/// Follows every route; pairs without one are listed on standard error.
pub(super) fn input_file(network: &Network) -> Result<(), CliError> {
    let hosts = u64::from(network.graph.host_count());
    let mut text = String::new();
    let mut list = List::default();
    each_pair(network, |number, pair, found| {
        let _ = writeln!(text, "Testing pair number {number} of {}", hosts * hosts);
        if let Err(why) = found {
            text += &says(network, pair, &why);
            text.push('\n');
            list.add(pair);
        }
        if text.len() > 1 << 16 {
            print(&text)?;
            text.clear();
        }
        Ok(())
    })?;
    print(&(text + "Completed\n"))?;
    list.tell(network);
    Ok(())
}

/// Reports why pairs have no route, and lists them.
pub(super) fn tell_lost(network: &Network) {
    let mut said = [false; 2];
    let mut list = List::default();
    let _ = each_pair(network, |_, pair, found| {
        if let Err(why) = found {
            list.add(pair);
            let kind = usize::from(matches!(why, Lost::NoEntry(_)));
            if !std::mem::replace(&mut said[kind], true) {
                tell(format_args!("{}", says(network, pair, &why)));
            }
        }
        Ok(())
    });
    list.tell(network);
}

/// Pairs without a route.
#[derive(Default)]
struct List {
    first: Vec<[HostId; 2]>,
    more: u64,
}

impl List {
    fn add(&mut self, pair: [HostId; 2]) {
        if self.first.len() < MOST_LISTED {
            self.first.push(pair);
        } else {
            self.more += 1;
        }
    }

    /// Lists them on standard error.
    fn tell(&self, network: &Network) {
        for pair in &self.first {
            let [src, dst] = pair.map(|host| network.graph.host_name(host));
            tell(format_args!("{src} -> {dst}"));
        }
        if self.more > 0 {
            tell(format_args!("and {} more pairs without a route", self.more));
        }
    }
}

/// The number of routes between all hosts that share the fullest cable of each route, host links left out: least, most,
/// mean and standard deviation.
pub(super) fn quality(network: &Network) -> String {
    let mut load = vec![0u64; network.graph.edges().len()];
    let _ = each_pair(network, |_, _, found| {
        for edge in found.unwrap_or_default() {
            load[edge.index()] += 1;
        }
        Ok(())
    });
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let _ = each_pair(network, |_, _, found| {
        let route = found.unwrap_or_default();
        let inner = route
            .get(1..route.len().saturating_sub(1))
            .unwrap_or_default();
        if let Some(most) = inner.iter().map(|edge| load[edge.index()]).max() {
            *counts.entry(most).or_default() += 1;
        }
        Ok(())
    });
    let least = counts.keys().next().copied().unwrap_or(NO_MINIMUM);
    let most = counts.keys().last().copied().unwrap_or(0);
    let mut text = format!("gmin: {least}, gmax: {most}\n");
    let all: u64 = counts.values().sum();
    let mean_of = |value: &dyn Fn(f64) -> f64| -> f64 {
        let values = counts.iter();
        let sum: f64 = values
            .map(|(&load, &count)| value(load as f64) * count as f64)
            .sum();
        sum / all as f64
    };
    if all == 0 {
        text += "E: -nan, sigma: -nan\n";
    } else {
        let mean = mean_of(&|load| load);
        let sigma = mean_of(&|load| (load - mean).powi(2)).sqrt();
        let _ = writeln!(text, "E: {mean:.2}, sigma: {sigma:.2}");
    }
    text + "Completed\n"
}
