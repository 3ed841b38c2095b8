//! Calls become the operations that they are.

use super::write::{
    ANY, ANY_TAG, Bytes, NULL, Stream, all_done, envelope, last, message, none, nth, ranks,
};
use super::*;
use crate::mpi::{RequestId, SendMode, Tag, Until};

fn send(tag: i32, bytes: u64, mode: SendMode, request: Option<u64>) -> Call {
    Call::Send {
        to: RankId::new(1),
        comm: WORLD,
        tag: Tag(tag),
        bytes,
        mode,
        nic: 0,
        request: request.map(RequestId),
    }
}

fn receive(from: Option<u32>, tag: Option<i32>, request: Option<u64>) -> Call {
    Call::Receive {
        from: from.map(RankId::new),
        comm: WORLD,
        tag: tag.map(Tag),
        request: request.map(RequestId),
    }
}

fn wait(requests: &[u64]) -> Call {
    Call::Wait {
        requests: requests.iter().copied().map(RequestId).collect(),
        until: Until::All,
    }
}

#[test]
fn messages_block_or_have_requests() {
    let found = calls(|stream| {
        stream.call("MPI_Send", message(0, 1, 7, 64));
        stream.call("MPI_Ssend", message(0, 1, 8, 64));
        stream.call("MPI_Bsend", message(0, NULL, 8, 64));
        stream.call("MPI_Ibsend", message(0, 1, 9, 64));
        stream.call("MPI_Recv", message(0, 1, 7, 64).v(0));
        stream.call("MPI_Recv", message(0, NULL, ANY_TAG, 64).v(0));
        stream.call("MPI_Irecv", message(0, 1, ANY_TAG, 64));
        stream.call("MPI_Irecv", message(0, NULL, 7, 64));
        let got_tag_5 = none()
            .seq(&[last(2), last(1), last(0), 3])
            .v(1)
            .vs([0, 2, 6, 0]);
        stream.call("MPI_Waitall", got_tag_5);
    });
    let expected = [
        send(7, 64, SendMode::Standard, None),
        send(8, 64, SendMode::Synchronous, None),
        send(9, 64, SendMode::Buffered, Some(1)),
        receive(Some(1), Some(7), None),
        receive(Some(1), Some(5), Some(2)),
        wait(&[1, 2]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn receives_from_anyone_name_what_they_got() {
    let found = calls(|stream| {
        let anyone = || message(0, ANY, ANY_TAG, 64);
        stream.call("MPI_Recv", anyone().vs([3, 4, 8]));
        for _ in 0..3 {
            stream.call("MPI_Irecv", anyone());
        }
        // The second is complete first; the first is cancelled; the third never completes.
        let some = none().seq(&[last(2), last(1), last(0)]).v(2).seq(&[1]);
        stream.call("MPI_Waitsome", Bytes([some.0, vec![3, 4, 9]].concat()));
        stream.call("MPI_Cancel", none().seq(&[last(2)]));
        stream.call("MPI_Wait", none().seq(&[last(2)]).vs([1, 8]));
        stream.call("MPI_Sendrecv", message(0, 1, 1, 8).vs([0, 2, 8, 1, 1, 4]));
    });
    let expected = [
        receive(Some(1), Some(7), None),
        receive(Some(1), Some(8), Some(1)),
        receive(None, None, Some(2)),
        wait(&[1]),
        receive(Some(1), Some(1), Some(3)),
        send(1, 8, SendMode::Standard, Some(4)),
        wait(&[3, 4]),
    ];
    assert_eq!(found, expected);
}

/// A receive that was cancelled and freed took a message if one lacks its counterpart.
#[test]
fn cancelled_receives_take_messages_that_no_other_takes() {
    for sends in [true, false] {
        let found = calls_of(&ranks(2, |stream| {
            if stream.rank == 1 {
                if sends {
                    stream.call("MPI_Send", message(0, 0, 7, 64));
                }
                return;
            }
            stream.call("MPI_Irecv", message(0, 1, 7, 64));
            stream.call("MPI_Cancel", none().seq(&[last(0)]));
            stream.call("MPI_Request_free", none().seq(&[last(0)]));
        }));
        assert_eq!(found.len(), if sends { 2 } else { 0 }, "{found:?}");
    }
}

/// A persistent receive that was complete before it was cancelled names its message, and is not cancelled when it starts again.
#[test]
fn a_cancellation_that_comes_too_late_changes_nothing() {
    for frees in [true, false] {
        let found = calls(|stream| {
            stream.call("MPI_Recv_init", message(0, ANY, 7, 64));
            for cancels in [true, false] {
                stream.call("MPI_Start", none().seq(&[nth(0)]));
                if cancels {
                    stream.call("MPI_Cancel", none().seq(&[nth(0)]));
                }
                let from_1 = none().seq(&[nth(0)]).vs([1, 1, 4]);
                stream.call("MPI_Wait", from_1);
            }
            if frees {
                stream.call("MPI_Request_free", none().seq(&[nth(0)]));
            }
        });
        let round = |request| [receive(Some(1), Some(7), Some(request)), wait(&[request])];
        assert_eq!(found, [round(1), round(2)].concat(), "{frees}");
    }
}

#[test]
fn persistent_requests_start_again() {
    let found = calls(|stream| {
        stream.call("MPI_Recv_init", message(0, ANY, 7, 64));
        stream.call("MPI_Send_init", message(0, 1, 7, 64));
        for _ in 0..2 {
            stream.call("MPI_Startall", none().seq(&[nth(0), nth(1)]));
            stream.call(
                "MPI_Waitall",
                none().seq(&[nth(0), nth(1)]).vs([1, 1, 4, 0]),
            );
        }
        stream.call("MPI_Waitall", none().seq(&[3, 3]).v(1));
        stream.call("MPI_Request_free", none().seq(&[nth(0)]));
    });
    let round = |first: u64| {
        [
            receive(Some(1), Some(7), Some(first)),
            send(7, 64, SendMode::Standard, Some(first + 1)),
            wait(&[first, first + 1]),
        ]
    };
    assert_eq!(found, [round(1), round(3)].concat());
}

#[test]
fn polls_wait_for_what_they_found() {
    let found = calls(|stream| {
        stream.call("MPI_Irecv", message(0, 1, 7, 64));
        let nothing = none().seq(&[last(0)]).v(0);
        stream.repeat(1000, "MPI_Test", nothing, super::write::Times(0, 0, 0));
        stream.call("MPI_Test", all_done(&[last(0)]));
        stream.call("MPI_Iprobe", envelope(0, ANY, 7).v(0));
        stream.call("MPI_Iprobe", envelope(0, ANY, 7).vs([1, 5, 4, 64]));
        stream.call("MPI_Improbe", envelope(0, 1, ANY_TAG).vs([1, 6, 4, 64]));
        stream.call("MPI_Imrecv", none().vs([0, 64, 1]));
        stream.call("MPI_Wait", all_done(&[last(0)]));
    });
    let probe = |tag| Call::Probe {
        from: Some(RankId::new(1)),
        comm: WORLD,
        tag: Some(Tag(tag)),
    };
    let expected = [
        receive(Some(1), Some(7), Some(1)),
        wait(&[1]),
        probe(7),
        probe(3),
        receive(Some(1), Some(3), Some(2)),
        wait(&[2]),
    ];
    assert_eq!(found, expected);
}

/// A message that a probe has taken goes to no receive that is posted behind it.
#[test]
fn a_probe_takes_its_message_out_of_the_matching() {
    let found = calls(|stream| {
        stream.call("MPI_Mprobe", envelope(0, 1, 7).vs([4, 64]));
        stream.call("MPI_Irecv", message(0, 1, 7, 64));
        stream.call("MPI_Mrecv", none().vs([0, 64, 1, 0]));
        stream.call("MPI_Wait", all_done(&[last(0)]));
        // The message of no process is none.
        stream.call("MPI_Mprobe", envelope(0, NULL, 7).vs([0]));
        stream.call("MPI_Mrecv", none().vs([3, 64, 1, 0]));
    });
    let probe = Call::Probe {
        from: Some(RankId::new(1)),
        comm: WORLD,
        tag: Some(Tag(7)),
    };
    let receive = |request| receive(Some(1), Some(7), Some(request));
    let expected = [probe, receive(1), receive(2), wait(&[1]), wait(&[2])];
    assert_eq!(found, expected);
}

#[test]
fn a_message_in_partitions_is_sent_when_the_last_is_ready() {
    let found = calls(|stream| {
        stream.call("MPI_Psend_init", envelope(0, 1, 7).vs([3, 10, 8]));
        for _ in 0..2 {
            stream.call("MPI_Start", none().seq(&[nth(0)]));
            stream.call("MPI_Pready", none().v(1).seq(&[2]));
            stream.call("MPI_Pready_range", none().v(1).seq(&[0, 1]));
            stream.call("MPI_Wait", all_done(&[nth(0)]));
        }
    });
    let sent = |call: &Call| match call {
        Call::Send { bytes, request, .. } => Some((*bytes, request.unwrap().0)),
        _ => None,
    };
    let sent: Vec<_> = found.iter().filter_map(sent).collect();
    assert_eq!(sent, [(240, 1), (240, 2)]);
    assert_eq!((&found[1], &found[3]), (&wait(&[1]), &wait(&[2])));
    // It meets no other messages.
    assert!(matches!(found[0], Call::Send { comm, .. } if comm != WORLD));
}

#[test]
fn freed_requests_are_not_waited_for() {
    let found = calls(|stream| {
        stream.call("MPI_Isend", message(0, 1, 7, 64));
        stream.call("MPI_Request_free", none().seq(&[last(0)]));
        stream.failed("MPI_Isend");
        stream.call("MPI_Comm_idup", none().vs([0, 0]));
        stream.call("MPI_Wait", all_done(&[last(0)]));
    });
    assert_eq!(found[0], send(7, 64, SendMode::Standard, Some(1)));
    assert!(matches!(&found[1], Call::Free { requests } if requests.len() == 1));
    assert_eq!(found.len(), 2);
}

/// Threads overlap: what one sends while another one waits is sent meanwhile.
#[test]
fn a_call_of_a_thread_begins_and_ends() {
    use super::write::Times;
    let mut one = Stream::new(0, 2);
    one.call_at(
        "MPI_Recv",
        message(0, 1, 7, 64).v(0),
        Times(1000, 1000, 9000),
    );
    one.end([0, 0, 0, 2]);
    let mut other = Stream::of_thread(0, 1, 2);
    // Its first call comes with its start.
    other.call_at("MPI_Test", none().seq(&[3]).v(0), Times(0, 0, 0));
    other.call_at("MPI_Ssend", message(0, 1, 8, 64), Times(0, 3000, 100));
    other.end([1, 0, 0, 2]);
    let mut peer = Stream::new(1, 2);
    peer.call("MPI_Recv", message(0, 0, 8, 64).v(0));
    peer.call("MPI_Send", message(0, 0, 7, 64));
    peer.finalize();
    let dir = super::write::directory(&[one, other, peer]);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert!(file.remarks()[0].contains("1 ranks call MPI from several threads"));
    let ops = operations(&*file, 0, &Reading::default());
    let expected = [
        (1000, receive(Some(1), Some(7), Some(1))),
        (2000, send(8, 64, SendMode::Synchronous, Some(2))),
        (0, wait(&[2])),
        (0, wait(&[1])),
    ];
    for (op, (ns, call)) in ops.iter().zip(expected) {
        assert_eq!((op.compute_ps, op.action.call()), (1000 * ns, Some(&call)));
    }
    assert_eq!(ops.len(), 5);
}
