//! Reads timelines in the format of Perfetto, with a reader of its own for protocol buffers, so that it shares no mistake
//! with the writer.

use super::timeline::Slice;
use std::collections::BTreeMap;

/// Fields of a message of protocol buffers, as numbers or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
            shift += 7;
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (number, payload) = match key & 7 {
            0 => (varint(&mut bytes), &[][..]),
            1 => {
                let (fixed, rest) = bytes.split_at(8);
                bytes = rest;
                (u64::from_le_bytes(fixed.try_into().unwrap()), &[][..])
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (payload, rest) = bytes.split_at(length);
                bytes = rest;
                (0, payload)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key >> 3, number, payload));
    }
    fields
}

fn number(fields: &[(u64, u64, &[u8])], field: u64) -> Option<u64> {
    fields.iter().find(|f| f.0 == field).map(|f| f.1)
}

/// What a trace in the format of Perfetto says.
#[derive(Default)]
pub struct Perfetto {
    /// By track: name, start, end in nanoseconds.
    pub slices: BTreeMap<u64, Vec<Slice>>,
    /// By number: when it left and arrived.
    pub flows: BTreeMap<u64, [Option<u64>; 2]>,
    /// By track: time and value.
    pub counters: BTreeMap<u64, Vec<(u64, f64)>>,
    pub tracks: BTreeMap<u64, String>,
}

/// The number of the category of regions.
const REGION: u64 = 5;

/// Reads a trace; panics if it is broken.
pub fn perfetto(bytes: &[u8]) -> Perfetto {
    let mut read = Perfetto::default();
    let mut names = BTreeMap::new();
    // By track: name, start and category, of which only regions surround other slices.
    let mut open: BTreeMap<u64, Vec<(String, u64, u64)>> = BTreeMap::new();
    for (field, _, packet) in fields(bytes) {
        assert_eq!(field, 1, "a trace is a list of packets");
        let mut packet = fields(packet);
        // Names before the event that uses them.
        packet.sort_by_key(|field| field.0 != 12);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let ns = number(&packet, 8).unwrap_or(0);
        for &(field, _, payload) in &packet {
            let inner = fields_of(field, payload);
            match field {
                12 => {
                    for (_, _, entry) in inner.iter().filter(|f| f.0 == 2) {
                        let entry = fields(entry);
                        names.insert(number(&entry, 1).unwrap(), text(entry[1].2));
                    }
                }
                60 => {
                    let name = inner.iter().find(|f| f.0 == 2).unwrap();
                    read.tracks.insert(number(&inner, 1).unwrap(), text(name.2));
                }
                11 => {
                    let track = number(&inner, 11).unwrap();
                    match number(&inner, 9).unwrap() {
                        1 => {
                            let name = &names[&number(&inner, 10).unwrap()];
                            let category = number(&inner, 3).unwrap();
                            let open = open.entry(track).or_default();
                            assert!(open.iter().all(|outer| outer.2 == REGION));
                            open.push((name.clone(), ns, category));
                        }
                        2 => {
                            let (name, start, _) = open.get_mut(&track).unwrap().pop().unwrap();
                            read.slices
                                .entry(track)
                                .or_default()
                                .push((name, start, ns));
                        }
                        3 => {
                            let (side, flow) = match number(&inner, 47) {
                                Some(flow) => (0, flow),
                                None => (1, number(&inner, 48).unwrap()),
                            };
                            let ends = read.flows.entry(flow).or_default();
                            assert!(ends[side].replace(ns).is_none());
                        }
                        kind => {
                            assert_eq!(kind, 4);
                            let value = f64::from_bits(number(&inner, 44).unwrap());
                            read.counters.entry(track).or_default().push((ns, value));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "all slices end");
    read
}

/// The fields of a field that is a message.
fn fields_of(field: u64, payload: &[u8]) -> Vec<(u64, u64, &[u8])> {
    match field {
        11 | 12 | 60 => fields(payload),
        _ => Vec::new(),
    }
}
