//! Link speeds by name.

use crate::spec::SpecError;
use flitwise_base::quote::quoted;
use flitwise_base::units::{PS_PER_S, Ratio, TickLength};
use std::fmt;
use std::str::FromStr;

/// Speed of an InfiniBand link: a generation and a width, written `"QDR x4"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpeed {
    generation: usize,
    lanes: u8,
}

/// Data rate of one lane in bit/s, a fraction: what 8b/10b (SDR 2.5, DDR 5, QDR 10
/// GBd) or 64b/66b encoding (FDR10 10.3125, FDR 14.0625, EDR 25.78125 GBd) leaves of
/// the signalling rate; HDR carries 50, NDR 100 Gb/s.
const GENERATIONS: [(&str, u64, u64); 8] = [
    ("SDR", 2_000_000_000, 1),
    ("DDR", 4_000_000_000, 1),
    ("QDR", 8_000_000_000, 1),
    ("FDR10", 10_000_000_000, 1),
    ("FDR", 150_000_000_000, 11),
    ("EDR", 25_000_000_000, 1),
    ("HDR", 50_000_000_000, 1),
    ("NDR", 100_000_000_000, 1),
];
const WIDTHS: [u8; 5] = [1, 2, 4, 8, 12];

impl LinkSpeed {
    /// Data rate in bit/s.
    #[must_use]
    pub fn bits_per_second(self) -> Ratio {
        let (_, num, den) = GENERATIONS[self.generation];
        Ratio::new(num * u64::from(self.lanes), den).unwrap_or(Ratio::ZERO)
    }
}

impl FromStr for LinkSpeed {
    type Err = String;

    /// Reads `QDR x4`, in any case, the blank optional; `QDR` alone has the usual four lanes.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{} is no link speed; write SDR, DDR, QDR, FDR10, FDR, EDR, HDR or NDR and, if not x4, x1, x2, x8 or x12, as in \"QDR x4\"",
                quoted(text)
            )
        };
        let upper = text.trim().to_ascii_uppercase();
        let (name, lanes) = upper.rsplit_once('X').unwrap_or((&upper, "4"));
        let generation = GENERATIONS
            .iter()
            .position(|(known, ..)| *known == name.trim_end())
            .ok_or_else(wrong)?;
        let lanes = lanes.parse().ok().filter(|l| WIDTHS.contains(l));
        let lanes = lanes.ok_or_else(wrong)?;
        Ok(Self { generation, lanes })
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{}", GENERATIONS[self.generation].0, self.lanes)
    }
}

/// A rate in bit/s as flits of `flit_bytes` per tick.
///
/// # Errors
/// If a term of the fraction needs more than 64 bits, or the flit has no bytes; `key`
/// names the setting to change.
pub fn flits_per_tick(
    bits_per_second: Ratio,
    tick: TickLength,
    flit_bytes: u32,
    key: &'static str,
) -> Result<Ratio, SpecError> {
    let bytes_per_s = bits_per_second.checked_mul(Ratio::new(1, 8).unwrap_or(Ratio::ONE));
    let flit = Ratio::new(1, u64::from(flit_bytes).saturating_mul(PS_PER_S));
    bytes_per_s
        .and_then(|rate| rate.checked_mul(tick.length_ps()))
        .zip(flit)
        .and_then(|(bytes, flit)| bytes.checked_mul(flit))
        .ok_or_else(|| SpecError {
            key,
            problem: format!(
                "{bits_per_second} bit/s in flits of {flit_bytes} B per tick of {} ps is no \
                 fraction of 64-bit numbers; round the rate or the tick",
                tick.length_ps()
            ),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gbits(text: &str) -> f64 {
        text.parse::<LinkSpeed>()
            .unwrap()
            .bits_per_second()
            .to_f64()
            / 1e9
    }

    #[test]
    fn names_stand_for_data_rates() {
        for (name, rate) in [
            ("SDR x1", 2.0),
            ("SDR x12", 24.0),
            ("DDR x4", 16.0),
            ("qdr X4", 32.0),
            ("DDR", 16.0),
            ("FDR10x4", 40.0),
            ("EDR x4", 100.0),
            ("HDR x4", 200.0),
            ("HDR x2", 100.0),
            ("HDR x12", 600.0),
        ] {
            assert!((gbits(name) - rate).abs() < 1e-9, "{name}");
        }
        let fdr: LinkSpeed = "FDR x4".parse().unwrap();
        assert_eq!(
            fdr.bits_per_second(),
            Ratio::new(600_000_000_000, 11).unwrap()
        );
        assert_eq!(fdr.to_string(), "FDR x4");
        for wrong in [
            "", "x4", "XDR", "QDR x3", "QDR 4", "XDR x4", "QDR x", "QDR x-1",
        ] {
            assert!(wrong.parse::<LinkSpeed>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_exact_fractions() {
        let rate = |name: &str, tick_ps: u64, flit| {
            let speed: LinkSpeed = name.parse().unwrap();
            flits_per_tick(
                speed.bits_per_second(),
                TickLength::whole(tick_ps),
                flit,
                "k",
            )
            .unwrap()
        };
        assert_eq!(rate("QDR x4", 16_000, 64), Ratio::ONE);
        assert_eq!(rate("DDR x4", 16_000, 64), Ratio::new(1, 2).unwrap());
        assert_eq!(rate("FDR x4", 8_000, 64), Ratio::new(75, 88).unwrap());
        // The link between the switches of the test bed: 34.2 Gb/s.
        let bed = Ratio::whole(34_200_000_000);
        let rate = flits_per_tick(bed, TickLength::whole(10_000), 64, "k").unwrap();
        assert_eq!(rate, Ratio::new(171, 256).unwrap());
        assert!(flits_per_tick(bed, TickLength::whole(10_000), 0, "k").is_err());
        let odd = Ratio::new(u64::MAX, 3).unwrap();
        assert!(flits_per_tick(odd, TickLength::whole(u64::MAX - 1), 7, "k").is_err());
    }
}
