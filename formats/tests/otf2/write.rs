//! Writes archives in other ways than the library here does: in the other byte order, and packed.

#![allow(dead_code, reason = "each user writes in some of these ways")]

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    Plain,
    /// As the format is meant.
    Zlib,
    /// As versions 1 and 2 of the library wrote it, with as many bytes of data as the block has.
    Padded,
}

/// The content of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Anchor,
    Definitions,
    Local,
    Events,
}

/// Copies an archive of little-endian files of one chunk each, in another order and packing.
pub fn rewritten(from: &Path, to: &Path, order: Order, packed: Packed) {
    edited(from, to, order, packed, |_, _| {});
}

/// The same, in which `edit` changes the bytes of each file before they are packed. It gets the number of the file, by name.
pub fn edited(
    from: &Path,
    to: &Path,
    order: Order,
    packed: Packed,
    mut edit: impl FnMut(usize, &mut Vec<u8>),
) {
    std::fs::create_dir_all(to.join("traces")).unwrap();
    let mut number = 0;
    let mut copy = |name: &str, kind| {
        let mut bytes = std::fs::read(from.join(name)).unwrap();
        if order == Order::Big {
            bytes = swapped(&bytes, kind);
        }
        edit(number, &mut bytes);
        number += 1;
        match (kind, packed) {
            (_, Packed::Plain) => {}
            (Kind::Anchor, _) => bytes
                .iter_mut()
                .skip(COMPRESSION)
                .take(1)
                .for_each(|way| *way = 2),
            (_, packed) => bytes = block(&bytes, packed),
        }
        std::fs::write(to.join(name), bytes).unwrap();
    };
    copy("traces.otf2", Kind::Anchor);
    copy("traces.def", Kind::Definitions);
    let entries = std::fs::read_dir(from.join("traces")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    for name in names {
        let kind = if name.ends_with(".evt") {
            Kind::Events
        } else {
            Kind::Local
        };
        copy(&format!("traces/{name}"), kind);
    }
}

/// Where the anchor file says how the others are packed.
pub const COMPRESSION: usize = 29;
/// Where it says the kind of files.
pub const SUBSTRATE: usize = 28;

fn block(bytes: &[u8], packed: Packed) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    let mut data = encoder.finish().unwrap();
    let mut block = vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    block.extend((data.len() as u32).to_le_bytes());
    block.extend((bytes.len() as u32).to_le_bytes());
    block.extend([0; 4]);
    if packed == Packed::Padded {
        data.resize(data.len().max(bytes.len()), 0xa5);
    }
    block.extend(data);
    block
}

/// The bytes of a file while its order changes.
struct Swapper<'a> {
    bytes: &'a [u8],
    at: usize,
    out: Vec<u8>,
}

impl Swapper<'_> {
    fn copy(&mut self, n: usize) -> &[u8] {
        let part = &self.bytes[self.at..self.at + n];
        self.out.extend(part);
        self.at += n;
        part
    }

    fn byte(&mut self) -> u8 {
        self.copy(1)[0]
    }

    /// A number of `n` bytes.
    fn full(&mut self, n: usize) -> u64 {
        let part = &self.bytes[self.at..self.at + n];
        self.out.extend(part.iter().rev());
        self.at += n;
        part.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
    }

    /// Numbers of these bytes.
    fn fulls(&mut self, sizes: &[usize]) {
        for &n in sizes {
            self.full(n);
        }
    }

    /// A number behind its length.
    fn number(&mut self) -> u64 {
        match self.byte() {
            0xff => u64::MAX,
            n => self.full(n.into()),
        }
    }

    fn numbers(&mut self, n: usize) {
        (0..n).for_each(|_| {
            self.number();
        });
    }

    fn text(&mut self) {
        while self.byte() != 0 {}
    }

    fn length(&mut self) -> usize {
        match self.byte() {
            0xff => self.full(8) as usize,
            n => n.into(),
        }
    }
}

fn swapped(bytes: &[u8], kind: Kind) -> Vec<u8> {
    assert_eq!(bytes[..2], [3, b'B']);
    let mut s = Swapper {
        bytes,
        at: 2,
        out: vec![3, b'#'],
    };
    if kind == Kind::Anchor {
        s.text();
        s.copy(5);
        s.fulls(&[8, 8]);
        s.copy(2);
        s.fulls(&[8, 8]);
        (0..3).for_each(|_| s.text());
        assert_eq!(s.full(4), 0);
        s.fulls(&[8, 4, 4]);
        s.copy(bytes.len() - s.at);
        return s.out;
    }
    s.fulls(&[8, 8]);
    loop {
        let code = s.byte();
        match (kind, code) {
            (_, 2) => break,
            (Kind::Events, 5) => {
                s.full(8);
            }
            (Kind::Events, 12 | 13 | 16 | 17 | 20 | 21 | 24 | 28..=30) => {
                s.number();
            }
            _ => {
                let end = s.length() + s.at;
                values(&mut s, kind, code);
                // Bytes and texts are left.
                s.copy(end - s.at);
            }
        }
    }
    s.copy(bytes.len() - s.at);
    s.out
}

/// The values of a record up to the last number.
fn values(s: &mut Swapper<'_>, kind: Kind, code: u8) {
    match kind {
        Kind::Events => of_event(s, code),
        Kind::Local => of_location(s, code),
        Kind::Definitions => of_definition(s, code),
        Kind::Anchor => {}
    }
}

fn of_event(s: &mut Swapper<'_>, code: u8) {
    match code {
        6 => {
            // Each with an attribute, its type, and a number as its value.
            for _ in 0..s.number() {
                s.number();
                s.copy(1);
                s.number();
            }
        }
        10 => drop(s.full(8)),
        14 | 18 => s.numbers(4),
        15 | 19 => s.numbers(5),
        23 => {
            s.copy(1);
            s.numbers(4);
        }
        83 => {
            let _ = s.number();
            for _ in 0..s.number() {
                s.number();
            }
        }
        85 | 87 | 88 => s.numbers(1),
        86 => {
            s.copy(1);
            s.numbers(5);
        }
        89 => s.numbers(4),
        90..=92 => s.numbers(2),
        _ => {}
    }
}

fn of_location(s: &mut Swapper<'_>, code: u8) {
    match code {
        5 => {
            s.copy(1);
            let n = s.number() as usize;
            let pairs = 1 + usize::from(s.byte());
            s.numbers(n * pairs);
        }
        6 => {
            s.full(8);
            s.number();
            s.full(8);
        }
        _ => {}
    }
}

fn of_definition(s: &mut Swapper<'_>, code: u8) {
    match code {
        5 => s.numbers(4),
        10 => s.numbers(1),
        11 => {
            s.numbers(2);
            s.copy(1);
            s.numbers(1);
        }
        12 => s.numbers(4),
        13 => {
            s.numbers(2);
            s.copy(1);
            s.numbers(2);
        }
        14 => {
            s.numbers(2);
            s.copy(1);
            s.numbers(2);
        }
        15 => {
            s.numbers(3);
            s.copy(1);
            s.numbers(4);
            s.copy(2);
            s.numbers(1);
        }
        18 => {
            s.numbers(2);
            s.copy(1);
            let n = s.number() as usize;
            s.numbers(n);
            s.copy(2);
            s.numbers(1);
        }
        22 => s.numbers(5),
        43 => s.numbers(6),
        _ => {}
    }
}
