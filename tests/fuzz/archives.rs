//! Properties of the readers of OTF2 archives that hold for any bytes.

use flitwise_formats::otf2::{Archive, check};
use std::path::Path;

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
