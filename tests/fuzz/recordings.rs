//! Properties of every input that is read as a recording: one function per fuzz target, as in `properties.rs`.
#![allow(dead_code, reason = "each target uses one of them")]

use flitwise_formats::recording::{
    Call, Item, Matching, Reader, Reference, Set, Writer, check_seen,
};
use std::path::Path;

const RUN: [u8; 16] = *b"0123456789abcdef";

/// A stream of a recording of two ranks whose blocks have these records.
fn stream(rank: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut file = b"FLITREC\n".to_vec();
    for number in [1, rank, 0, 2] {
        file.extend([number, 0, 0, 0]);
    }
    file.extend(RUN);
    file.extend(1_000_000_000_u64.to_le_bytes());
    for number in [200_u32, 20, 190, 400, 2, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    let checksum = |bytes: &[u8]| {
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        sum.sum()
    };
    file.extend(checksum(&file).to_le_bytes());
    for payload in payloads {
        let mut summed = 0_u64.to_le_bytes().to_vec();
        summed.extend(*payload);
        file.extend((payload.len() as u32).to_le_bytes());
        file.extend(checksum(&summed).to_le_bytes());
        file.extend(summed);
    }
    file
}

/// Writes the recording that `data` describes into `dir`: an even first byte gives the files of two ranks, an odd one their
/// records, which get headers and checksums; the next two bytes have the length of the first.
pub fn write(data: &[u8], dir: &Path) {
    let (kind, rest) = data.split_first().unwrap_or((&0, &[]));
    let (at, rest) = rest.split_at_checked(2).unwrap_or((&[], &[]));
    let at = at
        .iter()
        .rev()
        .fold(0, |at, byte| at << 8 | usize::from(*byte));
    let (one, other) = rest.split_at(at.min(rest.len()));
    for (rank, part) in [(0, one), (1, other)] {
        let file = match kind % 2 {
            0 => part.to_vec(),
            _ => stream(rank, &[part]),
        };
        std::fs::write(dir.join(format!("{rank}.0.calls")), file).unwrap();
    }
    let run: String = RUN.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!(
        "format = 1\nrun = \"{run}\"\nranks = 2\nhosts = [\"a\"]\nhost_of_rank = [0, 0]\nprocessors_of_rank = [1, 1]\n"
    );
    std::fs::write(dir.join("recording.toml"), text).unwrap();
}

/// A recording gets a verdict, whatever its bytes are; its streams say the same when they are read alone.
pub fn recording(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    write(data, dir.path());
    let set = Set::open(dir.path()).unwrap();
    let mut matching = Matching::new(2);
    let mut seen = [0_u64; 2];
    let mut see = |rank: u32, _, item: &Item<'_>| match item {
        Item::Communicator(comm) => matching.add(rank, comm),
        Item::Call(record) => {
            seen[rank as usize] += 1;
            roles(&record.call);
            Ok(())
        }
        _ => Ok(()),
    };
    let check = check_seen(&set, &mut see, flitwise_base::stop::Stop::never()).unwrap();
    assert_eq!(check.is_clean(), check.errors.first.is_empty());
    for problem in check.errors.first.iter().chain(&check.warnings.first) {
        assert!(!problem.message.is_empty(), "{problem}");
    }
    if check.is_clean() && matching.finish().is_ok() {
        for (rank, info) in check.ranks.iter().enumerate() {
            assert_eq!(info.records, seen[rank]);
            assert!(info.calls >= info.records);
        }
    }
    for rank in 0..2 {
        let path = dir.path().join(format!("{rank}.0.calls"));
        alone(&path, seen[rank as usize]);
    }
}

/// A stream has at most as many calls in memory as in its file, which may be of another rank.
fn alone(path: &Path, calls: u64) {
    let bytes = std::fs::read(path).unwrap();
    let size = bytes.len() as u64;
    let Ok(mut reader) = Reader::of_bytes(path, bytes) else {
        return assert_eq!(calls, 0);
    };
    let mut alone = 0;
    while let Ok(Some(is_call)) = reader.next(|item| matches!(item, Item::Call(_))) {
        alone += u64::from(is_call);
        assert!(reader.offset() <= size);
    }
    assert!(calls == 0 || alone == calls, "{alone} calls, not {calls}");
    written_again(path);
}

/// Times of which a sum is in range.
const LONG_NS: u64 = 1 << 50;

/// Reads a stream, writes it, reads it again, and compares the meanings.
fn written_again(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let Ok(mut reader) = Reader::of_bytes(path, bytes) else {
        return;
    };
    let mut writer = Writer::new(reader.header());
    let (mut all, mut is_sane) = (Vec::new(), true);
    let mut write = |item: &Item<'_>| {
        match item {
            Item::Call(record) => {
                let times = &record.times;
                is_sane &= times.cpu_ns < LONG_NS && times.wall_ns < LONG_NS;
                writer.call(&record.function.name, &record.call, record.repeats, times);
            }
            Item::Communicator(comm) => writer.communicator(comm),
            Item::Note(text) => writer.note(text),
            Item::End(end) => writer.end(end),
            _ => {}
        }
        all.push(text(item));
    };
    while let Ok(Some(())) = reader.next(&mut write) {}
    let again = writer.finish().unwrap();
    let mut reader = Reader::of_bytes(path, again).unwrap();
    let mut all = all.into_iter();
    let mut compare = |item: &Item<'_>| {
        let expected = all.next();
        assert!(
            !is_sane || expected == Some(text(item)),
            "{expected:?} {item:?}"
        );
    };
    while reader.next(&mut compare).unwrap().is_some() {}
    assert_eq!(all.next(), None);
}

/// A record without its place.
fn text(item: &Item<'_>) -> String {
    match item {
        Item::Call(record) => {
            let mut record = *record;
            record.offset = 0;
            format!("{record:?}")
        }
        other => format!("{other:?}"),
    }
}

/// Every call says which requests it names.
fn roles(call: &Call<'_>) {
    if let Call::Complete(completion) = call {
        let given = completion.requests().iter().take(1 << 12).count();
        let mut done = 0;
        completion.each(|reference, _| {
            assert!(reference.is_some());
            done += 1;
        });
        assert!(!completion.is_empty() || done == 0);
        assert!(given > 0 || done == 0);
    }
    if let Call::Start(all) = call {
        let none = |reference| matches!(reference, Reference::Null | Reference::Unrecorded);
        assert!(!all.iter().take(1 << 12).any(none));
    }
}
