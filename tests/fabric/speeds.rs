//! Speeds of links by name, and their rates in flits per tick.

use flitwise::fabric::spec::{LinkSpeed, flits_per_tick};
use flitwise::units::{Ratio, TickLength};

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
        ("XDR x4", 800.0),
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
        "", "x4", "YDR", "QDR x3", "QDR 4", "YDR x4", "99xSDR", "QDR x-1",
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
