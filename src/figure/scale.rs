//! Axes: which numbers they show, and where.

use flitwise_base::units::number;

/// Numbers onto pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// Pixels of `low` and `high`.
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis that reaches from `low` to `high` at least.
    pub(super) fn linear([low, high]: [f64; 2], [from, to]: [f64; 2]) -> Self {
        let (low, high) = sound(low, high);
        // No more than a quarter of a step is left free at the ends.
        let part = step(low, high, from, to) / 4.0;
        Self {
            low: (low / part + 1e-9).floor() * part,
            high: (high / part - 1e-9).ceil() * part,
            log: false,
            from,
            to,
        }
    }

    /// An axis that ends at `low` and `high` exactly.
    pub(super) fn exact([low, high]: [f64; 2], [from, to]: [f64; 2]) -> Self {
        let (low, high) = sound(low, high);
        let log = false;
        Self {
            low,
            high,
            log,
            from,
            to,
        }
    }

    /// A logarithmic axis. Both numbers must be above 0; others are brought there.
    pub(super) fn logarithmic([low, high]: [f64; 2], [from, to]: [f64; 2]) -> Self {
        let low = if low > 0.0 { low } else { 1e-9 };
        let high = high.max(low * 1.5);
        let log = true;
        Self {
            low,
            high,
            log,
            from,
            to,
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + part.clamp(-0.05, 1.05) * (self.to - self.from)
    }

    /// The numbers at the axis, with what is written there.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if self.log {
            self.powers()
        } else {
            let step = step(self.low, self.high, self.from, self.to);
            let first = (self.low / step - 1e-9).ceil() as i64;
            let last = (self.high / step + 1e-9).floor() as i64;
            let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
            let label = |value: f64| {
                if !(1e-6..1e7).contains(&step) {
                    number(value)
                } else {
                    format!("{value:.decimals$}")
                }
            };
            // Adding 0 makes 0 of -0.
            let ticks = (first..=last.min(first + 50)).map(|at| at as f64 * step + 0.0);
            ticks.map(|value| (value, label(value))).collect()
        }
    }

    fn powers(&self) -> Vec<(f64, String)> {
        let decades = (self.high / self.low).log10();
        let pixels = (self.to - self.from).abs();
        let steps: &[f64] = match decades {
            d if d * 110.0 < pixels => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = ((decades * 28.0 / pixels).ceil() as usize).max(1);
        let powers = (-9..=18_i32).filter(|power| power.rem_euclid(every as i32) == 0);
        let all = powers.flat_map(|power| steps.iter().map(move |s| s * 10_f64.powi(power)));
        let inside = |value: &f64| (self.low * 0.999..=self.high * 1.001).contains(value);
        all.filter(inside)
            .map(|value| (value, number(value)))
            .collect()
    }
}

/// A range that is not empty.
fn sound(low: f64, high: f64) -> (f64, f64) {
    let low = if low.is_finite() { low } else { 0.0 };
    let high = if high.is_finite() { high } else { low };
    if high > low {
        (low, high)
    } else {
        (low, low + low.abs().max(1.0))
    }
}

/// 1, 2 or 5 times a power of ten, so that numbers have room.
fn step(low: f64, high: f64, from: f64, to: f64) -> f64 {
    let most = ((to - from).abs() / 40.0).clamp(2.0, 9.0);
    let least = (high - low) / most;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|of| of * power);
    let fits = steps.into_iter().find(|step| *step >= least * 0.999);
    fits.unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> String {
        let ticks = scale.ticks().into_iter().map(|(_, text)| text);
        ticks.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn axes_have_round_numbers() {
        let pixels = [0.0, 300.0];
        assert_eq!(
            labels(Scale::linear([0.0, 0.97], pixels)),
            "0.0 0.2 0.4 0.6 0.8 1.0"
        );
        assert_eq!(
            labels(Scale::linear([1.0, 1.31], pixels)),
            "1.00 1.05 1.10 1.15 1.20 1.25 1.30"
        );
        assert_eq!(
            labels(Scale::linear([0.0, 0.0], pixels)),
            "0.0 0.2 0.4 0.6 0.8 1.0"
        );
        assert_eq!(
            labels(Scale::logarithmic([90.0, 6000.0], pixels)),
            "100 200 500 1000 2000 5000"
        );
        assert_eq!(
            labels(Scale::exact([0.0, f64::NAN], pixels)),
            "0.0 0.2 0.4 0.6 0.8 1.0"
        );
    }
}
