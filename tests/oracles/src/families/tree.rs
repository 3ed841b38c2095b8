//! k-ary n-trees: level by level from the NICs on `k^(n-1)` switches. Ports: `k` down, `k` up.

use super::{Plan, digits, in_order, same_but_at};
use flitwise_fabric::topology::Tree;

/// A switch and one of the level above are connected if their digits differ at most at the place
/// of the level: up by the upper one's digit there, down by the lower one's.
pub fn plan(tree: Tree, nics: u32) -> Plan {
    let (k, n) = (tree.k(), tree.n());
    let width = k.pow(n - 1);
    let bases = vec![k; n as usize - 1];
    let mut cables = Vec::new();
    for level in 0..n - 1 {
        let place = level as usize;
        for lower in 0..width {
            for upper in 0..width {
                let (below, above) = (digits(lower, &bases), digits(upper, &bases));
                if same_but_at(place, &below, &above) {
                    cables.push([
                        (level * width + lower, k + above[place]),
                        ((level + 1) * width + upper, below[place]),
                    ]);
                }
            }
        }
    }
    Plan {
        switches: n * width,
        ports: if n == 1 { k } else { 2 * k },
        homes: in_order(nics, k),
        cables,
    }
}

/// DESTRO: down once the destination is below, else up by the destination's
/// digit. The leaf switch of NIC `dst` has the digits 1, 2, … of `dst`; going
/// down from level l chooses digit l.
pub fn route(tree: Tree, switch: u32, dst: u32) -> usize {
    let k = tree.k();
    let width = k.pow(tree.n() - 1);
    let (level, w) = (switch / width, switch % width);
    let leaf = dst / k;
    let below = w / k.pow(level) == leaf / k.pow(level);
    let digit = dst / k.pow(level) % k;
    (if below { digit } else { k + digit }) as usize
}
