//! The summary of a trace, as its format gives it and `trace info` prints it.

use super::{ComputeTime, Reading, TraceFile};
use crate::mpi::Call;
use crate::program::{Action, RankId, RegionId, StreamId};
use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;
use flitwise_base::units::{human_bytes, human_count, human_time};
use flitwise_formats::traffic::{Tally, Traffic};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The contents of a trace.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Number of ranks.
    pub ranks: u32,
    /// Messages from point to point.
    pub traffic: Traffic,
    /// Names and values of the rows of the text, in order.
    pub rows: Vec<(&'static str, String)>,
    /// Further tables of the text; the first row has the titles.
    pub tables: Vec<Vec<Vec<String>>>,
    /// Keys of the JSON before the totals of the messages.
    pub keys: Map<String, Value>,
    /// Keys of the JSON between these totals and the sizes and pairs of the messages.
    pub further_keys: Map<String, Value>,
}

/// The number of messages, for the text.
pub(super) fn messages(traffic: &Traffic) -> String {
    let own = match traffic.self_messages {
        0 => String::new(),
        n => format!(", {} of them to the rank itself", human_count(n)),
    };
    format!("{}{own}", human_count(traffic.messages))
}

/// The bytes of the messages, for the text.
pub(super) fn bytes(traffic: &Traffic) -> String {
    let average = match traffic.messages {
        0 => String::new(),
        n => format!(", {} on average", human_bytes(traffic.bytes / n)),
    };
    format!("{}{average}", human_bytes(traffic.bytes))
}

/// The members of a JSON object.
pub(super) fn keys(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}

/// The number of ranks and the machines that they ran on, for the text.
pub(super) fn ranks_on(ranks: u32, hosts: usize) -> String {
    let hosts = match hosts {
        1 => "1 host".to_owned(),
        n => format!("{} hosts", human_count(n as u64)),
    };
    format!("{} on {hosts}", human_count(ranks.into()))
}

/// The numbers of calls by name, for the JSON.
pub(super) fn counts_value<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Value {
    let members = counts.map(|(name, count)| (name.to_owned(), count.into()));
    Value::Object(members.collect())
}

/// A table of the numbers of calls by name.
pub(super) fn counts<'a>(
    title: &str,
    counts: impl Iterator<Item = (&'a str, u64)>,
) -> Vec<Vec<String>> {
    let mut table = vec![vec![title.to_owned(), "count".to_owned()]];
    table.extend(counts.map(|(name, count)| vec![name.to_owned(), human_count(count)]));
    table
}

/// The computation of each rank, in the unit of the format: nanoseconds, or flops.
#[derive(Debug, Clone)]
pub(super) struct Computation(pub Vec<f64>);

impl Computation {
    pub fn new(ranks: u32) -> Self {
        Self(vec![0.0; ranks as usize])
    }

    /// Least, mean and most computation of a rank.
    fn span(&self) -> [f64; 3] {
        let all = || self.0.iter().copied();
        let sum: f64 = all().sum();
        let ranks = self.0.len().max(1) as f64;
        [
            all().fold(f64::INFINITY, f64::min),
            sum / ranks,
            all().fold(0.0, f64::max),
        ]
    }

    /// How much longer the busiest rank computes than the mean.
    fn imbalance(&self) -> f64 {
        match self.span() {
            [_, mean, most] if mean > 0.0 => most / mean - 1.0,
            _ => 0.0,
        }
    }

    /// The row of the text behind `first`; `shown` writes an amount with its unit.
    pub fn row(&self, first: &str, shown: impl Fn(f64) -> String) -> String {
        let [least, mean, most] = self.span().map(shown);
        let imbalance = 100.0 * self.imbalance();
        format!("{first}{least} to {most} per rank, mean {mean}, imbalance {imbalance:.1} %")
    }

    /// The same for nanoseconds.
    pub fn time_row(&self, first: &str) -> String {
        self.row(first, |ns| human_time((ns * 1000.0) as u64))
    }

    /// The value in the JSON.
    pub fn value(&self) -> Value {
        let [min, mean, max] = self.span();
        json!({
            "min": min,
            "mean": mean,
            "max": max,
            "imbalance": self.imbalance(),
            "per_rank": self.0,
        })
    }
}

/// Regions that the text lists.
const LISTED: usize = 20;

/// The regions of a program: how often its ranks enter each, and what they compute while it is the innermost.
#[derive(Debug, Clone, Default)]
pub(super) struct ByRegion {
    /// Entries and picoseconds, by region.
    shares: Vec<(u64, u64)>,
    /// The regions that the rank is in.
    inside: Vec<RegionId>,
}

impl ByRegion {
    fn see(&mut self, compute_ps: u64, action: &Action) {
        let innermost = self.inside.last().copied();
        if let Some(share) = innermost.and_then(|last| self.share(last)) {
            share.1 = share.1.saturating_add(compute_ps);
        }
        match *action {
            Action::EnterRegion(region) => {
                if let Some(share) = self.share(region) {
                    share.0 += 1;
                }
                self.inside.push(region);
            }
            Action::LeaveRegion(region) => {
                if let Some(at) = self.inside.iter().rposition(|inside| *inside == region) {
                    self.inside.remove(at);
                }
            }
            _ => {}
        }
    }

    fn share(&mut self, region: RegionId) -> Option<&mut (u64, u64)> {
        self.shares.get_mut(region.index())
    }

    /// The regions with these names, those with the most computation first.
    fn sorted<'a>(&self, names: &'a [Arc<str>]) -> Vec<(&'a str, u64, u64)> {
        let shares = names.iter().zip(&self.shares);
        let mut all: Vec<_> = shares
            .map(|(name, &(entries, ps))| (&**name, entries, ps))
            .collect();
        all.sort_by_key(|&(_, _, ps)| std::cmp::Reverse(ps));
        all
    }

    /// The table of the text, if there are regions. `computation` has all ranks.
    pub fn table(&self, names: &[Arc<str>], computation: &Computation) -> Option<Vec<Vec<String>>> {
        let all_ps = 1000.0 * computation.0.iter().sum::<f64>();
        let row = |(name, entries, ps): &(&str, u64, u64)| {
            let share = 100.0 * *ps as f64 / all_ps.max(1.0);
            vec![
                cut(name).to_string(),
                human_count(*entries),
                human_time(*ps),
                format!("{share:.1} %"),
            ]
        };
        let head = ["region", "entries", "computes", "share"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        let all = self.sorted(names);
        table.extend(all.iter().take(LISTED).map(row));
        if let Some(more @ 1..) = all.len().checked_sub(LISTED) {
            let mut last = vec![format!("and {more} more: --json lists all")];
            last.resize(head.len(), String::new());
            table.push(last);
        }
        (!names.is_empty()).then_some(table)
    }

    /// The value in the JSON.
    pub fn value(&self, names: &[Arc<str>]) -> Value {
        let all = self.sorted(names).into_iter();
        let object = |(name, entries, ps): (&str, u64, u64)| json!({ "name": name, "entries": entries, "compute_ns": ps as f64 / 1000.0 });
        all.map(object).collect()
    }
}

/// The messages and the computation of the ranks in nanoseconds by a clock. Calls that can't be replayed are left out.
pub(super) fn sent(
    file: &dyn TraceFile,
    compute_time: Option<ComputeTime>,
) -> anyhow::Result<(Traffic, Computation)> {
    let (traffic, computation, _) = sent_by_region(file, compute_time)?;
    Ok((traffic, computation))
}

/// The same with the computation by region.
pub(super) fn sent_by_region(
    file: &dyn TraceFile,
    compute_time: Option<ComputeTime>,
) -> anyhow::Result<(Traffic, Computation, ByRegion)> {
    let reading = Reading {
        compute_time,
        skip_unsupported: true,
        // Also of a program that was killed early, which is of interest here.
        allow_no_communication: true,
        ..Reading::default()
    };
    let mut program = file.open(&reading, Stop::never())?;
    let mut tally = Tally::default();
    let mut computation = Computation::new(program.ranks());
    let mut regions = ByRegion {
        shares: vec![(0, 0); file.regions().len()],
        ..ByRegion::default()
    };
    for rank in RankId::all(program.ranks()) {
        regions.inside.clear();
        while let Some(op) = program.next(rank, StreamId::new(0))? {
            computation.0[rank.index()] += op.compute_ps as f64 / 1000.0;
            regions.see(op.compute_ps, &op.action);
            if let Action::Mpi(call) = &op.action
                && let Call::Send { to, bytes, .. } = &**call
            {
                tally.add(rank.get(), to.get(), *bytes);
            }
        }
    }
    let traffic = tally.finish(|pair| (pair.bytes, 0));
    Ok((traffic, computation, regions))
}
