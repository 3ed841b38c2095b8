//! Hosts of a graph by name.

use super::graph::{Graph, HostId};
use flitwise_base::host_list;
use std::collections::BTreeMap;

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
        let names = host_list::expand(text)?;
        names.iter().map(|name| self.find(name)).collect()
    }
}
