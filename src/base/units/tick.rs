//! The length of a tick.

use super::{PS_PER_S, Ratio};

/// Length of one tick in picoseconds: an exact fraction, at least 1.
///
/// A flit of 8 B at 56 Gb/s takes 8000/7 ps; a tick may last that long as well as 640 ps.
/// Conversions do not drift: [`Self::ticks`] of [`Self::ps`]`(t)` is `t`.
///
/// ```
/// use flitwise_base::units::{Ratio, TickLength};
///
/// let tick = TickLength::new(Ratio::new(8000, 7).unwrap()).unwrap();
/// assert_eq!(tick.ps(7), 8000);
/// assert_eq!(tick.ps(1), 1142);
/// assert_eq!(tick.ticks(1142), 1);
/// assert_eq!(tick.ticks(1143), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickLength(Ratio);

impl TickLength {
    /// A tick of `ps` picoseconds; `None` if that is less than 1.
    #[must_use]
    pub fn new(ps: Ratio) -> Option<Self> {
        (ps >= Ratio::ONE).then_some(Self(ps))
    }

    /// A tick of a whole number of picoseconds, at least 1: 0 counts as 1.
    #[must_use]
    pub const fn whole(ps: u64) -> Self {
        Self(Ratio::whole(if ps == 0 { 1 } else { ps }))
    }

    /// The length in picoseconds.
    #[must_use]
    pub fn length_ps(self) -> Ratio {
        self.0
    }

    /// Time of the beginning of `tick` in picoseconds, rounded down; saturating.
    #[inline]
    #[must_use]
    pub fn ps(self, tick: u64) -> u64 {
        match tick.checked_mul(self.0.num()) {
            Some(product) => product / self.0.den(),
            None => self.0.mul_floor(tick),
        }
    }

    /// The first tick that begins `ps` picoseconds after tick 0 or later; saturating.
    #[inline]
    #[must_use]
    pub fn ticks(self, ps: u64) -> u64 {
        if let Some(product) = ps.checked_mul(self.0.den()) {
            return product.div_ceil(self.0.num());
        }
        let product = u128::from(ps) * u128::from(self.0.den());
        u64::try_from(product.div_ceil(self.0.num().into())).unwrap_or(u64::MAX)
    }

    /// `ticks` in nanoseconds, for printing only.
    #[must_use]
    pub fn ns(self, ticks: u128) -> f64 {
        let (num, den) = (u128::from(self.0.num()), 1000 * u128::from(self.0.den()));
        match ticks.checked_mul(num) {
            Some(product) => product as f64 / den as f64,
            None => ticks as f64 * self.0.to_f64() / 1000.0,
        }
    }

    /// The mean of `count` times that add up to `sum` ticks, in nanoseconds, for printing only.
    /// It is divided once, so that every machine prints the same digits.
    #[must_use]
    pub fn mean_ns(self, sum: u128, count: u64) -> f64 {
        let (num, den) = (u128::from(self.0.num()), u128::from(self.0.den()));
        let parts = u128::from(count) * 1000;
        match (sum.checked_mul(num), parts.checked_mul(den)) {
            (Some(sum), Some(parts)) => sum as f64 / parts as f64,
            _ => self.ns(sum) / count as f64,
        }
    }

    /// Ticks in a second, for printing only.
    #[must_use]
    pub fn per_second(self) -> f64 {
        PS_PER_S as f64 / self.0.to_f64()
    }
}
