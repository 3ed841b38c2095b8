//! The attributes of a cable in a file: its rate, and its time of flight, which may follow from its length.

use super::graph::NetworkError;
use flitwise_base::quote::quoted;
use flitwise_base::units::{Latency, Ratio};
use flitwise_fabric::spec::link_speed;
use flitwise_formats::graph::{Edge, LinkAttribute};

/// The attributes of a cable in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CableAttributes {
    /// Data rate in bit/s.
    pub rate: Option<Ratio>,
    /// Time of flight.
    pub latency: Option<Latency>,
    /// Line of the file that has them.
    pub line: u32,
}

/// Picoseconds for a metre of a cable of which nothing else is known: *DGX SuperPOD Cabling Data Centers Design Guide*
/// (NVIDIA), "Additional Cable Latency": "roughly 5 nanoseconds per meter depending on the cable technology".
const PS_PER_M: u64 = 5_000;
/// The same of fibre, with a group index of 1.468: *Latency in optical fiber systems* (CommScope, WP-111432).
const FIBRE_PS_PER_M: u64 = 4_900;
/// The same of copper, twinaxial with foamed insulation of permittivity 1.66: its square root over the speed of light.
const COPPER_PS_PER_M: u64 = 4_300;

impl CableAttributes {
    /// The attributes of an edge.
    pub(crate) fn of(edge: &Edge<'_>) -> Result<Self, NetworkError> {
        let given = |wanted: LinkAttribute| {
            let mut all = edge.attributes.iter();
            all.find(|(attribute, _)| *attribute == wanted)
                .map(|(_, text)| &**text)
        };
        let wrong = |problem: String| NetworkError::at(edge.line, problem);
        let rate = given(LinkAttribute::Rate).map(|text| link_speed(text).map_err(wrong));
        let per_m = match given(LinkAttribute::Medium) {
            None => PS_PER_M,
            Some("fibre" | "fiber" | "optical") => FIBRE_PS_PER_M,
            Some("copper") => COPPER_PS_PER_M,
            Some(other) => {
                let problem = format!("the medium {}; write fibre or copper", quoted(other));
                return Err(wrong(problem));
            }
        };
        let latency = match (given(LinkAttribute::Latency), given(LinkAttribute::Length)) {
            (None, None) => None,
            (Some(text), None) => Some(
                text.parse()
                    .map_err(|e| wrong(format!("the latency of a cable: {e}")))?,
            ),
            (None, Some(text)) => Some(flight(text, per_m).map_err(wrong)?),
            (Some(_), Some(_)) => {
                let problem = "both a length and a latency; write one of them";
                return Err(wrong(problem.to_owned()));
            }
        };
        Ok(Self {
            rate: rate.transpose()?,
            latency,
            line: edge.line,
        })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(self) -> bool {
        self.rate.is_none() && self.latency.is_none()
    }

    /// Whether the other direction has the same attributes.
    pub(crate) fn agrees(self, other: Self) -> bool {
        (self.rate, self.latency) == (other.rate, other.latency)
    }
}

/// The time of flight over a cable as long as `text` says.
fn flight(text: &str, ps_per_m: u64) -> Result<Latency, String> {
    let wrong = || {
        format!(
            "{} is no length of a cable; write metres with their unit, as in 5m or 0.5m, or length_m = 5",
            quoted(text)
        )
    };
    let trimmed = text.trim();
    let number = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let per_unit = match &trimmed[number.len()..] {
        "m" => Ratio::ONE,
        "cm" => Ratio::new(1, 100).unwrap_or(Ratio::ONE),
        "km" => Ratio::whole(1000),
        _ => return Err(wrong()),
    };
    let number = number.trim_end();
    if !number.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let metres: Ratio = number.parse().map_err(|_| wrong())?;
    let ps = metres
        .checked_mul(per_unit)
        .and_then(|metres| metres.mul_round(ps_per_m));
    ps.map(Latency::Time).ok_or_else(wrong)
}
