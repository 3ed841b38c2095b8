//! Properties of the readers of OTF2 archives that hold for any bytes.

#![allow(dead_code, reason = "each target uses one of them")]

#[path = "../../formats/tests/otf2/write.rs"]
pub mod write;

use flitwise_formats::otf2::{Archive, check};
use std::path::{Path, PathBuf};
use write::{Order, Packed, edited};

/// An archive of two ranks whose files are the parts of `data`: each behind its number of bytes, of 16 bits. The last one has the
/// rest.
pub fn otf2_archive(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let names = [
        "traces.otf2",
        "traces.def",
        "traces/0.def",
        "traces/0.evt",
        "traces/1.def",
        "traces/1.evt",
        "traces/2.def",
        "traces/2.evt",
    ];
    std::fs::create_dir(dir.path().join("traces")).unwrap();
    let mut rest = data;
    for name in names {
        let Some((&size, after)) = rest.split_first_chunk() else {
            break;
        };
        let size = usize::from(u16::from_le_bytes(size)).min(after.len());
        let (bytes, after) = after.split_at(size);
        std::fs::write(dir.path().join(name), bytes).unwrap();
        rest = after;
    }
    walk(dir.path());
}

/// An archive of the library, in one of the byte orders and packings, after changes of its files: so that they reach the records
/// within blocks of zlib and within either order. The first byte chooses archive, order and packing; each change has six bytes: the
/// file, the kind, the place (16 bits), a value and a length.
pub fn otf2_edits(data: &[u8]) {
    const ARCHIVES: [&str; 5] = ["calls", "lost", "mapped", "regions", "stencil"];
    let (&setup, changes) = data.split_first().unwrap_or((&0, &[]));
    let setup = usize::from(setup);
    let order = [Order::Little, Order::Big][setup / 5 % 2];
    let packed = [Packed::Plain, Packed::Zlib, Packed::Padded][setup / 10 % 3];
    let (changes, _) = changes.as_chunks::<6>();
    let dir = tempfile::tempdir().unwrap();
    let from = corpus().join(ARCHIVES[setup % 5]);
    edited(&from, dir.path(), order, packed, |number, bytes| {
        for &[file, kind, low, high, value, length] in changes {
            // No archive of the corpus has more files.
            if usize::from(file % 16) == number {
                let at = usize::from(u16::from_le_bytes([low, high]));
                change(bytes, kind, at, value, length.into());
            }
        }
    });
    walk(dir.path());
}

/// The archives of the corpus, from each crate that has this file.
fn corpus() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [
        "../tests/corpus/otf2",
        "tests/corpus/otf2",
        "../corpus/otf2",
    ];
    let mut places = places.iter().map(|place| root.join(place));
    places.find(|place| place.is_dir()).unwrap()
}

/// Changes the bytes of a file near `at`.
fn change(bytes: &mut Vec<u8>, kind: u8, at: usize, value: u8, length: usize) {
    let at = at % (bytes.len() + 1);
    let end = (at + length).min(bytes.len());
    match kind % 7 {
        0 => bytes
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte = value),
        1 => bytes.insert(at, value),
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        // A range again, some times.
        4 => {
            let part = bytes[at..end].repeat(usize::from(value % 8));
            bytes.splice(end..end, part);
        }
        // Two neighbouring ranges change their places.
        5 => {
            let end = (at + 2 * length).min(bytes.len());
            let range = &mut bytes[at..end];
            let by = length.min(range.len());
            range.rotate_left(by);
        }
        // A large number behind its length.
        _ => drop(bytes.splice(
            at..end,
            [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, value],
        )),
    }
}

/// Opens and checks an archive: it is read or refused, and read again alike.
pub fn walk(path: &Path) {
    let Ok(archive) = Archive::open(path) else {
        return;
    };
    let found = check(&archive);
    for rank in 0..archive.ranks().min(4) {
        let Ok(mut reader) = archive.reader(rank) else {
            continue;
        };
        let mut events = 0_u64;
        while let Ok(Some(next)) = reader.next_event() {
            let _ = format!("{:?} {}", next.event, archive.region(7));
            events += 1;
        }
        // After an error nothing comes.
        assert!(matches!(reader.next_event(), Ok(None)));
        if let Ok(found) = &found {
            assert!(events <= found.counts.events || !found.is_clean());
        }
    }
}
