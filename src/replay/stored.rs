//! The memory of the messages in flight. A message with an id takes 24 bytes: in an all-to-all all of them may be
//! in flight at once. What other messages have besides is in a table of its own.

use super::messages::{Due, InFlight, MOST_JOBS, Purpose, RankPair, Release};
use super::slots::Slots;
use flitwise_fabric::spec::Tick;

/// A slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    created: Tick,
    ranks: RankPair,
    /// The id of the message, or its place among the other ones. Of a free slot, the next free one.
    detail: u32,
    flags: u32,
}

// The fabric keeps 24 B of such a message and 15 B for its queue pair (`nic/unopened.rs`): 64 B in all.
const _: () = assert!(size_of::<Slot>() == 24);

/// The bits of [`Slot::flags`]. The job is behind them.
mod flag {
    /// The slot is in use.
    pub(super) const USED: u32 = 1;
    pub(super) const INJECTION_DUE: u32 = 1 << 1;
    pub(super) const DELIVERY_DUE: u32 = 1 << 2;
    pub(super) const AWAITED: u32 = 1 << 3;
    /// The purpose is among the other ones.
    pub(super) const OTHER: u32 = 1 << 4;
    /// Its sender waits until it is injected.
    pub(super) const INJECTED: u32 = 1 << 5;
    /// Its sender waits until it is delivered.
    pub(super) const DELIVERED: u32 = 1 << 6;
    /// Place of the job.
    pub(super) const JOB: u32 = 8;
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The messages in flight, by slot.
#[derive(Debug)]
pub(super) struct Stored {
    slots: Vec<Slot>,
    /// The slot that became free last.
    free: u32,
    /// Purposes that do not fit into a slot.
    others: Slots<Purpose>,
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            others: Slots::default(),
        }
    }
}

fn flags_of(due: Due) -> u32 {
    let injection = if due.injection {
        flag::INJECTION_DUE
    } else {
        0
    };
    let delivery = if due.delivery { flag::DELIVERY_DUE } else { 0 };
    injection | delivery
}

impl Slot {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn due(&self) -> Due {
        Due {
            injection: self.has(flag::INJECTION_DUE),
            delivery: self.has(flag::DELIVERY_DUE),
        }
    }
}

impl Stored {
    /// Keeps a message; `None` if 2³² − 1 are in use.
    #[inline]
    pub(super) fn insert(&mut self, message: &InFlight) -> Option<u32> {
        let release = match message.release {
            Release::Handed => 0,
            Release::Injected => flag::INJECTED,
            Release::Delivered => flag::DELIVERED,
        };
        debug_assert!(
            (message.job as usize) < MOST_JOBS,
            "a job that does not fit"
        );
        let job = message.job << flag::JOB;
        let flags = flag::USED | release | flags_of(message.due) | job;
        let (detail, of_purpose) = match message.purpose {
            Purpose::PointToPoint { id, awaited } if id <= u32::MAX.into() => {
                (id as u32, if awaited { flag::AWAITED } else { 0 })
            }
            purpose => (self.others.insert(purpose)?, flag::OTHER),
        };
        let slot = Slot {
            created: message.created,
            ranks: message.ranks,
            detail,
            flags: flags | of_purpose,
        };
        let at = self.free;
        if let Some(free) = self.slots.get_mut(at as usize) {
            self.free = std::mem::replace(free, slot).detail;
            return Some(at);
        }
        let at = u32::try_from(self.slots.len())
            .ok()
            .filter(|&at| at != NONE)?;
        self.slots.push(slot);
        Some(at)
    }

    /// The message of a slot.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<InFlight> {
        let slot = self.slots.get(slot as usize)?;
        self.message(slot)
    }

    /// Job and tick of creation of the message of a slot.
    #[inline]
    pub(super) fn created(&self, slot: u32) -> Option<(u32, Tick)> {
        let slot = self.slots.get(slot as usize)?;
        slot.has(flag::USED)
            .then_some((slot.flags >> flag::JOB, slot.created))
    }

    #[inline]
    fn message(&self, slot: &Slot) -> Option<InFlight> {
        if !slot.has(flag::USED) {
            return None;
        }
        let purpose = if slot.has(flag::OTHER) {
            *self.others.get(slot.detail)?
        } else {
            Purpose::PointToPoint {
                id: slot.detail.into(),
                awaited: slot.has(flag::AWAITED),
            }
        };
        Some(InFlight {
            job: slot.flags >> flag::JOB,
            ranks: slot.ranks,
            purpose,
            release: match (slot.has(flag::INJECTED), slot.has(flag::DELIVERED)) {
                (true, _) => Release::Injected,
                (false, true) => Release::Delivered,
                (false, false) => Release::Handed,
            },
            created: slot.created,
            due: slot.due(),
        })
    }

    /// Notes which reports have yet to come on the message of a slot.
    pub(super) fn set_due(&mut self, slot: u32, due: Due) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            slot.flags &= !(flag::INJECTION_DUE | flag::DELIVERY_DUE);
            slot.flags |= flags_of(due);
        }
    }

    /// Frees a slot that is in use.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(freed) = self.slots.get_mut(slot as usize) else {
            return;
        };
        if freed.has(flag::OTHER) {
            self.others.remove(freed.detail);
        }
        freed.flags = 0;
        freed.detail = std::mem::replace(&mut self.free, slot);
    }

    /// All messages, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = InFlight> {
        self.slots.iter().filter_map(|slot| self.message(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::mpi::{CommId, Packet, Tag};
    use crate::program::RankId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn purpose() -> impl Strategy<Value = Purpose> {
        let id = prop_oneof![any::<u32>().prop_map(u64::from), any::<u64>()];
        prop_oneof![
            (id, any::<bool>()).prop_map(|(id, awaited)| Purpose::PointToPoint { id, awaited }),
            any::<(u64, u32, u32)>().prop_map(|(id, from, tag)| Purpose::Collective {
                key: Key::Id(id),
                from,
                tag,
            }),
            any::<(u32, u32)>()
                .prop_map(|(send, receive)| { Purpose::Mpi(Packet::Payload { send, receive }) }),
        ]
    }

    fn message() -> impl Strategy<Value = InFlight> {
        let job = prop_oneof![0u32..3, 0..MOST_JOBS as u32];
        let release = prop_oneof![
            Just(Release::Handed),
            Just(Release::Injected),
            Just(Release::Delivered),
        ];
        let numbers = (any::<u32>(), any::<u32>(), any::<Tick>());
        (job, purpose(), release, numbers, any::<bool>()).prop_map(
            |(job, purpose, release, (from, to, created), injection)| InFlight {
                job,
                ranks: RankPair {
                    from: RankId::new(from),
                    to: RankId::new(to),
                },
                purpose,
                release,
                created,
                due: Due {
                    injection,
                    delivery: true,
                },
            },
        )
    }

    proptest! {
        #[test]
        fn a_slot_keeps_its_message(
            steps in prop::collection::vec((message(), 0u8..4, any::<usize>()), 0..120),
        ) {
            let (mut stored, mut model) = (Stored::default(), BTreeMap::new());
            let mut most = 0;
            for (message, step, at) in steps {
                let known = model.keys().nth(at % model.len().max(1)).copied();
                match (step, known) {
                    (0, Some(slot)) => {
                        stored.remove(slot);
                        model.remove(&slot);
                        prop_assert_eq!(stored.get(slot), None);
                    }
                    (1, Some(slot)) => {
                        stored.set_due(slot, message.due);
                        model.entry(slot).and_modify(|m: &mut InFlight| m.due = message.due);
                    }
                    _ => {
                        let slot = stored.insert(&message).unwrap();
                        prop_assert_eq!(model.insert(slot, message), None);
                    }
                }
                most = most.max(model.len());
                prop_assert_eq!(stored.slots.len(), most);
                for (&slot, message) in &model {
                    prop_assert_eq!(stored.get(slot), Some(*message));
                    prop_assert_eq!(stored.created(slot), Some((message.job, message.created)));
                }
                prop_assert!(stored.iter().eq(model.values().copied()));
            }
            let others = stored.others.iter().count();
            prop_assert!(others <= model.len());
        }
    }

    #[test]
    fn only_messages_with_large_ids_and_others_take_more_than_a_slot() {
        let ranks = RankPair {
            from: RankId::new(0),
            to: RankId::new(1),
        };
        let envelope = Packet::Envelope {
            comm: CommId::new(0),
            tag: Tag(7),
            number: 1,
            send: 2,
            rendezvous: false,
        };
        let by_id = |id| Purpose::PointToPoint { id, awaited: true };
        for (purpose, others) in [
            (by_id(u32::MAX.into()), 0),
            (by_id(1 << 32), 1),
            (Purpose::Mpi(envelope), 1),
        ] {
            let mut stored = Stored::default();
            let message = InFlight {
                job: 1,
                ranks,
                purpose,
                release: Release::Handed,
                created: 3,
                due: Due {
                    injection: false,
                    delivery: true,
                },
            };
            let slot = stored.insert(&message).unwrap();
            assert_eq!(stored.others.iter().count(), others);
            assert_eq!(stored.get(slot), Some(message));
            stored.remove(slot);
            assert_eq!(stored.others.iter().count(), 0);
        }
    }
}
