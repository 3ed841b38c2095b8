//! No bytes make a replay panic.

use super::write::{
    ANY, Bytes, NULL, Stream, all_done, collective, envelope, last, message, none, nth,
};
use super::*;
use crate::convert::{Form, convert};
use proptest::prelude::*;

#[path = "../../../../../tests/fuzz/recordings.rs"]
mod given;

/// Reads all that a recording has, as a run and a conversion do.
fn read(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    given::write(data, dir.path());
    let input = flitwise_formats::source::Input::new(dir.path());
    let format = crate::trace::format_of(&input).unwrap();
    let verdict = (format.verdict)(&input).unwrap();
    let Ok(file) = check_file(dir.path(), Stop::never()) else {
        assert!(!verdict.errors.is_empty());
        return;
    };
    let reading = Reading {
        skip_unsupported: true,
        allow_no_communication: true,
        ..Reading::default()
    };
    let mut program = file.open(&reading, Stop::never()).unwrap();
    for rank in RankId::all(2) {
        while let Ok(Some(_)) = program.next(rank, StreamId::new(0)) {}
    }
    let _ = convert(&*file, dir.path(), &reading, Form::Vef3, &mut Vec::new());
}

/// A stream of a rank with some of everything.
fn records(rank: u32) -> Vec<u8> {
    let other = i64::from(1 - rank);
    let mut stream = Stream::new(rank, 2);
    stream.comm(
        [2, 0, 0, 1],
        "MPI_Intercomm_create",
        &[&[i64::from(rank)], &[other]],
    );
    stream.comm(
        [3, 0, 0, 2],
        "MPI_Cart_create",
        &[&[0, 1], &[-1, other], &[other, -1]],
    );
    stream.call("MPI_Irecv", message(0, ANY, 7, 64));
    stream.call("MPI_Send_init", message(0, other, 7, 64));
    stream.call("MPI_Start", none().seq(&[nth(1)]));
    let got = none()
        .seq(&[last(1), nth(1), 3])
        .v(1)
        .vs([1, other as u64 + 3, 0]);
    stream.call("MPI_Waitall", got);
    stream.call("MPI_Iprobe", envelope(0, ANY, 7).v(0));
    stream.call("MPI_Allgather", collective(2, NULL).vs([2, 8, 1, 2, 8, 1]));
    let lists = collective(3, NULL).vs([2, 8, 1, 3, 8]).seq(&[1, 2]);
    stream.call("MPI_Ineighbor_allgatherv", lists);
    stream.call("MPI_Wait", all_done(&[last(0)]));
    let lists = Bytes([collective(0, NULL).vs([3, 8]).seq(&[1, 2]).0, vec![1]].concat());
    stream.call("MPI_Alltoallv", lists);
    stream.call("MPI_Win_fence", none());
    stream.finalize();
    stream.payload.0
}

#[test]
fn a_sound_recording_is_read() {
    let [one, other] = [0, 1].map(records);
    read(&[&[1][..], &(one.len() as u16).to_le_bytes(), &one, &other].concat());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_a_sound_recording_makes_it_panic(
        bytes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..20), 1..3),
    ) {
        let [one, other] = [0, 1].map(records);
        let mut data = [&[1][..], &(one.len() as u16).to_le_bytes(), &one, &other].concat();
        for (at, byte) in bytes {
            let at = at.index(data.len() - 3) + 3;
            data[at] = byte;
        }
        read(&data);
    }
}
