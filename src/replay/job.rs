//! What a job is made of.

use super::collectives::Choices;
use super::program::Program;
use anyhow::ensure;

/// One application: a trace and how it is run.
pub struct JobSpec {
    /// Name from the experiment.
    pub name: String,
    /// The trace.
    pub program: Box<dyn Program>,
    /// Start of the job in picoseconds.
    pub start_ps: u64,
    /// Service level of all its messages.
    pub sl: u8,
    /// NIC of every rank (see [`super::placement`]).
    pub nics: Vec<u32>,
    /// When a rank goes on after a send.
    pub send_completion: SendCompletion,
    /// Factor on all computation.
    pub compute_scale: Ratio,
    /// Messages between ranks on one NIC.
    pub intra_node: IntraNode,
    /// Time to combine one byte in a reduction, in picoseconds.
    pub reduction_ps_per_byte: u64,
    /// Algorithms of collectives.
    pub collectives: Choices,
}

/// When a send is complete, so that its rank goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SendCompletion {
    /// At once.
    #[default]
    Handed,
    /// When the last flit has left the NIC: one tick after the tick in which it
    /// leaves. Within a node, when the last byte was copied: without the latency.
    Injected,
    /// On arrival for messages above the threshold, at once for others.
    Rendezvous {
        /// Largest message that does not wait, in bytes.
        eager_threshold_bytes: u64,
    },
}

/// Messages inside a node: they skip the fabric and take
/// `latency_ps` + ⌈size / bandwidth⌉, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntraNode {
    /// Time of an empty message.
    pub latency_ps: u64,
    /// Bytes per second; at least 1.
    pub bytes_per_s: u64,
}

/// An exact factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line.
    pub numerator: u64,
    /// Below the line; at least 1.
    pub denominator: u64,
}

/// Picoseconds in a second.
const PS_PER_S: u128 = 1_000_000_000_000;

impl Ratio {
    /// The factor 1.
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// `time` times the factor, rounded to the nearest integer, halves up. `None`
    /// beyond 64 bits.
    #[must_use]
    pub fn scale(&self, time: u64) -> Option<u64> {
        if self.numerator == self.denominator {
            return Some(time);
        }
        // At most 2^128 − 2^65 + 1, so that adding half a denominator fits.
        let product = u128::from(time) * u128::from(self.numerator);
        let denominator = u128::from(self.denominator.max(1));
        u64::try_from((product + denominator / 2) / denominator).ok()
    }
}

impl IntraNode {
    /// Time that `bytes` bytes take besides the latency; `None` beyond 64 bits.
    #[must_use]
    pub fn copy_ps(&self, bytes: u64) -> Option<u64> {
        let per_second = u128::from(self.bytes_per_s.max(1));
        u64::try_from((u128::from(bytes) * PS_PER_S).div_ceil(per_second)).ok()
    }
}

impl JobSpec {
    /// Checks what can be wrong with a job on a fabric of `nics` NICs.
    pub(super) fn check(&self, nics: u32) -> anyhow::Result<()> {
        let ranks = self.program.ranks();
        ensure!(
            self.nics.len() == ranks as usize,
            "job '{}': {} ranks are placed, but the trace has {ranks}",
            self.name,
            self.nics.len()
        );
        if let Some(nic) = self.nics.iter().find(|&&nic| nic >= nics) {
            anyhow::bail!(
                "job '{}': a rank is on NIC {nic}, but the fabric has only {nics} NICs",
                self.name
            );
        }
        ensure!(
            self.compute_scale.denominator > 0,
            "job '{}': compute_scale divides by zero",
            self.name
        );
        ensure!(
            self.intra_node.bytes_per_s > 0,
            "job '{}': intra_node_bandwidth is 0; it must be at least 1 byte per second",
            self.name
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exact_and_round_to_the_nearest() {
        let ratio = |numerator, denominator| Ratio {
            numerator,
            denominator,
        };
        assert_eq!(ratio(1, 3).scale(10), Some(3));
        assert_eq!(ratio(1, 2).scale(5), Some(3));
        assert_eq!(ratio(10, 1).scale(u64::MAX / 5), None);
        assert_eq!(ratio(u64::MAX, u64::MAX).scale(u64::MAX), Some(u64::MAX));
        assert_eq!(
            ratio(u64::MAX - 1, u64::MAX).scale(u64::MAX),
            Some(u64::MAX - 1)
        );
        assert_eq!(ratio(0, 1).scale(99), Some(0));
    }

    #[test]
    fn copies_round_up() {
        let node = IntraNode {
            latency_ps: 0,
            bytes_per_s: 3_000_000_000,
        };
        assert_eq!(node.copy_ps(0), Some(0));
        assert_eq!(node.copy_ps(1), Some(334));
        assert_eq!(node.copy_ps(3), Some(1000));
        assert_eq!(node.copy_ps(u64::MAX), None);
    }
}
