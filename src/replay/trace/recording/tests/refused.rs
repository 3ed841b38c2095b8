//! Recordings that are refused, and what is wrong with them.

use super::write::{Bytes, NULL, Stream, collective, directory, message, none, ranks};
use super::*;
use crate::trace::format_of;
use flitwise_formats::source::Input;

/// The verdict on a recording: the number of errors, and all texts.
fn verdict(streams: &[Stream]) -> (u64, String) {
    let dir = directory(streams);
    let input = Input::new(dir.path());
    let verdict = (format_of(&input).unwrap().verdict)(&input).unwrap();
    let all = verdict.errors.first.iter().chain(&verdict.warnings.first);
    let all: Vec<String> = all.map(ToString::to_string).collect();
    (verdict.errors.total, all.join("\n"))
}

#[test]
fn calls_without_a_counterpart_are_refused_or_left_out() {
    let streams = ranks(2, |stream| {
        stream.call("MPI_Win_fence", Bytes::default());
        stream.call("MPI_Put", Bytes::default());
        stream.call("MPI_File_open", Bytes::default());
        stream.call("MPI_Comm_spawn", Bytes::default());
        stream.call("MPI_Barrier", collective(0, NULL).vs([0, 0]));
    });
    let dir = directory(&streams);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let refused = file.open(&Reading::default(), Stop::never()).map(|_| ());
    let message = refused.unwrap_err().to_string();
    for part in [
        "4 calls of one-sided communication (the first is MPI_Win_fence of rank 0 at byte ",
        "2 calls that read or write files (the first is MPI_File_open",
        "2 calls that start or meet other processes",
        "skip_unsupported = true leaves them out",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let reading = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    // The barrier and the end.
    assert_eq!(operations(&*file, 0, &reading).len(), 2);
}

#[test]
fn processes_that_are_not_in_the_recording_have_no_replay() {
    let streams = ranks(2, |stream| {
        let own = i64::from(stream.rank);
        stream.comm([2, 0, 0, 1], "MPI_Comm_spawn", &[&[own], &[2]]);
        stream.call("MPI_Isend", message(2, 0, 7, 64));
        stream.call("MPI_Wait", super::write::all_done(&[0]));
        stream.call("MPI_Barrier", collective(0, NULL).vs([0, 0]));
    });
    let dir = directory(&streams);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let said = file.unsupported();
    assert!(
        said[0].contains("2 calls on communicators with processes that are not in the recording"),
        "{said:?}"
    );
    let reading = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    assert_eq!(operations(&*file, 0, &reading).len(), 2);
}

#[test]
fn ranks_that_disagree_are_errors() {
    let (errors, said) = verdict(&ranks(2, |stream| {
        if stream.rank == 0 {
            stream.call("MPI_Send", message(0, 1, 7, 64));
        }
    }));
    assert_eq!(errors, 1);
    assert!(said.contains("0.0.calls: byte "), "{said}");
    assert!(
        said.contains(
            "rank 0: sends 1 more to rank 1 with tag 7 on MPI_COMM_WORLD than it receives"
        ),
        "{said}"
    );

    let (_, said) = verdict(&ranks(2, |stream| match stream.rank {
        0 => stream.call("MPI_Barrier", collective(0, NULL).vs([0, 0])),
        _ => stream.call("MPI_Allreduce", collective(0, NULL).vs([2, 8, 1, 2, 8, 1])),
    }));
    assert!(
        said.contains(
            "rank 1: collective 0 of MPI_COMM_WORLD is allreduce here, but barrier at rank 0"
        ),
        "{said}"
    );

    let (errors, said) = verdict(&ranks(2, |stream| {
        let all = [0, 1];
        stream.comm([2, 0, 0, 0], "MPI_Comm_dup", &[&all]);
        if stream.rank == 1 {
            stream.call("MPI_Recv", message(2, 0, 7, 64).v(0));
        }
        stream.note("fork");
    }));
    assert_eq!(errors, 1);
    assert!(
        said.contains("tag 7 on communicator 2 of MPI_Comm_dup than are sent"),
        "{said}"
    );
    assert!(
        said.contains("warning") || said.contains("2 fork"),
        "{said}"
    );
}

#[test]
fn a_recording_without_communication_is_refused() {
    let dir = directory(&ranks(2, |_| {}));
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let refused = file.open(&Reading::default(), Stop::never()).map(|_| ());
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("allow_no_communication = true replay its computation alone"),
        "{message}"
    );
}

#[test]
fn broken_streams_are_refused_with_their_place() {
    let streams = ranks(2, |stream| {
        stream.call("MPI_Send", message(0, 5, 7, 64));
        stream.call("MPI_Neighbor_alltoall", collective(0, NULL).vs([0, 0]));
    });
    let (errors, said) = verdict(&streams);
    assert_eq!(errors, 2);
    assert!(
        said.contains("rank 0 (MPI_Send): rank 5 does not exist in communicator 0"),
        "{said}"
    );
    let streams = ranks(2, |stream| {
        stream.call("MPI_Neighbor_alltoall", collective(0, NULL).vs([0, 0]));
    });
    let (errors, said) = verdict(&streams);
    assert_eq!(errors, 1);
    assert!(said.contains("communicator 0 has no topology"), "{said}");
    let dir = directory(&ranks(2, |stream| stream.call("MPI_Init", none().v(1))));
    std::fs::remove_file(dir.path().join("recording.toml")).unwrap();
    let refused = check_file(dir.path(), Stop::never()).map(|_| ());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("no `recording.toml`")
    );
}

/// The summary has both clocks, and says which one counts.
#[test]
fn a_summary_has_what_is_in_the_recording() {
    let dir = directory(&ranks(2, |stream| {
        let other = i64::from(1 - stream.rank);
        stream.call("MPI_Isend", message(0, other, 7, 64));
        stream.call("MPI_Recv", message(0, other, 7, 64).v(0));
        stream.call("MPI_Wait", super::write::all_done(&[0]));
        stream.call("MPI_Pcontrol", none().s(1).text("solve"));
    }));
    let input = Input::new(dir.path());
    let summary = (format_of(&input).unwrap().summary)(&input).unwrap();
    assert_eq!((summary.traffic.messages, summary.traffic.bytes), (2, 128));
    let rows: Vec<String> = summary
        .rows
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let rows = rows.join("\n");
    for part in [
        "format: FLITREC 1, by flitwise 0.1.0",
        "program: ./app",
        "ranks: 2 on 1 host",
        "calls: 12",
        "a replay counts these",
    ] {
        assert!(rows.contains(part), "{rows}");
    }
    assert_eq!(summary.keys["marks"], 2);
    assert_eq!(summary.keys["calls_by_name"]["MPI_Isend"], 2);
}
