//! The attributes of nodes and edges that count.

use std::borrow::Cow;

/// An attribute of a link that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkAttribute {
    /// Data rate, such as `100Gb/s` or `EDR x4`.
    Rate,
    /// Length of the cable, such as `5m`.
    Length,
    /// Time of flight, such as `25ns`.
    Latency,
    /// `fibre` or `copper`.
    Medium,
}

impl LinkAttribute {
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

/// The names of attributes, their meanings, and the units that the names imply.
const NAMES: [(&str, LinkAttribute, &str); 12] = [
    ("rate", LinkAttribute::Rate, ""),
    ("speed", LinkAttribute::Rate, ""),
    ("bandwidth", LinkAttribute::Rate, ""),
    ("rate_gbps", LinkAttribute::Rate, "Gb/s"),
    ("length", LinkAttribute::Length, ""),
    ("length_m", LinkAttribute::Length, "m"),
    ("latency", LinkAttribute::Latency, ""),
    ("delay", LinkAttribute::Latency, ""),
    ("latency_ns", LinkAttribute::Latency, "ns"),
    ("delay_ns", LinkAttribute::Latency, "ns"),
    ("medium", LinkAttribute::Medium, ""),
    ("cable", LinkAttribute::Medium, ""),
];

/// The meaning of the attribute `name` of an edge, and `value` with its unit; `None` if it does not count.
pub(crate) fn link_attribute<'a>(
    name: &str,
    value: Cow<'a, str>,
) -> Option<(LinkAttribute, Cow<'a, str>)> {
    let (_, attribute, unit) = NAMES.iter().find(|(known, ..)| *known == name)?;
    let value = match *unit {
        "" => value,
        unit => Cow::Owned(format!("{}{unit}", value.trim())),
    };
    Some((*attribute, value))
}

/// Whether the attribute `name` of a node tells hosts from switches.
pub(crate) fn is_kind(name: &str) -> bool {
    name == "type" || name == "kind"
}
