//! The settings of a job: its trace, and how the replay runs it.

use super::collectives::Choices;
use super::collectives::in_network::Switches;
use super::compute::ComputeModel;
use super::mpi::Protocol;
use super::node::Nodes;
use super::program::Program;
use anyhow::ensure;
use flitwise_base::units::{PS_PER_S, Ratio};
use flitwise_fabric::ids::NicId;

/// One application: a trace and how it is run.
pub struct JobSpec<'a> {
    /// Name from the experiment.
    pub name: String,
    /// Number of the job in the experiment, whose other jobs the replay may leave out: noise is drawn by it.
    pub number: u32,
    /// The trace.
    pub program: Box<dyn Program + 'a>,
    /// Earliest start of the job in picoseconds.
    pub start_ps: u64,
    /// Numbers of earlier jobs that end first.
    pub after: Vec<u32>,
    /// The number of times that the trace is run.
    pub repeat: Repeat,
    /// Service level of all its messages.
    pub sl: u8,
    /// NIC of every rank (see [`super::placement`]).
    pub nics: Vec<NicId>,
    /// The condition on which a rank continues after a send.
    pub send_completion: SendCompletion,
    /// The protocol by which MPI calls transfer messages.
    pub protocol: Protocol,
    /// Factor on all computation.
    pub compute_scale: Ratio,
    /// The other changes to computations.
    pub compute: ComputeModel,
    /// Messages between two ranks of a node without links of its own.
    pub intra_node: IntraNode,
    /// Time to combine one byte in a reduction, in picoseconds.
    pub reduction_ps_per_byte: Ratio,
    /// Algorithms of collectives.
    pub collectives: Choices,
}

/// Most repetitions of a job: the time of each is kept and reported.
pub const MAX_REPEAT: u32 = 1_000_000;

/// The number of times that a job runs its trace. When the job is complete, it starts over, all ranks at
/// once, at the time of its last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// This many times: from 1 to [`MAX_REPEAT`].
    Times(u32),
    /// Until the last job with a fixed number of repetitions ends. Its end cuts off the
    /// repetition in progress.
    UntilOthersEnd,
}

/// The condition on which a send is complete, after which its rank continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SendCompletion {
    /// At once.
    #[default]
    Handed,
    /// The last flit has left the NIC: one tick after the tick in which it
    /// leaves. Within a node, the last byte was copied, without the latency.
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
    /// Bytes per second; not 0.
    pub bytes_per_s: Ratio,
}

impl IntraNode {
    /// Time to copy `bytes` bytes, without the latency; `None` beyond 64 bits.
    #[must_use]
    pub fn copy_ps(&self, bytes: u64) -> Option<u64> {
        copy_ps(bytes, self.bytes_per_s)
    }
}

/// Picoseconds that `bytes` bytes take at `rate` bytes per second, rounded up; `None` beyond 64 bits.
pub(super) fn copy_ps(bytes: u64, rate: Ratio) -> Option<u64> {
    // Bytes over bytes per second: 2^64 × 10^12 × den may not fit, so the product with
    // the denominator comes first, checked.
    let scaled = (u128::from(bytes) * u128::from(rate.den())).checked_mul(PS_PER_S.into())?;
    u64::try_from(scaled.div_ceil(u128::from(rate.num().max(1)))).ok()
}

impl Default for IntraNode {
    /// 100 ns and 20 GB/s; `docs/model/replay.md`, "Inside a node", has the sources.
    fn default() -> Self {
        Self {
            latency_ps: 100_000,
            bytes_per_s: Ratio::whole(20_000_000_000),
        }
    }
}

impl<'a> JobSpec<'a> {
    /// A job that runs `program` once from time 0 on service level 0, with its ranks on `nics` and all other settings at
    /// their defaults.
    #[must_use]
    pub fn new(name: &str, program: Box<dyn Program + 'a>, nics: Vec<NicId>) -> Self {
        Self {
            name: name.to_owned(),
            number: 0,
            program,
            start_ps: 0,
            after: Vec::new(),
            repeat: Repeat::Times(1),
            sl: 0,
            nics,
            send_completion: SendCompletion::default(),
            protocol: Protocol::default(),
            compute_scale: Ratio::ONE,
            compute: ComputeModel::default(),
            intra_node: IntraNode::default(),
            reduction_ps_per_byte: Ratio::ZERO,
            collectives: Choices::default(),
        }
    }
}

impl JobSpec<'_> {
    /// Checks that the switches can carry out the collectives that the job leaves to them.
    pub(super) fn check_switches(
        &self,
        switches: Option<&Switches>,
        nodes: &Nodes,
    ) -> anyhow::Result<()> {
        if !self.collectives.in_network() {
            return Ok(());
        }
        let (name, limits) = (&self.name, self.collectives.limits());
        ensure!(
            switches.is_some(),
            "job '{name}': \"in-network\" needs aggregation nodes in the switches; take a fabric with them or another \
             algorithm"
        );
        ensure!(
            nodes.are_nics(),
            "job '{name}': \"in-network\" works only where every NIC is a node; set node.nics = 1 or take another algorithm"
        );
        ensure!(
            limits.payload > 0 && limits.operations > 0,
            "job '{name}': a switch takes segments of at least 1 byte, and at least 1 of them at a time"
        );
        Ok(())
    }

    /// Checks the job for a fabric of `nics` NICs.
    pub(super) fn check(&self, nics: u32) -> anyhow::Result<()> {
        let ranks = self.program.ranks();
        ensure!(
            self.nics.len() == ranks as usize,
            "job '{}': {} ranks are placed, but the trace has {ranks}",
            self.name,
            self.nics.len()
        );
        if let Some(nic) = self.nics.iter().find(|nic| nic.get() >= nics) {
            anyhow::bail!(
                "job '{}': a rank is on NIC {nic}, but the fabric has only {nics} NICs",
                self.name
            );
        }
        if let Repeat::Times(times) = self.repeat {
            ensure!(
                (1..=MAX_REPEAT).contains(&times),
                "job '{}': repeat is {times}; a job runs 1 to {MAX_REPEAT} times",
                self.name
            );
        }
        ensure!(
            !self.intra_node.bytes_per_s.is_zero(),
            "job '{}': intra_node_bandwidth is 0; it must be at least 1 byte per second",
            self.name
        );
        Ok(())
    }
}
