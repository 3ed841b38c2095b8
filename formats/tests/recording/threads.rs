//! Ranks whose threads call MPI.

use crate::write::{NULL, Stream, Times, all_done, collective, directory, message, none};
use flitwise_formats::recording::{Call, Item, Phase, Set, check};

/// The begins and ends of the calls of the only rank.
fn order(streams: &[Stream]) -> Vec<(u32, Phase, String)> {
    let dir = directory(streams);
    let set = Set::open(dir.path()).unwrap();
    assert!(
        check(&set).unwrap().is_clean(),
        "{:?}",
        check(&set).unwrap().errors
    );
    let mut reader = set.reader(0).unwrap();
    assert_eq!(reader.threads(), streams.len());
    let mut shown = Vec::new();
    while reader
        .next(|phase, item| {
            if let Item::Call(record) = item
                && !matches!(record.call, Call::Init(_))
            {
                shown.push((record.thread, phase, record.function.name.to_string()));
            }
        })
        .unwrap()
        .is_some()
    {}
    shown
}

#[test]
fn calls_of_threads_overlap() {
    let barrier = || collective(0, NULL).vs([0, 0]);
    let mut one = Stream::new(0, 1);
    one.call_at("MPI_Barrier", barrier(), Times(1000, 1000, 5000));
    one.end([0, 0, 0, 2]);
    let mut other = Stream::of_thread(0, 1, 1);
    // Its clock starts later.
    other.started_ns += 500;
    other.call_at(
        "MPI_Probe",
        crate::write::envelope(0, 0, 1).vs([4, 8]),
        Times(0, 1500, 1000),
    );
    other.end([1, 0, 0, 2]);
    let name = |name: &str| name.to_owned();
    assert_eq!(
        order(&[one, other]),
        [
            (0, Phase::Begin, name("MPI_Barrier")),
            (1, Phase::Begin, name("MPI_Probe")),
            (1, Phase::End, name("MPI_Probe")),
            (0, Phase::End, name("MPI_Barrier")),
        ]
    );
}

/// Clocks of threads are not exact: no request completes before it is made.
#[test]
fn a_request_of_another_thread_is_made_before_it_completes() {
    let mut maker = Stream::new(0, 1);
    maker.call_at("MPI_Irecv", message(0, 0, 1, 8), Times(0, 9000, 10));
    maker.call("MPI_Send", message(0, 0, 1, 8));
    maker.end([0, 0, 0, 2]);
    let mut other = Stream::of_thread(0, 1, 1);
    other.call_at("MPI_Wait", all_done(&[2]), Times(0, 100, 10));
    other.call("MPI_Test", none().seq(&[3]).v(1));
    other.end([1, 0, 0, 2]);
    let names: Vec<_> = order(&[maker, other])
        .into_iter()
        .map(|(_, phase, name)| (phase, name))
        .collect();
    let at = |phase, name: &str| {
        names
            .iter()
            .position(|shown| *shown == (phase, name.to_owned()))
    };
    assert!(
        at(Phase::Begin, "MPI_Irecv") < at(Phase::End, "MPI_Wait"),
        "{names:?}"
    );
}

/// The time of a block sets the clock right: the recorder's own time is in no record.
#[test]
fn blocks_have_times() {
    let barrier = || collective(0, NULL).vs([0, 0]);
    let mut one = Stream::new(0, 1);
    one.flush_at(50_000);
    one.call("MPI_Barrier", barrier());
    one.end([0, 0, 0, 2]);
    let mut other = Stream::of_thread(0, 1, 1);
    other.call_at(
        "MPI_Probe",
        crate::write::envelope(0, 0, 1).vs([4, 8]),
        Times(0, 20_000, 10),
    );
    other.end([1, 0, 0, 2]);
    let first = order(&[one, other]).remove(0);
    assert_eq!((first.0, first.1), (1, Phase::Begin));
}
