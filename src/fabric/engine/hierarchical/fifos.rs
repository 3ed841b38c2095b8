//! FIFOs of packets in buffers of one kind (`docs/model/fabric.md` §3). The credits that the packets take
//! are in [`ledgers`](super::ledgers).
//!
//! To touch few cache lines per packet, the heads of the first FIFOs lie in the part that reads
//! the buffer ([`Heads`]).

use super::packet::Packet;
use crate::engine::pool::{PacketId, Pool};
use crate::prefetch::prefetch;

/// VLs whose FIFO heads lie in the part that reads the buffer.
pub(super) const NEAR_VLS: usize = 8;
/// Heads of the first FIFOs of a buffer; [`PacketId::NONE`] for an empty FIFO.
pub(super) type Heads<const HEADS: usize> = [PacketId; HEADS];

/// The FIFOs of all buffers of one kind. The heads of the first `HEADS` of a buffer lie in the part
/// that reads it.
#[derive(Debug)]
pub(super) struct Fifos<const HEADS: usize> {
    /// FIFOs per buffer.
    stride: usize,
    /// Heads of the other FIFOs of each buffer.
    far_heads: Vec<PacketId>,
    /// Last packet of each FIFO, valid unless it is empty.
    tails: Vec<PacketId>,
}

impl<const HEADS: usize> Fifos<HEADS> {
    /// `buffers` buffers with `stride` empty FIFOs each.
    pub(super) fn new(buffers: usize, stride: usize) -> Self {
        Self {
            stride,
            far_heads: vec![PacketId::NONE; buffers * stride.saturating_sub(HEADS)],
            tails: vec![PacketId::NONE; buffers * stride],
        }
    }

    /// Number of FIFOs per buffer.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Index in `far_heads` of the head of queue `q`.
    #[inline]
    fn far_head_index(&self, buffer: usize, q: usize) -> usize {
        buffer * (self.stride - HEADS) + q - HEADS
    }

    /// Prefetches the head of a FIFO, unless it lies in the part that reads the buffer.
    #[inline]
    pub(super) fn prefetch_head(&self, buffer: usize, q: usize) {
        if q >= HEADS {
            prefetch(&self.far_heads, self.far_head_index(buffer, q));
        }
    }

    /// Prefetches the heads of a buffer that do not lie in the part that reads it.
    #[inline]
    pub(super) fn prefetch_far_heads(&self, buffer: usize) {
        self.prefetch_head(buffer, self.stride - 1);
    }

    /// Prefetches the data for a packet that joins a FIFO.
    #[inline]
    pub(super) fn prefetch_push(&self, buffer: usize, q: usize) {
        self.prefetch_head(buffer, q);
        prefetch(&self.tails, buffer * self.stride + q);
    }

    /// Prefetches the data for a packet that joins any FIFO of a buffer with few of them.
    #[inline]
    pub(super) fn prefetch_any_push(&self, buffer: usize) {
        prefetch(&self.tails, buffer * self.stride);
        self.prefetch_push(buffer, self.stride - 1);
    }

    /// Head of a FIFO, or [`PacketId::NONE`].
    #[inline]
    pub(super) fn head(&self, near: &Heads<HEADS>, buffer: usize, q: usize) -> PacketId {
        if q < HEADS {
            near[q]
        } else {
            self.far_heads[self.far_head_index(buffer, q)]
        }
    }

    #[inline]
    fn head_mut<'a>(
        &'a mut self,
        near: &'a mut Heads<HEADS>,
        buffer: usize,
        q: usize,
    ) -> &'a mut PacketId {
        if q < HEADS {
            &mut near[q]
        } else {
            let at = self.far_head_index(buffer, q);
            &mut self.far_heads[at]
        }
    }

    /// Appends packet `id` to the FIFO of queue `q`.
    #[inline]
    pub(super) fn push(
        &mut self,
        near: &mut Heads<HEADS>,
        buffer: usize,
        q: usize,
        id: PacketId,
        packets: &mut Pool<PacketId, Packet>,
    ) {
        packets[id].next = PacketId::NONE;
        // Without a look at the first packet, which may be in no cache.
        let last = std::mem::replace(&mut self.tails[buffer * self.stride + q], id);
        let head = self.head_mut(near, buffer, q);
        if *head == PacketId::NONE {
            *head = id;
        } else {
            packets[last].next = id;
        }
    }

    /// Removes the head of queue `q`, whose successor is `next`. Returns whether the FIFO is
    /// empty now.
    #[inline]
    pub(super) fn pop(
        &mut self,
        near: &mut Heads<HEADS>,
        buffer: usize,
        q: usize,
        next: PacketId,
    ) -> bool {
        *self.head_mut(near, buffer, q) = next;
        next == PacketId::NONE
    }
}
