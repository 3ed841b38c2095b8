//! Random buffers of hierarchical switches and their NICs.

use super::random::Kind;
use super::specs::hierarchical_of;
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::spec::hierarchical::{Buffers, CentralLink, CentralQueues, Pool, Quota};
use proptest::collection::vec;
use proptest::prelude::*;

/// A pool before it fits: credits beyond the least there must be, whether any
/// are exclusive where none need be, then for each VL what is exclusive and what
/// it may have beyond its largest packet (the first again after the last).
type RawPool = (u32, bool, Vec<(u32, u32)>);

fn raw_pool() -> BoxedStrategy<RawPool> {
    let slack = prop_oneof![3 => Just(0u32), 3 => 0u32..=6, 1 => 20u32..=80];
    let quotas = vec((0u32..=3, prop_oneof![0u32..=3, 10u32..=50]), 6);
    (slack, any::<bool>(), quotas).boxed()
}

/// The pool for packets of at most `largest[vl]` credits in a buffer with one queue
/// per VL, or in a central buffer with at most `classes` queues per used VL.
fn pool(kind: Kind, raw: &RawPool, largest: &[u32], classes: Option<u32>) -> Pool {
    let (slack, reserves, raw) = raw;
    let raw = |vl: usize| raw[vl % raw.len()];
    let exclusive = |vl: usize| match kind {
        Kind::Sound => largest[vl] + raw(vl).0,
        Kind::Any if *reserves => raw(vl).0,
        Kind::Any => 0,
    };
    let queues = |vl: usize| match classes {
        Some(_) if largest[vl] == 0 => 0,
        classes => classes.unwrap_or(1),
    };
    let reserved: u32 = (0..largest.len())
        .map(|vl| exclusive(vl) * queues(vl))
        .sum();
    let beyond = (0..largest.len()).map(|vl| largest[vl].saturating_sub(exclusive(vl)));
    let total = (reserved + beyond.max().unwrap() + slack).max(1);
    let quota = |vl: usize| Quota {
        exclusive: exclusive(vl),
        max: (largest[vl] + raw(vl).1)
            .min(total)
            .max(exclusive(vl))
            .max(1),
    };
    Pool {
        total,
        per_vl: (0..largest.len()).map(quota).collect(),
    }
}

/// The pools of all buffers before they fit.
#[derive(Debug, Clone)]
pub struct RawBuffers {
    nic_queue: RawPool,
    nic_sink: RawPool,
    input: RawPool,
    output: RawPool,
    central: RawPool,
}

/// Pools for all buffers.
pub fn raw_buffers() -> BoxedStrategy<RawBuffers> {
    let pools = (raw_pool(), raw_pool(), raw_pool(), raw_pool(), raw_pool());
    pools
        .prop_map(|(nic_queue, nic_sink, input, output, central)| RawBuffers {
            nic_queue,
            nic_sink,
            input,
            output,
            central,
        })
        .boxed()
}

/// Buffers that hold nothing yet, the central ones with a queue per VL or one per neighbour.
pub fn empty_buffers(per_vl: bool) -> Buffers {
    let empty = Pool {
        total: 0,
        per_vl: Vec::new(),
    };
    Buffers {
        nic_queue: empty.clone(),
        nic_sink: empty.clone(),
        input: empty.clone(),
        output: empty.clone(),
        central: empty,
        central_queues: if per_vl {
            CentralQueues::PerVl
        } else {
            CentralQueues::PerNeighbour
        },
        central_link: CentralLink::default(),
    }
}

impl RawBuffers {
    /// Gives the buffers of `spec` these pools, made to fit its largest packets and at most `classes` central queues per used
    /// VL.
    pub fn put(&self, kind: Kind, classes: u32, spec: &mut FabricSpec) {
        let vls = 0..spec.qos.vls;
        let largest: Vec<u32> = vls.map(|vl| spec.max_credits_on_vl(vl)).collect();
        let buffers = &mut hierarchical_of(spec).buffers;
        buffers.nic_queue = pool(kind, &self.nic_queue, &largest, None);
        buffers.nic_sink = pool(kind, &self.nic_sink, &largest, None);
        buffers.input = pool(kind, &self.input, &largest, None);
        buffers.output = pool(kind, &self.output, &largest, None);
        buffers.central = pool(kind, &self.central, &largest, Some(classes));
    }
}
