//! The names of the ends of links.

use crate::fabric::stats::LinkEnd;
use crate::fabric::topology::Topology;

/// `nic 3` or `switch 2 port 7`.
#[must_use]
pub fn link_end(end: LinkEnd) -> String {
    match end {
        LinkEnd::Nic(nic) => format!("nic {nic}"),
        LinkEnd::Port { switch, port } => format!("switch {switch} port {port}"),
    }
}

/// An end of a link as the operators of `topology` call it, `L003 port 5`, where that is known, and `aggregation node 2
/// link 0` in switch 2; else as [`link_end`].
#[must_use]
pub fn link_end_named(topology: &Topology, end: LinkEnd) -> String {
    if let (LinkEnd::Nic(nic), Some(all)) = (end, topology.aggregation())
        && let Some((switch, link)) = all.link(nic)
    {
        return format!("aggregation node {switch} link {link}");
    }
    match topology.names() {
        Some(names) => names.end_label(end),
        None => link_end(end),
    }
}
