//! Mail between [blocks](crate::engine::blocks): what crosses a cut link.

use super::packet::Packet;
use super::schedule::CreditReturn;
use crate::engine::ids::OutputId;
use crate::engine::next_hop::Progress;

/// A packet on a link to another block. Its output, which it does not have yet, stands for the in-port that the link
/// leads to; [`OutputId::NONE`] for a NIC. Its arrival is the tick in which its header, or at a NIC its tail, is there.
#[derive(Debug)]
pub(in crate::engine) struct Arrival {
    pub(super) packet: Packet,
    pub(super) progress: Option<Progress>,
}

/// Credits of an input buffer on their way to a sender in another block.
#[derive(Debug)]
pub(in crate::engine) struct Credits {
    pub(super) to: OutputId,
    pub(super) leaving: CreditReturn,
}
