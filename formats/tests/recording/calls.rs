//! Every record and call is read as it was written.

use crate::write::{
    ANY, ANY_TAG, Bytes, NULL, ROOT, Stream, Times, all_done, collective, envelope, last, message,
    none, nth,
};
use flitwise_formats::recording::{
    Call, Data, How, Item, Mode, Operation, Outcome, Outside, Part, Peer, Reader, Reason, Record,
    Reference, Request,
};
use std::path::Path;

/// Shows the calls behind MPI_Init.
#[track_caller]
fn read(stream: &Stream, mut see: impl FnMut(&Record<'_>)) {
    let mut reader = Reader::of_bytes(Path::new("0.0.calls"), stream.bytes()).unwrap();
    while reader
        .next(|item| {
            if let Item::Call(record) = item
                && !matches!(record.call, Call::Init(_))
            {
                see(record);
            }
        })
        .unwrap()
        .is_some()
    {}
}

/// Shows the only call of this function with these fields.
#[track_caller]
fn one(name: &str, fields: Bytes, see: impl FnMut(&Record<'_>)) {
    let mut stream = Stream::new(0, 2);
    stream.call(name, fields);
    let (mut see, mut seen) = (see, 0);
    read(&stream, |record| {
        assert_eq!(&*record.function.name, name);
        see(record);
        seen += 1;
    });
    assert_eq!(seen, 1, "{name}");
}

fn sent(peer: Peer, tag: Option<u32>) -> flitwise_formats::recording::Message {
    flitwise_formats::recording::Message {
        comm: 0,
        peer,
        tag,
        data: Data { count: 64, size: 1 },
    }
}

#[test]
fn sends_have_modes_and_requests() {
    for (name, mode, how) in [
        ("MPI_Send", Mode::Standard, How::Blocking),
        ("MPI_Ssend", Mode::Synchronous, How::Blocking),
        ("MPI_Rsend", Mode::Standard, How::Blocking),
        ("MPI_Bsend", Mode::Buffered, How::Blocking),
        ("MPI_Isend", Mode::Standard, How::Later),
        ("MPI_Issend", Mode::Synchronous, How::Later),
        ("MPI_Ibsend", Mode::Buffered, How::Later),
        ("MPI_Send_init", Mode::Standard, How::Persistent),
        ("MPI_Ssend_init", Mode::Synchronous, How::Persistent),
    ] {
        one(name, message(0, 1, 7, 64), |record| {
            let expected = Call::Send(sent(Peer::Rank(1), Some(7)), mode, how);
            assert_eq!(record.call, expected);
            let makes = record.made_request();
            assert_eq!(makes.is_some(), how.makes_request(), "{name}");
        });
    }
    one("MPI_Send", message(0, NULL, 0, 64), |record| {
        let expected = Call::Send(sent(Peer::Null, Some(0)), Mode::Standard, How::Blocking);
        assert_eq!(record.call, expected);
    });
}

#[test]
fn receives_say_what_they_got() {
    let got = message(0, ANY, ANY_TAG, 64).vs([7, 4, 9, 10]);
    one("MPI_Recv", got, |record| {
        let outcome = Outcome {
            peer: Some(Peer::Rank(1)),
            tag: Some(8),
            bytes: Some(10),
            ..Outcome::default()
        };
        let expected = Call::Receive(sent(Peer::Any, None), How::Blocking, outcome);
        assert_eq!(record.call, expected);
    });
    one("MPI_Irecv", message(0, 1, 7, 64), |record| {
        let expected = sent(Peer::Rank(1), Some(7));
        let expected = Call::Receive(expected, How::Later, Outcome::default());
        assert_eq!(record.call, expected);
    });
    let both = message(0, 1, 7, 64).vs([4, 8, 64, 1]);
    one(
        "MPI_Sendrecv",
        Bytes([&both.0[..], &[16]].concat()),
        |record| {
            let Call::SendReceive {
                received, outcome, ..
            } = record.call
            else {
                panic!("{:?}", record.call);
            };
            assert_eq!(received, sent(Peer::Rank(1), Some(7)));
            assert!(outcome.error);
        },
    );
    one("MPI_Isendrecv_replace", both, |record| {
        assert!(matches!(
            record.call,
            Call::SendReceive {
                how: How::Later,
                ..
            }
        ));
        assert!(record.made_request().is_some());
    });
}

#[test]
fn probes_take_messages() {
    let mut stream = Stream::new(0, 2);
    let found = |peer| envelope(0, peer, ANY_TAG).vs([1, 6, 8, 100]);
    stream.call("MPI_Probe", envelope(0, 1, 7).vs([4, 100]));
    stream.call("MPI_Iprobe", envelope(0, 1, 7).v(0));
    stream.call("MPI_Improbe", found(1));
    stream.call("MPI_Improbe", found(NULL));
    stream.call("MPI_Mprobe", envelope(0, 1, 7).vs([4, 100]));
    stream.call("MPI_Mrecv", none().vs([4, 100, 1, 0]));
    stream.call("MPI_Imrecv", none().vs([0, 100, 1]));
    stream.call("MPI_Imrecv", none().vs([3, 100, 1]));
    let (mut taken, mut received) = (Vec::new(), Vec::new());
    let mut empty = Vec::new();
    read(&stream, |record| {
        taken.extend(record.taken_message());
        empty.push(record.call.found_nothing());
        if let Call::ReceiveTaken(reference, data, ..) = record.call {
            assert_eq!(data.bytes(), 100);
            received.push(record.message(reference));
        }
    });
    let request = |n| Request { thread: 0, n };
    assert_eq!(taken, [request(0), request(1)]);
    assert_eq!(received, [Some(request(0)), Some(request(1)), None]);
    assert_eq!(empty.iter().filter(|&&empty| empty).count(), 1);
}

#[test]
fn requests_have_one_name_each() {
    let mut stream = Stream::new(0, 2);
    stream.call("MPI_Recv_init", message(0, 1, 7, 64));
    for _ in 0..3 {
        stream.call("MPI_Irecv", message(0, 1, 7, 64));
    }
    stream.call("MPI_Start", none().seq(&[nth(0)]));
    // A null request, an unrecorded one, one of another thread.
    let other = (5 << 16 | 3) * 4 + 2;
    stream.call("MPI_Waitall", all_done(&[last(0), 3, nth(0), 7, other]));
    // The second of these, and the one behind it.
    let some = none().seq(&[last(2), 3, last(1)]).v(2).seq(&[2, 1]).v(8);
    stream.call("MPI_Testsome", some);
    stream.call("MPI_Test", none().seq(&[last(2)]).v(0));
    let mut done = Vec::new();
    read(&stream, |record| {
        if let Call::Complete(completion) = record.call {
            let mut of_call = Vec::new();
            completion.each(|reference, outcome| {
                of_call.push((record.request(reference).unwrap(), outcome.cancelled));
            });
            assert_eq!(completion.is_empty(), of_call.is_empty());
            done.push(of_call);
        }
    });
    let request = |n| Request { thread: 0, n };
    let other = Request { thread: 3, n: 5 };
    let first = vec![(request(3), false), (request(0), false), (other, false)];
    assert_eq!(done, [first, vec![(request(2), true)], vec![]]);
}

#[test]
fn partitions_are_parts_of_a_request() {
    let mut stream = Stream::new(0, 2);
    stream.call("MPI_Psend_init", envelope(0, 1, 7).vs([4, 100, 8]));
    stream.call("MPI_Pready_range", none().v(1).seq(&[0, 1, 2]));
    stream.call("MPI_Parrived", none().vs([1, 3, 1]));
    let mut calls = 0;
    read(&stream, |record| {
        calls += 1;
        match record.call {
            Call::Partitioned {
                message,
                partitions,
                sends,
            } => {
                assert_eq!((message.data.bytes(), partitions, sends), (800, 4, true));
            }
            Call::Ready(reference, partitions) => {
                assert_eq!(reference, Reference::Nth(0));
                assert_eq!(partitions.iter().collect::<Vec<_>>(), [0, 1, 2]);
            }
            Call::Arrived(_, partition, is) => assert_eq!((partition, is), (3, true)),
            ref other => panic!("{other:?}"),
        }
    });
    assert_eq!(calls, 3);
}

#[test]
fn collectives_have_two_parts() {
    let alltoallv = collective(0, NULL).vs([3, 8]).seq(&[1, 2]);
    let alltoallv = Bytes([alltoallv.0, none().vs([4]).seq(&[8, 0]).0].concat());
    one("MPI_Ialltoallv", alltoallv, |record| {
        let Call::Collective(collective) = record.call else {
            panic!("{:?}", record.call);
        };
        assert_eq!(collective.operation, Operation::Alltoallv);
        assert_eq!((collective.how, collective.root), (How::Later, Peer::Null));
        let Part::Counts { size: 8, counts } = collective.sent else {
            panic!("{collective:?}");
        };
        assert_eq!(counts.iter().collect::<Vec<_>>(), [1, 2]);
        assert!(matches!(collective.received, Part::Bytes(bytes) if bytes.len() == 2));
    });
    let reduce = none().vs([0, (ROOT + 3) as u64, 2, 0, 2, 10, 8]);
    one("MPI_Reduce_init", reduce, |record| {
        let Call::Collective(collective) = record.call else {
            panic!("{:?}", record.call);
        };
        assert_eq!(collective.commutes, Some(false));
        assert_eq!(
            (collective.how, collective.root),
            (How::Persistent, Peer::Root)
        );
        assert_eq!(collective.sent, Part::None);
        assert_eq!(collective.received, Part::Even(Data { count: 10, size: 8 }));
    });
    one(
        "MPI_Allgather",
        collective(0, NULL).vs([1, 2, 3, 4]),
        |record| {
            assert!(matches!(record.call, Call::Collective(c) if c.sent == Part::InPlace));
        },
    );
}

#[test]
fn other_calls_are_read() {
    one("MPI_Pcontrol", none().s(-3).text("solve"), |record| {
        assert_eq!(record.call, Call::Control(-3, "solve"));
    });
    one("MPI_Win_fence", none().text("whatever"), |record| {
        assert_eq!(record.call, Call::Outside(Outside::OneSided));
    });
    one("MPI_Comm_dup", none().vs([0, 2]), |record| {
        let made = Some(2);
        let how = How::Blocking;
        assert_eq!(
            record.call,
            Call::MakeComm {
                parent: 0,
                made,
                how
            }
        );
    });
    one("MPI_Comm_free", none().v(2), |record| {
        assert_eq!(record.call, Call::FreeComm(2));
    });
    one("MPI_Request_get_status", none().vs([4, 0]), |record| {
        assert!(record.call.found_nothing());
    });
    let mut stream = Stream::new(0, 2);
    stream.failed("MPI_Irecv");
    read(&stream, |record| {
        assert_eq!((record.call, record.made_request()), (Call::Failed, None));
    });
}

#[test]
fn times_are_without_the_overhead() {
    let mut stream = Stream::new(0, 2);
    stream.overhead = [200, 20, 190, 450];
    stream.call_at(
        "MPI_Barrier",
        collective(0, NULL).vs([0, 0]),
        Times(1200, 5020, 200),
    );
    stream.repeat(
        10,
        "MPI_Test",
        none().seq(&[3]).v(0),
        Times(3000, 700, 2900),
    );
    // The clock of the wall may be behind the other one.
    stream.call_at(
        "MPI_Barrier",
        collective(0, NULL).vs([0, 0]),
        Times(100, 0, 0),
    );
    let mut times = Vec::new();
    read(&stream, |record| {
        let t = record.times;
        times.push((record.repeats, t.cpu_ns, t.wall_ns, t.inside_ns));
    });
    assert_eq!(
        times,
        [(1, 1000, 5000, 10), (10, 1000, 500, 1000), (1, 0, 0, 0)]
    );
}

#[test]
fn notes_and_ends_are_read() {
    let mut stream = Stream::new(1, 2);
    stream.note("fork");
    stream.flush();
    stream.end([3, 5, 4, 9]);
    let mut reader = Reader::of_bytes(Path::new("1.0.calls"), stream.bytes()).unwrap();
    assert_eq!((reader.header().rank, reader.header().ranks), (1, 2));
    let (mut notes, mut ends, mut comms) = (0, 0, Vec::new());
    while reader
        .next(|item| match item {
            Item::Note(text) => notes += usize::from(*text == "fork"),
            Item::End(end) => {
                ends += 1;
                assert_eq!(
                    (end.reason, end.process_cpu_ns, end.threads),
                    (Reason::Abort, 5, 9)
                );
            }
            Item::Communicator(comm) => comms.push((comm.id, comm.members.iter().count())),
            _ => {}
        })
        .unwrap()
        .is_some()
    {}
    assert_eq!((notes, ends, comms), (1, 1, vec![(0, 2), (1, 1)]));
}

/// After 4096 tuples the first slot is taken again.
#[test]
fn slots_come_again() {
    let mut stream = Stream::new(0, 2);
    for tag in 0..5000 {
        stream.call("MPI_Send", message(0, 1, tag, 64));
    }
    // The tuple of MPI_Init is in slot 0 of the writer, which does not count beyond 4096.
    stream
        .payload
        .0
        .extend(none().vs([8 + 10]).v(0).s(0).v(0).0);
    let mut tags = Vec::new();
    read(&stream, |record| match record.call {
        Call::Send(message, ..) => tags.extend(message.tag),
        ref other => panic!("{other:?}"),
    });
    let last = tags.pop();
    assert_eq!(tags, (0..5000).collect::<Vec<_>>());
    // Slot 10 held tag 9, and holds the tuple of 4096 calls later.
    assert_eq!(last, Some(9 + 4096));
}
