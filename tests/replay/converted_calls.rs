//! Traces of MPI calls in another format: a job that ends in one ends in all, and collectives remain ones where a format has
//! them.

use crate::conversions::{FORMS, RANKS, converted, goal_text, played_with, reading};
use flitwise::convert::{Form, convert};
use flitwise::replay::mpi::Protocol;
use flitwise::replay::trace::check_file;
use flitwise::stop::Stop;
use proptest::prelude::*;
use std::path::PathBuf;
use tempfile::TempDir;

const LONG: u64 = 100_000;

/// A TI trace: the calls of each rank.
fn ti<T: AsRef<str>>(dir: &TempDir, ranks: &[Vec<T>]) -> PathBuf {
    let path = dir.path().join("calls.ti");
    let lines = (0..).zip(ranks).flat_map(|(rank, calls)| {
        let calls = calls.iter().map(AsRef::as_ref);
        let calls = ["init"].into_iter().chain(calls).chain(["finalize"]);
        calls
            .map(move |call| format!("{rank} {call}\n"))
            .collect::<Vec<_>>()
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

/// The job ends in all formats, with the usual protocol.
#[track_caller]
fn ends_everywhere(dir: &TempDir, trace: &std::path::Path) {
    let protocol = Protocol::default();
    played_with(trace, protocol);
    for form in FORMS {
        let (copy, _) = converted(trace, form, dir);
        played_with(&copy, protocol);
    }
}

#[test]
fn collectives_with_a_root_remain_collectives() {
    let dir = tempfile::tempdir().unwrap();
    for root in 0..RANKS {
        let calls = vec![
            format!("bcast 1000 {root} 6"),
            format!("reduce 1000 0 {root} 6"),
            format!("gather 10 10 {root} 6 6"),
            format!("scatter 10 10 {root} 6 6"),
        ];
        let trace = ti(&dir, &vec![calls; RANKS as usize]);
        for form in [Form::Vef3, Form::Ti] {
            let (_, written) = converted(&trace, form, &dir);
            let counts = (written.collectives, written.messages, written.losses);
            assert_eq!(counts, (4, 0, vec![]), "root {root} as {form:?}");
        }
    }
}

/// Rank 2 passes the data on to rank 3 while it is in the barrier, which rank 3 enters with the data only.
#[test]
fn a_collective_beside_another_one_becomes_messages() {
    let dir = tempfile::tempdir().unwrap();
    let early = ["ibcast 100 0 6", "barrier", "waitall"];
    let late = ["ibcast 100 0 6", "waitall", "barrier"];
    let first = [&["compute 10000"][..], &late].concat();
    let trace = ti(&dir, &[first, late.to_vec(), early.to_vec(), late.to_vec()]);
    ends_everywhere(&dir, &trace);
    let (_, written) = converted(&trace, Form::Ti, &dir);
    assert_eq!(written.collectives, 0, "{:?}", written.losses);
    // Where all wait at once, nothing is beside them.
    let trace = ti(&dir, &vec![late.to_vec(); RANKS as usize]);
    let (_, written) = converted(&trace, Form::Ti, &dir);
    assert_eq!(written.collectives, 2, "{:?}", written.losses);
}

/// Rank 2 passes the data on to rank 3, or sends it a short message, while its long one waits for its receive.
#[test]
fn what_is_beside_a_long_send_does_not_wait_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let send = format!("send 3 5 {LONG} 6");
    let recv = format!("recv 2 5 {LONG} 6");
    let other = vec!["ibcast 100 0 6", "waitall"];
    let trace = ti(
        &dir,
        &[
            vec!["compute 10000", "ibcast 100 0 6", "waitall"],
            other.clone(),
            vec!["ibcast 100 0 6", &send, "waitall"],
            [&other[..], &[&recv]].concat(),
        ],
    );
    ends_everywhere(&dir, &trace);
    let sends = format!(
        "a: send {LONG}b to 1 tag 1\nb: send 1b to 1 tag 2\nb requires a\nc: calc 10\n\
         d: send 1b to 1 tag 3\nd requires c\n"
    );
    let recvs = format!(
        "a: recv 1b from 0 tag 3\nb: recv {LONG}b from 0 tag 1\nb requires a\nrecv 1b from 0 tag 2\n"
    );
    let ranks = [(sends, 4, String::new()), (recvs, 3, String::new())];
    let trace = dir.path().join("long.goal");
    std::fs::write(&trace, goal_text(&ranks)).unwrap();
    ends_everywhere(&dir, &trace);
}

/// Formats without communicators have the messages of collectives among all others.
#[test]
fn receives_of_any_tag_take_no_message_of_a_collective() {
    let dir = tempfile::tempdir().unwrap();
    for collective in ["barrier", "iallreduce 8 0 6"] {
        let waits = vec!["irecv -333 -444 1000 6", collective, "waitall"];
        let sends = vec![collective, "compute 50000", "send 0 7 1000 6", "waitall"];
        let trace = ti(&dir, &[waits, sends]);
        ends_everywhere(&dir, &trace);
        let (_, written) = converted(&trace, Form::Goal, &dir);
        let said = written.losses.join("\n");
        assert!(
            said.contains("1 receives of any tag name the tag"),
            "{said}"
        );
    }
}

/// The first receive takes the message of the second, for which no operation waits.
#[test]
fn a_receive_that_no_operation_waits_for_may_get_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let receives = vec!["irecv -333 -444 8 6", "irecv 2 1 8 6", "compute 10"];
    let sends = |flops| vec![flops, "send 0 1 8 6"];
    let trace = ti(
        &dir,
        &[receives, sends("compute 5000"), sends("compute 10")],
    );
    let (copy, written) = converted(&trace, Form::Vef3, &dir);
    played_with(&copy, Protocol::default());
    let said = written.losses.join("\n");
    assert!(
        said.contains("1 receives get no message and are left out"),
        "{said}"
    );
    // A rank that waits for it waits without end.
    let waits = vec!["irecv -333 -444 8 6", "irecv 2 1 8 6", "waitall"];
    let trace = ti(&dir, &[waits, sends("compute 5000"), sends("compute 10")]);
    let file = check_file(&trace, Stop::never()).unwrap();
    let refused = convert(&*file, &trace, &reading(), Form::Vef3, &mut Vec::new());
    let message = format!("{:#}", refused.unwrap_err());
    assert!(
        message.contains("rank 0 waits for a message from rank 2 (tag 1)"),
        "{message}"
    );
}

/// Calls that end in any order of waits: in the order of the pieces each waits only for earlier ones, or for its own peers.
fn calls(pieces: &[[u8; 6]]) -> Vec<Vec<String>> {
    let mut ranks: Vec<Vec<String>> = vec![Vec::new(); RANKS as usize];
    for (tag, &[kind, a, b, size, how, who]) in pieces.iter().enumerate() {
        let bytes = [8, 1000, LONG][usize::from(size) % 3];
        let (from, distance) = (u32::from(a) % RANKS, 1 + u32::from(b) % (RANKS - 1));
        let to = (from + distance) % RANKS;
        let waits = |bit: u8| if how >> bit & 1 == 1 { "i" } else { "" };
        let collective = match kind % 8 {
            0 | 1 => {
                let mode = ["", "b", "s", ""][usize::from(how) >> 6];
                ranks[from as usize].push(format!("{}{mode}send {to} {tag} {bytes} 6", waits(0)));
                ranks[to as usize].push(format!("{}recv {from} {tag} {bytes} 6", waits(1)));
                continue;
            }
            2 | 3 => "waitall".into(),
            4 => format!("{}bcast {bytes} {from} 6", waits(0)),
            5 => format!("{}allreduce {bytes} 0 6", waits(0)),
            6 => format!("{}barrier", waits(0)),
            _ => format!("{}reduce {bytes} 0 {from} 6", waits(0)),
        };
        let is_wait = collective == "waitall";
        for (rank, calls) in (0..).zip(&mut ranks) {
            let chosen = who >> rank & 1 == 1;
            if !is_wait && chosen {
                calls.push(format!("compute {}", 1000 * (rank + 1)));
            }
            if !is_wait || chosen {
                calls.push(collective.clone());
            }
        }
    }
    ranks
        .iter_mut()
        .for_each(|calls| calls.push("waitall".into()));
    ranks
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_calls_end_in_all_formats(pieces in prop::collection::vec(any::<[u8; 6]>(), 1..16)) {
        let dir = tempfile::tempdir().unwrap();
        ends_everywhere(&dir, &ti(&dir, &calls(&pieces)));
    }
}
