//! Writes the tuples of calls: the inverse of `decode`.

use super::call::{
    Call, Collective, Completion, Data, Done, Message, Outcome, Part, Peer, Reference, References,
};
use super::function::{CallKind, How};
use super::wire::{Sequence, put, put_signed, put_text};

impl Call<'_> {
    /// Adds the fields of a call of a function of this kind.
    pub(super) fn write(&self, kind: CallKind, to: &mut Vec<u8>) {
        match self {
            Self::Failed | Self::Finalize | Self::Abort | Self::Local | Self::Outside(_) => {}
            Self::Send(message, ..) => put_message(to, message),
            Self::Receive(message, how, outcome) => {
                put_message(to, message);
                outcome_if_blocking(to, *how, outcome);
            }
            Self::SendReceive {
                sent,
                received,
                how,
                outcome,
            } => {
                put_message(to, sent);
                put_peer(to, received.peer);
                put_tag(to, received.tag);
                put_data(to, received.data);
                outcome_if_blocking(to, *how, outcome);
            }
            Self::Probe { message, found, .. } => {
                put_envelope(to, message);
                if matches!(kind, CallKind::Probe { polls: true, .. }) {
                    put(to, found.is_some().into());
                }
                found.iter().for_each(|outcome| put_outcome(to, outcome));
            }
            Self::ReceiveTaken(message, data, how, outcome) => {
                put(to, message.code());
                put_data(to, *data);
                outcome_if_blocking(to, *how, outcome);
            }
            Self::Partitioned {
                message,
                partitions,
                ..
            } => {
                put_envelope(to, message);
                put(to, *partitions);
                put_data(to, message.data);
            }
            Self::MakeComm { parent, made, .. } => {
                put(to, (*parent).into());
                put(to, made.unwrap_or(0).into());
            }
            Self::FreeComm(comm) => put(to, (*comm).into()),
            Self::Init(level) => put(to, *level),
            Self::Control(level, text) => {
                put_signed(to, *level);
                put_text(to, text);
            }
            Self::Collective(collective) => put_collective(to, collective),
            _ => self.write_requests(to),
        }
    }

    /// The fields of a call that names requests.
    fn write_requests(&self, to: &mut Vec<u8>) {
        match self {
            Self::Start(References(all))
            | Self::Free(References(all))
            | Self::Cancel(References(all)) => all.write(to),
            Self::Complete(completion) => put_completion(to, completion),
            Self::Ready(request, partitions) => {
                put(to, request.code());
                partitions.write(to);
            }
            Self::Arrived(request, partition, has) => {
                put(to, request.code());
                put(to, *partition);
                put(to, (*has).into());
            }
            Self::Status(request, is) => {
                put(to, request.code());
                put(to, (*is).into());
            }
            _ => {}
        }
    }
}

fn put_peer(to: &mut Vec<u8>, peer: Peer) {
    put(
        to,
        match peer {
            Peer::Any => 0,
            Peer::Null => 1,
            Peer::Root => 2,
            Peer::Rank(rank) => u64::from(rank) + 3,
        },
    );
}

fn put_tag(to: &mut Vec<u8>, tag: Option<u32>) {
    put(to, tag.map_or(0, |tag| u64::from(tag) + 1));
}

fn put_data(to: &mut Vec<u8>, data: Data) {
    put(to, data.count);
    put(to, data.size);
}

fn put_envelope(to: &mut Vec<u8>, message: &Message) {
    put(to, message.comm.into());
    put_peer(to, message.peer);
    put_tag(to, message.tag);
}

fn put_message(to: &mut Vec<u8>, message: &Message) {
    put_envelope(to, message);
    put_data(to, message.data);
}

fn outcome_if_blocking(to: &mut Vec<u8>, how: How, outcome: &Outcome) {
    if how == How::Blocking {
        put_outcome(to, outcome);
    }
}

fn put_outcome(to: &mut Vec<u8>, outcome: &Outcome) {
    let flag = |is: bool, flag: u64| if is { flag } else { 0 };
    let flags = flag(outcome.peer.is_some(), 1)
        | flag(outcome.tag.is_some(), 2)
        | flag(outcome.bytes.is_some(), 4)
        | flag(outcome.cancelled, 8)
        | flag(outcome.error, 16);
    put(to, flags);
    outcome.peer.iter().for_each(|peer| put_peer(to, *peer));
    if outcome.tag.is_some() {
        put_tag(to, outcome.tag);
    }
    outcome.bytes.iter().for_each(|bytes| put(to, *bytes));
}

fn put_completion(to: &mut Vec<u8>, completion: &Completion<'_>) {
    completion.requests.write(to);
    match completion.done {
        Done::None => put(to, 0),
        Done::All => put(to, 1),
        Done::Some(indices) => {
            put(to, 2);
            indices.write(to);
        }
    }
    to.extend_from_slice(completion.outcomes);
}

fn put_part(to: &mut Vec<u8>, part: &Part<'_>) {
    match part {
        Part::None => put(to, 0),
        Part::InPlace => put(to, 1),
        Part::Even(data) => {
            put(to, 2);
            put_data(to, *data);
        }
        Part::Counts { size, counts } => {
            put(to, 3);
            put(to, *size);
            counts.write(to);
        }
        Part::Bytes(bytes) => {
            put(to, 4);
            bytes.write(to);
        }
    }
}

fn put_collective(to: &mut Vec<u8>, collective: &Collective<'_>) {
    put(to, collective.comm.into());
    put_peer(to, collective.root);
    let commutes = collective.commutes;
    put(to, commutes.map_or(0, |is| if is { 1 } else { 2 }));
    put_part(to, &collective.sent);
    put_part(to, &collective.received);
}

impl Reference {
    /// The number by which a call names it.
    #[must_use]
    pub fn code(self) -> u64 {
        match self {
            Self::Last(n) => n << 2,
            Self::Nth(n) => (n << 2) | 1,
            Self::Other { thread, n } => (((n << 16) | u64::from(thread)) << 2) | 2,
            Self::Null => 3,
            Self::Unrecorded => (1 << 2) | 3,
        }
    }
}

impl Sequence<'_> {
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        put(to, self.runs().count() as u64);
        to.extend_from_slice(self.bytes());
    }
}
