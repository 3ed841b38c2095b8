//! The compact form of records that wait until their rank needs them.

use flitwise_formats::vef::{DepId, DepKind, Message, Positions, Record};

/// A record in compact form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Marker,
    Send,
    Member,
}

impl Default for Queued {
    fn default() -> Self {
        Self {
            event: 0,
            compute_ps: 0,
            line: 0,
            id: 0,
            bytes: 0,
            to: 0,
            after: DepKind::Start,
            part: Part::Marker,
        }
    }
}

impl Queued {
    /// Appends the record to `out`, as what differs from the record before it: numbers in groups
    /// of seven bits, the lowest first (LEB128). At most 63 bytes.
    pub fn pack(&self, previous: &Self, out: &mut Vec<u8>) {
        let after = match self.after {
            DepKind::Start => 0,
            DepKind::Sent => 1,
            DepKind::Received => 2,
            DepKind::Completed => 3,
        };
        let part = match self.part {
            Part::Marker => 0,
            Part::Send => 1,
            Part::Member => 2,
        };
        out.push(after | part << 2);
        let numbers = [
            self.line.wrapping_sub(previous.line),
            zigzag(self.id.wrapping_sub(previous.id)),
            zigzag(self.event.wrapping_sub(previous.event)),
            self.compute_ps,
            self.bytes,
            self.to.into(),
        ];
        for number in numbers {
            pack(number, out);
        }
    }

    /// Takes a record off the start of `bytes`; `None` if there is none.
    pub fn unpack(previous: &Self, bytes: &mut &[u8]) -> Option<Self> {
        let (&tag, rest) = bytes.split_first()?;
        *bytes = rest;
        let after = match tag & 3 {
            0 => DepKind::Start,
            1 => DepKind::Sent,
            2 => DepKind::Received,
            _ => DepKind::Completed,
        };
        let part = match tag >> 2 {
            0 => Part::Marker,
            1 => Part::Send,
            2 => Part::Member,
            _ => return None,
        };
        Some(Self {
            line: unpack(bytes)?.wrapping_add(previous.line),
            id: unzigzag(unpack(bytes)?).wrapping_add(previous.id),
            event: unzigzag(unpack(bytes)?).wrapping_add(previous.event),
            compute_ps: unpack(bytes)?,
            bytes: unpack(bytes)?,
            to: u32::try_from(unpack(bytes)?).ok()?,
            after,
            part,
        })
    }
}

/// Makes differences of either sign small numbers.
fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

fn pack(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unpack(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records() -> impl Strategy<Value = Queued> {
        let number = || prop_oneof![0_u64..300, any::<u64>()];
        let numbers = (number(), number(), number(), number(), number());
        let after = prop::sample::select(vec![
            DepKind::Start,
            DepKind::Sent,
            DepKind::Received,
            DepKind::Completed,
        ]);
        let part = prop::sample::select(vec![Part::Marker, Part::Send, Part::Member]);
        (numbers, any::<u32>(), after, part).prop_map(|(numbers, to, after, part)| {
            let (event, compute_ps, line, id, bytes) = numbers;
            Queued {
                event,
                compute_ps,
                line,
                id,
                bytes,
                to,
                after,
                part,
            }
        })
    }

    proptest! {
        #[test]
        fn packed_records_come_back(records in prop::collection::vec(records(), 0..20)) {
            let (mut bytes, mut previous) = (Vec::new(), Queued::default());
            for record in &records {
                let before = bytes.len();
                record.pack(&previous, &mut bytes);
                prop_assert!(bytes.len() - before <= 63);
                previous = *record;
            }
            let (mut rest, mut previous) = (&bytes[..], Queued::default());
            for record in &records {
                previous = Queued::unpack(&previous, &mut rest).unwrap();
                prop_assert_eq!(&previous, record);
            }
            prop_assert!(Queued::unpack(&previous, &mut rest).is_none());
        }

        #[test]
        fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut rest = &bytes[..];
            while Queued::unpack(&Queued::default(), &mut rest).is_some() {}
        }
    }
}
