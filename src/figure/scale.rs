//! Axes: which numbers they show, and where.

use flitwise_base::units::number;

/// Fewest numbers at an axis: a single one tells no scale.
const MIN_TICKS: usize = 2;
/// Numbers that a logarithmic axis has where they fit: two do not show that it is one.
const LOG_TICKS: usize = 4;
/// The numbers of a decade that a logarithmic axis shows, from few to many.
const DECADES: [&[f64]; 5] = [
    &[1.0],
    &[1.0, 3.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 2.0, 3.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
];
/// Least pixels from one of these numbers to the next.
const ROOM: f64 = 24.0;

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

    /// The numbers at the axis, at least two, with what is written there. A logarithmic axis has four if they fit.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let powers = if self.log { self.powers() } else { Vec::new() };
        let enough = if self.log { LOG_TICKS } else { MIN_TICKS };
        if powers.len() >= enough {
            return powers;
        }
        // Even steps crowd at the end of a wide logarithmic axis.
        let is_wide = self.high > 10.0 * self.low;
        let even = self.even(enough);
        if powers.len() < MIN_TICKS || even.len() > powers.len() && !is_wide {
            even
        } else {
            powers
        }
    }

    /// Numbers at even steps, `enough` of them where there is room.
    fn even(&self, enough: usize) -> Vec<(f64, String)> {
        let ends = |step: f64| {
            let first = (self.low / step - 1e-9).ceil() as i64;
            let last = (self.high / step + 1e-9).floor() as i64;
            (first, last)
        };
        let is_enough = |step: &f64| {
            let (first, last) = ends(*step);
            last - first + 1 >= enough as i64
        };
        // A step that is wide for the range may leave a single number in it.
        let widest = step(self.low, self.high, self.from, self.to);
        let mut steps = [1.0, 0.5, 0.2, 0.1].map(|part| part * widest).into_iter();
        let step = steps.find(is_enough).unwrap_or(widest);
        let (first, last) = ends(step);
        // Adding 0 makes 0 of -0.
        let ticks = (first..=last.min(first + 50)).map(|at| at as f64 * step + 0.0);
        ticks.map(|value| (value, label(value, step))).collect()
    }

    /// Powers of ten and, where there is room, numbers between them: the fewest that are enough.
    fn powers(&self) -> Vec<(f64, String)> {
        let decades = (self.high / self.low).log10();
        let pixels = (self.to - self.from).abs();
        let every = ((decades * ROOM / pixels).ceil() as usize).max(1);
        let powers = (-9..=18_i32).filter(|power| power.rem_euclid(every as i32) == 0);
        let inside = |value: &f64| (self.low * 0.999..=self.high * 1.001).contains(value);
        let of = |steps: &[f64]| -> Vec<f64> {
            let all = powers.clone();
            let all = all.flat_map(|power| steps.iter().map(move |s| s * 10_f64.powi(power)));
            all.filter(inside).collect()
        };
        let has_room = |ticks: &Vec<f64>| {
            let mut pairs = ticks.windows(2);
            pairs.all(|pair| (pair[1] / pair[0]).log10() * pixels >= ROOM * decades)
        };
        let is_roomy = decades * 110.0 < pixels;
        let mut found = of(DECADES[if is_roomy { 2 } else { 0 }]);
        for steps in DECADES {
            let denser = of(steps);
            if found.len() < LOG_TICKS.min(denser.len()) && has_room(&denser) {
                found = denser;
            }
        }
        found
            .into_iter()
            .map(|value| (value, number(value)))
            .collect()
    }
}

/// A number of an axis whose numbers are `step` apart, with the digits that tell it from its neighbours.
fn label(value: f64, step: f64) -> String {
    let power = |of: f64| (of.abs().log10() + 1e-9).floor();
    if (1e-6..1e7).contains(&step) {
        let decimals = (-power(step)).clamp(0.0, 9.0) as usize;
        return format!("{value:.decimals$}");
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (power(value) - power(step)).clamp(0.0, 15.0) as usize;
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{power}")
        }
        _ => text,
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
    use proptest::prelude::*;

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
        // 200 is the only one of 1, 2 and 5 times a power of ten between these.
        assert_eq!(
            labels(Scale::logarithmic([120.0, 480.0], pixels)),
            "150 200 250 300 350 400 450"
        );
        // Two numbers of 1, 2 and 5 do not show that an axis is logarithmic.
        let curves = [220.0, 0.0];
        assert_eq!(
            labels(Scale::logarithmic([150.0, 700.0], curves)),
            "150 200 300 500 700"
        );
        assert_eq!(
            labels(Scale::logarithmic([150.0, 50_000.0], curves)),
            "300 1000 3000 10000 30000"
        );
        assert_eq!(
            labels(Scale::logarithmic([900.0, 1100.0], curves)),
            "900 1000 1100 1200 1300"
        );
    }

    /// Where an axis ends, and how long it is.
    fn axis() -> impl Strategy<Value = ([f64; 2], [f64; 2])> {
        let value = (-9..15_i32, 1.0..10.0_f64).prop_map(|(power, part)| part * 10_f64.powi(power));
        // From values that nearly agree to those that differ by orders.
        let wide = prop_oneof![1.001..1.5_f64, 1.5..30.0, 30.0..1e9];
        let axis = (value, wide, any::<bool>(), 60.0..1000.0_f64);
        axis.prop_map(|(low, wide, is_below, pixels)| {
            let range = if is_below {
                [-low, low * wide - 2.0 * low]
            } else {
                [low, low * wide]
            };
            (range, [pixels, 0.0])
        })
    }

    proptest! {
        #[test]
        fn an_axis_has_two_different_numbers(
            (range, pixels) in axis(),
            of in prop_oneof![
                Just(Scale::linear as fn(_, _) -> Scale),
                Just(Scale::exact as fn(_, _) -> Scale),
                Just(Scale::logarithmic as fn(_, _) -> Scale),
            ],
        ) {
            let scale = of(range, pixels);
            let ticks = scale.ticks();
            prop_assert!(ticks.len() >= MIN_TICKS, "{ticks:?} in {scale:?}");
            for pair in ticks.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1, "{ticks:?} in {scale:?}");
            }
            // A logarithmic axis of 200 pixels or more has room for four.
            if scale.log && pixels[0] >= 200.0 && scale.high <= 1e18 {
                prop_assert!(ticks.len() >= LOG_TICKS, "{ticks:?} in {scale:?}");
            }
            let inside = |(value, _): &(f64, String)| {
                let at = scale.at(*value);
                (-0.2 - 0.002 * pixels[0]..=1.002 * pixels[0] + 0.2).contains(&at)
            };
            prop_assert!(ticks.iter().all(inside), "{ticks:?} in {scale:?}");
        }
    }
}
