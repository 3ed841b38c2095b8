//! The variants of the engine that are compiled. All variants compute the same; each leaves out what its fabrics
//! cannot have, because that makes them faster. `model` says which variant a fabric needs.

use super::bits::BitSet;
use super::probe::{Unwatched, Watched, Watcher};
use std::fmt::Debug;

/// A value that can be kept for each rate.
pub(super) trait Value: Debug + Copy + Eq + Send {}

impl<T: Debug + Copy + Eq + Send> Value for T {}

/// The properties of a fabric that the compiler knows.
pub(super) trait Variant: Debug + Copy + Eq + Default + Send + 'static {
    /// How steps are told to a probe.
    type Watcher: Watcher;
    /// A probe watches.
    const IS_WATCHED: bool = <Self::Watcher as Watcher>::WATCHES;
    /// The fabric is plain: without congestion control and, of `voq` switches, as `voq::layout::is_plain` says.
    const PLAIN: bool;
    /// Hierarchical switches may choose up-ports by their queues and central buffers by any rule, and may allocate
    /// blindly or in rounds.
    const ANY_RULE: bool;
    /// Lines of a flit schedule of `voq` switches: at least the number of different rates, or 0 if the fabric is plain.
    const RATES: usize;
    /// A value for each of [`RATES`](Self::RATES) rates.
    type PerRate<T: Value>: Value + AsRef<[T]> + AsMut<[T]>;
    /// A bit for each port of a `voq` switch.
    type Ports: BitSet;

    /// `value` for each rate.
    fn per_rate<T: Value>(value: T) -> Self::PerRate<T>;

    /// The `part`, which plain fabrics do not have: the compiler drops the code behind it.
    #[inline(always)]
    fn part<T>(part: &Option<Box<T>>) -> Option<&T> {
        if Self::PLAIN { None } else { part.as_deref() }
    }

    /// As [`part`](Self::part).
    #[inline(always)]
    fn part_mut<T>(part: &mut Option<Box<T>>) -> Option<&mut T> {
        if Self::PLAIN {
            None
        } else {
            part.as_deref_mut()
        }
    }
}

/// Defines variants: name, watcher, whether any rule, most different rates and most ports per switch.
macro_rules! variants {
    ($($(#[$doc:meta])* $name:ident: $watcher:ident, $any_rule:literal, $rates:literal, $ports:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(super) struct $name;

        impl Variant for $name {
            type Watcher = $watcher;
            const PLAIN: bool = $rates == 0;
            const ANY_RULE: bool = $any_rule;
            const RATES: usize = $rates;
            type PerRate<T: Value> = [T; $rates];
            type Ports = [u64; $ports / 64];

            #[inline(always)]
            fn per_rate<T: Value>(value: T) -> Self::PerRate<T> {
                [value; $rates]
            }
        }
    )+};
}

variants! {
    /// Plain.
    Plain: Unwatched, false, 0, 64;
    /// With one rate, and with congestion control if the switches are hierarchical.
    OneRate: Unwatched, false, 1, 64;
    /// With at most three rates.
    ThreeRates: Unwatched, false, 3, 64;
    /// Within the limits of the engine.
    Any: Unwatched, true, 8, 128;
    /// A probe watches. So few run long that one variant serves all.
    Probed: Watched, true, 8, 128;
}
