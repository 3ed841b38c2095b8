//! Independent random streams, all derived from the one seed of an experiment.
//!
//! A stream belongs to a purpose and a component (a flow and a source, a job), and does
//! not depend on the order in which streams are created: adding a component does not
//! change the numbers of any other. The samplers are our own, so that results do not
//! change with the version of a library.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// The purpose of a stream. The numbers are part of the results: never reuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Order of the NICs in a random placement; component: job.
    Placement = 1,
    /// Phase, then sizes, destinations and gaps of a background flow; components: flow,
    /// source NIC.
    Background = 2,
    /// Senders and their destinations in a random traffic pattern; components: flow, 0.
    Pattern = 3,
    /// Which eligible packets a switch marks; components: switch · ports + port, VL.
    Marking = 4,
    /// The intermediate switches of packets; components: source NIC, 0.
    Paths = 5,
    /// Which hosts take part in a static analysis, and in which order; components: run, 0 (1 for the order).
    Hosts = 6,
    /// Pairs of random patterns of a static analysis; components: run, level.
    StaticPattern = 7,
    /// Cables and switches that fail; components: 0, 0.
    Failures = 8,
    /// Computation times of a rank of a generated trace; component: rank.
    Imbalance = 10,
    /// Destinations of a rank of a generated trace, or the order of its ranks; components: rank, 0, or ring, 1.
    Peers = 11,
    /// Noise in the time of a computation; components: job, rank, stream, repetition, operation.
    Noise = 12,
    /// Which central buffer of an MPort packets take; components: switch · ports + in-port, 0.
    CentralLink = 13,
    /// Which packets a link sends again; components: switch · ports + port, 0, or NIC, 1.
    BitErrors = 14,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of `component` for `purpose` under the experiment's `seed`.
    #[must_use]
    pub fn new<const N: usize>(seed: u64, purpose: Purpose, component: [u64; N]) -> Self {
        let half = |salt: u64| {
            let words = [seed, purpose as u64].into_iter().chain(component);
            words.fold(mix(salt), |hash, word| mix(hash ^ mix(word)))
        };
        let wide = |salt: u64| u128::from(half(salt)) << 64 | u128::from(half(salt + 1));
        Self(Pcg64::new(wide(0), wide(2)))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, each equally likely; 0 if `n` is 0.
    ///
    /// Multiplication with rejection (Lemire, Fast Random Integer Generation in
    /// an Interval, 2019, algorithm 5).
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let rejected = n.wrapping_neg() % n;
            while (product as u64) < rejected {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A number below `n`, each equally likely, for ranges beyond 64 bits; 0 if
    /// `n` is 0. Masks and rejects; on average it needs fewer than two draws.
    pub fn below_wide(&mut self, n: u128) -> u128 {
        if let Ok(n) = u64::try_from(n) {
            return u128::from(self.below(n));
        }
        let mask = u128::MAX >> (n - 1).leading_zeros();
        loop {
            let bits = u128::from(self.bits()) << 64 | u128::from(self.bits());
            if bits & mask < n {
                return bits & mask;
            }
        }
    }

    /// Puts `items` into a random order, each equally likely (Fisher and Yates,
    /// from the end).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// The output function of SplitMix64: every input bit reaches every output bit.
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
