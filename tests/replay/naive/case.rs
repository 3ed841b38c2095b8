//! What is replayed: a job, in memory.

use flitwise::fabric::topology::Topology;
use flitwise::replay::collectives::Choices;
use flitwise::replay::mpi::Protocol;
use flitwise::replay::program::{Action, Op, RegionId};
use flitwise::replay::{IntraNode, NodeSpec, SendCompletion};
use flitwise::units::{Ratio, TickLength};

/// A job and the length of a tick.
#[derive(Debug, Clone)]
pub struct Case {
    pub tick: TickLength,
    pub start_ps: u64,
    /// How often the job runs.
    pub repeat: u32,
    /// NIC of every rank.
    pub nics: Vec<u32>,
    pub node: NodeSpec,
    /// The fabric, if its switches carry out collectives.
    pub topology: Option<Topology>,
    /// Operations by rank and stream.
    pub ranks: Vec<Vec<Vec<Op>>>,
    pub send_completion: SendCompletion,
    pub protocol: Protocol,
    pub compute_scale: Ratio,
    /// Factors of regions in its place.
    pub region_scales: Vec<Option<Ratio>>,
    pub intra_node: IntraNode,
    pub reduction_ps_per_byte: Ratio,
    pub collectives: Choices,
}

impl Case {
    /// Rank r on NIC r, ticks of 1 ns, everything else as by default; inside a node 500 ps and a
    /// byte per picosecond.
    pub fn of(ranks: Vec<Vec<Vec<Op>>>) -> Self {
        Self {
            tick: TickLength::whole(1000),
            start_ps: 0,
            repeat: 1,
            nics: (0..ranks.len() as u32).collect(),
            node: NodeSpec::default(),
            topology: None,
            ranks,
            send_completion: SendCompletion::Handed,
            protocol: Protocol::default(),
            compute_scale: Ratio::ONE,
            region_scales: Vec::new(),
            intra_node: IntraNode {
                latency_ps: 500,
                bytes_per_s: Ratio::whole(1_000_000_000_000),
            },
            reduction_ps_per_byte: Ratio::ZERO,
            collectives: Choices::default(),
        }
    }

    /// The factor on the computation of an operation that follows the operations `before` of its stream: of the innermost
    /// region that has one.
    pub fn scale(&self, before: &[Op]) -> Ratio {
        // From the operation backwards an exit hides the entry of its region before it.
        let mut hidden: Vec<RegionId> = Vec::new();
        for op in before.iter().rev() {
            match op.action {
                Action::LeaveRegion(region) => hidden.push(region),
                Action::EnterRegion(region) => {
                    let exit = hidden.iter().position(|&left| left == region);
                    let factor = self.region_scales.get(region.index());
                    match (exit, factor) {
                        (Some(exit), _) => _ = hidden.swap_remove(exit),
                        (None, Some(&Some(factor))) => return factor,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        self.compute_scale
    }
}
