//! Hosts by name: lists as Slurm writes them.

use super::graph::{Graph, HostId};
use std::collections::BTreeMap;

/// Most hosts of a list.
const MOST_HOSTS: usize = 1 << 22;

/// Names of hosts of a graph.
#[derive(Debug)]
pub struct HostNames<'a> {
    graph: &'a Graph,
    /// Hosts by name, and by the first word of their names; `None` if several have it.
    by_name: BTreeMap<&'a str, Option<HostId>>,
}

impl<'a> HostNames<'a> {
    /// The names of all hosts.
    #[must_use]
    pub fn new(graph: &'a Graph) -> Self {
        let mut by_name = BTreeMap::new();
        let hosts = || graph.host_ids();
        let name = |host| graph.host_name(host);
        for host in hosts() {
            let first = name(host).split_whitespace().next().unwrap_or("");
            let entry = by_name.entry(first).or_insert(Some(host));
            if *entry != Some(host) {
                *entry = None;
            }
        }
        for host in hosts() {
            by_name.insert(name(host), Some(host));
        }
        Self { graph, by_name }
    }

    /// The host of that name: its full name, the first word of it if no other host has the same, or its number.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, text: &str) -> Result<HostId, String> {
        match self.by_name.get(text) {
            Some(Some(host)) => return Ok(*host),
            Some(None) => {
                return Err(format!(
                    "several hosts are called `{text}`; write the whole name of one"
                ));
            }
            None => {}
        }
        let number = text.parse::<u32>().ok();
        let number = number.filter(|&host| host < self.graph.host_count());
        number.map(HostId::new).ok_or_else(|| {
            let some = self.graph.node(self.graph.node_of(HostId::new(0)));
            format!(
                "the network has no host `{text}`; it has {}, the first is called `{}`",
                self.graph.host_count(),
                some.name
            )
        })
    }

    /// The hosts of a list: names with commas between them, and with ranges in brackets as Slurm has them:
    /// `node[001-016,020],login1`.
    ///
    /// # Errors
    /// If a host does not exist, or the list cannot be read.
    pub fn list(&self, text: &str) -> Result<Vec<HostId>, String> {
        let mut hosts = Vec::new();
        for part in split_outside_brackets(text) {
            for name in expand(part.trim())? {
                hosts.push(self.find(&name)?);
            }
            if hosts.len() > MOST_HOSTS {
                return Err(format!("more than {MOST_HOSTS} hosts"));
            }
        }
        if hosts.is_empty() {
            Err("the list names no host".into())
        } else {
            Ok(hosts)
        }
    }
}

/// The parts between commas that are not in brackets.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    let parts = text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// The names that a part with brackets stands for.
fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once('[') else {
        return Ok(vec![text.to_owned()]);
    };
    let wrong = |what: &str| format!("`{text}`: {what}; write ranges as in `node[001-016,020]`");
    let (inside, after) = rest
        .split_once(']')
        .ok_or_else(|| wrong("the bracket is not closed"))?;
    let tails = expand(after)?;
    let mut names = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| {
            let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            all.then(|| digits.parse::<u64>().ok()).flatten()
        };
        let (Some(from), Some(to)) = (number(first), number(last)) else {
            return Err(wrong(&format!("`{range}` is no number or range")));
        };
        let count = to
            .checked_sub(from)
            .and_then(|more| usize::try_from(more).ok());
        let fits = |count: usize| {
            let more = count.checked_add(1)?.checked_mul(tails.len())?;
            names
                .len()
                .checked_add(more)
                .filter(|all| *all <= MOST_HOSTS)
        };
        if count.and_then(fits).is_none() {
            return Err(wrong(&format!("`{range}` has no hosts, or too many")));
        }
        let width = first.len();
        for at in from..=to {
            names.extend(
                tails
                    .iter()
                    .map(|tail| format!("{before}{at:0width$}{tail}")),
            );
        }
    }
    Ok(names)
}
