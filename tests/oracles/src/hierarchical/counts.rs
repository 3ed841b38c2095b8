//! The counters (`docs/model/fabric.md` §9): plain sums, and lists of events.

use crate::power::StateTicks;
use crate::wiring::End;
use flitwise_fabric::spec::Tick;

/// Counters of one direction of a link.
#[derive(Debug, Clone)]
pub struct LinkCounts {
    /// Its sending end.
    pub from: End,
    /// Its receiving end.
    pub to: End,
    /// Flits of the packets scheduled.
    pub flits: u64,
    /// Packets scheduled.
    pub packets: u64,
    /// Ticks that the packets scheduled had been ready before.
    pub queue_wait: Tick,
    /// Each tick in which heads were ready and the link free, but none had quota.
    pub waited: Vec<Tick>,
    /// The ticks that it spent in each power state; `None` if it is always up.
    pub states: Option<StateTicks>,
    /// Failed tries; `None` if there are no bit errors.
    pub retries: Option<u64>,
}

impl LinkCounts {
    pub(crate) fn new(from: End, to: End) -> Self {
        Self {
            from,
            to,
            flits: 0,
            packets: 0,
            queue_wait: 0,
            waited: Vec::new(),
            states: None,
            retries: None,
        }
    }

    /// Credit wait of a run that ends with tick `end`.
    #[must_use]
    pub fn credit_wait(&self, end: Tick) -> u64 {
        self.waited.iter().filter(|&&tick| tick <= end).count() as u64
    }

    pub(crate) fn is_host_link(&self) -> bool {
        matches!(self.from, End::Nic(_)) || matches!(self.to, End::Nic(_))
    }
}

/// Counters of one service level.
#[derive(Debug, Clone, Default)]
pub struct LevelCounts {
    /// Payload of the messages delivered, in bytes.
    pub bytes: u64,
    /// Flits of the packets delivered.
    pub flits: u64,
    /// End-to-end latency of each message delivered.
    pub end_to_end: Vec<Tick>,
    /// Network latency of each packet delivered.
    pub network: Vec<Tick>,
}

/// The max(1, ⌈qn⌉)-th smallest of `latencies`; 0 if there are none.
#[must_use]
pub fn quantile(latencies: &[Tick], q: f64) -> Tick {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(0)
}
