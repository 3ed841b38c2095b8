//! Quantities with their units, exact fractions, and ticks.

use flitwise::units::{
    BufferPart, Bytes, CostPerByte, Latency, PS_PER_S, Picoseconds, Rate, Ratio, TickLength,
    article, four_digits, human_bytes, human_count, human_time, number, short_time,
};
use proptest::prelude::*;

#[test]
fn short_times_have_three_digits() {
    for (ps, text) in [
        (0, "0 ps"),
        (999, "999 ps"),
        (1_000, "1.00 ns"),
        (83_812_345_678, "83.8 ms"),
        (162_900_000_000_000, "162 s"),
        (100_000_000_000_000_000, "100000 s"),
    ] {
        assert_eq!(short_time(ps), text);
    }
}

#[test]
fn bytes_decimal_and_binary() {
    assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("1024B".parse(), Ok(Bytes(1024)));
    assert_eq!("1MB".parse(), Ok(Bytes(1_000_000)));
    assert_eq!(" 1.5 KiB ".parse(), Ok(Bytes(1536)));
    for bad in [
        "",
        "64",
        "KiB",
        "1.0001KiB",
        "-1B",
        "64Kb",
        "1e3B",
        "99999999999999999999B",
        "20000000TB",
    ] {
        assert!(bad.parse::<Bytes>().is_err(), "{bad}");
    }
}

#[test]
fn rates_are_exact() {
    let rate = |text: &str| text.parse::<Rate>().map(|r| r.0);
    assert_eq!(rate("12.5GB/s"), Ok(Ratio::whole(12_500_000_000)));
    assert_eq!(rate("100Gb/s"), Ok(Ratio::whole(12_500_000_000)));
    assert_eq!(rate("1b/s").ok(), Ratio::new(1, 8));
    for same in [
        "100Gbit/s",
        "100 Gbps",
        "100000Mbps",
        "0.1Tbit/s",
        "0.1Tbps",
        "100000000kbit/s",
    ] {
        assert_eq!(rate(same), Ok(Ratio::whole(12_500_000_000)), "{same}");
        assert!(Rate::names_unit(same));
    }
    // A capital B is a byte, and bytes are per second.
    assert!(rate("100GBps").is_err() && rate("100gbps").is_err());
    assert!(!Rate::names_unit("1/3") && !Rate::names_unit("QDR x4"));
    assert!(rate("12.5GB").is_err());
}

#[test]
fn times_are_whole_picoseconds() {
    assert_eq!("100ns".parse(), Ok(Picoseconds(100_000)));
    assert_eq!("1.5us".parse(), Ok(Picoseconds(1_500_000)));
    assert_eq!("2s".parse(), Ok(Picoseconds(2 * PS_PER_S)));
    assert_eq!("0s".parse(), Ok(Picoseconds(0)));
    assert!("0.5ps".parse::<Picoseconds>().is_err());
    let error = "3 lightyears"
        .parse::<Picoseconds>()
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "`3 lightyears` has the unknown unit `lightyears`; write a time such as \"100ns\" (ps, ns, us, ms, s)"
    );
}

#[test]
fn latencies_round_up_to_ticks() {
    assert_eq!("8 ticks".parse(), Ok(Latency::Ticks(8)));
    assert_eq!(
        "100ns"
            .parse::<Latency>()
            .map(|l| l.ticks(TickLength::whole(640))),
        Ok(157)
    );
    assert_eq!(
        "5120ps"
            .parse::<Latency>()
            .map(|l| l.ticks(TickLength::whole(640))),
        Ok(8)
    );
}

#[test]
fn buffer_parts_and_costs() {
    assert_eq!("4 packets".parse(), Ok(BufferPart::Packets(4)));
    assert_eq!("48 credits".parse(), Ok(BufferPart::Credits(48)));
    assert_eq!("4KiB".parse(), Ok(BufferPart::Bytes(4096)));
    assert_eq!("3/4".parse().ok(), Ratio::new(3, 4).map(BufferPart::Share));
    assert_eq!("75%".parse().ok(), Ratio::new(3, 4).map(BufferPart::Share));
    assert_eq!("0.25ns/B".parse(), Ok(CostPerByte(Ratio::whole(250))));
}

#[test]
fn articles_are_as_spoken() {
    for number in [8, 11, 18, 80, 85, 89, 800, 8_000, 11_500, 18_000, 8_000_000] {
        assert_eq!(article(number), "an", "{number}");
    }
    for number in [
        0, 1, 2, 7, 9, 10, 12, 79, 90, 100, 110, 118, 180, 1_000, 1_800, 110_000,
    ] {
        assert_eq!(article(number), "a", "{number}");
    }
}

#[test]
fn human_forms() {
    assert_eq!(human_time(0), "0 ps");
    assert_eq!(human_time(1_250_000), "1.250 us");
    assert_eq!(human_bytes(1536), "1.5 KiB");
    assert_eq!(human_count(1_234_567), "1,234,567");
    assert_eq!(human_count(12), "12");
}

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

#[test]
fn a_tick_lasts_a_picosecond_at_least() {
    assert!(TickLength::new(Ratio::new(999, 1000).unwrap()).is_none());
    assert!(TickLength::new(Ratio::ONE).is_some());
    assert_eq!(TickLength::whole(0).length_ps(), Ratio::ONE);
}

proptest! {
    #[test]
    fn times_come_back_to_their_tick(num in 1_u64..1 << 20, den in 1_u64..1 << 20, tick in 0_u64..1 << 40) {
        let Some(length) = TickLength::new(Ratio::new(num, den).unwrap()) else {
            return Ok(());
        };
        let ps = length.ps(tick);
        prop_assert_eq!(length.ticks(ps), tick);
        prop_assert!(length.ticks(ps + 1) >= tick);
    }
}

#[test]
fn numbers_are_short() {
    for (value, text) in [
        (0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (1234.5, "1234"),
        (0.00002, "2e-5"),
        (12_345_678.0, "1.2e7"),
        (-1.5, "-1.5"),
    ] {
        assert_eq!(number(value), text);
    }
}

#[test]
fn numbers_have_four_digits() {
    for (value, text) in [
        (0.0, "0.0000"),
        (1.25, "1.250"),
        (99.5, "99.50"),
        (400.0, "400.0"),
    ] {
        assert_eq!(four_digits(value), text);
    }
}
