//! Recordings that the recorder made of programs with Open MPI and MPICH.

use crate::write::Stream;
use flitwise_formats::recording::{
    Call, Data, How, Item, Message, Mode, Peer, Reader, Record, Set, Times, Writer, check,
};
use std::path::{Path, PathBuf};

/// The recordings of the repository and of the folder that `FLITWISE_RECORDINGS` names.
fn recordings() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/recordings");
    let named = std::env::var_os("FLITWISE_RECORDINGS").map(PathBuf::from);
    let folders = [Some(own), named].into_iter().flatten();
    let mut found = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(&folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| Set::is_directory(path)));
    }
    found.sort();
    found
}

#[test]
fn recordings_of_the_recorder_are_sound() {
    let found = recordings();
    assert!(!found.is_empty());
    for path in found {
        let set = Set::open(&path).unwrap();
        let check = check(&set).unwrap();
        let shown = path.display();
        assert!(check.is_clean(), "{shown}: {:#?}", check.errors.first);
        assert!(check.total(|rank| rank.calls) > 0, "{shown}");
        for warning in &check.warnings.first {
            println!("{warning}");
        }
        for (name, calls) in &check.calls_by_name {
            assert!(*calls > 0 && name.starts_with("MPI_"), "{shown}: {name}");
        }
        println!("{shown}: {:?} {:?}", check.calls_by_name, check.notes);
    }
}

/// The records of a stream as text, without their places.
fn texts(mut stream: Reader) -> Vec<String> {
    let mut all = Vec::new();
    let text = |item: &Item<'_>| match item {
        Item::Call(record) => {
            let mut record = *record;
            record.offset = 0;
            format!("{record:?}")
        }
        other => format!("{other:?}"),
    };
    while let Some(text) = stream.next(text).unwrap() {
        all.push(text);
    }
    all
}

/// The stream with the records of another one.
fn written_again(stream: &mut Reader) -> Vec<u8> {
    let mut writer = Writer::new(stream.header());
    let mut write = |item: &Item<'_>| match item {
        Item::Call(Record {
            function,
            call,
            repeats,
            times,
            ..
        }) => writer.call(&function.name, call, *repeats, times),
        Item::Communicator(comm) => writer.communicator(comm),
        Item::Note(text) => writer.note(text),
        Item::End(end) => writer.end(end),
        _ => panic!("a record that is not known"),
    };
    while stream.next(&mut write).unwrap().is_some() {}
    writer.finish().unwrap()
}

#[test]
fn what_the_recorder_wrote_is_written_again_with_the_same_meaning() {
    let mut streams = 0;
    for path in recordings() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_none_or(|ending| ending != "calls") {
                continue;
            }
            let bytes: Vec<u8> = std::fs::read(&file).unwrap();
            let open = |bytes: &[u8]| Reader::of_bytes(&file, bytes).unwrap();
            let again = written_again(&mut open(&bytes));
            assert_eq!(
                texts(open(&again)),
                texts(open(&bytes)),
                "{}",
                file.display()
            );
            assert_eq!(open(&again).header().run, open(&bytes).header().run);
            streams += 1;
        }
    }
    assert!(streams > 10);
}

#[test]
fn long_streams_have_several_blocks_and_more_tuples_than_slots() {
    let header = Reader::of_bytes(Path::new("0.0.calls"), Stream::new(0, 2).bytes());
    let header = *header.unwrap().header();
    let mut writer = Writer::new(&header);
    let most = 3 * 4096;
    let send = |tag: u32| {
        let (comm, peer) = (0, Peer::Rank(1));
        let data = Data { count: 1, size: 8 };
        let tag = Some(tag);
        Call::Send(
            Message {
                comm,
                peer,
                tag,
                data,
            },
            Mode::Standard,
            How::Blocking,
        )
    };
    for at in 0..2 * most {
        let times = Times {
            cpu_ns: at.into(),
            wall_ns: 5,
            inside_ns: 1,
        };
        writer.call("MPI_Send", &send(at % most), 1, &times);
    }
    assert_eq!(writer.calls(), 2 * u64::from(most));
    let bytes = writer.finish().unwrap();
    let mut reader = Reader::of_bytes(Path::new("0.0.calls"), bytes).unwrap();
    let mut at = 0;
    let mut see = |item: &Item<'_>| {
        let Item::Call(record) = item else {
            panic!("no call")
        };
        assert_eq!(record.call, send(at % most));
        let Times {
            cpu_ns, wall_ns, ..
        } = record.times;
        assert_eq!((cpu_ns, wall_ns), (at.into(), 5));
        at += 1;
    };
    while reader.next(&mut see).unwrap().is_some() {}
    assert_eq!(at, 2 * most);
}

#[test]
fn a_call_longer_than_a_block_is_refused() {
    let header = Reader::of_bytes(Path::new("0.0.calls"), Stream::new(0, 2).bytes());
    let mut writer = Writer::new(header.unwrap().header());
    writer.note(&"x".repeat(17 << 20));
    let why = writer.finish().unwrap_err().to_string();
    assert!(why.contains("more fields than a block"), "{why}");
}
