//! k-ary n-trees: `n` levels of `k^(n-1)` switches with `k` ports down and,
//! below the top, `k` ports up.

use super::{
    Advice, Cabling, ClosedForm, Destination, Drawing, Family, FamilyInfo, FamilyParameters,
    LaidOut, Place, Ports, RingTie, RoutingName, TOO_LARGE, host_count, invalid, port_of,
};
use crate::ids::{PortId, SwitchId, SwitchPort};
use flitwise_base::units::article;
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a k-ary n-tree.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["k", "n"]))]
#[schemars(description = "")]
pub struct TreeKeys {
    /// Down-ports of a switch.
    pub k: Option<u32>,
    /// Levels of switches.
    pub n: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// FamilyParameters of a k-ary n-tree. Switch `level * k^(n-1) + w`, level 0 at the
/// NICs; `w` has the base-`k` digits `w[0] .. w[n-2]`. Ports `0..k` lead down,
/// `k..2k` up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    k: u32,
    n: u32,
}

impl TreeKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Tree> {
        let (Some(k), Some(n)) = (self.k, self.n) else {
            let keys = [
                ("k", "down-ports of a switch", self.k.is_none()),
                ("n", "levels", self.n.is_none()),
            ];
            return Err(Tree::INFO.missing("k-ary-n-tree", &keys));
        };
        Tree::laid_out(k, n, self.hosts)
    }
}

impl Tree {
    /// As [`Topology::k_ary_n_tree`](super::Topology::k_ary_n_tree).
    pub(super) fn laid_out(k: u32, n: u32, hosts: Option<u32>) -> LaidOut<Self> {
        if k < 2 || n < 1 {
            return Err(invalid(format!(
                "{} {k}-ary {n}-tree needs k >= 2 and n >= 1",
                article(k.into())
            )));
        }
        let slots = u64::from(k)
            .checked_pow(n)
            .filter(|&s| s <= u64::from(u32::MAX))
            .ok_or_else(|| invalid(format!("{k}^{n} NICs are 2^32 or more; {TOO_LARGE}")))?;
        let tree = Tree { k, n };
        let width = slots / u64::from(k);
        let nics = host_count(slots, hosts)?;
        let ports = if n == 1 { k.into() } else { 2 * u64::from(k) };
        let mut cabling = Cabling::unconnected(width * u64::from(n), ports, nics)?;
        cabling.attach_in_order(nics, k);
        for level in 0..n - 1 {
            for w in 0..width as u32 {
                for up in 0..k {
                    let own = tree.digit(w, level);
                    let above = tree.with_digit(w, level, up);
                    cabling.connect(
                        tree.port(level, w, k + up),
                        tree.port(level + 1, above, own),
                    );
                }
            }
        }
        Ok((tree, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::{DModK, Destro};
        FamilyInfo {
            advice: Advice::Elsewhere,
            ..FamilyInfo::new(
                &["k-ary-n-tree"],
                "a tree",
                &["trees"],
                &[Destro, DModK],
                &[("k-ary-n-tree", "k=4,n=2")],
            )
        }
    };

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
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn width(&self) -> u32 {
        self.k.pow(self.n - 1)
    }

    /// The position of a switch.
    fn position(&self, switch: SwitchId) -> Position {
        Position {
            level: switch.get() / self.width(),
            w: switch.get() % self.width(),
        }
    }

    /// Base-`k` digit `i` of `value`.
    fn digit(&self, value: u32, i: u32) -> u32 {
        value / self.k.pow(i) % self.k
    }

    /// Port `port` of switch `w` of a level.
    fn port(&self, level: u32, w: u32, port: u32) -> SwitchPort {
        port_of(level * self.width() + w, port)
    }

    fn with_digit(&self, value: u32, i: u32, digit: u32) -> u32 {
        value - self.digit(value, i) * self.k.pow(i) + digit * self.k.pow(i)
    }
}

/// The position of a switch in its tree.
#[derive(Debug, Clone, Copy)]
struct Position {
    level: u32,
    /// Position in the level.
    w: u32,
}

/// Routed by DESTRO, also known as D-mod-k: the destination's digits choose the path up, so
/// each root serves its own set of destinations.
impl Family for Tree {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let Position { level, w } = self.position(switch);
        let dst = to.nic.get();
        // The destination is below if all digits from `level` on agree.
        let unit = self.k.pow(level);
        let digit = self.digit(dst, level);
        if w / unit == dst / unit / self.k {
            Ports::one(PortId::new(digit))
        } else {
            Ports::one(PortId::new(self.k + digit))
        }
    }

    fn up_ports(&self, switch: SwitchId) -> Ports {
        let Position { level, .. } = self.position(switch);
        if level + 1 < self.n {
            Ports::range(PortId::new(self.k), self.k)
        } else {
            Ports::NONE
        }
    }

    fn has_up_ports(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("{}-ary {}-tree", self.k, self.n)
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let Self { k, n } = *self;
        FamilyParameters::KAryNTree { k, n }
    }

    fn place(&self, switch: SwitchId) -> Place {
        let Position { level, w } = self.position(switch);
        Place::Within {
            part: "level",
            number: level,
            position: w,
        }
    }

    /// The subtrees below the roots.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        let below = self.n.checked_sub(2)?;
        Some(self.position(switch).w / self.k.pow(below))
    }

    fn drawing(&self) -> Drawing {
        let first = |level| SwitchId::new(level * self.width());
        let level = |level| first(level)..first(level + 1);
        Drawing::Levels((0..self.n).rev().map(level).collect())
    }

    /// Full, if no NIC is missing.
    fn bisection(&self, cabling: &Cabling) -> Option<ClosedForm> {
        let nics = u64::from(cabling.nics());
        let complete = nics == u64::from(self.k) * u64::from(self.width());
        (complete && self.n > 1 && self.k.is_multiple_of(2)).then_some(ClosedForm {
            links: nics / 2,
            formula: "N / 2: a k-ary n-tree has full bisection",
        })
    }
}
