//! Generalised fat trees: XGFT(h; m1 … mh; w1 … wh) with parallel links (Öhring et al. 1995,
//! Zahavi 2010). A node of level l has a digit for each level: below w1, …, wl, which tell the
//! tops of a subtree apart, and below m(l+1), …, mh, which say of which child it is part.

use super::{Plan, digits, in_order, same_but_at};
use flitwise_fabric::topology::Xgft;

/// The bases of the digits of a switch of `level`.
fn bases(tree: &Xgft, level: usize) -> Vec<u32> {
    [&tree.up()[..level], &tree.down()[level..]].concat()
}

/// A switch of level l and one of level l + 1 are connected if their digits differ at most at that
/// of level l + 1, which is the lower one's place among the children and the upper one's among
/// the parents.
pub fn plan(tree: &Xgft, nics: u32) -> Plan {
    let (m, w, p) = (tree.down(), tree.up(), tree.parallel());
    let levels = m.len();
    let width_of = |level: usize| bases(tree, level).iter().product::<u32>();
    let (mut first, mut ports, mut cables) = (0, 0, Vec::new());
    for level in 1..=levels {
        let down = m[level - 1] * p[level - 1];
        if level == levels {
            ports = ports.max(down);
            first += width_of(level);
            break;
        }
        ports = ports.max(down + w[level] * p[level]);
        let first_above = first + width_of(level);
        for lower in 0..width_of(level) {
            for upper in 0..width_of(level + 1) {
                let below = digits(lower, &bases(tree, level));
                let above = digits(upper, &bases(tree, level + 1));
                if same_but_at(level, &below, &above) {
                    let (child, parent) = (below[level], above[level]);
                    cables.extend((0..p[level]).map(|link| {
                        [
                            (first + lower, down + parent + w[level] * link),
                            (first_above + upper, child + m[level] * link),
                        ]
                    }));
                }
            }
        }
        first = first_above;
    }
    Plan {
        switches: first,
        ports,
        homes: in_order(nics, m[0]),
        cables,
    }
}

/// D-mod-k: the switch is known by its level, the subtree it tops and its number among the
/// tops. Hosts are numbered through all subtrees. Returns the port, the first port that leads up,
/// and how many do.
pub fn route(tree: &Xgft, switch: u32, dst: u32) -> (usize, usize, usize) {
    let (m, w, p) = (tree.down(), tree.up(), tree.parallel());
    let all: u32 = m.iter().product();
    // `below`: hosts under a switch of the level; `tops`: switches that share them.
    let (mut level, mut below, mut tops, mut number) = (0, m[0], 1, switch);
    while number >= all / below * tops {
        number -= all / below * tops;
        level += 1;
        below *= m[level];
        tops *= w[level];
    }
    let subtree = number / tops;
    let first_up = (m[level] * p[level]) as usize;
    if subtree * below <= dst && dst < (subtree + 1) * below {
        // The children's subtrees have `below / m` hosts; they send packets for `dst` up by
        // link `dst / tops'` in turn, parents first, and that link leads down again.
        let child = (dst - subtree * below) / (below / m[level]);
        let link = dst / (tops / w[level]) % (w[level] * p[level]);
        return ((child + m[level] * (link / w[level])) as usize, first_up, 0);
    }
    let links = w[level + 1] * p[level + 1];
    let link = dst / tops % links;
    (first_up + link as usize, first_up, links as usize)
}
