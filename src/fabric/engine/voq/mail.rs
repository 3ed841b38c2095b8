//! Mail between [blocks](crate::engine::blocks): what crosses a cut link.

use super::credit_return::CreditReturn;
use super::packet::{Origin, Packet};
use crate::engine::ids::OutputId;
use crate::engine::next_hop::Progress;
use crate::engine::variant::Variant;
use crate::spec::Tick;

/// A packet on a link to another block.
#[derive(Debug)]
pub(in crate::engine) struct Arrival<V: Variant> {
    /// Tick in which the header joins its VoQ, or the tail reaches its NIC.
    pub(super) at: Tick,
    pub(super) packet: Packet<V>,
    pub(super) origin: Origin,
    pub(super) progress: Option<Progress>,
}

/// Credits of an input buffer on their way to a sender in another block.
#[derive(Debug)]
pub(in crate::engine) struct Credits<V: Variant> {
    pub(super) to: OutputId,
    pub(super) credit_return: CreditReturn<V>,
}
