//! k-ary n-trees: `n` levels of `k^(n-1)` switches with `k` ports down and,
//! below the top, `k` ports up.

use super::{Destination, Drawing, Family, Place, Ports, Shape, Topology, host_count, invalid};
use crate::fabric::spec::{RingTie, SpecError};
use serde_json::{Value, json};

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

/// Routed by DESTRO, also known as D-mod-k: the destination's digits choose the way up, so that
/// each root serves its own set of destinations.
impl Family for Tree {
    fn candidates(&self, _: RingTie, switch: u32, to: Destination) -> Ports {
        let (level, w) = self.position(switch);
        // The destination is below if all digits from `level` on agree.
        let unit = self.k.pow(level);
        let digit = self.digit(to.nic, level);
        if w / unit == to.nic / unit / self.k {
            Ports::one(digit)
        } else {
            Ports::one(self.k + digit)
        }
    }

    fn up_ports(&self, switch: u32) -> Ports {
        let (level, _) = self.position(switch);
        match level + 1 < self.n {
            true => Ports::range(self.k, self.k),
            false => Ports::NONE,
        }
    }

    fn name(&self) -> String {
        format!("{}-ary {}-tree", self.k, self.n)
    }

    fn parameters(&self, _: &Topology) -> Value {
        json!({ "kind": "k-ary-n-tree", "k": self.k, "n": self.n })
    }

    fn place(&self, switch: u32) -> Place {
        let (level, position) = self.position(switch);
        Place::Within {
            part: "level",
            number: level,
            position,
        }
    }

    fn drawing(&self) -> Drawing {
        let level = |level| level * self.width()..(level + 1) * self.width();
        Drawing::Levels((0..self.n).rev().map(level).collect())
    }

    /// Full, if no NIC is missing.
    fn bisection(&self, topology: &Topology) -> Option<(u64, &'static str)> {
        let nics = u64::from(topology.nics());
        let complete = nics == u64::from(self.k) * u64::from(self.width());
        let formula = "N / 2: a k-ary n-tree has full bisection";
        (complete && self.n > 1 && self.k.is_multiple_of(2)).then_some((nics / 2, formula))
    }
}
