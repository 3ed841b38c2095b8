//! D-mod-k on generalised fat trees (Zahavi, 2010): the destination decides the way up
//! and with it the top switch, so that every top serves its own set of destinations.

use crate::fabric::topology::Xgft;

pub(super) fn next_port(tree: &Xgft, switch: u32, dst: u32) -> u32 {
    let (level, at) = tree.position(switch);
    let children = tree.down()[level - 1];
    let links = tree.parallel()[level - 1];
    if at / tree.tops(level) == dst / tree.hosts_below(level) {
        let child = dst / tree.hosts_below(level - 1) % children;
        // Down by the link that leads up for this destination.
        let up = tree.up()[level - 1];
        let link = dst / tree.tops(level - 1) % (up * links) / up;
        return child + children * link;
    }
    let ways = tree.up()[level] * tree.parallel()[level];
    children * links + dst / tree.tops(level) % ways
}
