//! Exact fractions.

use std::cmp::Ordering;
use std::fmt;

/// A non-negative fraction in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    /// The fraction 0.
    pub const ZERO: Self = Self { num: 0, den: 1 };
    /// The fraction 1.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// `num / den` in lowest terms; `None` if `den` is 0.
    #[must_use]
    pub fn new(num: u64, den: u64) -> Option<Self> {
        Self::reduced(num.into(), den.into())
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(num: u64) -> Self {
        Self { num, den: 1 }
    }

    /// `num / den` in lowest terms; `None` if `den` is 0 or a term needs more
    /// than 64 bits.
    #[must_use]
    pub fn reduced(num: u128, den: u128) -> Option<Self> {
        if den == 0 {
            return None;
        }
        let divisor = gcd(num, den);
        Some(Self {
            num: u64::try_from(num / divisor).ok()?,
            den: u64::try_from(den / divisor).ok()?,
        })
    }

    /// The fraction that the shortest decimal form of `value` stands for, so
    /// that 0.05 is exactly 1/20; `None` if negative, not finite or too long.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() || value.is_sign_negative() {
            return None;
        }
        format!("{value}").parse().ok()
    }

    /// Numerator.
    #[must_use]
    pub fn num(self) -> u64 {
        self.num
    }

    /// Denominator, at least 1.
    #[must_use]
    pub fn den(self) -> u64 {
        self.den
    }

    /// True for 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.num == 0
    }

    /// The nearest floating-point number, for printing only.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// `⌊self × n⌋`, saturating.
    #[must_use]
    pub fn mul_floor(self, n: u64) -> u64 {
        let product = u128::from(self.num) * u128::from(n) / u128::from(self.den);
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// `self × n` rounded to the nearest integer, halves up; `None` beyond 64 bits.
    #[must_use]
    pub fn mul_round(self, n: u64) -> Option<u64> {
        // At most 2^128 − 2^65 + 1, so that adding half a denominator fits.
        let product = u128::from(n) * u128::from(self.num);
        let den = u128::from(self.den);
        u64::try_from((product + den / 2) / den).ok()
    }

    /// The sum; `None` if a term needs more than 64 bits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (a, b) = (u128::from(self.num), u128::from(self.den));
        let (c, d) = (u128::from(other.num), u128::from(other.den));
        let cross = (a * d).checked_add(c * b)?;
        Self::reduced(cross, b * d)
    }

    /// The quotient; `None` if `other` is 0 or a term needs more than 64 bits.
    #[must_use]
    pub fn checked_div(self, other: Self) -> Option<Self> {
        Self::reduced(
            u128::from(self.num) * u128::from(other.den),
            u128::from(self.den) * u128::from(other.num),
        )
    }

    /// The product; `None` if a term needs more than 64 bits.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        Self::reduced(
            u128::from(self.num) * u128::from(other.num),
            u128::from(self.den) * u128::from(other.den),
        )
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.num) * u128::from(other.den);
        left.cmp(&(u128::from(other.num) * u128::from(self.den)))
    }
}

impl fmt::Display for Ratio {
    /// A decimal number where that is exact, `num/den` otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.den;
        let mut scale: u32 = 0;
        let (mut twos, mut fives) = (0, 0);
        while rest.is_multiple_of(2) {
            rest /= 2;
            twos += 1;
        }
        while rest.is_multiple_of(5) {
            rest /= 5;
            fives += 1;
        }
        scale = scale.max(twos).max(fives);
        if rest != 1 || scale > 12 {
            return write!(f, "{}/{}", self.num, self.den);
        }
        if scale == 0 {
            return write!(f, "{}", self.num);
        }
        let power = 10u128.pow(scale);
        let digits = u128::from(self.num) * (power / u128::from(self.den));
        let width = scale as usize;
        write!(f, "{}.{:0width$}", digits / power, digits % power)
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
