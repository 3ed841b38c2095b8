//! Programs that were killed: the streams of their ranks end at different calls.

use super::write::{Bytes, NULL, Stream, all_done, collective, directory, last, message, none};
use super::*;
use crate::program::RegionId;

/// A recording of ranks that call what `calls` says and were killed then.
fn killed(ranks: u32, calls: impl Fn(&mut Stream)) -> tempfile::TempDir {
    let rank = |rank| {
        let mut stream = Stream::new(rank, ranks);
        calls(&mut stream);
        stream
    };
    directory(&(0..ranks).map(rank).collect::<Vec<_>>())
}

fn barrier() -> Bytes {
    collective(0, NULL).vs([0, 0])
}

/// The calls that a replay has of each rank, by name, and the remarks on the recording.
fn replayed(dir: &Path) -> (Vec<String>, String) {
    let file = check_file(dir, Stop::never()).unwrap();
    assert_eq!(file.doubts(), None);
    let reading = Reading {
        allow_no_communication: true,
        ..Reading::default()
    };
    let name = |op: Op| match op.action {
        Action::Mpi(call) => match *call {
            Call::Send { .. } => "send",
            Call::Receive { .. } => "receive",
            Call::Collective { .. } => "collective",
            Call::Wait { .. } => "wait",
            _ => "other",
        },
        _ => "-",
    };
    let of_rank = |rank| {
        let all = operations(&*file, rank, &reading).into_iter().map(name);
        all.collect::<Vec<_>>().join(" ")
    };
    let ranks = (0..file.ranks()).map(of_rank).collect();
    (ranks, file.remarks().join("\n"))
}

#[test]
fn ranks_end_before_a_collective_or_a_message_that_others_lack() {
    let dir = killed(4, |stream| {
        stream.call("MPI_Barrier", barrier());
        match stream.rank {
            0 => stream.call("MPI_Send", message(0, 1, 7, 64)),
            1 => {
                stream.call("MPI_Recv", message(0, 0, 7, 64).v(0));
                stream.call("MPI_Barrier", barrier());
                stream.call("MPI_Send", message(0, 2, 8, 64));
            }
            2 => {
                stream.call("MPI_Irecv", message(0, 1, 8, 64));
                stream.call("MPI_Wait", all_done(&[last(0)]));
                stream.call("MPI_Send", message(0, 3, 9, 64));
            }
            _ => {
                stream.call("MPI_Recv", message(0, 2, 9, 64).v(0));
            }
        }
    });
    let (ranks, said) = replayed(dir.path());
    assert_eq!(
        ranks,
        [
            "collective send -",
            "collective receive -",
            "collective - -",
            "collective -"
        ]
    );
    for part in [
        "3 ranks end before the streams do, because other streams end earlier: rank 1 ends at byte ",
        "where the recording lacks barrier 1 on MPI_COMM_WORLD of rank 0 and 2 more",
        "1 receives and collectives that others lack, because streams end early, are left out",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn operations_that_no_rank_waits_for_are_left_out() {
    let dir = killed(2, |stream| {
        if stream.rank == 0 {
            stream.call("MPI_Irecv", message(0, 1, 7, 64));
            stream.call("MPI_Ibarrier", barrier());
        } else {
            stream.call("MPI_Isend", message(0, 0, 9, 1 << 20));
            stream.call("MPI_Wait", all_done(&[last(0)]));
            stream.call("MPI_Send", message(0, 0, 9, 1 << 20));
            stream.call("MPI_Sendrecv", {
                let sent = message(0, 0, 5, 8);
                Bytes([sent.0, super::write::none().vs([1 + 2, 1 + 1, 8, 1, 0]).0].concat())
            });
        }
    });
    let (ranks, said) = replayed(dir.path());
    assert_eq!(ranks[0], "- - -");
    assert!(ranks[1].starts_with("- - - "), "{ranks:?}");
    for part in [
        "3 messages that no rank received, because streams end early, are left out",
        "where the recording lacks a message with tag 1 on MPI_COMM_WORLD of rank 0",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn ranks_that_lack_nothing_come_to_their_ends() {
    let dir = killed(2, |stream| {
        for _ in 0..3000 {
            let (to, from) = (1 - i64::from(stream.rank), 1 - i64::from(stream.rank));
            stream.call("MPI_Irecv", message(0, from, 7, 64));
            stream.call("MPI_Send", message(0, to, 7, 64));
            stream.call("MPI_Wait", all_done(&[last(0)]));
        }
        stream.call("MPI_Allreduce", collective(0, NULL).vs([2, 8, 1, 2, 8, 1]));
    });
    let (ranks, said) = replayed(dir.path());
    assert_eq!(ranks[0].split(' ').count(), 3 * 3000 + 2);
    assert!(ranks[0].ends_with("collective -"));
    assert!(
        said.contains("2 streams have no end") && !said.contains("before"),
        "{said}"
    );
}

#[test]
fn regions_of_a_killed_program_have_names() {
    let dir = killed(2, |stream| {
        stream.call("MPI_Pcontrol", none().s(1).text("solve"));
        if stream.rank == 0 {
            stream.call("MPI_Barrier", barrier());
        }
    });
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let reading = Reading {
        allow_no_communication: true,
        ..Reading::default()
    };
    let program = file.open(&reading, Stop::never()).unwrap();
    assert_eq!(program.region(RegionId::new(0)), "solve");
}
