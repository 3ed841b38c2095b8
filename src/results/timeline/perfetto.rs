//! Track events of Perfetto, as its protocol buffers (`docs/reference/timeline.md` names the fields).
//!
//! A packet per event; no packet is kept. Readers sort packets by time, so a counter has its value from the beginning
//! of the interval that the value describes.

use super::output::{Change, Message as Seen, Output, StreamTrack};
use crate::replay::Doing;
use flitwise_formats::sink::Sink;
use prost::Message;
use prost::encoding::{WireType, encode_key};
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<Annotation>,
    #[prost(enumeration = "EventKind", optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum EventKind {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, optional, tag = "1")]
    name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<Interned>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<Interned>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<Interned>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    /// 3: children in the order of their `sibling_order_rank`.
    #[prost(int32, optional, tag = "11")]
    child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    sibling_order_rank: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    unit_name: Option<String>,
}

/// All packets come from one writer, whose first packet begins its interned names.
const SEQUENCE: u32 = 1;
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// Tracks: of all links, of jobs, of ranks, of a link. Each kind has its own numbers.
const LINKS: u64 = 1;
const JOB: u64 = 1 << 32;
const RANK: u64 = 2 << 32;
const LINK: u64 = 3 << 32;

/// The names of the properties of a message.
const ANNOTATIONS: [&str; 3] = ["bytes", "peer rank", "latency_ps"];
const BYTES: u64 = 1;
const PEER: u64 = 2;
const LATENCY_PS: u64 = 3;

/// The names of events that are no activities of a rank.
const SEND: &str = "message sent";
const RECEIVE: &str = "message received";

/// Categories, by their number less 1.
const CATEGORIES: [&str; 5] = ["compute", "wait", "collective", "message", "region"];

pub(super) struct Perfetto {
    out: Sink,
    /// Numbers of the names that were written.
    names: BTreeMap<String, u64>,
    begun: bool,
    jobs: Vec<u32>,
    tracks: u64,
    links: u64,
    buffer: Vec<u8>,
}

impl Perfetto {
    pub(super) fn new(out: Sink) -> anyhow::Result<Self> {
        let mut perfetto = Self {
            out,
            names: BTreeMap::new(),
            begun: false,
            jobs: Vec::new(),
            tracks: 0,
            links: 0,
            buffer: Vec::new(),
        };
        let intern = |names: &[&str]| {
            let interned = (1..).zip(names).map(|(iid, name)| Interned::of(iid, name));
            interned.collect::<Vec<_>>()
        };
        let names = InternedData {
            event_categories: intern(&CATEGORIES),
            event_names: Vec::new(),
            debug_annotation_names: intern(&ANNOTATIONS),
        };
        perfetto.packet(Packet {
            interned_data: Some(names),
            ..Packet::default()
        })?;
        Ok(perfetto)
    }

    /// Writes a packet as an element of the list that a trace is.
    fn packet(&mut self, packet: Packet) -> anyhow::Result<()> {
        let flags = if std::mem::replace(&mut self.begun, true) {
            NEEDS_STATE
        } else {
            STATE_CLEARED | NEEDS_STATE
        };
        let packet = Packet {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(flags),
            ..packet
        };
        self.buffer.clear();
        encode_key(1, WireType::LengthDelimited, &mut self.buffer);
        packet.encode_length_delimited(&mut self.buffer)?;
        Ok(self.out.write_all(&self.buffer)?)
    }

    fn descriptor(&mut self, track: TrackDescriptor) -> anyhow::Result<()> {
        self.packet(Packet {
            track_descriptor: Some(track),
            ..Packet::default()
        })
    }

    /// Writes an event; a name is written with the first event that has it.
    fn event(&mut self, ps: u64, name: Option<&str>, event: TrackEvent) -> anyhow::Result<()> {
        let mut interned_data = None;
        let name_iid = name.map(|name| {
            if let Some(&known) = self.names.get(name) {
                return known;
            }
            let next = self.names.len() as u64 + 1;
            self.names.insert(name.to_owned(), next);
            interned_data = Some(InternedData {
                event_names: vec![Interned::of(next, name)],
                ..InternedData::default()
            });
            next
        });
        self.packet(Packet {
            timestamp: Some(ps / 1000),
            track_event: Some(TrackEvent { name_iid, ..event }),
            interned_data,
            ..Packet::default()
        })
    }
}

impl Interned {
    fn of(iid: u64, name: &str) -> Self {
        Self {
            iid: Some(iid),
            name: Some(name.to_owned()),
        }
    }
}

impl TrackEvent {
    fn of(kind: EventKind, track: u64) -> Self {
        Self {
            kind: Some(kind.into()),
            track_uuid: Some(track),
            ..Self::default()
        }
    }
}

fn annotation(name: u64, value: u64) -> Annotation {
    Annotation {
        name_iid: Some(name),
        uint_value: Some(value),
    }
}

fn category(doing: Doing) -> u64 {
    match doing {
        Doing::Computing => 1,
        Doing::Collective(_) => 3,
        Doing::Receiving | Doing::Sending | Doing::Waiting | Doing::Ended => 2,
    }
}

impl Output for Perfetto {
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()> {
        let of = track.of;
        let job = JOB + u64::from(of.job);
        if !self.jobs.contains(&of.job) {
            self.jobs.push(of.job);
            self.descriptor(TrackDescriptor {
                uuid: Some(job),
                name: Some(format!("job {}", track.job)),
                child_ordering: Some(3),
                ..TrackDescriptor::default()
            })?;
        }
        let stream = match of.stream.index() {
            0 => String::new(),
            _ => format!(" stream {}", of.stream),
        };
        let nic = match track.nic_name {
            Some(name) => name.to_owned(),
            None => format!("nic {}", track.nic),
        };
        let uuid = RANK + self.tracks;
        self.tracks += 1;
        self.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(format!("rank {}{stream} ({nic})", of.rank)),
            parent_uuid: Some(job),
            sibling_order_rank: i32::try_from(of.rank.get()).ok(),
            ..TrackDescriptor::default()
        })
    }

    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()> {
        let track = RANK + change.track as u64;
        if change.from.is_some() {
            let peer = change.peer.map(|peer| annotation(PEER, peer.get().into()));
            let end = TrackEvent {
                debug_annotations: peer.into_iter().collect(),
                ..TrackEvent::of(EventKind::SliceEnd, track)
            };
            self.event(ps, None, end)?;
        }
        // The slice of a region surrounds the slices of its activities.
        let [before, now] = &change.regions;
        if before != now {
            if before.is_some() {
                self.event(ps, None, TrackEvent::of(EventKind::SliceEnd, track))?;
            }
            if let Some(name) = now {
                let begin = TrackEvent {
                    category_iids: vec![5],
                    ..TrackEvent::of(EventKind::SliceBegin, track)
                };
                self.event(ps, Some(name), begin)?;
            }
        }
        let Some(doing) = change.to else {
            return Ok(());
        };
        let event = TrackEvent {
            category_iids: vec![category(doing)],
            ..TrackEvent::of(EventKind::SliceBegin, track)
        };
        self.event(ps, Some(doing.name()), event)
    }

    fn sent(&mut self, ps: u64, message: &Seen) -> anyhow::Result<()> {
        let sent = message.sent;
        let event = TrackEvent {
            category_iids: vec![4],
            flow_ids: vec![message.number + 1],
            debug_annotations: vec![
                annotation(BYTES, sent.bytes),
                annotation(PEER, sent.to.get().into()),
            ],
            ..TrackEvent::of(EventKind::Instant, RANK + message.tracks[0] as u64)
        };
        self.event(ps, Some(SEND), event)
    }

    fn delivered(&mut self, ps: u64, message: &Seen) -> anyhow::Result<()> {
        let sent = message.sent;
        let event = TrackEvent {
            category_iids: vec![4],
            terminating_flow_ids: vec![message.number + 1],
            debug_annotations: vec![
                annotation(BYTES, sent.bytes),
                annotation(PEER, sent.from.get().into()),
                annotation(LATENCY_PS, ps.saturating_sub(message.sent_ps)),
            ],
            ..TrackEvent::of(EventKind::Instant, RANK + message.tracks[1] as u64)
        };
        self.event(ps, Some(RECEIVE), event)
    }

    fn link(&mut self, name: &str) -> anyhow::Result<()> {
        if self.links == 0 {
            self.descriptor(TrackDescriptor {
                uuid: Some(LINKS),
                name: Some("links".to_owned()),
                child_ordering: Some(3),
                ..TrackDescriptor::default()
            })?;
        }
        let number = self.links;
        self.links += 1;
        self.descriptor(TrackDescriptor {
            uuid: Some(LINK + number),
            name: Some(name.to_owned()),
            parent_uuid: Some(LINKS),
            counter: Some(CounterDescriptor {
                unit_name: Some("%".to_owned()),
            }),
            sibling_order_rank: i32::try_from(number).ok(),
            ..TrackDescriptor::default()
        })
    }

    fn used(&mut self, span: [u64; 2], link: usize, part: f64) -> anyhow::Result<()> {
        let event = TrackEvent {
            double_counter_value: Some(part * 100.0),
            ..TrackEvent::of(EventKind::Counter, LINK + link as u64)
        };
        self.event(span[0], None, event)
    }

    fn finish(self: Box<Self>, _: u64) -> anyhow::Result<()> {
        Ok(self.out.finish()?)
    }
}
