//! Archives have the same ranks, communicators and events in every byte order and packing.

use super::corpus;
use super::write::{Order, Packed, rewritten};
use flitwise_formats::otf2::{Archive, Called, Check, Event, View, check};
use std::path::Path;

fn checked(path: &Path) -> (Archive, Check) {
    let archive = Archive::open(path).unwrap();
    let check = check(&archive).unwrap();
    assert!(check.is_clean(), "{:?}", check.errors.first);
    (archive, check)
}

#[test]
fn a_stencil_is_counted() {
    for path in [corpus("stencil"), corpus("stencil/traces.otf2")] {
        let (archive, check) = checked(&path);
        assert_eq!(archive.ranks(), 8);
        assert_eq!(archive.anchor().creator, "Score-P 8.4");
        assert_eq!(archive.definitions().ticks_per_second, 1_000_000_000);
        let counts = check.counts;
        // Three times eight ranks send to both neighbours.
        assert_eq!((counts.sends, counts.receives), (48, 48));
        assert_eq!(counts.send_bytes, 3 * 2 * (8 * 4096 + 28));
        assert_eq!((counts.collectives, counts.open_receives), (24, 0));
        assert!(check.warnings.is_empty() && check.silent.is_empty());
        assert_eq!(check.calls["MPI_Irecv"], 48);
        assert_eq!(check.calls.len(), 6);
    }
}

/// Counters of the processor are among the events.
#[test]
fn an_archive_of_score_p_is_counted() {
    let (archive, check) = checked(&corpus("score-p"));
    assert_eq!(archive.anchor().creator, "Score-P 7.1");
    let counts = check.counts;
    assert_eq!((counts.sends, counts.receives), (16, 16));
    // Both ranks send 2^14 to 2^21 bytes.
    assert_eq!(counts.send_bytes, 2 * ((1 << 22) - (1 << 14)));
    assert_eq!((check.calls["MPI_Send"], check.calls["MPI_Recv"]), (16, 16));
    assert!(check.warnings.is_empty() && check.silent.is_empty());
}

#[test]
fn every_order_and_packing_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (_, expected) = checked(&corpus("calls"));
    for (i, (order, packed)) in [
        (Order::Big, Packed::Plain),
        (Order::Little, Packed::Zlib),
        (Order::Big, Packed::Zlib),
        (Order::Little, Packed::Padded),
    ]
    .into_iter()
    .enumerate()
    {
        let to = dir.path().join(i.to_string());
        rewritten(&corpus("calls"), &to, order, packed);
        let (_, found) = checked(&to);
        assert_eq!(found.counts, expected.counts);
        assert_eq!(found.calls, expected.calls);
    }
}

#[test]
fn all_calls_are_counted() {
    let (archive, check) = checked(&corpus("calls"));
    let counts = check.counts;
    assert_eq!((counts.sends, counts.receives), (13, 13));
    assert_eq!((counts.cancelled, counts.open_receives), (1, 0));
    // Sixteen and a barrier of four ranks, a broadcast of two, a gather of four, a reduction of four that does not block, and
    // two handles made and freed.
    assert_eq!(
        (counts.collectives, counts.immediate),
        (4 * 17 + 2 + 4 + 4 + 4, 4)
    );
    assert_eq!((check.threads, check.thread_events), (1, 0));
    assert_eq!(archive.threads()[0].0, 0);
}

#[test]
fn peers_are_ranks() {
    let archive = Archive::open(corpus("calls")).unwrap();
    let comms = archive.comms();
    let id = |name: &str| {
        let found = (0..100).find(|&id| comms.get(id).is_some_and(|(_, comm)| &*comm.name == name));
        found.unwrap()
    };
    let peer = |me: u32, comm: &str, number| {
        let mut view: View = archive.view(me);
        view.get(comms, id(comm)).and_then(|seen| seen.peer(number))
    };
    assert_eq!(peer(2, "MPI_COMM_WORLD", 3), Ok(3));
    assert!(peer(2, "MPI_COMM_WORLD", 4).is_err());
    assert_eq!(peer(2, "MPI_COMM_SELF", 0), Ok(2));
    assert_eq!(peer(1, "odd ranks", 0), Ok(3));
    assert!(peer(0, "odd ranks", 0).unwrap_err().contains("no member"));
    // Peers are in the other group.
    assert_eq!(
        (peer(0, "between", 1), peer(3, "between", 1)),
        (Ok(3), Ok(2))
    );
    let mut view = archive.view(3);
    let seen = view.get(comms, id("between")).unwrap();
    assert_eq!((&*seen.own, seen.me), (&[1, 3][..], 1));
    assert!(view.get(comms, 77).is_err());
}

#[test]
fn numbers_of_a_location_are_translated() {
    let archive = Archive::open(corpus("mapped")).unwrap();
    let mut events = archive.reader(1).unwrap();
    let mut next = || events.next_event().unwrap().unwrap().event;
    let Event::Enter(region) = next() else {
        panic!("no region");
    };
    assert_eq!(archive.region(region), "`MPI_Recv`");
    assert_eq!(archive.called(region), Called::Mpi);
    let Event::Recv(message) = next() else {
        panic!("no message");
    };
    let (_, comm) = archive.comms().get(message.comm).unwrap();
    assert_eq!(&*comm.name, "the other world");
}

#[test]
fn archives_are_found_in_directories() {
    assert!(Archive::is_directory(&corpus("calls")));
    assert!(!Archive::is_directory(&corpus("calls/traces")));
    assert!(!Archive::is_directory(Path::new("/nowhere")));
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let anchor = dir.path().join(name).with_extension("otf2");
        std::fs::copy(corpus("calls/traces.otf2"), anchor).unwrap();
    }
    let e = Archive::open(dir.path()).unwrap_err().to_string();
    assert!(e.contains("more than one OTF2 archive"), "{e}");
}
