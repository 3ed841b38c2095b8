//! Buffers between two parts of a device: the packets in them, and the credits that the packets
//! take. Input and receive buffers have their sender at the other end of a link: see
//! [`links`](super::links).

use super::fifos::{Fifos, NEAR_VLS};
use super::ledgers::Ledgers;
use super::schedule::DrainRate;
use crate::spec::hierarchical::{Pool, Quota};

/// Buffers with a queue per VL.
pub(super) type VlBuffers = Buffers<NEAR_VLS, NEAR_VLS>;
/// Buffers with a queue per class and VL. The ledger has room for eight VLs in each of eight
/// classes.
pub(super) type CentralBuffers = Buffers<0, 64>;

/// All buffers of one kind.
#[derive(Debug)]
pub(super) struct Buffers<const HEADS: usize, const USED: usize> {
    pub fifos: Fifos<HEADS>,
    pub credits: Ledgers<USED>,
}

impl<const HEADS: usize, const USED: usize> Buffers<HEADS, USED> {
    /// `count` buffers with a queue per entry of `quotas`. They have no credits before
    /// [`Ledgers::set_size`].
    pub(super) fn new(count: usize, quotas: Vec<Quota>, drain_rate: DrainRate) -> Self {
        Self {
            fifos: Fifos::new(count, quotas.len()),
            credits: Ledgers::new(count, quotas, drain_rate),
        }
    }
}

impl VlBuffers {
    /// `count` buffers of one size.
    pub(super) fn of_pool(count: usize, pool: &Pool, drain_rate: DrainRate) -> Self {
        Self {
            fifos: Fifos::new(count, pool.per_vl.len()),
            credits: Ledgers::of_pool(count, pool, drain_rate),
        }
    }
}
