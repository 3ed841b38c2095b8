//! k-ary n-trees: `n` levels of `k^(n-1)` switches with `k` ports down and,
//! below the top, `k` ports up.

use super::{Shape, Topology, host_count, invalid};
use crate::fabric::spec::SpecError;

/// Parameters of a k-ary n-tree. Switch `level * k^(n-1) + w`, level 0 at the
/// NICs; `w` has the base-`k` digits `w[0] .. w[n-2]`. Ports `0..k` lead down,
/// `k..2k` up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    k: u32,
    n: u32,
}

impl Tree {
    pub(super) fn build(k: u32, n: u32, hosts: Option<u32>) -> Result<Topology, SpecError> {
        if k < 2 || n < 1 {
            return Err(invalid(format!(
                "a {k}-ary {n}-tree needs k >= 2 and n >= 1"
            )));
        }
        let slots = u64::from(k)
            .checked_pow(n)
            .filter(|&s| s <= u64::from(u32::MAX))
            .ok_or_else(|| {
                invalid(format!(
                    "{k}^{n} NICs are more than 2^32; take a smaller k or n"
                ))
            })?;
        let tree = Self { k, n };
        let width = slots / u64::from(k);
        let nics = host_count(slots, hosts)?;
        let ports = if n == 1 { k.into() } else { 2 * u64::from(k) };
        let mut topology =
            Topology::unconnected(Shape::Tree(tree), width * u64::from(n), ports, nics)?;
        for nic in 0..nics as u32 {
            topology.attach_next(nic / k, nic % k);
        }
        for level in 0..n - 1 {
            for w in 0..width as u32 {
                for up in 0..k {
                    let own = tree.digit(w, level);
                    let above = tree.with_digit(w, level, up);
                    topology.connect(
                        (tree.switch(level, w), k + up),
                        (tree.switch(level + 1, above), own),
                    );
                }
            }
        }
        Ok(topology)
    }

    /// Ports down (and up) per switch.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Levels of switches.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Switches per level.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.k.pow(self.n - 1)
    }

    /// `(level, w)` of a switch id.
    #[must_use]
    pub fn position(&self, switch: u32) -> (u32, u32) {
        (switch / self.width(), switch % self.width())
    }

    /// Base-`k` digit `i` of `value`.
    #[must_use]
    pub fn digit(&self, value: u32, i: u32) -> u32 {
        value / self.k.pow(i) % self.k
    }

    fn switch(&self, level: u32, w: u32) -> u32 {
        level * self.width() + w
    }

    fn with_digit(&self, value: u32, i: u32, digit: u32) -> u32 {
        value - self.digit(value, i) * self.k.pow(i) + digit * self.k.pow(i)
    }
}
