//! Ranks in a grid, the last dimension first: rank = x₀ · n₁ + x₁ in two dimensions.

use std::fmt;
use std::str::FromStr;

/// Extents of a grid, at least one dimension; written `4x8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid(Vec<u32>);

impl Grid {
    /// The grid of `ranks` ranks whose extents differ least, largest first.
    #[must_use]
    pub fn balanced(ranks: u32, dimensions: u32) -> Self {
        let mut rest = ranks.max(1);
        let mut extents = Vec::new();
        for left in (1..=dimensions.max(1)).rev() {
            // The largest divisor that does not exceed the root of the remaining ranks.
            let fits = |d: u32| rest.is_multiple_of(d) && u64::from(d).pow(left) <= rest.into();
            let root = (2..).take_while(|&d| u64::from(d).pow(left) <= rest.into());
            let extent = match left {
                1 => rest,
                _ => root.filter(|&d| fits(d)).last().unwrap_or(1),
            };
            rest /= extent;
            extents.push(extent);
        }
        extents.sort_unstable_by(|a, b| b.cmp(a));
        Self(extents)
    }

    /// Number of dimensions.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// Ranks along a dimension.
    #[must_use]
    pub fn extent(&self, dimension: usize) -> u32 {
        self.0.get(dimension).copied().unwrap_or(1)
    }

    /// Ranks of the grid, if that is a 32-bit number.
    #[must_use]
    pub fn ranks(&self) -> Option<u32> {
        self.0.iter().try_fold(1_u32, |n, &e| n.checked_mul(e))
    }

    /// The rank one step up or down a dimension; `None` beyond a border, if there is one,
    /// and where the dimension has no second rank.
    pub(super) fn neighbour(
        &self,
        rank: u32,
        dimension: usize,
        up: bool,
        open: bool,
    ) -> Option<u32> {
        let n = self.extent(dimension);
        let stride: u32 = self.0.iter().skip(dimension + 1).product();
        let x = rank / stride % n;
        let border = if up { x + 1 == n } else { x == 0 };
        if n == 1 || open && border {
            return None;
        }
        let to = if up { (x + 1) % n } else { (x + n - 1) % n };
        Some(rank - x * stride + to * stride)
    }

    /// The lines of ranks along a dimension, each from its lowest rank up.
    pub(super) fn lines(&self, dimension: usize) -> Vec<Vec<u32>> {
        let n = self.extent(dimension);
        let stride: u32 = self.0.iter().skip(dimension + 1).product();
        let ranks = 0..self.ranks().unwrap_or(0);
        let first = ranks.filter(|rank| (rank / stride).is_multiple_of(n));
        first
            .map(|rank| (0..n).map(|x| rank + x * stride).collect())
            .collect()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let extents: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&extents.join("x"))
    }
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let extents: Option<Vec<u32>> = text
            .split('x')
            .map(|part| part.parse().ok().filter(|&n| n > 0))
            .collect();
        extents
            .map(Self)
            .ok_or_else(|| "is no grid; write ranks per dimension such as \"4x8\"".into())
    }
}
