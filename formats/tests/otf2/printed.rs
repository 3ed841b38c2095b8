//! The events of archives against what `otf2-print`, the program of the library, says of them.

use super::corpus;
use super::write::{Order, Packed, rewritten};
use flitwise_formats::otf2::{Archive, Event, Location, Stamped, check};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Location, time, kind and numbers of an event.
type Line = (u64, u64, &'static str, Vec<u64>);

/// An event as `otf2-print` says it: its kind, and the numbers of its attributes.
fn said(event: &Event) -> Option<(&'static str, Vec<u64>)> {
    let root = |root: u32| match root {
        u32::MAX => vec![],
        root => vec![root.into()],
    };
    Some(match *event {
        Event::Enter(region) => ("ENTER", vec![region.into()]),
        Event::Leave(region) => ("LEAVE", vec![region.into()]),
        Event::Send(m) => ("MPI_SEND", message(m, &[])),
        Event::Isend(m, request) => ("MPI_ISEND", message(m, &[request])),
        Event::IsendComplete(request) => ("MPI_ISEND_COMPLETE", vec![request]),
        Event::IrecvRequest(request) => ("MPI_IRECV_REQUEST", vec![request]),
        Event::Recv(m) => ("MPI_RECV", message(m, &[])),
        Event::Irecv(m, request) => ("MPI_IRECV", message(m, &[request])),
        Event::RequestTest(request) => ("MPI_REQUEST_TEST", vec![request]),
        Event::RequestCancelled(request) => ("MPI_REQUEST_CANCELLED", vec![request]),
        Event::CollectiveBegin => ("MPI_COLLECTIVE_BEGIN", vec![]),
        Event::CollectiveEnd(c) => (
            "MPI_COLLECTIVE_END",
            [vec![c.comm.into()], root(c.root), vec![c.sent, c.received]].concat(),
        ),
        Event::CollectiveRequest(request) => ("NON_BLOCKING_COLLECTIVE_REQUEST", vec![request]),
        Event::CollectiveComplete(c, request) => (
            "NON_BLOCKING_COLLECTIVE_COMPLETE",
            [
                vec![c.comm.into()],
                root(c.root),
                vec![c.sent, c.received, request],
            ]
            .concat(),
        ),
        Event::CommCreate(comm) => ("COMM_CREATE", vec![comm.into()]),
        Event::CommDestroy(comm) => ("COMM_DESTROY", vec![comm.into()]),
        Event::BufferFlush(until) => ("BUFFER_FLUSH", vec![until]),
        _ => return None,
    })
}

fn message(m: flitwise_formats::otf2::Message, more: &[u64]) -> Vec<u64> {
    let numbers = [m.peer.into(), m.comm.into(), m.tag.into(), m.bytes];
    [&numbers[..], more].concat()
}

/// The events of a location that [`said`] knows.
fn read(archive: &Archive, location: &Location) -> Vec<Line> {
    let mut events = archive.reader_of(location).unwrap();
    let mut lines = Vec::new();
    while let Some(Stamped { time, event, .. }) = events.next_event().unwrap() {
        if let Some((kind, numbers)) = said(&event) {
            lines.push((location.id, time, kind, numbers));
        }
    }
    lines
}

/// The kinds of events that are compared.
const KINDS: [&str; 17] = [
    "ENTER",
    "LEAVE",
    "MPI_SEND",
    "MPI_ISEND",
    "MPI_ISEND_COMPLETE",
    "MPI_IRECV_REQUEST",
    "MPI_RECV",
    "MPI_IRECV",
    "MPI_REQUEST_TEST",
    "MPI_REQUEST_CANCELLED",
    "MPI_COLLECTIVE_BEGIN",
    "MPI_COLLECTIVE_END",
    "NON_BLOCKING_COLLECTIVE_REQUEST",
    "NON_BLOCKING_COLLECTIVE_COMPLETE",
    "COMM_CREATE",
    "COMM_DESTROY",
    "BUFFER_FLUSH",
];

/// The numbers of the attributes in a line: of `"name" <3>` the number, of others what follows the colon.
fn numbers(attributes: &str) -> Vec<u64> {
    let mut found = Vec::new();
    // A name may have commas and parentheses, its number is behind it.
    let mut rest = String::new();
    for (i, part) in attributes.split('"').enumerate() {
        rest += if i % 2 == 0 { part } else { "" };
    }
    for attribute in rest.split(',') {
        let value = attribute.split_once(':').map_or("", |(_, value)| value);
        // A peer also has its location, in parentheses.
        let value = value.split('(').next().unwrap_or_default();
        let value = value.trim().trim_matches(['<', '>']);
        found.extend(value.parse::<u64>().ok());
    }
    found
}

/// The lines of `otf2-print`; `None` where it is not installed.
fn printed(anchor: &Path) -> Option<Vec<Line>> {
    let Ok(output) = Command::new("otf2-print").arg(anchor).output() else {
        println!("skipped: otf2-print (Debian: otf2-tools) is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", anchor.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(&kind) = words
            .next()
            .and_then(|word| KINDS.iter().find(|k| **k == word))
        else {
            continue;
        };
        let location = words.next().unwrap().parse().unwrap();
        let time_word = words.next().unwrap();
        let time = time_word.parse().unwrap();
        let at = line.find(time_word).unwrap() + time_word.len();
        lines.push((location, time, kind, numbers(&line[at..])));
    }
    Some(lines)
}

/// Compares all events of an archive by location. Returns how many.
#[track_caller]
fn agree(anchor: &Path) -> Option<usize> {
    let mut theirs: BTreeMap<u64, Vec<Line>> = BTreeMap::new();
    for line in printed(anchor)? {
        theirs.entry(line.0).or_default().push(line);
    }
    let archive = Archive::open(anchor).unwrap();
    let mut count = 0;
    for location in archive.definitions().locations() {
        let ours = read(&archive, location);
        let theirs = theirs.remove(&location.id).unwrap_or_default();
        assert_eq!(ours.len(), theirs.len(), "location {}", location.id);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        count += ours.len();
    }
    assert!(theirs.is_empty());
    Some(count)
}

#[test]
fn events_are_the_ones_of_otf2_print() {
    for (name, events) in [
        ("stencil", 8 * 84),
        ("calls", 459),
        ("mapped", 6),
        ("lost", 22),
        ("regions", 74),
        ("score-p", 116),
    ] {
        if let Some(count) = agree(&corpus(name).join("traces.otf2")) {
            assert_eq!(count, events, "{name}");
        }
    }
}

#[test]
fn another_byte_order_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["stencil", "calls", "mapped"] {
        let swapped = dir.path().join(name);
        rewritten(&corpus(name), &swapped, Order::Big, Packed::Plain);
        agree(&swapped.join("traces.otf2"));
    }
}

/// A million events by the library itself: sixteen ranks that send round a ring.
#[test]
fn a_million_events_are_the_ones_of_otf2_print() {
    const STEPS: u64 = 6250;
    let dir = tempfile::tempdir().unwrap();
    let library = Command::new("python3").args(["-c", "import otf2"]).output();
    if !library.is_ok_and(|output| output.status.success()) {
        println!("skipped: Python has no module otf2 (PyPI: otf2)");
        return;
    }
    let written = Command::new("python3")
        .arg(corpus("write.py"))
        .arg(dir.path())
        .args(["large", &(16 * 10 * STEPS).to_string()])
        .status()
        .unwrap();
    assert!(written.success());
    let anchor = dir.path().join("large/traces.otf2");
    let check = check(&Archive::open(&anchor).unwrap()).unwrap();
    assert!(check.is_clean(), "{:?}", check.errors.first);
    let counts = check.counts;
    assert_eq!((counts.sends, counts.receives), (16 * STEPS, 16 * STEPS));
    let bytes = (0..STEPS).map(|step| 8 * (step % 5000)).sum::<u64>();
    assert_eq!(counts.send_bytes, 16 * bytes);
    if let Some(count) = agree(&anchor) {
        assert_eq!(count as u64, 16 * 10 * STEPS);
    }
}

/// An archive that Score-P wrote, which the environment names.
#[test]
fn events_of_another_archive_are_the_ones_of_otf2_print() {
    match std::env::var_os("FLITWISE_OTF2") {
        Some(anchor) => println!("{:?} events agree", agree(Path::new(&anchor))),
        None => println!("skipped: FLITWISE_OTF2 names no anchor file"),
    }
}
