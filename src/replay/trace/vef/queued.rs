//! The compact form of records that wait until their rank needs them.

use crate::replay::program::{AlltoallBlocks, CollectiveKind};
use flitwise_formats::vef::{Blocks, DepId, DepKind, Kind, Message, Positions, Record};

/// A record in compact form.
#[derive(Debug)]
pub(super) struct Queued {
    /// Id in `after`.
    pub event: u64,
    pub compute_ps: u64,
    pub line: u64,
    /// Id of the message or collective.
    pub id: u64,
    pub bytes: u64,
    /// Receiver, or position in the collective.
    pub to: u32,
    pub after: DepKind,
    pub part: Part,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Marker,
    Send,
    Member,
}

/// The record in compact form; `None` for a record that no clean trace has.
pub(super) fn queued(
    record: &Record,
    line: u64,
    ps_per_unit: u64,
    positions: &Positions,
) -> Option<Queued> {
    let (dep, on) = record.dep();
    let event = match (dep.kind(), on) {
        (DepKind::Start, DepId::None) => 0,
        (DepKind::Sent | DepKind::Received, DepId::Message(id)) => id,
        (DepKind::Completed, DepId::Collective(g)) => g,
        _ => return None,
    };
    let (part, id, to, bytes) = match *record {
        Record::Message(ref m) if m.is_marker() => (Part::Marker, m.id, m.dst, 0),
        Record::Message(Message { id, dst, size, .. }) => (Part::Send, id, dst, size),
        Record::Member(m) => (Part::Member, m.id, positions.of(m.comm, m.task)?, 0),
    };
    Some(Queued {
        event,
        compute_ps: record.time().checked_mul(ps_per_unit)?,
        line,
        id,
        bytes,
        to,
        after: dep.kind(),
        part,
    })
}

pub(super) fn kind(kind: Kind, members: u32) -> CollectiveKind {
    match kind {
        Kind::Bcast { root, bytes } => CollectiveKind::Bcast { root, bytes },
        Kind::Reduce { root, bytes } => CollectiveKind::Reduce { root, bytes },
        Kind::Allreduce { bytes } => CollectiveKind::Allreduce { bytes },
        Kind::Gather { root, blocks } => CollectiveKind::Gather { root, blocks },
        Kind::Scatter { root, blocks } => CollectiveKind::Scatter { root, blocks },
        Kind::Allgather { blocks } => CollectiveKind::Allgather { blocks },
        Kind::Barrier => CollectiveKind::Barrier,
        Kind::Alltoall { blocks } => CollectiveKind::Alltoall {
            blocks: blocks
                .into_iter()
                .map(|b| match b {
                    Blocks::Each(bytes) => AlltoallBlocks::Each(bytes),
                    Blocks::Split(total) => AlltoallBlocks::Split { total, members },
                })
                .collect(),
        },
    }
}
