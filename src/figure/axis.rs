//! Quantities and values of charts.

/// The quantity of an axis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Axis {
    /// Name of the quantity.
    pub name: String,
    /// Its unit; empty without one.
    pub unit: String,
}

impl Axis {
    /// An axis of `name` in `unit`.
    #[must_use]
    pub fn new(name: &str, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
        }
    }

    /// `latency (ns)`.
    #[must_use]
    pub fn label(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }
}

/// A mean and half its 95 % interval, if there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the interval.
    pub half: Option<f64>,
}

impl Estimate {
    /// Whether the interval of a difference contains 0.
    #[must_use]
    pub fn is_tie(self) -> bool {
        self.half.is_some_and(|half| self.mean.abs() <= half)
    }

    pub(super) fn high(self) -> f64 {
        self.mean + self.half.unwrap_or(0.0)
    }

    pub(super) fn low(self) -> f64 {
        self.mean - self.half.unwrap_or(0.0)
    }
}
