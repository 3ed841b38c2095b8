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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_and_round_to_the_nearest() {
        let ratio = |num, den| Ratio::new(num, den).unwrap();
        assert_eq!(ratio(1, 3).mul_round(10), Some(3));
        assert_eq!(ratio(1, 2).mul_round(5), Some(3));
        assert_eq!(ratio(10, 1).mul_round(u64::MAX / 5), None);
        assert_eq!(
            ratio(u64::MAX, u64::MAX).mul_round(u64::MAX),
            Some(u64::MAX)
        );
        assert_eq!(
            ratio(u64::MAX - 1, u64::MAX).mul_round(u64::MAX),
            Some(u64::MAX - 1)
        );
        assert_eq!(ratio(0, 1).mul_round(99), Some(0));
    }

    #[test]
    fn shortest_decimal_is_taken() {
        assert_eq!(Ratio::from_f64(0.05), Ratio::new(1, 20));
        assert_eq!(Ratio::from_f64(0.1), Ratio::new(1, 10));
        assert_eq!(Ratio::from_f64(3.0), Some(Ratio::whole(3)));
        assert_eq!(Ratio::from_f64(-0.1), None);
        assert_eq!(Ratio::from_f64(f64::NAN), None);
        assert_eq!(Ratio::from_f64(1e-300), None);
    }

    #[test]
    fn texts() {
        assert_eq!("1/3".parse().ok(), Ratio::new(1, 3));
        assert_eq!("5%".parse().ok(), Ratio::new(1, 20));
        assert_eq!("0.05".parse().ok(), Ratio::new(1, 20));
        for bad in ["", "1/0", "1/", "/3", "x", "1/3/4", "5B", "1/-3"] {
            assert!(bad.parse::<Ratio>().is_err(), "{bad}");
        }
    }

    #[test]
    fn display_is_exact() {
        let show = |n, d| Ratio::new(n, d).map(|r| r.to_string()).unwrap_or_default();
        assert_eq!(show(1, 20), "0.05");
        assert_eq!(show(25, 2), "12.5");
        assert_eq!(show(1, 3), "1/3");
        assert_eq!(show(7, 1), "7");
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let terms = [1, 3, 7, 1 << 20, 10_u64.pow(12), u64::MAX - 1, u64::MAX];
        for ratio in terms
            .map(|n| terms.map(|d| Ratio::new(n, d).unwrap()))
            .concat()
        {
            assert_eq!(ratio.to_string().parse(), Ok(ratio), "{ratio}");
        }
    }

    #[test]
    fn arithmetic() {
        let third = Ratio::new(1, 3).unwrap_or(Ratio::ZERO);
        assert_eq!(third.checked_add(third), Ratio::new(2, 3));
        assert_eq!(third.checked_mul(third), Ratio::new(1, 9));
        assert_eq!(third.mul_floor(10), 3);
        assert!(third < Ratio::ONE);
    }
}
