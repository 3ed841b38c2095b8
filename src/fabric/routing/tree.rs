//! DESTRO, also known as D-mod-k: the destination's digits choose the way up,
//! so that each root serves its own set of destinations.

use crate::fabric::topology::Tree;

pub(super) fn next_port(tree: &Tree, switch: u32, dst: u32) -> u32 {
    let (level, w) = tree.position(switch);
    // The destination is below if all digits from `level` on agree.
    let unit = tree.k().pow(level);
    let digit = tree.digit(dst, level);
    if w / unit == dst / unit / tree.k() {
        digit
    } else {
        tree.k() + digit
    }
}
