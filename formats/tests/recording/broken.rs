//! Streams that are cut or damaged.

use crate::properties;
use crate::write::{
    Bytes, NULL, Stream, all_done, collective, directory, envelope, last, message, none, ranks,
};
use flitwise_formats::recording::{Check, Set, check};
use proptest::prelude::*;

#[track_caller]
fn verdict(streams: &[Stream]) -> Check {
    let dir = directory(streams);
    check(&Set::open(dir.path()).unwrap()).unwrap()
}

/// The only error, or the only warning, of a recording of two ranks of which rank 0 has this.
#[track_caller]
fn says(between: impl Fn(&mut Stream), expected: &str) {
    let streams = ranks(2, |stream| {
        if stream.rank == 0 {
            between(stream);
        }
    });
    let check = verdict(&streams);
    let all = check.errors.first.iter().chain(&check.warnings.first);
    let all: Vec<String> = all.map(ToString::to_string).collect();
    assert!(
        all.iter().any(|one| one.contains(expected)),
        "{expected}: {all:#?}"
    );
    for one in &all {
        assert!(
            one.contains("0.0.calls: byte ") && one.contains("rank 0"),
            "{one}"
        );
    }
}

#[test]
fn whole_blocks_that_violate_the_format_are_refused() {
    let raw = |bytes: Bytes| {
        move |stream: &mut Stream| {
            stream.payload.0.extend(bytes.0.clone());
            stream.flush();
        }
    };
    says(raw(none().v(7)), "a number is cut off");
    says(raw(none().vs([2, 0, 8])), "a repetition of no call");
    says(raw(none().vs([2, 4, 6])), "a repetition of no call");
    says(raw(none().vs([999])), "a repeated tuple that there is not");
    says(raw(none().vs([0, 99])), "a length beyond the end");
    says(
        raw(none().vs([0, 1, 99, 0, 0, 0])),
        "a function without a name",
    );
    says(
        raw(none().vs([5, 9, 0, 0, 0])),
        "for a reason that is not known",
    );
    says(raw(Bytes(vec![0x80])), "a number is cut off");
    says(raw(Bytes(vec![3, 1, 0xff])), "a text that is not in UTF-8");
    says(
        raw(none().vs([4, 5, 0, 0, 4, 0, 0])),
        "flags of a communicator",
    );
    let call = |name: &'static str, fields: Bytes| {
        move |stream: &mut Stream| stream.call(name, fields.clone())
    };
    says(call("MPI_Send", message(0, 1, 7, 64).v(0)), "more fields");
    says(
        call("MPI_Send", none().vs([0, 1 << 40, 0, 0, 0])),
        "a rank beyond the range",
    );
    says(
        call("MPI_Send", none().vs([0, 4, 1 << 40, 0, 0])),
        "a tag beyond the range",
    );
    says(
        call("MPI_Send", none().vs([0, 4, 1, u64::MAX, 2])),
        "more than 2^64 bytes",
    );
    says(
        call("MPI_Recv", message(0, 1, 7, 64).v(32)),
        "flags of a result",
    );
    says(
        call("MPI_Iprobe", envelope(0, 1, 7).v(2)),
        "neither 0 nor 1",
    );
    says(call("MPI_Wait", none().seq(&[3]).v(3)), "not 0, 1 or 2");
    says(
        call("MPI_Wait", none().seq(&[3]).v(2).seq(&[1])),
        "not among the requests",
    );
    says(
        call("MPI_Barrier", collective(0, NULL).vs([5, 0])),
        "a part of a kind",
    );
    let negative = collective(0, NULL).vs([0, 3, 8]).seq(&[-1, 1]);
    says(call("MPI_Allgatherv", negative), "a negative count");
    let many = none().vs([1, 1 << 30, 0, 0]).v(0);
    says(call("MPI_Waitall", many), "too many numbers");
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let call = |name: &'static str, fields: Bytes| {
        move |stream: &mut Stream| stream.call(name, fields.clone())
    };
    says(
        call("MPI_Send", message(0, 2, 7, 64)),
        "rank 2 does not exist in communicator 0",
    );
    says(
        call("MPI_Send", message(5, 0, 7, 64)),
        "no record describes communicator 5",
    );
    says(
        call("MPI_Wait", all_done(&[last(0)])),
        "names a request that no call made",
    );
    says(
        call("MPI_Start", none().seq(&[1])),
        "names a request that no call made",
    );
    says(
        call("MPI_Mrecv", none().vs([0, 1, 1, 0])),
        "a message that no call took",
    );
    says(
        |stream| {
            stream.call("MPI_Irecv", message(0, 1, 7, 64));
            stream.call("MPI_Wait", all_done(&[last(0)]));
            stream.call("MPI_Wait", all_done(&[last(0)]));
        },
        "or that is complete",
    );
}

#[test]
fn oddities_are_warnings() {
    says(
        |stream| {
            stream.call("MPI_Irecv", message(0, 1, 7, 64));
            stream.call("MPI_Isend", message(0, 1, 7, 64));
        },
        "2 requests never complete",
    );
    for (reason, says) in [(2, "ends without MPI_Finalize"), (3, "ends with MPI_Abort")] {
        let mut streams = ranks(2, |_| {});
        let mut early = Stream::new(0, 2);
        early.end([reason, 0, 0, 1]);
        streams[0] = early;
        let check = verdict(&streams);
        assert!(check.is_clean());
        let warning = check.warnings.first[0].to_string();
        assert!(warning.contains(says), "{warning}");
    }
    let check = verdict(&ranks(2, |stream| {
        stream.failed("MPI_Send");
        stream.note("fork");
    }));
    assert_eq!((check.ranks[0].failed, check.notes["fork"]), (1, 2));
}

/// A program that was killed: the blocks that are whole are there, wherever the file ends.
#[test]
fn a_cut_stream_is_read_up_to_its_last_whole_block() {
    let mut streams = ranks(2, |_| {});
    let mut killed = Stream::new(0, 2);
    for tag in 0..3 {
        killed.flush();
        killed.call("MPI_Send", message(0, 1, tag, 64));
    }
    killed.flush();
    streams[0] = killed.clone();
    let dir = directory(&streams);
    let file = killed.bytes();
    let mut calls = Vec::new();
    for end in 0..=file.len() {
        std::fs::write(dir.path().join("0.0.calls"), &file[..end]).unwrap();
        let check = check(&Set::open(dir.path()).unwrap()).unwrap();
        if end < 80 {
            assert!(
                check.errors.first[0]
                    .message
                    .contains("the header is cut off")
            );
            continue;
        }
        assert!(check.is_clean(), "{end}: {:?}", check.errors.first);
        let warning = check.warnings.first[0].to_string();
        assert!(warning.contains("the stream has no end"), "{warning}");
        calls.push(check.ranks[0].calls);
    }
    assert!(calls.is_sorted());
    calls.dedup();
    assert_eq!(calls, [0, 1, 2, 3, 4]);
}

/// Without its end, a stream of a program that came to its end is damaged, and so is every whole block with other bytes.
#[test]
fn damaged_streams_are_refused() {
    let mut killed = ranks(2, |_| {});
    killed[0] = Stream::new(0, 2);
    for (streams, is_finalised) in [(ranks(2, |_| {}), true), (killed, false)] {
        let dir = directory(&streams);
        let file = streams[0].bytes();
        let says = |bytes: &[u8]| {
            std::fs::write(dir.path().join("0.0.calls"), bytes).unwrap();
            let check = check(&Set::open(dir.path()).unwrap()).unwrap();
            check.errors.first.first().map(ToString::to_string)
        };
        assert_eq!(says(&file), None);
        for end in 80..file.len() {
            let says = says(&file[..end]);
            assert_eq!(says.is_some(), is_finalised, "{end}: {says:?}");
            assert!(says.is_none_or(|says| says.contains("rank 0: the stream stops here, though the program came to its end; the stream is damaged: copy it")));
        }
        for at in 80..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            // A longer block may be cut off.
            let is_longer = at < 84 && damaged[at] > file[at];
            let says = says(&damaged).unwrap_or_default();
            let is_refused = says.contains("byte 80: rank 0: the checksum of a block is wrong");
            assert!(is_refused || is_longer, "{at}: {says}");
            assert!(!is_finalised || !says.is_empty(), "{at}");
        }
    }
}

/// A thread that is in a call when the program ends leaves what was written.
#[test]
fn threads_need_no_end() {
    let mut streams = ranks(2, |_| {});
    let mut thread = Stream::of_thread(0, 1, 2);
    thread.call("MPI_Send", message(0, 1, 0, 64));
    streams.push(thread.clone());
    let dir = directory(&streams);
    let check_all = || check(&Set::open(dir.path()).unwrap()).unwrap();
    let whole = check_all();
    assert!(whole.is_clean() && whole.ranks[0].cut == 1);
    let mut file = thread.bytes();
    file.pop();
    std::fs::write(dir.path().join("0.1.calls"), file).unwrap();
    assert_eq!(check_all().errors.total, 1);
}

#[test]
fn damaged_headers_are_refused() {
    let dir = directory(&ranks(1, |_| {}));
    let path = dir.path().join("0.0.calls");
    let file = std::fs::read(&path).unwrap();
    for at in 0..80 {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let check = check(&Set::open(dir.path()).unwrap()).unwrap();
        assert_eq!(check.errors.total, 1, "{at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(data in prop::collection::vec(0_u8..32, 0..200)) {
        properties::recording(&data);
    }

    #[test]
    fn nothing_panics_behind_a_sound_start(
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut stream = Stream::new(0, 2);
        stream.call("MPI_Irecv", message(0, 1, 7, 64));
        stream.call("MPI_Ialltoallv", Bytes([collective(0, NULL).vs([3, 8]).seq(&[1, 2]).0, vec![1]].concat()));
        stream.call("MPI_Waitall", all_done(&[last(0), last(1), 3]));
        stream.call("MPI_Iprobe", envelope(0, 1, 7).vs([1, 4, 64]));
        stream.finalize();
        let size = (stream.payload.0.len() as u16).to_le_bytes();
        let mut data = [&[1][..], &size, &stream.payload.0].concat();
        for (at, byte) in bytes {
            let at = at.index(data.len() - 3) + 3;
            data[at] = byte;
        }
        properties::recording(&data);
    }
}
