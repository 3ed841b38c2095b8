//! The variants of the engine that are compiled. All variants compute the same; each leaves out what its fabrics
//! cannot have, because that makes them faster. `model` says which variant a fabric needs.

use super::bits::BitSet;
use super::probe::{Unwatched, Watched, Watcher};
use super::voq::schedule::{KeptLines, Line, OnlyLine};
use std::fmt::Debug;

/// The properties of a fabric that the compiler knows. Types with this parameter derive `Debug`, `Copy`, `Eq` and
/// `Default`, which asks for these of a variant.
pub(super) trait Variant: Debug + Copy + Eq + Default + Send + 'static {
    /// How steps are told to a probe.
    type Watcher: Watcher;
    /// A probe watches.
    const IS_WATCHED: bool = <Self::Watcher as Watcher>::WATCHES;
    /// The fabric is plain: without congestion control and, of `voq` switches, as `voq::layout::is_plain` says.
    const IS_PLAIN: bool;
    /// Hierarchical switches may choose up-ports by their queues, choose central buffers otherwise than by output, and
    /// allocate blindly or in rounds.
    const HAS_ANY_RULE: bool;
    /// Most rates of a fabric of `voq` switches, each with a line in a flit schedule; 0 for plain fabrics, which keep no
    /// lines.
    const RATES: usize;
    /// Most ports of a `voq` switch.
    const PORTS: u32;
    /// The lines of a flit schedule, one for each of [`RATES`](Self::RATES) rates, as a packet keeps them.
    type KeptLines: KeptLines;
    /// A bit for each of [`PORTS`](Self::PORTS) ports.
    type PortSet: BitSet;

    /// The `part`, which plain fabrics do not have: the compiler drops the code behind it. (The power states of links
    /// are no such part of hierarchical fabrics.)
    #[inline(always)]
    fn part<T>(part: &Option<Box<T>>) -> Option<&T> {
        if Self::IS_PLAIN {
            debug_assert!(part.is_none(), "plain fabrics do not have it");
            return None;
        }
        part.as_deref()
    }

    /// As [`part`](Self::part).
    #[inline(always)]
    fn part_mut<T>(part: &mut Option<Box<T>>) -> Option<&mut T> {
        if Self::IS_PLAIN {
            debug_assert!(part.is_none(), "plain fabrics do not have it");
            return None;
        }
        part.as_deref_mut()
    }
}

/// Defines variants: name, watcher, whether any rule, most different rates and their lines, and most ports per switch.
macro_rules! variants {
    ($($(#[$doc:meta])* $name:ident: $watcher:ident, $any_rule:literal, $rates:literal $lines:ty, $ports:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(super) struct $name;

        impl Variant for $name {
            type Watcher = $watcher;
            const IS_PLAIN: bool = $rates == 0;
            const HAS_ANY_RULE: bool = $any_rule;
            const RATES: usize = $rates;
            type KeptLines = $lines;
            const PORTS: u32 = $ports;
            type PortSet = [u64; $ports / 64];
        }
    )+};
}

variants! {
    /// Plain fabrics: see [`Variant::IS_PLAIN`].
    Plain: Unwatched, false, 0 [Line; 0], 64;
    /// Other fabrics of one rate. Hierarchical switches have congestion control and the usual rules.
    OneRate: Unwatched, false, 1 OnlyLine, 64;
    /// Fabrics of `voq` switches with at most three rates.
    ThreeRates: Unwatched, false, 3 [Line; 3], 64;
    /// All other fabrics within the limits of the engine.
    Any: Unwatched, true, 8 [Line; 8], 128;
    /// Fabrics that a probe watches. Few of them run long, so one variant serves all.
    Probed: Watched, true, 8 [Line; 8], 128;
}
