//! The attributes of nodes and edges that count.

use std::borrow::Cow;

/// Something that a file says of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Data rate, such as `100Gb/s` or `EDR x4`.
    Rate,
    /// Length of the cable, such as `5m`.
    Length,
    /// Time of flight, such as `25ns`.
    Latency,
    /// `fibre` or `copper`.
    Medium,
}

impl Fact {
    /// The name of the attribute.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Length => "length",
            Self::Latency => "latency",
            Self::Medium => "medium",
        }
    }
}

/// The names of attributes, what they say, and the unit that the name implies.
const NAMES: [(&str, Fact, &str); 12] = [
    ("rate", Fact::Rate, ""),
    ("speed", Fact::Rate, ""),
    ("bandwidth", Fact::Rate, ""),
    ("rate_gbps", Fact::Rate, "Gb/s"),
    ("length", Fact::Length, ""),
    ("length_m", Fact::Length, "m"),
    ("latency", Fact::Latency, ""),
    ("delay", Fact::Latency, ""),
    ("latency_ns", Fact::Latency, "ns"),
    ("delay_ns", Fact::Latency, "ns"),
    ("medium", Fact::Medium, ""),
    ("cable", Fact::Medium, ""),
];

/// The statement of the attribute `name` of an edge with `value`; `None` if it does not count.
pub(crate) fn fact<'a>(name: &str, value: Cow<'a, str>) -> Option<(Fact, Cow<'a, str>)> {
    let (_, fact, unit) = NAMES.iter().find(|(known, ..)| *known == name)?;
    let value = match *unit {
        "" => value,
        unit => Cow::Owned(format!("{}{unit}", value.trim())),
    };
    Some((*fact, value))
}

/// Whether the attribute `name` of a node tells hosts from switches.
pub(crate) fn is_kind(name: &str) -> bool {
    name == "type" || name == "kind"
}
